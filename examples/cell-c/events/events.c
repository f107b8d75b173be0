/* Three SPEs send words through their interrupt mailboxes, and one loop of the PPU waits for all of
 * them. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>

#define SPES 3

extern spe_program_handle_t events_spu;

static void *run(void *context) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_run(context, &entry, 0, NULL, NULL, NULL);
    return NULL;
}

int main(void) {
    spe_event_handler_ptr_t handler = spe_event_handler_create();
    spe_context_ptr_t spe[SPES];
    pthread_t thread[SPES];
    unsigned int sum[SPES] = {0};
    for (int i = 0; i < SPES; i++) {
        unsigned int number = i + 1;
        spe[i] = spe_context_create(SPE_EVENTS_ENABLE, NULL);
        if (!spe[i] || spe_program_load(spe[i], &events_spu)) {
            perror("spe_context_create");
            return 1;
        }
        spe_event_unit_t unit = {
            .spe = spe[i], .events = SPE_EVENT_OUT_INTR_MBOX | SPE_EVENT_SPE_STOPPED, .data.u32 = i};
        spe_event_handler_register(handler, &unit);
        pthread_create(&thread[i], NULL, run, spe[i]);
        spe_in_mbox_write(spe[i], &number, 1, SPE_MBOX_ALL_BLOCKING);
    }
    for (int running = SPES; running > 0;) {
        spe_event_unit_t events[SPES];
        int count = spe_event_wait(handler, events, SPES, -1);
        for (int i = 0; i < count; i++) {
            unsigned int from = events[i].data.u32;
            if (events[i].events & SPE_EVENT_OUT_INTR_MBOX) {
                unsigned int word;
                spe_out_intr_mbox_read(events[i].spe, &word, 1, SPE_MBOX_ANY_BLOCKING);
                sum[from] += word;
            } else if (events[i].events & SPE_EVENT_SPE_STOPPED) {
                spe_stop_info_t stop;
                spe_stop_info_read(events[i].spe, &stop);
                printf("an SPE has exited with %d\n", stop.result.spe_exit_code);
                running--;
            }
        }
    }
    for (int i = 0; i < SPES; i++) {
        printf("SPE %d has sent %u\n", i, sum[i]);
        pthread_join(thread[i], NULL);
        spe_context_destroy(spe[i]);
    }
    spe_event_handler_destroy(handler);
    return 0;
}
