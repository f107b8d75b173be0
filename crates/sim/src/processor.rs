//! The state of a processor: its registers, its threads and its lag.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;

use cellworks_machine::{Places, Processor, SpeId};

use crate::index::{PPE, ProcessorIndex, ThreadIndex};
use crate::time::{Femtoseconds, Moment};
use crate::words::Words;

pub(crate) struct SimProcessor {
    pub index: ProcessorIndex,
    pub id: Processor,
    /// The mailboxes and signals of the processor, if the processor is an SPE.
    pub words: Words,
    /// The time that a word takes to each SPE, or `None` if sending the word is a bus transaction.
    pub word_latency: Vec<Option<Femtoseconds>>,
    pub running: Cell<Option<ProcessorThread>>,
    /// The thread that ran last. A switch to this thread takes no time.
    pub loaded: Cell<Option<ThreadIndex>>,
    /// The ready and the waiting threads of the processor.
    pub threads: RefCell<ProcessorThreads>,
    /// The places of the threads in foreign source.
    pub places: Places,
    /// The lag: the time that the processor has used and the clock has not counted yet.
    pub lag: Cell<Femtoseconds>,
    /// The time at which a thread last began to wait: the clock plus the lag. Before this time, no
    /// `ready` closure of the processor is called.
    pub busy_until: Cell<Moment>,
    /// The processor whose word or call makes the waiting threads check their conditions.
    pub woken_by: Cell<Option<ProcessorIndex>>,
}

#[derive(Default)]
pub(crate) struct ProcessorThreads {
    pub ready: VecDeque<ThreadIndex>,
    /// The waiting threads, in the order in which they began to wait.
    pub waiting: Vec<Waiter>,
}

impl ProcessorThreads {
    /// Moves the waiting thread at the index `place` to the ready threads, and returns the thread.
    // `inline(never)` keeps the code that runs for an arriving word small.
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
    /// The number of the thread on its processor. The main thread of a program has number 0.
    pub number: u32,
}

/// A waiting thread. The pointers are valid while the thread waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub who: ProcessorThread,
    pub why: *const dyn fmt::Display,
    pub ready: *mut dyn FnMut() -> bool,
    pub location: &'static Location<'static>,
    pub since: Moment,
    /// Whether the SPE waits for its next program. A deadlock report does not list this wait.
    pub is_idle: bool,
}

impl SimProcessor {
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
            places: Places::default(),
            lag: Cell::default(),
            busy_until: Cell::default(),
            woken_by: Cell::default(),
        }
    }

    #[inline]
    pub fn lag(&self) -> Femtoseconds {
        self.lag.get()
    }

    /// Returns whether another thread is ready to run.
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.threads.borrow().ready.is_empty()
    }

    /// Returns the running thread and the ready ones, in the order in which they began.
    pub fn able(&self) -> Vec<ThreadIndex> {
        let running = self.running.get().map(|running| running.thread);
        let ready = &self.threads.borrow().ready;
        let mut able: Vec<_> = running.into_iter().chain(ready.iter().copied()).collect();
        able.sort_unstable();
        able
    }

    /// Returns the name of a thread in reports. The main thread of a program has number 0.
    pub fn name_of(&self, number: u32) -> String {
        match number {
            0 => self.id.to_string(),
            number => format!("{}, thread {}", self.id, number - 1),
        }
    }

    /// Returns the place of the running thread in foreign source.
    pub fn place(&self) -> Option<&'static str> {
        let running = self.running.get()?;
        self.places.of((running.thread as usize, 0))
    }

    /// Returns the running thread. Panics if no thread runs on the processor.
    #[inline]
    pub fn running(&self) -> ProcessorThread {
        self.running
            .get()
            .expect("a program that runs has its processor")
    }
}
