/* Two SPEs take turns: each waits until the other has stored to the line that it has reserved. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>

extern spe_program_handle_t turn_by_turn_spu;
static volatile unsigned line[32] __attribute__((aligned(128)));
static spe_context_ptr_t spe[2];

static void *run(void *me) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_run(spe[(long)me], &entry, 0, (void *)line, me, NULL);
    return NULL;
}

int main(void) {
    pthread_t thread[2];
    for (long i = 0; i < 2; i++) {
        spe[i] = spe_context_create(0, NULL);
        if (!spe[i] || spe_program_load(spe[i], &turn_by_turn_spu))
            return 1;
        pthread_create(&thread[i], NULL, run, (void *)i);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    printf("%u turns\n", line[0]);
    return 0;
}
