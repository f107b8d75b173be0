/* Both sides wait for flags that are not volatile: without optimisation that works. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>

extern spe_program_handle_t unoptimised_spu;
int flags[32] __attribute__((aligned(128)));
char bytes[128] __attribute__((aligned(128)));

static void *run(void *spe) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_run(spe, &entry, 0, flags, bytes, NULL);
    return NULL;
}

int main(void) {
    pthread_t thread;
    int *first = flags;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    if (!spe || spe_program_load(spe, &unoptimised_spu))
        return 1;
    pthread_create(&thread, NULL, run, spe);
    while (first[1] != 1)
        ;
    flags[0] = 2;
    while (!bytes[5])
        ;
    pthread_join(thread, NULL);
    printf("flags %d %d, byte %d\n", flags[0], flags[1], bytes[5]);
    return 0;
}
