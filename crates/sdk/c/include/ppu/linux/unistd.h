/* The numbers of system calls on Linux for the PowerPC. */
#include <asm/unistd.h>
