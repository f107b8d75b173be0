//! What a machine does that decides how programs are measured on it.

/// What a machine does that decides how it is measured and what its numbers mean.
///
/// A machine states its capabilities in its [`Topology`](crate::Topology). Code that measures asks
/// for the capability on which it depends, and never for the machine: so a new kind of machine is
/// measured as it should be without a change to that code.
///
/// [`Capabilities::default`] is what a computer with an operating system does: it has caches, its
/// threads sleep, and none of its times comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether caches lie between SPEs and main memory, so that a small table is reached faster
    /// than a large one. Without caches an SPE reaches main memory by DMA alone, and every size
    /// takes the same time.
    pub has_caches: bool,
    /// Whether a thread that waits for long sleeps until the operating system wakes it. Otherwise
    /// it waits in hardware, and has a word as soon as the word arrives.
    pub sleeps: bool,
    /// Whether a run takes the same times whenever it is repeated, because its clock counts what
    /// the program does and nothing else. Then there is nothing to repeat runs for, and no budget
    /// of real time to share out among them.
    pub repeats: bool,
    /// Whether an operation takes the same time again and again within a run, because nothing but
    /// the operation itself takes time. Then a short warm-up and few rounds are enough.
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
