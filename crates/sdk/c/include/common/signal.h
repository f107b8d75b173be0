/* <signal.h> of the C library, with what WASI leaves out and `lib/common/signal.c` has. Only a
 * program itself sends itself signals.
 *
 * Source: POSIX.1-2017. The numbers are those of Linux. */
#ifndef __CELLWORKS_SIGNAL_H__
#define __CELLWORKS_SIGNAL_H__

#include_next <signal.h>
#include <__typedef_sigset_t.h>
#include <sys/types.h>
#ifdef __PPU__
#define __NEED_pthread_t
#include <bits/alltypes.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef NSIG
#define NSIG _NSIG
#endif

#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#define SA_NOCLDSTOP 1
#define SA_NOCLDWAIT 2
#define SA_SIGINFO 4
#define SA_ONSTACK 0x08000000
#define SA_RESTART 0x10000000
#define SA_NODEFER 0x40000000
#define SA_RESETHAND 0x80000000
#define SA_NOMASK SA_NODEFER
#define SA_ONESHOT SA_RESETHAND

#define SI_USER 0
#define SI_KERNEL 128

union sigval {
    int sival_int;
    void *sival_ptr;
};

typedef struct {
    int si_signo, si_errno, si_code, si_status;
    pid_t si_pid;
    uid_t si_uid;
    void *si_addr;
    union sigval si_value;
} siginfo_t;

struct sigaction {
    union {
        void (*sa_handler)(int);
        void (*sa_sigaction)(int, siginfo_t *, void *);
    } __handler;
    sigset_t sa_mask;
    int sa_flags;
    void (*sa_restorer)(void);
};
#define sa_handler __handler.sa_handler
#define sa_sigaction __handler.sa_sigaction

int sigemptyset(sigset_t *);
int sigfillset(sigset_t *);
int sigaddset(sigset_t *, int);
int sigdelset(sigset_t *, int);
int sigismember(const sigset_t *, int);

int kill(pid_t, int);
#ifdef __PPU__
/* The handler runs in the thread that calls this. */
int pthread_kill(pthread_t, int);
#endif
int sigaction(int, const struct sigaction *, struct sigaction *);
/* All threads have one mask. */
int sigprocmask(int, const sigset_t *, sigset_t *);
int pthread_sigmask(int, const sigset_t *, sigset_t *);
int sigpending(sigset_t *);
int sigsuspend(const sigset_t *);
int sigwait(const sigset_t *, int *);

#ifdef __cplusplus
}
#endif

#endif
