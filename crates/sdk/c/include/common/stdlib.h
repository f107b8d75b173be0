/* <stdlib.h> of the C library, which has the types of the system as on Linux. */
#ifndef __CELLWORKS_STDLIB_H__
#define __CELLWORKS_STDLIB_H__

#include_next <stdlib.h>
#include <sys/types.h>

#endif
