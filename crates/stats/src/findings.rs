//! What follows from several measurements.

use std::collections::BTreeMap;

use crate::Function;
use crate::report::{Finding, Measurement};

/// How much slower a table twice as large must be for a cache to end between the two. Misses of
/// translation buffers, too, make larger tables slower, but by less. Of tables that are closer in
/// size, so much less is enough that it comes to as much over a doubling.
const STEP: f64 = 1.3;

/// How much slower the end of a cache makes a node in all; each cache of the machines that we know
/// is at least twice as slow as the one before.
const STEP_IN_ALL: f64 = 1.6;

/// Times within so much of each other are the same.
const SAME: f64 = 1.05;

/// Quantities that follow from several measurements, such as those of
/// [`characterize`](crate::characterize). What cannot be said from these measurements is left out.
///
/// | name | unit | parameters | from |
/// |---|---|---|---|
/// | `cache_bytes` | bytes | `level` | `chase` by one chain, by size of table: the largest table that a cache holds; level 1 is the smallest cache that shows |
/// | `cache_latency_ns` | ns | `level` | the median of the tables that only this cache holds |
/// | `memory_latency_ns` | ns | `table_bytes`, `loading_spes` | `chase` by one chain through the largest table, idle and for each number of loading SPEs |
/// | `misses_in_flight` | misses | `table_bytes`, `chains` | `chase` by one chain and by several through the largest such table, if it is larger than the caches: the latency of a miss divided by the shortest time for one, rounded to a tenth, and the fewest chains that come within 5 % of that |
/// | `copy_bandwidth_bytes_per_s` | bytes/s | `spes`, `block_bytes` | `copy` of the largest blocks, for each number of SPEs |
/// | `wake_up_ns` | ns | `between`, `cell`, `spes` | each `wakeup` |
///
/// All times are medians. Cache sizes are those that a program sees: what others keep in a shared
/// cache, or a hypervisor withholds, is missing, and so is a cache that is less than 1.6 times as slow
/// as the one before. A cache shows if at least two tables fit into it that do not fit into the one
/// before, and two do not fit into it.
pub fn findings(measurements: &[Measurement]) -> Vec<Finding> {
    let chases: Vec<Chase> = measurements.iter().filter_map(Chase::of).collect();
    let mut findings = Vec::new();
    let curve = by_size(&chases);
    let caches = caches(&curve);
    for (cache, level) in caches.iter().zip(1_usize..) {
        let level = [("level", level.into())];
        findings.push(finding(
            "cache_bytes",
            cache.bytes as f64,
            "bytes",
            level.clone(),
        ));
        findings.push(finding("cache_latency_ns", cache.latency_ns, "ns", level));
    }
    findings.extend(memory_latency(&chases));
    let cached_bytes = caches.last().map_or(0, |cache| cache.bytes);
    findings.extend(misses_in_flight(&chases, cached_bytes));
    findings.extend(copy_bandwidth(measurements));
    findings.extend(measurements.iter().filter_map(wake_up));
    findings
}

fn finding<const N: usize>(
    name: &str,
    value: f64,
    unit: &str,
    parameters: [(&str, serde_json::Value); N],
) -> Finding {
    Finding {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        parameters: parameters
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    }
}

/// What a `chase` says.
struct Chase {
    table_bytes: usize,
    chains: u32,
    loading_spes: usize,
    /// For one node.
    ns: f64,
}

impl Chase {
    fn of(measurement: &Measurement) -> Option<Self> {
        let parameters = &measurement.parameters;
        (measurement.function == Function::Chase).then_some(Self {
            table_bytes: parameters.block_bytes?,
            chains: parameters.chains?,
            loading_spes: parameters.loading_spes?,
            ns: measurement.latency_ns.p50,
        })
    }
}

/// The time of a node for each size of table, of one chain on an idle machine. Where one size was
/// measured several times the fastest counts.
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

/// The caches that a curve shows, by the steps between its levels.
///
/// ```text
///   ns │                  ●──●    A step begins where the next table is much slower, and ends
///      │                ·         where it is not. A table within the step belongs to the cache
///      │               ●          below if its time is nearer to that of the cache: then most of
///      │      ●──●──●             its nodes were found there.
///      │     ·
///      │●──●
///      └───────────────────── bytes
/// ```
fn caches(curve: &[(usize, f64)]) -> Vec<Cache> {
    let times = without_peaks(curve);
    let rises = |at: usize| {
        let doublings = (curve[at + 1].0 as f64 / curve[at].0 as f64).log2();
        times[at + 1] > times[at] * STEP.powf(doublings)
    };
    let mut caches = Vec::new();
    // The first table of the level that the walk is on.
    let mut level = 0;
    let mut at = 0;
    while at + 1 < times.len() {
        if !rises(at) {
            at += 1;
            continue;
        }
        let bottom = at;
        while at + 1 < times.len() && rises(at) {
            at += 1;
        }
        let (low, high) = (times[bottom], times[at]);
        // With a single table on either side it may be a disturbance as well.
        let has_levels = bottom > level && at + 1 < times.len();
        if has_levels && high > low * STEP_IN_ALL {
            let middle = low.midpoint(high);
            let below = (bottom..at).take_while(|index| times[*index] < middle);
            let last = below.last().unwrap_or(bottom);
            caches.push(Cache {
                bytes: curve[last].0,
                latency_ns: median(&times[level..=bottom]),
            });
            level = at;
        }
    }
    caches
}

/// The curve, without what cannot be: a larger table is never faster, so a time above a later one
/// was disturbed.
fn without_peaks(curve: &[(usize, f64)]) -> Vec<f64> {
    let mut times: Vec<f64> = curve.iter().map(|(_, ns)| *ns).collect();
    for at in (1..times.len()).rev() {
        times[at - 1] = times[at - 1].min(times[at]);
    }
    times
}

/// Of ascending times, which are not none.
fn median(ascending: &[f64]) -> f64 {
    ascending[(ascending.len() - 1) / 2]
}

/// Of the largest table, idle and under each load.
fn memory_latency(chases: &[Chase]) -> Vec<Finding> {
    let mut largest: BTreeMap<usize, &Chase> = BTreeMap::new();
    for chase in chases.iter().filter(|chase| chase.chains == 1) {
        let known = largest.entry(chase.loading_spes).or_insert(chase);
        if chase.table_bytes > known.table_bytes {
            *known = chase;
        }
    }
    let latency = |chase: &&Chase| {
        let parameters = [
            ("table_bytes", chase.table_bytes.into()),
            ("loading_spes", chase.loading_spes.into()),
        ];
        finding("memory_latency_ns", chase.ns, "ns", parameters)
    };
    largest.values().map(latency).collect()
}

fn misses_in_flight(chases: &[Chase], cached_bytes: usize) -> Option<Finding> {
    let idle = || chases.iter().filter(|chase| chase.loading_spes == 0);
    let table_bytes = idle()
        .filter(|chase| chase.chains > 1)
        .map(|chase| chase.table_bytes)
        .max()
        .filter(|bytes| *bytes > cached_bytes)?;
    let of_table = || idle().filter(|chase| chase.table_bytes == table_bytes);
    let one = of_table().find(|chase| chase.chains == 1)?.ns;
    let best = of_table().map(|chase| chase.ns).fold(one, f64::min);
    let chains = of_table()
        .filter(|chase| chase.ns <= best * SAME)
        .map(|chase| chase.chains)
        .min()?;
    let misses = (one / best * 10.0).round() / 10.0;
    let parameters = [
        ("table_bytes", table_bytes.into()),
        ("chains", chains.into()),
    ];
    Some(finding("misses_in_flight", misses, "misses", parameters))
}

/// Of the largest blocks, by each number of SPEs.
fn copy_bandwidth(measurements: &[Measurement]) -> Vec<Finding> {
    let mut largest = BTreeMap::new();
    for measurement in measurements.iter().filter(|m| m.function == Function::Copy) {
        let parameters = &measurement.parameters;
        if let (Some(bytes), Some(bandwidth)) =
            (parameters.block_bytes, measurement.bandwidth_bytes_per_s)
        {
            let known = largest.entry(parameters.spes).or_insert((bytes, bandwidth));
            *known = (*known).max((bytes, bandwidth));
        }
    }
    let bandwidth = |(spes, (bytes, bandwidth)): (usize, (usize, u64))| {
        let parameters = [("spes", spes.into()), ("block_bytes", bytes.into())];
        finding(
            "copy_bandwidth_bytes_per_s",
            bandwidth as f64,
            "bytes/s",
            parameters,
        )
    };
    largest.into_iter().map(bandwidth).collect()
}

fn wake_up(measurement: &Measurement) -> Option<Finding> {
    let parameters = &measurement.parameters;
    (measurement.function == Function::WakeUp).then(|| {
        let between = serde_json::to_value(parameters.between).expect("it is a name");
        let parameters = [
            ("between", between),
            ("cell", parameters.cell.into()),
            ("spes", parameters.spes.into()),
        ];
        finding("wake_up_ns", measurement.latency_ns.p50, "ns", parameters)
    })
}
