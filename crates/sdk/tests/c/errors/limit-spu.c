#include <spu_mfcio.h>

static volatile int never;

int main(void) {
    unsigned int word = spu_read_in_mbox();
    if (word == 0)
        return spu_read_in_mbox();
    while (word == 2 && spu_stat_in_mbox() == 0)
        ;
    while (!never)
        ;
    return 0;
}
