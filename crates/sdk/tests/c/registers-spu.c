#include <spu_mfcio.h>

int main(void) {
    unsigned sum = 0;
    spu_write_out_mbox(spu_read_in_mbox() + 1);
    sum += spu_read_signal2();
    for (int word = 0; word < 8; word++)
        sum += spu_read_in_mbox();
    return sum;
}
