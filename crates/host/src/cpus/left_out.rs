//! CPUs that a host does not use.

use std::fmt;

/// The most SPEs that a host takes.
pub(crate) const SPES_MAX: usize = 4_096;

/// A CPU of this computer that the process cannot use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The system's number of this CPU.
    pub os_index: u32,
    /// What keeps the process from using it.
    pub why: WhyLeftOut,
}

/// What keeps a process from using a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// The CPU runs, but the affinity mask does not have it: `taskset`, a cpuset, a batch system or
    /// a container.
    NotAllowed,
    /// The CPU is built in and switched off.
    Offline,
    /// A control group's quota does not pay for the CPU's time: more threads than it pays for would
    /// only take turns.
    Quota,
    /// A host has no more SPEs than its other CPUs.
    TooMany,
}

/// In a few words, for a list of CPUs.
impl fmt::Display for WhyLeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAllowed => "not allowed by `taskset`, a cpuset or the container",
            Self::Offline => "offline",
            Self::Quota => "not paid for by the quota of CPU time",
            Self::TooMany => {
                return write!(f, "beyond the {SPES_MAX} CPUs that a host uses at most");
            }
        })
    }
}
