/* Stops that a program goes on after, callbacks, halts, and a fault of a context with events. */
#include <libspe2.h>
#include <stdio.h>

extern spe_program_handle_t stops_spu;

static int callback(void *local_store, unsigned int after_the_stop) {
    unsigned int data = *(unsigned int *)((char *)local_store + after_the_stop);
    unsigned int *word = (unsigned int *)((char *)local_store + (data & 0xffffff));
    printf("PPU: %u is called with %u\n", data >> 24, word[0]);
    word[0] *= 2;
    return 0;
}

int main(void) {
    spe_stop_info_t stop;
    spe_context_ptr_t spe = spe_context_create(SPE_EVENTS_ENABLE, NULL);
    spe_callback_handler_register(callback, 0x42, SPE_CALLBACK_NEW);
    if (!spe || spe_program_load(spe, &stops_spu))
        return 1;
    unsigned int entry = SPE_DEFAULT_ENTRY;
    for (;;) {
        int result = spe_context_run(spe, &entry, 0, NULL, NULL, &stop);
        printf("PPU: %d, reason %u, %#x, status %#x\n", result, stop.stop_reason, stop.result.spe_signal_code,
               stop.spu_status);
        if (stop.stop_reason != SPE_STOP_AND_SIGNAL)
            break;
    }
    spe_context_destroy(spe);
    return 0;
}
