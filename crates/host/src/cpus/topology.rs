//! Cores, last-level caches and kinds of CPUs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::cpu::Cpu;
use super::error::CpusError;
use super::files;
use super::memory::Memory;
use super::source::Source;

/// What the folder of one CPU says.
struct Facts {
    os_index: u32,
    package: u32,
    /// The hardware threads of this CPU's core, this one included.
    core: BTreeSet<u32>,
    last_level_cache: Option<Cache>,
    capacity: Option<u32>,
}

/// A cache, known by its level and the CPUs that share it. (The kernel numbers caches too, but not
/// on every architecture.)
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cache {
    level: u32,
    shared_by: BTreeSet<u32>,
}

/// What the CPUs of one Cell have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Cache(Cache),
    /// Where no cache is known.
    Site {
        package: u32,
        memory_node: usize,
    },
}

/// Reads all `usable` CPUs, by ascending number.
pub fn read(
    source: &Source,
    usable: &BTreeSet<u32>,
    memory: &Memory,
) -> Result<Vec<Cpu>, CpusError> {
    let clocks = hybrid_clocks(source, usable)?;
    let mut facts = Vec::new();
    for &os_index in usable {
        facts.push(read_one(source, os_index, &clocks)?);
    }

    // A last level that no two cores share says nothing about who is near whom: some processors
    // (Ampere Altra) do not tell about the cache behind it, and so do many hypervisors.
    let a_cache_is_shared = facts.iter().any(|cpu| {
        cpu.last_level_cache
            .as_ref()
            .is_some_and(|cache| !cache.shared_by.is_subset(&cpu.core))
    });

    let mut cores = Numbering::default();
    let mut cells = Numbering::default();
    let mut threads_seen = BTreeMap::<usize, u32>::new();
    let mut cpus = Vec::new();
    for Facts {
        os_index,
        package,
        core,
        last_level_cache,
        capacity,
    } in facts
    {
        let memory_node = memory.node_of_cpu.get(&os_index).copied().unwrap_or(0);
        let cell = match last_level_cache {
            Some(cache) if a_cache_is_shared => Cell::Cache(cache),
            _ => Cell::Site {
                package,
                memory_node,
            },
        };
        let core_cpus = core.clone();
        let core = cores.number(core);
        let seen = threads_seen.entry(core).or_default();
        cpus.push(Cpu {
            os_index,
            package,
            core,
            core_cpus,
            sibling_rank: *seen,
            last_level_cache: cells.number(cell),
            memory_node,
            capacity,
        });
        *seen += 1;
    }
    Ok(cpus)
}

fn read_one(
    source: &Source,
    os_index: u32,
    clocks: &BTreeMap<u32, u32>,
) -> Result<Facts, CpusError> {
    let folder = source.path(format!("sys/devices/system/cpu/cpu{os_index}"));
    let topology = folder.join("topology");

    // -1 where the architecture has no such number.
    let package: Option<i32> = files::number(
        &topology.join("physical_package_id"),
        "the number of a package, or -1,",
    )?;

    // Kernels before 5.3 know the older name only.
    let core = match files::list(&topology.join("core_cpus_list"))? {
        Some(core) => Some(core),
        None => files::list(&topology.join("thread_siblings_list"))?,
    };

    let capacity = files::number(&folder.join("cpu_capacity"), "a capacity such as 1024")?;

    Ok(Facts {
        os_index,
        package: package
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(0),
        core: core
            .filter(|core| core.contains(&os_index))
            .unwrap_or_else(|| BTreeSet::from([os_index])),
        last_level_cache: last_level_cache(&folder)?,
        capacity: capacity.or_else(|| clocks.get(&os_index).copied()),
    })
}

/// The cache of the highest level, if the kernel tells who shares it.
fn last_level_cache(cpu: &Path) -> Result<Option<Cache>, CpusError> {
    let mut last = None;
    for (_, cache) in files::numbered(&cpu.join("cache"), "index")? {
        let level = files::number(&cache.join("level"), "the level of a cache, such as 3,")?;
        let shared_by = files::list(&cache.join("shared_cpu_list"))?;
        if let (Some(level), Some(shared_by)) = (level, shared_by) {
            last = last.max(Some(Cache { level, shared_by }));
        }
    }
    Ok(last)
}

/// On a hybrid Intel processor, the highest clock of each CPU in 1024ths of the highest of all;
/// otherwise empty.
///
/// Other processors have CPUs of different clocks too (chosen for the turbo), but those are of one
/// kind.
fn hybrid_clocks(source: &Source, usable: &BTreeSet<u32>) -> Result<BTreeMap<u32, u32>, CpusError> {
    // The kernel's counters for efficiency cores; only hybrid processors have them.
    if files::list(&source.path("sys/devices/cpu_atom/cpus"))?.is_none() {
        return Ok(BTreeMap::new());
    }
    let online = files::list(&source.path("sys/devices/system/cpu/online"))?.unwrap_or_default();
    let mut clocks_khz = BTreeMap::new();
    for &cpu in usable.union(&online) {
        let path = source.path(format!(
            "sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq"
        ));
        if let Some(khz) = files::number::<u32>(&path, "a clock frequency in kHz")? {
            clocks_khz.insert(cpu, khz);
        }
    }
    let highest = clocks_khz.values().copied().max().unwrap_or(0).max(1);
    let in_1024ths =
        |khz: u32| u32::try_from(u64::from(khz) * 1024 / u64::from(highest)).expect("at most 1024");
    Ok(clocks_khz
        .into_iter()
        .map(|(cpu, khz)| (cpu, in_1024ths(khz)))
        .collect())
}

/// Gives things running numbers, from 0, in the order in which they are first seen.
struct Numbering<T>(BTreeMap<T, usize>);

impl<T> Default for Numbering<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Numbering<T> {
    fn number(&mut self, thing: T) -> usize {
        let next = self.0.len();
        *self.0.entry(thing).or_insert(next)
    }
}
