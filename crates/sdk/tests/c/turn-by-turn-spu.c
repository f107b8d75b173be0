#include <spu_mfcio.h>

static volatile unsigned line[32] __attribute__((aligned(128)));

static void reserve(unsigned long long ea) {
    mfc_getllar(line, ea, 0, 0);
    mfc_read_atomic_status();
}

int main(unsigned long long id, unsigned long long ea, unsigned long long me) {
    (void)id;
    spu_write_event_mask(MFC_LLR_LOST_EVENT);
    for (unsigned turn = me; turn < 30; turn += 2) {
        for (reserve(ea); line[0] != turn; reserve(ea)) {
            spu_read_event_status(); /* until the other SPE stores */
            spu_write_event_ack(MFC_LLR_LOST_EVENT);
        }
        line[0]++;
        switch (turn / 2 % 3) {
        case 0:
            mfc_putllc(line, ea, 0, 0);
            mfc_read_atomic_status();
            break;
        case 1:
            mfc_putlluc(line, ea, 0, 0);
            mfc_read_atomic_status();
            break;
        default:
            mfc_put(line, ea, sizeof line, 0, 0, 0);
            mfc_write_tag_mask(1);
            mfc_read_tag_status_all();
        }
    }
    return 0;
}
