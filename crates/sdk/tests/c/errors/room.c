/* The room of an SPU program for its heap and its stack, by the macro ROOM. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) int deep(int depth) {
    volatile char room[1000];
    room[depth % 1000] = depth;
    return depth ? deep(depth - 1) + room[depth % 1000] : 0;
}

static __attribute__((noinline)) int large(void) {
    volatile char room[180000];
    room[0] = room[179999] = 1;
    return room[0] + room[179999];
}

int main(void) {
    char here, *volatile heap; /* volatile, so that no malloc is left out */
    switch (ROOM) {
    case 1: /* most for the heap, and then for the stack */
        heap = malloc(180000);
        if (heap)
            memset(heap, 1, 180000);
        printf("%d\n", heap ? heap[179999] : -1);
        break;
    case 2: printf("%d\n", large()); break;
    case 3: /* the stack meets the heap */
        heap = malloc(150000);
        memset(heap, 1, 150000);
        return deep(200) + heap[149999];
    case 4: /* 64 KB are for the stack */
        heap = malloc(197000);
        printf("%d", heap != NULL);
        heap = malloc(150000);
        printf("%d\n", heap != NULL);
        break;
    case 5: printf("%d\n", (unsigned)&here > 0x2f000 && (unsigned)&here < 0x30000); break;
    case 6: /* malloc ends before the stack has no room */
        while ((heap = malloc(100)));
        printf("no memory is left\n");
        break;
    }
    return 0;
}
