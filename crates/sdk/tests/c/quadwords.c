/* Starts a program with what its registers 3 to 5 have, and once with numbers. */
#include <libspe2.h>

extern spe_program_handle_t quadwords_spu;

int main(void) {
    static unsigned char registers[48] __attribute__((aligned(16)));
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_ptr_t spe = spe_context_create(0, NULL);

    for (unsigned int at = 0; at < sizeof registers; at++)
        registers[at] = at + 1;
    if (!spe || spe_program_load(spe, &quadwords_spu))
        return 1;
    if (spe_context_run(spe, &entry, SPE_RUN_USER_REGS, registers, NULL, NULL) < 0)
        return 2;
    entry = SPE_DEFAULT_ENTRY;
    return spe_context_run(spe, &entry, 0, (void *)0x12345678, (void *)0x9abcdef0, NULL) < 0;
}
