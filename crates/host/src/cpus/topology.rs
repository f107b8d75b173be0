//! Cores, last-level caches and kinds of CPUs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::cpu::Cpu;
use super::error::CpusError;
use super::files;
use super::list::name_cpus;
use super::memory::Memory;
use super::notes::Notes;
use super::online::online;
use super::source::Source;

/// The contents of a CPU's folder.
struct Facts {
    os_index: u32,
    package: Package,
    core: BTreeSet<u32>,
    last_level_cache: Option<Cache>,
    capacity: Option<u32>,
}

/// A package. The kernel's number is not unique on s390, and -1 on some other architectures.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Package {
    Cpus(BTreeSet<u32>),
    /// The kernel's number, if the kernel does not list the CPUs of the package.
    Number(u32),
}

/// A cache, identified by its level and the CPUs that share it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cache {
    level: u32,
    shared_by: BTreeSet<u32>,
}

/// The property that the CPUs of one Cell have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Cache(Cache),
    /// The place of a CPU without a reported cache.
    Site {
        package: usize,
        memory_node: usize,
    },
}

pub fn read(
    source: &Source,
    usable: &BTreeSet<u32>,
    memory: &Memory,
    notes: &mut Notes,
) -> Result<Vec<Cpu>, CpusError> {
    let clocks = hybrid_clocks(source, usable, notes)?;
    let mut facts = Vec::new();
    for &os_index in usable {
        facts.push(read_one(source, os_index, &clocks, notes)?);
    }
    note_contradictions(&facts, usable, notes);
    note_without_node(usable, memory, notes);

    // Ampere Altra and many hypervisors report only private caches, which must not become Cells.
    let a_cache_is_shared = facts.iter().any(|cpu| {
        cpu.last_level_cache
            .as_ref()
            .is_some_and(|cache| !cache.shared_by.is_subset(&cpu.core))
    });

    let mut packages = Numbering::default();
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
        let package = packages.number(package);
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
    notes: &mut Notes,
) -> Result<Facts, CpusError> {
    let folder = source.path(format!("sys/devices/system/cpu/cpu{os_index}"));
    let topology = folder.join("topology");
    let mut group = |names| files::cpus(&topology, names, Some(os_index), notes);
    // Kernels before 5.3 have only the files in the second line of each array.
    let core = group(&[
        ("core_cpus_list", "core_cpus"),
        ("thread_siblings_list", "thread_siblings"),
    ])?;
    let package = group(&[
        ("package_cpus_list", "package_cpus"),
        ("core_siblings_list", "core_siblings"),
    ])?;
    let package = match package {
        Some(cpus) => Package::Cpus(cpus),
        None => {
            // The number is -1 on architectures without numbers of packages.
            let number: Option<i32> = notes.skip(files::number(
                &topology.join("physical_package_id"),
                "the number of a package, or -1,",
            ))?;
            Package::Number(number.map_or(0, |number| u32::try_from(number).unwrap_or(0)))
        }
    };
    let capacity = notes.skip(files::number(
        &folder.join("cpu_capacity"),
        "a capacity such as 1024",
    ))?;
    let core = core.unwrap_or_else(|| BTreeSet::from([os_index]));
    Ok(Facts {
        os_index,
        package,
        core: without_other_cores(source, os_index, core, notes)?,
        last_level_cache: last_level_cache(caches(source, os_index, notes)?),
        capacity: capacity.or_else(|| clocks.get(&os_index).copied()),
    })
}

/// Returns the siblings of a CPU that are in the same core. On an AMD Bulldozer, Linux also reports
/// the CPUs of a second core, which have another `core_id`.
fn without_other_cores(
    source: &Source,
    os_index: u32,
    mut siblings: BTreeSet<u32>,
    notes: &mut Notes,
) -> Result<BTreeSet<u32>, CpusError> {
    if siblings.len() == 1 {
        return Ok(siblings);
    }
    let mut numbers = BTreeMap::<u32, Option<i32>>::new();
    for &cpu in &siblings {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id");
        let number = files::number(&source.path(path), "the number of a core, or -1,");
        numbers.insert(cpu, notes.skip(number)?);
    }
    let own = numbers[&os_index];
    siblings.retain(|cpu| own.is_none() || numbers[cpu].is_none() || numbers[cpu] == own);
    Ok(siblings)
}

/// A cache in the folder of a CPU.
pub(crate) struct CacheOfCpu {
    pub(crate) level: u32,
    /// The CPUs that share the cache, if the kernel reports them.
    pub(crate) shared_by: Option<BTreeSet<u32>>,
    /// `Data`, `Instruction` or `Unified`.
    pub(crate) kind: String,
    pub(crate) bytes: Option<usize>,
}

/// Returns the caches of a CPU that have a level, in the order of the kernel.
pub(crate) fn caches(
    source: &Source,
    os_index: u32,
    notes: &mut Notes,
) -> Result<Vec<CacheOfCpu>, CpusError> {
    const SHARED_BY: files::ListAndMap = ("shared_cpu_list", "shared_cpu_map");

    let folder = source.path(format!("sys/devices/system/cpu/cpu{os_index}/cache"));
    let mut caches = Vec::new();
    for (_, folder) in files::numbered(&folder, "index")? {
        let level = files::number(&folder.join("level"), "the level of a cache, such as 3,");
        let Some(level) = notes.skip(level)? else {
            continue;
        };
        let kind = files::text(&folder.join("type"))?;
        caches.push(CacheOfCpu {
            level,
            shared_by: files::cpus(&folder, &[SHARED_BY], Some(os_index), notes)?,
            kind: kind.map_or("Unified".to_owned(), |kind| kind.trim().to_owned()),
            bytes: notes.skip(files::kilobytes(&folder.join("size")))?,
        });
    }
    Ok(caches)
}

/// Returns the cache of the highest level for which the kernel reports the sharing CPUs.
fn last_level_cache(mut caches: Vec<CacheOfCpu>) -> Option<Cache> {
    // The sort is stable, so data caches stay before instruction caches.
    caches.sort_by_key(|cache| Reverse(cache.level));
    let mut caches = caches.into_iter();
    caches.find_map(|cache| {
        Some(Cache {
            level: cache.level,
            shared_by: cache.shared_by?,
        })
    })
}

/// Returns the size of the last-level cache of the first CPU, and the number of its levels of
/// caches.
pub fn cache_levels(
    source: &Source,
    usable: &BTreeSet<u32>,
) -> Result<(Option<usize>, Option<usize>), CpusError> {
    let Some(first) = usable.first() else {
        return Ok((None, None));
    };
    // `read` has already added notes about malformed files.
    let caches = caches(source, *first, &mut Notes::default())?;
    let sizes = caches
        .iter()
        .filter_map(|cache| Some((cache.level, cache.bytes?)));
    let levels: BTreeSet<_> = caches.iter().map(|cache| cache.level).collect();
    Ok((
        sizes.max().map(|(_, bytes)| bytes),
        (!levels.is_empty()).then_some(levels.len()),
    ))
}

/// Adds a note if the files of two CPUs contradict each other, if a core reaches beyond its cache
/// or package, or if a cache reaches beyond its package.
fn note_contradictions(facts: &[Facts], usable: &BTreeSet<u32>, notes: &mut Notes) {
    type Groups = BTreeMap<u32, BTreeSet<u32>>;
    let groups = |of: &dyn Fn(&Facts) -> Option<&BTreeSet<u32>>| -> Groups {
        let group = |cpu: &Facts| Some((cpu.os_index, of(cpu)? & usable));
        facts.iter().filter_map(group).collect()
    };
    let kinds = [
        ("core", groups(&|cpu| Some(&cpu.core))),
        (
            "last-level cache",
            groups(&|cpu| Some(&cpu.last_level_cache.as_ref()?.shared_by)),
        ),
        (
            "package",
            groups(&|cpu| match &cpu.package {
                Package::Cpus(cpus) => Some(cpus),
                Package::Number(_) => None,
            }),
        ),
    ];
    for (at, (kind, of)) in kinds.iter().enumerate() {
        let mut claimed_by = BTreeMap::<&BTreeSet<u32>, BTreeSet<u32>>::new();
        for (cpu, group) in of {
            claimed_by.entry(group).or_default().insert(*cpu);
        }
        claimed_by.retain(|group, cpus| {
            group
                .iter()
                .any(|cpu| !cpus.contains(cpu) && of.contains_key(cpu))
        });
        let odd: BTreeSet<u32> = claimed_by.into_values().flatten().collect();
        if !odd.is_empty() {
            notes.add(format!(
                "the files of {} and those of other CPUs do not agree which CPUs share a {kind}, so \
                 distances there may be wrong; look for a newer firmware or kernel",
                name_cpus(&odd)
            ));
        }
        for (larger_kind, larger_of) in &kinds[at + 1..] {
            let lies_across = |(cpu, group): &(&u32, &BTreeSet<u32>)| {
                larger_of
                    .get(cpu)
                    .is_some_and(|larger| !group.is_subset(larger) && !larger.is_subset(group))
            };
            let odd: BTreeSet<u32> = of.iter().filter(lies_across).map(|(cpu, _)| *cpu).collect();
            if !odd.is_empty() {
                notes.add(format!(
                    "the {kind} of {} reaches beyond the {larger_kind}, so distances there may be \
                     wrong; look for a newer firmware or kernel",
                    name_cpus(&odd)
                ));
            }
        }
    }
}

/// Adds a note if only some CPUs have a memory node.
fn note_without_node(usable: &BTreeSet<u32>, memory: &Memory, notes: &mut Notes) {
    let is_of_none = |cpu: &&u32| !memory.node_of_cpu.contains_key(cpu);
    let without: BTreeSet<u32> = usable.iter().filter(is_of_none).copied().collect();
    if !without.is_empty() && !memory.node_of_cpu.is_empty() {
        notes.add(format!(
            "no NUMA node has {}, so node {} counts as theirs",
            name_cpus(&without),
            memory.nodes[0].os_index
        ));
    }
}

/// Returns the highest clock frequency of each CPU of a hybrid Intel processor, in 1/1024 of the
/// highest frequency of all its CPUs. For other processors, the map is empty, because their CPUs
/// differ only in turbo frequencies.
fn hybrid_clocks(
    source: &Source,
    usable: &BTreeSet<u32>,
    notes: &mut Notes,
) -> Result<BTreeMap<u32, u32>, CpusError> {
    // This list of the efficiency cores exists only on hybrid processors.
    if notes
        .skip(files::list(&source.path("sys/devices/cpu_atom/cpus")))?
        .is_none()
    {
        return Ok(BTreeMap::new());
    }
    let online = online(source)?.unwrap_or_default();
    let mut clocks_khz = BTreeMap::new();
    for &cpu in usable.union(&online) {
        let path = source.path(format!(
            "sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq"
        ));
        let khz = files::number::<u32>(&path, "a clock frequency in kHz");
        if let Some(khz) = notes.skip(khz)? {
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

/// Numbers values from 0, in the order in which they are first used.
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
