//! CPUs, and the reasons why some CPUs are not used.

use std::collections::BTreeSet;
use std::fmt;

/// The largest number of SPEs of a host.
pub(crate) const SPES_MAX: usize = 4_096;

/// A CPU in the sense of the operating system: a hardware thread, to which threads can be pinned.
///
/// Packages, cores and last-level caches with usable CPUs have running numbers from 0, in the order
/// of their lowest `os_index`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The system's number of this CPU, as in `cpuN` and in affinity masks.
    pub os_index: u32,
    /// The package (socket) of this CPU, as a running number, because the kernel's is not unique.
    pub package: usize,
    /// The core of this CPU, as a running number, because the kernel's `core_id` is not unique.
    pub core: usize,
    /// All hardware threads of the core, including this CPU and the CPUs that may not be used.
    pub core_cpus: BTreeSet<u32>,
    /// The number of hardware threads of the same core that may be used and come before this CPU.
    pub sibling_rank: u32,
    /// The group of CPUs that share this CPU's last-level cache. This group is the Cell of the CPU.
    ///
    /// If the system reports no cache that two cores share, the CPUs of a package that are next to
    /// the same memory node are one group.
    pub last_level_cache: usize,
    /// The memory node next to this CPU, as an index into
    /// [`Cpus::memory_nodes`](super::Cpus::memory_nodes).
    pub memory_node: usize,
    /// The capacity of this CPU, from `cpu_capacity`: 1024 for the most capable CPU of the
    /// computer. On a hybrid Intel processor without this file, the capacity is proportional to the
    /// highest clock frequency. If the kernel reports no differences between CPUs, this is `None`.
    pub capacity: Option<u32>,
}

/// A CPU of this computer that the process cannot use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The system's number of this CPU.
    pub os_index: u32,
    /// The reason why the process cannot use the CPU.
    pub why: WhyLeftOut,
}

/// The reason why a process does not use a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// The CPU is online, but `taskset`, a cpuset, a batch system or a container forbids its use.
    NotAllowed,
    /// The CPU exists and is switched off.
    Offline,
    /// The quota of a control group is too small for this CPU. With more threads than the quota
    /// allows to run all the time, threads would only take turns.
    Quota,
    /// The host already has the largest number of SPEs on other CPUs.
    TooMany,
    /// [`HostBuilder::cpus`](crate::HostBuilder::cpus) was given other CPUs.
    NotChosen,
}

/// Writes the reason in a few words, for a list of CPUs.
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
