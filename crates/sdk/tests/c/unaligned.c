/* Runs the SPU program. */
#include <libspe2.h>

extern spe_program_handle_t unaligned_spu;

int main(void) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_ptr_t spe = spe_context_create(0, 0);
    return spe_program_load(spe, &unaligned_spu) || spe_context_run(spe, &entry, 0, 0, 0, 0);
}
