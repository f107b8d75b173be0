/* What programs expect of Linux on a Cell: errno as old programs declare it, dates, limits, files
 * with names of their own, and a large matrix in main. */
#include <stdio.h>
#include <errno.h>
extern int errno;
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
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

    for (int row = 0; row < 800; row++)
        for (int column = 0; column < 800; column++)
            matrix[row][column] = row * column;
    printf("%g\n", matrix[799][799]);
    return 0;
}
