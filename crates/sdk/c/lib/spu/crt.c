/* The start and the end of a program of an SPU. The machine calls these, and `main` between them. */
#include <stdlib.h>

extern void __wasm_call_ctors(void);

unsigned __cell_init(void) {
    __wasm_call_ctors();
    return 0;
}

/* Runs what was registered with atexit, writes what stdio has buffered, and stops the SPU. */
void __cell_exit(int status) { exit(status); }
