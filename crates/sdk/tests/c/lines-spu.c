#include <spu_mfcio.h>

static volatile unsigned line[32] __attribute__((aligned(128)));

static void reserve(unsigned long long ea) {
    mfc_getllar(line, ea, 0, 0);
    mfc_read_atomic_status();
}

int main(unsigned long long id, unsigned long long ea) {
    (void)id;
    spu_write_event_mask(MFC_LLR_LOST_EVENT);
    for (unsigned round = 0; round < 3;) {
        for (reserve(ea); line[0] == round; reserve(ea)) {
            spu_read_event_status(); /* until the PPU stores */
            spu_write_event_ack(MFC_LLR_LOST_EVENT);
        }
        round++;
        do {
            reserve(ea);
            line[1] = round;
            spu_dsync();
            mfc_putllc(line, ea, 0, 0);
        } while (mfc_read_atomic_status() & MFC_PUTLLC_STATUS);
    }
    return 0;
}
