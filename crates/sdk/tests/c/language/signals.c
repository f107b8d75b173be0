/* Signals that a program sends itself. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void show(int number) { printf("got %d\n", number); }

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
    return 0;
}
