/* Runs the SPU program with 256 bytes, each of its own number. */
#include <libspe2.h>

extern spe_program_handle_t channels_spu;

static unsigned char data[256] __attribute__((aligned(128)));

int main(void) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_ptr_t spe = spe_context_create(0, 0);
    for (int i = 0; i < 256; i++)
        data[i] = i;
    return spe_program_load(spe, &channels_spu) || spe_context_run(spe, &entry, 0, data, 0, 0);
}
