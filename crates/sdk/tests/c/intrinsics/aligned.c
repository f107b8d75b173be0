/* The names of libmisc with `_` are functions, which programs name in several ways. */
#include "expect.h"

#define malloc_align _malloc_align
#define free_align _free_align
#include <free_align.h>
#include <malloc_align.h>
#undef malloc_align

/* A program may define the others by them, as old programs do for new SDKs. */
void *malloc_align(size_t size, unsigned int log2) { return size ? _malloc_align(size, log2) : NULL; }

static void *(*volatile allocate)(size_t, unsigned int) = _malloc_align;

int main(void) {
  char *p = (char *)malloc_align(64, 7), *q = (char *)allocate(64, 10);
  EXPECT(p && (unsigned)p % 128 == 0 && q && (unsigned)q % 1024 == 0)
  EXPECT(malloc_align(0, 7) == NULL)
  free_align(p), free_align(q);
  return failures != 0;
}
