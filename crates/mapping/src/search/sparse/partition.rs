//! Division of a graph into two parts that communicate little.
//!
//! The graph is made coarser by joining vertices that communicate much. The coarsest graph is
//! divided, and the division is improved on each finer graph (G. Karypis and V. Kumar, A fast and
//! high quality multilevel scheme for partitioning irregular graphs, SIAM Journal on Scientific
//! Computing 20, 1998).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use fastrand::Rng;

use crate::grid::Point;

/// A graph with at most this number of vertices is not made coarser.
pub(super) const COARSEST: usize = 48;

/// The number of divisions of the coarsest graph, of which the best is taken.
const TRIES: usize = 6;

/// A pass ends after this number of moves without a gain.
const WITHOUT_GAIN: usize = 96;

/// Some items of a problem, with new numbers from 0.
pub(super) struct Part {
    pub start: Vec<u32>,
    pub to: Vec<u32>,
    pub volumes: Vec<f64>,
    /// The number of items that each vertex stands for.
    pub sizes: Vec<u32>,
    /// What it costs if a vertex is in the first part, less the cost in the second part, in units
    /// of volume between the parts.
    pub bias: Vec<f64>,
}

/// The numbers of items between which the size of the first part is.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub least: usize,
    pub most: usize,
}

impl Bounds {
    fn violation(self, size: usize) -> usize {
        self.least
            .saturating_sub(size)
            .max(size.saturating_sub(self.most))
    }
}

impl Part {
    fn vertices(&self) -> usize {
        self.sizes.len()
    }

    fn edges(&self, vertex: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.start[vertex] as usize..self.start[vertex + 1] as usize;
        let volumes = self.volumes[range.clone()].iter().copied();
        self.to[range].iter().map(|to| *to as usize).zip(volumes)
    }

    /// Returns whether each vertex is in the first part.
    pub(super) fn bisect(&self, bounds: Bounds, tries: usize, random: &mut Rng) -> Vec<bool> {
        let divided = (0..tries).map(|_| self.divide(bounds, random));
        let best = divided.min_by(|one, other| {
            let by_size = one.violation(bounds).cmp(&other.violation(bounds));
            by_size.then(one.cut.total_cmp(&other.cut))
        });
        best.expect("at least one try").in_first
    }

    /// Divides vertices with points in a grid by the plane across an axis that cuts least, and
    /// improves the division.
    pub(super) fn bisect_by_planes<'p>(
        &self,
        bounds: Bounds,
        dimensions: usize,
        point: impl Fn(usize) -> &'p Point,
    ) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.vertices()).collect();
        let half = (order.len() / 2).clamp(bounds.least, bounds.most);
        let mut best: Option<Division<'_>> = None;
        for axis in 0..dimensions.max(1) {
            order.sort_unstable_by_key(|vertex| (point(*vertex)[axis], point(*vertex)));
            for size in [bounds.most, bounds.least, half] {
                let mut in_first = vec![false; order.len()];
                order[..size]
                    .iter()
                    .for_each(|vertex| in_first[*vertex] = true);
                let division = Division::of(self, in_first);
                if best.as_ref().is_none_or(|best| division.cut < best.cut) {
                    best = Some(division);
                }
            }
        }
        let mut division = best.expect("there is an axis");
        division.improve(bounds);
        division.in_first
    }

    fn divide(&self, bounds: Bounds, random: &mut Rng) -> Division<'_> {
        if let Some((coarse, vertex_of)) = self.coarser(random) {
            let division = coarse.divide(bounds, random);
            let in_first = vertex_of
                .iter()
                .map(|vertex| division.in_first[*vertex as usize]);
            let mut division = Division::of(self, in_first.collect());
            division.improve(bounds);
            return division;
        }
        let divisions = (0..TRIES).map(|_| {
            let mut division = Division::grown(self, bounds, random);
            division.improve(bounds);
            division
        });
        let best = divisions.min_by(|one, other| {
            let by_size = one.violation(bounds).cmp(&other.violation(bounds));
            by_size.then(one.cut.total_cmp(&other.cut))
        });
        best.expect("several tries")
    }

    /// Returns a coarser graph, and the vertex of each vertex there. `None` if the graph is small
    /// enough, or does not become much smaller.
    fn coarser(&self, random: &mut Rng) -> Option<(Self, Vec<u32>)> {
        const NONE: u32 = u32::MAX;
        let n = self.vertices();
        if n <= COARSEST {
            return None;
        }
        let items: usize = self.sizes.iter().map(|size| *size as usize).sum();
        let largest = (items / (COARSEST / 2)).max(2) as u32;
        let mut order: Vec<u32> = (0..n as u32).collect();
        random.shuffle(&mut order);
        let mut vertex_of = vec![NONE; n];
        let mut members: Vec<[u32; 2]> = Vec::with_capacity(n);
        let mut alone = NONE;
        for vertex in order {
            if vertex_of[vertex as usize] != NONE {
                continue;
            }
            let size = self.sizes[vertex as usize];
            let fits =
                |other: &usize| vertex_of[*other] == NONE && size + self.sizes[*other] <= largest;
            let mut partner = None;
            let mut heaviest = 0.0;
            for (other, volume) in self.edges(vertex as usize).filter(|(other, _)| fits(other)) {
                // Many small vertices are better than few large ones.
                let heavy = volume / f64::from(self.sizes[other]);
                if heavy > heaviest {
                    (partner, heaviest) = (Some(other as u32), heavy);
                }
            }
            // Vertices without any edge are joined, too, or nothing would become smaller.
            if partner.is_none() && self.start[vertex as usize] == self.start[vertex as usize + 1] {
                match alone {
                    NONE => alone = vertex,
                    other if fits(&(other as usize)) => (partner, alone) = (Some(other), NONE),
                    _ => {}
                }
                if alone == vertex {
                    continue;
                }
            }
            let joined = members.len() as u32;
            vertex_of[vertex as usize] = joined;
            let partner = partner.unwrap_or(vertex);
            vertex_of[partner as usize] = joined;
            members.push([vertex, partner]);
        }
        if alone != NONE && vertex_of[alone as usize] == NONE {
            vertex_of[alone as usize] = members.len() as u32;
            members.push([alone, alone]);
        }
        if members.len() * 20 > n * 19 {
            return None;
        }
        let mut coarse = Self {
            start: vec![0],
            to: Vec::with_capacity(self.to.len() / 2),
            volumes: Vec::with_capacity(self.to.len() / 2),
            sizes: Vec::with_capacity(members.len()),
            bias: Vec::with_capacity(members.len()),
        };
        // For each coarse vertex, the edge from the current one to it.
        let mut edge_to = vec![NONE; members.len()];
        for (joined, [one, other]) in members.iter().enumerate() {
            let first = coarse.to.len();
            let (mut size, mut bias) = (0, 0.0);
            let both = [*one, *other];
            for vertex in &both[..if one == other { 1 } else { 2 }] {
                let vertex = *vertex as usize;
                size += self.sizes[vertex];
                bias += self.bias[vertex];
                for (to, volume) in self.edges(vertex) {
                    let to = vertex_of[to];
                    let edge = edge_to[to as usize];
                    if to as usize == joined {
                    } else if edge != NONE && edge as usize >= first {
                        coarse.volumes[edge as usize] += volume;
                    } else {
                        edge_to[to as usize] = coarse.to.len() as u32;
                        coarse.to.push(to);
                        coarse.volumes.push(volume);
                    }
                }
            }
            coarse.sizes.push(size);
            coarse.bias.push(bias);
            coarse.start.push(coarse.to.len() as u32);
        }
        Some((coarse, vertex_of))
    }
}

/// A vertex that may move, and its gain when it was found.
struct Candidate {
    gain: f64,
    vertex: u32,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain
            .total_cmp(&other.gain)
            .then(self.vertex.cmp(&other.vertex))
    }
}

struct Division<'a> {
    part: &'a Part,
    in_first: Vec<bool>,
    /// For each vertex, the decrease of the cut if the vertex changed parts.
    gains: Vec<f64>,
    /// The number of items of the first part.
    size: usize,
    /// The volume between the parts, and the bias of the vertices of the first part.
    cut: f64,
}

impl<'a> Division<'a> {
    fn of(part: &'a Part, in_first: Vec<bool>) -> Self {
        let mut division = Self {
            part,
            gains: vec![0.0; in_first.len()],
            size: 0,
            cut: 0.0,
            in_first,
        };
        for vertex in 0..part.vertices() {
            let here = division.in_first[vertex];
            let mut gain = if here {
                part.bias[vertex]
            } else {
                -part.bias[vertex]
            };
            for (other, volume) in part.edges(vertex) {
                if division.in_first[other] == here {
                    gain -= volume
                } else {
                    gain += volume;
                    division.cut += volume / 2.0;
                }
            }
            division.gains[vertex] = gain;
            if here {
                division.size += part.sizes[vertex] as usize;
                division.cut += part.bias[vertex];
            }
        }
        division
    }

    /// Grows the first part from a random vertex. Adds the vertex with the best gain among those
    /// with an edge to the first part.
    fn grown(part: &'a Part, bounds: Bounds, random: &mut Rng) -> Self {
        let n = part.vertices();
        let mut division = Self::of(part, vec![false; n]);
        let mut heap = BinaryHeap::new();
        let first = random.usize(0..n);
        let mut order = (0..n).map(|vertex| (first + vertex) % n);
        while division.size < bounds.least {
            let next = loop {
                match heap.pop() {
                    Some(Candidate { gain, vertex }) => {
                        let vertex = vertex as usize;
                        if !division.in_first[vertex] && gain == division.gains[vertex] {
                            break Some(vertex);
                        }
                    }
                    None => break order.find(|vertex| !division.in_first[*vertex]),
                }
            };
            let Some(vertex) = next else { break };
            division.turn(vertex, |other, gain| {
                heap.push(Candidate {
                    gain,
                    vertex: other as u32,
                });
            });
        }
        division
    }

    fn violation(&self, bounds: Bounds) -> usize {
        bounds.violation(self.size)
    }

    /// Moves a vertex to the other part, and calls `changed` with each neighbour and its gain.
    fn turn(&mut self, vertex: usize, mut changed: impl FnMut(usize, f64)) {
        let part = self.part;
        self.cut -= self.gains[vertex];
        self.gains[vertex] = -self.gains[vertex];
        self.in_first[vertex] = !self.in_first[vertex];
        let here = self.in_first[vertex];
        let size = part.sizes[vertex] as usize;
        self.size = if here {
            self.size + size
        } else {
            self.size - size
        };
        for (other, volume) in part.edges(vertex) {
            let change = if self.in_first[other] == here {
                -2.0
            } else {
                2.0
            };
            self.gains[other] += change * volume;
            changed(other, self.gains[other]);
        }
    }

    fn improve(&mut self, bounds: Bounds) {
        while self.pass(bounds) {}
    }

    /// Moves vertices, each at most once, even at a loss. Then goes back to the best division that
    /// was reached. Returns whether this division is better than the initial one (C.M. Fiduccia and
    /// R.M. Mattheyses, A linear-time heuristic for improving network partitions, 19th Design
    /// Automation Conference, 1982).
    fn pass(&mut self, bounds: Bounds) -> bool {
        let part = self.part;
        let n = part.vertices();
        let largest = part.sizes.iter().copied().max().unwrap_or(1) as usize;
        // The heaps of the vertices of the second and of the first part.
        let mut heaps = [BinaryHeap::new(), BinaryHeap::new()];
        let is_whole = n <= 4 * COARSEST;
        for vertex in 0..n {
            let here = self.in_first[vertex];
            let on_border = || {
                part.edges(vertex)
                    .any(|(other, _)| self.in_first[other] != here)
            };
            if is_whole || part.bias[vertex] != 0.0 || on_border() {
                heaps[usize::from(here)].push(Candidate {
                    gain: self.gains[vertex],
                    vertex: vertex as u32,
                });
            }
        }
        let mut has_all = [is_whole; 2];
        let mut moved = vec![false; n];
        let mut turned: Vec<u32> = Vec::new();
        let begun = (self.violation(bounds), self.cut);
        let mut best = begun;
        let mut kept = 0;
        while turned.len() < kept + WITHOUT_GAIN || self.violation(bounds) > best.0 {
            let sides: &[usize] = match self.size {
                size if size > bounds.most => &[1],
                size if size < bounds.least => &[0],
                _ => &[0, 1],
            };
            let mut next: Option<(f64, usize)> = None;
            for side in sides {
                let found = loop {
                    let Some(top) = heaps[*side].peek() else {
                        // A part that has to give vertices may have none on the border.
                        if has_all[*side] || sides.len() > 1 {
                            break None;
                        }
                        has_all[*side] = true;
                        let inner = (0..n).filter(|vertex| {
                            !moved[*vertex] && usize::from(self.in_first[*vertex]) == *side
                        });
                        let inner = inner.map(|vertex| Candidate {
                            gain: self.gains[vertex],
                            vertex: vertex as u32,
                        });
                        heaps[*side] = inner.collect();
                        continue;
                    };
                    let vertex = top.vertex as usize;
                    let is_current = !moved[vertex]
                        && usize::from(self.in_first[vertex]) == *side
                        && top.gain == self.gains[vertex];
                    let size = part.sizes[vertex] as usize;
                    let after = match side {
                        1 => self.size.saturating_sub(size),
                        _ => self.size + size,
                    };
                    if is_current && bounds.violation(after) <= largest.max(self.violation(bounds))
                    {
                        break Some((top.gain, vertex));
                    }
                    heaps[*side].pop();
                };
                if let Some(found) = found
                    && next.is_none_or(|next| found.0 > next.0)
                {
                    next = Some(found);
                }
            }
            let Some((_, vertex)) = next else { break };
            moved[vertex] = true;
            turned.push(vertex as u32);
            let mut touched = Vec::new();
            self.turn(vertex, |other, gain| {
                if !moved[other] {
                    touched.push(Candidate {
                        gain,
                        vertex: other as u32,
                    });
                }
            });
            for candidate in touched {
                let side = usize::from(self.in_first[candidate.vertex as usize]);
                heaps[side].push(candidate);
            }
            let now = (self.violation(bounds), self.cut);
            let enough = best.1 - best.1.abs() * 1e-12;
            if now.0 < best.0 || (now.0 == best.0 && now.1 < enough) {
                best = now;
                kept = turned.len();
            }
        }
        for vertex in turned.drain(kept..).rev() {
            self.turn(vertex as usize, |_, _| {});
        }
        kept > 0
    }
}
