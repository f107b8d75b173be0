/* Reverses the order of the even rows. */
#include <spu_mfcio.h>

#include "dma-list.h"

#define EVEN (ROWS / 2)

static int buffer[EVEN][COLUMNS] __attribute__((aligned(128)));
static mfc_list_element_t list[EVEN] __attribute__((aligned(8)));

int main(unsigned long long id, unsigned long long argp, unsigned long long envp) {
    unsigned int tag = mfc_tag_reserve();
    (void)id, (void)envp;
    mfc_write_tag_mask(1 << tag);
    for (int i = 0; i < EVEN; i++) {
        list[i].notify = 0;
        list[i].size = sizeof buffer[0];
        list[i].eal = mfc_ea2l(argp) + 2 * i * sizeof buffer[0];
    }
    mfc_getl(buffer, argp, list, sizeof list, tag, 0, 0);
    mfc_read_tag_status_all();
    for (int i = 0; i < EVEN; i++)
        list[i].eal = mfc_ea2l(argp) + 2 * (EVEN - 1 - i) * sizeof buffer[0];
    mfc_putl(buffer, argp, list, sizeof list, tag, 0, 0);
    mfc_read_tag_status_all();
    return 0;
}
