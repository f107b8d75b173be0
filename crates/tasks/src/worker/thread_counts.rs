//! How many threads of a worker have a job, and since when none of them runs one.
//!
//! ```text
//!   start ──► idle ── begin_job ──► busy ── begin_to_wait ──► busy, and waits for other jobs
//!              ▲                    │  ▲                            │
//!              └───── end_job ──────┘  └──────── end_to_wait ───────┘
//! ```

use std::cell::Cell;

use cellworks_machine::{Sleeper, Span, Time};

pub(crate) struct ThreadCounts {
    idle: Cell<usize>,
    busy: Cell<usize>,
    /// The number of busy threads with a job that waits for other jobs of the pool.
    waiting: Cell<usize>,
    /// Whether all threads have a job, so that another thread must be started.
    needs_thread: Cell<bool>,
    /// The thread of the program itself, which starts the other threads.
    starter: Cell<Option<Sleeper>>,
    /// Whether an idle thread has found no job since the worker last put a job into its queue.
    has_looked: Cell<bool>,
    /// The time since which no thread runs a job. `None` while a thread runs a job.
    idle_since: Cell<Option<Time>>,
}

impl ThreadCounts {
    pub(crate) fn new() -> Self {
        Self {
            idle: Cell::new(0),
            busy: Cell::new(0),
            waiting: Cell::new(0),
            needs_thread: Cell::new(false),
            starter: Cell::new(None),
            has_looked: Cell::new(false),
            idle_since: Cell::new(None),
        }
    }

    /// Records the thread that starts the other threads.
    pub(crate) fn are_started_by(&self, starter: Sleeper) {
        self.starter.set(Some(starter));
    }

    pub(crate) fn start(&self) {
        self.idle.set(self.idle.get() + 1);
    }

    pub(crate) fn end(&self) {
        self.idle.set(self.idle.get() - 1);
    }

    pub(crate) fn begin_job(&self) {
        self.idle.set(self.idle.get() - 1);
        self.busy.set(self.busy.get() + 1);
    }

    pub(crate) fn end_job(&self) {
        self.busy.set(self.busy.get() - 1);
        self.idle.set(self.idle.get() + 1);
    }

    pub(crate) fn begin_to_wait(&self) {
        self.waiting.set(self.waiting.get() + 1);
    }

    pub(crate) fn end_to_wait(&self) {
        self.waiting.set(self.waiting.get() - 1);
    }

    pub(crate) fn idle(&self) -> usize {
        self.idle.get()
    }

    pub(crate) fn busy(&self) -> usize {
        self.busy.get()
    }

    /// Returns the thread that must start another one, if all threads have a job and this thread
    /// does not know it yet.
    pub(crate) fn starter_to_wake(&self) -> Option<Sleeper> {
        if self.idle.get() > 0 || self.needs_thread.replace(true) {
            return None;
        }
        Some(self.starter.get().expect("the program has begun"))
    }

    pub(crate) fn is_one_needed(&self) -> bool {
        self.needs_thread.get()
    }

    /// Records that another thread is about to be started.
    pub(crate) fn is_to_start(&self) {
        self.needs_thread.set(false);
    }

    /// Records that an idle thread has found no job.
    pub(crate) fn has_looked(&self) {
        self.has_looked.set(true);
    }

    /// Returns whether an idle thread must look again, because there is something new for it.
    #[inline]
    pub(crate) fn must_look_again(&self) -> bool {
        let has_looked = self.has_looked.get();
        if has_looked {
            self.has_looked.set(false);
        }
        has_looked
    }

    /// Begins the idle time if no other thread runs a job. Called before the calling thread waits.
    pub(crate) fn may_be_idle(&self, now: Time) {
        if self.busy.get() == self.waiting.get() {
            let since = self.idle_since.get();
            self.idle_since.set(since.or(Some(now)));
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.idle_since.get().is_some()
    }

    /// Ends the idle time, and returns it if there was one.
    pub(crate) fn is_idle_no_more(&self, now: Time) -> Option<Span> {
        Some(now.since(self.idle_since.take()?))
    }
}
