//! The state of one processor: its registers, its threads, and its lag.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;

use cellworks_machine::{Processor, SpeId};

use crate::index::{PPE, ProcessorIndex, ThreadIndex};
use crate::time::{Femtoseconds, Moment};
use crate::words::Words;

/// A processor of the machine. Each SPE keeps a reference to its processor, so that a message needs
/// no search.
pub(crate) struct SimProcessor {
    pub index: ProcessorIndex,
    pub id: Processor,
    /// The mailboxes and signals of the processor, if it is an SPE.
    pub words: Words,
    /// The time of a word to each receiving SPE. `None` if a word to that SPE needs a transaction.
    pub word_latency: Vec<Option<Femtoseconds>>,
    /// The thread that runs on the processor.
    pub running: Cell<Option<ProcessorThread>>,
    /// The thread whose registers are in the processor. A switch to this thread takes no time.
    pub loaded: Cell<Option<ThreadIndex>>,
    /// The other threads of the processor.
    pub threads: RefCell<ProcessorThreads>,
    /// The lag: the time that the processor has used and not yet let pass. See `engine`.
    pub lag: Cell<Femtoseconds>,
    /// The time until which the thread that began to wait last still computes. While all threads of
    /// the processor wait, conditions are checked only after this time.
    pub busy_until: Cell<Moment>,
}

/// The threads of a processor that do not run.
#[derive(Default)]
pub(crate) struct ProcessorThreads {
    pub ready: VecDeque<ThreadIndex>,
    /// The waiting threads, in the order in which they began to wait.
    pub waiting: Vec<Waiter>,
}

impl ProcessorThreads {
    /// Makes the waiting thread at the index `place` ready, and returns the thread.
    // `inline(never)` keeps the code that handles an arriving word small.
    #[inline(never)]
    pub fn make_ready(&mut self, place: usize) -> ThreadIndex {
        let thread = self.waiting.remove(place).who.thread;
        self.ready.push_back(thread);
        thread
    }
}

#[derive(Clone, Copy)]
pub(crate) struct ProcessorThread {
    pub thread: ThreadIndex,
    /// The number of the thread on its processor. The program's own thread has number 0.
    pub number: u32,
}

/// A waiting thread, with all data that `check` needs, so that a check reads no other memory. The
/// pointers are valid while the thread waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub who: ProcessorThread,
    pub why: *const dyn fmt::Display,
    pub ready: *mut dyn FnMut() -> bool,
    pub location: &'static Location<'static>,
    pub since: Moment,
    /// Whether the processor waits for its next program. Such a wait is no part of a deadlock.
    pub is_idle: bool,
}

impl SimProcessor {
    /// Makes a processor without threads.
    pub fn new(index: ProcessorIndex, word_latency: Vec<Option<Femtoseconds>>) -> Self {
        Self {
            index,
            id: match index {
                PPE => Processor::Ppe,
                index => Processor::Spe(SpeId::new(index as u16 - 1)),
            },
            words: Words::default(),
            word_latency,
            running: Cell::new(None),
            loaded: Cell::new(None),
            threads: RefCell::default(),
            lag: Cell::default(),
            busy_until: Cell::default(),
        }
    }

    #[inline]
    pub fn lag(&self) -> Femtoseconds {
        self.lag.get()
    }

    /// Whether another thread would run if the running thread waited.
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.threads.borrow().ready.is_empty()
    }

    /// The running thread. Panics if no thread runs on the processor.
    #[inline]
    pub fn running(&self) -> ProcessorThread {
        self.running
            .get()
            .expect("a program that runs has its processor")
    }
}
