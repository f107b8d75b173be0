/* Messages about errors, as in the C library of Linux.
 *
 * Source: the manual page error(3). */
#ifndef _ERROR_H
#define _ERROR_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

extern unsigned int error_message_count;
extern int error_one_per_line;
extern void (*error_print_progname)(void);

/* Ends the program if `status` is not 0. */
void error(int status, int error_number, const char *format, ...) __attribute__((__format__(__printf__, 3, 4)));
void error_at_line(int status, int error_number, const char *file, unsigned int line, const char *format, ...)
    __attribute__((__format__(__printf__, 5, 6)));

#ifdef __cplusplus
}
#endif

#endif
