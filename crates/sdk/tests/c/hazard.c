/* Runs the SPU program with a buffer. */
#include <libspe2.h>
#include <stdio.h>

extern spe_program_handle_t hazard_spu;

static char data[256] __attribute__((aligned(128)));

int main(void) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_ptr_t spe = spe_context_create(0, 0);
    printf("%p", (void *)data);
    return spe_program_load(spe, &hazard_spu) || spe_context_run(spe, &entry, 0, data, 0, 0);
}
