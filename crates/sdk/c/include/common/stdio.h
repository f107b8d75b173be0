/* <stdio.h> of the C library, with the numbers of names for temporary files. */
#ifndef __CELLWORKS_STDIO_H__
#define __CELLWORKS_STDIO_H__

#include_next <stdio.h>

#ifndef L_tmpnam
#define L_tmpnam 20
#define TMP_MAX 10000
#endif

#endif
