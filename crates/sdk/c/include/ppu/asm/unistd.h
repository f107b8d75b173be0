/* The numbers of system calls on Linux for the PowerPC: what `syscall` knows. */
#define __NR_gettid 207
