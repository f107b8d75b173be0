//! The word of a channel: it is the lock, and while no process has that it says which one waits, if
//! there is no more to know.
//!
//! ```text
//!                      a reader comes                   a writer comes
//!   a reader waits ◄──────────────────── nobody waits ────────────────────► a writer waits
//!                  ────────────────────►              ◄────────────────────
//!                  a writer comes: serves it             a reader comes: serves it
//!
//!   any of these, or general ── lock ──► locked ── unlock ──► one of these, or general: there is more to know
//! ```
//!
//! Each arrow is one exchange. Whoever finds it locked or general comes with the lock.

use std::cell::Cell;
use std::ptr;

use crate::node::Node;
use crate::side::Side;
use crate::sync::{AtomicPtr, Ordering};

/// What a channel's word says: one of these while nobody has its lock, else [`LOCKED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(*mut ());

// SAFETY: it is an address that nobody follows without saying why that is sound.
unsafe impl Send for Word {}

/// Beside the address of a node, which is a multiple of 64.
const READER: usize = 1;
const WRITER: usize = 2;
const SIDES: usize = READER | WRITER;

/// Somebody has the lock.
const LOCKED: Word = Word(ptr::without_provenance_mut(4));

impl Word {
    /// A rendezvous without guards that has not ended, at which nobody waits.
    pub(crate) const EMPTY: Self = Self(ptr::null_mut());

    /// There is something that has to be looked at with the lock.
    pub(crate) const GENERAL: Self = Self(ptr::without_provenance_mut(8));

    /// As [`EMPTY`](Self::EMPTY), but for one process that waits.
    #[inline(always)]
    pub(crate) fn with<T>(side: Side, node: *const Node<T>) -> Self {
        let tag = match side {
            Side::Reader => READER,
            Side::Writer => WRITER,
        };
        Self(node.cast_mut().cast::<()>().map_addr(|node| node | tag))
    }

    /// The node of who waits, if it is on this side.
    #[inline(always)]
    pub(crate) fn waiting<T>(self, side: Side) -> Option<*const Node<T>> {
        let tag = Self::with::<T>(side, ptr::null()).0.addr();
        let node = self.0.map_addr(|node| node & !SIDES).cast::<Node<T>>();
        (self.0.addr() & SIDES == tag).then_some(node.cast_const())
    }
}

/// A lock that is held for some tens of instructions, never across a wait. Its word is
/// [`Word::GENERAL`] at first.
pub trait Lock: Default {
    /// Whether it is for several processors.
    const IS_SHARED: bool;

    /// What it says now: nothing to be exchanged if somebody has the lock.
    fn load(&self) -> Word;

    /// Without the lock: changes what it says, acquiring and releasing. Returns what it said, if
    /// that equals `from`: the node that is in the word now, whose address another one may have had
    /// when `from` was loaded.
    fn exchange(&self, from: Word, to: Word) -> Option<Word>;

    /// Returns what it said before.
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

/// For processes of one SPE, which take turns. No step lets another process run, or runs a
/// program's code: so no other process comes while one has the lock, which is looked at in debug
/// builds only.
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

    /// For processes that may run at the same time.
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
            // Who holds the lock may have lost its CPU: then the backoff gives this one away.
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

/// Stands for the spinning lock in models: loom does not come to an end with two who spin.
#[cfg(loom)]
mod modelled {
    use std::cell::UnsafeCell;
    use std::mem::transmute;

    use loom::sync::{Mutex, MutexGuard};

    use super::{AtomicPtr, LOCKED, Lock, Ordering, Word};

    pub struct Spin {
        word: AtomicPtr<()>,
        /// Before the mutex, which it borrows.
        guard: UnsafeCell<Option<MutexGuard<'static, ()>>>,
        mutex: Box<Mutex<()>>,
    }

    // SAFETY: the guard is accessed by who has the mutex.
    unsafe impl Sync for Spin {}
    // SAFETY: as above; loom's threads are one OS thread.
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

        /// Never anything old, which would end in an exchange that fails: others come between the
        /// two anyway.
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
            // SAFETY: the mutex stays where it is for as long as the guard, and this has it.
            unsafe {
                *self.guard.get() = Some(transmute::<MutexGuard<'_, ()>, MutexGuard<'static, ()>>(
                    guard,
                ))
            };
            Word(self.word.swap(LOCKED.0, Ordering::Acquire))
        }

        fn unlock(&self, word: Word) {
            self.word.store(word.0, Ordering::Release);
            // SAFETY: this has the mutex.
            drop(unsafe { (*self.guard.get()).take() });
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::cell::UnsafeCell;
    use std::thread;

    use super::*;

    /// What a channel has under its lock.
    #[derive(Default)]
    struct Locked {
        lock: Spin,
        count: UnsafeCell<u32>,
    }

    // SAFETY: the count is accessed by who has the lock.
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

    /// As a rendezvous does: what was written before the node was put into the word is there for
    /// who takes the node out.
    #[test]
    fn who_takes_a_node_out_of_the_word_sees_what_was_done_before() {
        for _ in 0..50 {
            let locked = &Locked::default();
            let node = Node::<u32>::new(false);
            let waiting = Word::with(Side::Reader, &node);
            locked.lock.unlock(Word::EMPTY);
            thread::scope(|scope| {
                scope.spawn(move || {
                    // SAFETY: no other thread comes before the node is in the word.
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
                    // SAFETY: the other thread put the node into the word after it was done.
                    assert_eq!(unsafe { *locked.count.get() }, 7);
                });
            });
        }
    }
}
