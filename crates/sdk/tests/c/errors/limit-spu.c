#include <spu_mfcio.h>

static volatile int never;

int main(void) {
    if (spu_read_in_mbox() == 0)
        return spu_read_in_mbox();
    while (!never)
        ;
    return 0;
}
