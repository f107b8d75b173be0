/* Atomic numbers, locks, conditions and completions in memory of the PPU, by their published
 * names.
 *
 * Both sides use the same words, at effective addresses that are multiples of 4 (a condition has
 * 4 bytes too). A program that waits polls. A name with an underscore in front is the same
 * function.
 */
#ifndef __LIBSYNC_H__
#define __LIBSYNC_H__

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t atomic_ea_t;
typedef uint64_t mutex_ea_t;
typedef uint64_t cond_ea_t;
typedef uint64_t completion_ea_t;

/* Numbers. Unlike in Linux, `..._return` and the tests are about the number before the change
 * (IBM's libsync of 2007, as in GNU Radio's gcell). */
extern int atomic_read(atomic_ea_t number);
extern void atomic_set(atomic_ea_t number, int value);
extern void atomic_add(int value, atomic_ea_t number);
extern int atomic_add_return(int value, atomic_ea_t number);
extern void atomic_sub(int value, atomic_ea_t number);
extern int atomic_sub_return(int value, atomic_ea_t number);
extern int atomic_sub_and_test(int value, atomic_ea_t number);
extern void atomic_inc(atomic_ea_t number);
extern int atomic_inc_return(atomic_ea_t number);
extern void atomic_dec(atomic_ea_t number);
extern int atomic_dec_return(atomic_ea_t number);
extern int atomic_dec_and_test(atomic_ea_t number);
/* The number less one; it is written only if it is not negative. */
extern int atomic_dec_if_positive(atomic_ea_t number);

/* Locks. The functions that try return 1 with the lock, and 0 without. */
extern void mutex_init(mutex_ea_t lock);
extern void mutex_lock(mutex_ea_t lock);
extern int mutex_trylock(mutex_ea_t lock);
extern void mutex_unlock(mutex_ea_t lock);

/* Locks for many readers or one writer. A lock starts as mutex_init leaves it. */
extern void read_lock(mutex_ea_t lock);
extern int read_trylock(mutex_ea_t lock);
extern void read_unlock(mutex_ea_t lock);
extern void write_lock(mutex_ea_t lock);
extern int write_trylock(mutex_ea_t lock);
extern void write_unlock(mutex_ea_t lock);

/* Conditions. `lock` is held at the call of cond_wait, and when it returns. */
extern void cond_init(cond_ea_t condition);
extern void cond_wait(cond_ea_t condition, mutex_ea_t lock);
extern void cond_signal(cond_ea_t condition);
extern void cond_broadcast(cond_ea_t condition);

/* Completions: `complete` lets one waiter go on, `complete_all` all, also later ones. */
extern void init_completion(completion_ea_t completion);
extern void wait_for_completion(completion_ea_t completion);
extern void complete(completion_ea_t completion);
extern void complete_all(completion_ea_t completion);

#ifdef __cplusplus
}
#endif

#define _atomic_read atomic_read
#define _atomic_set atomic_set
#define _atomic_add atomic_add
#define _atomic_add_return atomic_add_return
#define _atomic_sub atomic_sub
#define _atomic_sub_return atomic_sub_return
#define _atomic_sub_and_test atomic_sub_and_test
#define _atomic_inc atomic_inc
#define _atomic_inc_return atomic_inc_return
#define _atomic_dec atomic_dec
#define _atomic_dec_return atomic_dec_return
#define _atomic_dec_and_test atomic_dec_and_test
#define _atomic_dec_if_positive atomic_dec_if_positive
#define _mutex_init mutex_init
#define _mutex_lock mutex_lock
#define _mutex_trylock mutex_trylock
#define _mutex_unlock mutex_unlock
#define _read_lock read_lock
#define _read_trylock read_trylock
#define _read_unlock read_unlock
#define _write_lock write_lock
#define _write_trylock write_trylock
#define _write_unlock write_unlock
#define _cond_init cond_init
#define _cond_wait cond_wait
#define _cond_signal cond_signal
#define _cond_broadcast cond_broadcast
#define _init_completion init_completion
#define _wait_for_completion wait_for_completion
#define _complete complete
#define _complete_all complete_all

#endif
