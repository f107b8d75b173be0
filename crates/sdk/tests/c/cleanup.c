/* Cleanup handlers: called by pthread_exit, the last one first, and by pthread_cleanup_pop. */
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>

static void say(void *text) { puts(text); }

static void *leaves(void *argument) {
    pthread_cleanup_push(say, "not at the exit");
    pthread_cleanup_pop(0);
    pthread_cleanup_push(say, "at the pop");
    pthread_cleanup_pop(1);
    pthread_cleanup_push(say, "second");
    pthread_cleanup_push(say, "first");
    pthread_exit(argument);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, leaves, (void *)5);
    pthread_join(thread, &result);
    printf("%d\n", (int)result);
    return 0;
}
