/* Sends the multiples of its number, up to ten times it. */
#include <spu_mfcio.h>

int main(void) {
    unsigned int number = spu_read_in_mbox();
    for (unsigned int i = 1; i <= 10; i++)
        spu_write_out_intr_mbox(i * number);
    return 7;
}
