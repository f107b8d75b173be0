//! The jobs of a worker: those that others may take, and those that it keeps to itself.
//!
//! What others may take costs its worker a barrier when it takes it back, and lines that others
//! write. So of many closures a worker keeps half to itself: those that it started last, which it
//! runs first. It looks now and then, and whenever another worker asks for work, whether others
//! can still take as many as it keeps.
//!
//! ```text
//!            oldest                                        newest
//!   others ◄─ [ open: in a queue of crossbeam ] [ kept: in memory ] ◄─► the worker
//! ```

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use cellworks_machine::Spe;
use crossbeam_deque::Worker as Queue;

use crate::job::{Job, Spawned};

/// With fewer open jobs each new one is opened.
const FEW_OPEN: usize = 64;

/// After this number of jobs that were kept, or run, the worker looks how many are open.
const STEPS: u32 = 64;

/// The jobs of a worker.
pub(crate) struct Jobs<S: Spe> {
    pub(crate) open: Queue<Job<S>>,
    /// Closures of scopes, the newest last.
    kept: RefCell<VecDeque<Spawned<S>>>,
    /// Steps until the worker looks.
    steps: Cell<u32>,
    /// Open jobs when it looked last.
    seen_open: Cell<usize>,
}

impl<S: Spe> Jobs<S> {
    pub(crate) fn new(open: Queue<Job<S>>) -> Self {
        Self {
            open,
            kept: RefCell::default(),
            steps: Cell::new(0),
            seen_open: Cell::new(0),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.borrow().is_empty() && self.open.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.borrow().len() + self.open.len()
    }

    /// How many there are, as far as it is known without looking at what others write.
    #[inline(always)]
    pub(crate) fn len_about(&self) -> usize {
        self.kept.borrow().len() + self.seen_open.get()
    }

    /// Keeps a closure. True if it, or an older one, was opened to others.
    #[inline(always)]
    pub(crate) fn keep(&self, closure: Spawned<S>, is_wanted: bool) -> bool {
        self.kept.borrow_mut().push_back(closure);
        self.step(is_wanted)
    }

    /// Takes the closure that was kept last. True if older ones were opened to others.
    #[inline(always)]
    pub(crate) fn pop_kept(&self, is_wanted: bool) -> (Option<Spawned<S>>, bool) {
        if self.kept.borrow().is_empty() {
            return (None, false);
        }
        let has_opened = self.step(is_wanted);
        (self.kept.borrow_mut().pop_back(), has_opened)
    }

    /// Takes the newest job. True if older ones were opened to others.
    pub(crate) fn pop(&self, is_wanted: bool) -> (Option<Job<S>>, bool) {
        let (kept, has_opened) = self.pop_kept(is_wanted);
        let job = kept.map(Job::Spawned).or_else(|| self.open.pop());
        (job, has_opened)
    }

    #[inline(always)]
    fn step(&self, is_wanted: bool) -> bool {
        match self.steps.get().checked_sub(1) {
            Some(steps) if !is_wanted => {
                self.steps.set(steps);
                false
            }
            _ => self.open_half(),
        }
    }

    /// Opens the oldest jobs that are kept, until there are as many open ones as kept ones, and not
    /// few. True if there was one to open.
    #[inline(never)]
    pub(crate) fn open_half(&self) -> bool {
        let mut kept = self.kept.borrow_mut();
        let mut open = self.open.len();
        let mut has_opened = false;
        while (open < FEW_OPEN || open < kept.len())
            && let Some(closure) = kept.pop_front()
        {
            self.open.push(Job::Spawned(closure));
            open += 1;
            has_opened = true;
        }
        self.seen_open.set(open);
        self.steps.set(if open < FEW_OPEN { 0 } else { STEPS });
        has_opened
    }

    /// Opens all jobs: this worker will run none for some time.
    #[cold]
    pub(crate) fn open_all(&self) {
        for closure in self.kept.take() {
            self.open.push(Job::Spawned(closure));
        }
    }
}
