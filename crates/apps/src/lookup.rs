//! Look-ups that follow pointers through a large structure: a hash join, a B+-tree and walks in a
//! graph. Each look-up is done by a plain loop, with prefetches by hand, and interleaved.
//!
//! ```text
//!   plain        read ─ wait ─ step, read ─ wait ─ step, ...    then the next look-up
//!   prefetch     read, read, read ...   a queue of look-ups: wait for the node of the first one,
//!                                       make its step, start its next read, append it again
//!   interleave   the plain code in several threads, as many as are fastest
//! ```
//!
//! A `LookUp` defines how a look-up begins, and which step it makes when a node has been read. All
//! three methods make the same steps.

use std::collections::VecDeque;
use std::ops::{Deref, Range};

use bytemuck::{Pod, Zeroable};
use cellworks_machine::sizes::{in_flags, in_words};
use cellworks_machine::{
    Cycles, InFlight, InterleaveError, InterleavedSpe, Machine, Spe, StageError, Topology, Wake,
};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError, agree};
use crate::figure::{Figure, against, axis};
use crate::picture::Draw;
use crate::{Conclusion, Done, Metric, Parts, Program, Quantity, Repeats, RunResult, gang};

/// The structure in which values are looked up.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// rows in chains, found by a hash; half of the keys that are looked up have a row
    HashJoin,
    /// a tree with 9 children a node; half of the keys that are looked up are in the tree
    BTree,
    /// a graph with 7 edges a node; each look-up follows 8 edges, one after the other
    GraphWalk,
}

/// How look-ups are done.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// one after the other
    Plain,
    /// 32 at a time; the code that switches between them is written by hand
    Prefetch,
    /// the plain code, several at a time
    Interleave,
}

/// Measures look-ups in a large structure: in a plain loop, with prefetches by hand, and
/// interleaved.
///
/// Each look-up reads several nodes, one after the other. If the structure is large, no cache holds
/// these nodes. On this computer a plain loop waits for each node, and the other two methods have
/// several look-ups under way. One SPE does all look-ups.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lookup {
    /// The structure in which values are looked up.
    #[arg(long, value_enum, default_value = "hash-join,b-tree,graph-walk")]
    pub structure: Structure,

    /// How look-ups are done.
    #[arg(long, value_enum, default_value = "plain,prefetch,interleave")]
    pub method: Method,

    /// The size of the structure, at most.
    #[arg(long, default_value = "64m")]
    pub bytes: usize,

    /// How many look-ups.
    #[arg(long)]
    pub probes: u64,
}

const TIME: Metric = Metric::new("time_per_probe", "ns");
const IN_FLIGHT: Metric = Metric::new("in_flight", "probes");
const GAIN: Metric = Metric::new("gain", "times");

/// The smallest size of a structure: room for a root and its children.
const BYTES_MIN: usize = 4 << 10;
const BYTES_MAX: usize = 1 << 40;
/// The largest number of look-ups. A run with this number takes hours on any machine.
const PROBES_MAX: u64 = 1_000_000_000_000;

/// The look-ups under way with [`Method::Prefetch`]. A core handles fewer cache misses at a time.
const BY_HAND: usize = 32;

/// The cycles that a simulated SPU computes for a node. The number is an assumption.
const STEP: Cycles = Cycles(16);

impl Program for Lookup {
    const NAME: &'static str = "lookup";
    const EXAMPLE: &'static str = "--structure hash-join --bytes 1m,16m,256m";
    const METRICS: &'static [Metric] = &[TIME, IN_FLIGHT];
    const PARTS: Parts = Parts::None("it runs on one SPE");
    const REPEATS: Option<Repeats> = Some(Repeats {
        parameter: "probes",
        // 500,000 look-ups take some tenths of a second.
        on_this_computer: "500k",
        simulated: "10k",
    });

    fn title(&self) -> String {
        let structure = match self.structure {
            Structure::HashJoin => "hash join",
            Structure::BTree => "B+-tree",
            Structure::GraphWalk => "graph walk",
        };
        let method = match self.method {
            Method::Plain => "plain loop",
            Method::Prefetch => "prefetch by hand",
            Method::Interleave => "interleave",
        };
        format!("lookup, {structure}, {method}")
    }

    fn check(&self, _: &Topology) -> Result<(), ParameterError> {
        let refused = |parameter, why| Err(ParameterError::Refused { parameter, why });
        match (self.bytes, self.probes) {
            (..BYTES_MIN, _) => refused(
                "bytes",
                format!(
                    "{} have no room for a structure; use at least {}",
                    in_words(self.bytes),
                    in_flags(BYTES_MIN)
                ),
            ),
            (bytes, _) if bytes > BYTES_MAX => refused(
                "bytes",
                format!(
                    "{} are too many; use at most {}",
                    in_words(bytes),
                    in_flags(BYTES_MAX)
                ),
            ),
            (_, 0) => Err(ParameterError::Zero {
                parameter: "probes",
                noun: "probes",
            }),
            (_, probes) if probes > PROBES_MAX => refused(
                "probes",
                format!("{probes} probes take too long; use at most {PROBES_MAX}"),
            ),
            _ => Ok(()),
        }
    }

    fn address_space_bytes(&self) -> usize {
        self.bytes
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, _: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let mut lines = lines(self.bytes)?;
        let words = bytemuck::cast_slice_mut(&mut lines);
        match self.structure {
            Structure::HashJoin => {
                let join = HashJoin::fill(words);
                self.run_in(machine, &join, words)
            }
            Structure::BTree => {
                let tree = Tree::fill(words);
                self.run_in(machine, &tree, words)
            }
            Structure::GraphWalk => {
                let graph = Graph::fill(words);
                self.run_in(machine, &graph, words)
            }
        }
    }

    /// Returns the gain of each run with another method over the same run with the plain loop.
    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        let of_plain = |one: &Done<Self>| {
            let plain = Self {
                method: Method::Plain,
                ..one.program
            };
            let plain = done.iter().find(|other| other.program == plain)?;
            let (time, plain) = (one.value(TIME.name)?, plain.value(TIME.name)?);
            (time > 0.0).then_some(plain / time)
        };
        done.iter()
            .filter(|one| one.program.method != Method::Plain)
            .filter_map(|one| {
                Some(Conclusion {
                    quantity: GAIN.measured(of_plain(one)?),
                    parameters: one.program.parameters(),
                })
            })
            .collect()
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Time of a look-up", TIME, axis)
    }
}

impl Lookup {
    fn run_in<M: Machine, L: LookUp>(
        &self,
        machine: &M,
        look_up: &L,
        words: &[u64],
    ) -> Result<Vec<Quantity>, ProgramError> {
        let gang = gang::run(machine, Self::NAME, vec![()], |spe: &M::Spe, ()| {
            let begin = spe.now();
            let (sum, in_flight) = self.sum(spe, look_up, words)?;
            Ok::<_, ProgramError>((sum, in_flight, spe.now().since(begin)))
        })?;
        let results: Result<Vec<_>, _> = gang.results.into_iter().collect();
        let (sum, in_flight, span) = results?[0];
        let expected = (0..self.probes).map(|probe| look_up.expected(words, probe));
        let what = || format!("the sum of {} look-ups", self.probes);
        agree(
            what,
            sum,
            expected.fold(0, u64::wrapping_add),
            "by plain code",
        )?;
        let ns = span.as_seconds_f64() * 1e9 / self.probes as f64;
        Ok(vec![
            TIME.measured(ns),
            IN_FLIGHT.measured(in_flight as f64),
        ])
    }

    /// Returns the sum of all found values, and the largest number of look-ups under way at a time.
    fn sum<S: Spe, L: LookUp>(
        &self,
        spe: &S,
        look_up: &L,
        words: &[u64],
    ) -> Result<(u64, usize), ProgramError> {
        let probes = 0..self.probes;
        match self.method {
            Method::Plain if spe.is_confined_to_local_store() => {
                let mut sum = 0_u64;
                for probe in probes {
                    let read = |at: Range<usize>| {
                        spe.compute(STEP);
                        spe.stage(&words[at])
                    };
                    sum = sum.wrapping_add(find(look_up, probe, read)?);
                }
                Ok((sum, 1))
            }
            Method::Plain => {
                let mut sum = 0_u64;
                for probe in probes {
                    let read = |at: Range<usize>| Ok(&words[at]);
                    sum = sum.wrapping_add(find(look_up, probe, read)?);
                }
                Ok((sum, 1))
            }
            Method::Prefetch => {
                let in_flight = BY_HAND.min(self.probes as usize);
                Ok((by_hand(spe, look_up, words, probes)?, in_flight))
            }
            Method::Interleave => {
                let body = |spe: InterleavedSpe<'_, S>, probe| {
                    let read = |at: Range<usize>| {
                        spe.compute(STEP);
                        spe.stage(&words[at])
                    };
                    find(look_up, probe, read)
                };
                let mut sum = Ok(0_u64);
                let done = spe
                    .interleave(InFlight::Automatic, probes, body)
                    .as_completed(|_, found| match (&mut sum, found) {
                        (Ok(sum), Ok(found)) => *sum = sum.wrapping_add(found),
                        (Ok(_), Err(error)) => sum = Err(error),
                        (Err(_), _) => {}
                    });
                let done = done.map_err(|error| match error {
                    InterleaveError::Stack(error) => ProgramError::Stacks(error),
                    other => ProgramError::Measurement(other.to_string()),
                })?;
                Ok((sum?, done.in_flight))
            }
        }
    }
}

enum Step<T> {
    /// The look-up next reads the words in the range. The step after this read begins with the
    /// state of type `T`.
    Read(T, Range<usize>),
    Found(u64),
}

/// The look-ups in one structure. `probe` is the index of a look-up.
trait LookUp: Sync {
    type State: Copy;

    fn begin(&self, probe: u64) -> (Self::State, Range<usize>);

    fn step(&self, state: Self::State, read: &[u64]) -> Step<Self::State>;

    /// Returns the value that a look-up must find.
    fn expected(&self, words: &[u64], probe: u64) -> u64;
}

#[inline(always)]
fn find<L: LookUp, R: Deref<Target = [u64]>>(
    look_up: &L,
    probe: u64,
    mut read: impl FnMut(Range<usize>) -> Result<R, StageError>,
) -> Result<u64, StageError> {
    let (mut state, mut at) = look_up.begin(probe);
    loop {
        match look_up.step(state, &read(at)?) {
            Step::Read(next, words) => (state, at) = (next, words),
            Step::Found(found) => return Ok(found),
        }
    }
}

/// Does look-ups in a queue. The oldest look-up is next, because its node was prefetched first.
fn by_hand<S: Spe, L: LookUp>(
    spe: &S,
    look_up: &L,
    words: &[u64],
    mut probes: Range<u64>,
) -> Result<u64, StageError> {
    let begin = |probe| {
        let (state, at) = look_up.begin(probe);
        Ok((state, spe.stage_ahead(&words[at])?))
    };
    let first = probes.by_ref().take(BY_HAND).map(begin);
    let mut under_way = first.collect::<Result<VecDeque<_>, StageError>>()?;
    let mut sum = 0_u64;
    while let Some((state, arriving)) = under_way.pop_front() {
        let step = look_up.step(state, &arriving.wait());
        spe.compute(STEP);
        match step {
            Step::Read(state, at) => under_way.push_back((state, spe.stage_ahead(&words[at])?)),
            Step::Found(found) => {
                sum = sum.wrapping_add(found);
                if let Some(probe) = probes.next() {
                    under_way.push_back(begin(probe)?);
                }
            }
        }
    }
    Ok(sum)
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; NODE_WORDS]);

const NODE_WORDS: usize = 8;

fn lines(bytes: usize) -> Result<Vec<Line>, ParameterError> {
    let count = bytes / size_of::<Line>();
    let mut lines = Vec::new();
    lines
        .try_reserve_exact(count)
        .map_err(|_| ParameterError::no_memory("bytes", bytes))?;
    lines.resize(count, Line::zeroed());
    Ok(lines)
}

/// Returns a number that looks random. Different arguments give different results.
fn mix(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// A hash table with chains of rows. A row has a key, a payload and the index of the next row. The
/// memory has a word for each bucket, and then the rows.
struct HashJoin {
    rows: u64,
    buckets: usize,
}

const ROW_WORDS: usize = 4;
const NO_ROW: u64 = u64::MAX;

impl HashJoin {
    fn fill(words: &mut [u64]) -> Self {
        // There are at most as many buckets as rows, so buckets and rows fit into the words.
        let rows = words.len() / (ROW_WORDS + 1);
        let buckets = rows.next_power_of_two() / 2;
        words[..buckets].fill(NO_ROW);
        for row in 0..rows {
            let key = mix(row as u64);
            let bucket = key as usize % buckets;
            let at = buckets + row * ROW_WORDS;
            (words[at], words[at + 1], words[at + 2]) = (key, row as u64, words[bucket]);
            words[bucket] = row as u64;
        }
        Self {
            rows: rows as u64,
            buckets,
        }
    }

    /// Returns the number that [`mix`] turns into the key of a look-up. Half of the keys have a
    /// row: those of numbers below `rows`.
    fn wanted(&self, probe: u64) -> u64 {
        probe.wrapping_mul(2_654_435_761) % (2 * self.rows)
    }

    fn row(&self, row: u64) -> Range<usize> {
        let at = self.buckets + row as usize * ROW_WORDS;
        at..at + ROW_WORDS
    }
}

impl LookUp for HashJoin {
    type State = u64;

    #[inline(always)]
    fn begin(&self, probe: u64) -> (u64, Range<usize>) {
        let key = mix(self.wanted(probe));
        let bucket = key as usize % self.buckets;
        (key, bucket..bucket + 1)
    }

    #[inline(always)]
    fn step(&self, key: u64, read: &[u64]) -> Step<u64> {
        let next = match *read {
            [first] => first,
            [found, payload, ..] if found == key => return Step::Found(payload),
            [_, _, next, ..] => next,
            _ => NO_ROW,
        };
        match next {
            NO_ROW => Step::Found(0),
            row => Step::Read(key, self.row(row)),
        }
    }

    fn expected(&self, _: &[u64], probe: u64) -> u64 {
        let row = self.wanted(probe);
        if row < self.rows { row } else { 0 }
    }
}

/// A B+-tree of the even numbers from 0 on, level by level. Inner nodes have 8 keys and 9 children.
struct Tree {
    keys: u64,
    /// The index at which each level begins. The root is the first level.
    begins: Vec<usize>,
}

const FANOUT: usize = NODE_WORDS + 1;

impl Tree {
    fn fill(words: &mut [u64]) -> Self {
        let (mut begins, mut nodes) = (vec![0], 1);
        loop {
            let end = begins[begins.len() - 1] + nodes * NODE_WORDS;
            if end + nodes * FANOUT * NODE_WORDS > words.len() {
                break;
            }
            begins.push(end);
            nodes *= FANOUT;
        }
        // The nodes of the last level are leaves.
        let keys = (nodes * NODE_WORDS) as u64;
        for (level, begin) in begins.iter().enumerate() {
            let nodes = FANOUT.pow(level as u32);
            let below = keys / nodes as u64;
            let apart = if level + 1 == begins.len() {
                1
            } else {
                // An inner node has the first key of each child except the leftmost child.
                below / FANOUT as u64
            };
            let is_inner = u64::from(apart > 1);
            for node in 0..nodes {
                for slot in 0..NODE_WORDS {
                    let key = node as u64 * below + (slot as u64 + is_inner) * apart;
                    words[begin + node * NODE_WORDS + slot] = 2 * key;
                }
            }
        }
        Self { keys, begins }
    }

    fn wanted(&self, probe: u64) -> u64 {
        mix(probe) % (2 * self.keys)
    }
}

impl LookUp for Tree {
    /// The key, and the current level and node.
    type State = (u64, usize, usize);

    #[inline(always)]
    fn begin(&self, probe: u64) -> (Self::State, Range<usize>) {
        ((self.wanted(probe), 0, 0), 0..NODE_WORDS)
    }

    #[inline(always)]
    fn step(&self, (key, level, node): Self::State, read: &[u64]) -> Step<Self::State> {
        let Some(begin) = self.begins.get(level + 1) else {
            let slot = read.iter().position(|found| *found == key);
            return Step::Found(slot.map_or(0, |slot| (node * NODE_WORDS + slot) as u64));
        };
        let child = node * FANOUT + read.iter().filter(|first| **first <= key).count();
        let at = begin + child * NODE_WORDS;
        Step::Read((key, level + 1, child), at..at + NODE_WORDS)
    }

    fn expected(&self, _: &[u64], probe: u64) -> u64 {
        let key = self.wanted(probe);
        if key.is_multiple_of(2) { key / 2 } else { 0 }
    }
}

/// A graph. Each node has 7 edges and a value.
struct Graph {
    nodes: u64,
}

const EDGES: usize = NODE_WORDS - 1;
const STEPS: u32 = 8;

impl Graph {
    fn fill(words: &mut [u64]) -> Self {
        let nodes = (words.len() / NODE_WORDS) as u64;
        for (at, word) in words.iter_mut().enumerate() {
            *word = mix(at as u64) % nodes;
        }
        Self { nodes }
    }

    fn node(node: u64) -> Range<usize> {
        let at = node as usize * NODE_WORDS;
        at..at + NODE_WORDS
    }
}

impl LookUp for Graph {
    /// The bits that choose an edge in each step, the number of steps so far, and the sum of
    /// values.
    type State = (u64, u32, u64);

    #[inline(always)]
    fn begin(&self, probe: u64) -> (Self::State, Range<usize>) {
        let way = mix(probe);
        ((way, 0, 0), Self::node(way % self.nodes))
    }

    #[inline(always)]
    fn step(&self, (way, step, sum): Self::State, read: &[u64]) -> Step<Self::State> {
        let sum = sum.wrapping_add(read[EDGES]);
        if step + 1 == STEPS {
            return Step::Found(sum);
        }
        let edge = usize::from((way >> (8 * step)) as u8) % EDGES;
        Step::Read((way, step + 1, sum), Self::node(read[edge]))
    }

    fn expected(&self, words: &[u64], probe: u64) -> u64 {
        let way = mix(probe);
        let mut node = (way % self.nodes) as usize;
        let mut sum = 0_u64;
        for edge in way.to_le_bytes() {
            sum = sum.wrapping_add(words[node * NODE_WORDS + EDGES]);
            node = words[node * NODE_WORDS + usize::from(edge) % EDGES] as usize;
        }
        sum
    }
}
