/* Aligned memory by the names with `_`, which the SDK had as inline functions. They are in a file
   of their own, so that a program may define those without `_` by them. */
#include <libmisc.h>
#include <malloc.h>
#include <string.h>

void *_malloc_align(size_t size, unsigned int log2_align) {
  void *memory;
  if (log2_align < 4) log2_align = 4;
  if (log2_align > 31) return NULL;
  return posix_memalign(&memory, (size_t)1 << log2_align, size) == 0 ? memory : NULL;
}

void _free_align(void *memory) { free(memory); }

void *_calloc_align(size_t number, size_t size, unsigned int log2_align) {
  size_t bytes;
  if (__builtin_mul_overflow(number, size, &bytes)) return NULL;
  void *memory = _malloc_align(bytes, log2_align);
  return memory ? memset(memory, 0, bytes) : NULL;
}

void *_realloc_align(void *memory, size_t size, unsigned int log2_align) {
  void *now = _malloc_align(size, log2_align);
  if (now && memory) {
    size_t old = malloc_usable_size(memory);
    memcpy(now, memory, old < size ? old : size);
    free(memory);
  }
  return now;
}

uint32_t _clog2(uint32_t value) { return value < 2 ? 0 : 32 - __builtin_clz(value - 1); }
