/* The ends of other processes, of which there are none: programs include this file for its
   macros. */
#ifndef __CELLWORKS_SYS_WAIT_H__
#define __CELLWORKS_SYS_WAIT_H__

#define WNOHANG 1
#define WUNTRACED 2
#define WEXITSTATUS(status) (((status) >> 8) & 0xff)
#define WTERMSIG(status) ((status) & 0x7f)
#define WIFEXITED(status) (WTERMSIG(status) == 0)
#define WIFSIGNALED(status) (WTERMSIG(status) != 0)

#endif
