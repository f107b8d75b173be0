#include <spu_mfcio.h>

int main(unsigned long long id, unsigned long long waits) {
    (void)id;
    if (waits) {
        spu_write_out_mbox(1);
        spu_read_in_mbox();
    }
    return 0;
}
