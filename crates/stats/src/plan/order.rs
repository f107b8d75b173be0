//! The order in which pairs of SPEs are measured.

use std::collections::BTreeMap;

use cellworks_machine::{Distance, SpeId, Topology};

use crate::shuffle::shuffle;

/// The number of pairs of each distance at the beginning of the order. With nine pairs, a single
/// unusual pair does not change the median much.
const PER_DISTANCE: usize = 9;
const PER_COMBINATION: usize = 3;

pub(super) struct Ordered {
    pub pairs: Vec<(SpeId, SpeId)>,
    /// The number of pairs at the beginning of `pairs` that were picked only by distance.
    pub first: usize,
    pub classes: BTreeMap<Distance, usize>,
}

/// Returns all pairs of a machine in four groups, each shuffled. The first group has
/// [`PER_DISTANCE`] pairs of each distance. The second group adds pairs until there are
/// [`PER_COMBINATION`] pairs of each combination of distance and memory modules. The third group
/// adds pairs until each two Cells have a pair. The last group is the rest. So the first pairs are
/// spread over the machine.
pub(super) fn ordered(topology: &Topology) -> Ordered {
    let mut rest: Vec<(SpeId, SpeId)> = topology
        .spes()
        .flat_map(|b| topology.spes().take(b.index()).map(move |a| (a, b)))
        .collect();
    shuffle(&mut rest);
    let mut classes = BTreeMap::new();
    for &(a, b) in &rest {
        *classes.entry(topology.distance(a, b)).or_default() += 1;
    }

    let mut pairs = Vec::with_capacity(rest.len());
    let cells = |(a, b)| sorted([a, b].map(|spe| topology.cell_of(spe)));
    let distance = |(a, b)| topology.distance(a, b);
    let modules = |(a, b)| sorted([a, b].map(|spe| topology.module_of(spe)));
    pick(&mut pairs, &mut rest, PER_DISTANCE, distance);
    let first = pairs.len();
    pick(&mut pairs, &mut rest, PER_COMBINATION, |pair| {
        (modules(pair), distance(pair))
    });
    pick(&mut pairs, &mut rest, 1, cells);
    pairs.append(&mut rest);
    Ordered {
        pairs,
        first,
        classes,
    }
}

/// Moves pairs from `rest` to `picked`, until `picked` has `quota` pairs with each key.
fn pick<K: Ord>(
    picked: &mut Vec<(SpeId, SpeId)>,
    rest: &mut Vec<(SpeId, SpeId)>,
    quota: usize,
    key: impl Fn((SpeId, SpeId)) -> K,
) {
    let mut counts: BTreeMap<K, usize> = BTreeMap::new();
    for &pair in &*picked {
        *counts.entry(key(pair)).or_default() += 1;
    }
    rest.retain(|&pair| {
        let count = counts.entry(key(pair)).or_default();
        let wanted = *count < quota;
        if wanted {
            *count += 1;
            picked.push(pair);
        }
        !wanted
    });
}

fn sorted<T: Ord>(mut both: [T; 2]) -> [T; 2] {
    both.sort_unstable();
    both
}
