/* Functions of <malloc.h> that wasi-libc does not have. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

void *memalign(size_t alignment, size_t size) {
  void *memory = NULL;
  int error = posix_memalign(&memory, alignment < sizeof memory ? sizeof memory : alignment, size);
  if (error) errno = error;
  return memory;
}

void *valloc(size_t size) { return memalign(4096, size); }
