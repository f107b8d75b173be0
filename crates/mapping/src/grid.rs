//! Graphs whose vertices are points of a grid, such as those of stencils, or of a torus: a grid in
//! which the last point of a line is a neighbour of the first one, as in a stencil with periodic
//! borders.

use std::collections::{BTreeMap, BTreeSet};

/// A pair of vertices that communicate, and their volume in both directions.
pub(crate) type Edge = (usize, usize, f64);

/// The number of gaps between volumes that are tried.
const GAPS: usize = 4;

/// Returns the neighbours of each vertex along all edges, and then along those with larger volumes:
/// those above one of the widest gaps between volumes, which are at least half of the volume. So
/// the corners of a stencil, and messages of collectives, do not hide what most of the volume is.
/// Beside the neighbours stands the least volume of their edges.
pub(crate) fn heavy_parts(
    vertices: usize,
    edges: &[Edge],
) -> impl Iterator<Item = (Vec<Vec<usize>>, f64)> {
    let mut volumes: Vec<f64> = edges.iter().map(|(_, _, volume)| *volume).collect();
    volumes.sort_unstable_by(f64::total_cmp);
    let half = volumes.iter().sum::<f64>() / 2.0;
    let mut above = 0.0;
    let mut gaps: Vec<(f64, f64)> = Vec::new();
    for pair in volumes.windows(2).rev() {
        above += pair[1];
        if above >= half && pair[1] > pair[0] {
            gaps.push((pair[1] / pair[0], pair[1]));
        }
    }
    gaps.sort_by(|one, other| other.0.total_cmp(&one.0));
    gaps.truncate(GAPS);
    let mut least: Vec<f64> = gaps.iter().map(|(_, least)| *least).collect();
    least.sort_by(f64::total_cmp);
    std::iter::once(0.0).chain(least).map(move |least| {
        let mut neighbours = vec![Vec::new(); vertices];
        for (one, other, _) in edges.iter().filter(|(_, _, volume)| *volume >= least) {
            neighbours[*one].push(*other);
            neighbours[*other].push(*one);
        }
        (neighbours, least)
    })
}

/// The largest number of dimensions. With more, the bound for hypercubes is better.
pub(crate) const DIMENSIONS_MAX: usize = 32;

pub(crate) type Point = [u32; DIMENSIONS_MAX];

/// The points of a graph's vertices in a grid, so that edges are between neighbours.
pub(crate) struct Grid {
    /// For each axis, the number of points of a line if its ends are neighbours.
    pub around: Vec<Option<usize>>,
    /// The connected components lie behind each other along the first axis.
    pub points: Vec<Point>,
}

impl Grid {
    /// Returns `None` if the graph is no part of a grid and no torus, or if the points are not
    /// found.
    pub(crate) fn of(neighbours: &[Vec<usize>]) -> Option<Self> {
        Self::from_a_corner(neighbours).or_else(|| Self::by_numbers(neighbours))
    }

    /// Finds the points from the numbers of the vertices, which are numbered line by line, as the
    /// ranks of `MPI_Cart_create` are.
    fn by_numbers(neighbours: &[Vec<usize>]) -> Option<Self> {
        let all = neighbours.len();
        let edges = || {
            let of = |(one, others): (usize, &Vec<usize>)| {
                others
                    .iter()
                    .map(move |other| (one, *other))
                    .collect::<Vec<_>>()
            };
            neighbours.iter().enumerate().flat_map(of)
        };
        let apart: BTreeSet<usize> = edges().map(|(one, other)| one.abs_diff(other)).collect();
        // The distance of neighbours along each axis, and the distance of the ends of a line.
        let mut axes: Vec<(usize, usize, Option<usize>)> = Vec::new();
        let mut step = 1;
        while step < all && axes.len() < DIMENSIONS_MAX {
            let next = apart.range(step + 1..).next().copied().unwrap_or(all);
            // If the ends of lines are neighbours, the next axis is one step after them.
            let after = next + step;
            let is_around = after == all || apart.contains(&after);
            let end = if is_around { after } else { next };
            if !end.is_multiple_of(step) {
                return None;
            }
            axes.push((step, end / step, is_around.then_some(end / step)));
            step = end;
        }
        if step != all {
            return None;
        }
        let point = |vertex: usize| {
            let mut point = [0; DIMENSIONS_MAX];
            for (axis, (step, count, _)) in axes.iter().enumerate() {
                point[axis] = u32::try_from(vertex / step % count).ok()?;
            }
            Some(point)
        };
        let points = (0..all).map(point).collect::<Option<Vec<Point>>>()?;
        let are_neighbours = |one: &Point, other: &Point| {
            let mut differing = (0..axes.len()).filter(|axis| one[*axis] != other[*axis]);
            let (Some(axis), None) = (differing.next(), differing.next()) else {
                return false;
            };
            let apart = one[axis].abs_diff(other[axis]) as usize;
            apart == 1 || axes[axis].2 == Some(apart + 1)
        };
        edges()
            .all(|(one, other)| are_neighbours(&points[one], &points[other]))
            .then(|| Self {
                around: axes.iter().map(|(_, _, around)| *around).collect(),
                points,
            })
    }

    /// Finds the points of a grid from a corner: a vertex with the fewest neighbours.
    fn from_a_corner(neighbours: &[Vec<usize>]) -> Option<Self> {
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
        Some(Self {
            around: vec![None; dimensions],
            points,
        })
    }
}
