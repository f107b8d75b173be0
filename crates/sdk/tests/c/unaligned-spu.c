/* Vectors through pointers to no multiple of 16. */
#include <spu_intrinsics.h>
#include <stdio.h>

static unsigned char bytes[64] __attribute__((aligned(16)));
static volatile int offset = 4;

int main(void) {
    for (int i = 0; i < 32; i++)
        bytes[i] = i;
    vector unsigned char *at = (vector unsigned char *)(bytes + offset);
    qword from = si_from_ptr(bytes + offset);
    vector unsigned char plain = *at, quad = (vector unsigned char)si_lqd(from, 0);
    printf("%d %d\n", spu_extract(plain, 0), spu_extract(quad, 0));
    *(vector unsigned char *)(bytes + 32 + offset) = spu_splats((unsigned char)9);
    printf("%d ", bytes[32 + offset]);
    bytes[32] = bytes[48] = 0;
    si_stqd((qword)spu_splats((unsigned char)9), from, 32);
    printf("%d %d\n", bytes[48], bytes[32]);
    return 0;
}
