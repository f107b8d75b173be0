/* Sends a word, and then, as its argument says: 1 waits for a word, 2 ends without a wait for its
   DMA, 3 to 7 poll for a word, a lock of libsync, memory, a flag, and one that they count for. */
#include <libsync.h>
#include <spu_mfcio.h>

static volatile int never;
static char buffer[16384] __attribute__((aligned(128)));

#define FETCH(from) \
    (mfc_get(buffer, from, 128, 3, 0, 0), mfc_write_tag_mask(8), mfc_read_tag_status_all())

int main(unsigned long long id, unsigned long long way, unsigned long long to)
{
    (void)id;
    spu_write_out_mbox(1);
    if (way == 1)
        return spu_read_in_mbox();
    if (way == 2)
        mfc_put(buffer, to, sizeof buffer, 3, 0, 0);
    while (way == 3 && !spu_stat_in_mbox()) {} /* polled by the SPU */
    if (way == 4) {
        mutex_lock(to);
        mutex_lock(to); /* a lock of the SPU */
    }
    while (way == 5 && !*(volatile char *)buffer) FETCH(to); /* fetched by the SPU */
    while (way == 6 && !never) {} /* a flag of the SPU */
    unsigned turns = 0;
    while (way == 7 && !never) turns++; /* counted by the SPU */
    return turns; /* the end */
}
