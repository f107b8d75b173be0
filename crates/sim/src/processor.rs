//! A part of the world for each processor: its registers, its threads, and its lag.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;

use cellworks_machine::{Processor, SpeId};

use crate::index::{PPE, ProcessorIndex, ThreadIndex};
use crate::time::{Femtoseconds, Moment};
use crate::words::Words;

/// A processor. Each SPE keeps a reference to its own, so that no message has to search for it.
pub(crate) struct SimProcessor {
    pub index: ProcessorIndex,
    /// The name of the processor for programs.
    pub id: Processor,
    /// The mailboxes and signals of the processor, if it is an SPE.
    pub words: Words,
    /// For each receiving SPE, how long a word takes to it. `None` if the word needs a transaction.
    pub word_latency: Vec<Option<Femtoseconds>>,
    /// The thread that has the processor.
    pub running: Cell<Option<ProcessorThread>>,
    /// The thread that has its registers in the processor. A switch to this thread takes no time.
    pub loaded: Cell<Option<ThreadIndex>>,
    /// The threads that do not have the processor.
    pub threads: RefCell<ProcessorThreads>,
    /// The time that the processor has used and not yet let pass: see `engine`.
    pub lag: Cell<Femtoseconds>,
    /// While all threads of the processor wait, the thread that began to wait last computes until
    /// this time. Before this time no condition is checked.
    pub busy_until: Cell<Moment>,
}

/// The threads of a processor that do not have it.
#[derive(Default)]
pub(crate) struct ProcessorThreads {
    pub ready: VecDeque<ThreadIndex>,
    /// The waiting threads, in the order in which they began to wait.
    pub waiting: Vec<Waiter>,
}

impl ProcessorThreads {
    /// Makes the waiting thread at `place` ready, and returns it.
    // This is not inlined, so that the code on the path of a word stays small.
    #[inline(never)]
    pub fn make_ready(&mut self, place: usize) -> ThreadIndex {
        let thread = self.waiting.remove(place).who.thread;
        self.ready.push_back(thread);
        thread
    }
}

/// A thread of a processor.
#[derive(Clone, Copy)]
pub(crate) struct ProcessorThread {
    pub thread: ThreadIndex,
    /// The number of the thread on its processor. The program itself has number 0.
    pub number: u32,
}

/// A waiting thread, with all data that `check` needs, so that a check of its condition reads no
/// other memory. The pointers are valid while the thread waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub who: ProcessorThread,
    pub why: *const dyn fmt::Display,
    pub ready: *mut dyn FnMut() -> bool,
    pub location: &'static Location<'static>,
    pub since: Moment,
    /// Whether the processor waits for a program. Such a wait is no part of a deadlock.
    pub is_idle: bool,
}

impl SimProcessor {
    /// A processor on which nothing runs.
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

    /// The time that the processor has used and not yet let pass.
    #[inline]
    pub fn lag(&self) -> Femtoseconds {
        self.lag.get()
    }

    /// Whether another thread would get the processor if the running thread waited.
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.threads.borrow().ready.is_empty()
    }

    /// The thread that has the processor.
    ///
    /// # Panics
    ///
    /// If no thread has the processor. Only a running program may call this.
    #[inline]
    pub fn running(&self) -> ProcessorThread {
        self.running
            .get()
            .expect("a program that runs has its processor")
    }
}
