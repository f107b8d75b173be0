//! The points of [`Knn`](super::Knn), and a search by brute force that checks the results.

use std::collections::BinaryHeap;

use multiversion::multiversion;

use super::data::{Block, Neighbour, Neighbours};
use crate::error::{ProgramError, agree};

pub(super) struct Points {
    /// Coordinates from 0 to 255, as `i16` so that one vector instruction multiplies many of them.
    coordinates: Vec<i16>,
    dimensions: usize,
}

/// The number of points in a tile. A tile stays in the first-level cache during comparisons.
const TILE: usize = 32;

impl Points {
    pub fn new(count: usize, dimensions: usize) -> Self {
        let mix = |number: u64| (number ^ (number >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let coordinate = |at: usize| (mix(mix(mix(at as u64 + 1))) >> 56) as i16;
        Self {
            coordinates: (0..count * dimensions).map(coordinate).collect(),
            dimensions,
        }
    }

    pub fn blocks(&self, points: usize) -> Vec<Block> {
        let parts = self.coordinates.chunks(points * self.dimensions);
        let block = |(number, part): (usize, &[i16])| Block {
            number,
            first: (number * points) as u32,
            coordinates: part.iter().map(|one| f32::from(*one)).collect(),
        };
        parts.enumerate().map(block).collect()
    }

    /// Compares the found neighbours of the first `count` points with the neighbours that a search
    /// by brute force finds.
    pub fn verify(
        &self,
        mut found: Vec<Neighbours>,
        count: usize,
        wanted: usize,
    ) -> Result<(), ProgramError> {
        const BY: &str = "by brute force";
        found.sort_by_key(|found| found.first);
        let found: Vec<_> = found
            .into_iter()
            .flat_map(|found| found.neighbours)
            .collect();
        agree(
            || "the number of points with neighbours".to_owned(),
            found.len(),
            count,
            BY,
        )?;
        let expected = self.by_brute_force(count, wanted);
        for (point, (found, expected)) in found.into_iter().zip(expected).enumerate() {
            agree(
                || format!("the number of neighbours of point {point}"),
                found.len(),
                expected.len(),
                BY,
            )?;
            for (place, (found, expected)) in (1..).zip(found.into_iter().zip(expected)) {
                let what = || format!("neighbour {place} of point {point}");
                agree(what, found, expected, BY)?;
            }
        }
        Ok(())
    }

    fn count(&self) -> usize {
        self.coordinates.len() / self.dimensions
    }

    /// Returns the neighbours of each point with a number below `first`, nearest first. Compares
    /// each pair of points at most once.
    fn by_brute_force(&self, first: usize, wanted: usize) -> impl Iterator<Item = Vec<Neighbour>> {
        let mut nearest = vec![Nearest::new(wanted); first];
        let mut squared = [0; TILE];
        for tile in (0..first).step_by(TILE) {
            for other in tile + 1..self.count() {
                let points = tile..first.min(tile + TILE).min(other);
                let compared = points.len();
                let here = points.start * self.dimensions..points.end * self.dimensions;
                let there = other * self.dimensions..(other + 1) * self.dimensions;
                let (here, there) = (&self.coordinates[here], &self.coordinates[there]);
                squared_distances(here, there, &mut squared);
                for (point, squared) in points.zip(&squared[..compared]) {
                    nearest[point].offer(*squared, other);
                    if let Some(nearest) = nearest.get_mut(other) {
                        nearest.offer(*squared, point);
                    }
                }
            }
        }
        nearest.into_iter().map(Nearest::into_neighbours)
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn squared_distances(points: &[i16], other: &[i16], squared: &mut [u32; TILE]) {
    for (point, squared) in points.chunks_exact(other.len()).zip(squared) {
        let pairs = point.iter().zip(other);
        let sum: i32 = pairs
            .map(|(a, b)| i32::from(a - b) * i32::from(a - b))
            .sum();
        *squared = sum as u32;
    }
}

/// The `wanted` nearest points of those that were offered so far.
#[derive(Clone)]
struct Nearest {
    wanted: usize,
    /// Squared distances in the upper 32 bits, points in the lower 32 bits. The farthest point is
    /// on top.
    heap: BinaryHeap<u64>,
}

impl Nearest {
    fn new(wanted: usize) -> Self {
        Self {
            wanted,
            heap: BinaryHeap::new(),
        }
    }

    fn offer(&mut self, squared: u32, point: usize) {
        let key = u64::from(squared) << 32 | point as u64;
        if self.heap.len() < self.wanted {
            self.heap.push(key);
        } else if self.heap.peek().is_some_and(|farthest| key < *farthest) {
            self.heap.pop();
            self.heap.push(key);
        }
    }

    fn into_neighbours(self) -> Vec<Neighbour> {
        let neighbour = |key: u64| Neighbour {
            squared: (key >> 32) as f32,
            point: key as u32,
        };
        let keys = self.heap.into_sorted_vec();
        keys.into_iter().map(neighbour).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_that_is_none_is_named() {
        let points = Points {
            coordinates: vec![0, 0, 3, 4, 1, 0],
            dimensions: 2,
        };
        let found = |of_first| Neighbours {
            first: 0,
            neighbours: [(1.0, of_first), (20.0, 2), (1.0, 0)]
                .map(|(squared, point)| vec![Neighbour { squared, point }])
                .into(),
        };
        assert!(points.verify(vec![found(2)], 3, 1).is_ok());
        let error = points.verify(vec![found(1)], 3, 1).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "the result is wrong: neighbour 1 of point 0 is point 1 at the squared distance 1, and point 2 at the \
                 squared distance 1 by brute force;"
            ),
            "{error}"
        );
        let error = points.verify(Vec::new(), 3, 1).unwrap_err().to_string();
        assert!(
            error.contains("the number of points with neighbours is 0, and 3 by brute force"),
            "{error}"
        );
    }

    /// There are more points than a tile has. The expected neighbours come from sorting all points.
    #[test]
    fn brute_force_finds_the_nearest() {
        const COUNT: usize = 2 * TILE + 5;
        const WANTED: usize = 4;
        let points = Points::new(COUNT, 3);
        let of = |point: usize| &points.coordinates[point * 3..][..3];
        // A search for the neighbours of only the first points finds what a search for all finds.
        let of_some = points.by_brute_force(TILE + 3, WANTED);
        assert!(of_some.eq(points.by_brute_force(COUNT, WANTED).take(TILE + 3)));
        for (point, found) in points.by_brute_force(COUNT, WANTED).enumerate() {
            let squared = |other: usize| -> i32 {
                let pairs = of(point).iter().zip(of(other));
                pairs.map(|(a, b)| i32::from(a - b).pow(2)).sum()
            };
            let others = (0..COUNT).filter(|other| *other != point);
            let mut all: Vec<_> = others.map(|other| (squared(other), other)).collect();
            all.sort_unstable();
            let expected = all[..WANTED].iter().map(|&(squared, point)| Neighbour {
                squared: squared as f32,
                point: point as u32,
            });
            assert_eq!(found, Vec::from_iter(expected));
        }
    }
}
