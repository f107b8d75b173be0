//! The parts of this computer and the limits of their use, described for users.

use std::collections::{BTreeMap, BTreeSet};

use cellworks_machine::SpeId;

use crate::conditions::left_out;
use crate::cpus::notes::Notes;
use crate::cpus::{LeftOut, MemoryNode, Quota, files, topology};
use crate::host::Host;

/// The parts of a computer that this process may use.
#[derive(Clone, Debug)]
pub struct Described {
    /// The CPUs, by ascending number.
    pub cpus: Vec<DescribedCpu>,
    /// The caches of these CPUs, by level and then by their first CPU.
    pub caches: Vec<Cache>,
    /// All memory nodes, by ascending number.
    pub nodes: Vec<MemoryNode>,
    /// The limit on CPU time, if there is one.
    pub quota: Option<Quota>,
    /// The CPUs that are not used, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// Whether the computer is known to be a virtual machine. It then shows the caches of the real
    /// processor, which it shares with other virtual machines.
    pub is_guest: bool,
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
            is_guest: self.is_guest(),
        }
    }

    /// Returns whether the processor says that a hypervisor is below it (x86), or the kernel does
    /// (Xen).
    fn is_guest(&self) -> bool {
        let text = |path| files::text(&self.source.path(path)).ok().flatten();
        let cpuinfo = text("proc/cpuinfo").unwrap_or_default();
        let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        let mut flags = fields.filter(|(key, _)| key.trim() == "flags");
        let has_flag =
            flags.any(|(_, flags)| flags.split_whitespace().any(|one| one == "hypervisor"));
        has_flag || text("sys/hypervisor/type").is_some()
    }

    fn highest_clock_hz(&self, cpu: u32) -> Option<u64> {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq");
        let khz = files::number(&self.source.path(file), "a clock frequency in kHz");
        khz.ok()
            .flatten()
            .filter(|khz: &u64| *khz > 0)
            .map(|khz| khz * 1_000)
    }

    /// Returns the caches of a CPU, except those for which the system does not report the CPUs that
    /// share them. [`HostBuilder::build`](crate::HostBuilder::build) has noted malformed files.
    fn caches(&self, cpu: u32) -> Vec<Cache> {
        let caches = topology::caches(&self.source, cpu, &mut Notes::default());
        let caches = caches.unwrap_or_default().into_iter();
        let cache = caches.filter_map(|cache| {
            Some(Cache {
                level: cache.level,
                cpus: cache.shared_by?,
                kind: cache.kind,
                bytes: cache.bytes.map(|bytes| bytes as u64),
            })
        });
        cache.collect()
    }
}
