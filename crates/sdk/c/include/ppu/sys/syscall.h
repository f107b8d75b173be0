/* The numbers of system calls, by their names of the C library. */
#ifndef __CELLWORKS_SYS_SYSCALL_H__
#define __CELLWORKS_SYS_SYSCALL_H__

#include <asm/unistd.h>

#define SYS_gettid __NR_gettid

#endif
