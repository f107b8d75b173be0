/* Deep calls, aligned local variables, and what malloc has: an SPU program gives both half of
   its memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char used[32 * 1024];

/* The linker's end of the variables, where the heap begins. */
extern char _end[];
static char *const end = _end;

static __attribute__((noinline)) int deep(int left) {
  volatile int here[64];
  here[left & 63] = left;
  return left ? deep(left - 1) + here[left & 63] : 0;
}

int main(void) {
  volatile char large[70000] __attribute__((aligned(128)));
  float quad[4] __attribute__((aligned(16))) = {1, 2, 3, 4};
  char *memory = malloc(70000);
  large[69999] = 5;
  if (memory) memset(memory, 1, 70000);
  memset(used, 1, sizeof used);
  printf("%d %d\n", (int)((uintptr_t)large & 127), (int)((uintptr_t)quad & 15));
  printf("%d %d %d %g\n", large[69999], memory ? memory[69999] : -1, used[4000], quad[2]);
  printf("%d\n", deep(40));
  printf("%d %d\n", _end >= used + sizeof used && _end - used < 64 * 1024, end == _end && memory > end);
  return 0;
}
