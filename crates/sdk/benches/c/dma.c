/* Transfers of 16 KB with their waits, by DMA on an SPU. On this computer, with a number of
 * repeats alone, the same by memcpy. It prints the nanoseconds of each of several transfers. */
#include <stdio.h>

#define BYTES 16384
#define REPEATS 10000

static char here[BYTES] __attribute__((aligned(4096)));

#ifdef __SPU__
#include <spu_mfcio.h>

int main(unsigned long long id, unsigned long long runs, unsigned long long there)
{
    for (unsigned run = 0; run < runs; run++) {
        unsigned begin = spu_read_decrementer();

        for (int repeat = 0; repeat < REPEATS; repeat++) {
            mfc_get(here, there, BYTES, 0, 0, 0);
            mfc_write_tag_mask(1);
            mfc_read_tag_status_all();
        }
        printf("%u\n", (begin - spu_read_decrementer()) / REPEATS);
    }
    return 0;
}
#else
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char there[BYTES + 2048] __attribute__((aligned(4096)));

int main(int argc, char **argv)
{
    for (int run = 0; run < atoi(argv[argc - 1]); run++) {
        struct timespec begin, end;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            memcpy(here, there + 2048, BYTES);
            __asm__ volatile("" ::"r"(here), "r"(there) : "memory");
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("%lld\n", ((end.tv_sec - begin.tv_sec) * 1000000000ll + end.tv_nsec - begin.tv_nsec) / REPEATS);
    }
    return 0;
}
#endif
