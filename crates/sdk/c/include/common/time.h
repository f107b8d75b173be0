/* <time.h> of the C library, with what WASI leaves out: the time zone is UTC. */
#ifndef __CELLWORKS_TIME_H__
#define __CELLWORKS_TIME_H__

#include_next <time.h>

#ifdef __cplusplus
extern "C" {
#endif

void tzset(void);
extern char *tzname[2];
extern int daylight;
extern long timezone;

#ifdef __cplusplus
}
#endif

#endif
