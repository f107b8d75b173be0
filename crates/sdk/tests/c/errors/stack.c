/* Wrong programs of the PPU: the first argument says which; with a second one, in a thread. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char source[12 << 20];
static volatile int sink, minus = -1;

static void keep(void *memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

__attribute__((noinline)) static int filled(int n) {
    char array[12 << 20];
    memset(array, n, sizeof array);
    keep(array);
    return array[n];
}

__attribute__((noinline)) static int huge(int n) {
    char array[40 << 20];
    memset(array, n, sizeof array);
    keep(array);
    return array[n];
}

__attribute__((noinline)) static int copied(int n) {
    char array[12 << 20];
    memcpy(array, source, sizeof array);
    keep(array);
    return array[n];
}

__attribute__((noinline)) static int deep(int n) {
    char array[100];
    keep(array);
    return deep(n + 1) + array[n & 1];
}

/* Goes over the end of a thread's stack, and no further. */
__attribute__((noinline)) static int over(int n) {
    char array[100000];
    memset(array, n, sizeof array);
    keep(array);
    if (n < 11)
        over(n + 1);
    else
        usleep(1);
    keep(array);
    return array[n];
}

static void *go(void *way) {
    switch ((int)way) {
    case 1:
        sink = filled(1);
        break;
    case 2:
        sink = huge(1);
        break;
    case 3:
        sink = copied(1);
        break;
    case 4:
        sink = deep(1);
        break;
    case 5:
        sink = over(1);
        break;
    case 6:
        *(volatile int *)minus = 3;
        break;
    case 7:
        memset((void *)minus, 0, sizeof source);
        break;
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    void *way = (void *)atoi(argv[1]);
    if (argc == 2)
        go(way);
    else if (pthread_create(&thread, NULL, go, way) == 0)
        pthread_join(thread, NULL);
    return 0;
}
