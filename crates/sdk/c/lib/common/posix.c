/*
 * What Linux has and WASI has not, as far as it makes sense for one program that has the machine
 * for itself: the time that it has taken, who it is, and memory of its own by mmap. Signals are in
 * signal.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The time since the first call, in nanoseconds. It stands for the time of the process. */
static long long taken(void)
{
    static long long first;
    struct timespec now;
    long long at;

    clock_gettime(CLOCK_MONOTONIC, &now);
    at = now.tv_sec * 1000000000LL + now.tv_nsec;
    if (first == 0)
        first = at;
    return at - first;
}

/* The clock begins with the program, not with the first question. */
static __attribute__((constructor)) void begin(void) { taken(); }

clock_t clock(void) { return taken() / (1000000000LL / CLOCKS_PER_SEC); }

/* In ticks, of which sysconf(_SC_CLK_TCK) says that there are 100 in a second. */
clock_t times(struct tms *times)
{
    clock_t at = taken() / 10000000;

    if (times) {
        memset(times, 0, sizeof *times);
        times->tms_utime = at;
    }
    return at;
}

int getrusage(int who, struct rusage *usage)
{
    long long at = taken();

    memset(usage, 0, sizeof *usage);
    if (who == RUSAGE_SELF) {
        usage->ru_utime.tv_sec = at / 1000000000LL;
        usage->ru_utime.tv_usec = at / 1000 % 1000000;
    }
    return 0;
}

/* The time zone is always UTC. */
char *tzname[2] = {"UTC", "UTC"};
int daylight;
long timezone;
void tzset(void) {}

/* The machine says it in the highest bit of the rights that other files would inherit. */
extern int fd_status(int file, void *status)
    __asm__("wasi_snapshot_preview1.fd_fdstat_get");

int isatty(int file)
{
    struct {
        unsigned char kind;
        unsigned short flags;
        unsigned long long rights, inherited;
    } status;

    if (fd_status(file, &status) != 0) {
        errno = EBADF;
        return 0;
    }
    if (status.inherited >> 63)
        return 1;
    errno = ENOTTY;
    return 0;
}

pid_t getpid(void) { return 1; }
pid_t getppid(void) { return 0; }
uid_t getuid(void) { return 1000; }
uid_t geteuid(void) { return 1000; }
gid_t getgid(void) { return 1000; }
gid_t getegid(void) { return 1000; }
int getpagesize(void) { return 4096; }

int gethostname(char *name, size_t bytes)
{
    snprintf(name, bytes, "cell");
    return 0;
}

/* What a Cell with Linux says. The number of the system is not that of a Linux. */
int uname(struct utsname *names)
{
    memset(names, 0, sizeof *names);
    strcpy(names->sysname, "Linux");
    gethostname(names->nodename, sizeof names->nodename);
    strcpy(names->release, "0.0.0");
    strcpy(names->version, "Cellworks");
    strcpy(names->machine, "ppc64");
    return 0;
}

/* There are no other programs. */
int system(const char *command)
{
    if (command == NULL)
        return 0;
    errno = ENOSYS;
    return -1;
}

char *gets(char *line)
{
    size_t at = 0;
    int letter;

    while ((letter = getchar()) != EOF && letter != '\n')
        line[at++] = letter;
    line[at] = 0;
    return letter == EOF && at == 0 ? NULL : line;
}

char *tmpnam(char *name)
{
    static char own[L_tmpnam];
    static unsigned int number;

    if (name == NULL)
        name = own;
    do
        snprintf(name, L_tmpnam, "./cw-tmp-%u", number++);
    while (access(name, F_OK) == 0);
    return name;
}

/* The file has no name any more when the program gets it. */
FILE *tmpfile(void)
{
    static unsigned int number;
    char name[32];
    FILE *file;

    snprintf(name, sizeof name, ".cellworks-tmp-%u", number++);
    file = fopen(name, "w+");
    if (file)
        remove(name);
    return file;
}

/* Memory without a file, or a copy of a part of a file that is not written back. */
void *mmap(void *wanted, size_t bytes, int protection, int flags, int file, off_t from)
{
    char *memory;
    size_t at = 0;

    (void)wanted;
    (void)protection;
    if (bytes == 0 || (flags & MAP_FIXED)) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (memory == NULL) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    memset(memory, 0, bytes);
    while (!(flags & MAP_ANONYMOUS) && at < bytes) {
        ssize_t read = pread(file, memory + at, bytes - at, from + at);

        if (read < 0) {
            free(memory);
            return MAP_FAILED;
        }
        if (read == 0)
            break;
        at += read;
    }
    return memory;
}

int munmap(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
    return 0;
}

int mprotect(void *memory, size_t bytes, int protection)
{
    (void)memory;
    (void)bytes;
    (void)protection;
    return 0;
}
