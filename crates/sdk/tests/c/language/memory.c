/* Memory that is asked for, atomic operations, and values across files of their own. */
#include <malloc.h>
#include <misc/free_align.h>
#include <misc/malloc_align.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int counter = 5;
static long long wide = 1LL << 40;
static unsigned char byte = 250;
static void *pointer;

int main(void) {
  unsigned *numbers = calloc(100, sizeof *numbers), *more;
  void *aligned;
  int expected = 8;
  char *text = malloc(10), *big;
  void *volatile none;
  int i;

  for (i = 0; i < 100; i++) numbers[i] += i;
  more = realloc(numbers, 200 * sizeof *numbers);
  printf("%u\n", more[99]);
  free(more);
  printf("%d ", posix_memalign(&aligned, 128, 1000));
  printf("%d %d\n", (int)((uintptr_t)aligned & 127), (int)((uintptr_t)memalign(4096, 10) & 4095));
  printf("%d %d\n", (int)((uintptr_t)aligned_alloc(64, 128) & 63), posix_memalign(&aligned, 3, 10) != 0);
  strcpy(text, "memory");
  printf("%s %d\n", text, (int)((uintptr_t)text & 7));
  big = malloc(40000);
  memset(big, 7, 40000);
  printf("%d\n", big[39999]);
  free(big);
  none = malloc(0x7fffffff);
  printf("%d\n", none == 0);

  printf("%d ", __sync_fetch_and_add(&counter, 3));
  printf("%d ", __sync_bool_compare_and_swap(&counter, 8, 9));
  printf("%d ", __sync_val_compare_and_swap(&counter, 8, 10));
  printf("%d\n", counter);
  printf("%d ", __sync_lock_test_and_set(&counter, 1));
  printf("%d ", __sync_sub_and_fetch(&counter, 2));
  __sync_lock_release(&counter);
  printf("%d\n", counter);
  printf("%lld ", __sync_add_and_fetch(&wide, 1));
  printf("%lld\n", __atomic_exchange_n(&wide, 5, __ATOMIC_SEQ_CST));
  printf("%d ", __sync_add_and_fetch(&byte, 10));
  printf("%d\n", __atomic_nand_fetch(&byte, 4, __ATOMIC_SEQ_CST));
  printf("%d ", __atomic_compare_exchange_n(&counter, &expected, 3, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  printf("%d ", expected);
  __atomic_store_n(&counter, 77, __ATOMIC_RELEASE);
  printf("%d\n", __atomic_load_n(&counter, __ATOMIC_ACQUIRE));
  __sync_synchronize();
  printf("%d ", __sync_bool_compare_and_swap(&pointer, 0, &counter));
  printf("%d\n", pointer == &counter);
  __asm__ volatile("" ::: "memory");
  aligned = malloc_align(10, 7);
  printf("%d %d\n", (int)((uintptr_t)aligned & 127), __WORDSIZE);
  free_align(aligned);
  return 0;
}
