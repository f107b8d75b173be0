//! A lower bound by the volume that has to cross the borders of parts.
//!
//! If all places are in parts of at most r places, with a cost of at least c between places of
//! different parts, then the volume between tasks of different parts costs at least c. The more
//! volume can be within parts, the lower is this bound. How much can be within parts is limited by
//! the number of edges that a graph has between r vertices at most.

use crate::grid::{Edge, Grid, heavy_parts};
use crate::ids::Place;
use crate::problem::Problem;

/// Sums of volumes that differ by less than this share of them are equal.
const ROUNDING: f64 = 1e-12;

/// Parts of places. Any two places of different parts cost at least `cost`.
struct Parts {
    cost: f64,
    /// The number of parts that have room for tasks.
    count: usize,
    /// The largest number of tasks for which a part has room.
    room: usize,
}

impl Problem {
    /// Returns a lower bound of the cost of all placements. It is good on machines of levels.
    pub(crate) fn bound_by_cuts(&self) -> f64 {
        let graph = Communication::of(self);
        let parts = if self.costs().levels().is_empty() {
            clusters(self)
        } else {
            levels(self)
        };
        let mut bound = 0.0;
        let mut inner = f64::INFINITY;
        let mut cheaper = parts.iter().skip(1).map(|parts| parts.cost);
        for parts in &parts {
            // A cost that is higher inside than outside counts as the cost outside.
            inner = inner.min(parts.cost);
            let next = cheaper.next().unwrap_or(0.0).min(inner);
            // What is left of rounded sums is no volume.
            let between = graph.all - graph.within(parts);
            if between > graph.all * ROUNDING {
                bound += (inner - next) * between;
            }
        }
        let own = (0..self.costs().places()).map(Place);
        let own = own.filter(|place| self.capacity(*place) > 0);
        let cheapest = own.map(|place| self.costs().between(place, place));
        match graph.alone {
            0.0 => bound,
            alone => bound + alone * cheapest.fold(f64::INFINITY, f64::min),
        }
    }
}

/// Returns the parts of each level of a machine, the outermost first. The last are single places.
fn levels(problem: &Problem) -> Vec<Parts> {
    let costs = problem.costs();
    let tasks = problem.volumes().tasks();
    let rooms: Vec<usize> = (0..costs.places())
        .map(|place| problem.capacity(Place(place)).min(tasks))
        .collect();
    let parts_of = |size: usize, cost: f64| {
        let rooms = rooms.chunks(size).map(|rooms| rooms.iter().sum::<usize>());
        Parts {
            cost,
            count: rooms.clone().filter(|room| *room > 0).count(),
            room: rooms.max().unwrap_or(0),
        }
    };
    let mut size = costs.places();
    let mut parts = Vec::new();
    for level in costs.levels() {
        size /= level.parts;
        if level.parts > 1 {
            parts.push(parts_of(size, level.cost));
        }
    }
    let block = costs.block();
    let least = |same: bool| {
        let pairs = (0..block).flat_map(|from| (0..block).map(move |to| (from, to)));
        let pairs = pairs.filter(|(from, to)| (from == to) == same);
        let of_pairs = pairs.map(|(from, to)| costs.between(Place(from), Place(to)));
        of_pairs.fold(f64::INFINITY, f64::min)
    };
    if block > 1 {
        parts.push(parts_of(1, least(false)));
    }
    parts.push(Parts {
        cost: least(true),
        count: tasks,
        room: 1,
    });
    parts
}

/// Returns the clusters of places at each distance, by single linkage, the farthest apart first.
fn clusters(problem: &Problem) -> Vec<Parts> {
    let costs = problem.costs();
    let tasks = problem.volumes().tasks();
    let open: Vec<Place> = (0..costs.places())
        .map(Place)
        .filter(|place| problem.capacity(*place) > 0)
        .collect();
    let room = |place: Place| problem.capacity(place).min(tasks);
    let cost = |one: Place, other: Place| costs.between(one, other).min(costs.between(other, one));
    // The minimum spanning tree has the costs at which clusters join.
    let mut nearest = vec![(f64::INFINITY, 0); open.len()];
    let mut is_in = vec![false; open.len()];
    let mut joins = Vec::with_capacity(open.len());
    let mut last = 0;
    for _ in 1..open.len() {
        is_in[last] = true;
        let mut next = (f64::INFINITY, last, last);
        for other in (0..open.len()).filter(|other| !is_in[*other]) {
            let apart = cost(open[last], open[other]);
            if apart < nearest[other].0 {
                nearest[other] = (apart, last);
            }
            if nearest[other].0 <= next.0 {
                next = (nearest[other].0, nearest[other].1, other);
            }
        }
        joins.push(next);
        last = next.2;
    }
    joins.sort_by(|one, other| one.0.total_cmp(&other.0));
    let own = open.iter().map(|place| cost(*place, *place));
    let mut parts = vec![Parts {
        cost: own.fold(f64::INFINITY, f64::min),
        count: tasks,
        room: 1,
    }];
    let mut rooms: Vec<usize> = open.iter().map(|place| room(*place)).collect();
    let mut largest = rooms.iter().copied().max().unwrap_or(0);
    let mut root: Vec<usize> = (0..open.len()).collect();
    fn find(root: &mut [usize], mut at: usize) -> usize {
        while root[at] != at {
            root[at] = root[root[at]];
            at = root[at];
        }
        at
    }
    for (joined, (apart, one, other)) in joins.into_iter().enumerate() {
        if parts
            .last()
            .is_none_or(|parts| parts.cost != apart || parts.room != largest)
        {
            parts.push(Parts {
                cost: apart,
                count: open.len() - joined,
                room: largest,
            });
        }
        let [one, other] = [one, other].map(|place| find(&mut root, place));
        root[one] = other;
        rooms[other] += rooms[one];
        largest = largest.max(rooms[other]);
    }
    parts.reverse();
    parts
}

/// The volumes of tasks that communicate.
struct Communication {
    tasks: usize,
    /// The volume of all pairs, in both directions.
    all: f64,
    /// At index k, half of the volume of all tasks with k of their partners, those with the most.
    with_partners: Vec<f64>,
    /// The pairs of all tasks, and the heavy ones if only their graph has a shape.
    shaped: Vec<Shaped>,
    /// The volume that tasks send to themselves.
    alone: f64,
}

/// Pairs whose graph has a shape.
struct Shaped {
    /// At index k, the volume of the k pairs with the most, and of all pairs that are not these.
    largest: Vec<f64>,
    /// At index k, the largest number of edges for each task within parts of at most k tasks.
    edges: Vec<f64>,
    shape: Shape,
}

/// What limits the number of edges between some vertices of the graph.
#[derive(Debug, PartialEq)]
enum Shape {
    /// Without cycles, k vertices have k - 1 edges at most.
    Forest,
    /// In a cycle of more than k vertices, too.
    Cycles {
        shortest: usize,
    },
    /// The vertices are points of a grid of this number of dimensions, with edges between some
    /// neighbours.
    Grid {
        dimensions: usize,
    },
    /// As a grid. Along some axes the ends of a line with this number of points are neighbours.
    Torus {
        around: Vec<Option<usize>>,
    },
    Any,
}

impl Communication {
    fn of(problem: &Problem) -> Self {
        let tasks = problem.volumes().tasks();
        let mut pairs: Vec<Edge> = Vec::with_capacity(problem.volumes().pairs().len());
        let mut alone = 0.0;
        for (from, to, volume) in problem.volumes().pairs() {
            if from == to {
                alone += volume
            } else {
                pairs.push((from.0.min(to.0), from.0.max(to.0), volume))
            }
        }
        pairs.sort_unstable_by_key(|(one, other, _)| (*one, *other));
        pairs.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let mut partners = vec![Vec::new(); tasks];
        for (one, other, volume) in &pairs {
            partners[*one].push(*volume);
            partners[*other].push(*volume);
        }
        let all = pairs.iter().map(|(_, _, volume)| *volume).sum();
        let mut shaped = Vec::new();
        for (neighbours, least) in heavy_parts(tasks, &pairs) {
            let shape = Shape::of(&neighbours);
            let has_shape = shape != Shape::Any;
            if has_shape || shaped.is_empty() {
                shaped.push(Shaped::of(shape, tasks, &pairs, least));
            }
            if has_shape {
                break;
            }
        }
        let mut by_rank = Vec::new();
        for volumes in &mut partners {
            volumes.sort_by(|one, other| other.total_cmp(one));
            by_rank.resize(volumes.len().max(by_rank.len()), 0.0);
            for (sum, volume) in by_rank.iter_mut().zip(volumes) {
                *sum += *volume / 2.0;
            }
        }
        Self {
            tasks,
            all,
            with_partners: sums(0.0, &by_rank),
            shaped,
            alone,
        }
    }

    /// Returns a volume that is at least the volume within the parts.
    fn within(&self, parts: &Parts) -> f64 {
        let room = parts.room.min(self.tasks);
        if room <= 1 {
            return 0.0;
        }
        // All partners of a task may be in its part, except those for which there is no room.
        let by_room = self.with_partners[(room - 1).min(self.with_partners.len() - 1)];
        let shaped = self.shaped.iter();
        let by_shape = shaped.map(|shaped| shaped.within(parts.count, room, self.tasks));
        by_shape.fold(by_room, f64::min)
    }
}

impl Shaped {
    /// The shape is that of the pairs with a volume of at least `least`.
    fn of(shape: Shape, tasks: usize, pairs: &[Edge], least: f64) -> Self {
        let volumes = pairs.iter().map(|(_, _, volume)| *volume);
        let (mut heavy, others): (Vec<f64>, Vec<f64>) = volumes.partition(|one| *one >= least);
        heavy.sort_by(|one, other| other.total_cmp(one));
        let mut most = 0.0_f64;
        let of_task = (1..=tasks).map(|k| {
            most = most.max(shape.edges(k) / k as f64);
            most
        });
        Self {
            largest: sums(others.iter().sum(), &heavy),
            edges: std::iter::once(0.0).chain(of_task).collect(),
            shape,
        }
    }

    /// Returns a volume that is at least the volume within `count` parts of at most `room` tasks.
    fn within(&self, count: usize, room: usize, tasks: usize) -> f64 {
        // The tasks of a part have as many edges as the shape of the graph allows, at most. A part
        // that is not full may have more for each task: 30 points of a grid have 49, and 32 have
        // 52. But each part that is not full leaves room, so the others are full.
        let left = count.saturating_mul(room).saturating_sub(tasks);
        let full = count.saturating_sub(left);
        let others = tasks.saturating_sub(full.saturating_mul(room));
        let edges = full as f64 * self.shape.fewer_edges(room) + others as f64 * self.edges[room];
        let edges = rounded_down(edges) as usize;
        self.largest[edges.min(self.largest.len() - 1)]
    }
}

/// Returns the sums of the first 0, 1, 2 and so on volumes, each with `begin`.
fn sums(begin: f64, volumes: &[f64]) -> Vec<f64> {
    let mut sum = begin;
    let added = volumes.iter().map(|volume| {
        sum += volume;
        sum
    });
    std::iter::once(begin).chain(added).collect()
}

/// Returns the whole number below a number that may be a little too low, because it is rounded.
fn rounded_down(number: f64) -> f64 {
    (number * (1.0 + 1e-12) + 1e-9).floor()
}

/// Returns the whole number above a number that may be a little too high, because it is rounded.
fn rounded_up(number: f64) -> f64 {
    (number * (1.0 - 1e-12) - 1e-9).ceil()
}

impl Shape {
    fn of(neighbours: &[Vec<usize>]) -> Self {
        let edges = neighbours.iter().map(Vec::len).sum::<usize>() / 2;
        let sizes = components(neighbours);
        if edges + sizes.len() == neighbours.len() {
            return Self::Forest;
        }
        if neighbours.iter().all(|others| others.len() <= 2) {
            let cycles = sizes.iter().filter(|(vertices, edges)| vertices == edges);
            let shortest = cycles.map(|(vertices, _)| *vertices).min();
            return Self::Cycles {
                shortest: shortest.unwrap_or(usize::MAX),
            };
        }
        match Grid::of(neighbours) {
            Some(Grid { around, .. }) if around.iter().all(Option::is_none) => Self::Grid {
                dimensions: around.len(),
            },
            Some(Grid { around, .. }) => Self::Torus { around },
            None => Self::Any,
        }
    }

    /// Returns the largest number of edges between k vertices, or more.
    fn edges(&self, k: usize) -> f64 {
        let n = k as f64;
        match self {
            Self::Forest => n - 1.0,
            Self::Cycles { shortest } if k < *shortest => n - 1.0,
            Self::Cycles { .. } => n,
            // The points have shadows along each of d directions: as many lines as have a point. A
            // line with l points has l - 1 edges, so there are d k edges less the shadows, and the
            // product of all shadows is at least k^(d - 1) (L.H. Loomis and H. Whitney, An
            // inequality related to the isoperimetric inequality, Bulletin of the AMS 55, 1949). A
            // grid is also a part of a hypercube, where k vertices have k log2(k) / 2 edges at most
            // (L.H. Harper, Optimal assignments of numbers to vertices, SIAM Journal 12, 1964).
            Self::Grid { dimensions } => {
                let d = *dimensions as f64;
                let by_shadows = d * n - d * n.powf((d - 1.0) / d);
                let edges = by_shadows.min(n * n.log2() / 2.0);
                rounded_down(edges)
            }
            Self::Torus { around } => {
                let d = around.len() as f64;
                let by_border = match around[..] {
                    [one, other] => d * n - border([one, other], n),
                    _ => f64::INFINITY,
                };
                // Of the planes across an axis one has at most the average number of edges. Without
                // the edges across these planes it is a grid.
                let across = around.iter().flatten().map(|points| (k / points) as f64);
                let by_planes = d * n - d * n.powf((d - 1.0) / d) + across.sum::<f64>();
                rounded_down(by_border.min(by_planes))
            }
            Self::Any => n * (n - 1.0) / 2.0,
        }
    }

    /// Returns what [`edges`](Self::edges) returns, or less, but takes longer.
    fn fewer_edges(&self, k: usize) -> f64 {
        match self {
            Self::Torus { around } => match around[..] {
                [one, two, three] => {
                    let border = border_of_slices([one, two, three], k);
                    self.edges(k).min(rounded_down(3.0 * k as f64 - border))
                }
                _ => self.edges(k),
            },
            _ => self.edges(k),
        }
    }
}

/// Returns a number that the border of n points in a grid of two dimensions has at least. The
/// border is the number of lines with some points, less those with all points: of the 2 n edges of
/// n points of a torus, so many are missing.
///
/// Without whole lines it is the sum of two shadows. A whole line along one axis has a point in
/// each line along the other one. If there are whole lines along both, all lines have points, and
/// each point that is missing is missing in one line along each axis.
fn border(around: [Option<usize>; 2], n: f64) -> f64 {
    let whole = around.iter().flatten().map(|points| *points as f64);
    let border = whole.fold(2.0 * n.sqrt(), f64::min);
    match around {
        [Some(one), Some(other)] => {
            let [one, other] = [one as f64, other as f64];
            border.min((one * other - n) * (1.0 / one + 1.0 / other))
        }
        _ => border,
    }
}

/// Returns a number that the [`border`] of k points in a grid of three dimensions has at least.
///
/// Without whole lines it is the sum of three shadows. Otherwise there is a whole line along an
/// axis, so each slice across this axis has points: m at least, and M at most. The border has those
/// of the slices, and M - m lines along the axis. The average border of the slices is at least what
/// a line from the border of m' points to that of M' points has for the average number of points,
/// with m' and M' from m to M. So m' and M' with the lowest sum are found.
fn border_of_slices(around: [Option<usize>; 3], k: usize) -> f64 {
    let n = k as f64;
    let mut least = 3.0 * n.powf(2.0 / 3.0);
    for axis in 0..3 {
        let Some(slices) = around[axis] else { continue };
        let others = [around[(axis + 1) % 3], around[(axis + 2) % 3]];
        let area = others.iter().flatten().product::<usize>();
        let area = if others.contains(&None) {
            k
        } else {
            area.min(k)
        };
        let of_slice = |m| rounded_up(border(others, m as f64));
        let borders: Vec<f64> = (0..=area).map(of_slice).collect();
        for m in 1..=(k / slices).min(area) {
            let above = n - (slices * m) as f64;
            // With more than `least` lines the border is longer, whatever the slices have.
            for most in k.div_ceil(slices).max(m)..=area.min(m + least as usize) {
                let rise = match most - m {
                    0 => 0.0,
                    more => (borders[most] - borders[m]) / more as f64,
                };
                let border = slices as f64 * borders[m] + above * rise + (most - m) as f64;
                least = least.min(border);
            }
        }
    }
    least
}

/// Returns the numbers of vertices and of edges of each connected component.
fn components(neighbours: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let mut seen = vec![false; neighbours.len()];
    let mut components = Vec::new();
    for start in 0..neighbours.len() {
        let mut left = vec![start];
        let (mut vertices, mut ends) = (0, 0);
        while let Some(vertex) = left.pop() {
            if !std::mem::replace(&mut seen[vertex], true) {
                vertices += 1;
                ends += neighbours[vertex].len();
                left.extend(&neighbours[vertex]);
            }
        }
        if vertices > 0 {
            components.push((vertices, ends / 2));
        }
    }
    components
}
