/* Two commands that write the same bytes, and nothing orders them. */
#include <spu_mfcio.h>

static char buffer[512] __attribute__((aligned(128)));

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    (void)id, (void)envp;
    mfc_get(buffer, argp, 256, 3, 0, 0);       /* the first get */
    mfc_get(buffer + 128, argp, 128, 4, 0, 0); /* the second get */
    mfc_write_tag_mask(3 << 3);
    mfc_read_tag_status_all(); /* the wait */
    return 0;
}
