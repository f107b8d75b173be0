/* Runs a program of an SPU that was made without a program of the PPU. Its `main` gets no
 * arguments. */
#include <libspe2.h>
#include <stdio.h>

extern spe_program_handle_t program;

int main(void) {
    /* Registers 3 to 5, all 0: `main` may be one of an ordinary program, with argc and argv. */
    static unsigned int registers[12] __attribute__((aligned(16)));
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_stop_info_t stop;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    if (!spe || spe_program_load(spe, &program))
        return 1;
    if (spe_context_run(spe, &entry, SPE_RUN_USER_REGS, registers, NULL, &stop) < 0)
        return 1;
    if (stop.stop_reason == SPE_EXIT)
        return stop.result.spe_exit_code;
    fprintf(stderr, "cellworks: the program stopped with the code %#x, and no program of the PPU is here to go on\n",
            (unsigned)stop.result.spe_signal_code);
    return 1;
}
