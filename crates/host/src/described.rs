//! The parts of this computer and the limits of their use, described for users.

use std::collections::{BTreeMap, BTreeSet};

use cellworks_machine::SpeId;

use crate::conditions::left_out;
use crate::cpus::{LeftOut, Node, Quota, files};
use crate::host::Host;

/// The parts of a computer that this process may use.
#[derive(Clone, Debug)]
pub struct Described {
    /// The CPUs, by ascending number.
    pub cpus: Vec<DescribedCpu>,
    /// The caches of these CPUs, by level and then by their first CPU.
    pub caches: Vec<Cache>,
    /// All memory nodes, by ascending number.
    pub nodes: Vec<Node>,
    /// The limit on CPU time, if there is one.
    pub quota: Option<Quota>,
    /// The CPUs that are not used, with the reasons.
    pub left_out: Vec<LeftOut>,
}

/// A CPU (a hardware thread). Packages, cores and groups have running numbers from 0.
#[derive(Clone, Debug)]
pub struct DescribedCpu {
    /// The number of the CPU in the operating system.
    pub cpu: u32,
    /// The SPE on this CPU. `None` for example if a quota allows fewer SPEs than CPUs.
    pub spe: Option<SpeId>,
    /// Whether the main thread, the PPE, is on this CPU.
    pub has_ppe: bool,
    /// The package (socket) of the CPU.
    pub package: usize,
    /// The core of the CPU.
    pub core: usize,
    /// The Cell of the CPU: the group of CPUs with a common last-level cache.
    pub group: usize,
    /// The number of the memory node of the CPU in the operating system.
    pub node: u32,
    /// The highest clock rate that the system reports.
    pub highest_clock_hz: Option<u64>,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cache {
    /// The level, from 1 for the caches next to the core.
    pub level: u32,
    /// The CPUs that share the cache.
    pub cpus: BTreeSet<u32>,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// The size in bytes. `None` if the system does not report the size.
    pub bytes: Option<u64>,
}

impl Host {
    /// Returns the parts of this computer, except parts that cannot be read.
    pub fn describe(&self) -> Described {
        let cpus = &self.cpus;
        let workers = &self.layout.workers;
        let spes: BTreeMap<u32, SpeId> = workers
            .iter()
            .filter_map(|worker| Some((worker.cpu, *worker.spes.first()?)))
            .collect();
        let described = cpus.cpus.iter().map(|cpu| DescribedCpu {
            cpu: cpu.os_index,
            spe: spes.get(&cpu.os_index).copied(),
            has_ppe: cpu.os_index == self.layout.ppe_cpu,
            package: cpu.package,
            core: cpu.core,
            group: cpu.last_level_cache,
            node: cpus.memory_nodes[cpu.memory_node].os_index,
            highest_clock_hz: self.highest_clock_hz(cpu.os_index),
        });
        let caches = cpus.cpus.iter().flat_map(|cpu| self.caches(cpu.os_index));
        Described {
            cpus: described.collect(),
            caches: caches.collect::<BTreeSet<_>>().into_iter().collect(),
            nodes: cpus.memory_nodes.clone(),
            quota: cpus.quota.clone(),
            left_out: left_out(self),
        }
    }

    fn highest_clock_hz(&self, cpu: u32) -> Option<u64> {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq");
        let khz = files::number(&self.source.path(file), "a clock frequency in kHz");
        khz.ok()
            .flatten()
            .filter(|khz: &u64| *khz > 0)
            .map(|khz| khz * 1_000)
    }

    fn caches(&self, cpu: u32) -> Vec<Cache> {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache");
        let folders = files::numbered(&self.source.path(folder), "index").unwrap_or_default();
        let cache = |(_, folder): (u32, std::path::PathBuf)| {
            let text = |name: &str| files::text(&folder.join(name)).ok().flatten();
            let cpus = files::list(&folder.join("shared_cpu_list")).ok().flatten();
            let kind = text("type").unwrap_or_else(|| "Unified".to_owned());
            Some(Cache {
                level: text("level")?.trim().parse().ok()?,
                cpus: cpus.unwrap_or_else(|| BTreeSet::from([cpu])),
                kind: kind.trim().to_owned(),
                bytes: text("size").and_then(|size| bytes(size.trim())),
            })
        };
        folders.into_iter().filter_map(cache).collect()
    }
}

/// Parses a size such as `32K`, in bytes.
fn bytes(size: &str) -> Option<u64> {
    let (digits, factor) = match size.split_at_checked(size.len().checked_sub(1)?)? {
        (digits, "K") => (digits, 1 << 10),
        (digits, "M") => (digits, 1 << 20),
        _ => (size, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
