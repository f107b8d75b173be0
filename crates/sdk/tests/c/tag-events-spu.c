/* The event of tag groups comes when an update that was asked for is due, once for each update. */
#include <spu_mfcio.h>
#include <stdio.h>

static char buffer[2048] __attribute__((aligned(128)));
static mfc_list_element_t list[2] __attribute__((aligned(8)));

static void acknowledge(void) {
    unsigned events = spu_read_event_status();
    printf("event %x\n", events);
    spu_write_event_ack(events);
}

int main(unsigned long long id, unsigned long long ea) {
    (void)id;
    spu_write_event_mask(MFC_TAG_STATUS_UPDATE_EVENT);
    mfc_get(buffer, ea, 128, 1, 0, 0);
    printf("without an update: %u\n", spu_stat_event_status());

    /* Tag 2 stands still until the stall is acknowledged. */
    for (int i = 0; i < 2; i++) {
        list[i].notify = i == 0;
        list[i].size = 128;
        list[i].eal = (unsigned)ea + 128 * i;
    }
    mfc_getl(buffer + 1024, ea, list, sizeof list, 2, 0, 0);
    mfc_write_tag_mask(1 << 1 | 1 << 2);
    mfc_write_tag_update_any();
    acknowledge();
    printf("status %x\n", mfc_read_tag_status());
    mfc_write_tag_update_all();
    printf("before the stall is acknowledged: %u\n", spu_stat_event_status());
    mfc_write_list_stall_ack(2);
    acknowledge();
    printf("status %x, and no further event: %u\n", mfc_read_tag_status(), spu_stat_event_status());

    /* Asked for before the event is enabled. */
    spu_write_event_mask(0);
    mfc_write_tag_update_immediate();
    spu_write_event_mask(MFC_TAG_STATUS_UPDATE_EVENT);
    acknowledge();
    printf("status %x\n", mfc_read_tag_status());
    return 0;
}
