#include <spu_mfcio.h>

static char buffer[128] __attribute__((aligned(128)));

int main(unsigned long long id, unsigned long long block) {
    /* Acknowledge before the words are read, and after. */
    for (int way = 0; way < 2; way++) {
        unsigned left = spu_read_in_mbox(), sum = 0;
        spu_write_event_mask(MFC_IN_MBOX_AVAILABLE_EVENT);
        while (left) {
            spu_read_event_status();
            if (way == 0)
                spu_write_event_ack(MFC_IN_MBOX_AVAILABLE_EVENT);
            while (spu_stat_in_mbox() && left) {
                sum += spu_read_in_mbox();
                left--;
            }
            if (way == 1)
                spu_write_event_ack(MFC_IN_MBOX_AVAILABLE_EVENT);
        }
        spu_write_event_mask(0);
        spu_write_out_mbox(sum);
    }
    /* The PPE has taken the word. */
    spu_write_event_mask(MFC_OUT_MBOX_AVAILABLE_EVENT);
    for (unsigned i = 0; i < 3000; i++) {
        spu_read_event_status();
        spu_write_event_ack(MFC_OUT_MBOX_AVAILABLE_EVENT);
        spu_write_out_mbox(i);
    }
    /* A transfer is complete. */
    spu_write_event_mask(MFC_TAG_STATUS_UPDATE_EVENT);
    for (int i = 0; i < 100; i++) {
        mfc_get(buffer, block, sizeof buffer, 3, 0, 0);
        mfc_write_tag_mask(1 << 3);
        mfc_write_tag_update_all();
        spu_read_event_status();
        mfc_read_tag_status();
        spu_write_event_ack(MFC_TAG_STATUS_UPDATE_EVENT);
    }
    return (int)id & 0;
}
