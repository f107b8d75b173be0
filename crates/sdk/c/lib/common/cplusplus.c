/* What C++ needs without its library: memory, and the function in place of a missing virtual
   one. */
#include <stdio.h>
#include <stdlib.h>

/* A null pointer if there is no memory. `kind` is std::nothrow. */
#define NEW_OR_NULL(name, symbol)                                                          \
  void *name(size_t size, const void *kind) __asm__(symbol);                               \
  void *name(size_t size, const void *kind) {                                              \
    (void)kind;                                                                            \
    return malloc(size ? size : 1);                                                        \
  }

#define DELETE(name, symbol)                                                               \
  void name(void *memory) __asm__(symbol);                                                 \
  void name(void *memory) { free(memory); }

#define DELETE_OF_SIZE(name, symbol)                                                       \
  void name(void *memory, size_t size) __asm__(symbol);                                    \
  void name(void *memory, size_t size) { free(memory); }

NEW_OR_NULL(new_one_or_null, "_ZnwmRKSt9nothrow_t")
NEW_OR_NULL(new_array_or_null, "_ZnamRKSt9nothrow_t")
const char std_nothrow __asm__("_ZSt7nothrow") = 0;
DELETE(delete_one, "_ZdlPv")
DELETE(delete_array, "_ZdaPv")
DELETE_OF_SIZE(delete_one_of_size, "_ZdlPvm")
DELETE_OF_SIZE(delete_array_of_size, "_ZdaPvm")

void __cxa_pure_virtual(void) {
  fprintf(stderr, "a virtual function without a body was called\n");
  abort();
}
