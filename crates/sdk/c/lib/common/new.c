/* Memory for C++. The library of C++ has its own, which throws an exception. */
#include <stdio.h>
#include <stdlib.h>

#define NEW(name, symbol)                                                                  \
  void *name(size_t size) __asm__(symbol);                                                 \
  void *name(size_t size) {                                                                \
    void *memory = malloc(size ? size : 1);                                                \
    if (!memory) {                                                                         \
      fprintf(stderr, "new: no %lu bytes of memory are left\n", (unsigned long)size);     \
      abort();                                                                             \
    }                                                                                      \
    return memory;                                                                         \
  }

NEW(new_one, "_Znwm")
NEW(new_array, "_Znam")
