/* Many threads one after the other: joined, detached, and detached after their end. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define THREADS 1000
#define TOGETHER 100

static volatile int ended;

static void *work(void *argument) {
    ended++;
    return argument;
}

int main(void) {
    pthread_t thread, together[TOGETHER];
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    /* The stacks of all of them together are larger than the memory. */
    for (int i = 0; i < THREADS; i++) {
        int kind = i % 4;
        if (pthread_create(&thread, kind == 0 ? &detached : NULL, work, NULL))
            return 1;
        if (kind == 1)
            pthread_detach(thread);
        while (kind != 3 && ended < i + 1)
            sched_yield();
        if (kind == 2)
            pthread_detach(thread);
        if (kind == 3)
            pthread_join(thread, NULL);
    }
    printf("ended %d, join again %d\n", ended, pthread_join(thread, NULL) == ESRCH);
    for (int i = 0; i < TOGETHER; i++)
        if (pthread_create(&together[i], NULL, work, &together[i]))
            return 2;
    for (int i = 0; i < TOGETHER; i++) {
        void *value;
        if (pthread_join(together[i], &value) || value != &together[i])
            return 3;
    }
    printf("ended %d\n", ended);
    return 0;
}
