//! How many tasks of a scope have not ended.
//!
//! Tasks are started by the scope's owner and by other workers, and end on all of them. A locked
//! instruction for each would cost more than a small task, above all if two cores take the same
//! line from each other. So the owner counts what it starts in a plain number, and hands that over
//! only when it begins to wait; and workers hand in what has ended in batches
//! (`WorkerProgram::task_ended`).

use std::cell::Cell;

use crate::sync::{AtomicIsize, Ordering};

/// Added to the shared number while the owner waits.
const OWNER_WAITS: isize = 1 << (isize::BITS - 3);

/// How many tasks of a scope have not ended.
pub(crate) struct Count {
    /// Tasks that the owner has started and not handed over.
    by_owner: Cell<isize>,
    owner_waits: Cell<bool>,
    /// Tasks that others have started, less those that have ended, wherever they were started.
    shared: AtomicIsize,
}

// SAFETY: the cells are used by the methods that only the owner's core may call.
unsafe impl Sync for Count {}

impl Count {
    pub(crate) fn new() -> Self {
        Self {
            by_owner: Cell::new(0),
            owner_waits: Cell::new(false),
            shared: AtomicIsize::new(0),
        }
    }

    /// A task is about to be started by a worker that is not the owner's.
    pub(crate) fn start(&self) {
        // A worker learns of the task through the queue, and not through this.
        self.shared.fetch_add(1, Ordering::Relaxed);
    }

    /// A task is about to be started by the owner's core.
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

    /// Tasks have ended. True if they were the last ones and the owner waits for that: then the
    /// caller wakes it. The scope may be gone right after, and with it this.
    #[must_use]
    pub(crate) fn end(&self, tasks: isize) -> bool {
        // What the tasks wrote, the owner sees.
        let before = self.shared.fetch_sub(tasks, Ordering::Release);
        before - tasks == OWNER_WAITS
    }

    /// The owner begins to wait. True if there is nothing to wait for.
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

    /// Whether no task is left. Only after [`begin_to_wait`](Self::begin_to_wait).
    pub(crate) fn is_zero(&self) -> bool {
        self.shared.load(Ordering::Acquire) == OWNER_WAITS
    }
}
