/* Jumps out of functions (setjmp, longjmp), on both sides and in several threads. */
#include <libspe2.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

extern spe_program_handle_t jumps_spu;

static __thread jmp_buf outer;

static int deep(int left, double weight) {
    char room[1000];
    room[left] = left;
    if (left == 0)
        longjmp(outer, 0);
    return deep(left - 1, weight / 2) + room[left];
}

/* Each level catches what the level below throws, and throws its own. */
static int levels(int level, jmp_buf *above) {
    jmp_buf here;
    int caught = setjmp(here);
    if (caught)
        longjmp(*above, caught + level);
    if (level == 0)
        longjmp(here, 1);
    return levels(level - 1, &here);
}

static int compare(const void *a, const void *b) {
    if (*(const int *)a == 3)
        longjmp(outer, 9);
    return *(const int *)a - *(const int *)b;
}

static void *work(void *number) {
    volatile int rounds = 0;
    jmp_buf top;
    int sum = 0;
    for (int i = 0; i < 50; i++) {
        volatile int before = i;
        if (setjmp(outer) == 0)
            sum += deep(20 + (int)number, 3.0);
        else
            rounds += before == i;
    }
    if (rounds != 50 || sum != 0)
        printf("rounds %d, sum %d\n", rounds, sum);
    int caught = setjmp(top);
    if (caught == 0)
        levels(10, &top);
    return (void *)caught;
}

int main(void) {
    pthread_t thread[3];
    unsigned int entry = SPE_DEFAULT_ENTRY;
    spe_stop_info_t stop;
    int numbers[5] = {5, 4, 3, 2, 1}, caught = setjmp(outer);
    if (caught == 0)
        qsort(numbers, 5, sizeof numbers[0], compare);
    printf("out of qsort: %d\n", caught);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < 3; i++) {
        void *value;
        pthread_join(thread[i], &value);
        printf("out of 11 levels: %d\n", (int)value);
    }
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    spe_program_load(spe, &jumps_spu);
    spe_context_run(spe, &entry, 0, NULL, NULL, &stop);
    printf("the SPU: %d\n", stop.result.spe_exit_code);
    return 0;
}
