/* <stdio.h> of the C library, with what it leaves out about temporary files. */
#ifndef __CELLWORKS_STDIO_H__
#define __CELLWORKS_STDIO_H__

/* It says of temporary files that WASI has none; `lib/common/posix.c` has them. */
#define __deprecated__(text) __unused__
#include_next <stdio.h>
#undef __deprecated__

#ifndef L_tmpnam
#define L_tmpnam 20
#define TMP_MAX 10000
#endif
#ifndef P_tmpdir
#define P_tmpdir "/tmp"
#endif

#endif
