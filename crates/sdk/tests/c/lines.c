/* An SPE waits for the loss of its reservation, which ordinary stores of the PPU end. With an
 * argument the PPU does not store. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

extern spe_program_handle_t lines_spu;
static volatile unsigned line[32] __attribute__((aligned(128)));

static void *run(void *spe) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_run(spe, &entry, 0, (void *)line, NULL, NULL);
    return NULL;
}

int main(int argc, char **argv) {
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    pthread_t thread;
    (void)argv;
    if (!spe || spe_program_load(spe, &lines_spu))
        return 1;
    pthread_create(&thread, NULL, run, spe);
    for (unsigned round = 1; argc == 1 && round <= 3; round++) {
        usleep(100); /* The SPE waits now. */
        line[0] = round;
        while (line[1] != round)
            ;
        printf("round %u\n", round);
    }
    pthread_join(thread, NULL);
    return 0;
}
