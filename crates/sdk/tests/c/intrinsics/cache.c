/* The software cache, with a small memory in place of that of the PPU. */
#include <spu_channels.h>
#include <string.h>
#include "expect.h"

/* The memory, and what the cache asked of it. */
#define MEMORY 65536
static unsigned char memory[MEMORY] __attribute__((aligned(128)));
static int loads, stores;

static void move(volatile void *ls, unsigned high, unsigned low, unsigned size, unsigned tag, unsigned cmd) {
  EXPECT(high == 5 && low < MEMORY && low % 128 == 0 && (unsigned)ls % 128 == 0 && size <= 16384 && tag < 32)
  if (cmd == 0x40) loads++, memcpy((void *)ls, memory + low, size);
  else if (cmd == 0x20) stores++, memcpy(memory + low, (void *)ls, size);
  else EXPECT(0)
}
static unsigned ignored(unsigned channel, unsigned value) { return channel + value; }
#define __cw_issue move
#define __cw_tag_status(update) ignored(0, update)
#define __cw_write_channel(channel, value) ((void)ignored(channel, value))

#define CACHE_NAME small
#define CACHED_TYPE unsigned
#define CACHE_LOG2NWAY 1
#define CACHE_LOG2NSETS 2
#define CACHELINE_LOG2SIZE 8
#define CACHE_TYPE CACHE_TYPE_RW
#define CACHE_STATS
#include <cache-api.h>

#undef CACHE_NAME
#undef CACHED_TYPE
#undef CACHE_LOG2NWAY
#undef CACHE_LOG2NSETS
#undef CACHELINE_LOG2SIZE
#undef CACHE_TYPE
#define CACHE_NAME pairs
#define CACHED_TYPE pair
#define CACHE_TYPE 0
typedef struct { int x; double y; } pair;
#include <cache-api.h>

#define EA(offset) (0x500000000ull + (offset))

int main(void) {
  unsigned n, *p, *q;
  pair v = {3, 4.5};
  for (n = 0; n < MEMORY / 4; n++) ((unsigned *)memory)[n] = n;

  EXPECT(cache_rd(small, EA(40)) == 10 && loads == 1)
  EXPECT(cache_rd(small, EA(252)) == 63 && loads == 1)
  EXPECT(cache_rd(small, EA(256)) == 64 && loads == 2)
  cache_wr(small, EA(40), 7);
  EXPECT(cache_rd(small, EA(40)) == 7 && ((unsigned *)memory)[10] == 10 && stores == 0)
  cache_flush(small);
  EXPECT(((unsigned *)memory)[10] == 7 && stores == 1)
  cache_flush(small);
  EXPECT(stores == 1)

  /* Three lines of one set of two: the first one has to go, and is written. */
  cache_wr(small, EA(44), 8);
  EXPECT(cache_rd(small, EA(1024)) == 256 && cache_rd(small, EA(2048)) == 512)
  EXPECT(((unsigned *)memory)[11] == 8 && stores == 2)
  EXPECT(cache_rd(small, EA(44)) == 8)

  /* A locked line stays. */
  p = cache_rw(small, EA(4096));
  cache_lock(small, p);
  for (n = 1; n < 10; n++) EXPECT(cache_rd(small, EA(4096 + 1024 * n)) == 1024 + 256 * n)
  *p = 99;
  loads = 0;
  EXPECT(cache_rd(small, EA(4096)) == 99 && loads == 0)
  cache_unlock(small, p);
  q = cache_touch(small, EA(4100));
  EXPECT(q == p + 1 && *q == 1025)

  /* All of memory, in an order that misses. */
  for (n = 0; n < MEMORY; n += 4) {
    unsigned at = (n * 263u) % MEMORY & ~3u;
    cache_wr(small, EA(at), at ^ 0x55);
  }
  cache_flush(small);
  for (n = 0; n < MEMORY; n += 4) EXPECT(((unsigned *)memory)[n / 4] == (n ^ 0x55))

  /* A cache for reading only, of another type. */
  memcpy(memory + 4096 + 16, &v, sizeof v);
  loads = stores = 0;
  EXPECT(cache_rd(pairs, EA(4096 + 16)).x == 3 && cache_rd(pairs, EA(4096 + 16)).y == 4.5 && loads == 1)
  cache_flush(pairs);
  EXPECT(stores == 0)
  return failures != 0;
}
