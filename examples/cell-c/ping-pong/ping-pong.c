/* Two SPEs answer the words of their mailboxes: how a PPU program and its SPEs talk. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SPES 2
#define ROUNDS 5

extern spe_program_handle_t ping_pong_spu;

/* spe_context_run returns when the SPE program ends, so each context has a thread. */
static void *run(void *context) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_stop_info_t stop;
    if (spe_context_run(context, &entry, 0, NULL, NULL, &stop) < 0)
        perror("spe_context_run");
    return (void *)(long)stop.result.spe_exit_code;
}

int main(void) {
    spe_context_ptr_t spe[SPES];
    pthread_t thread[SPES];
    for (int i = 0; i < SPES; i++) {
        spe[i] = spe_context_create(0, NULL);
        if (!spe[i] || spe_program_load(spe[i], &ping_pong_spu)) {
            perror("spe_context_create");
            return 1;
        }
        pthread_create(&thread[i], NULL, run, spe[i]);
    }
    for (unsigned int round = 1; round <= ROUNDS; round++)
        for (int i = 0; i < SPES; i++) {
            unsigned int word = 100 * i + round;
            spe_in_mbox_write(spe[i], &word, 1, SPE_MBOX_ALL_BLOCKING);
            while (spe_out_mbox_status(spe[i]) == 0)
                ;
            spe_out_mbox_read(spe[i], &word, 1);
            printf("SPE %d answers %u\n", i, word);
        }
    for (int i = 0; i < SPES; i++) {
        unsigned int end = 0;
        void *code;
        spe_in_mbox_write(spe[i], &end, 1, SPE_MBOX_ALL_BLOCKING);
        pthread_join(thread[i], &code);
        printf("SPE %d has answered %ld times\n", i, (long)code);
        spe_context_destroy(spe[i]);
    }
    return 0;
}
