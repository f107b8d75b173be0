//! Which CPUs this process may use, and how they are related: everything about the computer that
//! stays as it is while a host exists is read here, once, from files of Linux. (What changes is
//! read by [`conditions`](crate::conditions).)
//!
//! ```text
//!  mask of allowed CPUs ──────────────► who may be used      (given)
//!  sys/devices/system/cpu/cpuN/
//!      topology/core_cpus_list ───────► cores, sibling ranks SMT
//!      cache/index*/shared_cpu_list ──► last-level caches    the Cells of the host
//!      cpu_capacity, cpufreq/ ────────► capacity             hybrid processors
//!  sys/devices/system/node/nodeN/ ────► memory nodes         NUMA
//!  proc/self/status ──────────────────► nodes we may use     cpusets
//!  proc/self/{cgroup,mountinfo} ──────► quota                containers
//!  proc/cpuinfo ──────────────────────► model name
//! ```
//!
//! All paths are below the root of a [`Source`], so that tests read the trees of other computers.
//!
//! Containers, emulators and old kernels hide many of these files. A file that is missing, may not
//! be read, is empty (the way container runtimes mask a file) or whose driver does not answer costs
//! only what it would have told: without caches, a package is one Cell (or several, if it has several
//! memory nodes); without `topology`, every CPU is a core; without nodes, memory is one node. A file
//! that is there and makes no sense is an error: [`CpusError::Malformed`] names it.
//!
//! The formats are those of the kernel's documents `admin-guide/cputopology.rst`,
//! `ABI/stable/sysfs-devices-system-cpu`, `ABI/stable/sysfs-devices-node`,
//! `admin-guide/cgroup-v2.rst` and `scheduler/sched-bwc.rst`, and of `proc(5)`.

pub(crate) mod files;
pub(crate) mod groups;
pub(crate) mod list;
mod memory;
mod quota;
mod topology;

#[cfg(test)]
pub(crate) mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::SPES_MAX;
use list::write_list;
pub use memory::Node;
pub use quota::Quota;

/// The environment variable that names the tree of another computer to be used instead of this one's.
pub const FSROOT: &str = "CELLWORKS_FSROOT";

/// Where to read from: the root of a file system that has Linux's `sys` and `proc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// `/` for this computer, or the folder that holds the tree of another.
    pub root: PathBuf,
}

impl Source {
    /// The computer that this process runs on.
    pub fn this_computer() -> Self {
        Self {
            root: PathBuf::from("/"),
        }
    }

    /// The computer whose tree the environment variable [`FSROOT`] names, or this one.
    pub fn of_environment() -> Self {
        match std::env::var_os(FSROOT) {
            Some(root) if !root.is_empty() => Self {
                root: PathBuf::from(root),
            },
            _ => Self::this_computer(),
        }
    }

    /// Whether this is the computer that the process runs on.
    pub fn is_this_computer(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The CPUs that the calling thread may use; `None` of another computer, which sets no limits.
    ///
    /// # Errors
    ///
    /// [`CpusError::Mask`] if the system does not tell.
    pub fn allowed(&self) -> Result<Option<BTreeSet<u32>>, CpusError> {
        self.is_this_computer().then(allowed_now).transpose()
    }
}

/// The CPUs that a process may use, and what is around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus {
    /// The CPUs that may be used, by ascending `os_index`; at least one.
    pub cpus: Vec<Cpu>,
    /// The CPUs that the computer has beyond those, by ascending `os_index`.
    pub left_out: Vec<LeftOut>,
    /// The tightest limit on CPU time that a control group sets, or `None` if there is no limit.
    pub quota: Option<Quota>,
    /// All memory nodes that are online, by ascending `os_index`; at least one. Some may have no
    /// memory, some no CPUs.
    pub memory_nodes: Vec<Node>,
    /// The processor's name for people, such as "AMD EPYC 7763 64-Core Processor"; on computers
    /// whose kernel does not name the processor, the computer's.
    pub model_name: Option<String>,
}

/// One CPU in the sense of the operating system: a hardware thread that threads can be pinned to.
///
/// Groups (cores, last-level caches) are counted over the CPUs that may be used, from 0 without
/// gaps, in the order of their lowest `os_index`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The system's number of this CPU, as in `cpuN` and in affinity masks.
    pub os_index: u32,
    /// The system's number of the package (socket) that holds this CPU; 0 where that is unknown.
    pub package: u32,
    /// Which physical core this hardware thread belongs to. A running number, because the kernel's
    /// `core_id` repeats from package to package and on some processors from die to die.
    pub core: usize,
    /// All hardware threads of that core, this one included, also those that may not be used.
    pub core_cpus: BTreeSet<u32>,
    /// How many hardware threads of the same core come before this one, of those that may be used.
    pub sibling_rank: u32,
    /// Which group of CPUs with a common last-level cache this one belongs to: its Cell.
    ///
    /// Where no cache is known to be shared by two cores, the CPUs of a package that are next to
    /// the same memory node are one group.
    pub last_level_cache: usize,
    /// The memory node next to this CPU, as an index in [`Cpus::memory_nodes`].
    pub memory_node: usize,
    /// How much this CPU can do, where 1024 is the most capable CPU of the computer; `None` where
    /// the kernel makes no difference between CPUs.
    ///
    /// From `cpu_capacity`. On a hybrid Intel processor whose kernel is older than that file: in
    /// proportion to the highest clock frequency.
    pub capacity: Option<u32>,
}

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

/// Why the CPUs could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CpusError {
    /// A file exists and could not be read, for another reason than missing permission.
    #[error(
        "cannot read {}: {cause}; \
         try again, and if it stays, look for messages of the kernel (`dmesg`)",
        path.display()
    )]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// A file has a content that Linux does not write.
    #[error(
        "{} reads {text:?}, but {expected} was expected; \
         if a container or emulator provides this file, correct it there, \
         otherwise report it with the output of `uname -a`",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The part of its content that makes no sense, shortened if it is long.
        text: String,
        /// What Linux writes there.
        expected: String,
    },
    /// The mask has no CPU.
    #[error(
        "the mask of allowed CPUs is empty; allow at least one, for example with `taskset -c 0`"
    )]
    NoneAllowed,
    /// There is neither a mask nor the list of CPUs that are online.
    #[error(
        "{} cannot be read and no mask of allowed CPUs was given, so the CPUs are unknown; \
         mount /sys or give a mask",
        path.display()
    )]
    Unknown {
        /// The list that is missing.
        path: PathBuf,
    },
    /// CPUs that were there when the host was made are not there any more.
    #[error("{}", gone_sentence(.0))]
    Gone(Vec<LeftOut>),
    /// The system did not tell the mask.
    #[error(
        "cannot ask the system which CPUs this thread may use: {0}; \
         this fails on computers with more than {most} CPUs \
         and in sandboxes that forbid `sched_getaffinity`",
        most = rustix::thread::CpuSet::MAX_CPU
    )]
    Mask(rustix::io::Errno),
}

/// Which CPUs are gone, why, and what to do.
fn gone_sentence(gone: &[LeftOut]) -> String {
    let because = |wanted: WhyLeftOut| -> BTreeSet<u32> {
        let of_reason = gone.iter().filter(|gone| gone.why == wanted);
        of_reason.map(|gone| gone.os_index).collect()
    };
    let mut parts = Vec::new();
    for (why, what) in [
        (WhyLeftOut::Offline, "went offline"),
        (
            WhyLeftOut::NotAllowed,
            "may no longer be used by this process (`taskset`, a cpuset or the container)",
        ),
    ] {
        let cpus = because(why);
        if !cpus.is_empty() {
            let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
            parts.push(format!("{noun} {} {what}", write_list(&cpus)));
        }
    }
    format!(
        "{}, while the host still has SPEs there; give them back, or start again to do with those \
         that are left",
        parts.join(" and ")
    )
}

/// Asks the system which CPUs the calling thread may use.
///
/// Offline CPUs are not among them. A thread that was pinned sees only the CPU it was pinned to, so
/// ask before pinning.
///
/// # Errors
///
/// [`CpusError::Mask`] if the system does not answer.
pub fn allowed_now() -> Result<BTreeSet<u32>, CpusError> {
    let mask = rustix::thread::sched_getaffinity(None).map_err(CpusError::Mask)?;
    let allowed = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu));
    Ok(allowed.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Reads the CPUs of `source` that `allowed` has; all that are online if `allowed` is `None`.
///
/// Reads about twenty small files for each CPU and changes nothing.
///
/// `allowed` is believed where it contradicts the list of CPUs online: the kernel leaves offline
/// CPUs out of the mask, while container file systems such as lxcfs invent that list.
///
/// # Errors
///
/// [`CpusError::Malformed`] for a file that Linux would not write so, [`CpusError::Read`] for one
/// that the system fails to read, [`CpusError::NoneAllowed`] for an empty mask,
/// [`CpusError::Unknown`] if there is neither a mask nor a list of CPUs.
pub fn read(source: &Source, allowed: Option<&BTreeSet<u32>>) -> Result<Cpus, CpusError> {
    let online_file = source.path("sys/devices/system/cpu/online");
    let online = files::list(&online_file)?;
    let usable = match (allowed, &online) {
        (Some(allowed), _) => allowed,
        (None, Some(online)) => online,
        (None, None) => return Err(CpusError::Unknown { path: online_file }),
    };
    if usable.is_empty() {
        return Err(CpusError::NoneAllowed);
    }

    // `present`, not `possible`: virtual machines declare hundreds of CPUs possible that they never
    // get.
    let online = online.as_ref().unwrap_or(const { &BTreeSet::new() });
    let present = files::list(&source.path("sys/devices/system/cpu/present"))?.unwrap_or_default();
    let left_out = present
        .union(online)
        .filter(|cpu| !usable.contains(cpu))
        .map(|&os_index| {
            let why = if online.contains(&os_index) {
                WhyLeftOut::NotAllowed
            } else {
                WhyLeftOut::Offline
            };
            LeftOut { os_index, why }
        })
        .collect();

    let memory = memory::read(source)?;
    Ok(Cpus {
        cpus: topology::read(source, usable, &memory)?,
        left_out,
        quota: quota::read(source)?,
        memory_nodes: memory.nodes,
        model_name: model_name(source)?,
    })
}

/// Checks that the CPUs in `used`, which were read before, can still be used by the calling thread.
///
/// # Errors
///
/// [`CpusError::Gone`] if they cannot, and others as of [`read`].
pub fn check(source: &Source, used: &BTreeSet<u32>) -> Result<(), CpusError> {
    let online = files::list(&source.path("sys/devices/system/cpu/online"))?;
    let allowed = source.allowed()?;
    let Some(usable) = allowed.as_ref().or(online.as_ref()) else {
        return Ok(());
    };
    let gone: Vec<LeftOut> = used
        .difference(usable)
        .map(|&os_index| {
            let is_online = online
                .as_ref()
                .is_none_or(|online| online.contains(&os_index));
            LeftOut {
                os_index,
                why: if is_online {
                    WhyLeftOut::NotAllowed
                } else {
                    WhyLeftOut::Offline
                },
            }
        })
        .collect();
    if gone.is_empty() {
        Ok(())
    } else {
        Err(CpusError::Gone(gone))
    }
}

impl Cpus {
    /// The order in which SPEs take the CPUs, as indices in [`Cpus::cpus`]; each comes once.
    ///
    /// One hardware thread of each core comes first: those of Cell 0, then of Cell 1, and so on.
    /// The second threads of the cores come after all of these, again Cell by Cell: two SPEs share
    /// a core only when every core has one. Within a Cell, more capable CPUs come first, equal ones
    /// by `os_index`.
    pub fn spe_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cpus.len()).collect();
        order.sort_by_key(|&at| {
            let cpu = &self.cpus[at];
            (
                cpu.sibling_rank,
                cpu.last_level_cache,
                Reverse(cpu.capacity),
                cpu.os_index,
            )
        });
        order
    }

    /// The memory nodes of which the process can have memory, as ascending indices in
    /// [`Cpus::memory_nodes`]; at least one.
    pub fn usable_nodes(&self) -> impl Iterator<Item = usize> {
        let nodes = self.memory_nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.usable).map(|(at, _)| at)
    }

    /// The usable node whose memory is nearest to the CPUs of `node`: this one if it is usable, and
    /// of several that are equally near the first. Both are indices in [`Cpus::memory_nodes`].
    pub fn nearest_usable(&self, node: usize) -> usize {
        let from = &self.memory_nodes[node];
        if from.usable {
            return node;
        }
        let distance = |to: &usize| from.distances.get(*to);
        let nearest = self.usable_nodes().min_by_key(distance);
        nearest.expect("a node is usable")
    }
}

/// What the kernel calls the processor (x86, POWER), or the firmware the computer (most ARM and
/// RISC-V boards).
fn model_name(source: &Source) -> Result<Option<String>, CpusError> {
    if let Some(text) = files::text(&source.path("proc/cpuinfo"))? {
        for wanted in ["model name", "cpu"] {
            let mut fields = text.lines().filter_map(|line| line.split_once(':'));
            if let Some((_, name)) = fields.find(|(key, _)| key.trim() == wanted) {
                return Ok(Some(name.trim().to_owned()));
            }
        }
    }
    let board = files::text(&source.path("proc/device-tree/model"))?;
    Ok(board.map(|name| name.trim_end_matches('\0').trim().to_owned()))
}
