//! The activities of a processor, and the causes of waits.

use std::fmt;

/// The cause of a wait of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The program waits for a transfer: a tag group, an entry of the MFC queue, or a view.
    Dma,
    /// The program waits for a word in a mailbox, or for room in a mailbox.
    Mailbox,
    /// The program waits for a signal.
    Signal,
    /// The program waits for a reservation, a line held by another SPE, or an atomic operation.
    Lock,
    /// The program waits for anything else, such as another program or a condition.
    Other,
}

impl Cause {
    pub(super) const COUNT: usize = 5;

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
    /// Writes `DMA`, `a mailbox`, `a signal`, `a lock` or `something else`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wait()["waiting for ".len()..])
    }
}

/// The present activity of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// The processor has no program.
    Idle,
    /// At least one thread of the program runs.
    Computing,
    /// All threads of the program wait. The cause is that of the latest wait.
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

    /// Returns the number of the cause, if the activity of this [`index`](Self::index) is a wait.
    #[inline]
    pub(super) const fn cause_of(index: usize) -> Option<usize> {
        index.checked_sub(2)
    }
}
