/* <stdlib.h> of the C library, with the types of the system as on Linux, and with what it leaves
 * out about temporary files, paths and sorting. */
#ifndef __CELLWORKS_STDLIB_H__
#define __CELLWORKS_STDLIB_H__

#include_next <stdlib.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

int mkstemp(char *);
char *mkdtemp(char *);
char *realpath(const char *, char *);
void qsort_r(void *, size_t, size_t, int (*)(const void *, const void *, void *), void *);

#ifdef __cplusplus
}
#endif

#endif
