/* Memory at an alignment of 2 to the power of `log2_align`, by the published name. */
#ifndef __MALLOC_ALIGN_H__
#define __MALLOC_ALIGN_H__

#include <cellworks.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL if there is no such memory. `free_align` gives it back (`free` does so too). */
extern void *malloc_align(size_t size, unsigned int log2_align);
extern void *_malloc_align(size_t size, unsigned int log2_align);

#ifdef __cplusplus
}
#endif

#endif
