/* Adds to the counter TIMES times. The lock is the one of the thesis Jack Rabbit, figure 4.3: it
 * is read by an ordinary get while it is taken, and by getllar and putllc to take it. */
#include <spu_mfcio.h>

#include "lock.h"

#define TAG 3

static volatile unsigned int line[32] __attribute__((aligned(128)));
static unsigned int counter[32] __attribute__((aligned(128)));

static void wait(void) {
    mfc_write_tag_mask(1 << TAG);
    mfc_read_tag_status_all();
}

static void acquire(unsigned long long lock) {
    for (;;) {
        mfc_getllar(line, lock, 0, 0);
        mfc_read_atomic_status();
        while (line[0] != 0) {
            mfc_get(line, lock, 128, TAG, 0, 0);
            wait();
            if (line[0] == 0) {
                mfc_getllar(line, lock, 0, 0);
                mfc_read_atomic_status();
            }
        }
        line[0] = 1;
        mfc_putllc(line, lock, 0, 0);
        if ((mfc_read_atomic_status() & MFC_PUTLLC_STATUS) == 0)
            return;
    }
}

static void release(unsigned long long lock) {
    line[0] = 0;
    mfc_putlluc(line, lock, 0, 0);
    mfc_read_atomic_status();
}

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    unsigned long long lock = argp, at = argp + 128;
    (void)id, (void)envp;
    for (int i = 0; i < TIMES; i++) {
        acquire(lock);
        mfc_get(counter, at, sizeof counter, TAG, 0, 0);
        wait();
        counter[0]++;
        mfc_put(counter, at, sizeof counter, TAG, 0, 0);
        wait();
        release(lock);
    }
    return 0;
}
