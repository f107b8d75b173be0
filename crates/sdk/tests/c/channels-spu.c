/* Commands and tag groups by the channels, and what they say while a list waits. */
#include <spu_mfcio.h>
#include <stdio.h>

static unsigned char buffer[256] __attribute__((aligned(128)));
static mfc_list_element_t list[2] __attribute__((aligned(8)));

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    (void)id, (void)envp;
    spu_writech(MFC_LSA, (unsigned)buffer);
    spu_writech(MFC_EAH, mfc_ea2h(argp));
    spu_writech(MFC_EAL, mfc_ea2l(argp) + 16);
    spu_writech(MFC_Size, 16);
    spu_writech(MFC_TagID, 5);
    spu_writech(MFC_Cmd, MFC_GET_CMD);
    printf("updates %u, statuses %u\n", mfc_stat_tag_update(), mfc_stat_tag_status());
    mfc_write_tag_mask(1 << 5 | 1 << 6);
    mfc_write_tag_update_all();
    printf("status %#x of %#x: %d\n", mfc_read_tag_status(), mfc_read_tag_mask(), buffer[0]);

    list[0].notify = 1;
    list[0].size = list[1].size = 16;
    list[0].eal = mfc_ea2l(argp) + 32, list[1].eal = mfc_ea2l(argp) + 48;
    mfc_getl(buffer, argp, list, sizeof list, 6, 0, 0);
    printf("stalled %#x\n", mfc_read_list_stall_status());
    printf("now %#x, any %#x\n", mfc_read_tag_status_immediate(), mfc_read_tag_status_any());
    mfc_write_tag_update_all();
    printf("all there: %u\n", mfc_stat_tag_status());
    mfc_write_list_stall_ack(6);
    printf("all %#x: %d %d\n", mfc_read_tag_status(), buffer[0], buffer[16]);

    /* After that a command and its wait are short again. */
    mfc_get(buffer, argp + 64, 16, 6, 0, 0);
    printf("all %#x: %d\n", mfc_read_tag_status_all(), buffer[0]);
    mfc_write_tag_mask(0);
    printf("none %#x %#x\n", mfc_read_tag_status_any(), mfc_read_tag_status_all());

    /* The same by assembler. */
    unsigned before, after, ticks;
    asm volatile("rchcnt %0,$ch28" : "=r"(before));
    asm volatile("wrch $ch28,%0" : : "r"(7));
    asm volatile("rchcnt %0,$ch28" : "=r"(after));
    asm volatile("wrch $ch7,%0; " : : "r"(1 << 30));
    asm volatile("rdch %0,$ch8" : "=r"(ticks));
    printf("room %u, then %u; ticks %d\n", before, after, ticks <= 1 << 30 && ticks > 1 << 29);
    return 0;
}
