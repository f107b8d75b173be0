/* The event of tag groups: see tag-events-spu.c. */
#include <libspe2.h>
#include <stddef.h>

extern spe_program_handle_t tag_events_spu;

static char data[4096] __attribute__((aligned(128)));

int main(void) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    spe_program_load(spe, &tag_events_spu);
    return spe_context_run(spe, &entry, 0, data, NULL, NULL);
}
