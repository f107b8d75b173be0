//! The cooperative threads of a run, a part of [`World`](crate::world::World).

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;

use cellworks_threads::{Owner, Thread};

use crate::index::{ProcessorIndex, ThreadIndex};

/// The value that permits control of the cooperative threads of simulated machines.
// SAFETY: `OWNER` is only used on OS threads that run programs by `OWNER.run`, and programs cannot
// reach `OWNER`.
pub(crate) const OWNER: Owner = unsafe { Owner::new() };

pub(crate) struct Threads {
    table: RefCell<Vec<SimThread>>,
    /// The indices in `table` of ended threads, which new threads use again.
    free_places: RefCell<Vec<ThreadIndex>>,
    /// The thread that may run. Any other thread that is woken blocks again.
    turn: Cell<ThreadIndex>,
    /// Whether `panic` of some thread is `Some`.
    some_panicked: Cell<bool>,
    /// Whether the `ready` closure of a wait is running. The closure must not wait.
    in_condition: Cell<bool>,
}

struct SimThread {
    handle: Thread,
    processor: ProcessorIndex,
    /// The number of the thread on its processor. The main thread of a program has number 0.
    number: u32,
    /// The panic of the `ready` closure of the thread's wait, with which the thread will panic.
    panic: Option<Box<dyn Any + Send>>,
}

impl Threads {
    pub fn new() -> Self {
        Self {
            table: RefCell::default(),
            free_places: RefCell::default(),
            turn: Cell::new(ThreadIndex::MAX),
            some_panicked: Cell::new(false),
            in_condition: Cell::new(false),
        }
    }

    /// Adds the calling thread to a processor. The main thread of a program has `number` 0.
    pub fn adopt(&self, processor: ProcessorIndex, number: u32) -> ThreadIndex {
        let mut table = self.table.borrow_mut();
        let thread = SimThread {
            handle: OWNER.current(),
            processor,
            number,
            panic: None,
        };
        // The index can be used again, because no event in the queue refers to an ended thread.
        if let Some(place) = self.free_places.borrow_mut().pop() {
            table[place as usize] = thread;
            return place;
        }
        table.push(thread);
        ThreadIndex::try_from(table.len() - 1).expect("threads that live can be counted")
    }

    /// Frees the index of a thread that ends.
    pub fn forget(&self, thread: ThreadIndex) {
        self.free_places.borrow_mut().push(thread);
    }

    /// Returns the number of a thread on its processor. The main thread of a program has number 0.
    #[inline]
    pub fn number_of(&self, thread: ThreadIndex) -> u32 {
        self.table.borrow()[thread as usize].number
    }

    pub fn processor_of(&self, thread: ThreadIndex) -> ProcessorIndex {
        self.table.borrow()[thread as usize].processor
    }

    /// Makes `next` the thread that may run. Returns its handle, its processor and its number.
    #[inline(always)]
    pub fn give_turn(&self, next: ThreadIndex) -> (Thread, ProcessorIndex, u32) {
        self.turn.set(next);
        let thread = &self.table.borrow()[next as usize];
        (thread.handle, thread.processor, thread.number)
    }

    #[inline]
    pub fn has_turn(&self, thread: ThreadIndex) -> bool {
        self.turn.get() == thread
    }

    /// Stores the panic of the `ready` closure of a thread's wait until the thread continues.
    pub fn keep_panic(&self, thread: ThreadIndex, panic: Box<dyn Any + Send>) {
        self.table.borrow_mut()[thread as usize].panic = Some(panic);
        self.some_panicked.set(true);
    }

    /// Panics with the stored panic of the calling thread `me`, if it has one.
    #[inline(always)]
    pub fn resume_panic_of(&self, me: ThreadIndex) {
        if self.some_panicked.get() {
            self.find_panic_of(me);
        }
    }

    #[cold]
    #[inline(never)]
    fn find_panic_of(&self, me: ThreadIndex) {
        let mut table = self.table.borrow_mut();
        let panic = table[me as usize].panic.take();
        self.some_panicked
            .set(table.iter().any(|thread| thread.panic.is_some()));
        drop(table);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Returns whether the `ready` closure of a wait is running.
    #[inline]
    pub fn is_in_condition(&self) -> bool {
        self.in_condition.get()
    }

    /// Calls `ready`, and sets `in_condition` meanwhile.
    #[inline]
    pub fn check(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        let _in_condition = self.begin_condition();
        ready()
    }

    /// Sets `in_condition` until the returned guard is dropped.
    pub fn begin_condition(&self) -> InCondition<'_> {
        self.in_condition.set(true);
        InCondition(&self.in_condition)
    }
}

/// A guard that clears `in_condition` when dropped.
pub(crate) struct InCondition<'a>(&'a Cell<bool>);

impl Drop for InCondition<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
