/* Commands to the areas that the PPU sees of this SPE. */
#include <spu_mfcio.h>

static unsigned words[32] __attribute__((aligned(128)));
static char buffer[64] __attribute__((aligned(128)));
static mfc_list_element_t list[2] __attribute__((aligned(8)));

static void wait(void) {
    mfc_write_tag_mask(1 << 3);
    mfc_read_tag_status_all();
}

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    (void)id, (void)envp;
    mfc_get(words, argp, sizeof words, 3, 0, 0);
    wait();
    unsigned at = words[1];
    list[0].eal = at;
    switch (words[0]) {
    case 0: /* its own buffer by the address of the PPU, and a list that moves nothing */
        buffer[0] = 7;
        mfc_get(buffer + 32, words[2] + (unsigned)buffer, 16, 3, 0, 0);
        mfc_getl(buffer, 0x500000000ULL, list, sizeof list, 3, 0, 0);
        wait();
        return buffer[32] - 7;
    case 1:
    case 2: mfc_get(buffer, at, 32, 3, 0, 0); break;
    case 3:
        list[0].size = 4;
        mfc_putl(buffer, argp, list, 8, 3, 0, 0);
        break;
    case 4:
    case 5: mfc_get(buffer, at, 16, 3, 0, 0); break;
    case 6: mfc_get(buffer + 4, at, 4, 3, 0, 0); break;
    case 7: spu_read_in_mbox();
    }
    wait();
    return 0;
}
