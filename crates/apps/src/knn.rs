//! The nearest neighbours of all points, in a ring (DSMCBE, section 3.3, figures 6 and 7).
//!
//! ```text
//!   PPE ── all blocks, once ──► process 0 ──► process 1 ──► ... ──► last process
//!                                   ▲                                    │
//!                                   └──── room for all blocks ◄──────────┘
//! ```
//!
//! Blocks of points go round, always in the same order. Each process keeps a copy of one of them, its home, compares it with
//! every block that comes by until it has met all, sends the neighbours to the PPE, and takes the next block that is
//! nobody's home. So a problem of any size fits: what no process has in its local store waits in the buffered channel.

use std::fmt;
use std::iter;

use cellworks_csp::{Any, Channel, Item, Network, Process, ProcessError, Reader, Writer};
use cellworks_machine::{Cycles, LocalBuffer, Machine, Spe, Topology};

use crate::error::agree;
use crate::placement::axis;
use crate::ring::{Input, Order, Output, Ring};
use crate::{
    Conclusion, Done, Figure, ParameterError, Parameters, Placement, Program, ProgramError,
    Quantity, Value, speedup,
};

/// Finds the nearest neighbours of each point among all others, by the Euclidean distance. Points that are equally far are
/// taken in the order of their numbers. The result is compared with brute force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knn {
    /// Where the processes run.
    pub placement: Placement,
    /// How many points.
    pub points: usize,
    /// Coordinates of each, at most 256.
    pub dimensions: usize,
    /// How many neighbours of each point, fewer than there are points.
    pub neighbours: usize,
    /// How many points travel together.
    pub block_points: usize,
}

/// Coordinates are whole numbers up to 255, and so are the squares of distances: 256 squares of 255 are 16,646,400, and every
/// whole number up to 16,777,216 is an `f32`. So the order of a sum makes no difference, and whoever computes the same
/// distances finds the same neighbours.
const DIMENSIONS_MAX: usize = 256;

/// A day and a half of an SPE, in the paper's 72 dimensions.
const POINTS_MAX: usize = 1_000_000;

/// What a coordinate of a pair of points takes on an SPU, in cycles: as in the paper, which leaves SIMD out, one is
/// computed after the other, and its multiply-add waits 6 cycles for the one before (Cell BE Programming Tutorial, table of
/// pipeline latencies, class SP).
const CYCLES_PER_COORDINATE: u64 = 6;
/// What a pair takes beside that: its distance is compared with the farthest neighbour so far, which takes a load (6), a
/// compare (2) and a branch that is mostly hinted right.
const CYCLES_PER_PAIR: u64 = 6 + 2;
/// What a new neighbour takes: the branch was hinted wrong.
const CYCLES_PER_NEIGHBOUR: u64 = 18;
/// What each of those takes that it moves in the list: a load and a store, one after the other.
const CYCLES_PER_MOVED: u64 = 6 + 6;

impl Knn {
    fn base(&self) -> Self {
        Self {
            placement: self.placement.alone(),
            ..*self
        }
    }
}

impl Program for Knn {
    const NAME: &'static str = "knn";

    fn title(&self) -> String {
        let placement = self.placement.title();
        format!("knn, {placement}, {} points", self.points)
    }

    fn parameters(&self) -> Parameters {
        let count = |name, value| (name, Value::Count(value as u64));
        let mut parameters = self.placement.parameters();
        parameters.extend([
            count("points", self.points),
            count("dimensions", self.dimensions),
            count("neighbours", self.neighbours),
            count("block_points", self.block_points),
        ]);
        parameters
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.placement.check(topology)?;
        for (parameter, noun, count) in [
            ("points", "points", self.points),
            ("dimensions", "dimensions", self.dimensions),
            ("neighbours", "neighbours", self.neighbours),
            ("block_points", "points in a block", self.block_points),
        ] {
            if count == 0 {
                return Err(ParameterError::Zero { parameter, noun });
            }
        }
        let refused = |parameter, why| Err(ParameterError::Refused { parameter, why });
        let (points, dimensions, neighbours) = (self.points, self.dimensions, self.neighbours);
        if points > POINTS_MAX {
            return refused(
                "points",
                format!("{points} points take too long; use at most {POINTS_MAX}"),
            );
        }
        if dimensions > DIMENSIONS_MAX {
            return refused(
                "dimensions",
                format!(
                    "distances in {dimensions} dimensions are not exact in single precision; use at most \
                     {DIMENSIONS_MAX}"
                ),
            );
        }
        if neighbours >= points {
            return refused(
                "neighbours",
                format!(
                    "{points} points do not have {neighbours} neighbours each; use fewer neighbours"
                ),
            );
        }
        Ok(())
    }

    fn run<M: Machine>(&self, machine: &M) -> Result<Vec<Quantity>, ProgramError> {
        self.check(machine.topology())?;
        let points = Points::new(self.points, self.dimensions);
        let blocks = points.blocks(self.block_points.min(self.points));
        let plan = Plan {
            processes: self.placement.processes(),
            blocks: blocks.len(),
            block_points: self.block_points.min(self.points),
            dimensions: self.dimensions,
            neighbours: self.neighbours,
        };
        let (mut source, to_first) = Channel::new().named("source").one_to_one();
        let (begun, mut ready) = Channel::new().named("ready").any_to_one();
        let (found, mut results) = Channel::new().named("results").any_to_one();
        let mut to_first = Some(to_first);
        let roles = (0..plan.processes).map(|position| Role {
            position,
            source: to_first.take(),
            begun: begun.clone(),
            found: found.clone(),
        });
        let roles = roles.collect();
        drop((begun, found));
        let mut network = Network::on(machine);
        network.transport(self.placement.transport);
        let ring = Ring {
            placement: self.placement,
            order: Order::Together,
            buffered: plan.blocks,
        };
        ring.add(
            &mut network,
            roles,
            move |process: &Process<'_, M::Spe>, role, input, output| {
                go_round(process, role, input, output, &plan)
            },
        );
        let (span, found) = network.run_with(move |process| {
            // All begin, or the network fails.
            for _ in 0..plan.processes {
                let _ = ready.read(process);
            }
            let begin = process.now();
            for block in blocks {
                // Nobody takes it if the network fails, which is then what is reported.
                let _ = source.write(process, block);
            }
            let found = iter::from_fn(|| results.read(process).ok());
            let found: Vec<Found> = found.take(plan.blocks).collect();
            (process.now().since(begin), found)
        })?;
        verify(found, &points, self)?;
        let pairs = self.points as f64 * self.points as f64;
        Ok(vec![
            Quantity {
                name: "time",
                value: span.as_nanoseconds_f64(),
                unit: "ns",
            },
            Quantity {
                name: "rate",
                value: pairs / span.as_seconds_f64().max(f64::MIN_POSITIVE),
                unit: "pairs/s",
            },
        ])
    }

    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        speedup::conclusions(done, Self::base, "time")
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        speedup::figures(done, Self::base, "time", axis)
    }
}

/// Points on a grid, without order.
struct Points {
    /// Each from 0 to 255; differences of theirs are `i16`, too, which processors multiply many at a time.
    coordinates: Vec<i16>,
    dimensions: usize,
}

impl Points {
    fn new(count: usize, dimensions: usize) -> Self {
        // Neither in the order of the points nor in that of their coordinates.
        let mix = |number: u64| (number ^ (number >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let coordinate = |at: usize| (mix(mix(mix(at as u64 + 1))) >> 56) as i16;
        Self {
            coordinates: (0..count * dimensions).map(coordinate).collect(),
            dimensions,
        }
    }

    fn count(&self) -> usize {
        self.coordinates.len() / self.dimensions
    }

    fn blocks(&self, points: usize) -> Vec<Block> {
        let parts = self.coordinates.chunks(points * self.dimensions);
        let block = |(number, part): (usize, &[i16])| Block {
            number,
            first: (number * points) as u32,
            coordinates: part.iter().map(|one| f32::from(*one)).collect(),
        };
        parts.enumerate().map(block).collect()
    }

    /// The neighbours of a point, by comparing it with all others in whole numbers, and sorting.
    fn by_brute_force(&self, point: usize, neighbours: usize) -> Vec<Neighbour> {
        let of = |point: usize| &self.coordinates[point * self.dimensions..][..self.dimensions];
        let here = of(point);
        let square = |(a, b): (&i16, &i16)| i32::from(a - b) * i32::from(a - b);
        // The square of the distance above the number of the point: one number to compare.
        let key = |other: usize| {
            let squared: i32 = here.iter().zip(of(other)).map(square).sum();
            (squared as u64) << 32 | other as u64
        };
        let others = (0..self.count()).filter(|other| *other != point);
        let mut all: Vec<u64> = others.map(key).collect();
        all.select_nth_unstable(neighbours - 1);
        all.truncate(neighbours);
        all.sort_unstable();
        let neighbour = |key: u64| Neighbour {
            squared: (key >> 32) as f32,
            point: key as u32,
        };
        all.into_iter().map(neighbour).collect()
    }
}

/// What a block has beside its points: two numbers of 4 bytes.
const HEADER_BYTES: usize = 2 * 4;

/// Points that travel together.
#[derive(Clone)]
struct Block {
    number: usize,
    /// The number of its first point.
    first: u32,
    coordinates: Box<[f32]>,
}

impl Item for Block {
    fn bytes(&self) -> usize {
        HEADER_BYTES + self.coordinates.bytes()
    }
}

/// A point near another.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Neighbour {
    /// The square of the distance.
    squared: f32,
    point: u32,
}

impl Item for Neighbour {}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "point {} at the squared distance {}",
            self.point, self.squared
        )
    }
}

/// The neighbours of the points of a block, nearest first.
struct Found {
    first: u32,
    neighbours: Vec<Vec<Neighbour>>,
}

impl Item for Found {
    fn bytes(&self) -> usize {
        4 + self.neighbours.bytes()
    }
}

/// What all processes know.
#[derive(Clone, Copy)]
struct Plan {
    processes: usize,
    blocks: usize,
    /// Points of a block, but for the last.
    block_points: usize,
    dimensions: usize,
    neighbours: usize,
}

impl Plan {
    /// The block that is a process's `turn`-th home, if there are so many. As blocks come by, counted from 0 over all
    /// rounds, it comes first at the second number.
    ///
    /// A block comes to each process a step later than to the one before. The last process takes the first block home, and the
    /// first process the last, so all have theirs in the same step: they begin and end each turn together, and nobody waits for
    /// one that computes while it has nothing to compute itself.
    fn home(&self, position: usize, turn: usize) -> Option<(usize, usize)> {
        let place = self.processes - 1 - position;
        let home = place + turn * self.processes;
        let at = place + turn * (self.blocks + self.processes);
        (home < self.blocks).then_some((home, at))
    }

    /// How many blocks come by until the last home has met all.
    fn length(&self) -> usize {
        let last = self.blocks - 1;
        let (place, turn) = (last % self.processes, last / self.processes);
        place + turn * (self.blocks + self.processes) + self.blocks
    }
}

/// What a process of the ring has beside its ends.
struct Role {
    position: usize,
    /// Where the first process reads all blocks once.
    source: Option<Reader<Block>>,
    begun: Writer<(), Any>,
    found: Writer<Found, Any>,
}

fn go_round<S: Spe>(
    process: &Process<'_, S>,
    role: Role,
    mut input: Input<Block>,
    mut output: Output<Block>,
    plan: &Plan,
) -> Result<(), ProcessError> {
    let Role {
        position,
        mut source,
        mut begun,
        mut found,
    } = role;
    // Before blocks come, which would leave room in pieces.
    let _room = room_for_home(process.place(), plan)?;
    begun.write(process, ())?;
    // If another process could not start, the channel is closed when all others have dropped their ends.
    drop(begun);
    let length = plan.length();
    // The last process keeps what nobody needs any more.
    let passed_on = match position + 1 == plan.processes {
        true => length - plan.blocks,
        false => length,
    };
    let mut turn = 0;
    let mut home: Option<Home> = None;
    for at in 0..length {
        let block = match &mut source {
            Some(source) if at < plan.blocks => source.read(process)?,
            _ => input.read(process)?,
        };
        let next = plan.home(position, turn);
        if next == Some((block.number, at)) {
            home = Some(Home::new(&block, plan));
        }
        if let Some(home) = &mut home {
            // Another process of this SPE that has an item to pass on, or to take, would have to wait for this one's
            // computation, and all behind it in the ring with it.
            process.yield_ready();
            process.place().compute(home.compare(&block));
        }
        if at < passed_on {
            output.write(process, block)?;
        }
        if let Some((_, since)) = next
            && at + 1 == since + plan.blocks
            && let Some(done) = home.take()
        {
            turn += 1;
            found.write(process, done.found())?;
        }
    }
    Ok(())
}

/// Takes room in the local store for a block with its neighbours, where programs are confined to it.
fn room_for_home<S: Spe>(spe: &S, plan: &Plan) -> Result<Option<LocalBuffer>, ParameterError> {
    let of_neighbours = plan.neighbours * size_of::<Neighbour>();
    let of_point = plan.dimensions * size_of::<f32>() + of_neighbours;
    let bytes = HEADER_BYTES + plan.block_points * of_point;
    let what = "a block with its neighbours";
    let room = spe
        .is_confined_to_local_store()
        .then(|| spe.local_store().reserve(bytes, 16, what));
    room.transpose().map_err(|error| ParameterError::Refused {
        parameter: "block_points",
        why: format!("{error}; use smaller blocks or fewer threads"),
    })
}

/// A block with its neighbours so far.
struct Home {
    block: Block,
    neighbours: Vec<Vec<Neighbour>>,
    dimensions: usize,
    wanted: usize,
}

impl Home {
    fn new(block: &Block, plan: &Plan) -> Self {
        let points = block.coordinates.len() / plan.dimensions;
        let list = || Vec::with_capacity(plan.neighbours + 1);
        Self {
            block: block.clone(),
            neighbours: (0..points).map(|_| list()).collect(),
            dimensions: plan.dimensions,
            wanted: plan.neighbours,
        }
    }

    /// Compares all points with all of another block. Returns what that takes on an SPU.
    fn compare(&mut self, other: &Block) -> Cycles {
        let mut cycles = 0;
        let dimensions = self.dimensions;
        let here = self.block.coordinates.chunks_exact(dimensions);
        for ((point, here), list) in (self.block.first..).zip(here).zip(&mut self.neighbours) {
            for (number, there) in (other.first..).zip(other.coordinates.chunks_exact(dimensions)) {
                if number == point {
                    continue;
                }
                let candidate = Neighbour {
                    squared: squared_distance(here, there),
                    point: number,
                };
                let pair = CYCLES_PER_PAIR + CYCLES_PER_COORDINATE * dimensions as u64;
                let moved = insert(list, candidate, self.wanted);
                let inserted = moved.map_or(0, |moved| {
                    CYCLES_PER_NEIGHBOUR + CYCLES_PER_MOVED * moved as u64
                });
                cycles += pair + inserted;
            }
        }
        Cycles(cycles)
    }

    fn found(self) -> Found {
        Found {
            first: self.block.first,
            neighbours: self.neighbours,
        }
    }
}

/// Puts a neighbour into its place of a list of the nearest ones, if it is one. Returns how many it moved.
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

/// Coordinates that are computed side by side; the result does not depend on it.
const LANES: usize = 8;

fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..LANES {
            let difference = a[lane] - b[lane];
            sums[lane] += difference * difference;
        }
    }
    let rest = a_rest.iter().zip(b_rest);
    let rest: f32 = rest.map(|(a, b)| (a - b) * (a - b)).sum();
    sums.iter().sum::<f32>() + rest
}

/// Compares all neighbours with those by brute force.
fn verify(mut found: Vec<Found>, points: &Points, of: &Knn) -> Result<(), ProgramError> {
    const BY: &str = "by brute force";
    found.sort_by_key(|found| found.first);
    let found: Vec<_> = found
        .into_iter()
        .flat_map(|found| found.neighbours)
        .collect();
    agree(
        || "the number of points with neighbours".to_owned(),
        found.len(),
        of.points,
        BY,
    )?;
    for (point, found) in found.into_iter().enumerate() {
        let expected = points.by_brute_force(point, of.neighbours);
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

#[cfg(test)]
mod tests {
    use cellworks_csp::Transport;

    use super::*;

    #[test]
    fn every_block_is_somebodys_home_and_meets_all() {
        for (processes, blocks) in [(1, 1), (1, 5), (3, 7), (4, 8), (5, 3), (32, 500)] {
            let plan = Plan {
                processes,
                blocks,
                block_points: 1,
                dimensions: 1,
                neighbours: 1,
            };
            let mut homes = Vec::new();
            for position in 0..processes {
                let mut free_from = 0;
                for (home, at) in (0..).map_while(|turn| plan.home(position, turn)) {
                    assert_eq!(at % blocks, home, "it comes by then");
                    assert!(at >= free_from, "the process has no other home then");
                    free_from = at + blocks;
                    assert!(free_from <= plan.length(), "it meets all");
                    homes.push(home);
                }
            }
            homes.sort_unstable();
            assert_eq!(homes, Vec::from_iter(0..blocks));
        }
    }

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

    #[test]
    fn a_neighbour_that_is_none_is_named() {
        let of = Knn {
            placement: Placement {
                spes: 1,
                threads: 1,
                transport: Transport::Direct,
            },
            points: 3,
            dimensions: 2,
            neighbours: 1,
            block_points: 3,
        };
        let points = Points {
            coordinates: vec![0, 0, 3, 4, 1, 0],
            dimensions: 2,
        };
        let found = |of_first| Found {
            first: 0,
            neighbours: [(1.0, of_first), (20.0, 2), (1.0, 0)]
                .map(|(squared, point)| vec![Neighbour { squared, point }])
                .into(),
        };
        assert!(verify(vec![found(2)], &points, &of).is_ok());
        let error = verify(vec![found(1)], &points, &of)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(
                "the result is wrong: neighbour 1 of point 0 is point 1 at the squared distance 1, and point 2 at the \
                 squared distance 1 by brute force;"
            ),
            "{error}"
        );
        let error = verify(Vec::new(), &points, &of).unwrap_err().to_string();
        assert!(
            error.contains("the number of points with neighbours is 0, and 3 by brute force"),
            "{error}"
        );
    }
}
