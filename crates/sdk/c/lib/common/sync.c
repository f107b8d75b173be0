/* Atomic numbers, locks, conditions and completions, all from one reservation of a word. */
#include <libsync.h>

#ifdef __SPU__
#include <spu_mfcio.h>

static union {
  int word[32];
} line __attribute__((aligned(128)));

static int reserve(uint64_t ea) {
  mfc_getllar(&line, ea & ~127ull, 0, 0);
  mfc_read_atomic_status();
  return line.word[(ea & 127) / 4];
}

static int store(uint64_t ea, int value) {
  line.word[(ea & 127) / 4] = value;
  mfc_putllc(&line, ea & ~127ull, 0, 0);
  return (mfc_read_atomic_status() & MFC_PUTLLC_STATUS) == 0;
}

/* A program waits for its own transfers before it gives a lock back. */
static void order(void) { spu_dsync(); }
static void wait_a_little(void) {}

#else
#include <ppu_intrinsics.h>
#include <sched.h>

static int reserve(uint64_t ea) { return (int)__lwarx((void *)(uintptr_t)ea); }
static int store(uint64_t ea, int value) { return __stwcx((void *)(uintptr_t)ea, (unsigned)value); }
static void order(void) { __sync(); }
static void wait_a_little(void) { sched_yield(); }
#endif

/* Numbers. */

int atomic_read(atomic_ea_t number) { return reserve(number); }

/* Adds, and returns what the number was before. */
static int add(atomic_ea_t number, int value) {
  int old;
  do old = reserve(number);
  while (!store(number, (int)((unsigned)old + (unsigned)value)));
  return old;
}

/* Writes `to` if the number is `from`. */
static int replace(atomic_ea_t number, int from, int to) {
  do {
    if (reserve(number) != from) return 0;
  } while (!store(number, to));
  return 1;
}

void atomic_set(atomic_ea_t number, int value) {
  do reserve(number);
  while (!store(number, value));
}

void atomic_add(int value, atomic_ea_t number) { add(number, value); }
int atomic_add_return(int value, atomic_ea_t number) { return add(number, value); }
void atomic_sub(int value, atomic_ea_t number) { add(number, -value); }
int atomic_sub_return(int value, atomic_ea_t number) { return add(number, -value); }
int atomic_sub_and_test(int value, atomic_ea_t number) { return add(number, -value) == 0; }
void atomic_inc(atomic_ea_t number) { add(number, 1); }
int atomic_inc_return(atomic_ea_t number) { return add(number, 1); }
void atomic_dec(atomic_ea_t number) { add(number, -1); }
int atomic_dec_return(atomic_ea_t number) { return add(number, -1); }
int atomic_dec_and_test(atomic_ea_t number) { return add(number, -1) == 0; }

int atomic_dec_if_positive(atomic_ea_t number) {
  int old;
  do {
    old = reserve(number);
    if (old <= 0) break;
  } while (!store(number, old - 1));
  return (int)((unsigned)old - 1);
}

/* Locks: 0 is free, -1 is held, and a lock of readers is their number. */

void mutex_init(mutex_ea_t lock) { atomic_set(lock, 0); }
int mutex_trylock(mutex_ea_t lock) { return replace(lock, 0, -1); }
void mutex_lock(mutex_ea_t lock) {
  while (!mutex_trylock(lock)) wait_a_little();
}
void mutex_unlock(mutex_ea_t lock) {
  order();
  atomic_set(lock, 0);
}

int read_trylock(mutex_ea_t lock) {
  int readers;
  do {
    readers = reserve(lock);
    if (readers < 0) return 0;
  } while (!store(lock, readers + 1));
  return 1;
}
void read_lock(mutex_ea_t lock) {
  while (!read_trylock(lock)) wait_a_little();
}
void read_unlock(mutex_ea_t lock) {
  order();
  add(lock, -1);
}
int write_trylock(mutex_ea_t lock) { return mutex_trylock(lock); }
void write_lock(mutex_ea_t lock) { mutex_lock(lock); }
void write_unlock(mutex_ea_t lock) { mutex_unlock(lock); }

/* Conditions: the low half of the word counts the waiters that came, the high half those that
 * may go on. A waiter remembers how many came before it. */

void cond_init(cond_ea_t condition) { atomic_set(condition, 0); }

static int may_go(unsigned word, unsigned ticket) { return (short)((word >> 16) - ticket) > 0; }

void cond_wait(cond_ea_t condition, mutex_ea_t lock) {
  unsigned word;
  do word = (unsigned)reserve(condition);
  while (!store(condition, (int)((word & 0xffff0000u) | ((word + 1) & 0xffff))));
  mutex_unlock(lock);
  while (!may_go((unsigned)reserve(condition), word & 0xffff)) wait_a_little();
  mutex_lock(lock);
}

static void let_go(cond_ea_t condition, int all) {
  unsigned word, came, gone;
  do {
    word = (unsigned)reserve(condition), came = word & 0xffff, gone = word >> 16;
    if (came == gone) return;
    gone = all ? came : (gone + 1) & 0xffff;
  } while (!store(condition, (int)(gone << 16 | came)));
}

void cond_signal(cond_ea_t condition) { let_go(condition, 0); }
void cond_broadcast(cond_ea_t condition) { let_go(condition, 1); }

/* Completions: how many waiters may go on; after complete_all it is ALL, and none is
   subtracted. */

#define ALL 0x40000000

void init_completion(completion_ea_t completion) { atomic_set(completion, 0); }

void complete(completion_ea_t completion) {
  order();
  add(completion, 1);
}

void complete_all(completion_ea_t completion) {
  order();
  atomic_set(completion, ALL);
}

void wait_for_completion(completion_ea_t completion) {
  for (;;) {
    int old = reserve(completion);
    if (old >= ALL || (old > 0 && store(completion, old - 1))) return;
    if (old <= 0) wait_a_little();
  }
}
