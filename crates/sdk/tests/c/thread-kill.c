/* A thread gets a signal that another one sends it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static sigset_t set;

static void *waits(void *argument)
{
    int number = 0;

    sigwait(&set, &number);
    printf("the thread got %d\n", number == SIGUSR1);
    return argument;
}

static void handler(int number) { printf("handled %d\n", number == SIGUSR2); }

int main(void)
{
    pthread_t thread;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGUSR2, handler);
    pthread_create(&thread, NULL, waits, NULL);
    printf("there %d\n", pthread_kill(thread, 0));
    printf("itself %d\n", pthread_kill(pthread_self(), SIGUSR2));
    printf("sent %d\n", pthread_kill(thread, SIGUSR1));
    pthread_join(thread, NULL);
    printf("ended %d\n", pthread_kill(thread, SIGUSR1) == ESRCH);
    printf("refused %d\n", pthread_kill(pthread_self(), 99) == EINVAL);
    return 0;
}
