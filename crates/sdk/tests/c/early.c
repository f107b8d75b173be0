/* Programs of SPEs that are shorter than a start. With an argument, they wait for each other. */
#include <libspe2.h>
#include <pthread.h>

#define SPES 3

extern spe_program_handle_t early_spu;

static int waits;

static void *run(void *context) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_run(context, &entry, 0, (void *)waits, NULL, NULL);
    return NULL;
}

int main(int argc, char **argv) {
    spe_context_ptr_t spe[SPES];
    pthread_t thread[SPES];
    unsigned int word;
    (void)argv;
    waits = argc > 1;
    for (int i = 0; i < SPES; i++) {
        spe[i] = spe_context_create(0, NULL);
        spe_program_load(spe[i], &early_spu);
        pthread_create(&thread[i], NULL, run, spe[i]);
    }
    for (int i = 0; waits && i < SPES; i++)
        while (spe_out_mbox_read(spe[i], &word, 1) == 0)
            ;
    for (int i = 0; waits && i < SPES; i++)
        spe_in_mbox_write(spe[i], &word, 1, SPE_MBOX_ALL_BLOCKING);
    for (int i = 0; i < SPES; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
