//! Findings: quantities that follow from several measurements.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use cellworks_machine::Topology;

use crate::function::Function;
use crate::report::{Between, Finding, Measurement};

/// The minimum ratio of the times of two tables, one twice as large as the other, if a cache holds
/// only the smaller table. Misses of translation buffers have a smaller ratio. For other ratios of
/// sizes, the minimum is `STEP` to the power of the number of doublings.
const STEP: f64 = 1.3;

/// The minimum ratio of the time beyond a cache to the time in the cache. On known machines, each
/// cache is at least twice as slow as the next smaller cache.
const STEP_IN_ALL: f64 = 1.6;

/// The maximum share of a table's nodes that miss a cache if the cache counts as holding the table.
/// For a table as large as the cache, up to 50 % missed, because of other programs and pages with
/// the same cache lines. With random replacement, 58 % miss for a table of 1.5 times this size.
const MISSED_MAX: f64 = 0.55;

const SAME_RATIO_MAX: f64 = 1.05;

/// Derives quantities from several measurements on a machine. The measurements can be those of
/// [`characterize`](crate::characterize). A quantity is left out if its measurements are missing.
/// It is marked as doubtful if it does not also follow from the measurements without doubts, within
/// 5 %.
///
/// On a machine with caches and with threads that sleep:
///
/// | name | unit | parameters | from |
/// |---|---|---|---|
/// | `cache_bytes` | bytes | `level` | `chase` with one chain, by size of table: the largest table that a cache holds. Up to 55 % of the table's nodes may miss the cache. Level 1 is the smallest cache that shows. |
/// | `cache_latency_ns` | ns | `level` | The median of the tables that only this cache holds. |
/// | `memory_latency_ns` | ns | `table_bytes`, `loading_spes` | `chase` with one chain, on an idle machine and for each number of loading SPEs. The table is the largest table beyond the caches that was also measured under load, or the largest of all if none was. |
/// | `misses_in_flight` | misses | `table_bytes`, `chains` | `chase` with one chain and with several, through the largest table that was measured with both. The table must be beyond the caches. The value is the time of a node with one chain divided by the shortest time of a node, rounded to a tenth. `chains` is the fewest chains whose time is within 5 % of the shortest time. The value is a ratio of times, so it may be a little more than `chains`. |
/// | `copy_bandwidth_bytes_per_s` | bytes/s | `spes`, `block_bytes` | `copy` with blocks of one size, for each number of SPEs. The size was measured with the most numbers of SPEs, and is the largest of several such sizes. |
/// | `wake_up_ns` | ns | `between`, `cell`, `spes` | Each `wakeup`. |
///
/// On a machine without caches, every table is in memory, and an access to a table is a DMA
/// command. The finding `memory_latency_ns` is as above, with the largest table. Instead of the
/// findings `cache_bytes`, `cache_latency_ns` and `misses_in_flight`, there are these:
///
/// | name | unit | parameters | from |
/// |---|---|---|---|
/// | `commands_in_flight` | commands | `table_bytes`, `chains` | Like `misses_in_flight`, with the latency of a get. |
/// | `lines_in_flight` | lines | `block_bytes`, `cell`, `module` | `dmaget` by one SPE, for each memory module. By Little's law, the value is the latency of 128 bytes times the bandwidth of the largest block, divided by 128 bytes, rounded to a tenth. |
///
/// If no thread of the machine sleeps, the name of `wake_up_ns` is `word_one_way_ns`: the time from
/// writing a word until the waiting SPE has the word.
///
/// All times are medians. The size of a cache is the size that one program can use. A cache is
/// found if it is at least 1.6 times as slow as the next smaller cache, if it holds at least two
/// tables that the next smaller cache does not hold, and if at least two larger tables were
/// measured. A table is beyond the caches if a cache was found and larger tables are not much
/// slower. If the machine tells how many levels of caches it has, no more are found: of two levels
/// between which the time grows least, the further is left out.
pub fn findings(measurements: &[Measurement], machine: &Topology) -> Vec<Finding> {
    let mut found = of_all(measurements, machine);
    if measurements.iter().any(|one| !one.doubts.is_empty()) {
        let sound = measurements.iter().filter(|one| one.doubts.is_empty());
        let sound: Vec<Measurement> = sound.cloned().collect();
        let sound = of_all(&sound, machine);
        for one in &mut found {
            one.doubtful = !sound.iter().any(|other| is_same(one, other));
        }
    }
    found
}

/// Returns whether two findings are of the same quantity and differ by at most 5 %.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let least = one.value.min(other.value) * SAME_RATIO_MAX;
    (&one.name, &one.parameters) == (&other.name, &other.parameters)
        && one.value.max(other.value) <= least
}

fn of_all(measurements: &[Measurement], machine: &Topology) -> Vec<Finding> {
    let capabilities = machine.capabilities();
    let chases: Vec<Chase> = measurements.iter().filter_map(Chase::of).collect();
    let mut findings = if capabilities.has_caches {
        caches_and_memory(chases, machine.cache_levels())
    } else {
        let mut findings = memory_latency(&chases);
        findings.extend(in_flight(&chases, "commands"));
        findings.extend(lines_in_flight(measurements));
        findings
    };
    findings.extend(copy_bandwidth(measurements));
    let word = if capabilities.sleeps {
        "wake_up_ns"
    } else {
        "word_one_way_ns"
    };
    findings.extend(words_to_waiting_spes(word, measurements));
    findings
}

fn caches_and_memory(mut chases: Vec<Chase>, cache_levels: Option<usize>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let curve = by_size(&chases);
    for (cache, level) in caches(&curve, cache_levels).iter().zip(1_usize..) {
        let level = [("level", level.into())];
        findings.push(Finding::new(
            "cache_bytes",
            cache.bytes as f64,
            "bytes",
            level.clone(),
        ));
        findings.push(Finding::new(
            "cache_latency_ns",
            cache.latency_ns,
            "ns",
            level,
        ));
    }
    if let Some(beyond_caches) = beyond_caches(&curve) {
        chases.retain(|chase| chase.table_bytes >= beyond_caches);
        findings.extend(memory_latency(&chases));
        findings.extend(in_flight(&chases, "misses"));
    }
    findings
}

struct Chase {
    table_bytes: usize,
    chains: u32,
    loading_spes: usize,
    ns: f64,
}

impl Chase {
    fn of(measurement: &Measurement) -> Option<Self> {
        let settings = measurement.parameters.settings;
        (measurement.function == Function::Chase).then_some(Self {
            table_bytes: settings.block_bytes?,
            chains: settings.chains?,
            loading_spes: settings.loading_spes?,
            ns: measurement.latency_ns.p50,
        })
    }
}

/// Returns the time of a node for each size of table, with one chain on an idle machine. If a size
/// was measured several times, the shortest time counts.
fn by_size(chases: &[Chase]) -> Vec<(usize, f64)> {
    let mut curve = BTreeMap::new();
    for chase in chases
        .iter()
        .filter(|chase| (chase.chains, chase.loading_spes) == (1, 0))
    {
        let ns = curve.entry(chase.table_bytes).or_insert(chase.ns);
        *ns = ns.min(chase.ns);
    }
    curve.into_iter().collect()
}

#[derive(Debug, PartialEq)]
struct Cache {
    bytes: usize,
    latency_ns: f64,
}

/// Finds the caches by the steps between the levels of a curve.
///
/// ```text
///   ns │                  ●──●    A step begins at a table if the next table is much slower. The
///      │                ·         step ends at a table if the next table is not much slower. The
///      │               ●          time of a table inside a step is between the times of both
///      │      ●──●──●             levels. It shows the share of nodes that missed the smaller
///      │     ·                    cache. If at most 55 % missed, this cache holds the table.
///      │●──●
///      └───────────────────── bytes
/// ```
///
/// A disturbed curve may have more steps than the machine has caches, such as a step at the largest
/// part of a shared cache that a virtual machine gets. `most` is the number of caches.
fn caches(curve: &[(usize, f64)], most: Option<usize>) -> Vec<Cache> {
    let times = without_peaks(curve);
    let mut levels = levels(curve, &times);
    // The last level is memory.
    while most.is_some_and(|most| levels.len() > most.max(1) + 1) {
        let step = |at: &usize| {
            let [near, far] = [*at - 1, *at].map(|at| median(&times[levels[at].clone()]));
            far / near
        };
        let least = (1..levels.len()).min_by(|a, b| step(a).total_cmp(&step(b)));
        let far = least.expect("there are at least three levels");
        // Between the last cache and memory, the tables of a false level are partly in the cache.
        let false_level = if far + 1 == levels.len() {
            far - 1
        } else {
            far
        };
        levels.remove(false_level);
    }
    let cache = |pair: &[RangeInclusive<usize>]| {
        let (low, high) = (
            median(&times[pair[0].clone()]),
            median(&times[pair[1].clone()]),
        );
        let most = low + MISSED_MAX * (high - low);
        let within = (*pair[0].end()..*pair[1].start()).take_while(|at| times[*at] < most);
        Cache {
            bytes: curve[within.last().unwrap_or(*pair[0].end())].0,
            latency_ns: low,
        }
    };
    levels.windows(2).map(cache).collect()
}

/// Returns the size of the smallest table that is completely beyond the last cache.
fn beyond_caches(curve: &[(usize, f64)]) -> Option<usize> {
    let levels = levels(curve, &without_peaks(curve));
    let last = levels.last().filter(|_| levels.len() > 1)?;
    Some(curve[*last.start()].0)
}

/// Groups the indices of the tables by level (sizes with nearly the same time).
fn levels(curve: &[(usize, f64)], times: &[f64]) -> Vec<RangeInclusive<usize>> {
    let rises = |at: usize| {
        let doublings = (curve[at + 1].0 as f64 / curve[at].0 as f64).log2();
        times[at + 1] > times[at] * STEP.powf(doublings)
    };
    let mut levels = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at + 1 < times.len() {
        if !rises(at) {
            at += 1;
            continue;
        }
        let bottom = at;
        while at + 1 < times.len() && rises(at) {
            at += 1;
        }
        // A level needs two tables, because one slow or fast table may be a disturbance.
        let between_levels = bottom > start && at + 1 < times.len();
        if between_levels && times[at] > times[bottom] * STEP_IN_ALL {
            levels.push(start..=bottom);
            start = at;
        }
    }
    if start < at {
        levels.push(start..=at);
    }
    levels
}

/// Returns the times of the curve without disturbances. A table that was slower than a larger table
/// was disturbed, so its time is replaced by the time of the larger table.
fn without_peaks(curve: &[(usize, f64)]) -> Vec<f64> {
    let mut times: Vec<f64> = curve.iter().map(|(_, ns)| *ns).collect();
    for at in (1..times.len()).rev() {
        times[at - 1] = times[at - 1].min(times[at]);
    }
    times
}

/// Returns the median of ascending times, of which there must be at least one.
fn median(ascending: &[f64]) -> f64 {
    ascending[(ascending.len() - 1) / 2]
}

/// Finds the latency of memory on an idle machine and under each load. All latencies are of a table
/// of one size, because latencies of different tables cannot be compared.
fn memory_latency(chases: &[Chase]) -> Vec<Finding> {
    let by_one = || chases.iter().filter(|chase| chase.chains == 1);
    let largest = |is_loaded: bool| {
        let fitting = by_one().filter(|chase| (chase.loading_spes > 0) == is_loaded);
        fitting.map(|chase| chase.table_bytes).max()
    };
    let table = largest(true).or_else(|| largest(false));
    let latency = |chase: &Chase| {
        let parameters = [
            ("table_bytes", chase.table_bytes.into()),
            ("loading_spes", chase.loading_spes.into()),
        ];
        Finding::new("memory_latency_ns", chase.ns, "ns", parameters)
    };
    by_one()
        .filter(|chase| Some(chase.table_bytes) == table)
        .map(latency)
        .collect()
}

/// Finds the number of simultaneous accesses to memory. `what` is the unit.
fn in_flight(chases: &[Chase], what: &str) -> Option<Finding> {
    let idle = || chases.iter().filter(|chase| chase.loading_spes == 0);
    let table_bytes = idle()
        .filter(|chase| chase.chains > 1)
        .map(|chase| chase.table_bytes)
        .max()?;
    let of_table = || idle().filter(|chase| chase.table_bytes == table_bytes);
    let one = of_table().find(|chase| chase.chains == 1)?.ns;
    let best = of_table().map(|chase| chase.ns).fold(one, f64::min);
    let chains = of_table()
        .filter(|chase| chase.ns <= best * SAME_RATIO_MAX)
        .map(|chase| chase.chains)
        .min()?;
    let in_flight = to_a_tenth(one / best);
    let parameters = [
        ("table_bytes", table_bytes.into()),
        ("chains", chains.into()),
    ];
    let name = format!("{what}_in_flight");
    Some(Finding::new(&name, in_flight, what, parameters))
}

fn to_a_tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn lines_in_flight(measurements: &[Measurement]) -> Vec<Finding> {
    /// The bytes of a line, which DMA moves as a whole.
    const LINE_BYTES: usize = 128;
    let by_one = measurements.iter().filter(|m| {
        let p = &m.parameters;
        (m.function, p.between, p.spes) == (Function::DmaGet, Between::MemorySpe, 1)
    });
    let mut by_place: BTreeMap<(usize, usize), BTreeMap<usize, &Measurement>> = BTreeMap::new();
    for measurement in by_one {
        let p = &measurement.parameters;
        if let (Some(module), Some(bytes)) = (p.module, p.settings.block_bytes) {
            let of_place = by_place.entry((p.cell, module)).or_default();
            of_place.insert(bytes, measurement);
        }
    }
    let lines = |((cell, module), by_bytes): ((usize, usize), BTreeMap<usize, &Measurement>)| {
        let latency_ns = by_bytes.get(&LINE_BYTES)?.latency_ns.p50;
        let (bytes, largest) = by_bytes.last_key_value()?;
        let bytes_per_ns = largest.bandwidth_bytes_per_s? as f64 / 1e9;
        let parameters = [
            ("block_bytes", (*bytes).into()),
            ("cell", cell.into()),
            ("module", module.into()),
        ];
        (*bytes > LINE_BYTES).then(|| {
            let lines = to_a_tenth(latency_ns * bytes_per_ns / LINE_BYTES as f64);
            Finding::new("lines_in_flight", lines, "lines", parameters)
        })
    };
    by_place.into_iter().filter_map(lines).collect()
}

/// Finds the bandwidth of copies with one size of blocks, by each number of SPEs. Bandwidths of
/// different sizes cannot be compared.
fn copy_bandwidth(measurements: &[Measurement]) -> Vec<Finding> {
    let mut by_size: BTreeMap<usize, BTreeMap<usize, u64>> = BTreeMap::new();
    for measurement in measurements.iter().filter(|m| m.function == Function::Copy) {
        let parameters = &measurement.parameters;
        if let (Some(bytes), Some(bandwidth)) = (
            parameters.settings.block_bytes,
            measurement.bandwidth_bytes_per_s,
        ) {
            let of_size = by_size.entry(bytes).or_default();
            let known = of_size.entry(parameters.spes).or_default();
            *known = bandwidth.max(*known);
        }
    }
    let most = by_size
        .into_iter()
        .max_by_key(|(bytes, by_spes)| (by_spes.len(), *bytes));
    let Some((bytes, by_spes)) = most else {
        return Vec::new();
    };
    let bandwidth = |(spes, bandwidth): (usize, u64)| {
        let parameters = [("spes", spes.into()), ("block_bytes", bytes.into())];
        Finding::new(
            "copy_bandwidth_bytes_per_s",
            bandwidth as f64,
            "bytes/s",
            parameters,
        )
    };
    by_spes.into_iter().map(bandwidth).collect()
}

fn words_to_waiting_spes(name: &str, measurements: &[Measurement]) -> Vec<Finding> {
    let wake_ups = measurements.iter();
    let wake_ups = wake_ups.filter(|m| m.function == Function::WakeUp);
    let found = wake_ups.map(|measurement| {
        let parameters = &measurement.parameters;
        let between = serde_json::to_value(parameters.between).expect("it is a name");
        let parameters = [
            ("between", between),
            ("cell", parameters.cell.into()),
            ("spes", parameters.spes.into()),
        ];
        Finding::new(name, measurement.latency_ns.p50, "ns", parameters)
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use cellworks_machine::Capabilities;

    use crate::report::Doubt;
    use crate::test_data::{self, parameters, two_pairs};

    /// Returns the findings on a machine with these capabilities.
    fn findings(measurements: &[Measurement], capabilities: Capabilities) -> Vec<Finding> {
        let machine = two_pairs().with_capabilities(capabilities);
        super::findings(measurements, &machine)
    }

    fn measurement(function: Function, ns: f64) -> Measurement {
        test_data::measurement(function, parameters(1, Between::MemorySpe), ns)
    }

    fn chase(bytes: usize, chains: u32, loading_spes: usize, ns: f64) -> Measurement {
        let mut chase = measurement(Function::Chase, ns);
        chase.parameters.settings.block_bytes = Some(bytes);
        chase.parameters.settings.chains = Some(chains);
        chase.parameters.settings.loading_spes = Some(loading_spes);
        chase
    }

    const CELL: Capabilities = Capabilities {
        has_caches: false,
        sleeps: false,
        repeats: true,
        is_steady: true,
    };

    const KB: usize = 1 << 10;
    const MB: usize = 1 << 20;

    /// Returns sizes from 4 KB to 256 MB, two for each doubling.
    fn sizes() -> impl Iterator<Item = usize> {
        (12..28)
            .flat_map(|log2| [1 << log2, 3 << (log2 - 1)])
            .chain([256 * MB])
    }

    /// Makes the curve of a machine with caches of these sizes and latencies. A cache replaces
    /// lines at random, so a fifth of a table of twice its size is still in the cache.
    fn curve(caches: &[(usize, f64)], memory_ns: f64) -> Vec<(usize, f64)> {
        let found = |table: usize, cache: usize| {
            if table <= cache {
                return 1.0;
            }
            // The share of nodes that the cache holds, if each miss replaces a random node.
            let ratio = table as f64 / cache as f64;
            (0..100).fold(0.5, |found: f64, _| ((found - 1.0) * ratio).exp())
        };
        let time = |table| {
            let beyond = |ns, (cache, hit_ns): &(usize, f64)| {
                let found = found(table, *cache);
                found * hit_ns + (1.0 - found) * ns
            };
            caches.iter().rev().fold(memory_ns, beyond)
        };
        sizes().map(|table| (table, time(table))).collect()
    }

    fn disturbed(curve: &[(usize, f64)], most: f64) -> Vec<(usize, f64)> {
        let noise = |index: usize| (index * 7_919 % 101) as f64 / 100.0;
        let times = curve.iter().zip(0..);
        times
            .map(|((bytes, ns), index)| (*bytes, ns * (1.0 + most * noise(index))))
            .collect()
    }

    fn sizes_of(curve: &[(usize, f64)]) -> Vec<usize> {
        caches(curve, None)
            .iter()
            .map(|cache| cache.bytes)
            .collect()
    }

    /// The three caches of well-known processors, and the latency of memory, from the makers'
    /// documents and common measurements.
    const MACHINES: [([(usize, f64); 3], f64); 4] = [
        // One die of Zen 4.
        ([(32 * KB, 1.1), (MB, 3.8), (32 * MB, 14.0)], 110.0),
        // Skylake server. The third cache has only lines that the second cache does not have.
        ([(32 * KB, 1.3), (MB, 4.7), (24 * MB, 23.0)], 90.0),
        // Golden Cove.
        ([(48 * KB, 1.0), (2 * MB, 3.0), (32 * MB, 18.0)], 95.0),
        // Haswell.
        ([(32 * KB, 1.2), (256 * KB, 3.6), (8 * MB, 12.0)], 70.0),
    ];

    #[test]
    fn caches_of_known_machines_are_found() {
        for (machine, memory_ns) in MACHINES {
            let clean = curve(&machine, memory_ns);
            for curve in [clean.clone(), disturbed(&clean, 0.08)] {
                let found = caches(&curve, None);
                assert_eq!(found.len(), 3, "{curve:?}");
                for (cache, (bytes, ns)) in found.iter().zip(machine) {
                    // A cache also holds most of a table that is a third larger than the cache, so
                    // the found size may be the size of this table.
                    let is_right = [bytes, bytes / 3 * 4].contains(&cache.bytes);
                    assert!(is_right, "{cache:?}, {bytes} bytes");
                    let ratio = cache.latency_ns / ns;
                    assert!((0.95..1.1).contains(&ratio), "{cache:?}, {ns} ns");
                }
            }
        }
    }

    /// The times come from a virtual machine on Zen 4. Its pages of 4 KB slow large tables.
    #[test]
    fn misses_of_translation_buffers_are_no_cache() {
        let times = [
            (4, 1.08),
            (8, 1.08),
            (16, 1.08),
            (32, 1.25),
            (64, 3.80),
            (128, 3.81),
            (256, 3.81),
            (512, 5.07),
            (1_024, 8.70),
            (2_048, 13.3),
            (4_096, 15.9),
            (8_192, 18.9),
            (16_384, 149.0),
            (32_768, 162.0),
            (65_536, 183.0),
            (131_072, 187.0),
            (262_144, 190.0),
        ];
        let curve = times.map(|(kb, ns)| (kb * KB, ns));
        assert_eq!(sizes_of(&curve), [32 * KB, MB, 8 * MB]);
        assert_eq!(caches(&curve, None)[0].latency_ns, 1.08);
    }

    #[test]
    fn a_disturbed_table_is_no_cache() {
        let (machine, memory_ns) = MACHINES[0];
        let clean = curve(&machine, memory_ns);
        for at in 0..clean.len() {
            let mut curve = clean.clone();
            curve[at].1 *= 3.0;
            let found = sizes_of(&curve);
            assert_eq!(found.len(), 3, "{:?}: {found:?}", curve[at]);
            // If the largest table in a cache was disturbed, only the next smaller table is found.
            // Its size is a fourth smaller.
            for (found, right) in found.into_iter().zip(sizes_of(&clean)) {
                let is_last = right == curve[at].0;
                assert!(
                    found == right || is_last && found == right / 4 * 3,
                    "{:?}",
                    curve[at]
                );
            }
        }
    }

    #[test]
    fn without_steps_or_points_there_are_no_caches() {
        let flat: Vec<_> = sizes().map(|bytes| (bytes, 4.0)).collect();
        assert_eq!(caches(&flat, None), []);
        assert_eq!(caches(&disturbed(&flat, 0.1), None), []);
        // The largest table takes 1.5 times as long as the smallest.
        let slope: Vec<_> = flat
            .iter()
            .map(|(bytes, ns)| (*bytes, ns * (*bytes as f64 / 4096.0).powf(0.036)))
            .collect();
        assert_eq!(caches(&slope, None), []);
        assert_eq!(caches(&[], None), []);
        assert_eq!(caches(&[(4_096, 1.0)], None), []);
        assert_eq!(caches(&[(4_096, 1.0), (8_192, 4.0)], None), []);
        assert_eq!(
            caches(&[(4_096, 1.0), (8_192, 1.0), (16_384, 4.0)], None),
            [],
            "the last may have been disturbed"
        );
        assert_eq!(findings(&[], Capabilities::default()), []);
    }

    /// The times come from a virtual machine with three caches. Its curve bends four times: two
    /// tables beyond the part of the last cache that it gets took the same time.
    #[test]
    fn there_are_no_more_caches_than_the_machine_has() {
        let times = [
            (4, 1.22),
            (16, 1.22),
            (32, 1.22),
            (48, 1.64),
            (64, 4.01),
            (128, 4.46),
            (256, 4.46),
            (384, 4.55),
            (512, 4.52),
            (768, 4.93),
            (1_024, 5.04),
            (1_536, 9.92),
            (2_048, 24.9),
            (3_072, 34.7),
            (4_096, 36.7),
            (6_144, 42.1),
            (8_192, 57.4),
            (12_288, 81.3),
            (16_384, 138.8),
            (24_576, 115.9),
            (32_768, 144.1),
            (49_152, 175.6),
            (65_536, 207.6),
            (98_304, 206.0),
            (131_072, 225.4),
            (196_608, 237.4),
            (262_144, 246.6),
        ];
        let curve = times.map(|(kb, ns)| (kb * KB, ns));
        assert_eq!(caches(&curve, None).len(), 4);
        let three = caches(&curve, Some(3));
        let sizes: Vec<usize> = three.iter().map(|cache| cache.bytes / KB).collect();
        assert_eq!(sizes, [48, 1_536, 24_576]);
        assert!((34.0..45.0).contains(&three[2].latency_ns), "{three:?}");
        // Without a number of levels, or with a larger one, nothing is left out.
        assert_eq!(caches(&curve, Some(5)).len(), 4);
        let measurements = times.map(|(kb, ns)| chase(kb * KB, 1, 0, ns));
        let machine = two_pairs().with_cache_levels(3);
        let found = super::findings(&measurements, &machine);
        let levels = found.iter().filter(|one| one.name == "cache_bytes");
        assert_eq!(levels.count(), 3);
    }

    /// Chases in a cache of 16 KB and in memory.
    fn two_levels() -> [Measurement; 6] {
        let times = [
            (4, 1.0),
            (8, 1.0),
            (16, 1.2),
            (32, 9.0),
            (64, 10.0),
            (128, 10.0),
        ];
        times.map(|(kb, ns)| chase(kb * KB, 1, 0, ns))
    }

    #[test]
    fn what_rests_on_a_measurement_with_doubts_is_doubtful() {
        let mut measurements = two_levels();
        let doubtful = |measurements: &[Measurement]| -> Vec<(String, bool)> {
            let found = findings(measurements, Capabilities::default()).into_iter();
            found.map(|one| (one.name, one.doubtful)).collect()
        };
        let expected = |memory| {
            [
                ("cache_bytes", false),
                ("cache_latency_ns", false),
                ("memory_latency_ns", memory),
            ]
            .map(|(name, doubtful)| (name.to_owned(), doubtful))
        };
        assert_eq!(doubtful(&measurements), expected(false));
        measurements[5].doubts = vec![Doubt::Uncertain];
        assert_eq!(doubtful(&measurements), expected(true));
    }

    fn found(name: &str, value: f64, unit: &str, parameters: serde_json::Value) -> Finding {
        let parameters = serde_json::from_value(parameters).unwrap();
        Finding {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            parameters,
            doubtful: false,
        }
    }

    #[test]
    fn a_curve_with_two_levels_has_both() {
        let measurements = two_levels();
        let expected = [
            found("cache_bytes", 16_384.0, "bytes", json!({ "level": 1 })),
            found("cache_latency_ns", 1.0, "ns", json!({ "level": 1 })),
            found(
                "memory_latency_ns",
                10.0,
                "ns",
                json!({ "table_bytes": 131_072, "loading_spes": 0 }),
            ),
        ];
        assert_eq!(findings(&measurements, Capabilities::default()), expected);
    }

    #[test]
    fn misses_in_flight_are_those_of_the_fewest_chains_that_are_as_good_as_the_best() {
        let times = [
            (1, 90.0),
            (4, 23.0),
            (8, 11.9),
            (10, 9.4),
            (12, 9.1),
            (24, 9.0),
            (32, 9.6),
        ];
        let by_chains = times.map(|(chains, ns)| chase(128 * MB, chains, 0, ns));
        let measurements = [by_chains.to_vec(), one_cache()].concat();
        let expected = found(
            "misses_in_flight",
            10.0,
            "misses",
            json!({ "table_bytes": 128 * MB, "chains": 10 }),
        );
        assert!(findings(&measurements, Capabilities::default()).contains(&expected));
    }

    fn one_cache() -> Vec<Measurement> {
        let times = [(16, 14.0), (32, 14.0), (64, 80.0), (96, 90.0)];
        times.map(|(mb, ns)| chase(mb * MB, 1, 0, ns)).to_vec()
    }

    #[test]
    fn tables_in_caches_give_no_findings_about_memory() {
        let of_memory = |measurements: &[Measurement]| {
            let mut found = findings(measurements, Capabilities::default());
            found.retain(|finding| {
                ["memory_latency_ns", "misses_in_flight"].contains(&&*finding.name)
            });
            found.len()
        };
        let measured = |tables: &[(usize, f64)]| -> Vec<Measurement> {
            let table = |(mb, ns): &(usize, f64)| chase(mb * MB, 1, 0, *ns);
            let chains = chase(128 * MB, 8, 0, 3.0);
            let load = chase(128 * MB, 1, 7, 30.0);
            tables.iter().map(table).chain([chains, load]).collect()
        };
        // The cache holds the table of 128 MB in `in_cache`, and a part of it in `in_part`.
        let in_cache = [
            (32, 14.0),
            (64, 14.0),
            (128, 14.0),
            (192, 80.0),
            (256, 85.0),
        ];
        let in_part = [
            (32, 14.0),
            (64, 14.0),
            (128, 40.0),
            (192, 80.0),
            (256, 85.0),
        ];
        for tables in [in_cache, in_part] {
            let found = findings(&measured(&tables), Capabilities::default());
            let latency = json!({ "table_bytes": 256 * MB, "loading_spes": 0 });
            assert!(found.contains(&found_memory(85.0, latency)), "{found:?}");
            assert_eq!(of_memory(&measured(&tables)), 1);
        }
        // Either no table is beyond the cache, or the curve does not show which tables are.
        assert_eq!(
            of_memory(&measured(&[(64, 14.0), (128, 14.0), (256, 80.0)])),
            0
        );
        assert_eq!(
            of_memory(&measured(&[(64, 14.0), (128, 14.0), (256, 14.0)])),
            0
        );
        assert_eq!(of_memory(&measured(&[(128, 90.0)])), 0);
    }

    fn found_memory(ns: f64, parameters: serde_json::Value) -> Finding {
        found("memory_latency_ns", ns, "ns", parameters)
    }

    #[test]
    fn memory_latency_is_of_one_table_idle_and_under_each_load() {
        let latency = |ns, bytes: usize, loading: usize| {
            let parameters = json!({ "table_bytes": bytes, "loading_spes": loading });
            found_memory(ns, parameters)
        };
        let mut measurements = one_cache();
        measurements.extend([
            chase(128 * MB, 1, 0, 90.0),
            chase(256 * MB, 1, 0, 100.0),
            chase(256 * MB, 8, 0, 12.0),
        ]);
        let idle = &findings(&measurements, Capabilities::default())[2];
        assert_eq!(*idle, latency(100.0, 256 * MB, 0));
        measurements.extend([chase(128 * MB, 1, 3, 200.0), chase(128 * MB, 1, 7, 300.0)]);
        let expected = [(90.0, 0), (200.0, 3), (300.0, 7)];
        assert_eq!(
            findings(&measurements, Capabilities::default())[2..5],
            expected.map(|(ns, loading)| latency(ns, 128 * MB, loading))
        );
    }

    #[test]
    fn copies_of_one_size_by_most_numbers_of_spes_and_every_wake_up_are_findings() {
        let copy = |spes, bytes, bandwidth| {
            let mut copy = measurement(Function::Copy, 1.0);
            copy.parameters.spes = spes;
            copy.parameters.settings.block_bytes = Some(bytes);
            copy.bandwidth_bytes_per_s = Some(bandwidth);
            copy
        };
        let mut wake_up = measurement(Function::WakeUp, 6_300.0);
        wake_up.parameters.between = Between::SpeSpe;
        wake_up.parameters.spes = 2;
        wake_up.parameters.cell = 1;
        let measurements = [
            copy(1, KB, 90_000_000_000),
            copy(1, 64 * MB, 9_000_000_000),
            copy(1, 2 * MB, 12_000_000_000),
            copy(2, 2 * MB, 16_000_000_000),
            copy(2, MB, 60_000_000_000),
            copy(1, MB, 30_000_000_000),
            wake_up,
        ];
        let bandwidth = |spes: usize, value| {
            let parameters = json!({ "spes": spes, "block_bytes": 2 * MB });
            found("copy_bandwidth_bytes_per_s", value, "bytes/s", parameters)
        };
        let parameters = json!({ "between": "spe-spe", "cell": 1, "spes": 2 });
        let expected = [
            bandwidth(1, 12e9),
            bandwidth(2, 16e9),
            found("wake_up_ns", 6_300.0, "ns", parameters),
        ];
        assert_eq!(findings(&measurements, Capabilities::default()), expected);
    }

    #[test]
    fn the_name_of_a_wake_up_depends_only_on_whether_threads_sleep() {
        let names = |has_caches, sleeps| {
            let capabilities = Capabilities {
                has_caches,
                sleeps,
                ..CELL
            };
            let found = findings(
                &[
                    chase(256 * KB, 1, 0, 290.0),
                    measurement(Function::WakeUp, 310.0),
                ],
                capabilities,
            );
            found.into_iter().map(|found| found.name).collect()
        };
        let [memory, woken, word] = ["memory_latency_ns", "wake_up_ns", "word_one_way_ns"];
        // A single table shows no cache, so no table is known to be beyond the caches.
        for (has_caches, sleeps, expected) in [
            (true, true, vec![woken]),
            (true, false, vec![word]),
            (false, true, vec![memory, woken]),
            (false, false, vec![memory, word]),
        ] {
            let names: Vec<String> = names(has_caches, sleeps);
            assert_eq!(names, expected, "{has_caches} {sleeps}");
        }
    }

    #[test]
    fn without_caches_and_sleep_other_things_are_found() {
        let get = |module, bytes: usize, ns| {
            let mut get = measurement(Function::DmaGet, ns);
            get.parameters.module = Some(module);
            get.parameters.settings.block_bytes = Some(bytes);
            get.bandwidth_bytes_per_s = Some((bytes as f64 / ns * 1e9) as u64);
            get
        };
        let mut by_two = get(0, 64 * KB, 1.0);
        by_two.parameters.spes = 2;
        let mut word = measurement(Function::WakeUp, 310.0);
        word.parameters.between = Between::PpeSpe;
        let measurements = [
            get(0, 128, 300.0),
            get(0, KB, 350.0),
            get(0, 16 * KB, 2_400.0),
            by_two,
            // Module 1 has only a bandwidth, and module 2 only a latency.
            get(1, 16 * KB, 2_400.0),
            get(2, 128, 300.0),
            chase(256 * KB, 1, 0, 290.0),
            chase(256 * KB, 8, 0, 41.0),
            chase(256 * KB, 16, 0, 40.0),
            chase(256 * KB, 1, 15, 2_100.0),
            word,
        ];
        let table = 256 * KB;
        let memory = |ns, loading: usize| {
            found_memory(ns, json!({ "table_bytes": table, "loading_spes": loading }))
        };
        let commands = json!({ "table_bytes": table, "chains": 8 });
        let lines = json!({ "block_bytes": 16 * KB, "cell": 0, "module": 0 });
        let one_way = json!({ "between": "ppe-spe", "cell": 0, "spes": 1 });
        let expected = [
            memory(290.0, 0),
            memory(2_100.0, 15),
            // 290 ns (1 chain) / 40 ns (16 chains) is 7.3. A block of 16 KB has 128 lines, which
            // arrive in 2,400 ns, so 16 lines arrive in the latency of 300 ns.
            found("commands_in_flight", 7.3, "commands", commands),
            found("lines_in_flight", 16.0, "lines", lines),
            found("word_one_way_ns", 310.0, "ns", one_way),
        ];
        assert_eq!(findings(&measurements, CELL), expected);
        assert_eq!(findings(&[], CELL), []);
    }
}
