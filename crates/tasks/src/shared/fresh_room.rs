use crate::sync::{AtomicBool, Ordering, barrier};

/// Whether the main program waits for room in a queue.
pub(crate) struct FreshRoom {
    main_waits: AtomicBool,
}

impl FreshRoom {
    pub(crate) fn new() -> Self {
        Self {
            main_waits: AtomicBool::new(false),
        }
    }

    /// Records that the main program will wait. The main program must then check the queue again.
    /// If a worker takes a job at the same time, then this check finds that the job is gone, or the
    /// worker's call of [`is_waited_for`](Self::is_waited_for) returns true.
    pub(crate) fn begin_to_wait(&self) {
        self.main_waits.store(true, Ordering::Relaxed);
        barrier::heavy();
    }

    pub(crate) fn end_to_wait(&self) {
        self.main_waits.store(false, Ordering::Relaxed);
    }

    /// Returns whether the main program waits. A worker calls this after it has taken a job.
    #[inline]
    pub(crate) fn is_waited_for(&self) -> bool {
        barrier::light();
        self.main_waits.load(Ordering::Relaxed)
    }
}
