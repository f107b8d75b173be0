/* Memory that SPU programs use through pointers of __ea. */
#include <libspe2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ea-job.h"

extern spe_program_handle_t ea_spu;

static struct job jobs[2];
static unsigned char shared[128] __attribute__((aligned(128)));
static int numbers[20000] __attribute__((aligned(128)));
static struct node nodes[3] = {{&nodes[1], 1, {1, 2, 3}}, {&nodes[2], 20, {4, 5, 6}}, {NULL, 300, {7, 8, 9}}};
static spe_context_ptr_t spes[2];

static void *run(void *number) {
    int i = (int)number;
    unsigned entry = SPE_DEFAULT_ENTRY;
    spe_stop_info_t stop;
    if (spe_context_run(spes[i], &entry, 0, &jobs[i], NULL, &stop) < 0)
        perror("spe_context_run");
    return (void *)stop.result.spe_exit_code;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    void *result;
    int i, turn, wrong = 0;
    for (i = 0; i < 20000; i++)
        numbers[i] = i;
    for (i = 0; i < 2; i++) {
        jobs[i].shared = shared;
        jobs[i].numbers = numbers + i * 10000;
        jobs[i].list = nodes;
        jobs[i].text = i ? "the second" : "the first";
        jobs[i].part = i;
        jobs[i].wrong = argc > 1 ? atoi(argv[1]) : 0;
        spes[i] = spe_context_create(0, NULL);
        spe_program_load(spes[i], &ea_spu);
    }
    for (turn = 0; turn < 2; turn++) {
        for (i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, run, (void *)i);
        for (i = 0; i < 2; i++) {
            pthread_join(threads[i], &result);
            printf("%d from SPE %d: %s, %s\n", (int)result, i, jobs[i].said, jobs[i].made);
            free(jobs[i].made);
        }
    }
    /* Each program has written every second byte of the line, twice. */
    for (i = 0; i < 128; i++)
        wrong += shared[i] != i % 2 + 2;
    for (i = 0; i < 20000; i++)
        wrong += numbers[i] != i * 4;
    printf("%d wrong, node %d %d\n", wrong, nodes[2].number, nodes[2].three.c);
    return 0;
}
