//! The first assignment: recursive bisection of tasks and slots, down the levels.

use fastrand::Rng;

use super::partition::{Bounds, COARSEST, Part};
use crate::grid::{Grid, heavy_parts};
use crate::search::bisection::{Tree, halves};
use crate::sparse::Sparse;

/// Small graphs are divided this number of times only, because each time has several tries.
const TRIES_OF_SMALL: usize = 2;

const NONE: u32 = u32::MAX;

pub(super) struct Assign<'a> {
    sparse: &'a Sparse,
    /// For each level, the number of bits of a code that are within a part of it.
    shifts: Vec<u32>,
    /// The clusters of the places of an innermost part, if it has several.
    tree: Option<Tree>,
    /// The points of the items, if most of the volume is in a grid.
    grid: Option<Grid>,
}

/// How items are divided.
pub(super) enum Divide<'g> {
    /// By planes through the grid of the items.
    ByPlanes(&'g Grid),
    /// Each time into the best of this number of divisions of a coarser graph.
    Best(usize),
}

/// Slots that are a part of a level or a cluster of places.
struct Group {
    slots: Vec<u32>,
    depth: usize,
    /// The cluster, if all levels are outside.
    cluster: usize,
}

impl<'a> Assign<'a> {
    pub(super) fn new(sparse: &'a Sparse) -> Self {
        let distances = &sparse.distances;
        let block = distances.block();
        let tree =
            (block > 1).then(|| Tree::new(block, |one, other| distances.in_block(one, other)));
        Self {
            sparse,
            shifts: distances.shifts(),
            tree,
            grid: heavy_parts(sparse.graph.start.len() - 1, &sparse.graph.pairs())
                .find_map(|(neighbours, _)| Grid::of(&neighbours)),
        }
    }

    pub(super) fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }

    /// Returns the slot of each item that has a choice, or nothing if `go_on` returns false.
    pub(super) fn run(
        &self,
        how: &Divide<'_>,
        random: &mut Rng,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<Vec<u32>> {
        let sparse = self.sparse;
        let mut slot_of = vec![NONE; sparse.items];
        let mut local = vec![NONE; sparse.graph.start.len() - 1];
        let all = Group {
            slots: (0..sparse.slots as u32).collect(),
            depth: 0,
            cluster: self.tree.as_ref().map_or(0, Tree::root),
        };
        let mut left = vec![(vec![all], (0..sparse.items as u32).collect::<Vec<u32>>())];
        while let Some((mut groups, items)) = left.pop() {
            if items.is_empty() {
                continue;
            }
            if !go_on() {
                return None;
            }
            if let [group] = &groups[..] {
                let parts = self.parts(group);
                if parts.is_empty() {
                    for (item, slot) in items.iter().zip(&group.slots) {
                        slot_of[*item as usize] = *slot;
                    }
                    continue;
                }
                groups = parts;
                if groups.len() == 1 {
                    left.push((groups, items));
                    continue;
                }
            }
            let [first, second] = halves(groups, |group| group.slots.len());
            let room =
                |groups: &[Group]| groups.iter().map(|group| group.slots.len()).sum::<usize>();
            let (of_first, of_second) = (room(&first), room(&second));
            let bounds = Bounds {
                least: items.len().saturating_sub(of_second),
                most: items.len().min(of_first),
            };
            let [a, b] = [&first, &second].map(|groups| groups[0].slots[0] as usize);
            let part = self.part(&items, [a, b], &mut local);
            let in_first = match how {
                Divide::ByPlanes(grid) => {
                    let point = |vertex: usize| &grid.points[items[vertex] as usize];
                    part.bisect_by_planes(bounds, grid.around.len(), point)
                }
                Divide::Best(tries) => {
                    let tries = match items.len() {
                        ..=COARSEST => TRIES_OF_SMALL.min(*tries),
                        _ => *tries,
                    };
                    part.bisect(bounds, tries, random)
                }
            };
            let (mut one, mut other) = (Vec::new(), Vec::new());
            for (item, first) in items.iter().zip(in_first) {
                if first { &mut one } else { &mut other }.push(*item);
            }
            left.push((first, one));
            left.push((second, other));
        }
        Some(slot_of)
    }

    /// Returns the parts of a group, or nothing if it is a single place.
    fn parts(&self, group: &Group) -> Vec<Group> {
        let distances = &self.sparse.distances;
        if let Some(shift) = self.shifts.get(group.depth) {
            let key = |slot: &u32| {
                distances
                    .code(*slot as usize)
                    .checked_shr(*shift)
                    .unwrap_or(0)
            };
            let parts = group.slots.chunk_by(|one, other| key(one) == key(other));
            let part = |slots: &[u32]| Group {
                slots: slots.to_vec(),
                depth: group.depth + 1,
                cluster: group.cluster,
            };
            return parts.map(part).collect();
        }
        let Some(tree) = self
            .tree
            .as_ref()
            .filter(|tree| tree.size(group.cluster) > 1)
        else {
            return Vec::new();
        };
        let mut cluster_of = vec![NONE; distances.block()];
        let siblings = tree.siblings(group.cluster);
        for (number, cluster) in siblings.iter().enumerate() {
            tree.places(*cluster, |place| cluster_of[place] = number as u32);
        }
        let mut parts: Vec<Group> = siblings
            .iter()
            .map(|cluster| Group {
                slots: Vec::new(),
                depth: group.depth,
                cluster: *cluster,
            })
            .collect();
        for slot in &group.slots {
            let number = cluster_of[distances.within(*slot as usize)];
            parts[number as usize].slots.push(*slot);
        }
        parts.retain(|part| !part.slots.is_empty());
        parts
    }

    /// Returns the graph of some items. Their edges to fixed tasks are a bias towards one of two
    /// slots.
    fn part(&self, items: &[u32], [first, second]: [usize; 2], local: &mut [u32]) -> Part {
        let (graph, distances) = (&self.sparse.graph, &self.sparse.distances);
        for (index, item) in items.iter().enumerate() {
            local[*item as usize] = index as u32;
        }
        let apart = distances.mean(first, second);
        let mut part = Part {
            start: Vec::with_capacity(items.len() + 1),
            to: Vec::new(),
            volumes: Vec::new(),
            sizes: vec![1; items.len()],
            bias: vec![0.0; items.len()],
        };
        part.start.push(0);
        for (index, item) in items.iter().enumerate() {
            for edge in graph.edges(*item as usize) {
                let (other, volume) = (graph.to[edge] as usize, graph.volumes[edge]);
                if local[other] != NONE {
                    part.to.push(local[other]);
                    part.volumes.push(volume);
                } else if other >= self.sparse.items && apart > 0.0 {
                    let fixed = self.sparse.slots + other - self.sparse.items;
                    let nearer = distances.mean(first, fixed) - distances.mean(second, fixed);
                    part.bias[index] += volume * nearer / apart;
                }
            }
            part.start.push(part.to.len() as u32);
        }
        for item in items {
            local[*item as usize] = NONE;
        }
        part
    }
}
