//! The flags of the programs that are networks of processes, and of the barrier.

use cellworks_apps::{Barrier, CommsTime, Knn, Placement, Prototein, Ratio, Roots, Transport};
use clap::{Args, ValueEnum};

use super::args::{Asked, Kind};
use super::list::{List, counts, one_count};

/// How processes of different SPEs reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Through {
    /// SPE to SPE, by signals and DMA
    Direct,
    /// by requests to the PPE's request coordinator, as in the paper
    Coordinator,
}

/// What all networks have.
#[derive(Args)]
pub(crate) struct NetworkArgs {
    /// Processes on each SPE
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "1", allow_negative_numbers = true)]
    pub threads: List<usize>,

    /// How processes of different SPEs reach each other on a simulated machine; on this computer they share memory,
    /// and it makes no difference
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "direct"
    )]
    pub transport: Vec<Through>,
}

impl NetworkArgs {
    /// Every combination with so many SPEs.
    fn placed(&self, spes: &List<usize>) -> Vec<Placement> {
        let mut all = Vec::new();
        for through in &self.transport {
            let transport = match through {
                Through::Direct => Transport::Direct,
                Through::Coordinator => Transport::Coordinator,
            };
            for &threads in &self.threads.0 {
                all.extend(spes.0.iter().map(|&spes| Placement {
                    spes,
                    threads,
                    transport,
                }));
            }
        }
        all
    }
}

#[derive(Args)]
pub(crate) struct CommsTimeArgs {
    /// How many SPEs the ring has processes on
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "2", allow_negative_numbers = true)]
    pub spes: List<usize>,

    #[command(flatten)]
    pub network: NetworkArgs,

    /// How many times round are timed [default: 10k on this computer, 1k on a simulated machine]
    #[arg(long, value_name = "ROUNDS", value_parser = one_count, allow_negative_numbers = true)]
    pub rounds: Option<u64>,
}

/// The paper's own number.
const HOST_ROUNDS: u64 = 10_000;
/// They are all alike.
const SIMULATED_ROUNDS: u64 = 1_000;

impl Asked for CommsTimeArgs {
    type Program = CommsTime;
    const EXAMPLE: &'static str = "commstime --spes 2 --threads 1-4";

    fn programs(&self, on: Kind) -> Result<Vec<CommsTime>, String> {
        let rounds = self
            .rounds
            .unwrap_or(on.usual(HOST_ROUNDS, SIMULATED_ROUNDS));
        let placed = self.network.placed(&self.spes).into_iter();
        let one = |placement| CommsTime { placement, rounds };
        Ok(placed.map(one).collect())
    }
}

#[derive(Args)]
pub(crate) struct PrototeinArgs {
    /// Prototeins of 2 to 20 beads: H is hydrophobic, P polar
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "HPHPPHHPHPPHPHHP"
    )]
    pub prototein: Vec<String>,

    /// How many beads of each task are placed [default: 9, or all of a shorter prototein]
    #[arg(long, value_name = "LIST", value_parser = counts, allow_negative_numbers = true)]
    pub placed: Option<List<usize>>,

    /// How many SPEs have workers
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "1", allow_negative_numbers = true)]
    pub spes: List<usize>,

    #[command(flatten)]
    pub network: NetworkArgs,
}

/// Makes 740 tasks: ten and more for each worker of a blade.
const PLACED: usize = 9;

impl Asked for PrototeinArgs {
    type Program = Prototein;
    const EXAMPLE: &'static str = "prototein --prototein HPHPPHHPHPPHPHHP --spes 1,2";

    fn programs(&self, _: Kind) -> Result<Vec<Prototein>, String> {
        let mut programs = Vec::new();
        for beads in &self.prototein {
            let usual = List(vec![PLACED.min(beads.len())]);
            for &placed in &self.placed.as_ref().unwrap_or(&usual).0 {
                let one = |placement| Prototein {
                    beads: beads.clone().into(),
                    placed,
                    placement,
                };
                programs.extend(self.network.placed(&self.spes).into_iter().map(one));
            }
        }
        Ok(programs)
    }
}

#[derive(Args)]
pub(crate) struct KnnArgs {
    /// How many points
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "5k", allow_negative_numbers = true)]
    pub points: List<usize>,

    /// Dimensions of the space, at most 256
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "72", allow_negative_numbers = true)]
    pub dimensions: List<usize>,

    /// How many neighbours of each point are looked for
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "10", allow_negative_numbers = true)]
    pub neighbours: List<usize>,

    /// How many points go round together
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "50", allow_negative_numbers = true)]
    pub block_points: List<usize>,

    /// How many SPEs the ring has processes on
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "1", allow_negative_numbers = true)]
    pub spes: List<usize>,

    #[command(flatten)]
    pub network: NetworkArgs,
}

impl Asked for KnnArgs {
    type Program = Knn;
    const EXAMPLE: &'static str = "knn --points 5k --neighbours 10 --spes 1,2";

    fn programs(&self, _: Kind) -> Result<Vec<Knn>, String> {
        let mut programs = Vec::new();
        for &points in &self.points.0 {
            for &dimensions in &self.dimensions.0 {
                for &neighbours in &self.neighbours.0 {
                    for &block_points in &self.block_points.0 {
                        let one = |placement| Knn {
                            placement,
                            points,
                            dimensions,
                            neighbours,
                            block_points,
                        };
                        programs.extend(self.network.placed(&self.spes).into_iter().map(one));
                    }
                }
            }
        }
        Ok(programs)
    }
}

#[derive(Args)]
pub(crate) struct RatioArgs {
    /// Floating-point operations of all processes together in a step
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "10k,100k,1m", allow_negative_numbers = true)]
    pub operations: List<usize>,

    /// How many steps are timed [default: 100 on this computer, 10 on a simulated machine]
    #[arg(long, value_name = "STEPS", value_parser = one_count, allow_negative_numbers = true)]
    pub steps: Option<u64>,

    /// How many SPEs the ring has processes on
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "1", allow_negative_numbers = true)]
    pub spes: List<usize>,

    #[command(flatten)]
    pub network: NetworkArgs,
}

const HOST_STEPS: u64 = 100;
/// They are all alike.
const SIMULATED_STEPS: u64 = 10;

impl Asked for RatioArgs {
    type Program = Ratio;
    const EXAMPLE: &'static str = "ratio --operations 10k,100k,1m --spes 1,2";

    fn programs(&self, on: Kind) -> Result<Vec<Ratio>, String> {
        let steps = self.steps.unwrap_or(on.usual(HOST_STEPS, SIMULATED_STEPS));
        let mut programs = Vec::new();
        for &operations in &self.operations.0 {
            let one = |placement| Ratio {
                placement,
                operations: operations as u64,
                steps,
            };
            programs.extend(self.network.placed(&self.spes).into_iter().map(one));
        }
        Ok(programs)
    }
}

/// Who gathers the signals of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gatherers {
    /// SPE 0: the naive form
    One,
    /// the first SPE of each Cell: the form in two levels
    EachCell,
}

#[derive(Args)]
pub(crate) struct BarrierArgs {
    /// Who gathers
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "one,each-cell"
    )]
    pub roots: Vec<Gatherers>,

    /// How many SPEs meet, 2 to 32
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "2", allow_negative_numbers = true)]
    pub spes: List<usize>,

    /// How many barriers are timed [default: 10k on this computer, 32 on a simulated machine]
    #[arg(long, value_name = "BARRIERS", value_parser = one_count, allow_negative_numbers = true)]
    pub barriers: Option<u64>,
}

const HOST_BARRIERS: u64 = 10_000;
/// They are all alike.
const SIMULATED_BARRIERS: u64 = 32;

impl Asked for BarrierArgs {
    type Program = Barrier;
    const EXAMPLE: &'static str = "barrier --roots one,each-cell --spes 2";

    fn programs(&self, on: Kind) -> Result<Vec<Barrier>, String> {
        let barriers = self
            .barriers
            .unwrap_or(on.usual(HOST_BARRIERS, SIMULATED_BARRIERS));
        let mut programs = Vec::new();
        for gatherers in &self.roots {
            let roots = match gatherers {
                Gatherers::One => Roots::One,
                Gatherers::EachCell => Roots::EachCell,
            };
            let one = |&spes| Barrier {
                roots,
                spes,
                barriers,
            };
            programs.extend(self.spes.0.iter().map(one));
        }
        Ok(programs)
    }
}
