/*
 * What Linux has and WASI has not, as far as it makes sense for one program that has the machine
 * for itself: the time that it has taken, who it is, and memory of its own by mmap. Signals are in
 * signal.c.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

/* What the machine says of a file in the rights that other files would inherit. */
#define IS_TERMINAL (1ull << 63)
#define IS_EXECUTABLE (1ull << 62)

extern int fd_status(int file, void *status)
    __asm__("wasi_snapshot_preview1.fd_fdstat_get");

/* Whether it says so, or -1 if there is no such file. */
static int file_has(int file, unsigned long long what)
{
    struct {
        unsigned char kind;
        unsigned short flags;
        unsigned long long rights, inherited;
    } status;

    if (fd_status(file, &status) == 0)
        return (status.inherited & what) != 0;
    errno = EBADF;
    return -1;
}

int isatty(int file)
{
    int is_terminal = file_has(file, IS_TERMINAL);

    if (is_terminal == 0)
        errno = ENOTTY;
    return is_terminal > 0;
}

int __cw_is_executable(int file) { return file_has(file, IS_EXECUTABLE) > 0; }

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

/* A program may only be nicer to others, of which there are none. */
int nice(int more)
{
    static int now;

    if (more < 0) {
        errno = EPERM;
        return -1;
    }
    now = more > 19 - now ? 19 : now + more;
    return now;
}

/* What is written is with this computer's system already. */
void sync(void) {}

/* Both files have one position. */
extern int file_copy(int file, int to, int *copy) __asm__("wasi_snapshot_preview1.fd_copy");

static int copied(int file, int to)
{
    int copy, error = file_copy(file, to, &copy);

    if (error == 0)
        return copy;
    errno = error;
    return -1;
}

int dup(int file) { return copied(file, -1); }

int dup2(int file, int to)
{
    if (to >= 0)
        return copied(file, to);
    errno = EBADF;
    return -1;
}

/* Adds a part of a path, which is absolute and has no slash at its end. */
static int add_part(char *path, const char *part, size_t bytes)
{
    size_t end = strlen(path);

    if (bytes == 0 || (bytes == 1 && part[0] == '.'))
        return 0;
    if (bytes == 2 && part[0] == '.' && part[1] == '.') {
        while (end > 0 && path[--end] != '/')
            ;
        path[end] = 0;
        return 0;
    }
    if (end + 1 + bytes >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    path[end] = '/';
    memcpy(path + end + 1, part, bytes);
    path[end + 1 + bytes] = 0;
    return 0;
}

/* Symbolic links stay: a program cannot read them. */
char *realpath(const char *path, char *found)
{
    char own[PATH_MAX] = "", folder[PATH_MAX] = "/";
    const char *from[2] = {folder, path};
    struct stat about;

    if (path == NULL) {
        errno = EINVAL;
        return NULL;
    }
    if (stat(path, &about) || getcwd(folder, sizeof folder) == NULL)
        return NULL;
    for (int at = path[0] == '/'; at < 2; at++)
        for (const char *part = from[at]; *part;) {
            size_t bytes = strcspn(part, "/");

            if (add_part(own, part, bytes))
                return NULL;
            part += bytes + (part[bytes] == '/');
        }
    if (own[0] == 0)
        strcpy(own, "/");
    return found ? strcpy(found, own) : strdup(own);
}

/* The comparison of the sort that runs in this thread. */
static __thread struct {
    int (*compare)(const void *, const void *, void *);
    void *argument;
} sort;

static int compare(const void *one, const void *other)
{
    return sort.compare(one, other, sort.argument);
}

void qsort_r(void *first, size_t count, size_t bytes,
             int (*by)(const void *, const void *, void *), void *argument)
{
    __typeof__(sort) outer = sort;

    sort.compare = by;
    sort.argument = argument;
    qsort(first, count, bytes, compare);
    sort = outer;
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

/* The parts of files that a program has mapped to write them. What they have in memory is written
 * at msync, at munmap and at the end of the program. */
struct mapped {
    struct mapped *next;
    char *memory;
    size_t bytes;
    int file;
    off_t from;
};
static struct mapped *all_mapped;

static int write_back(const struct mapped *one)
{
    struct stat about;
    size_t at, end = one->bytes;

    if (fstat(one->file, &about) != 0)
        return -1;
    /* A file does not become longer. */
    if (one->from + (off_t)end > about.st_size)
        end = about.st_size > one->from ? about.st_size - one->from : 0;
    for (at = 0; at < end;) {
        ssize_t written = pwrite(one->file, one->memory + at, end - at, one->from + at);

        if (written <= 0)
            return -1;
        at += written;
    }
    return 0;
}

static void write_all_back(void)
{
    while (all_mapped) {
        struct mapped *one = all_mapped;

        write_back(one);
        close(one->file);
        all_mapped = one->next;
        free(one);
    }
}

/* Notes a part of a file that is to be written. The program may close its own descriptor. */
static int note_mapped(char *memory, size_t bytes, int file, off_t from)
{
    struct mapped *one = malloc(sizeof *one);

    if (one == NULL)
        return -1;
    *one = (struct mapped){all_mapped, memory, bytes, dup(file), from};
    if (one->file < 0 || (all_mapped == NULL && atexit(write_all_back) != 0)) {
        free(one);
        return -1;
    }
    all_mapped = one;
    return 0;
}

int msync(void *memory, size_t bytes, int flags)
{
    int result = 0;

    (void)flags;
    for (struct mapped *one = all_mapped; one; one = one->next)
        if (one->memory < (char *)memory + bytes && (char *)memory < one->memory + one->bytes)
            result |= write_back(one);
    return result;
}

/* Memory without a file, or with what a part of a file had at the call. */
void *mmap(void *wanted, size_t bytes, int protection, int flags, int file, off_t from)
{
    char *memory;
    size_t at = 0;

    (void)wanted;
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
    if ((flags & MAP_SHARED) && (protection & PROT_WRITE) && !(flags & MAP_ANONYMOUS)
        && note_mapped(memory, bytes, file, from) != 0) {
        free(memory);
        return MAP_FAILED;
    }
    return memory;
}

int munmap(void *memory, size_t bytes)
{
    struct mapped **at = &all_mapped, *one;

    (void)bytes;
    while (*at && (*at)->memory != memory)
        at = &(*at)->next;
    one = *at;
    if (one) {
        write_back(one);
        close(one->file);
        *at = one->next;
        free(one);
    }
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

/* All memory is there all the time, so it needs no lock, and advice changes nothing. */
int mlock(const void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    return 0;
}

int munlock(const void *memory, size_t bytes) { return mlock(memory, bytes); }

int mlockall(int flags)
{
    (void)flags;
    return 0;
}

int munlockall(void) { return 0; }

int madvise(void *memory, size_t bytes, int advice)
{
    (void)advice;
    return mlock(memory, bytes);
}

int posix_madvise(void *memory, size_t bytes, int advice) { return madvise(memory, bytes, advice); }
