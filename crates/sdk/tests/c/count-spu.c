#include <libsync.h>
#include <spu_mfcio.h>

static volatile int line[32] __attribute__((aligned(128)));

int main(unsigned long long id, unsigned long long shared) {
    for (int i = 0; i < 2000; i++) {
        atomic_inc(shared);
        atomic_inc(shared + 4);
        mutex_lock(shared + 8);
        mfc_get(line, shared + 128, sizeof line, 0, 0, 0);
        mfc_write_tag_mask(1);
        mfc_read_tag_status_all();
        line[0]++;
        mfc_put(line, shared + 128, 4, 0, 0, 0);
        mfc_read_tag_status_all();
        mutex_unlock(shared + 8);
    }
    return (int)id & 0;
}
