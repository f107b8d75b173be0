/* A kernel as a program of an SPU, or of this computer. It prints the nanoseconds of each of
 * several runs, and then a checksum, which both programs share. */
#include <stdio.h>
#include <stdlib.h>

typedef float f32x4 __attribute__((vector_size(16)));
typedef int s32x4 __attribute__((vector_size(16)));
typedef unsigned char u8x16 __attribute__((vector_size(16)));

static void prepare(void);
static unsigned work(void);

#ifdef __SPU__
#include <spu_mfcio.h>
static unsigned nanoseconds(void) { return -spu_read_decrementer(); }
#else
#include <time.h>
static unsigned nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned)(now.tv_sec * 1000000000ull + now.tv_nsec);
}
#endif

#ifdef __SPU__
int main(unsigned long long id, unsigned long long argp)
{
    int runs = (int)argp;
#else
int main(int argc, char **argv)
{
    int runs = atoi(argv[argc - 1]);
#endif
    unsigned sum = 0;

    prepare();
    for (int run = 0; run < runs; run++) {
        unsigned begin = nanoseconds();

        sum += work();
        printf("%u\n", nanoseconds() - begin);
    }
    printf("sum %08x\n", sum);
    return 0;
}
