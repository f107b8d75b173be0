#include <spu_intrinsics.h>
#include <stdio.h>

int main(void) {
    printf("SPU: before\n");
    spu_stop(0x1111);
    printf("SPU: between\n");
    spu_stop(0x7);
    printf("SPU: after\n");
    return 5;
}
