/* `realloc` at an alignment of 2 to the power of `log2_align`, by the published name. */
#ifndef __REALLOC_ALIGN_H__
#define __REALLOC_ALIGN_H__

#include <malloc_align.h>

#ifdef __cplusplus
extern "C" {
#endif

extern void *realloc_align(void *memory, size_t size, unsigned int log2_align);
extern void *_realloc_align(void *memory, size_t size, unsigned int log2_align);

#ifdef __cplusplus
}
#endif

#endif
