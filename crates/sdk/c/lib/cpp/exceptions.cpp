/* Exceptions: what the code generator calls for them (clang's -enable-emscripten-cxx-exceptions),
 * and what libc++abi needs of the one who unwinds the stack.
 *
 * A call after which variables have to be destroyed, or an exception may be caught, goes through
 * the machine (`invoke_...` in src/run/jump.rs), which returns if the callee throws. The function
 * then asks which of its types the exception has. A type's number is its address. */
#include <cstring>
#include <exception>

#include "cxa_exception.h"
#include "private_typeinfo.h"

using namespace __cxxabiv1;

/* Unwinds the stack to the last call through the machine. The texts are for the message if nothing
 * catches the exception: the name of its type, and what it says. */
extern "C" void __cell_throw(const void *exception, const char *kind, std::size_t bytes,
                             const char *said, std::size_t length) __asm__("ppu.throw");
/* Does so again. */
extern "C" void __cell_throw_on(const void *exception) __asm__("ppu.throw_on");

extern "C" void setTempRet0(int number);

/* The exception that is on its way in this thread. */
static thread_local _Unwind_Exception *thrown;

extern "C" __cxa_eh_globals *__cxxabiv1::__cxa_get_globals() {
    static thread_local __cxa_eh_globals globals;
    return &globals;
}

extern "C" __cxa_eh_globals *__cxxabiv1::__cxa_get_globals_fast() { return __cxa_get_globals(); }

static void *object_of(_Unwind_Exception *exception) {
    void *object = exception + 1;
    if (__getExceptionClass(exception) == kOurDependentExceptionClass)
        object = ((__cxa_dependent_exception *)object - 1)->primaryException;
    return object;
}

/* Returns whether a handler of a type catches the exception, and where it finds the object then. */
static bool catches(const std::type_info *type, _Unwind_Exception *exception, void *&object) {
    const std::type_info *kind = ((__cxa_exception *)(exception + 1) - 1)->exceptionType;
    object = object_of(exception);
    return static_cast<const __shim_type_info *>(type)->can_catch(
        static_cast<const __shim_type_info *>(kind), object);
}

extern "C" _Unwind_Reason_Code _Unwind_RaiseException(_Unwind_Exception *exception) {
    const char *kind = ((__cxa_exception *)(exception + 1) - 1)->exceptionType->name();
    const char *said = "";
    void *object;
    if (catches(&typeid(std::exception), exception, object))
        said = static_cast<std::exception *>(object)->what();
    thrown = exception;
    __cell_throw(exception, kind, std::strlen(kind), said, std::strlen(said));
    return _URC_END_OF_STACK;
}

extern "C" void __resumeException(void *exception) {
    thrown = (_Unwind_Exception *)exception;
    __cell_throw_on(exception);
}

extern "C" void _Unwind_DeleteException(_Unwind_Exception *exception) {
    if (exception->exception_cleanup)
        exception->exception_cleanup(_URC_FOREIGN_EXCEPTION_CAUGHT, exception);
}

/* Nothing calls it: exceptions that a list `throw(...)` does not have go on. */
extern "C" void __cxa_call_unexpected(void *) { std::terminate(); }

extern "C" int llvm_eh_typeid_for(const void *type) { return (int)type; }

/* Returns the exception, and as the number beside it the first type that catches it, or 0. */
static void *matching(const std::type_info *const *types, unsigned count) {
    _Unwind_Exception *exception = thrown;
    void *object;
    for (unsigned i = 0; i < count; i++)
        if (!types[i] || catches(types[i], exception, object)) {
            ((__cxa_exception *)(exception + 1) - 1)->adjustedPtr =
                types[i] ? object : object_of(exception);
            setTempRet0((int)types[i]);
            return exception;
        }
    setTempRet0(0);
    return exception;
}

/* The code generator has a function for each number of types, plus 2. */
typedef const std::type_info *type;
#define TYPES(...)                                                                             \
    type types[] = {__VA_ARGS__};                                                              \
    return matching(types, sizeof types / sizeof *types)

extern "C" void *__cxa_find_matching_catch_2() { return matching(nullptr, 0); }
extern "C" void *__cxa_find_matching_catch_3(type a) { TYPES(a); }
extern "C" void *__cxa_find_matching_catch_4(type a, type b) { TYPES(a, b); }
extern "C" void *__cxa_find_matching_catch_5(type a, type b, type c) { TYPES(a, b, c); }
extern "C" void *__cxa_find_matching_catch_6(type a, type b, type c, type d) {
    TYPES(a, b, c, d);
}
extern "C" void *__cxa_find_matching_catch_7(type a, type b, type c, type d, type e) {
    TYPES(a, b, c, d, e);
}
extern "C" void *__cxa_find_matching_catch_8(type a, type b, type c, type d, type e, type f) {
    TYPES(a, b, c, d, e, f);
}
extern "C" void *__cxa_find_matching_catch_9(type a, type b, type c, type d, type e, type f,
                                             type g) {
    TYPES(a, b, c, d, e, f, g);
}
extern "C" void *__cxa_find_matching_catch_10(type a, type b, type c, type d, type e, type f,
                                              type g, type h) {
    TYPES(a, b, c, d, e, f, g, h);
}
