/* Aligned memory and small helpers, by their published names. */
#ifndef __LIBMISC_H__
#define __LIBMISC_H__

#include <calloc_align.h>
#include <free_align.h>
#include <malloc_align.h>
#include <realloc_align.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The smallest power n for which 2 to the power of n is not less than `value`. */
extern uint32_t clog2(uint32_t value);
extern uint32_t _clog2(uint32_t value);

/* Random numbers from 0 to 1, and from -1 to 1. */
extern float rand_0_to_1(void);
extern float rand_minus1_to_1(void);

#ifdef __SPU__
/* Copies by DMA, 16 KB at a time, and waits. Addresses are multiples of 16, and so the size is
 * rounded up. They return the bytes copied, 0 if an address is no multiple of 16. */
extern uint32_t copy_from_ls(uint64_t to, uint32_t from, uint32_t size);
extern uint32_t copy_to_ls(uint32_t to, uint64_t from, uint32_t size);
#endif

#ifdef __cplusplus
}
#endif

#endif
