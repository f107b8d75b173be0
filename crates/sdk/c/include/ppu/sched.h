/* Scheduling of a PPU program's threads, which take turns on one processor: little is for the
 * program to choose.
 *
 * Source: POSIX.1-2017, and the manual pages of Linux for sets of processors. */
#ifndef _SCHED_H
#define _SCHED_H

#include <string.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SCHED_OTHER 0
#define SCHED_FIFO 1
#define SCHED_RR 2
#define SCHED_BATCH 3

struct sched_param {
    int sched_priority;
};

int sched_yield(void);
int sched_get_priority_max(int);
int sched_get_priority_min(int);
int sched_getscheduler(pid_t);
/* EPERM for SCHED_FIFO and SCHED_RR, as for users of Linux. */
int sched_setscheduler(pid_t, int, const struct sched_param *);
int sched_getparam(pid_t, struct sched_param *);
int sched_setparam(pid_t, const struct sched_param *);

/* Sets of processors, of which there is number 0. */
#define CPU_SETSIZE 1024
typedef struct {
    unsigned long __bits[CPU_SETSIZE / (8 * sizeof(unsigned long))];
} cpu_set_t;

#define __CW_CPU_BITS (8 * sizeof(unsigned long))
#define __cw_cpu(cpu, set, operation)                                                               \
    ((unsigned long)(cpu) < CPU_SETSIZE                                                             \
         ? (set)->__bits[(cpu) / __CW_CPU_BITS] operation(1ul << ((cpu) % __CW_CPU_BITS))           \
         : 0)
#define CPU_ZERO(set) ((void)memset((set), 0, sizeof(cpu_set_t)))
#define CPU_SET(cpu, set) ((void)__cw_cpu(cpu, set, |=))
#define CPU_CLR(cpu, set) ((void)__cw_cpu(cpu, set, &= ~))
#define CPU_ISSET(cpu, set) (__cw_cpu(cpu, set, &) != 0)
#define CPU_EQUAL(one, other) (memcmp((one), (other), sizeof(cpu_set_t)) == 0)
#define CPU_COUNT(set) __cw_cpu_count(set)
int __cw_cpu_count(const cpu_set_t *);

/* EINVAL for a set without number 0. */
int sched_setaffinity(pid_t, size_t, const cpu_set_t *);
int sched_getaffinity(pid_t, size_t, cpu_set_t *);
int sched_getcpu(void);

#ifdef __cplusplus
}
#endif

#endif
