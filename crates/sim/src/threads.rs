//! The threads of a run: a part of [`World`](crate::world::World). One thread at a time has its
//! turn, which means that it runs.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;

use cellworks_threads::{Owner, Thread};

use crate::index::{ProcessorIndex, ThreadIndex};

/// The capability to control the cooperative threads of simulated machines.
// SAFETY: `OWNER` is used only on cores whose `run` was begun with `OWNER`, and programs cannot
// reach `OWNER`.
pub(crate) const OWNER: Owner = unsafe { Owner::new() };

/// The threads of a run.
pub(crate) struct Threads {
    table: RefCell<Vec<SimThread>>,
    /// The indices of ended threads in `table`, which new threads may use again.
    free_places: RefCell<Vec<ThreadIndex>>,
    /// The running thread, whose event the event loop has handled. Any other thread that is woken
    /// sleeps again.
    turn: Cell<ThreadIndex>,
    /// Whether the condition of some thread has panicked and the thread has not continued yet.
    some_panicked: Cell<bool>,
    /// Whether a condition (the closure `ready` of a wait) is being checked. A condition must not
    /// wait.
    in_condition: Cell<bool>,
}

struct SimThread {
    handle: Thread,
    processor: ProcessorIndex,
    /// The number of the thread on its processor. The program's own thread has number 0.
    number: u32,
    /// The panic of the thread's condition. The thread continues with this panic.
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

    /// Adds the calling cooperative thread to a processor. The program's own thread has `number` 0.
    pub fn adopt(&self, processor: ProcessorIndex, number: u32) -> ThreadIndex {
        let mut table = self.table.borrow_mut();
        let thread = SimThread {
            handle: OWNER.current(),
            processor,
            number,
            panic: None,
        };
        // A thread has handled its last event when it ends. Therefore no event names an ended
        // thread, and its index can be used again.
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

    /// The number of a thread on its processor. The program's own thread has number 0.
    #[inline]
    pub fn number_of(&self, thread: ThreadIndex) -> u32 {
        self.table.borrow()[thread as usize].number
    }

    pub fn processor_of(&self, thread: ThreadIndex) -> ProcessorIndex {
        self.table.borrow()[thread as usize].processor
    }

    /// Gives a thread its turn. Returns the handle that wakes the thread, its processor, and its
    /// number on the processor.
    #[inline(always)]
    pub fn give_turn(&self, next: ThreadIndex) -> (Thread, ProcessorIndex, u32) {
        self.turn.set(next);
        let thread = &self.table.borrow()[next as usize];
        (thread.handle, thread.processor, thread.number)
    }

    /// Whether a thread has its turn.
    #[inline]
    pub fn has_turn(&self, thread: ThreadIndex) -> bool {
        self.turn.get() == thread
    }

    /// Keeps the panic of a thread's condition until the thread continues.
    pub fn keep_panic(&self, thread: ThreadIndex, panic: Box<dyn Any + Send>) {
        self.table.borrow_mut()[thread as usize].panic = Some(panic);
        self.some_panicked.set(true);
    }

    /// Panics with the panic of the condition of the calling thread `me`, if the condition has
    /// panicked.
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

    /// Whether a condition is being checked.
    #[inline]
    pub fn is_in_condition(&self) -> bool {
        self.in_condition.get()
    }

    /// Checks a condition, and records that a condition is being checked.
    #[inline]
    pub fn check(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        let _in_condition = self.begin_condition();
        ready()
    }

    /// Records that a condition is being checked, until the returned guard is dropped.
    pub fn begin_condition(&self) -> InCondition<'_> {
        self.in_condition.set(true);
        InCondition(&self.in_condition)
    }
}

/// A guard that records until its drop that a condition is being checked.
pub(crate) struct InCondition<'a>(&'a Cell<bool>);

impl Drop for InCondition<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
