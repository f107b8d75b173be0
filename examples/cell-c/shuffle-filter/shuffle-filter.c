/* An SPE blurs the lines of an image with shuffles of bytes, which see how a Cell orders them. */
#include <libspe2.h>
#include <stdio.h>

#include "shuffle-filter.h"

extern spe_program_handle_t shuffle_filter_spu;

static struct image image __attribute__((aligned(128)));

int main(void) {
    static unsigned char expected[BYTES];
    for (int i = 0; i < BYTES; i++)
        image.in[i] = i * 37 % 251;
    for (int i = 1; i < BYTES - 1; i++)
        expected[i] = (image.in[i - 1] + 2 * image.in[i] + image.in[i + 1]) / 4;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    if (!spe || spe_program_load(spe, &shuffle_filter_spu)) {
        perror("spe_context_create");
        return 1;
    }
    unsigned int entry = SPE_DEFAULT_ENTRY;
    if (spe_context_run(spe, &entry, 0, &image, NULL, NULL) < 0) {
        perror("spe_context_run");
        return 1;
    }
    int wrong = 0;
    for (int i = 1; i < BYTES - 1; i++)
        wrong += image.out[i] != expected[i];
    printf("%d of %d bytes are wrong\n", wrong, BYTES - 2);
    spe_context_destroy(spe);
    return wrong != 0;
}
