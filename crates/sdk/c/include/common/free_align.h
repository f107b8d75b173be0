/* Gives back memory of malloc_align. */
#ifndef __FREE_ALIGN_H__
#define __FREE_ALIGN_H__

#ifdef __cplusplus
extern "C" {
#endif

extern void free_align(void *memory);
extern void _free_align(void *memory);

#ifdef __cplusplus
}
#endif

#endif
