/* The end of a program that finds itself wrong. A handler of SIGABRT is called first. */
#include <stdlib.h>

/* In signal.c, if the program uses signals. */
void __cw_abort(void) __attribute__((weak));

void abort(void)
{
    if (__cw_abort)
        __cw_abort();
    /* The machine knows the name of this function. */
    __builtin_trap();
}
