#include <spu_intrinsics.h>
#include <stdio.h>
#include <stdlib.h>

static int begun;

/* The blocks that the heap has: as many as fit into a local store, not any number. */
static int blocks(void) {
    int count = 0;
    while (count < 1000 && malloc(8192))
        count++;
    return count;
}

int main(unsigned long long id, unsigned long long argument) {
    (void)id;
    printf("begun %d times, with %d\n", ++begun, (int)argument);
    spu_stop(0x11);
    int fit = blocks();
    printf("goes on, %s, %s\n", fit < 32 ? "the heap ends" : "the heap has no end",
           malloc(300 * 1024) ? "a block larger than the local store" : "no such block");
    return 5;
}
