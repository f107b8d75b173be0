/* The cache of memory of the PPU that pointers of `__ea` go through, by its published names. It has
 * 64 KB of the local store, in lines of 128 bytes. */
#ifndef _SPU_CACHE_H
#define _SPU_CACHE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The address in the local store of what is at `ea`, until another line takes its place. The bytes
 * that are said to be dirty are written back later. */
extern void *__cache_fetch(__ea void *ea);
extern void *__cache_fetch_dirty(__ea void *ea, int n_bytes_dirty);
/* Gets the line of `ea`, or writes it back and forgets it. */
extern void __cache_touch(__ea void *ea);
extern void __cache_evict(__ea void *ea);
/* Does so with all lines, as the end of the program does. */
extern void __cache_flush(void);

#define cache_fetch(ea) __cache_fetch(ea)
#define cache_fetch_dirty(ea, n_bytes_dirty) __cache_fetch_dirty(ea, n_bytes_dirty)
#define cache_touch(ea) __cache_touch(ea)
#define cache_evict(ea) __cache_evict(ea)
#define cache_flush() __cache_flush()

#ifdef __cplusplus
}
#endif
#endif
