/* A program that stops begins again if `entry` says so, and goes on if `entry` is what the last run
 * has written there. Its variables stay as they are. */
#include <libspe2.h>
#include <stdio.h>

extern spe_program_handle_t restart_spu;

int main(void) {
    spe_stop_info_t stop;
    unsigned int entry;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    if (!spe || spe_program_load(spe, &restart_spu))
        return 1;
    for (int run = 0; run < 4; run++) {
        if (run % 2 == 0)
            entry = SPE_DEFAULT_ENTRY;
        if (spe_context_run(spe, &entry, 0, (void *)(long)run, NULL, &stop) < 0)
            return 2;
        printf("reason %d, code %#x, changed %d\n", stop.stop_reason, stop.result.spe_signal_code,
               entry != SPE_DEFAULT_ENTRY);
        if (run == 1)
            entry = SPE_DEFAULT_ENTRY;
    }
    /* A stopped program that is loaded again begins, whatever `entry` says. */
    entry = SPE_DEFAULT_ENTRY;
    spe_context_run(spe, &entry, 0, NULL, NULL, &stop);
    spe_program_load(spe, &restart_spu);
    entry = SPE_DEFAULT_ENTRY;
    return spe_context_run(spe, &entry, 0, NULL, NULL, &stop) < 0;
}
