//! CPUs, and the reasons why some are not used.

use std::collections::BTreeSet;
use std::fmt;

/// The most SPEs that a host takes.
pub(crate) const SPES_MAX: usize = 4_096;

/// One CPU in the sense of the operating system: a hardware thread that threads can be pinned to.
///
/// Groups (cores, last-level caches) are counted over the CPUs that may be used, from 0 without
/// gaps, in the order of their lowest `os_index`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The system's number of this CPU, as in `cpuN` and in affinity masks.
    pub os_index: u32,
    /// The package (socket) that holds this CPU. This is a running number, because the kernel's
    /// number of a package is -1 on some architectures, and repeats on others.
    pub package: usize,
    /// The physical core of this hardware thread. This is a running number, because the kernel's
    /// `core_id` repeats from package to package, and on some processors from die to die.
    pub core: usize,
    /// All hardware threads of that core, including this one and those that may not be used.
    pub core_cpus: BTreeSet<u32>,
    /// The number of hardware threads of the same core that come before this one and may be used.
    pub sibling_rank: u32,
    /// The group of CPUs with a common last-level cache to which this one belongs. It is the Cell
    /// of the CPU.
    ///
    /// If no cache is known to be shared by two cores, the CPUs of a package that are next to the
    /// same memory node are one group.
    pub last_level_cache: usize,
    /// The memory node next to this CPU, as an index into
    /// [`Cpus::memory_nodes`](super::Cpus::memory_nodes).
    pub memory_node: usize,
    /// The capacity of this CPU. The most capable CPU of the computer has 1024. `None` if the
    /// kernel reports no differences between CPUs.
    ///
    /// It is read from `cpu_capacity`. On a hybrid Intel processor with a kernel that does not have
    /// that file, it is proportional to the highest clock frequency.
    pub capacity: Option<u32>,
}

/// A CPU of this computer that the process cannot use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The system's number of this CPU.
    pub os_index: u32,
    /// The reason.
    pub why: WhyLeftOut,
}

/// The reason why a process does not use a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// The CPU is online, but not in the affinity mask, which `taskset`, a cpuset, a batch system
    /// or a container may limit.
    NotAllowed,
    /// The CPU exists and is switched off.
    Offline,
    /// The quota of a control group does not allow the process to use the CPU all the time. With
    /// more threads than the quota allows for, threads would only take turns.
    Quota,
    /// The host already has the largest number of SPEs on other CPUs.
    TooMany,
    /// [`HostBuilder::cpus`](crate::HostBuilder::cpus) was given other CPUs.
    NotChosen,
}

/// The reason in a few words, for a list of CPUs.
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
