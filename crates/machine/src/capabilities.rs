//! Capabilities of a machine that decide how programs are measured on it.

/// Capabilities of a machine. They decide how the machine is measured and what its numbers mean.
///
/// A machine states its capabilities in its [`Topology`](crate::Topology). Code that measures asks
/// for a capability and never for the kind of machine, so it also works with a new kind of machine.
///
/// [`Capabilities::default`] describes a computer with an operating system: it has caches, its
/// threads sleep, and its times differ from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether caches lie between SPEs and main memory, so that an access to a small table takes
    /// less time than one to a large table. Without caches an SPE accesses main memory only by DMA,
    /// and the time does not depend on the size.
    pub has_caches: bool,
    /// Whether a thread that waits for a long time sleeps until the operating system wakes it.
    /// Otherwise the thread waits in hardware, and goes on as soon as its event happens.
    pub sleeps: bool,
    /// Whether a repeated run takes exactly the same time, because the clock counts only the work
    /// of the program. If so, runs need not be repeated, and a budget of real time need not be
    /// divided among them.
    pub repeats: bool,
    /// Whether an operation always takes the same time within a run, because nothing else takes
    /// time. If so, a short warm-up and few rounds are enough.
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
