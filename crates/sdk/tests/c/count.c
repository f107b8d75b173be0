/* Two threads of the PPU and two SPEs count in the same words, by reservations and by libsync. */
#include <libspe2.h>
#include <libsync.h>
#include <ppu_intrinsics.h>
#include <pthread.h>
#include <stdio.h>

#define SPES 2
#define TIMES 2000

extern spe_program_handle_t count_spu;

/* A number by atomic_inc, one by __lwarx, and a lock; in another line what the lock protects, and a
 * number of 8 bytes. */
static struct {
    int number, reserved, lock;
    int locked __attribute__((aligned(128)));
    unsigned long long wide;
} shared __attribute__((aligned(128)));

static void *run(void *spe) {
    unsigned int entry = SPE_DEFAULT_ENTRY;
    if (spe_context_run(spe, &entry, 0, &shared, NULL, NULL) < 0)
        perror("spe_context_run");
    return NULL;
}

static void *count(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        unsigned number;
        unsigned long long wide;
        atomic_inc((atomic_ea_t)(unsigned)&shared.number);
        do number = __lwarx(&shared.reserved);
        while (!__stwcx(&shared.reserved, number + 1));
        mutex_lock((mutex_ea_t)(unsigned)&shared.lock);
        shared.locked++;
        mutex_unlock((mutex_ea_t)(unsigned)&shared.lock);
        do wide = __ldarx(&shared.wide);
        while (!__stdcx(&shared.wide, wide + (1ull << 32) + 1));
    }
    return unused;
}

int main(void) {
    pthread_t thread[SPES], counting[2];
    spe_context_ptr_t spe[SPES];
    for (int i = 0; i < SPES; i++) {
        spe[i] = spe_context_create(0, NULL);
        spe_program_load(spe[i], &count_spu);
        pthread_create(&thread[i], NULL, run, spe[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&counting[i], NULL, count, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(counting[i], NULL);
    for (int i = 0; i < SPES; i++)
        pthread_join(thread[i], NULL);
    printf("%d %d %d %llx\n", shared.number, shared.reserved, shared.locked, shared.wide);
    printf("without a reservation: %d\n", __stwcx(&shared.number, 1));
    return 0;
}
