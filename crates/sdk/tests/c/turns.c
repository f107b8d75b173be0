/* Starts a program on each SPE that never ends and calls nothing, and one that ends. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

extern spe_program_handle_t turns_spu;

struct program {
    spe_context_ptr_t context;
    long way;
};

static void *run(void *argument) {
    struct program *program = argument;
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_context_run(program->context, &entry, 0, (void *)program->way, NULL, NULL);
    return NULL;
}

int main(void) {
    static struct program programs[5];
    pthread_t threads[5];

    for (long way = 0; way < 5; way++) {
        programs[way] = (struct program){spe_context_create(0, NULL), way};
        spe_program_load(programs[way].context, &turns_spu);
        pthread_create(&threads[way], NULL, run, &programs[way]);
    }
    /* This program of an SPE ends although the others of its processor never wait. */
    pthread_join(threads[4], NULL);
    puts("the PPU ends");
    return 0;
}
