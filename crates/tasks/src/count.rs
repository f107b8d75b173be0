//! The number of tasks of a scope that have not ended.
//!
//! The scope's owner and other workers start tasks, which end on any worker. A locked instruction
//! for each task would cost more than a small task, especially if two cores compete for the cache
//! line. So the owner counts the tasks that it starts in a plain number. Only when the owner begins
//! to wait, it adds this number to the shared number. Workers count ended tasks in batches
//! (`WorkerProgram::task_ended`).

use std::cell::Cell;

use crate::sync::{AtomicIsize, Ordering};

/// The owner adds this to the shared number when it begins to wait.
const OWNER_WAITS: isize = 1 << (isize::BITS - 3);

/// The number of tasks of a scope that have not ended.
pub(crate) struct Count {
    /// The tasks that the owner has started and not yet added to `shared`.
    by_owner: Cell<isize>,
    owner_waits: Cell<bool>,
    /// The tasks that other workers have started, minus all tasks that have ended.
    shared: AtomicIsize,
}

// SAFETY: only methods that must be called on the owner's core use the cells.
unsafe impl Sync for Count {}

impl Count {
    pub(crate) fn new() -> Self {
        Self {
            by_owner: Cell::new(0),
            owner_waits: Cell::new(false),
            shared: AtomicIsize::new(0),
        }
    }

    /// Counts a task that a worker other than the owner is about to start.
    pub(crate) fn start(&self) {
        // `Relaxed` is enough: a worker gets the task through the queue, not through this number.
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

    /// Counts tasks that have ended. Returns true if they were the last tasks and the owner waits:
    /// the caller then wakes the owner. Right after the call, the owner may free the scope and this
    /// value.
    #[must_use]
    pub(crate) fn end(&self, tasks: isize) -> bool {
        // `Release` makes the writes of the tasks visible to the owner.
        let before = self.shared.fetch_sub(tasks, Ordering::Release);
        before - tasks == OWNER_WAITS
    }

    /// Called when the owner begins to wait. Returns true if all tasks have already ended.
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

    /// Whether all tasks have ended. Call it only after [`begin_to_wait`](Self::begin_to_wait).
    pub(crate) fn is_zero(&self) -> bool {
        self.shared.load(Ordering::Acquire) == OWNER_WAITS
    }
}
