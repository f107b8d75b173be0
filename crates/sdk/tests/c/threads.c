/* POSIX threads of the PPU: each function that waits, with several threads. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define THREADS 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t semaphore;
static int sum, turns, initialised, destroyed, serial, readers;
static volatile int flag;

static void initialise(void) { initialised++; }
static void destroy(void *value) { destroyed += *(int *)value; }

static void *work(void *argument) {
    int number = *(int *)argument;
    pthread_once(&once, initialise);
    pthread_setspecific(key, argument);
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        sum += number;
        pthread_mutex_unlock(&mutex);
    }
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        serial++;
    /* In the order of their numbers. */
    pthread_mutex_lock(&mutex);
    while (turns != number - 1)
        pthread_cond_wait(&condition, &mutex);
    turns = number;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    readers++;
    pthread_rwlock_unlock(&rwlock);
    sem_post(&semaphore);
    if (number == 1)
        /* A loop without a call lets other threads run as well. */
        while (!flag)
            ;
    if (pthread_getspecific(key) != argument)
        return NULL;
    if (number == 2)
        pthread_exit(argument);
    return argument;
}

int main(void) {
    pthread_t thread[THREADS];
    int number[THREADS], joined = 0;
    struct timespec soon;
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_key_create(&key, destroy);
    sem_init(&semaphore, 0, 0);
    pthread_rwlock_wrlock(&rwlock);
    for (int i = 0; i < THREADS; i++) {
        number[i] = i + 1;
        pthread_create(&thread[i], NULL, work, &number[i]);
    }
    printf("try: %d\n", pthread_rwlock_tryrdlock(&rwlock) == EBUSY);
    pthread_rwlock_unlock(&rwlock);
    for (int i = 0; i < THREADS; i++)
        sem_wait(&semaphore);
    flag = 1;
    for (int i = 0; i < THREADS; i++) {
        void *value;
        pthread_join(thread[i], &value);
        joined += *(int *)value;
    }
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 2000000;
    if (soon.tv_nsec >= 1000000000) {
        soon.tv_nsec -= 1000000000;
        soon.tv_sec++;
    }
    printf("timed out: %d\n", sem_timedwait(&semaphore, &soon) == -1 && errno == ETIMEDOUT);
    pthread_mutex_lock(&mutex);
    printf("timed out: %d\n", pthread_cond_timedwait(&condition, &mutex, &soon) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    printf("join again: %d\n", pthread_join(thread[0], NULL) != 0);
    printf("sum %d, turns %d, initialised %d, destroyed %d, serial %d, readers %d, joined %d\n", sum, turns,
           initialised, destroyed, serial, readers, joined);
    return 0;
}
