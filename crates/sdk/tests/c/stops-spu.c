#include <spu_intrinsics.h>
#include <stdio.h>

int __send_to_ppe(unsigned signal, unsigned opcode, void *data);

int main(void) {
    unsigned data = 21; /* The call also reads the fourth word. */
    printf("SPU: the PPU makes %d of it\n", __send_to_ppe(0x2142, 3, &data));
    printf("SPU: before\n");
    spu_stop(0x1111);
    printf("SPU: between\n");
    asm volatile("stop 0x7");
    printf("SPU: after\n");
    return 5;
}
