#include <spu_mfcio.h>

int flags[32] __attribute__((aligned(128)));
char bytes[128] __attribute__((aligned(128)));

static void pause_a_little(void) {
    spu_write_decrementer(2000);
    while ((int)spu_read_decrementer() > 0)
        ;
}

int main(unsigned long long id, unsigned long long ea, unsigned long long other) {
    (void)id;
    mfc_write_tag_mask(1);
    pause_a_little();
    flags[1] = 1;
    mfc_put(&flags[1], ea + 4, 4, 0, 0, 0);
    mfc_read_tag_status_all();
    while (flags[0] != 2) {
        mfc_get(flags, ea, 128, 0, 0, 0);
        while (flags[1] != 1)
            ;
        mfc_read_tag_status_all();
    }
    pause_a_little();
    bytes[5] = 3;
    mfc_put(bytes, other, 128, 0, 0, 0);
    mfc_read_tag_status_all();
    return 0;
}
