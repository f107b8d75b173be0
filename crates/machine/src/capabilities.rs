//! Capabilities of a machine that decide how programs are measured on it.

/// Capabilities that decide how the machine is measured and what the measured numbers mean.
///
/// A machine states its capabilities in its [`Topology`](crate::Topology). The default describes a
/// computer with an operating system: the computer has caches, its threads sleep, and its times
/// differ from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether caches lie between SPEs and main memory, so that the time of an access depends on
    /// the size of the table that the program accesses.
    pub has_caches: bool,
    /// Whether a thread that waits for a long time sleeps until the operating system wakes it.
    /// Otherwise the thread waits in hardware and goes on without delay.
    pub sleeps: bool,
    /// Whether a repeated run takes exactly the same time, because the clock counts only the work
    /// of the program. If so, one run is enough and needs no budget of real time.
    pub repeats: bool,
    /// Whether an operation always takes the same time within a run, because no other work disturbs
    /// the program. If so, a short warm-up and few rounds are enough.
    pub is_steady: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            has_caches: true,
            sleeps: true,
            repeats: false,
            is_steady: false,
        }
    }
}
