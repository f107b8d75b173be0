#include <setjmp.h>
#include <spu_mfcio.h>

static jmp_buf place;

static vector float halved(vector float v, int left) {
    if (left == 0)
        longjmp(place, 7);
    return halved(spu_mul(v, spu_splats(0.5f)), left - 1);
}

int main(void) {
    volatile int times = 0;
    int value = setjmp(place);
    if (times++ < 3)
        return (int)spu_extract(halved(spu_splats(1.0f), 30), 0);
    return 10 * value + times;
}
