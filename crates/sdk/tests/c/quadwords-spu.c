/* A `main` that takes each of its three registers as another type. */
#include <spu_intrinsics.h>
#include <stdio.h>

struct words {
    unsigned short half, other;
    unsigned int word;
    unsigned long long wide;
};

int main(qword bytes, vector unsigned short halves, struct words words) {
    printf("%x %x\n", (unsigned)spu_extract((vector unsigned char)bytes, 0),
           (unsigned)spu_extract((vector unsigned char)bytes, 15));
    printf("%x %x\n", spu_extract(halves, 1), spu_extract(halves, 6));
    printf("%x %x %x %llx\n", words.half, words.other, words.word, words.wide);
    return 0;
}
