//! A block that is compared with other blocks: the computation of [`Knn`](super::Knn).
//!
//! ```text
//!   home, 8 points side by side           other block, 4 points at a time
//!
//!   coordinate 0:  a0 b0 c0 ... h0        w0 w1 w2 ...
//!   coordinate 1:  a1 b1 c1 ... h1        x0 x1 x2 ...     32 sums of squares in parallel,
//!   coordinate 2:  a2 b2 c2 ... h2        y0 y1 y2 ...     one for each pair
//!   ...                                   z0 z1 z2 ...
//! ```
//!
//! A vector has the sums of several pairs of points. A pair in 72 dimensions takes 3 ns on a core
//! of an EPYC with AVX2.
//! Rejected: a vector with several coordinates of one pair of points. A pair then takes 9 ns.

use std::array;

use cellworks_machine::Cycles;
use multiversion::multiversion;

use super::data::{Block, HEADER_BYTES, Neighbour, Neighbours, Plan};

/// The cycles of an SPU for a coordinate of a pair, without SIMD as in the paper: a multiply-add
/// that waits for the previous one (Cell BE Programming Tutorial, table of pipeline latencies).
const CYCLES_PER_COORDINATE: u64 = 6;
/// The further cycles of a pair: a load (6), a comparison (2), a correctly predicted branch (0).
const CYCLES_PER_PAIR: u64 = 6 + 2;
/// The further cycles of a new neighbour, for a branch that was hinted wrong.
const CYCLES_PER_NEIGHBOUR: u64 = 18;
/// The cycles to move one list element that comes after an inserted neighbour: a load and a store.
const CYCLES_PER_MOVED: u64 = 6 + 6;

/// The number of points in a group of the home: one vector of AVX2, or two smaller vectors.
const LANES: usize = 8;
/// The number of points of the other block that are compared with a group at once.
const AT_ONCE: usize = 4;

pub(super) struct Home {
    first: u32,
    number: usize,
    groups: Vec<Group>,
    /// The neighbours of each point, nearest first.
    neighbours: Vec<Vec<Neighbour>>,
    dimensions: usize,
    wanted: usize,
}

/// Points of the home that are compared together, one in each lane of a vector.
struct Group {
    /// The coordinates of the points of the group. Each array has one coordinate of all points.
    coordinates: Vec<[f32; LANES]>,
    /// For each point, the squared distance that a new neighbour must not exceed: infinite until
    /// the point's list of neighbours is full. A lane without a point accepts no neighbour.
    farthest: [f32; LANES],
}

impl Home {
    /// Returns the number of bytes that a home occupies in a local store.
    pub fn bytes(plan: &Plan) -> usize {
        let points = plan.block_points.next_multiple_of(LANES);
        let of_neighbours = plan.block_points * plan.neighbours * size_of::<Neighbour>();
        HEADER_BYTES + points * plan.dimensions * size_of::<f32>() + of_neighbours
    }

    /// Makes a home from a block, before any comparison.
    pub fn new(block: &Block, plan: &Plan) -> Self {
        let points = block.coordinates.chunks_exact(plan.dimensions);
        let list = || Vec::with_capacity(plan.neighbours + 1);
        Self {
            first: block.first,
            number: block.number,
            neighbours: (0..points.len()).map(|_| list()).collect(),
            groups: Vec::from_iter(points)
                .chunks(LANES)
                .map(|points| Group::new(points, plan.dimensions))
                .collect(),
            dimensions: plan.dimensions,
            wanted: plan.neighbours,
        }
    }

    /// Compares each point of the home with each point of `other`. Returns the cycles that an SPU
    /// takes for these comparisons.
    pub fn compare(&mut self, other: &Block) -> Cycles {
        let others = other.coordinates.len() / self.dimensions;
        let with_themselves = if other.number == self.number {
            others
        } else {
            0
        };
        let pairs = (self.neighbours.len() * others - with_themselves) as u64;
        let mut cycles = pairs * (CYCLES_PER_PAIR + CYCLES_PER_COORDINATE * self.dimensions as u64);
        let homes = self
            .groups
            .iter_mut()
            .zip(self.neighbours.chunks_mut(LANES));
        for ((group, lists), first) in homes.zip((self.first..).step_by(LANES)) {
            let together = other.coordinates.chunks(AT_ONCE * self.dimensions);
            for (there, points) in (other.first..).step_by(AT_ONCE).zip(together) {
                let points = points.chunks_exact(self.dimensions);
                let count = points.len();
                let distances = group.squared_distances(points);
                for (number, distances) in (there..).zip(&distances[..count]) {
                    if !group.is_near(distances) {
                        continue;
                    }
                    for (lane, list) in lists.iter_mut().enumerate() {
                        let squared = distances[lane];
                        if squared > group.farthest[lane] || number == first + lane as u32 {
                            continue;
                        }
                        let candidate = Neighbour {
                            squared,
                            point: number,
                        };
                        if let Some(moved) = insert(list, candidate, self.wanted) {
                            cycles += CYCLES_PER_NEIGHBOUR + CYCLES_PER_MOVED * moved as u64;
                        }
                        if let Some(last) = list.get(self.wanted - 1) {
                            group.farthest[lane] = last.squared;
                        }
                    }
                }
            }
        }
        Cycles(cycles)
    }

    pub fn found(self) -> Neighbours {
        Neighbours {
            first: self.first,
            neighbours: self.neighbours,
        }
    }
}

impl Group {
    fn new(points: &[&[f32]], dimensions: usize) -> Self {
        let side_by_side = |dimension: usize| {
            array::from_fn(|lane| points.get(lane).map_or(0.0, |point| point[dimension]))
        };
        let farthest = |lane| {
            if lane < points.len() {
                f32::INFINITY
            } else {
                f32::NEG_INFINITY
            }
        };
        Self {
            coordinates: (0..dimensions).map(side_by_side).collect(),
            farthest: array::from_fn(farthest),
        }
    }

    /// Returns the squared distances of up to [`AT_ONCE`] points to all points of the group.
    /// Results for missing points and for lanes without a point are meaningless.
    fn squared_distances<'a>(
        &self,
        mut points: impl Iterator<Item = &'a [f32]>,
    ) -> [[f32; LANES]; AT_ONCE] {
        let mut last: &[f32] = &[];
        let points = array::from_fn(|_| {
            last = points.next().unwrap_or(last);
            last
        });
        let mut sums = [[0.0; LANES]; AT_ONCE];
        add_squares(&self.coordinates, points, &mut sums);
        sums
    }

    /// Returns whether at least one point of the group may have a new neighbour at these distances.
    fn is_near(&self, distances: &[f32; LANES]) -> bool {
        let pairs = distances.iter().zip(&self.farthest);
        pairs.fold(false, |near, (distance, farthest)| {
            near | (distance <= farthest)
        })
    }
}

/// Adds the squared differences of all coordinates of each pair to the pair's sum.
#[multiversion(targets("x86_64+avx2"))]
fn add_squares(
    group: &[[f32; LANES]],
    points: [&[f32]; AT_ONCE],
    sums: &mut [[f32; LANES]; AT_ONCE],
) {
    let mut inner = *sums;
    let [a, b, c, d] = points;
    // Zipped slices share one length, so no access needs a bounds check.
    for ((((group, a), b), c), d) in group.iter().zip(a).zip(b).zip(c).zip(d) {
        for (sums, coordinate) in inner.iter_mut().zip([a, b, c, d]) {
            for (sum, of_group) in sums.iter_mut().zip(group) {
                let difference = of_group - coordinate;
                *sum += difference * difference;
            }
        }
    }
    *sums = inner;
}

/// Inserts a candidate into a list of up to `wanted` neighbours. Returns the number of neighbours
/// after the candidate in the list, or `None` if the candidate is too far away.
fn insert(list: &mut Vec<Neighbour>, candidate: Neighbour, wanted: usize) -> Option<usize> {
    let is_full = list.len() == wanted;
    if is_full && list.last().is_some_and(|last| *last < candidate) {
        return None;
    }
    let place = list.partition_point(|other| *other < candidate);
    list.insert(place, candidate);
    list.truncate(wanted);
    Some(list.len() - 1 - place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_nearest_in_order() {
        let neighbour = |squared, point| Neighbour { squared, point };
        let mut list = Vec::new();
        let mut moved = Vec::new();
        for (squared, point) in [(5.0, 1), (3.0, 2), (9.0, 3), (3.0, 0), (9.0, 4), (1.0, 5)] {
            moved.push(insert(&mut list, neighbour(squared, point), 3));
        }
        assert_eq!(
            list,
            [neighbour(1.0, 5), neighbour(3.0, 0), neighbour(3.0, 2)]
        );
        assert_eq!(moved, [Some(0), Some(1), Some(0), Some(2), None, Some(2)]);
    }

    /// Each block has 3 points. This is less than [`LANES`], and also less than [`AT_ONCE`].
    #[test]
    fn a_comparison_takes_what_its_pairs_and_new_neighbours_take() {
        let plan = Plan {
            processes: 1,
            blocks: 2,
            homes: 2,
            block_points: 3,
            dimensions: 2,
            neighbours: 1,
        };
        let block = |number, first, coordinates: &[f32]| Block {
            number,
            first,
            coordinates: coordinates.into(),
        };
        let here = block(0, 0, &[0.0, 0.0, 10.0, 0.0, 0.0, 20.0]);
        let mut home = Home::new(&here, &plan);
        let of_pair = CYCLES_PER_PAIR + 2 * CYCLES_PER_COORDINATE;
        // Point 0 has neighbour 1, because point 2 is farther. Points 1 and 2 have neighbour 0.
        let itself = 6 * of_pair + 3 * CYCLES_PER_NEIGHBOUR;
        assert_eq!(home.compare(&here), Cycles(itself));
        // Point 4 is nearer to points 0 and 2. Points 5 and 0 are equally far from point 1.
        let there = block(1, 3, &[90.0, 90.0, 0.0, 5.0, 20.0, 0.0]);
        let other = 9 * of_pair + 2 * CYCLES_PER_NEIGHBOUR;
        assert_eq!(home.compare(&there), Cycles(other));
        let nearest = home.found().neighbours.concat();
        let neighbour = |squared, point| Neighbour { squared, point };
        assert_eq!(
            nearest,
            [neighbour(25.0, 4), neighbour(100.0, 0), neighbour(225.0, 4)]
        );
    }
}
