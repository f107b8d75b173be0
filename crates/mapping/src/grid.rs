//! Graphs whose vertices are points of a grid, such as those of stencils.

use std::collections::{BTreeMap, BTreeSet};

/// The largest number of dimensions. With more, the bound for hypercubes is better.
pub(crate) const DIMENSIONS_MAX: usize = 32;

pub(crate) type Point = [u32; DIMENSIONS_MAX];

/// The points of a graph's vertices in a grid, so that edges are between neighbours.
pub(crate) struct Grid {
    pub dimensions: usize,
    /// The connected components lie behind each other along the first axis.
    pub points: Vec<Point>,
}

impl Grid {
    /// Finds the points from a corner: a vertex with the fewest neighbours. Returns `None` if the
    /// graph is no part of a grid, or if this way does not find the points.
    pub(crate) fn of(neighbours: &[Vec<usize>]) -> Option<Self> {
        let mut points: Vec<Option<Point>> = vec![None; neighbours.len()];
        let (mut dimensions, mut behind) = (0, 0);
        let mut corners: Vec<usize> = (0..neighbours.len()).collect();
        corners.sort_by_key(|vertex| neighbours[*vertex].len());
        for corner in corners {
            if points[corner].is_some() {
                continue;
            }
            points[corner] = Some([0; DIMENSIONS_MAX]);
            let (mut own, mut layer) = (0, vec![corner]);
            while !layer.is_empty() {
                let mut next: Vec<(usize, usize, Point)> = Vec::new();
                let mut index_of = BTreeMap::new();
                for vertex in &layer {
                    let point = points[*vertex]?;
                    for other in neighbours[*vertex]
                        .iter()
                        .filter(|other| points[**other].is_none())
                    {
                        let index = *index_of.entry(*other).or_insert_with(|| {
                            next.push((*other, 0, [0; DIMENSIONS_MAX]));
                            next.len() - 1
                        });
                        let (_, before, largest) = &mut next[index];
                        *before += 1;
                        for (mine, its) in largest.iter_mut().zip(point) {
                            *mine = (*mine).max(its);
                        }
                    }
                }
                layer.clear();
                for (vertex, before, mut point) in next {
                    if before == 1 {
                        // One vertex before it: it is on an axis.
                        let mut axes = (0..own).filter(|axis| point[*axis] > 0);
                        match (axes.next(), axes.next()) {
                            (None, _) if own < DIMENSIONS_MAX => {
                                point[own] = 1;
                                own += 1;
                            }
                            (Some(axis), None) => point[axis] += 1,
                            _ => return None,
                        }
                    }
                    points[vertex] = Some(point);
                    layer.push(vertex);
                }
            }
            dimensions = dimensions.max(own);
            // The points of a component are different, and its edges are between neighbours.
            let mut found = Vec::new();
            let mut left = vec![corner];
            let mut seen = BTreeSet::new();
            while let Some(vertex) = left.pop() {
                if !seen.insert(vertex) {
                    continue;
                }
                let point = points[vertex]?;
                found.push(point);
                for other in &neighbours[vertex] {
                    let its = points[*other]?;
                    let apart = point
                        .iter()
                        .zip(&its)
                        .map(|(one, other)| one.abs_diff(*other));
                    if apart.sum::<u32>() != 1 {
                        return None;
                    }
                    left.push(*other);
                }
            }
            let all = found.len();
            found.sort_unstable();
            found.dedup();
            if found.len() < all {
                return None;
            }
            for vertex in seen {
                let point = points[vertex].as_mut()?;
                point[0] += behind;
            }
            behind += 2 + found.iter().map(|point| point[0]).max()?;
        }
        let points = points.into_iter().collect::<Option<_>>()?;
        Some(Self { dimensions, points })
    }
}
