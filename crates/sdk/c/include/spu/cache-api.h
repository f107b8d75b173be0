/* A cache of memory of the PPU in the local store, by its published names. Each inclusion makes
 * one cache.
 *
 * Before the inclusion a program defines CACHE_NAME and CACHED_TYPE, and may define
 * CACHE_LOG2NWAY (2), CACHE_LOG2NSETS (6), CACHELINE_LOG2SIZE (7), CACHE_TYPE (CACHE_TYPE_RW),
 * CACHE_SET_TAGID(set) and CACHE_STATS.
 */
#include <spu_mfcio.h>
#include <stdio.h>

#ifndef __CACHE_API_H__
#define __CACHE_API_H__

#define CACHE_TYPE_RO 0
#define CACHE_TYPE_RW 1

/* A value is read or written in the cache. */
#define cache_rd(name, ea) (__cw_cache_rd_##name((unsigned long long)(ea)))
#define cache_wr(name, ea, value) (__cw_cache_wr_##name((unsigned long long)(ea), (value)))
/* The address of a value in the local store, to write it or (cache_touch) to read it. It is good
 * until another line takes its place, or until it is unlocked if it is locked. */
#define cache_rw(name, ea) (__cw_cache_rw_##name((unsigned long long)(ea)))
#define cache_touch(name, ea) (__cw_cache_touch_##name((unsigned long long)(ea)))
#define cache_wait(name, address) ((void)(address))
#define cache_lock(name, address) (__cw_cache_lock_##name(address, 1))
#define cache_unlock(name, address) (__cw_cache_lock_##name(address, 0))
/* Writes all that was written to memory. */
#define cache_flush(name) (__cw_cache_flush_##name())
#define cache_pr_stats(name) (__cw_cache_print_##name())

#define __CW_CACHE_JOIN(a, b) __CW_CACHE_JOIN_(a, b)
#define __CW_CACHE_JOIN_(a, b) a##b
#define __CW_CACHE(what) __CW_CACHE_JOIN(__cw_cache_##what##_, CACHE_NAME)
#define __CW_CACHE_TEXT(name) __CW_CACHE_TEXT_(name)
#define __CW_CACHE_TEXT_(name) #name

#endif

#undef __CW_CACHE_WAYS
#undef __CW_CACHE_SETS
#undef __CW_CACHE_LINE
#undef __CW_CACHE_TAG
#undef __CW_CACHE_WRITES
#undef __CW_CACHE_COUNT
#ifdef CACHE_LOG2NWAY
#define __CW_CACHE_WAYS (1u << (CACHE_LOG2NWAY))
#else
#define __CW_CACHE_WAYS 4u
#endif
#ifdef CACHE_LOG2NSETS
#define __CW_CACHE_SETS (1u << (CACHE_LOG2NSETS))
#else
#define __CW_CACHE_SETS 64u
#endif
#ifdef CACHELINE_LOG2SIZE
#define __CW_CACHE_LINE (1u << (CACHELINE_LOG2SIZE))
#else
#define __CW_CACHE_LINE 128u
#endif
#ifdef CACHE_SET_TAGID
#define __CW_CACHE_TAG(set) CACHE_SET_TAGID(set)
#else
#define __CW_CACHE_TAG(set) 31
#endif
#ifdef CACHE_TYPE
#define __CW_CACHE_WRITES ((CACHE_TYPE) == CACHE_TYPE_RW)
#else
#define __CW_CACHE_WRITES 1
#endif
#ifdef CACHE_STATS
#define __CW_CACHE_COUNT(n) ((void)__CW_CACHE(counts)[n]++)
#else
#define __CW_CACHE_COUNT(n) ((void)0)
#endif

static unsigned char __CW_CACHE(data)[__CW_CACHE_SETS * __CW_CACHE_WAYS * __CW_CACHE_LINE] __attribute__((aligned(128)));
static struct {
  unsigned long long ea;
  unsigned char used, written, locked;
} __CW_CACHE(lines)[__CW_CACHE_SETS * __CW_CACHE_WAYS];
static unsigned __CW_CACHE(next)[__CW_CACHE_SETS];
static unsigned __CW_CACHE(counts)[3]; /* of accesses, misses and lines that were written back */

__attribute__((__unused__)) static void __CW_CACHE(move)(unsigned line, unsigned cmd) {
  unsigned tag = __CW_CACHE_TAG(line / __CW_CACHE_WAYS) & 31, mask = mfc_read_tag_mask(), at;
  for (at = 0; at < __CW_CACHE_LINE; at += MFC_MAX_DMA_SIZE) {
    unsigned long long ea = __CW_CACHE(lines)[line].ea + at;
    spu_mfcdma64(&__CW_CACHE(data)[line * __CW_CACHE_LINE + at], mfc_ea2h(ea), mfc_ea2l(ea),
                 __CW_CACHE_LINE < MFC_MAX_DMA_SIZE ? __CW_CACHE_LINE : MFC_MAX_DMA_SIZE, tag, cmd);
  }
  mfc_write_tag_mask(1u << tag);
  mfc_read_tag_status_all();
  mfc_write_tag_mask(mask);
}

__attribute__((__unused__)) static void __CW_CACHE(clean)(unsigned line) {
  if (!__CW_CACHE(lines)[line].written) return;
  __CW_CACHE(move)(line, MFC_PUT_CMD);
  __CW_CACHE(lines)[line].written = 0;
  __CW_CACHE_COUNT(2);
}

/* The number of the line that has `ea`, which it gets from memory if it must. */
__attribute__((__unused__)) static unsigned __CW_CACHE(find)(unsigned long long ea) {
  unsigned long long start = ea & ~(unsigned long long)(__CW_CACHE_LINE - 1);
  unsigned set = (unsigned)(start / __CW_CACHE_LINE) & (__CW_CACHE_SETS - 1), way, line;
  __CW_CACHE_COUNT(0);
  for (way = 0; way < __CW_CACHE_WAYS; way++) {
    line = set * __CW_CACHE_WAYS + way;
    if (__CW_CACHE(lines)[line].used && __CW_CACHE(lines)[line].ea == start) return line;
  }
  __CW_CACHE_COUNT(1);
  for (way = 0; way < __CW_CACHE_WAYS; way++) {
    line = set * __CW_CACHE_WAYS + (__CW_CACHE(next)[set]++ & (__CW_CACHE_WAYS - 1));
    if (__CW_CACHE(lines)[line].locked) continue;
    __CW_CACHE(clean)(line);
    __CW_CACHE(lines)[line].ea = start, __CW_CACHE(lines)[line].used = 1;
    __CW_CACHE(move)(line, MFC_GET_CMD);
    return line;
  }
  __cw_halt(); /* all lines of the set are locked */
  return 0;
}

__attribute__((__unused__)) static CACHED_TYPE *__CW_CACHE(at)(unsigned line, unsigned long long ea) {
  return (CACHED_TYPE *)&__CW_CACHE(data)[line * __CW_CACHE_LINE + ((unsigned)ea & (__CW_CACHE_LINE - 1))];
}

__attribute__((__unused__)) static CACHED_TYPE __CW_CACHE(rd)(unsigned long long ea) {
  return *__CW_CACHE(at)(__CW_CACHE(find)(ea), ea);
}

__attribute__((__unused__)) static CACHED_TYPE *__CW_CACHE(touch)(unsigned long long ea) {
  return __CW_CACHE(at)(__CW_CACHE(find)(ea), ea);
}

__attribute__((__unused__)) static CACHED_TYPE *__CW_CACHE(rw)(unsigned long long ea) {
  unsigned line = __CW_CACHE(find)(ea);
  __CW_CACHE(lines)[line].written = __CW_CACHE_WRITES;
  return __CW_CACHE(at)(line, ea);
}

__attribute__((__unused__)) static void __CW_CACHE(wr)(unsigned long long ea, CACHED_TYPE value) {
  *__CW_CACHE(rw)(ea) = value;
}

__attribute__((__unused__)) static void __CW_CACHE(lock)(void *address, int locked) {
  unsigned line = (unsigned)((unsigned char *)address - __CW_CACHE(data)) / __CW_CACHE_LINE;
  __CW_CACHE(lines)[line].locked = (unsigned char)locked;
}

__attribute__((__unused__)) static void __CW_CACHE(flush)(void) {
  unsigned line;
  for (line = 0; line < __CW_CACHE_SETS * __CW_CACHE_WAYS; line++) __CW_CACHE(clean)(line);
}

__attribute__((__unused__)) static void __CW_CACHE(print)(void) {
  printf("cache %s: %u accesses, %u misses, %u lines written back\n", __CW_CACHE_TEXT(CACHE_NAME),
         __CW_CACHE(counts)[0], __CW_CACHE(counts)[1], __CW_CACHE(counts)[2]);
}
