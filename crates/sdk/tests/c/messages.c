/* Messages about errors, with the name of the program. */
#include <err.h>
#include <errno.h>
#include <error.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

static void at_end(void) { puts("the end"); }

int main(void)
{
    errno = ENOENT;
    warn("%s", "file");
    warn(NULL);
    warnx("%d", 5);
    error(0, 0, "plain %d", 6);
    error(0, EINVAL, "number");
    error_at_line(0, 0, "a.c", 12, "line");
    openlog("own", 0, LOG_USER);
    syslog(LOG_ERR, "log %d", 7);
    setlogmask(LOG_UPTO(LOG_WARNING));
    syslog(LOG_INFO | LOG_LOCAL0, "not this\n");
    closelog();
    atexit(at_end);
    errx(0, "last");
}
