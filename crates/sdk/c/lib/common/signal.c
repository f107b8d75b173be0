/* Signals, which only the program itself sends. A handler runs in the call that sends its signal,
 * or in the call that no longer blocks it. The clock sends SIGALRM, but only while the program
 * waits for a signal. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef __SPU__
#include <sched.h>
#endif

static struct sigaction actions[_NSIG];
static unsigned long long blocked, pending;
/* How many handlers have run. */
static unsigned int handled;
/* When the clock sends SIGALRM, in nanoseconds (0: never), and after how many more it does so
 * again (0: not again). */
static long long alarm_at, alarm_every;

static int is_aborting;

/* Ends the program without a call of the handler of SIGABRT. */
static _Noreturn void end(void)
{
    is_aborting = 1;
    abort();
}

/* SIG_ERR and SIG_IGN are the addresses of these. */
void __SIG_ERR(int number) { (void)number; }
void __SIG_IGN(int number) { (void)number; }

static int is_signal(int number) { return number > 0 && number < _NSIG; }
static unsigned long long bit(int number) { return 1ull << (number - 1); }
static int refuse(void) { return errno = EINVAL, -1; }

int sigemptyset(sigset_t *set) { return set->__signals = 0, 0; }
int sigfillset(sigset_t *set) { return set->__signals = ~0ull, 0; }
int sigaddset(sigset_t *set, int number)
{
    return is_signal(number) ? set->__signals |= bit(number), 0 : refuse();
}
int sigdelset(sigset_t *set, int number)
{
    return is_signal(number) ? set->__signals &= ~bit(number), 0 : refuse();
}
int sigismember(const sigset_t *set, int number)
{
    return is_signal(number) ? (set->__signals & bit(number)) != 0 : refuse();
}

static int can_be_caught(int number) { return is_signal(number) && number != SIGKILL && number != SIGSTOP; }

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (!is_signal(number) || (action && !can_be_caught(number)))
        return refuse();
    if (old)
        *old = actions[number];
    if (action)
        actions[number] = *action;
    return 0;
}

void (*signal(int number, void (*handler)(int)))(int)
{
    struct sigaction new = {0}, old;

    new.sa_handler = handler;
    new.sa_flags = SA_RESTART;
    return sigaction(number, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
}

static void deliver_pending(void);

static void deliver(int number)
{
    struct sigaction action = actions[number];
    unsigned long long old = blocked;

    if (blocked & bit(number) && can_be_caught(number)) {
        pending |= bit(number);
        return;
    }
    if (action.sa_handler == SIG_IGN)
        return;
    if (action.sa_handler == SIG_DFL) {
        if (number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT)
            return;
        fprintf(stderr, "the program has sent itself signal %d\n", number);
        end();
    }
    if (action.sa_flags & SA_RESETHAND)
        actions[number].sa_handler = SIG_DFL;
    blocked |= action.sa_mask.__signals | (action.sa_flags & SA_NODEFER ? 0 : bit(number));
    if (action.sa_flags & SA_SIGINFO) {
        siginfo_t info = {0};

        info.si_signo = number;
        info.si_code = SI_USER;
        info.si_pid = getpid();
        info.si_uid = getuid();
        action.sa_sigaction(number, &info, NULL);
    } else {
        action.sa_handler(number);
    }
    handled++;
    blocked = old;
    deliver_pending();
}

static void deliver_pending(void)
{
    for (int number = 1; number < _NSIG; number++)
        if (pending & ~blocked & bit(number)) {
            pending &= ~bit(number);
            deliver(number);
        }
}

int raise(int number)
{
    if (!is_signal(number))
        return refuse();
    deliver(number);
    return 0;
}

/* What abort() calls first, if a program has handlers. */
void __cw_abort(void)
{
    if (is_aborting++ || actions[SIGABRT].sa_handler == SIG_DFL)
        return;
    blocked &= ~bit(SIGABRT);
    deliver(SIGABRT);
}

int kill(pid_t process, int number)
{
    if (process == 0 || process == getpid())
        return number ? raise(number) : 0;
    errno = ESRCH;
    return -1;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    unsigned long long before = blocked;

    if (set && how == SIG_BLOCK)
        blocked |= set->__signals;
    else if (set && how == SIG_UNBLOCK)
        blocked &= ~set->__signals;
    else if (set && how == SIG_SETMASK)
        blocked = set->__signals;
    else if (set)
        return refuse();
    if (old)
        old->__signals = before;
    deliver_pending();
    return 0;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return sigprocmask(how, set, old) ? errno : 0;
}

/* A place of setjmp uses the first two words. */
#define IS_KEPT 4
#define MASK 5

void __cw_keep_mask(sigjmp_buf place, int is_kept)
{
    place[IS_KEPT] = is_kept;
    memcpy(&place[MASK], &blocked, sizeof blocked);
}

void siglongjmp(sigjmp_buf place, int value)
{
    sigset_t mask;

    memcpy(&mask.__signals, &place[MASK], sizeof mask.__signals);
    if (place[IS_KEPT])
        sigprocmask(SIG_SETMASK, &mask, NULL);
    longjmp(place, value);
}

int sigpending(sigset_t *set) { return set->__signals = pending, 0; }

static long long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static struct timeval time_of(long long nanoseconds)
{
    struct timeval time = {nanoseconds / 1000000000, nanoseconds % 1000000000 / 1000};

    return time;
}

static long long nanoseconds_of(struct timeval time) { return time.tv_sec * 1000000000ll + time.tv_usec * 1000ll; }

int getitimer(int which, struct itimerval *timer)
{
    long long left = alarm_at ? alarm_at - now() : 0;

    if (which != ITIMER_REAL)
        return refuse();
    timer->it_interval = time_of(alarm_every);
    /* A timer that is due has not run out yet. */
    timer->it_value = time_of(alarm_at && left < 1000 ? 1000 : left);
    return 0;
}

int setitimer(int which, const struct itimerval *timer, struct itimerval *old)
{
    static int said;
    long long after = nanoseconds_of(timer->it_value);

    if (which != ITIMER_REAL) {
        fputs("note: setitimer: only ITIMER_REAL is here\n", stderr);
        return refuse();
    }
    if (old)
        getitimer(which, old);
    if (after && !said++)
        fputs("note: alarm and setitimer: SIGALRM comes only while the program waits in pause, sigsuspend or sigwait\n",
              stderr);
    alarm_at = after ? now() + after : 0;
    alarm_every = nanoseconds_of(timer->it_interval);
    return 0;
}

unsigned int alarm(unsigned int seconds)
{
    struct itimerval new = {.it_value = {.tv_sec = seconds}}, old;

    setitimer(ITIMER_REAL, &new, &old);
    /* A part of a second is one. */
    return old.it_value.tv_sec + (old.it_value.tv_usec > 0);
}

/* The longest sleep: another thread may send a signal. */
#define STEP 10000000ll

/* Waits for a while in which a signal may come. */
static void wait(const char *who)
{
    if (alarm_at) {
        long long rest = alarm_at - now();
        struct timespec step = {0, rest < STEP ? rest : STEP};

        if (rest > 0)
            nanosleep(&step, NULL);
        if (now() < alarm_at)
            return;
        alarm_at = alarm_every ? now() + alarm_every : 0;
        deliver(SIGALRM);
        return;
    }
#ifdef __SPU__
    fprintf(stderr, "%s: no signal can come, because only the program itself and alarm send signals\n", who);
    end();
#else
    (void)who;
    sched_yield();
#endif
}

static int suspend(const char *who, unsigned long long mask)
{
    unsigned long long old = blocked;
    unsigned int before = handled;

    blocked = mask;
    deliver_pending();
    while (handled == before)
        wait(who);
    blocked = old;
    deliver_pending();
    errno = EINTR;
    return -1;
}

int pause(void) { return suspend("pause", blocked); }
int sigsuspend(const sigset_t *mask) { return suspend("sigsuspend", mask->__signals); }

int sigwait(const sigset_t *set, int *number)
{
    while (!(pending & set->__signals))
        wait("sigwait");
    *number = __builtin_ctzll(pending & set->__signals) + 1;
    pending &= ~bit(*number);
    return 0;
}
