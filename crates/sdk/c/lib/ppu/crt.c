/* The start and the end of a program of the PPU. The machine calls these, and `main` between
   them. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void __wasm_call_ctors(void);
/* Lets others run, if it is time: long computations call this (`run/turns.rs`). */
extern void __cell_check_slice(void) __asm__("ppu.check_slice");
/* Does so in a loop that only waits until memory changes. */
extern void __cell_check_poll(unsigned begun) __asm__("ppu.check_poll");
extern int args_sizes_get(unsigned *count, unsigned *bytes)
    __asm__("wasi_snapshot_preview1.args_sizes_get");
extern int args_get(char **argv, char *bytes) __asm__("wasi_snapshot_preview1.args_get");
extern int environ_sizes_get(unsigned *count, unsigned *bytes)
    __asm__("wasi_snapshot_preview1.environ_sizes_get");
extern int environ_get(char **envp, char *bytes) __asm__("wasi_snapshot_preview1.environ_get");

/* Says that the heap has no room for an allocation: `malloc` asks for its bytes in steps of 1 KB. */
extern void __cell_heap_is_full(unsigned bytes) __asm__("ppu.heap_is_full");

/* All memory behind the variables is of the heap from the start. */
extern char __heap_end;
void *sbrk(intptr_t bytes) {
    if (bytes == 0)
        return &__heap_end;
    __cell_heap_is_full(bytes);
    errno = ENOMEM;
    return (void *)-1;
}

/* What messages about errors begin with. */
char *program_invocation_name = "program", *program_invocation_short_name = "program";

/* The arguments of main, as many of them as it takes. */
static struct {
    int argc;
    char **argv;
    char **envp;
} arguments;

static char **list(unsigned count, unsigned bytes, int (*get)(char **, char *)) {
    char **list = calloc(count + 1, sizeof *list);
    char *texts = malloc(bytes + 1);
    if (list && texts)
        get(list, texts);
    return list;
}

static int get_arguments(char **argv, char *bytes) { return args_get(argv, bytes); }
static int get_environment(char **envp, char *bytes) { return environ_get(envp, bytes); }

void *__cell_init(void) {
    static char printed[BUFSIZ];
    unsigned count = 0, bytes = 0;
    __cell_check_slice();
    __cell_check_poll(0);
    setvbuf(stdout, printed, _IOLBF, sizeof printed);
    __wasm_call_ctors();
    args_sizes_get(&count, &bytes);
    arguments.argc = count;
    arguments.argv = list(count, bytes, get_arguments);
    if (count && arguments.argv) {
        char *slash = strrchr(arguments.argv[0], '/');
        program_invocation_name = arguments.argv[0];
        program_invocation_short_name = slash ? slash + 1 : arguments.argv[0];
    }
    environ_sizes_get(&count, &bytes);
    arguments.envp = list(count, bytes, get_environment);
    return &arguments;
}

/* Runs what was registered with atexit, writes what stdio has buffered, and ends the program. */
void __cell_exit(int status) { exit(status); }
