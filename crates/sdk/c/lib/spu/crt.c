/* The start and the end of a program of an SPU. The machine calls these, and `main` between
 * them.
 *
 * A context may be run again without a new load: its globals then keep their values. The C
 * library's own exit works once, so these functions take its place. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void __wasm_call_ctors(void);

struct at_end {
    void (*function)(void *);
    void *argument;
    struct at_end *next;
};
static struct at_end *at_end;

unsigned __cell_init(void) {
    static int has_run;
    /* Constructors make what the library and C++ keep for all runs. */
    if (!has_run)
        __wasm_call_ctors();
    has_run = 1;
    return 0;
}

int __cxa_atexit(void (*function)(void *), void *argument, void *module) {
    struct at_end *new = malloc(sizeof *new);
    (void)module;
    if (!new)
        return -1;
    *new = (struct at_end){function, argument, at_end};
    at_end = new;
    return 0;
}

static void call(void *function) { ((void (*)(void))function)(); }

int atexit(void (*function)(void)) { return __cxa_atexit(call, (void *)function, 0); }

/* Runs what was registered, the last first, writes what stdio has buffered, and stops the SPU. */
_Noreturn void exit(int status) {
    while (at_end) {
        struct at_end now = *at_end;
        free(at_end);
        at_end = now.next;
        now.function(now.argument);
    }
    fflush(NULL);
    _exit(status);
}

void __cell_exit(int status) { exit(status); }
