/* <sys/resource.h> of the C library, with the limits and priorities that WASI leaves out.
 * `lib/ppu/limits.c` has them, and their numbers are those of Linux.
 *
 * Source: getrlimit(2) and getpriority(2) of Linux. */
#ifndef __CELLWORKS_SYS_RESOURCE_H__
#define __CELLWORKS_SYS_RESOURCE_H__

#include_next <sys/resource.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned long rlim_t;

struct rlimit {
    rlim_t rlim_cur, rlim_max;
};

#define RLIM_INFINITY (~(rlim_t)0)
#define RLIMIT_CPU 0
#define RLIMIT_FSIZE 1
#define RLIMIT_DATA 2
#define RLIMIT_STACK 3
#define RLIMIT_CORE 4
#define RLIMIT_RSS 5
#define RLIMIT_NPROC 6
#define RLIMIT_NOFILE 7
#define RLIMIT_MEMLOCK 8
#define RLIMIT_AS 9

int getrlimit(int, struct rlimit *);
/* The limits cannot be changed: EPERM for others than the present ones. */
int setrlimit(int, const struct rlimit *);

#define PRIO_MIN (-20)
#define PRIO_MAX 20
#define PRIO_PROCESS 0
#define PRIO_PGRP 1
#define PRIO_USER 2

int getpriority(int, id_t);
/* A program may only be nicer: EACCES for a lower number than the present one. */
int setpriority(int, id_t, int);

#ifdef __cplusplus
}
#endif

#endif
