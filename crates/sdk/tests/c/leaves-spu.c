/* Sends a word, and then, as its argument says: 1 waits for a word, 2 ends without a wait for its
   DMA, 3 polls for a word. */
#include <spu_mfcio.h>

static char buffer[16384] __attribute__((aligned(128)));

int main(unsigned long long id, unsigned long long way, unsigned long long to)
{
    (void)id;
    spu_write_out_mbox(1);
    if (way == 1)
        return spu_read_in_mbox();
    if (way == 2)
        mfc_put(buffer, to, sizeof buffer, 3, 0, 0);
    while (way == 3 && !spu_stat_in_mbox()) {} /* polled by the SPU */
    return 0; /* the end */
}
