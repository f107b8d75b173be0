//! A part of the world for each processor: its registers, its threads, and the time that it owes.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;

use cellworks_machine::{Processor, SpeId};

use crate::index::{PPE, ProcessorIndex, ThreadIndex};
use crate::time::{Femtoseconds, Moment};
use crate::words::Words;

/// A processor. An SPE keeps a reference to its own, so that what a message takes finds it without
/// a search.
pub(crate) struct SimProcessor {
    pub index: ProcessorIndex,
    /// What programs call it.
    pub id: Processor,
    /// Its mailboxes and signals, if it is an SPE.
    pub words: Words,
    /// By which SPE receives, how long a word takes that needs no transaction.
    pub word_latency: Vec<Option<Femtoseconds>>,
    /// The thread that has the processor.
    pub running: Cell<Option<ProcessorThread>>,
    /// The thread whose registers it holds, so that going on with it costs no switch.
    pub loaded: Cell<Option<ThreadIndex>>,
    /// The threads that do not have it.
    pub threads: RefCell<ProcessorThreads>,
    /// What it has done since it last paid.
    pub lag: Cell<Femtoseconds>,
    /// Its threads wait, but the last of them has been doing something else until then: nothing is
    /// asked before.
    pub busy_until: Cell<Moment>,
}

/// The threads of a processor that do not have it.
#[derive(Default)]
pub(crate) struct ProcessorThreads {
    pub ready: VecDeque<ThreadIndex>,
    /// In the order in which they began to wait.
    pub waiting: Vec<Waiter>,
}

impl ProcessorThreads {
    /// Makes the thread at a place among those that wait ready, and returns it.
    // Apart, so that what messages take stays small.
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
    /// 0 for a program itself.
    pub number: u32,
}

/// A thread that waits, with what `check` needs of it, so that asking it touches nothing else. The
/// pointers are valid while it waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub who: ProcessorThread,
    pub why: *const dyn fmt::Display,
    pub ready: *mut dyn FnMut() -> bool,
    pub location: &'static Location<'static>,
    pub since: Moment,
    /// A processor without a program waits for one: no deadlock.
    pub is_idle: bool,
}

impl SimProcessor {
    /// A processor that nothing runs on.
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

    /// What it has done since it last paid.
    #[inline]
    pub fn lag(&self) -> Femtoseconds {
        self.lag.get()
    }

    /// Whether a thread would have it if the one that has it waited.
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.threads.borrow().ready.is_empty()
    }

    /// The thread that has it.
    ///
    /// # Panics
    ///
    /// If none does: no program runs then that could ask.
    #[inline]
    pub fn running(&self) -> ProcessorThread {
        self.running
            .get()
            .expect("a program that runs has its processor")
    }
}
