/* Which thread runs where and when: all threads take turns on the one processor, and a program
   cannot change it. What Linux would refuse to a user on a computer with one processor is refused. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static int fail(int error) { return error ? errno = error, -1 : 0; }
static int other(pid_t process) { return process && process != getpid() ? ESRCH : 0; }

static int policy_error(int policy, const struct sched_param *parameters) {
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        return EPERM;
    return (policy == SCHED_OTHER || policy == SCHED_BATCH) && parameters->sched_priority == 0 ? 0 : EINVAL;
}

static int is_real_time(int policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }
int sched_get_priority_max(int policy) { return is_real_time(policy) ? 99 : 0; }
int sched_get_priority_min(int policy) { return is_real_time(policy) ? 1 : 0; }

int sched_getscheduler(pid_t process) { return fail(other(process)); }

int sched_setscheduler(pid_t process, int policy, const struct sched_param *parameters) {
    int error = other(process);
    return fail(error ? error : policy_error(policy, parameters));
}

int sched_getparam(pid_t process, struct sched_param *parameters) {
    parameters->sched_priority = 0;
    return fail(other(process));
}

int sched_setparam(pid_t process, const struct sched_param *parameters) {
    return sched_setscheduler(process, SCHED_OTHER, parameters);
}

int pthread_getschedparam(pthread_t thread, int *policy, struct sched_param *parameters) {
    (void)thread;
    *policy = SCHED_OTHER;
    parameters->sched_priority = 0;
    return 0;
}

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *parameters) {
    (void)thread;
    return policy_error(policy, parameters);
}

int __cw_cpu_count(const cpu_set_t *set) {
    int count = 0;
    for (unsigned at = 0; at < sizeof set->__bits / sizeof *set->__bits; at++)
        count += __builtin_popcountl(set->__bits[at]);
    return count;
}

static int has_processor(size_t bytes, const cpu_set_t *set) {
    return bytes >= sizeof *set->__bits && CPU_ISSET(0, set);
}

static void only_processor(size_t bytes, cpu_set_t *set) {
    memset(set, 0, bytes);
    CPU_SET(0, set);
}

int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set) {
    (void)thread;
    return has_processor(bytes, set) ? 0 : EINVAL;
}

int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set) {
    (void)thread;
    if (bytes < sizeof *set->__bits)
        return EINVAL;
    only_processor(bytes, set);
    return 0;
}

int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *set) {
    int error = other(process);
    return fail(error ? error : pthread_setaffinity_np(pthread_self(), bytes, set));
}

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
    int error = other(process);
    return fail(error ? error : pthread_getaffinity_np(pthread_self(), bytes, set));
}

int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t bytes, const cpu_set_t *set) {
    (void)attributes;
    return has_processor(bytes, set) ? 0 : EINVAL;
}

int pthread_attr_getaffinity_np(const pthread_attr_t *attributes, size_t bytes, cpu_set_t *set) {
    (void)attributes;
    return pthread_getaffinity_np(pthread_self(), bytes, set);
}

int sched_getcpu(void) { return 0; }

/* The level is a hint that Linux keeps and does not use. */
static int level;
int pthread_setconcurrency(int new) { return new < 0 ? EINVAL : (level = new, 0); }
int pthread_getconcurrency(void) { return level; }
