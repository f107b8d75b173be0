/* Which processor and policy a thread has: one processor, and the usual policy. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    cpu_set_t set, first;
    pthread_attr_t attributes;
    struct sched_param parameters = {7};
    int policy = -1, error;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    CPU_SET(1, &set);
    CPU_SET(CPU_SETSIZE, &set);
    printf("two %d %d\n", CPU_COUNT(&set), CPU_ISSET(1, &set));
    printf("set %d\n", sched_setaffinity(0, sizeof set, &set));
    error = sched_getaffinity(getpid(), sizeof first, &first);
    printf("got %d %d %d\n", error, CPU_COUNT(&first), CPU_ISSET(0, &first));
    CPU_CLR(1, &set);
    printf("equal %d, of %ld\n", CPU_EQUAL(&set, &first), sysconf(_SC_NPROCESSORS_ONLN));
    CPU_CLR(0, &set);
    printf("none %d\n", pthread_setaffinity_np(pthread_self(), sizeof set, &set) == EINVAL);

    pthread_attr_init(&attributes);
    pthread_attr_setschedpolicy(&attributes, SCHED_RR);
    pthread_attr_setschedparam(&attributes, &parameters);
    parameters.sched_priority = 0;
    pthread_attr_getschedparam(&attributes, &parameters);
    pthread_attr_getschedpolicy(&attributes, &policy);
    printf("attributes %d %d\n", parameters.sched_priority, policy == SCHED_RR);

    error = sched_setscheduler(0, SCHED_FIFO, &parameters);
    printf("refused %d %d\n", error, errno == EPERM);
    pthread_getschedparam(pthread_self(), &policy, &parameters);
    printf("usual %d %d\n", policy == SCHED_OTHER, parameters.sched_priority);
    printf("priorities %d to %d\n", sched_get_priority_min(SCHED_FIFO), sched_get_priority_max(SCHED_FIFO));
    return 0;
}
