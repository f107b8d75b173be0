//! The number of tasks of a scope that have not ended.
//!
//! The worker that made the scope (the owner) counts the tasks that it starts in a plain integer,
//! because an atomic operation would take longer than a small task. When the owner begins to wait,
//! it adds this integer to `shared`. Workers count ended tasks in batches.
//!
//! **Each task that is counted as started is counted as ended once.** If an end were lost, the
//! owner would wait for ever. If an end were counted twice, the owner would free the scope while a
//! task uses it. A task that was taken out of a queue leaves by one of these functions, and panics
//! of user code do not pass them:
//!
//! | function | what it ends |
//! |---|---|
//! | `Job::run` | a closure of a scope, after its guarded call |
//! | `WorkerProgram::run_task` | a task, after the guarded call `attempt`, which has all of its code |
//! | `PpeScheduler::end` | a task that does not run, because a dice or a filter decided so |
//! | `Job::discard` | a closure or a task of a cancelled run |
//!
//! `attempt` may leave a task to others: to the holder of its lock, or to its parts. Then they end
//! it by one of these functions.

use std::cell::Cell;

use crate::sync::{AtomicIsize, Ordering};

/// The number that is added to `shared` when the owner begins to wait.
const OWNER_WAITS: isize = 1 << (isize::BITS - 3);

pub(crate) struct Count {
    /// The number of tasks that the owner has started and not added to `shared` yet.
    by_owner: Cell<isize>,
    owner_waits: Cell<bool>,
    /// The number of tasks that other workers have started, minus the number of ended tasks.
    shared: AtomicIsize,
}

// SAFETY: the cells are used only by methods that must be called on the owner's core.
unsafe impl Sync for Count {}

impl Count {
    pub(crate) fn new() -> Self {
        Self {
            by_owner: Cell::new(0),
            owner_waits: Cell::new(false),
            shared: AtomicIsize::new(0),
        }
    }

    /// Counts a task that another worker than the owner is about to start.
    pub(crate) fn start(&self) {
        // `Relaxed` is enough, because a worker gets the task through the queue.
        self.shared.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a task that the owner's core is about to start.
    ///
    /// # Safety
    ///
    /// The caller runs on the owner's core.
    #[inline]
    pub(crate) unsafe fn start_by_owner(&self) {
        if self.owner_waits.get() {
            self.start();
        } else {
            self.by_owner.set(self.by_owner.get() + 1);
        }
    }

    /// Counts ended tasks. Returns true if the caller must wake the owner, because the owner waits
    /// and no task is left. The owner may free this value right after the call.
    #[must_use]
    pub(crate) fn end(&self, tasks: isize) -> bool {
        // `Release` makes the writes of the tasks visible to the owner.
        let before = self.shared.fetch_sub(tasks, Ordering::Release);
        before - tasks == OWNER_WAITS
    }

    /// Records that the owner begins to wait. Returns true if all tasks have already ended.
    ///
    /// # Safety
    ///
    /// The caller runs on the owner's core.
    pub(crate) unsafe fn begin_to_wait(&self) -> bool {
        if !self.owner_waits.replace(true) {
            let more = self.by_owner.take() + OWNER_WAITS;
            self.shared.fetch_add(more, Ordering::Relaxed);
        }
        self.is_zero()
    }

    /// Returns whether all tasks have ended. The owner must have called `begin_to_wait`.
    pub(crate) fn is_zero(&self) -> bool {
        self.shared.load(Ordering::Acquire) == OWNER_WAITS
    }
}
