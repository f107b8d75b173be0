//! CPUs, and the reasons why CPUs are not used.

use std::collections::BTreeSet;
use std::fmt;

/// The largest number of SPEs of a host.
pub(crate) const SPES_MAX: usize = 4_096;

/// A CPU in the sense of the operating system: a hardware thread, to which threads can be pinned.
///
/// Packages, cores and last-level caches are numbered from 0, in the order of their lowest
/// `os_index`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The number of this CPU in the operating system, as in `cpuN`.
    pub os_index: u32,
    /// The number of the package (socket) of this CPU. The kernel's own number is not unique.
    pub package: usize,
    /// The number of the core of this CPU. The kernel's own number is not unique.
    pub core: usize,
    /// All hardware threads of the core, also those that may not be used.
    pub core_cpus: BTreeSet<u32>,
    /// The number of usable hardware threads of the core that come before this CPU.
    pub sibling_rank: u32,
    /// The number of the Cell of this CPU. A Cell consists of the CPUs with the same last-level
    /// cache. If no cache of several cores is reported, a Cell consists of the CPUs of a package
    /// that are next to the same memory node.
    pub last_level_cache: usize,
    /// The index of the nearest memory node in [`Cpus::memory_nodes`](super::Cpus::memory_nodes).
    pub memory_node: usize,
    /// The capacity of this CPU, at most 1024: from `cpu_capacity`, or proportional to the highest
    /// clock frequency on a hybrid Intel processor. `None` if the kernel reports no capacities.
    pub capacity: Option<u32>,
}

/// A CPU of this computer that the process cannot use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of this CPU in the operating system.
    pub os_index: u32,
    /// The reason why the CPU is not used.
    pub why: WhyLeftOut,
}

/// The reason why a process does not use a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// The CPU is online, but `taskset`, a cpuset, a batch system or a container forbids its use.
    NotAllowed,
    /// The CPU exists and is switched off.
    Offline,
    /// The quota of a control group is too small to keep another CPU busy.
    Quota,
    /// The host already has the largest number of SPEs, 4,096, on other CPUs.
    TooMany,
    /// [`HostBuilder::cpus`](crate::HostBuilder::cpus) was called without this CPU.
    NotChosen,
}

/// Writes the reason in a few words.
impl fmt::Display for WhyLeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAllowed => "not allowed by `taskset`, a cpuset or the container",
            Self::Offline => "offline",
            Self::NotChosen => "not chosen",
            Self::Quota => "not paid for by the quota of CPU time",
            Self::TooMany => {
                return write!(f, "beyond the {SPES_MAX} CPUs that a host uses at most");
            }
        })
    }
}
