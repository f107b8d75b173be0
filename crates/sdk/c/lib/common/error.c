/* Messages about errors, with the name of the program: <err.h>, <error.h> and <syslog.h>. */
#include <err.h>
#include <errno.h>
#include <error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

/* Each side has its own. */
extern char *program_invocation_name, *program_invocation_short_name;

/* Prints a message after the name of the program, and what `number` means if it is none of 0 and
   -1. */
static void print(const char *name, int number, const char *format, va_list arguments)
{
    fprintf(stderr, "%s: ", name);
    if (format)
        vfprintf(stderr, format, arguments);
    if (number > 0)
        fprintf(stderr, "%s%s", format ? ": " : "", strerror(number));
    fputc('\n', stderr);
}

void vwarn(const char *format, va_list arguments)
{
    print(program_invocation_short_name, errno, format, arguments);
}

void vwarnx(const char *format, va_list arguments)
{
    print(program_invocation_short_name, 0, format, arguments);
}

_Noreturn void verr(int status, const char *format, va_list arguments)
{
    vwarn(format, arguments);
    exit(status);
}

_Noreturn void verrx(int status, const char *format, va_list arguments)
{
    vwarnx(format, arguments);
    exit(status);
}

#define WITH_ARGUMENTS(call)                                                                        \
    va_list arguments;                                                                              \
    va_start(arguments, format);                                                                    \
    call;                                                                                           \
    va_end(arguments)

void warn(const char *format, ...) { WITH_ARGUMENTS(vwarn(format, arguments)); }
void warnx(const char *format, ...) { WITH_ARGUMENTS(vwarnx(format, arguments)); }
_Noreturn void err(int status, const char *format, ...) { WITH_ARGUMENTS(verr(status, format, arguments)); }
_Noreturn void errx(int status, const char *format, ...) { WITH_ARGUMENTS(verrx(status, format, arguments)); }

unsigned int error_message_count;
int error_one_per_line;
void (*error_print_progname)(void);

/* Prints a message of error(3). `place` is empty, or as `a.c:12: `. */
static void report(int status, int number, const char *place, const char *format, va_list arguments)
{
    fflush(stdout);
    if (error_print_progname)
        error_print_progname();
    else
        fprintf(stderr, "%s:%s", program_invocation_name, *place ? "" : " ");
    fputs(place, stderr);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, number ? ": %s\n" : "\n", strerror(number));
    error_message_count++;
    if (status)
        exit(status);
}

void error(int status, int number, const char *format, ...)
{
    WITH_ARGUMENTS(report(status, number, "", format, arguments));
}

void error_at_line(int status, int number, const char *file, unsigned int line, const char *format, ...)
{
    static const char *last_file;
    static unsigned int last_line;
    char place[FILENAME_MAX];

    if (error_one_per_line && last_line == line && last_file && strcmp(last_file, file) == 0)
        return;
    last_file = file;
    last_line = line;
    snprintf(place, sizeof place, "%s:%u: ", file, line);
    WITH_ARGUMENTS(report(status, number, place, format, arguments));
}

static const char *log_name;
static int log_options, log_mask = 0xff;

void openlog(const char *name, int options, int facility)
{
    log_name = name;
    log_options = options;
    (void)facility;
}

void closelog(void) { log_name = NULL; }

int setlogmask(int mask)
{
    int old = log_mask;

    if (mask)
        log_mask = mask;
    return old;
}

void vsyslog(int priority, const char *format, va_list arguments)
{
    const char *name = log_name ? log_name : program_invocation_short_name;
    const char *end = format + strlen(format);

    if (!(LOG_MASK(LOG_PRI(priority)) & log_mask))
        return;
    fprintf(stderr, log_options & LOG_PID ? "%s[%d]: " : "%s: ", name, getpid());
    /* "%m" is the text of errno, which printf knows, too. */
    vfprintf(stderr, format, arguments);
    if (end == format || end[-1] != '\n')
        fputc('\n', stderr);
}

void syslog(int priority, const char *format, ...) { WITH_ARGUMENTS(vsyslog(priority, format, arguments)); }
