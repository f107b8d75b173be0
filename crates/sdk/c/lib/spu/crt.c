/* The start and the end of a program of an SPU. The machine calls these, and `main` between
 * them.
 *
 * A context may be run again without a new load: its globals then keep their values. The C
 * library's own exit works once, so these functions take its place. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <spu_mfcio.h>

extern void __wasm_call_ctors(void);

/* Lets others run, if it is time: long computations call this (`run/turns.rs`). */
extern void __cell_check_slice(void) __asm__("spu.check_slice");
/* Does so in a loop that only waits until memory changes. */
extern void __cell_check_poll(unsigned begun) __asm__("spu.check_poll");

/* What messages about errors begin with: an SPU program does not know its own name. */
char *program_invocation_name = "SPU program", *program_invocation_short_name = "SPU program";

struct at_end {
    void (*function)(void *);
    void *argument;
    struct at_end *next;
};
static struct at_end *at_end;

/* The stack grows down from the end of the local store, and the heap up from the variables. The
 * heap ends `stack` bytes in front of the start of the stack, or where the stack is. */
extern char __heap_base;
static char *heap_end = &__heap_base;
static char *heap_limit;

/* The machine checks that the stack stays above this. It is little-endian. */
unsigned __cell_stack_end;

/* What a function may use below its stack, without taking it. */
#define RED_ZONE 128

/* What calls need right after the heap has grown. */
#define LEFT_TO_CALLS 4096

static void set_heap_end(char *end) {
    heap_end = end;
    __cell_stack_end = __builtin_bswap32((uintptr_t)end + RED_ZONE);
}

void *sbrk(intptr_t bytes) {
    char here, *limit = &here - LEFT_TO_CALLS, *old = heap_end;
    if (limit > heap_limit)
        limit = heap_limit;
    if (bytes > limit - old || bytes < &__heap_base - old) {
        errno = ENOMEM;
        return (void *)-1;
    }
    set_heap_end(old + bytes);
    return old;
}

unsigned __cell_init(unsigned stack) {
    static int has_run;
    char here;
    __cell_check_slice();
    __cell_check_poll(0);
    __cw_tag_mask = __cw_tag_update = __cw_is_busy = __cw_watches_tags = 0;
    heap_limit = &here - stack;
    set_heap_end(heap_end);
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

/* Writes what the cache of `__ea` has, if the program has one. */
extern void __cache_flush(void) __attribute__((__weak__));

/* Runs what was registered, the last first, writes what stdio has buffered, and stops the SPU. */
_Noreturn void exit(int status) {
    while (at_end) {
        struct at_end now = *at_end;
        free(at_end);
        at_end = now.next;
        now.function(now.argument);
    }
    fflush(NULL);
    if (__cache_flush)
        __cache_flush();
    _exit(status);
}

void __cell_exit(int status) { exit(status); }
