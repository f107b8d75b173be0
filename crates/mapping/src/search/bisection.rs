//! The first assignment of a search, by recursive bisection of slots and tasks.

use fastrand::Rng;
use kodama::{Method, linkage};

use crate::slots::Slots;

/// The number of attempts to divide tasks. The best division is taken.
const TRIES: usize = 8;

/// An improvement pass ends after this number of consecutive exchanges without a gain.
const EXCHANGES_WITHOUT_GAIN: usize = 64;

/// Let d be the distance between the two parts of a cluster. A part is divided, too, if the two
/// halves of the part have at least a distance of d times this number.
const ABOUT_EQUAL: f64 = 0.95;

/// Assigns each item a slot, so that items that communicate much are close.
///
/// The method is the dual recursive bipartitioning of Pellegrini (Static mapping by dual recursive
/// bipartitioning of process and architecture graphs, Scalable High-Performance Computing
/// Conference, 1994). The tree of places is computed from the costs by average linkage.
pub(super) fn assign(slots: &Slots, random: &mut Rng) -> Vec<usize> {
    let n = slots.n;
    let tree = Tree::new(n, |slot, other| slots.costs[slot * n + other]);
    let neighbours: Vec<Vec<(usize, f64)>> = slots.neighbours();
    let mut slot_of = vec![0; n];
    let mut local = vec![None; n];
    let mut left = vec![(vec![tree.root()], (0..n).collect::<Vec<_>>())];
    while let Some((clusters, items)) = left.pop() {
        match (&clusters[..], &items[..]) {
            (_, []) => {}
            (&[slot], &[item]) => slot_of[item] = slot,
            (&[cluster], _) => left.push((tree.siblings(cluster), items)),
            _ => {
                let halves = halves(clusters, |cluster| tree.size(*cluster));
                let size = halves[0].iter().map(|cluster| tree.size(*cluster)).sum();
                let graph = Graph::new(&items, &neighbours, &mut local);
                let in_first = graph.bisect(size, random);
                let (first, second) = items
                    .iter()
                    .zip(&in_first)
                    .partition::<Vec<_>, _>(|(_, first)| **first);
                let items =
                    |part: Vec<(&usize, &bool)>| part.into_iter().map(|(item, _)| *item).collect();
                let [half, other] = halves;
                left.push((half, items(first)));
                left.push((other, items(second)));
            }
        }
    }
    slot_of
}

/// Clusters of slots that are close. A cluster with a number below `slots` is a single slot.
pub(super) struct Tree {
    slots: usize,
    /// For each cluster of several slots: the two parts, their distance, and the cluster's size.
    clusters: Vec<([usize; 2], f64, usize)>,
}

impl Tree {
    /// Makes clusters of `n` slots. `cost` returns the mean cost of both directions.
    pub(super) fn new(n: usize, cost: impl Fn(usize, usize) -> f64) -> Self {
        let pairs = (0..n).flat_map(|slot| (slot + 1..n).map(move |other| (slot, other)));
        let mut distances: Vec<f64> = pairs.map(|(slot, other)| cost(slot, other)).collect();
        let dendrogram = linkage(&mut distances, n, Method::Average);
        let steps = dendrogram.steps().iter();
        let clusters = steps
            .map(|step| {
                (
                    [step.cluster1, step.cluster2],
                    step.dissimilarity,
                    step.size,
                )
            })
            .collect();
        Self { slots: n, clusters }
    }

    pub(super) fn root(&self) -> usize {
        self.slots + self.clusters.len() - 1
    }

    pub(super) fn size(&self, cluster: usize) -> usize {
        cluster
            .checked_sub(self.slots)
            .map_or(1, |index| self.clusters[index].2)
    }

    /// Returns the parts of a cluster. [`ABOUT_EQUAL`] defines when a part is divided, too.
    pub(super) fn siblings(&self, cluster: usize) -> Vec<usize> {
        let (parts, distance, _) = self.clusters[cluster - self.slots];
        let mut siblings = Vec::new();
        let mut left = parts.to_vec();
        while let Some(part) = left.pop() {
            match part
                .checked_sub(self.slots)
                .map(|index| self.clusters[index])
            {
                Some((parts, below, _)) if below >= ABOUT_EQUAL * distance => left.extend(parts),
                _ => siblings.push(part),
            }
        }
        siblings
    }

    /// Calls `each` with each slot of a cluster.
    pub(super) fn places(&self, cluster: usize, mut each: impl FnMut(usize)) {
        let mut left = vec![cluster];
        while let Some(cluster) = left.pop() {
            match cluster.checked_sub(self.slots) {
                None => each(cluster),
                Some(index) => left.extend(self.clusters[index].0),
            }
        }
    }
}

/// Divides groups of slots into two halves with about as many slots.
pub(super) fn halves<G>(mut groups: Vec<G>, size: impl Fn(&G) -> usize) -> [Vec<G>; 2] {
    groups.sort_by_key(|group| std::cmp::Reverse(size(group)));
    let mut halves = [Vec::new(), Vec::new()];
    let mut sizes = [0, 0];
    for group in groups {
        let half = usize::from(sizes[1] < sizes[0]);
        sizes[half] += size(&group);
        halves[half].push(group);
    }
    halves
}

/// Some items, which have new numbers from 0 in this graph, and the volumes between them.
struct Graph {
    neighbours: Vec<Vec<(usize, f64)>>,
}

impl Graph {
    /// Returns the graph of `items`. `local` is a reused buffer, which must contain only `None`.
    fn new(items: &[usize], all: &[Vec<(usize, f64)>], local: &mut [Option<usize>]) -> Self {
        for (index, item) in items.iter().enumerate() {
            local[*item] = Some(index);
        }
        let inside = |item: &usize| {
            all[*item]
                .iter()
                .filter_map(|(other, volume)| Some((local[*other]?, *volume)))
                .collect()
        };
        let neighbours = items.iter().map(inside).collect();
        for item in items {
            local[*item] = None;
        }
        Self { neighbours }
    }

    /// Chooses `size` vertices for the first part, so that the two parts communicate little.
    fn bisect(&self, size: usize, random: &mut Rng) -> Vec<bool> {
        let tries = (0..TRIES).map(|_| {
            let mut division = Division::grow(self, size, random.usize(0..self.neighbours.len()));
            while division.improve() {}
            (division.cut(), division.in_first)
        });
        let (_, best) = tries
            .min_by(|(cut, _), (other, _)| cut.total_cmp(other))
            .expect("several tries");
        best
    }
}

struct Division<'a> {
    graph: &'a Graph,
    in_first: Vec<bool>,
    /// For each vertex, the decrease of the volume between the parts if the vertex changed parts.
    gains: Vec<f64>,
}

impl<'a> Division<'a> {
    /// Grows the first part from `start`. Always adds the vertex with which the volume between the
    /// parts is least.
    fn grow(graph: &'a Graph, size: usize, start: usize) -> Self {
        let none = vec![false; graph.neighbours.len()];
        let total =
            |edges: &Vec<(usize, f64)>| -edges.iter().map(|(_, volume)| volume).sum::<f64>();
        let gains = graph.neighbours.iter().map(total).collect();
        let mut division = Self {
            graph,
            in_first: none,
            gains,
        };
        // Vertices with an edge to the first part are preferred to all others.
        let mut touches = vec![false; division.in_first.len()];
        let mut next = start;
        for _ in 0..size {
            division.turn(next);
            for (other, _) in &graph.neighbours[next] {
                touches[*other] = true;
            }
            let outside = (0..touches.len()).filter(|vertex| !division.in_first[*vertex]);
            let order = |vertex: &usize, other: &usize| {
                let by_touch = touches[*vertex].cmp(&touches[*other]);
                by_touch.then(division.gains[*vertex].total_cmp(&division.gains[*other]))
            };
            match outside.max_by(order) {
                Some(vertex) => next = vertex,
                None => break,
            }
        }
        division
    }

    fn turn(&mut self, vertex: usize) {
        self.in_first[vertex] = !self.in_first[vertex];
        self.gains[vertex] = -self.gains[vertex];
        for (other, volume) in &self.graph.neighbours[vertex] {
            let together = self.in_first[*other] == self.in_first[vertex];
            self.gains[*other] += if together {
                -2.0 * volume
            } else {
                2.0 * volume
            };
        }
    }

    /// Exchanges vertices of the two parts, each vertex at most once, even at a loss. Then goes
    /// back to the best division that was reached. Returns whether this division is better than the
    /// initial one (C.M. Fiduccia and R.M. Mattheyses, A linear-time heuristic for improving
    /// network partitions, 19th Design Automation Conference, 1982).
    fn improve(&mut self) -> bool {
        let mut moved = vec![false; self.in_first.len()];
        let mut turned = Vec::new();
        let (mut gain, mut best, mut kept) = (0.0, 0.0, 0);
        let scale: f64 = self.gains.iter().map(|gain| gain.abs()).sum();
        'exchanges: while turned.len() < kept + 2 * EXCHANGES_WITHOUT_GAIN {
            for from_first in [true, false] {
                let candidates = (0..moved.len())
                    .filter(|vertex| !moved[*vertex] && self.in_first[*vertex] == from_first);
                let best = candidates.max_by(|a, b| self.gains[*a].total_cmp(&self.gains[*b]));
                let Some(vertex) = best else { break 'exchanges };
                gain += self.gains[vertex];
                moved[vertex] = true;
                self.turn(vertex);
                turned.push(vertex);
            }
            if gain > best + scale * 1e-12 {
                (best, kept) = (gain, turned.len());
            }
        }
        for vertex in turned.drain(kept..).rev() {
            self.turn(vertex);
        }
        best > 0.0
    }

    /// Returns twice the volume between the parts.
    fn cut(&self) -> f64 {
        let vertices = self.graph.neighbours.iter().enumerate();
        let cut = vertices.flat_map(|(vertex, edges)| {
            edges
                .iter()
                .filter(move |(other, _)| self.in_first[*other] != self.in_first[vertex])
        });
        cut.map(|(_, volume)| volume).sum()
    }
}
