/* Events of an SPU whose causes come again while the program looks at the last one. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>

#define WORDS 3000

extern spe_program_handle_t again_spu;
static char block[128] __attribute__((aligned(128)));

static void *run(void *spe) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_stop_info_t stop;
    spe_context_run(spe, &entry, 0, block, NULL, &stop);
    printf("exit %d\n", stop.result.spe_exit_code);
    return NULL;
}

int main(void) {
    pthread_t thread;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    unsigned int word = WORDS, sum;
    spe_program_load(spe, &again_spu);
    pthread_create(&thread, NULL, run, spe);
    /* Each word of the program's two loops. */
    for (int way = 0; way < 2; way++) {
        spe_in_mbox_write(spe, &word, 1, SPE_MBOX_ALL_BLOCKING);
        /* One by one, and by threes. */
        unsigned count = way == 0 ? 1 : 3;
        for (unsigned i = 0; i < WORDS; i += count) {
            unsigned words[3] = {i, i + 1, i + 2};
            spe_in_mbox_write(spe, words, count, SPE_MBOX_ALL_BLOCKING);
        }
        while (!spe_out_mbox_status(spe))
            ;
        spe_out_mbox_read(spe, &sum, 1);
        printf("sum %u\n", sum);
    }
    /* A word for each that the program writes. */
    for (unsigned i = 0; i < WORDS; i++) {
        while (!spe_out_mbox_status(spe))
            ;
        spe_out_mbox_read(spe, &sum, 1);
    }
    printf("last %u\n", sum);
    pthread_join(thread, NULL);
    return 0;
}
