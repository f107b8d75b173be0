//! What a processor does, and why a program waits.

use std::fmt;

/// Why a program waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// For its own transfers: a tag group, a free entry in the queue, a view to arrive.
    Dma,
    /// For a word in a mailbox, or room for one.
    Mailbox,
    /// For a signal.
    Signal,
    /// For a reservation, a line that other SPEs have, or an atomic operation.
    Lock,
    /// For something else, such as the end of another program or the condition of a `wait_until`.
    Other,
}

impl Cause {
    /// The name of a wait for this cause in a trace.
    pub(super) const fn wait(self) -> &'static str {
        match self {
            Self::Dma => "waiting for DMA",
            Self::Mailbox => "waiting for a mailbox",
            Self::Signal => "waiting for a signal",
            Self::Lock => "waiting for a lock",
            Self::Other => "waiting for something else",
        }
    }
}

impl fmt::Display for Cause {
    /// `DMA`, `a mailbox`, `a signal`, `a lock`, `something else`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wait()["waiting for ".len()..])
    }
}

/// What a processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// The processor has no program.
    Idle,
    /// A program runs.
    Computing,
    /// All threads of its program wait. The cause is that of the thread that began to wait last.
    Waiting(Cause),
}

impl Activity {
    /// How many activities there are.
    pub(super) const COUNT: usize = 7;

    /// The number of the activity, less than [`COUNT`](Self::COUNT).
    #[inline]
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Computing => 1,
            Self::Waiting(cause) => 2 + cause as usize,
        }
    }
}
