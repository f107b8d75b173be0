//! Sweeps: runs of communicating tasks with many mappings to SPEs.

use std::collections::HashSet;

use cellworks_machine::SpeId;
use cellworks_machine::sizes::in_words;

use super::packets::{Edge, Exchange, ExchangeRun};
use super::permutation::{Mapping, MappingError};
use cellworks_mapping::Volumes;

/// The largest number of mappings if a sweep runs all of them.
const EXHAUSTIVE_MAX: u64 = 50_000;

/// The largest number of tasks, because a row of notifications has room for 16 tasks.
const TASKS_MAX: usize = 16;

/// The largest packet in bytes that one DMA command moves.
const PACKET_BYTES_MAX: u32 = 16 << 10;

/// The random number of cycles before a first packet is below this limit: about one round on a
/// Cell.
const START_CYCLES: u64 = 4_096;

/// Tasks that exchange packets, run with many mappings of tasks to SPEs. The tasks form a ring
/// (Keller, Varbanescu, Performance Impact of Task Mapping on the Cell BE Multicore Processor,
/// A4MMC 2010) or any other graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The number of tasks: 3 to 16 in a ring, 2 to 16 in a graph.
    pub tasks: usize,
    /// The number of SPEs, from SPE 0 on: at least one for each task.
    pub spes: usize,
    /// Sizes of packets in bytes, multiples of 16 up to 16,384. Each mapping is run with each size.
    pub packet_bytes: Vec<u32>,
    /// The exchange of packets between tasks.
    pub traffic: Traffic,
    /// The number of measured rounds: at least 1.
    pub rounds: u32,
    /// The number of runs of each mapping: at least 1.
    pub runs: usize,
    /// The seed of the starts of runs and of the random mappings.
    pub seed: u64,
    /// The SPE of each thread. A mapping assigns tasks to threads.
    pub threads: Threads,
    /// The number of random mappings, or `None` to run all mappings.
    pub sample: Option<usize>,
    /// Mappings that are run in addition to the sample.
    pub named: Vec<Mapping>,
}

/// The graph of tasks that exchange packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// The tasks form a ring. Each task passes on packets between its two neighbours.
    Ring {
        /// Whether packets go around in one direction only.
        one_way: bool,
    },
    /// The tasks form a graph, and a packet goes over each edge in each round. A packet of an edge
    /// with the largest volume has the size `packet_bytes`. Other packets are smaller in proportion
    /// to the volume, rounded up to whole quadwords.
    Graph(Volumes),
}

impl Traffic {
    fn exchange(&self, packet_bytes: u32) -> Exchange {
        match self {
            Self::Ring { one_way } => Exchange::Ring {
                packet_bytes,
                one_way: *one_way,
            },
            Self::Graph(volumes) => {
                // The volume that a task sends to itself needs no packet.
                let pairs = || volumes.pairs().filter(|(from, to, _)| from != to);
                let largest = pairs().map(|(.., volume)| volume).fold(0.0, f64::max);
                let quadwords = f64::from(packet_bytes / 16);
                let edge = pairs().map(|(from, to, volume)| Edge {
                    from: from.0 as u8,
                    to: to.0 as u8,
                    bytes: (volume / largest * quadwords).ceil().max(1.0) as u32 * 16,
                });
                Exchange::Graph(edge.collect())
            }
        }
    }
}

/// The SPE of each thread. A mapping assigns tasks to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Thread i is on SPE i, so a mapping assigns tasks to SPEs.
    Pinned,
    /// Each run places the threads on random SPEs, as an operating system may do. Run i of each
    /// mapping has the same SPEs as run i of all other mappings.
    Placed,
}

/// The reason why a sweep is not possible.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum SweepError {
    /// There are too few or too many tasks.
    #[error("{} takes {least} to {TASKS_MAX} tasks, not {tasks}", if *least == 3 { "a ring" } else { "a graph" })]
    Tasks {
        /// The number of tasks.
        tasks: usize,
        /// The smallest number of tasks that is possible.
        least: usize,
    },
    /// The graph and the sweep have different numbers of tasks.
    #[error("the graph has {graph} tasks, and {tasks} are to be mapped: map as many")]
    Graph {
        /// The number of tasks of the graph.
        graph: usize,
        /// The number of tasks of the sweep.
        tasks: usize,
    },
    /// There are more tasks than SPEs.
    #[error("{tasks} tasks on {spes} SPEs: each task takes an SPE; use fewer tasks or more SPEs")]
    Spes {
        /// The number of tasks.
        tasks: usize,
        /// The number of SPEs.
        spes: usize,
    },
    /// A DMA command cannot move a packet of this size.
    #[error(
        "a packet of {}: a DMA command moves multiples of 16 bytes up to 16 KB; use 1k",
        in_words(*.0 as usize)
    )]
    Packet(u32),
    /// A number is 0, so the sweep would run nothing.
    #[error("0 {0}: give 1 at least")]
    Nothing(&'static str),
    /// There are too many mappings.
    #[error(
        "{tasks} tasks have {} mappings to {spes} SPEs, and at most {EXHAUSTIVE_MAX} are all run: take a sample of them",
        match count { Some(count) => count.to_string(), None => format!("more than {}", u64::MAX) }
    )]
    TooMany {
        /// The number of tasks.
        tasks: usize,
        /// The number of SPEs.
        spes: usize,
        /// The number of mappings, if a `u64` can hold it.
        count: Option<u64>,
    },
    /// A named mapping is not valid.
    #[error(transparent)]
    Mapping(#[from] MappingError),
}

cellworks_machine::debug_by_display!(SweepError);

impl Sweep {
    /// Returns a sweep as in the paper of Keller and Varbanescu: all mappings of a ring, with
    /// packets in both directions, and three runs of each mapping.
    pub fn new(tasks: usize, spes: usize, packet_bytes: Vec<u32>) -> Self {
        Self {
            tasks,
            spes,
            packet_bytes,
            traffic: Traffic::Ring { one_way: false },
            rounds: 50,
            runs: 3,
            seed: 0,
            threads: Threads::Pinned,
            sample: None,
            named: Vec::new(),
        }
    }

    /// Returns the identity, and the mappings of Keller and Varbanescu for these tasks and SPEs.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer SPEs than tasks, no tasks, or more than 255 tasks.
    pub fn of_the_paper(tasks: usize, spes: usize) -> Vec<Mapping> {
        let texts: &[&str] = match (tasks, spes) {
            (6, 6) => &["024531", "013542", "043512"],
            (8, 8) => &["02467531", "01357642"],
            _ => &[],
        };
        let mut all = vec![Mapping::identity(tasks, spes)];
        let read = |text: &&str| Mapping::parse(text, tasks, spes).expect("a permutation");
        all.extend(texts.iter().map(read));
        all
    }

    /// Plans the runs of the sweep.
    ///
    /// # Errors
    ///
    /// Returns [`SweepError`] if the sweep is not possible.
    pub fn plan(self) -> Result<SweepPlan, SweepError> {
        self.check()?;
        let mut mappings: Vec<Mapping> = match self.sample {
            None => Mapping::all(self.tasks, self.spes).collect(),
            Some(number) => self.sampled(number),
        };
        for named in &self.named {
            if self.sample.is_some() && !mappings.contains(named) {
                mappings.push(named.clone());
            }
        }
        let starts = (0..self.runs).map(|run| self.start(run)).collect();
        Ok(SweepPlan {
            sweep: self,
            mappings,
            starts,
        })
    }

    fn check(&self) -> Result<(), SweepError> {
        let (tasks, spes) = (self.tasks, self.spes);
        let least = match &self.traffic {
            Traffic::Ring { .. } => 3,
            Traffic::Graph(_) => 2,
        };
        if !(least..=TASKS_MAX).contains(&tasks) {
            return Err(SweepError::Tasks { tasks, least });
        }
        if let Traffic::Graph(volumes) = &self.traffic {
            let graph = volumes.tasks();
            if graph != tasks {
                return Err(SweepError::Graph { graph, tasks });
            }
            if volumes.pairs().all(|(from, to, _)| from == to) {
                return Err(SweepError::Nothing("pairs of tasks that communicate"));
            }
        }
        if tasks > spes {
            return Err(SweepError::Spes { tasks, spes });
        }
        let is_moved =
            |bytes: u32| bytes > 0 && bytes.is_multiple_of(16) && bytes <= PACKET_BYTES_MAX;
        if let Some(bytes) = self.packet_bytes.iter().find(|bytes| !is_moved(**bytes)) {
            return Err(SweepError::Packet(*bytes));
        }
        let numbers = [
            (self.packet_bytes.len(), "sizes of packets"),
            (self.rounds as usize, "rounds"),
            (self.runs, "runs"),
            (self.sample.unwrap_or(1), "random mappings"),
        ];
        if let Some((_, what)) = numbers.into_iter().find(|(number, _)| *number == 0) {
            return Err(SweepError::Nothing(what));
        }
        let count = Mapping::count(tasks, spes);
        let run = match (self.sample, count) {
            (Some(sample), _) => Some(sample as u64),
            (None, count) => count,
        };
        match run {
            Some(run) if run <= EXHAUSTIVE_MAX => Ok(()),
            _ => Err(SweepError::TooMany { tasks, spes, count }),
        }
    }

    /// Returns `number` different random mappings, or all mappings if there are not more.
    fn sampled(&self, number: usize) -> Vec<Mapping> {
        let (tasks, spes) = (self.tasks, self.spes);
        if Mapping::count(tasks, spes).is_some_and(|count| count <= number as u64) {
            return Mapping::all(tasks, spes).collect();
        }
        let mut random = fastrand::Rng::with_seed(self.seed);
        let mut seen = HashSet::new();
        let drawn = std::iter::repeat_with(|| Mapping::random(tasks, spes, &mut random));
        drawn
            .filter(|mapping| seen.insert(mapping.clone()))
            .take(number)
            .collect()
    }

    fn start(&self, run: usize) -> Start {
        // The run is in the upper 32 bits, and a small seed is in the lower 32 bits. Therefore each
        // pair of a small seed and a run gives another seed of the generator.
        let mut random = fastrand::Rng::with_seed(self.seed ^ (run as u64 + 1).rotate_left(32));
        let cycles = (0..self.tasks).map(|_| random.u64(0..START_CYCLES));
        let cycles = cycles.collect();
        let mut spes: Vec<SpeId> = (0..self.spes).map(|spe| SpeId::new(spe as u16)).collect();
        if self.threads == Threads::Placed {
            random.shuffle(&mut spes);
        }
        Start { cycles, spes }
    }
}

#[derive(Clone, Debug)]
struct Start {
    cycles: Vec<u64>,
    spes: Vec<SpeId>,
}

/// The steps of a sweep, numbered from 0. A step is all runs of one mapping with one size of
/// packets. The steps are in the order of sizes, and then of mappings.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    sweep: Sweep,
    mappings: Vec<Mapping>,
    starts: Vec<Start>,
}

impl SweepPlan {
    /// Returns the sweep that was planned.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Returns the mappings, each once.
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// Returns the number of steps.
    pub fn steps(&self) -> usize {
        self.sweep.packet_bytes.len() * self.mappings.len()
    }

    /// Returns the step of a size of packets and a mapping, which are given by their indices.
    pub fn step(&self, size: usize, mapping: usize) -> usize {
        size * self.mappings.len() + mapping
    }

    /// Returns the size of packets and the mapping of a step.
    ///
    /// # Panics
    ///
    /// Panics if there is no such step.
    pub fn of_step(&self, step: usize) -> (u32, &Mapping) {
        let (size, mapping) = (step / self.mappings.len(), step % self.mappings.len());
        (self.sweep.packet_bytes[size], &self.mappings[mapping])
    }

    /// Returns the runs of a step.
    ///
    /// # Panics
    ///
    /// Panics if there is no such step.
    pub fn runs(&self, step: usize) -> Vec<ExchangeRun> {
        let (packet_bytes, mapping) = self.of_step(step);
        let threads = mapping.spe_of_each_task();
        let exchange = self.sweep.traffic.exchange(packet_bytes);
        let run = |start: &Start| ExchangeRun {
            exchange: exchange.clone(),
            rounds: self.sweep.rounds,
            spes: threads
                .iter()
                .map(|thread| start.spes[thread.index()])
                .collect(),
            start_cycles: start.cycles.clone(),
        };
        self.starts.iter().map(run).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(change: impl FnOnce(&mut Sweep)) -> Result<SweepPlan, SweepError> {
        let mut sweep = Sweep::new(4, 4, vec![512, 1_024]);
        change(&mut sweep);
        sweep.plan()
    }

    #[test]
    fn runs_are_of_every_size_mapping_and_start() {
        let plan = plan(|_| {}).unwrap();
        assert_eq!(plan.steps(), 2 * 6);
        let all = (0..plan.steps()).flat_map(|step| plan.runs(step));
        let different: HashSet<ExchangeRun> = all.collect();
        assert_eq!(different.len(), 2 * 6 * 3);
        let step = plan.step(1, 2);
        let (bytes, mapping) = plan.of_step(step);
        assert_eq!((bytes, mapping.to_string().as_str()), (1_024, "0213"));
        let runs = plan.runs(step);
        for (run, first) in runs.iter().zip(plan.runs(0)) {
            let ring = Exchange::Ring {
                packet_bytes: 1_024,
                one_way: false,
            };
            assert_eq!(run.exchange, ring);
            assert_eq!(run.spes, [0, 2, 1, 3].map(SpeId::new));
            assert_eq!(run.start_cycles, first.start_cycles, "of one run");
        }
        assert_ne!(runs[0].start_cycles, runs[1].start_cycles);
    }

    #[test]
    fn threads_are_placed_anew_in_each_run_and_for_all_mappings_alike() {
        let plan = plan(|sweep| {
            sweep.threads = Threads::Placed;
            sweep.runs = 20;
        });
        let plan = plan.unwrap();
        let places = |mapping: usize| -> Vec<Vec<SpeId>> {
            let runs = plan.runs(plan.step(0, mapping)).into_iter();
            runs.map(|run| run.spes).collect()
        };
        let identity = places(0);
        assert!(identity.iter().any(|spes| *spes != identity[0]));
        // The mapping [0132] is the identity with the last two tasks exchanged.
        for (mut spes, other) in identity.into_iter().zip(places(1)) {
            spes.swap(2, 3);
            assert_eq!(spes, other);
        }
    }

    #[test]
    fn a_sample_has_different_mappings_and_the_named_ones() {
        let sampled = |seed| {
            let named = Sweep::of_the_paper(8, 8);
            let plan = Sweep {
                sample: Some(50),
                seed,
                named,
                ..Sweep::new(8, 8, vec![16])
            };
            plan.plan().unwrap().mappings().to_vec()
        };
        let all = sampled(1);
        let different: HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert!((50..=53).contains(&all.len()));
        for named in Sweep::of_the_paper(8, 8) {
            assert!(all.contains(&named), "{named}");
        }
        assert_eq!(all, sampled(1));
        assert_ne!(all, sampled(2));
        let more = plan(|sweep| sweep.sample = Some(1_000)).unwrap();
        assert_eq!(more.mappings().len(), 6, "there are no more");
    }

    #[test]
    fn the_largest_volume_has_the_size_of_packets() {
        let edges = [(0, 1, 100.0), (1, 0, 50.0), (2, 3, 1.0), (3, 3, 900.0)];
        let volumes = Volumes::from_edges(4, edges).unwrap();
        let plan = plan(|sweep| sweep.traffic = Traffic::Graph(volumes)).unwrap();
        let sent = |step: usize| match &plan.runs(step)[0].exchange {
            Exchange::Graph(edges) => Vec::from_iter(edges.iter().map(|edge| edge.bytes)),
            ring => panic!("{ring:?}"),
        };
        assert_eq!(sent(plan.step(0, 0)), [512, 256, 16]);
        assert_eq!(sent(plan.step(1, 0)), [1_024, 512, 16]);
    }

    #[test]
    fn what_makes_no_sense_says_why() {
        let said = |change: fn(&mut Sweep)| plan(change).unwrap_err().to_string();
        assert_eq!(
            said(|sweep| sweep.tasks = 2),
            "a ring takes 3 to 16 tasks, not 2"
        );
        assert_eq!(
            said(|sweep| sweep.traffic = Traffic::Graph(Volumes::from_edges(3, []).unwrap())),
            "the graph has 3 tasks, and 4 are to be mapped: map as many"
        );
        assert_eq!(
            said(|sweep| {
                sweep.traffic = Traffic::Graph(Volumes::from_edges(4, [(1, 1, 5.0)]).unwrap());
            }),
            "0 pairs of tasks that communicate: give 1 at least"
        );
        assert_eq!(
            said(|sweep| {
                sweep.traffic = Traffic::Graph(Volumes::from_edges(17, []).unwrap());
                (sweep.tasks, sweep.spes) = (17, 17);
            }),
            "a graph takes 2 to 16 tasks, not 17"
        );
        assert_eq!(
            said(|sweep| sweep.spes = 3),
            "4 tasks on 3 SPEs: each task takes an SPE; use fewer tasks or more SPEs"
        );
        for (bytes, text) in [(0, "0 bytes"), (24, "24 bytes"), (32_768, "32 KB")] {
            let refused = plan(|sweep| sweep.packet_bytes.push(bytes)).unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!(
                    "a packet of {text}: a DMA command moves multiples of 16 bytes up to 16 KB; use 1k"
                )
            );
        }
        assert_eq!(said(|sweep| sweep.runs = 0), "0 runs: give 1 at least");
        assert_eq!(said(|sweep| sweep.rounds = 0), "0 rounds: give 1 at least");
        assert_eq!(
            said(|sweep| sweep.sample = Some(0)),
            "0 random mappings: give 1 at least"
        );
        assert_eq!(
            said(|sweep| (sweep.tasks, sweep.spes) = (10, 10)),
            "10 tasks have 362880 mappings to 10 SPEs, and at most 50000 are all run: take a sample of them"
        );
    }
}
