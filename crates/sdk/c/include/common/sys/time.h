/* <sys/time.h> of the C library, with the timer that WASI leaves out and `lib/common/signal.c` has.
 *
 * Source: POSIX.1-2017. */
#ifndef __CELLWORKS_SYS_TIME_H__
#define __CELLWORKS_SYS_TIME_H__

#include_next <sys/time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ITIMER_REAL 0
#define ITIMER_VIRTUAL 1
#define ITIMER_PROF 2

struct itimerval {
    struct timeval it_interval, it_value;
};

int getitimer(int, struct itimerval *);
/* SIGALRM comes while the program waits in pause, sigsuspend or sigwait. */
int setitimer(int, const struct itimerval *, struct itimerval *);

#ifdef __cplusplus
}
#endif

#endif
