#include <spu_intrinsics.h>
#include <spu_mfcio.h>
#include <stdio.h>

/* The arguments as programs of the SDK take them. */
typedef union {
    unsigned long long ull;
    unsigned int ui[2];
} addr64;

int main(unsigned long long id, addr64 argp, addr64 envp) {
    unsigned int sum = 0;
    for (int i = 0; i < 200; i++) {
        while (spu_stat_in_mbox() == 0)
            ;
        sum += spu_read_in_mbox();
    }
    printf("SPU: %#x %#x, %#llx %d\n", argp.ui[0], argp.ui[1], envp.ull, id != 0);
    printf("SPU: %u\n", sum);
    spu_stop(0x11);
    spu_stop(0x12);
    return 3;
}
