/* Threads are cancelled while they wait in several ways, and their cleanup handlers are called. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_t main_thread;
static sem_t semaphore, reached;

static void say(void *text) { printf("%s, ", (char *)text); }
static void unlock(void *mutex) { printf("unlocked %d, ", pthread_mutex_unlock(mutex)); }

static void *semaphores(void *text) {
    pthread_cleanup_push(say, text);
    sem_post(&reached);
    sem_wait(&semaphore);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *conditions(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    sem_post(&reached);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
    return unused;
}

static void *sleeps(void *unused) {
    sem_post(&reached);
    for (;;)
        sleep(1000000);
    return unused;
}

static void *joins(void *unused) {
    sem_post(&reached);
    pthread_join(main_thread, NULL);
    return unused;
}

static void *reads(void *unused) {
    char bytes[4];
    int file = open("/dev/null", O_RDONLY);
    sem_post(&reached);
    while (read(file, bytes, 4) == 0) {}
    return unused;
}

static void *tests(void *unused) {
    sem_post(&reached);
    for (;;)
        pthread_testcancel();
    return unused;
}

/* It goes on while it must not be cancelled, and a lock is no place to end. */
static void *keeps_on(void *unused) {
    int old, type;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    sem_post(&reached);
    sem_wait(&semaphore);
    printf("goes on %d, ", old == PTHREAD_CANCEL_ENABLE);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    pthread_mutex_lock(&held);
    printf("locked %d, ", old == PTHREAD_CANCEL_DISABLE);
    pthread_mutex_unlock(&held);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    puts("never");
    return unused;
}

int main(void) {
    static struct {
        const char *name;
        void *(*run)(void *);
    } ways[] = {{"semaphore", semaphores}, {"condition", conditions}, {"sleep", sleeps}, {"join", joins},
                {"read", reads}, {"test", tests}, {"state", keeps_on}};
    pthread_t thread;
    void *result;
    main_thread = pthread_self();
    sem_init(&semaphore, 0, 0);
    sem_init(&reached, 0, 0);
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
        pthread_mutex_lock(&held);
        pthread_create(&thread, NULL, ways[way].run, "cleaned up");
        sem_wait(&reached);
        sched_yield();
        printf("%s: ", ways[way].name);
        int failed = pthread_cancel(thread);
        if (ways[way].run == keeps_on)
            sem_post(&semaphore);
        sched_yield();
        pthread_mutex_unlock(&held);
        pthread_join(thread, &result);
        printf("%d, %d\n", failed, result == PTHREAD_CANCELED);
    }
    printf("%d\n", pthread_cancel(thread) == ESRCH);
    pthread_cancel(pthread_self());
    sleep(1);
    return 1;
}
