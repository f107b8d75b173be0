/* What the code generator calls for setjmp and longjmp (clang's -enable-emscripten-sjlj).
 *
 * In a function with setjmp each call goes through the machine (`invoke_...` in
 * src/run/jump.rs), which returns if the callee jumps. The function then asks whether the jump
 * is to one of its own places. */

/* Where the last jump goes, and its value, in WebAssembly's order of bytes: the machine writes
 * them, and only generated code reads them. */
unsigned __THREW__, __threwValue;
/* The code generator leaves out variables of these names that nothing uses. */
unsigned *const __cw_threw[] = {&__THREW__, &__threwValue};

/* The value that setjmp returns after a jump. */
static __thread int value;

extern void jump(void *place, int value) __attribute__((noreturn)) __asm__("env.emscripten_longjmp");

/* The code generator of clang 19 and 20 imports this function from the machine, and that of a newer
 * clang wants it from a library. */
void emscripten_longjmp(void *place, int value) { jump(place, value); }

void setTempRet0(int new) { value = new; }
int getTempRet0(void) { return value; }

/* A place: the call of the function that it is in, and its number there. */
struct place {
    void *call;
    unsigned label;
};

void __wasm_setjmp(struct place *place, unsigned label, void *call) {
    place->call = call;
    place->label = label;
}

/* Returns the number of a place in this call of a function, or 0 if it is in another call. */
unsigned __wasm_setjmp_test(struct place *place, void *call) {
    return place->call == call ? place->label : 0;
}
