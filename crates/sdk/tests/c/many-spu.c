#include <spu_mfcio.h>

static unsigned result[4] __attribute__((aligned(16)));
static unsigned kept;

int main(unsigned long long id, unsigned long long results) {
    result[0] = spu_read_in_mbox();
    kept = result[0];
    spu_stop(0x11);
    result[1] = spu_read_in_mbox();
    kept += result[0];
    spu_stop(0x12);
    result[2] = spu_read_signal1();
    result[3] = kept + *(volatile unsigned *)0x3fff0;
    *(volatile unsigned *)0x3fff4 = result[0] + 1;
    mfc_put(result, results, sizeof result, 0, 0, 0);
    mfc_write_tag_mask(1);
    mfc_read_tag_status_all();
    spu_write_out_mbox(7 * result[0]);
    return (int)id & 0;
}
