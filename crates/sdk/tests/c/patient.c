/* Two threads tell each other by memory to go on, for 4 s. */
#include <pthread.h>
#include <time.h>

static volatile int turn, ended;

static void *other(void *unused)
{
    while (!ended) {
        while (turn != 1) {}
        turn = 0;
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    time_t end = time(NULL) + 4;
    pthread_create(&thread, NULL, other, NULL);
    while (time(NULL) < end)
        for (int round = 0; round < 20; round++) {
            turn = 1;
            while (turn != 0) {}
        }
    ended = 1;
    turn = 1;
    pthread_join(thread, NULL);
    return 3;
}
