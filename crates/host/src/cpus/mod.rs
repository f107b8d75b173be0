//! The CPUs that this process may use, with their cores, caches and memory. Everything is read once
//! from files of Linux. ([`conditions`](crate::conditions) reads the files that change later.)
//!
//! ```text
//!  mask of allowed CPUs ──────────────► may be used          (given)
//!  sys/devices/system/cpu/cpuN/
//!      topology/core_cpus_list ───────► cores, sibling ranks SMT
//!      topology/package_cpus_list ────► packages             sockets
//!      cache/index*/shared_cpu_list ──► last-level caches    the Cells of the host
//!      cpu_capacity, cpufreq/ ────────► capacity             hybrid processors
//!  sys/devices/system/node/nodeN/ ────► memory nodes         NUMA
//!  proc/self/status ──────────────────► nodes we may use     cpusets
//!  proc/driver/nvidia/ ───────────────► nodes of GPUs        left out
//!  proc/self/{cgroup,mountinfo} ──────► quota                containers
//!  proc/cpuinfo ──────────────────────► model name
//! ```
//!
//! Paths are relative to the root of a [`Source`], so that tests can read saved files (trees) of
//! other computers. A tree has no mask, so all online CPUs of its cpuset may be used.
//!
//! Containers, emulators and old kernels hide many of these files: a file is missing, forbidden or
//! empty, or its driver returns an error. In place of a missing file, this is used:
//!
//! - Caches: each package is a Cell, or each memory node of a package.
//! - `topology`: every CPU is a core.
//! - Nodes: the whole memory is one node.
//! - A list of CPUs: a file with the bit mask of these CPUs (`core_cpus`, `shared_cpu_map`). For
//!   the list of online CPUs: the folders `cpuN`.
//!
//! A malformed file counts as missing, and causes a note in [`Cpus::notes`]. But if it limits the
//! CPUs, memory or CPU time of the process, [`read`] returns [`CpusError::Malformed`].
//!
//! The formats come from `proc(5)` and from the kernel's documents `admin-guide/cputopology.rst`,
//! `ABI/stable/sysfs-devices-{system-cpu,node}`, `admin-guide/cgroup-v2.rst` and
//! `scheduler/sched-bwc.rst`.

// Rejected: the crate `hwlocality` (1.0.0-alpha.13), which needs an installed libhwloc, or
// downloads and compiles it. It does not report quotas, clock rates and the load of the CPUs.

mod cpu;
mod cpuset;
mod error;
pub(crate) mod files;
pub(crate) mod groups;
pub(crate) mod list;
mod memory;
pub(crate) mod notes;
mod online;
mod quota;
mod source;
pub(crate) mod topology;

#[cfg(all(test, not(loom)))]
pub(crate) mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;

pub(crate) use cpu::SPES_MAX;
pub use cpu::{Cpu, LeftOut, WhyLeftOut};
pub use error::CpusError;
pub use memory::MemoryNode;
use notes::Notes;
pub(crate) use online::online;
use online::{ONLINE, folders};
pub use quota::Quota;
pub use source::{FSROOT, Source};

/// The CPUs that a process may use, with their caches and memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus {
    /// The CPUs that may be used, by ascending `os_index`. There is at least one.
    pub cpus: Vec<Cpu>,
    /// All other CPUs of the computer, by ascending `os_index`.
    pub left_out: Vec<LeftOut>,
    /// The tightest limit on CPU time that a control group sets, or `None` if there is no limit.
    pub quota: Option<Quota>,
    /// All online memory nodes, at least one, by ascending `os_index`.
    pub memory_nodes: Vec<MemoryNode>,
    /// The size of the last-level cache of the first CPU in `cpus`.
    pub last_level_cache_bytes: Option<usize>,
    /// The number of levels of caches of the first CPU in `cpus`.
    pub cache_levels: Option<usize>,
    /// The name of the processor, such as "AMD EPYC 7763 64-Core Processor", or of the computer if
    /// the kernel does not name the processor.
    pub model_name: Option<String>,
    /// Sentences for users about malformed files, which are ignored.
    pub notes: Vec<String>,
}

/// Reads the CPUs of `source`. If the mask `allowed` is given, its CPUs are usable, otherwise the
/// online CPUs in the cpuset are usable. If the mask contradicts the list of online CPUs, the mask
/// is used, because a file system of a container, such as lxcfs, may replace the list.
///
/// # Errors
///
/// - [`CpusError::Malformed`] if a necessary file has content that Linux would not write.
/// - [`CpusError::Read`] if the system fails to read a file.
/// - [`CpusError::NoneAllowed`] if the mask is empty.
/// - [`CpusError::Unknown`] if the source has neither a mask nor a list of CPUs.
pub fn read(source: &Source, allowed: Option<&BTreeSet<u32>>) -> Result<Cpus, CpusError> {
    let mut notes = Notes::default();
    let online = online(source)?;
    let usable = match (allowed, &online) {
        (Some(allowed), _) => allowed.clone(),
        (None, Some(online)) => within_cpuset(source, online, &mut notes)?,
        (None, None) => {
            return Err(CpusError::Unknown {
                path: source.path(ONLINE),
            });
        }
    };
    if usable.is_empty() {
        return Err(CpusError::NoneAllowed);
    }

    // The list `possible` is not used, because in virtual machines it has hundreds of CPUs.
    let present = notes.skip(files::list(&source.path("sys/devices/system/cpu/present")))?;
    let present = match present {
        Some(present) => present,
        None => folders(source)?.into_keys().collect(),
    };
    let online = online.unwrap_or_default();
    let left_out = present
        .union(&online)
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

    let memory = memory::read(source, &mut notes)?;
    let (last_level_cache_bytes, cache_levels) = topology::cache_levels(source, &usable)?;
    Ok(Cpus {
        cpus: topology::read(source, &usable, &memory, &mut notes)?,
        left_out,
        quota: quota::read(source)?,
        last_level_cache_bytes,
        cache_levels,
        memory_nodes: memory.nodes,
        model_name: model_name(source)?,
        notes: notes.sentences(),
    })
}

fn within_cpuset(
    source: &Source,
    online: &BTreeSet<u32>,
    notes: &mut Notes,
) -> Result<BTreeSet<u32>, CpusError> {
    let Some(cpuset) = cpuset::read(source, "cpus", notes)? else {
        return Ok(online.clone());
    };
    let usable = online & &cpuset;
    if usable.is_empty() {
        notes.add(format!(
            "the cpuset has {}, of which none is online, so all that are online are used",
            list::name_cpus(&cpuset)
        ));
        return Ok(online.clone());
    }
    Ok(usable)
}

/// Checks that the calling thread can still use the CPUs in `used`.
///
/// # Errors
///
/// Returns [`CpusError::Gone`] if the thread cannot use all these CPUs, and the errors of [`read`].
pub fn check(source: &Source, used: &BTreeSet<u32>) -> Result<(), CpusError> {
    let online = online(source)?;
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
    /// Returns the order in which SPEs take the CPUs, as indices into [`Cpus::cpus`], each once.
    ///
    /// The CPUs are sorted by `sibling_rank`: the first usable hardware threads of all cores come
    /// before the second ones, so that SPEs share a core only if every core has an SPE. CPUs with
    /// the same `sibling_rank` are sorted by the Cell that they belong to, then by descending
    /// capacity, then by memory node, then by `os_index`.
    pub fn spe_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cpus.len()).collect();
        order.sort_by_key(|&at| {
            let cpu = &self.cpus[at];
            (
                cpu.sibling_rank,
                cpu.last_level_cache,
                Reverse(cpu.capacity),
                cpu.memory_node,
                cpu.os_index,
            )
        });
        order
    }

    /// Returns the memory nodes on which the process can allocate memory, as ascending indices into
    /// [`Cpus::memory_nodes`]. There is at least one.
    pub fn usable_nodes(&self) -> impl Iterator<Item = usize> {
        let nodes = self.memory_nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.usable).map(|(at, _)| at)
    }

    /// Returns `node` if it is usable, otherwise the usable node that is nearest to the CPUs of
    /// `node`. Nodes are indices into [`Cpus::memory_nodes`].
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

/// Returns the name of the processor (x86, POWER) or of the computer (from the device tree or DMI).
fn model_name(source: &Source) -> Result<Option<String>, CpusError> {
    if let Some(text) = files::text(&source.path("proc/cpuinfo"))? {
        for wanted in ["model name", "cpu"] {
            let mut fields = text.lines().filter_map(|line| line.split_once(':'));
            if let Some((_, name)) = fields.find(|(key, _)| key.trim() == wanted) {
                return Ok(Some(name.trim().to_owned()));
            }
        }
    }
    if let Some(board) = words(source, "proc/device-tree/model")? {
        return Ok(Some(board));
    }
    for (maker, product) in [
        ("sys_vendor", "product_name"),
        ("board_vendor", "board_name"),
    ] {
        let field = |name| words(source, &format!("sys/class/dmi/id/{name}"));
        let Some(product) = field(product)? else {
            continue;
        };
        return Ok(Some(match field(maker)? {
            Some(maker) if !product.starts_with(&maker) => format!("{maker} {product}"),
            _ => product,
        }));
    }
    Ok(None)
}

/// Returns the content of a file without white space and NULs around it, or `None` if empty.
fn words(source: &Source, path: &str) -> Result<Option<String>, CpusError> {
    let text = files::text(&source.path(path))?.unwrap_or_default();
    let words = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    Ok((!words.is_empty()).then(|| words.to_owned()))
}
