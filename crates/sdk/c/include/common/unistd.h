/* <unistd.h> of the C library, with what WASI leaves out and `lib/common/posix.c` has. */
#ifndef __CELLWORKS_UNISTD_H__
#define __CELLWORKS_UNISTD_H__

#include_next <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

pid_t getppid(void);
uid_t getuid(void);
uid_t geteuid(void);
gid_t getgid(void);
gid_t getegid(void);
int getpagesize(void);
int nice(int);
void sync(void);
int dup(int);
int dup2(int, int);
int gethostname(char *, size_t);
/* SIGALRM comes while the program waits in pause, sigsuspend or sigwait. */
unsigned int alarm(unsigned int);
int pause(void);
#ifndef __SPU__
pid_t gettid(void);
/* Of the calls of Linux by their numbers there is gettid alone. All others fail with ENOSYS. */
long syscall(long, ...);
#endif

#ifdef __cplusplus
}
#endif

#endif
