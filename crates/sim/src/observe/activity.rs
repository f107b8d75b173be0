//! The activities of a processor, and the causes of waits.

use std::fmt;

/// The cause of a wait of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The program waits for its own transfers: a tag group, a free entry in the queue, or a view.
    Dma,
    /// The program waits for a word in a mailbox, or for room in one.
    Mailbox,
    /// The program waits for a signal.
    Signal,
    /// The program waits for a reservation, a line that other SPEs have, or an atomic operation.
    Lock,
    /// The program waits for another cause, such as another program or a `wait_until`.
    Other,
}

impl Cause {
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

/// The activity of a processor at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// The processor has no program.
    Idle,
    /// A program runs.
    Computing,
    /// All threads of the program wait. The cause is that of the thread that began to wait last.
    Waiting(Cause),
}

impl Activity {
    pub(super) const COUNT: usize = 7;

    #[inline]
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Computing => 1,
            Self::Waiting(cause) => 2 + cause as usize,
        }
    }
}
