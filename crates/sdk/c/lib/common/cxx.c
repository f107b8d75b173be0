/*
 * What C++ calls without a library: memory for `new` and `delete`, and the function in place of one
 * that a class has not defined. The names are those of the Itanium ABI, and `m` is `unsigned long`.
 */
#include <stdio.h>
#include <stdlib.h>

static void *allocate(unsigned long bytes)
{
    void *block = malloc(bytes ? bytes : 1);

    if (block == NULL) {
        fputs("operator new: no memory is left\n", stderr);
        abort();
    }
    return block;
}

/* operator new, operator new[] */
void *_Znwm(unsigned long bytes) { return allocate(bytes); }
void *_Znam(unsigned long bytes) { return allocate(bytes); }

/* operator delete, operator delete[], and those with the size */
void _ZdlPv(void *block) { free(block); }
void _ZdaPv(void *block) { free(block); }
void _ZdlPvm(void *block, unsigned long bytes) { (void)bytes; free(block); }
void _ZdaPvm(void *block, unsigned long bytes) { (void)bytes; free(block); }

void __cxa_pure_virtual(void)
{
    fputs("a function was called that its class has not defined\n", stderr);
    abort();
}
