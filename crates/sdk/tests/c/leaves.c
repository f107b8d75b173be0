/* Ends, or waits, while the program of an SPE does not end as it should. */
#include <libspe2.h>
#include <libsync.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern spe_program_handle_t leaves_spu;

static char data[16384] __attribute__((aligned(128)));
static int word_of_lock[32] __attribute__((aligned(128)));
static long way;
static volatile int never;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) int is_there(volatile int *flag) { return *flag; }
static __attribute__((noinline)) int has_come(int other) { return other || is_there(&never); }

static void *run(void *spe)
{
    unsigned entry = SPE_DEFAULT_ENTRY;
    spe_context_run(spe, &entry, 0, (void *)way, data, NULL); /* the run */
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    unsigned word;
    spe_context_ptr_t spe = spe_context_create(0, NULL);
    way = argc > 1 ? atol(argv[1]) : 0;
    spe_program_load(spe, &leaves_spu);
    pthread_create(&thread, NULL, run, spe);
    while (!spe_out_mbox_status(spe)) {}
    spe_out_mbox_read(spe, &word, 1);
    pthread_mutex_lock(&mutex);
    const char *how = argc > 2 ? argv[2] : "";
    if (!strcmp(how, "status"))
        while (!spe_out_mbox_status(spe)) {} /* polled by the status */
    if (!strcmp(how, "yield"))
        while (!never) sched_yield(); /* polled with yields */
    if (!strcmp(how, "sleep"))
        while (!never) usleep(100); /* polled with sleeps */
    if (!strcmp(how, "lock"))
        while (pthread_mutex_trylock(&mutex)) {} /* polled by a lock */
    if (!strcmp(how, "libsync")) {
        mutex_ea_t lock = (uintptr_t)word_of_lock;
        mutex_lock(lock);
        mutex_lock(lock); /* polled by libsync */
    }
    if (!strcmp(how, "completion"))
        wait_for_completion((uintptr_t)word_of_lock); /* polled by a completion */
    if (!strcmp(how, "number"))
        while (!atomic_read((uintptr_t)word_of_lock)) {} /* polled by a number */
    if (!strcmp(how, "flag"))
        while (!never) {} /* a flag of the PPU */
    if (!strcmp(how, "function"))
        while (!has_come(0)) {} /* a function of the PPU */
    if (*how)
        while (spe_out_mbox_read(spe, &word, 1) <= 0) {} /* polled by reading */
    if (way != 1)
        pthread_join(thread, NULL);
    return 3;
}
