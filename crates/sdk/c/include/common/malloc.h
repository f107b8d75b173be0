/* <malloc.h> of the C library, which has <stdio.h> as on Linux. */
#ifndef __CELLWORKS_MALLOC_H__
#define __CELLWORKS_MALLOC_H__

#include_next <malloc.h>
#include <stdio.h>

#endif
