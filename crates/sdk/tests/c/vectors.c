/* Starts a program whose `main` takes its arguments as vectors of words. */
#include <libspe2.h>

extern spe_program_handle_t vectors_spu;

int main(void) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    if (!spe || spe_program_load(spe, &vectors_spu))
        return 1;
    return spe_context_run(spe, &entry, 0, (void *)0x12345678, (void *)0x9abcdef0, NULL) < 0;
}
