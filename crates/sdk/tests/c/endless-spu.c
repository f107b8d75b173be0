#include <spu_mfcio.h>

static volatile unsigned turns;

int main(unsigned long long spe, unsigned long long waits) {
    if (waits)
        return spu_read_in_mbox();
    for (;;)
        turns++;
}
