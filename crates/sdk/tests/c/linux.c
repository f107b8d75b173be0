/* What programs expect of Linux on a Cell: errno as old programs declare it, dates, limits, files
 * with names of their own, copies of files, paths, and a large matrix in main. */
#define _GNU_SOURCE
#include <stdio.h>
#include <errno.h>
extern int errno;
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int by_digit(const void *one, const void *other, void *divisor)
{
    return *(const int *)one / *(int *)divisor % 10 - *(const int *)other / *(int *)divisor % 10;
}

/* Sorts in a sort. */
static int by_sorted(const void *one, const void *other, void *divisor)
{
    int two[2] = {7, 3}, by = 1;

    qsort_r(two, 2, sizeof *two, by_digit, &by);
    return two[0] == 3 ? by_digit(one, other, divisor) : 0;
}

static void copies(void)
{
    char text[32] = "";
    int file = open("copied", O_RDWR | O_CREAT | O_TRUNC, 0666), other = dup(file);
    int output = dup(1);

    printf("%d", write(file, "one ", 4) + write(other, "two", 3));
    printf(" %d\n", dup2(other, other) == other);
    printf("%d", dup2(file, 1));
    printf(" printed\n");
    fflush(stdout);
    dup2(output, 1);
    close(file);
    lseek(other, 0, SEEK_SET);
    printf("%d ", (int)read(other, text, 31));
    printf("%s", text);
    printf("%d %d ", dup2(other, 40), dup2(other, -1));
    printf("%d", dup2(other, 5000));
    printf(" %d", errno == EBADF);
    printf(" %d %d\n", dup(99), unlink("copied"));
}

static void paths(void)
{
    char found[PATH_MAX], *own;

    printf("%s ", realpath("./own/..//own/./file", found));
    own = realpath("/own", NULL);
    printf("%s %s", own, realpath(".", found));
    printf(" %d", realpath("own/none", found) == NULL);
    printf(" %d\n", errno == ENOENT);
    free(own);
}

static void priorities(void)
{
    printf("%d", getpriority(PRIO_PROCESS, 0));
    printf(" %d", setpriority(PRIO_PROCESS, getpid(), 7));
    printf(" %d", getpriority(PRIO_USER, 0));
    printf(" %d", setpriority(PRIO_PROCESS, 0, -20));
    printf(" %d", errno == EACCES);
    printf(" %d", setpriority(PRIO_PROCESS, 4321, 0));
    printf(" %d", errno == ESRCH);
    printf(" %d", getpriority(99, 0));
    printf(" %d\n", errno == EINVAL);
}

static void *own_number(void *number)
{
    *(pid_t *)number = syscall(__NR_gettid);
    return NULL;
}

static void thread_numbers(void)
{
    pthread_t thread;
    pid_t number;

    pthread_create(&thread, NULL, own_number, &number);
    pthread_join(thread, NULL);
    printf("%d %d", gettid() == getpid(), number != getpid() && number == syscall(SYS_gettid) + 1);
    printf(" %ld", syscall(4321));
    printf(" %d\n", errno == ENOSYS);
}

static void memory_that_stays(char *memory, size_t bytes)
{
    printf("%d %d", mlock(memory, bytes), munlock(memory, bytes));
    printf(" %d %d", mlockall(MCL_CURRENT | MCL_FUTURE), munlockall());
    printf(" %d %d\n", madvise(memory, bytes, MADV_WILLNEED), posix_madvise(memory, bytes, 0));
}

int main(void)
{
    int numbers[] = {31, 12, 23, 4}, ten = 10;
    double matrix[800][800];
    char name[] = "own-XXXXXX", folder[] = "own-XXXXXX";
    struct rlimit limit;
    time_t begin = 0;
    int file;

    printf("%s", ctime(&begin));
    printf("%s", asctime(localtime(&begin)));
    tzset();
    printf("%s %ld %d\n", tzname[0], timezone, daylight);

    printf("%d", getrlimit(RLIMIT_STACK, &limit));
    printf(" %lu MB\n", limit.rlim_cur >> 20);
    printf("%d\n", setrlimit(RLIMIT_STACK, &limit));
    limit.rlim_cur /= 2;
    printf("%d", setrlimit(RLIMIT_STACK, &limit));
    printf(" %d\n", errno == EPERM);
    printf("%d", getrlimit(99, &limit));
    printf(" %d\n", errno == EINVAL);

    file = mkstemp(name);
    printf("%d %d %d\n", file > 2, name[4] != 'X', unlink(name));
    printf("%d %d\n", mkdtemp(folder) == folder, rmdir(folder));
    fclose(tmpfile());
    copies();
    mkdir("own", 0777);
    close(creat("own/file", 0666));
    paths();
    unlink("own/file");
    rmdir("own");
    qsort_r(numbers, 4, sizeof *numbers, by_sorted, &ten);
    printf("%d %d %d %d\n", numbers[0], numbers[1], numbers[2], numbers[3]);
    priorities();
    printf("%d", nice(5));
    printf(" %d", nice(30));
    printf(" %d\n", nice(-1));
    thread_numbers();
    memory_that_stays(name, sizeof name);
    sync();

    for (int row = 0; row < 800; row++)
        for (int column = 0; column < 800; column++)
            matrix[row][column] = row * column;
    printf("%g\n", matrix[799][799]);
    return 0;
}
