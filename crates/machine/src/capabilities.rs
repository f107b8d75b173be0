//! Capabilities of a machine that determine how it is measured.

/// Capabilities that determine how a machine is measured and what the results mean. The default
/// describes a computer with an operating system: it has caches, threads sleep, and times vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether caches lie between SPEs and main memory, so that access time depends on data size.
    pub has_caches: bool,
    /// Whether a thread sleeps during a long wait, until the operating system wakes it. Otherwise
    /// the thread waits in hardware and continues without delay.
    pub sleeps: bool,
    /// Whether a repeated run takes exactly the same time, because the clock counts only the
    /// program's work. Then one run is enough and needs no limit of real time.
    pub repeats: bool,
    /// Whether an operation always takes the same time within a run, because no other work disturbs
    /// it. Then a short warm-up and few rounds are enough.
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
