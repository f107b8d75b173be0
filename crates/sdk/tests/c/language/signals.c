/* Signals that a program sends itself. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void show(int number) { printf("got %d\n", number); }

static sigjmp_buf place;
static int is_back;

static void jump(int number) { siglongjmp(place, number); }

static void aborted(int number)
{
    printf("aborted %d\n", number);
    if (!is_back++)
        siglongjmp(place, 1);
    exit(0);
}

static void again(int number)
{
    printf("begin %d\n", number);
    if (number == SIGUSR1) {
        raise(SIGUSR1);
        raise(SIGUSR2);
    }
    printf("end %d\n", number);
    if (number == SIGUSR1)
        signal(SIGUSR1, show);
}

static void informed(int number, siginfo_t *info, void *context)
{
    printf("informed %d %d %d %d\n", number, info->si_signo, info->si_code == SI_USER, info->si_pid == getpid());
    (void)context;
}

int main(void)
{
    struct sigaction action, old;
    sigset_t set, mask;
    struct itimerval timer = {{0}}, former;
    int number = 0;

    memset(&action, 0, sizeof action);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    printf("set %d %d", sigismember(&set, SIGUSR2), sigismember(&set, SIGUSR1));
    printf(" %d", sigaddset(&set, 99));
    printf(" %d\n", errno == EINVAL);

    /* While a handler runs, its signal and those of its mask wait. */
    action.sa_handler = again;
    action.sa_mask = set;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, &old);
    printf("old %d\n", old.sa_handler == SIG_DFL);
    kill(getpid(), SIGUSR1);

    action.sa_sigaction = informed;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND;
    sigaction(SIGTERM, &action, NULL);
    raise(SIGTERM);
    sigaction(SIGTERM, NULL, &old);
    printf("reset %d\n", old.sa_handler == SIG_DFL);

    /* What is blocked comes later, or is taken. */
    signal(SIGUSR2, show);
    sigprocmask(SIG_BLOCK, &set, &mask);
    raise(SIGUSR2);
    sigpending(&set);
    printf("pending %d %d\n", sigismember(&set, SIGUSR2), sigismember(&mask, SIGUSR2));
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR2);
    printf("sigwait %d", sigwait(&set, &number));
    printf(" %d\n", number == SIGUSR2);
    sigpending(&set);
    printf("pending %d\n", sigismember(&set, SIGUSR2));

    signal(SIGALRM, show);
    printf("alarm %u", alarm(100));
    printf(" %u\n", alarm(1));
    printf("pause %d", pause());
    printf(" %d\n", errno == EINTR);
    printf("over %u\n", alarm(0));
    printf("refused %d %d\n", sigaction(SIGKILL, &action, NULL), signal(SIGKILL, show) == SIG_ERR);
    /* A jump out of a handler no longer blocks its signal, if the mask was kept. */
    signal(SIGUSR1, jump);
    if (sigsetjmp(place, 1) == 0)
        raise(SIGUSR1);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    printf("restored %d", sigismember(&mask, SIGUSR1));
    if (sigsetjmp(place, 0) == 0)
        raise(SIGUSR1);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    printf(" %d\n", sigismember(&mask, SIGUSR1));

    timer.it_value.tv_usec = 500;
    timer.it_interval.tv_usec = 250;
    setitimer(ITIMER_REAL, &timer, NULL);
    pause();
    pause();
    timer.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &timer, &former);
    printf("timer %d %d\n", (int)former.it_interval.tv_usec, former.it_value.tv_usec <= 250);
    printf("refused %d\n", setitimer(ITIMER_PROF, &timer, NULL));

    signal(SIGABRT, aborted);
    if (sigsetjmp(place, 1) == 0)
        abort();
    raise(SIGABRT);
    return 1;
}
