//! The word of a channel, which is also its lock. A *plain* word is the whole state of a rendezvous
//! channel: a reader waits, a writer waits, or no process waits. If the word is *general*, the
//! state of the channel is not in the word, and must be read under the lock.
//!
//! ```text
//!                      a reader comes                   a writer comes
//!   a reader waits ◄──────────────────── none waits ──────────────────────► a writer waits
//!                  ────────────────────►              ◄────────────────────
//!                  a writer comes: serves it             a reader comes: serves it
//!
//!   plain or general ── lock ──► locked ── unlock ──► plain or general
//! ```
//!
//! Each arrow of the upper drawing is one compare-and-exchange. Otherwise, a process takes the
//! lock.

// Rejected: a word that holds one waiting reader and one waiting writer, while the queues of the
// state hold all others. It might save a cache line at a rendezvous, but guards, poison and
// cancellation would need another protocol.

use std::cell::Cell;
use std::ptr;

use super::link::Side;
use super::node::Node;
use crate::sync::{AtomicPtr, Ordering};

/// The value of a channel's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(*mut ());

// SAFETY: a `Word` is only an address, and each access through the address has its own comment.
unsafe impl Send for Word {}

/// The bit of a plain word that is set if a reader waits, and the bit for a writer. The other bits
/// are the address of the waiting process's node, a multiple of 64.
const READER: usize = 1;
const WRITER: usize = 2;
const SIDES: usize = READER | WRITER;

const LOCKED: Word = Word(ptr::without_provenance_mut(4));

impl Word {
    /// The plain word of a channel that has no waiting process and no guard, and has not ended.
    pub(crate) const EMPTY: Self = Self(ptr::null_mut());

    pub(crate) const GENERAL: Self = Self(ptr::without_provenance_mut(8));

    /// Returns the plain word for a process that waits with `node` on `side`.
    #[inline(always)]
    pub(crate) fn with<T>(side: Side, node: *const Node<T>) -> Self {
        let tag = match side {
            Side::Reader => READER,
            Side::Writer => WRITER,
        };
        Self(node.cast_mut().cast::<()>().map_addr(|node| node | tag))
    }

    #[inline(always)]
    pub(crate) fn waiting<T>(self, side: Side) -> Option<*const Node<T>> {
        let tag = Self::with::<T>(side, ptr::null()).0.addr();
        let node = self.0.map_addr(|node| node & !SIDES).cast::<Node<T>>();
        (self.0.addr() & SIDES == tag).then_some(node.cast_const())
    }
}

/// The word and lock of a channel. A process holds the lock for some tens of instructions, and
/// releases the lock before it waits. The initial word is [`Word::GENERAL`].
pub trait Lock: Default {
    /// Whether processes on several processors may use the lock.
    const IS_SHARED: bool;

    /// Returns the word, which is [`LOCKED`] while a process has the lock.
    fn load(&self) -> Word;

    /// If the word equals `from`, changes it to `to` without the lock, with acquire and release
    /// order, and returns the old word. Use the node pointer of the returned word and not that of
    /// `from`: `from` may point to an earlier node that was at the same address.
    fn exchange(&self, from: Word, to: Word) -> Option<Word>;

    fn lock(&self) -> Word;

    fn unlock(&self, word: Word);
}

/// A lock for processes of several SPEs. An end is `Send` only if its channel has such a lock, so
/// the compiler prints the messages below where an end of a local channel leaves its SPE.
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

/// The lock for processes of one SPE. These processes run cooperatively, and a process that holds
/// the lock never waits and calls no code of the user. So no other process runs until the lock is
/// released, and every process finds the lock free. Debug builds check this.
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
            // At last, `snooze` yields the CPU to other threads, one of which may have the lock.
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

/// `Spin` for loom models: a mutex, because loom would never finish with two threads that spin.
#[cfg(loom)]
mod modelled {
    use std::cell::UnsafeCell;
    use std::mem::transmute;

    use loom::sync::{Mutex, MutexGuard};

    use super::{AtomicPtr, LOCKED, Lock, Ordering, Word};

    pub struct Spin {
        word: AtomicPtr<()>,
        /// The guard of `mutex`. Dropped before `mutex`, which it borrows.
        guard: UnsafeCell<Option<MutexGuard<'static, ()>>>,
        mutex: Box<Mutex<()>>,
    }

    // SAFETY: only the thread that has the mutex accesses the mutex guard.
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

        /// Loads the newest value. With an older one, `exchange` would fail and be repeated.
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
            // SAFETY: the mutex is in a box and outlives its guard, and this thread has the mutex.
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

    /// A rendezvous relies on this property: a thread that takes a node out of the word sees all
    /// that was written before the node was put there.
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
                    // SAFETY: the other thread used the count before it put the node into the word.
                    assert_eq!(unsafe { *locked.count.get() }, 7);
                });
            });
        }
    }
}
