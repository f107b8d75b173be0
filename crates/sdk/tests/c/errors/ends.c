/* Ends in one of several ways, each at a line of its own. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int sink;

static int end(int way)
{
    if (way == 1)
        abort();
    sink += 2;
    if (way == 2)
        abort(); /* 2 */
    if (way == 3)
        __builtin_trap();
    sink += 3;
    if (way == 4)
        __builtin_trap();
    if (way == 5)
        *(volatile int *)0xfffffff0 = 3;
    sink += 4;
    if (way == 6)
        ((void (*)(int))0x1000)(way);
    assert(way != 7);
    return way;
}

int main(int argc, char **argv)
{
    return end(argc > 1 ? atoi(argv[1]) : 0);
}
