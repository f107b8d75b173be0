//! Capabilities of a machine that decide how programs are measured on it.

/// Capabilities of a machine that decide how it is measured and what its numbers mean.
///
/// A machine states its capabilities in its [`Topology`](crate::Topology). Code that measures asks
/// for a capability and never for the kind of machine: so it need not be changed for a new kind.
///
/// [`Capabilities::default`] describes a computer with an operating system: it has caches, its
/// threads sleep, and its times differ from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether caches lie between SPEs and main memory, so that a small table is reached faster
    /// than a large one. Without caches an SPE reaches main memory by DMA alone, and every size
    /// takes the same time.
    pub has_caches: bool,
    /// Whether a thread that waits for long sleeps until the operating system wakes it. Otherwise
    /// it waits in hardware, and goes on as soon as the word arrives.
    pub sleeps: bool,
    /// Whether a repeated run takes exactly the same time, because the clock counts only what the
    /// program does. Then runs need not be repeated, and a budget of real time need not be divided
    /// among them.
    pub repeats: bool,
    /// Whether an operation takes the same time each time within a run, because nothing else takes
    /// time. Then a short warm-up and few rounds are enough.
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
