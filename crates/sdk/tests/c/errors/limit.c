/* Programs that do not end: one waits, one computes and one polls, or with an argument all wait. */
#include <libspe2.h>
#include <pthread.h>

extern spe_program_handle_t limit_spu;

static void *run(void *spe) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_run(spe, &entry, 0, NULL, NULL, NULL);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread[3];
    (void)argv;
    for (unsigned int i = 0; i < 3; i++) {
        unsigned int word = argc > 1 ? 0 : i;
        spe_context_ptr_t spe = spe_context_create(0, NULL);
        spe_program_load(spe, &limit_spu);
        spe_in_mbox_write(spe, &word, 1, SPE_MBOX_ALL_BLOCKING);
        pthread_create(&thread[i], NULL, run, spe);
    }
    pthread_join(thread[0], NULL);
    return 0;
}
