/* The first SPU computes for ever, and the second one waits for a word: for the report at a limit of
   simulated time. */
#include <libspe2.h>
#include <pthread.h>

extern spe_program_handle_t endless_spu;

static void *run(void *argument) {
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    unsigned entry = SPE_DEFAULT_ENTRY;
    spe_program_load(spe, &endless_spu);
    spe_context_run(spe, &entry, 0, argument, NULL, NULL);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, run, (void *)0);
    pthread_create(&second, NULL, run, (void *)1);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
