/* What Linux has and WASI has not. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int got;

static void on_signal(int number) { got = number; }

/* The buffer is gone when the function has returned. */
static void print_from_a_buffer(void)
{
    char buffer[BUFSIZ];

    setbuf(stdout, buffer);
    printf("from a buffer\n");
    setbuf(stdout, NULL);
    memset(buffer, '?', sizeof buffer);
}

int main(void)
{
    clock_t start = clock();
    struct timespec millisecond = {0, 1000000};
    struct timeval now;
    struct rusage usage;
    struct tms used;
    struct utsname names;
    char name[8], temporary[L_tmpnam];
    int *memory;

    usleep(2000);
    nanosleep(&millisecond, NULL);
    sleep(0);
    printf("slept %d\n", clock() - start >= 3 * (CLOCKS_PER_SEC / 1000));
    getrusage(RUSAGE_SELF, &usage);
    printf("used %d %d\n", usage.ru_utime.tv_usec > 0, times(&used) == used.tms_utime);

    for (start = times(NULL); times(NULL) < start + 2; usleep(1000))
        ;
    printf("ticks %ld %d\n", sysconf(_SC_CLK_TCK), clock() >= CLOCKS_PER_SEC / 100);
    gettimeofday(&now, NULL);
    printf("%ld.%06ld s, %d bytes, %ld\n", now.tv_sec / 1000000000, now.tv_usec / 1000000, sizeof now,
           CLOCKS_PER_SEC);
    printf("%ld %d\n", time(NULL) / 1000000000, sizeof(clock_t));

    signal(SIGUSR1, on_signal);
    printf("signal %d", raise(SIGUSR1));
    printf(" %d %d\n", got == SIGUSR1, signal(SIGUSR1, SIG_IGN) == on_signal);
    printf("ignored %d %d\n", kill(getpid(), SIGUSR1), signal(-1, SIG_DFL) == SIG_ERR);

    memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[5] = 1;
    printf("memory %d %d\n", memory[4] + memory[5], (unsigned)memory % 4096);
    printf("unmapped %d\n", munmap(memory, 8192));
    printf("no file %d\n", mmap(NULL, 16, PROT_READ, MAP_PRIVATE, 99, 0) == MAP_FAILED);

    printf("folder %s\n", P_tmpdir);
    printf("name %d\n", tmpnam(temporary) == temporary && strlen(temporary) < sizeof temporary);
    printf("null %d\n", putc('x', fopen("/dev/null", "w")) == 'x' && getc(fopen("/dev/null", "r")) == EOF);

    gethostname(name, sizeof name);
    printf("%s %d %d %d\n", name, getpid(), getpagesize(), getuid() == geteuid());
    printf("pages %d", sysconf(_SC_PAGESIZE) == getpagesize());
    printf(" %d %d\n", uname(&names), (unsigned)valloc(1) % getpagesize());
    printf("%s %s %s\n", names.sysname, names.nodename, names.machine);
    printf("system %d %d %d\n", system(NULL), system("true"), errno == ENOSYS);
    printf("exited %d %d\n", WIFEXITED(0x300), WEXITSTATUS(0x300));
    print_from_a_buffer();

    /* Errors have the numbers and texts of Linux. */
    printf("%d %d %d %d %d %d\n", ENOENT, EAGAIN, EINVAL, ENOSYS, ETIMEDOUT, EDEADLK);
    printf("%d %d %d\n", open("there/is/none", 0), errno, ENODATA);
    printf("%s, %s, %s, %s\n", strerror(0), strerror(ENOMEM), strerror(EBUSY), strerror(EDOM));
    /* Sizes of files are of the type long. */
    printf("%d %d %ld\n", sizeof(off_t), sizeof(struct stat) > 0, lseek(77, 0, SEEK_CUR));
    return 0;
}
