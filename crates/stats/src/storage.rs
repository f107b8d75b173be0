//! Classifies whether the data of a measurement lies in a cache or in main memory.

use std::collections::BTreeSet;

use cellworks_machine::{CellId, Topology};

use crate::function::Function;
use crate::report::{Between, Buffers, Finding, Measurement, Parameters, Storage};

/// The minimum size of data that counts as data in main memory, in multiples of the cache size. If
/// an SPE accesses such data again and again, only a small part of the data is in the cache.
const BEYOND: usize = 2;

/// Sets `lies_in` of each measurement that accesses main memory. Data that fits into the last-level
/// caches of the Cells in use is in a cache. Data of at least twice the size of these caches is in
/// main memory. Other data is partly in a cache.
///
/// The size of a cache comes from the operating system and from `findings`, which has a smaller
/// size if other programs use the cache. Data up to the smaller size is in a cache. Data from twice
/// the larger size is in main memory.
pub fn classify_storage(
    topology: &Topology,
    measurements: &mut [Measurement],
    findings: &[Finding],
) {
    if !topology.capabilities().has_caches {
        return;
    }
    let found = findings
        .iter()
        .filter(|finding| finding.name == "cache_bytes");
    let measured = found.map(|finding| finding.value as usize).max();
    let known: Vec<usize> = [topology.last_level_cache_bytes(), measured]
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

/// Returns where data of `bytes` bytes lies if SPEs access the data again and again. The size of
/// the last-level cache is between `least` and `most`.
pub(crate) fn of_bytes(bytes: usize, (least, most): (usize, usize)) -> Storage {
    match bytes {
        _ if bytes <= least => Storage::Cache,
        _ if bytes >= most.saturating_mul(BEYOND) => Storage::Memory,
        _ => Storage::Partly,
    }
}

/// Returns the bytes that all SPEs together access in main memory, or `None` without such accesses.
fn bytes(measurement: &Measurement) -> Option<usize> {
    let p = &measurement.parameters;
    let block = p.settings.block_bytes?;
    let of_one = match measurement.function {
        Function::Copy => block.saturating_mul(2),
        _ => block.saturating_mul(p.settings.list_elements.unwrap_or(1) as usize),
    };
    let times = if is_private(p) { p.spes } else { 1 };
    (p.between == Between::MemorySpe).then(|| of_one.saturating_mul(times))
}

/// Returns the number of Cells that have private buffers, or 1 for a shared buffer. SPEs are taken
/// from the Cell in `p` first, then from the other Cells in order.
fn cells(topology: &Topology, p: &Parameters) -> usize {
    let first = CellId::new(u16::try_from(p.cell).unwrap_or(u16::MAX));
    let is_first = |spe: &_| topology.cell_of(*spe) == first;
    let (here, elsewhere): (Vec<_>, Vec<_>) = topology.spes().partition(is_first);
    let taken = here.into_iter().chain(elsewhere).take(p.spes);
    if is_private(p) {
        taken
            .map(|spe| topology.cell_of(spe))
            .collect::<BTreeSet<_>>()
            .len()
            .max(1)
    } else {
        1
    }
}

fn is_private(p: &Parameters) -> bool {
    p.buffers == Some(Buffers::Private)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cellworks_machine::Capabilities;

    use super::*;
    use crate::function::Function;
    use crate::settings::Settings;
    use crate::test_data::{measurement, parameters, two_pairs};

    const KB: usize = 1 << 10;
    const MB: usize = 1 << 20;

    fn measured(function: Function, spes: usize, buffers: Buffers, bytes: usize) -> Measurement {
        let parameters = Parameters {
            buffers: Some(buffers),
            settings: Settings {
                block_bytes: Some(bytes),
                ..Settings::default()
            },
            ..parameters(spes, Between::MemorySpe)
        };
        measurement(function, parameters, 1.0)
    }

    fn named(
        topology: &Topology,
        measured: Option<usize>,
        measurement: Measurement,
    ) -> Option<Storage> {
        let findings = measured.map(|bytes| Finding {
            name: "cache_bytes".to_owned(),
            value: bytes as f64,
            unit: "bytes".to_owned(),
            parameters: BTreeMap::new(),
            doubtful: false,
        });
        let mut measurements = [measurement];
        classify_storage(topology, &mut measurements, findings.as_slice());
        measurements[0].lies_in
    }

    #[test]
    fn data_is_in_a_cache_if_it_fits_and_in_memory_if_it_is_twice_as_large() {
        let computer = two_pairs().with_last_level_cache(32 * MB);
        let (shared, private) = (Buffers::Shared, Buffers::Private);
        let (cache, partly, memory) = (Storage::Cache, Storage::Partly, Storage::Memory);
        for (function, spes, buffers, bytes, expected) in [
            (Function::DmaGet, 1, shared, 16 * KB, cache),
            (Function::DmaGet, 4, shared, 32 * MB, cache),
            (Function::DmaGet, 1, shared, 33 * MB, partly),
            (Function::DmaGet, 1, shared, 64 * MB, memory),
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
    fn data_between_the_measured_and_the_stated_size_of_the_cache_is_partly_in_it() {
        let get = |bytes| measured(Function::DmaGet, 1, Buffers::Shared, bytes);
        let computer = two_pairs().with_last_level_cache(32 * MB);
        assert_eq!(
            named(&computer, Some(6 * MB), get(6 * MB)),
            Some(Storage::Cache)
        );
        assert_eq!(
            named(&computer, Some(6 * MB), get(16 * MB)),
            Some(Storage::Partly)
        );
        // Here, the operating system does not give the size of the cache.
        assert_eq!(
            named(&two_pairs(), Some(6 * MB), get(16 * MB)),
            Some(Storage::Memory)
        );
        assert_eq!(named(&two_pairs(), None, get(16)), None);
    }

    #[test]
    fn data_in_local_stores_and_on_machines_without_caches_lies_in_no_cache() {
        let get = measured(Function::DmaGet, 1, Buffers::Shared, 16);
        let mut between_spes = get.clone();
        between_spes.parameters.between = Between::SpeSpe;
        let computer = two_pairs().with_last_level_cache(32 * MB);
        assert_eq!(named(&computer, None, between_spes), None);
        let cell = computer.with_capabilities(Capabilities {
            has_caches: false,
            ..Capabilities::default()
        });
        assert_eq!(named(&cell, None, get), None);
    }
}
