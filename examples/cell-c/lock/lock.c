/* SPEs share a counter in main memory, which a lock protects. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>

#include "lock.h"

extern spe_program_handle_t lock_spu;

static struct shared shared __attribute__((aligned(128)));

static void *run(void *context) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    if (spe_context_run(context, &entry, 0, &shared, NULL, NULL) < 0)
        perror("spe_context_run");
    return NULL;
}

int main(void) {
    spe_context_ptr_t spe[SPES];
    pthread_t thread[SPES];
    for (int i = 0; i < SPES; i++) {
        spe[i] = spe_context_create(0, NULL);
        if (!spe[i] || spe_program_load(spe[i], &lock_spu)) {
            perror("spe_context_create");
            return 1;
        }
        pthread_create(&thread[i], NULL, run, spe[i]);
    }
    for (int i = 0; i < SPES; i++) {
        pthread_join(thread[i], NULL);
        spe_context_destroy(spe[i]);
    }
    printf("%d SPEs have counted to %u\n", SPES, shared.counter[0]);
    return shared.counter[0] != SPES * TIMES;
}
