/* Locks, numbers, conditions and completions, with reservations of the test's own that fail now
   and then. */
#include <stddef.h>
#include <string.h>
#include "expect.h"

static unsigned char memory[256] __attribute__((aligned(128)));
static int calls, lost, polls;
static void (*other)(void); /* what another processor does when this one polls */

#ifdef __SPU__
#include <spu_channels.h>
#define PLACE 0x500000000ull
static int status;
static void move(volatile void *ls, unsigned high, unsigned low, unsigned size, unsigned tag, unsigned cmd) {
  EXPECT(high == 5 && low % 128 == 0 && low < 256 && size == 128 && tag == 0)
  if (cmd == 0xd0) {
    status = 4;
    if (++polls % 3 == 0 && other) other();
    memcpy((void *)ls, memory + low, 128);
  } else if (cmd == 0xb4) {
    lost = ++calls % 3 == 0;
    status = lost;
    if (!lost) memcpy(memory + low, (void *)ls, 128);
  } else EXPECT(0)
}
static unsigned read_channel(unsigned channel) {
  EXPECT(channel == 27)
  return status;
}
#define __cw_issue move
#define __cw_read_channel(channel) read_channel(channel)
#else
#include <ppu_intrinsics.h>
#include <sched.h>
#define PLACE ((unsigned long long)(unsigned)memory)
static unsigned long long load_reserved(const volatile void *address, unsigned bytes) {
  EXPECT(bytes == 4)
  if (++polls % 3 == 0 && other) other();
  return *(unsigned *)address;
}
static unsigned store_conditional(volatile void *address, unsigned bytes, unsigned long long value) {
  EXPECT(bytes == 4 && value >> 32 == 0)
  if ((lost = ++calls % 3 == 0)) return 0;
  *(unsigned *)address = (unsigned)value;
  return 1;
}
static int yield(void) { return 0; }
#define __cw_load_reserved load_reserved
#define __cw_store_conditional store_conditional
#define sched_yield yield
#endif
#include "../../../c/lib/common/sync.c"

#define EA(n) (PLACE + 4 * (n))
#define WORD(n) (((int *)memory)[n])

static void complete_word(void) { WORD(40) = 1; }
static void unlock_word(void) { WORD(40) = 0; }
static unsigned condition_lock_was_free;
static void signal_word(void) {
  condition_lock_was_free |= WORD(41) == 0;
  WORD(42) = WORD(42) + 0x10000;
}

int main(void) {
  int n;
  for (n = 0; n < 64; n++) WORD(n) = n;
  EXPECT(atomic_read(EA(33)) == 33)
  atomic_set(EA(33), -5);
  EXPECT(WORD(33) == -5)
  atomic_add(7, EA(33)), atomic_sub(1, EA(33)), atomic_inc(EA(33)), atomic_inc(EA(33)), atomic_dec(EA(33));
  EXPECT(WORD(33) == 2)
  EXPECT(atomic_add_return(3, EA(33)) == 2 && atomic_sub_return(2, EA(33)) == 5)
  EXPECT(atomic_inc_return(EA(33)) == 3 && atomic_dec_return(EA(33)) == 4 && WORD(33) == 3)
  EXPECT(!atomic_sub_and_test(3, EA(33)) && WORD(33) == 0)
  EXPECT(atomic_sub_and_test(-1, EA(33)) && !atomic_dec_and_test(EA(33)) && WORD(33) == 0)
  EXPECT(atomic_dec_and_test(EA(33)) && WORD(33) == -1)
  WORD(33) = 0;
  EXPECT(atomic_dec_if_positive(EA(33)) == -1 && WORD(33) == 0)
  WORD(33) = 1;
  EXPECT(_atomic_dec_if_positive(EA(33)) == 0 && WORD(33) == 0)
  for (n = 0; n < 64; n++) EXPECT(n == 33 || WORD(n) == n)

  mutex_init(EA(40));
  EXPECT(mutex_trylock(EA(40)) && !mutex_trylock(EA(40)))
  mutex_unlock(EA(40));
  mutex_lock(EA(40));
  other = unlock_word, mutex_lock(EA(40)), other = NULL;
  EXPECT(!mutex_trylock(EA(40)))
  mutex_unlock(EA(40));

  read_lock(EA(40)), read_lock(EA(40));
  EXPECT(WORD(40) == 2 && !write_trylock(EA(40)) && read_trylock(EA(40)))
  read_unlock(EA(40)), read_unlock(EA(40)), read_unlock(EA(40));
  write_lock(EA(40));
  EXPECT(!read_trylock(EA(40)) && !write_trylock(EA(40)))
  write_unlock(EA(40));
  EXPECT(read_trylock(EA(40)))
  read_unlock(EA(40));

  init_completion(EA(40));
  other = complete_word, wait_for_completion(EA(40)), other = NULL;
  EXPECT(WORD(40) == 0)
  complete(EA(40)), complete(EA(40)), wait_for_completion(EA(40)), wait_for_completion(EA(40));
  complete_all(EA(40));
  for (n = 0; n < 5; n++) wait_for_completion(EA(40));

  mutex_init(EA(41)), cond_init(EA(42));
  cond_signal(EA(42)), cond_broadcast(EA(42));
  EXPECT(WORD(42) == 0)
  mutex_lock(EA(41));
  other = signal_word, cond_wait(EA(42), EA(41)), other = NULL;
  EXPECT(condition_lock_was_free && !mutex_trylock(EA(41)))
  /* Three came, one may go on, then all. */
  WORD(42) = (int)0xfffe0001;
  cond_signal(EA(42));
  EXPECT(WORD(42) == (int)0xffff0001)
  cond_broadcast(EA(42));
  EXPECT(WORD(42) == 0x00010001)
  return failures != 0;
}
