#include <stdio.h>
#include <stdlib.h>

static int runs;

static void at_end(void) { printf("SPU: at the end\n"); }

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    (void)id;
    runs++;
    atexit(at_end);
    printf("SPU: argp %llx, envp %llu, pi %.3f, %s\n", argp, envp, 3.14159, "text");
    exit(40 + runs);
}
