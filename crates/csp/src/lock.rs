//! The word of a channel. It is the channel's lock. While no process has the lock, the word also
//! says which process waits, if that is all there is to know about the channel: then the word is
//! *plain*. Otherwise it is *general*.
//!
//! ```text
//!                      a reader comes                   a writer comes
//!   a reader waits ◄──────────────────── none waits ──────────────────────► a writer waits
//!                  ────────────────────►              ◄────────────────────
//!                  a writer comes: serves it             a reader comes: serves it
//!
//!   any of these, or general ── lock ──► locked ── unlock ──► one of these, or general: there is more to know
//! ```
//!
//! Each arrow is one compare-and-exchange. A process that finds the word locked or general takes
//! the lock.

// Rejected: a word with room for one reader and one writer, beside the queues. It might make a
// rendezvous in one cache line, but needs another protocol for guards, poison and cancellation.
// The node of a waiting party is one line, too, and is fetched ahead.

use std::cell::Cell;
use std::ptr;

use crate::node::Node;
use crate::side::Side;
use crate::sync::{AtomicPtr, Ordering};

/// The value of a channel's word: [`LOCKED`] while a process has the lock, otherwise one of the
/// values below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(*mut ());

// SAFETY: it is only an address. Each place that dereferences it says why that is sound.
unsafe impl Send for Word {}

/// The side of the process that waits, in the low bits of the address of its node, which is a
/// multiple of 64.
const READER: usize = 1;
const WRITER: usize = 2;
const SIDES: usize = READER | WRITER;

/// A process has the lock.
const LOCKED: Word = Word(ptr::without_provenance_mut(4));

impl Word {
    /// The channel is a rendezvous channel without guards that has not ended, and no process waits.
    pub(crate) const EMPTY: Self = Self(ptr::null_mut());

    /// The state of the channel has to be read under the lock.
    pub(crate) const GENERAL: Self = Self(ptr::without_provenance_mut(8));

    /// As [`EMPTY`](Self::EMPTY), but one process waits, at this node and on this side.
    #[inline(always)]
    pub(crate) fn with<T>(side: Side, node: *const Node<T>) -> Self {
        let tag = match side {
            Side::Reader => READER,
            Side::Writer => WRITER,
        };
        Self(node.cast_mut().cast::<()>().map_addr(|node| node | tag))
    }

    /// The node of the process that waits, if it waits on this side.
    #[inline(always)]
    pub(crate) fn waiting<T>(self, side: Side) -> Option<*const Node<T>> {
        let tag = Self::with::<T>(side, ptr::null()).0.addr();
        let node = self.0.map_addr(|node| node & !SIDES).cast::<Node<T>>();
        (self.0.addr() & SIDES == tag).then_some(node.cast_const())
    }
}

/// A lock that a process has for some tens of instructions, never while it waits. Its word is
/// [`Word::GENERAL`] at first.
pub trait Lock: Default {
    /// Whether the lock is for processes on several processors.
    const IS_SHARED: bool;

    /// The word as it is now. It is [`LOCKED`] while a process has the lock.
    fn load(&self) -> Word;

    /// Changes the word without the lock, if it equals `from`, with acquire and release. Returns
    /// the word as it was, whose node is the one that is in the word now: when `from` was loaded,
    /// another node may have had the same address.
    fn exchange(&self, from: Word, to: Word) -> Option<Word>;

    /// Takes the lock, and returns the word as it was before.
    fn lock(&self) -> Word;

    fn unlock(&self, word: Word);
}

/// A lock that processes of several SPEs may come to at once. Where an end of a channel has to be
/// `Send` and is not, the compiler says what stands here.
#[diagnostic::on_unimplemented(
    message = "an end of a local channel cannot leave its SPE",
    label = "this has an end of a local channel, and may run on another SPE",
    note = "put the processes that use a local channel into one group, and make the channel there: `network.group(spe, |group| ...)`",
    note = "or make the channel by `Channel::new()`, whose ends may be on any SPE"
)]
pub trait AcrossSpes: Sync {}

impl AcrossSpes for Spin {}

#[cfg(not(loom))]
pub(crate) use self::spin::Spin;

#[cfg(loom)]
pub(crate) use self::modelled::Spin;

/// The lock for processes of one SPE, which take turns. A step lets no other process run, and runs
/// no code of the program: so no process comes while another has the lock. Only debug builds check
/// that.
#[derive(Debug)]
pub struct Turns(Cell<Word>);

impl Default for Turns {
    fn default() -> Self {
        Self(Cell::new(Word::GENERAL))
    }
}

impl Lock for Turns {
    const IS_SHARED: bool = false;

    #[inline]
    fn load(&self) -> Word {
        self.0.get()
    }

    #[inline]
    fn exchange(&self, from: Word, to: Word) -> Option<Word> {
        let word = self.0.get();
        (word == from).then(|| {
            self.0.set(to);
            word
        })
    }

    #[inline]
    fn lock(&self) -> Word {
        let word = self.0.get();
        if cfg!(debug_assertions) {
            assert_ne!(word, LOCKED, "a turn ended within a channel");
            self.0.set(LOCKED);
        }
        word
    }

    #[inline]
    fn unlock(&self, word: Word) {
        self.0.set(word);
    }
}

#[cfg(not(loom))]
mod spin {
    use super::{AtomicPtr, LOCKED, Lock, Ordering, Word};
    use crate::sync::Backoff;

    /// The lock for processes that may run at the same time.
    #[derive(Debug)]
    pub struct Spin(AtomicPtr<()>);

    impl Default for Spin {
        fn default() -> Self {
            Self(AtomicPtr::new(Word::GENERAL.0))
        }
    }

    impl Lock for Spin {
        const IS_SHARED: bool = true;

        #[inline]
        fn load(&self) -> Word {
            Word(self.0.load(Ordering::Relaxed))
        }

        #[inline]
        fn exchange(&self, from: Word, to: Word) -> Option<Word> {
            let exchanged =
                self.0
                    .compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Relaxed);
            exchanged.ok().map(Word)
        }

        #[inline]
        fn lock(&self) -> Word {
            match Word(self.0.swap(LOCKED.0, Ordering::Acquire)) {
                LOCKED => self.lock_slowly(),
                word => word,
            }
        }

        #[inline]
        fn unlock(&self, word: Word) {
            self.0.store(word.0, Ordering::Release);
        }
    }

    impl Spin {
        #[cold]
        fn lock_slowly(&self) -> Word {
            // The process that has the lock may have lost its CPU. So the backoff ends in yielding
            // this one.
            let backoff = Backoff::new();
            loop {
                while self.load() == LOCKED {
                    backoff.snooze();
                }
                let word = Word(self.0.swap(LOCKED.0, Ordering::Acquire));
                if word != LOCKED {
                    return word;
                }
            }
        }
    }
}

/// Replaces the spinning lock in models: loom would never finish with two threads that spin.
#[cfg(loom)]
mod modelled {
    use std::cell::UnsafeCell;
    use std::mem::transmute;

    use loom::sync::{Mutex, MutexGuard};

    use super::{AtomicPtr, LOCKED, Lock, Ordering, Word};

    pub struct Spin {
        word: AtomicPtr<()>,
        /// Dropped before the mutex, which it borrows.
        guard: UnsafeCell<Option<MutexGuard<'static, ()>>>,
        mutex: Box<Mutex<()>>,
    }

    // SAFETY: only the thread that has the mutex accesses the guard.
    unsafe impl Sync for Spin {}
    // SAFETY: as above; all threads of loom run on one OS thread.
    unsafe impl Send for Spin {}

    impl Default for Spin {
        fn default() -> Self {
            Self {
                word: AtomicPtr::new(Word::GENERAL.0),
                guard: UnsafeCell::new(None),
                mutex: Box::default(),
            }
        }
    }

    impl Lock for Spin {
        const IS_SHARED: bool = true;

        /// Never returns an old value. An old value would only make the exchange fail, which models
        /// cover anyway, because other threads may come between the load and the exchange.
        fn load(&self) -> Word {
            let order = Ordering::Relaxed;
            let (Ok(word) | Err(word)) =
                self.word
                    .compare_exchange(Word::EMPTY.0, Word::EMPTY.0, order, order);
            Word(word)
        }

        fn exchange(&self, from: Word, to: Word) -> Option<Word> {
            let exchanged =
                self.word
                    .compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Relaxed);
            exchanged.ok().map(Word)
        }

        fn lock(&self) -> Word {
            let guard = self.mutex.lock().unwrap();
            // SAFETY: the mutex is in a box and outlives the guard, and this thread has the mutex.
            unsafe {
                *self.guard.get() = Some(transmute::<MutexGuard<'_, ()>, MutexGuard<'static, ()>>(
                    guard,
                ))
            };
            Word(self.word.swap(LOCKED.0, Ordering::Acquire))
        }

        fn unlock(&self, word: Word) {
            self.word.store(word.0, Ordering::Release);
            // SAFETY: this thread has the mutex.
            drop(unsafe { (*self.guard.get()).take() });
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::cell::UnsafeCell;
    use std::thread;

    use super::*;

    /// A value under a lock.
    #[derive(Default)]
    struct Locked {
        lock: Spin,
        count: UnsafeCell<u32>,
    }

    // SAFETY: only the thread that has the lock accesses the count.
    unsafe impl Sync for Locked {}

    #[test]
    fn what_is_under_the_lock_has_one_user_at_a_time() {
        const TIMES: u32 = 100;
        let locked = &Locked::default();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    for _ in 0..TIMES {
                        let word = locked.lock.lock();
                        // SAFETY: this thread has the lock.
                        unsafe { *locked.count.get() += 1 };
                        locked.lock.unlock(word);
                    }
                });
            }
        });
        // SAFETY: the other threads have ended.
        assert_eq!(unsafe { *locked.count.get() }, 3 * TIMES);
    }

    /// As in a rendezvous: a thread that takes the node out of the word sees what was written
    /// before the node was put there.
    #[test]
    fn who_takes_a_node_out_of_the_word_sees_what_was_done_before() {
        for _ in 0..50 {
            let locked = &Locked::default();
            let node = Node::<u32>::new(false);
            let waiting = Word::with(Side::Reader, &node);
            locked.lock.unlock(Word::EMPTY);
            thread::scope(|scope| {
                scope.spawn(move || {
                    // SAFETY: no other thread accesses the count before the node is in the word.
                    unsafe { *locked.count.get() = 7 };
                    assert!(locked.lock.exchange(Word::EMPTY, waiting).is_some());
                });
                scope.spawn(move || {
                    let found = loop {
                        let word = locked.lock.load();
                        if word.waiting::<u32>(Side::Reader).is_some()
                            && let Some(found) = locked.lock.exchange(word, Word::EMPTY)
                        {
                            break found;
                        }
                        thread::yield_now();
                    };
                    assert_eq!(found.waiting::<u32>(Side::Writer), None);
                    assert_eq!(found, waiting);
                    // SAFETY: the other thread put the node into the word after its last access.
                    assert_eq!(unsafe { *locked.count.get() }, 7);
                });
            });
        }
    }
}
