//! Where data lies that is accessed again and again, on a computer with caches.

use std::collections::BTreeSet;

use cellworks_machine::{CellId, Topology};

use crate::function::Kind;
use crate::report::{Between, Buffers, Finding, Measurement, Parameters, Storage};

/// The multiple of the size of a cache from which on little of what is accessed again is still in
/// the cache.
const BEYOND: usize = 2;

/// Says of each measurement whose data is in main memory by name whether a cache holds them: they
/// fit into the last-level caches of the Cells that take part, or are at least twice as large. How
/// large a last-level cache is says the system, and what `findings` show of it, which is less where
/// others use it as well; what is between the two lies partly in it.
pub fn name_storage(topology: &Topology, measurements: &mut [Measurement], findings: &[Finding]) {
    if !topology.capabilities().has_caches {
        return;
    }
    let found = findings
        .iter()
        .filter(|finding| finding.name == "cache_bytes");
    let shows = found.map(|finding| finding.value as usize).max();
    let known: Vec<usize> = [topology.last_level_cache_bytes(), shows]
        .into_iter()
        .flatten()
        .collect();
    let (Some(least), Some(most)) = (known.iter().min(), known.iter().max()) else {
        return;
    };
    for measurement in measurements {
        measurement.lies_in = bytes(measurement).map(|bytes| {
            let each = bytes.div_ceil(cells(topology, &measurement.parameters));
            of_bytes(each, (*least, *most))
        });
    }
}

/// Where bytes lie that are accessed again and again, with a last-level cache that is between these
/// two sizes.
pub(crate) fn of_bytes(bytes: usize, (least, most): (usize, usize)) -> Storage {
    match bytes {
        _ if bytes <= least => Storage::Cache,
        _ if bytes >= most.saturating_mul(BEYOND) => Storage::Memory,
        _ => Storage::Partly,
    }
}

/// How many bytes all SPEs access; `None` of what is not in main memory.
fn bytes(measurement: &Measurement) -> Option<usize> {
    let p = &measurement.parameters;
    let block = p.settings.block_bytes?;
    let of_one = match measurement.function.kind() {
        // From one place to another.
        Kind::Copy => block.saturating_mul(2),
        _ => block.saturating_mul(p.settings.list_elements.unwrap_or(1) as usize),
    };
    let times = if is_private(p) { p.spes } else { 1 };
    (p.between == Between::MemorySpe).then(|| of_one.saturating_mul(times))
}

/// Over the caches of how many Cells private buffers are spread: SPEs are taken from a Cell first and
/// then from the others in order.
fn cells(topology: &Topology, p: &Parameters) -> usize {
    let first = CellId::new(u16::try_from(p.cell).unwrap_or(u16::MAX));
    let is_first = |spe: &_| topology.cell_of(*spe) == first;
    let (here, elsewhere): (Vec<_>, Vec<_>) = topology.spes().partition(is_first);
    let taken = here.into_iter().chain(elsewhere).take(p.spes);
    match is_private(p) {
        true => taken
            .map(|spe| topology.cell_of(spe))
            .collect::<BTreeSet<_>>()
            .len()
            .max(1),
        false => 1,
    }
}

fn is_private(p: &Parameters) -> bool {
    p.buffers == Some(Buffers::Private)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cellworks_machine::{Capabilities, ModuleId, SpeSite};

    use super::*;
    use crate::{Function, Latency, Settings};

    const KB: usize = 1 << 10;
    const MB: usize = 1 << 20;

    /// Two Cells of two SPEs.
    fn topology() -> Topology {
        let site = |cell| SpeSite {
            cell: CellId::new(cell),
            core: None,
            place: String::new(),
        };
        let modules = vec![ModuleId::new(0); 2];
        Topology::new("two pairs", modules, [0, 0, 1, 1].map(site).into())
    }

    fn measured(function: Function, spes: usize, buffers: Buffers, bytes: usize) -> Measurement {
        Measurement {
            function,
            parameters: Parameters {
                spes,
                cell: 0,
                module: None,
                between: Between::MemorySpe,
                buffers: Some(buffers),
                settings: Settings {
                    block_bytes: Some(bytes),
                    ..Settings::default()
                },
            },
            iterations: 1,
            rounds: 1,
            samples: 1,
            outliers: 0,
            latency_ns: Latency {
                mean: 1.0,
                min: 1.0,
                p50: 1.0,
                p99: 1.0,
                max: 1.0,
            },
            median_interval_ns: None,
            bandwidth_bytes_per_s: None,
            samples_ns: None,
            states: Vec::new(),
            shared_cpu: Vec::new(),
            lies_in: None,
            bare_ns: None,
            huge_page_share: None,
        }
    }

    fn named(
        topology: &Topology,
        shows: Option<usize>,
        measurement: Measurement,
    ) -> Option<Storage> {
        let findings = shows.map(|bytes| Finding {
            name: "cache_bytes".to_owned(),
            value: bytes as f64,
            unit: "bytes".to_owned(),
            parameters: BTreeMap::new(),
        });
        let mut measurements = [measurement];
        name_storage(topology, &mut measurements, findings.as_slice());
        measurements[0].lies_in
    }

    #[test]
    fn what_fits_into_the_last_level_is_in_a_cache_and_memory_is_beyond() {
        let computer = topology().with_last_level_cache(32 * MB);
        let (shared, private) = (Buffers::Shared, Buffers::Private);
        let (cache, partly, memory) = (Storage::Cache, Storage::Partly, Storage::Memory);
        for (function, spes, buffers, bytes, expected) in [
            (Function::DmaGet, 1, shared, 16 * KB, cache),
            (Function::DmaGet, 4, shared, 32 * MB, cache),
            (Function::DmaGet, 1, shared, 33 * MB, partly),
            (Function::DmaGet, 1, shared, 64 * MB, memory),
            // Two buffers in each Cell.
            (Function::DmaGet, 4, private, 16 * MB, cache),
            (Function::DmaGet, 2, private, 17 * MB, partly),
            (Function::DmaGet, 4, private, 32 * MB, memory),
            (Function::Copy, 1, private, 16 * MB, cache),
            (Function::Copy, 1, private, 32 * MB, memory),
            (Function::Chase, 1, shared, 128 * MB, memory),
            (Function::FetchAdd, 4, shared, 4, cache),
        ] {
            let measurement = measured(function, spes, buffers, bytes);
            assert_eq!(
                named(&computer, None, measurement),
                Some(expected),
                "{function} {spes} {bytes}"
            );
        }
    }

    #[test]
    fn a_cache_of_which_less_shows_holds_a_part_of_what_is_between() {
        let get = |bytes| measured(Function::DmaGet, 1, Buffers::Shared, bytes);
        let computer = topology().with_last_level_cache(32 * MB);
        assert_eq!(
            named(&computer, Some(6 * MB), get(6 * MB)),
            Some(Storage::Cache)
        );
        assert_eq!(
            named(&computer, Some(6 * MB), get(16 * MB)),
            Some(Storage::Partly)
        );
        // The system does not say.
        assert_eq!(
            named(&topology(), Some(6 * MB), get(16 * MB)),
            Some(Storage::Memory)
        );
        assert_eq!(named(&topology(), None, get(16)), None);
    }

    #[test]
    fn local_stores_and_machines_without_caches_have_none() {
        let get = measured(Function::DmaGet, 1, Buffers::Shared, 16);
        let mut between_spes = get.clone();
        between_spes.parameters.between = Between::SpeSpe;
        let computer = topology().with_last_level_cache(32 * MB);
        assert_eq!(named(&computer, None, between_spes), None);
        let cell = computer.with_capabilities(Capabilities {
            has_caches: false,
            ..Capabilities::default()
        });
        assert_eq!(named(&cell, None, get), None);
    }
}
