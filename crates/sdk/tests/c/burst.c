/* Writes words that do not block faster than an SPE can take them, and reads several stops
 * later. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>

#define WORDS 200

extern spe_program_handle_t burst_spu;

static void *run(void *spe) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    int stops = 0;
    while (spe_context_run(spe, &entry, 0, (void *)0x1234, (void *)0x5678, NULL) > 0)
        stops++;
    printf("PPU: %d stops\n", stops);
    return NULL;
}

int main(void) {
    pthread_t thread;
    spe_stop_info_t stop;
    spe_context_ptr_t spe = spe_context_create(SPE_EVENTS_ENABLE, NULL);
    spe_program_load(spe, &burst_spu);
    pthread_create(&thread, NULL, run, spe);
    for (unsigned int i = 1; i <= WORDS; i++)
        spe_in_mbox_write(spe, &i, 1, SPE_MBOX_ANY_NONBLOCKING);
    pthread_join(thread, NULL);
    while (spe_stop_info_read(spe, &stop) == 0)
        printf("PPU: reason %u, %#x\n", stop.stop_reason, stop.result.spe_signal_code);
    /* An SPE that does not run takes nothing. */
    for (unsigned int i = 1; i <= 6; i++)
        printf("PPU: %d\n", spe_in_mbox_write(spe, &i, 1, SPE_MBOX_ANY_NONBLOCKING));
    return spe_context_destroy(spe);
}
