//! What can be typed after `cellworks run`.

use cellworks_apps::{Aes, Buffering, Overlap, Program, SPU_AES_CYCLES_PER_BYTE, Switch};
use clap::{Args, Subcommand, ValueEnum};

use super::dma_latency::DmaLatency;
use super::list::{List, counts, cycles, one_count, sizes};
use super::networks::{BarrierArgs, CommsTimeArgs, KnnArgs, PrototeinArgs, RatioArgs};
use crate::args::CommonArgs;

const AFTER_HELP: &str = "\
Where a flag takes LIST, such as 1,2,4-8, the program runs once for each combination of values; --html draws the
curves.

Examples:
  cellworks run aes --machine qs20
      AES with single buffering, double buffering and threads on a simulated Cell blade.
  cellworks run aes --machine qs20 --buffering threads --threads 1-8 --html aes.html
      The same with 1 to 8 threads, with a curve.
  cellworks run switch --threads 1-16
      What a context switch of cooperative threads costs on this computer.
  cellworks run overlap --machine qs20 --html overlap.html
      How far transfers hide behind computation.
  cellworks run dma-latency --machine qs20 --spes 1,8,16
      The latency of a get by size, alone and with others.
  cellworks run commstime --machine qs22 --spes 2-16 --threads 1-4 --html commstime.html
      What a communication between processes costs, by SPEs and processes on each.
  cellworks run prototein --machine qs22 --spes 1-16 --html prototein.html
      How many times as fast more SPEs fold a prototein.

Exit codes: 0 done, 1 the run failed, 2 the arguments make no sense, 3 measured, but disturbed,
130 interrupted.";

/// Runs a program of a paper, on this computer or on a simulated machine.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RunArgs {
    #[command(subcommand)]
    pub program: ProgramArgs,
}

#[derive(Subcommand)]
pub(crate) enum ProgramArgs {
    /// Encrypts a buffer by AES-128, block by block in local stores: CellMT's listings 7 to 9.
    ///
    /// The result is compared with what the cipher makes of the whole buffer at once.
    Aes(Asking<AesArgs>),

    /// Measures a barrier of SPEs by signals, with one root or with one in each Cell: CellStats' section 5.2.
    Barrier(Asking<BarrierArgs>),

    /// Measures what a communication between processes costs: DSMCBE's figure 3.
    ///
    /// A number goes round a ring of processes on SPEs, and a process on the PPE checks and times the copies that it gets.
    /// Processes of one SPE that are neighbours in the ring speak through channels that do not leave the SPE.
    #[command(name = "commstime")]
    CommsTime(Asking<CommsTimeArgs>),

    /// Measures the latency of a get by size, each SPE with a buffer of its own: CellMT's figure 2.
    ///
    /// It is the dmaget of `cellworks stats` with -N, in time and in cycles.
    DmaLatency(Asking<DmaLatencyArgs>),

    /// Finds the nearest neighbours of all points, in a ring of processes: DSMCBE's figure 7.
    ///
    /// The result is compared with brute force. Speed-ups are over one SPE with one thread, if that runs too. The paper has
    /// 50k points.
    Knn(Asking<KnnArgs>),

    /// Compares single buffering, double buffering and threads by computation a byte, with a model and with the
    /// crossover, where computation takes as long as transfers.
    Overlap(Asking<OverlapArgs>),

    /// Finds the best of all foldings of prototeins, from a bag of tasks: DSMCBE's figure 5.
    ///
    /// The result is compared with that of a search without tasks. Speed-ups are over one SPE with one thread, if that runs too.
    Prototein(Asking<PrototeinArgs>),

    /// Finds how much computation a communication needs beside it, in a ring of processes: DSMCBE's figure 9.
    ///
    /// The operations of a step are shared by all processes, and then each gives 16 bytes to the next. Speed-ups are over one
    /// SPE with one thread, if that runs too.
    Ratio(Asking<RatioArgs>),

    /// Measures a context switch of cooperative threads: CellMT's listing 11 and figure 3.
    Switch(Asking<SwitchArgs>),
}

/// The flags of a program, and those that all programs have.
#[derive(Args)]
pub(crate) struct Asking<A: Args> {
    #[command(flatten)]
    pub program: A,

    #[command(flatten)]
    pub common: CommonArgs,
}

/// What kind of machine a program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ThisComputer,
    Simulated,
}

impl Kind {
    /// How often something is done if nobody has said it: many times to be measured, or a few to be simulated.
    pub fn usual(self, on_this_computer: u64, simulated: u64) -> u64 {
        match self {
            Self::ThisComputer => on_this_computer,
            Self::Simulated => simulated,
        }
    }
}

/// The flags of a program, as the programs that they ask for.
pub(super) trait Asked: Args {
    type Program: Program + Clone + Send + 'static;

    /// An example that works, without the machine.
    const EXAMPLE: &'static str;

    /// Every combination of values, on this kind of machine; the message says why there is none.
    fn programs(&self, on: Kind) -> Result<Vec<Self::Program>, String>;
}

/// The flag of a parameter.
pub(super) fn flag_of(parameter: &str) -> &'static str {
    match parameter {
        "barriers" => "--barriers",
        "block_bytes" => "--block",
        "block_points" => "--block-points",
        "bytes" => "--bytes",
        "cycles_per_byte" => "--cycles-per-byte",
        "dimensions" => "--dimensions",
        "neighbours" => "--neighbours",
        "operations" => "--operations",
        "placed" => "--placed",
        "points" => "--points",
        "prototein" => "--prototein",
        "rounds" => "--rounds",
        "sizes" => "--sizes",
        "spes" => "--spes",
        "steps" => "--steps",
        "threads" => "--threads",
        "yields" => "--yields",
        other => unreachable!("the programs have no parameter {other}"),
    }
}

/// How transfers and computation follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum How {
    /// get, compute and put each block, one after the other
    Single,
    /// the next block arrives while the present one is computed
    Double,
    /// as single, in several cooperative threads of each SPE
    Threads,
}

/// Each way, with each number of threads.
fn bufferings(how: &[How], threads: &List<usize>) -> Vec<Buffering> {
    let of = |how: &How| match how {
        How::Single => vec![Buffering::Single],
        How::Double => vec![Buffering::Double],
        How::Threads => threads.0.iter().copied().map(Buffering::Threads).collect(),
    };
    how.iter().flat_map(of).collect()
}

#[derive(Args)]
pub(crate) struct AesArgs {
    /// How transfers and computation follow each other
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "single,double,threads"
    )]
    pub buffering: Vec<How>,

    /// Threads of each SPE, with --buffering threads [default: 4]
    #[arg(long, value_name = "LIST", value_parser = counts, allow_negative_numbers = true)]
    pub threads: Option<List<usize>>,

    /// How many SPEs share the buffer
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "1", allow_negative_numbers = true)]
    pub spes: List<usize>,

    /// Bytes of the buffer, a multiple of 16
    #[arg(long, value_name = "LIST", value_parser = sizes, default_value = "1m", allow_negative_numbers = true)]
    pub bytes: List<usize>,

    /// Bytes that are staged at once, a multiple of 16
    #[arg(long, value_name = "LIST", value_parser = sizes, default_value = "4k", allow_negative_numbers = true)]
    pub block: List<usize>,

    /// What a simulated SPU computes for each byte [default: 11.7, AES-128 on an SPE by Bos, Osvik and
    /// Stefan, 2009]
    #[arg(long, value_name = "LIST", value_parser = cycles, allow_negative_numbers = true)]
    pub cycles_per_byte: Option<List<f64>>,
}

impl Asked for AesArgs {
    type Program = Aes;
    const EXAMPLE: &'static str = "aes --buffering threads --threads 4 --block 4k";

    fn programs(&self, _: Kind) -> Result<Vec<Aes>, String> {
        if self.threads.is_some() && !self.buffering.contains(&How::Threads) {
            return Err(
                "--threads without --buffering threads: the other ways have no threads; leave it \
                        out, or add threads to --buffering"
                    .to_owned(),
            );
        }
        let four = List(vec![4]);
        let usual = List(vec![SPU_AES_CYCLES_PER_BYTE]);
        let threads = self.threads.as_ref().unwrap_or(&four);
        let cycles = self.cycles_per_byte.as_ref().unwrap_or(&usual);
        let mut programs = Vec::new();
        for &bytes in &self.bytes.0 {
            for &block_bytes in &self.block.0 {
                for &spes in &self.spes.0 {
                    for &cycles_per_byte in &cycles.0 {
                        let one = |buffering| Aes {
                            buffering,
                            spes,
                            bytes,
                            block_bytes,
                            cycles_per_byte,
                        };
                        programs.extend(bufferings(&self.buffering, threads).into_iter().map(one));
                    }
                }
            }
        }
        Ok(programs)
    }
}

#[derive(Args)]
pub(crate) struct OverlapArgs {
    /// Threads of each SPE
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "2,4,8", allow_negative_numbers = true)]
    pub threads: List<usize>,

    /// What is computed for each byte, in cycles; a range is taken at 1, 2 and 5 of each power of 10
    #[arg(long, value_name = "LIST", value_parser = cycles, default_value = "0.1-100,11.7", allow_negative_numbers = true)]
    pub cycles_per_byte: List<f64>,

    /// How many SPEs share the buffer
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "1", allow_negative_numbers = true)]
    pub spes: List<usize>,

    /// Bytes of the buffer, a multiple of 16
    #[arg(long, value_name = "SIZE", value_parser = sizes, default_value = "1m", allow_negative_numbers = true)]
    pub bytes: List<usize>,

    /// Bytes that are staged at once, a multiple of 16
    #[arg(long, value_name = "LIST", value_parser = sizes, default_value = "4k", allow_negative_numbers = true)]
    pub block: List<usize>,
}

impl Asked for OverlapArgs {
    type Program = Overlap;
    const EXAMPLE: &'static str = "overlap --threads 2,4,8 --cycles-per-byte 0.1-100";

    fn programs(&self, _: Kind) -> Result<Vec<Overlap>, String> {
        let how = [How::Single, How::Double, How::Threads];
        // The transfers alone: what the model starts from.
        let mut cycles = vec![0.0];
        cycles.extend(&self.cycles_per_byte.0);
        cycles.sort_by(f64::total_cmp);
        cycles.dedup();
        let mut programs = Vec::new();
        for &bytes in &self.bytes.0 {
            for &block_bytes in &self.block.0 {
                for &spes in &self.spes.0 {
                    for &cycles_per_byte in &cycles {
                        let one = |buffering| Overlap {
                            buffering,
                            spes,
                            bytes,
                            block_bytes,
                            cycles_per_byte,
                        };
                        programs.extend(bufferings(&how, &self.threads).into_iter().map(one));
                    }
                }
            }
        }
        Ok(programs)
    }
}

#[derive(Args)]
pub(crate) struct SwitchArgs {
    /// How many threads
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "1-16", allow_negative_numbers = true)]
    pub threads: List<usize>,

    /// How often all threads yield together [default: 1m on this computer, 16k on a simulated machine]
    #[arg(long, value_name = "YIELDS", value_parser = one_count, allow_negative_numbers = true)]
    pub yields: Option<u64>,
}

/// A millisecond or more on any computer.
const HOST_YIELDS: u64 = 1_000_000;
/// What starting and ending 16 threads takes is less than a hundredth of it.
const SIMULATED_YIELDS: u64 = 16_000;

impl Asked for SwitchArgs {
    type Program = Switch;
    const EXAMPLE: &'static str = "switch --threads 1-16";

    fn programs(&self, on: Kind) -> Result<Vec<Switch>, String> {
        let yields = self
            .yields
            .unwrap_or(on.usual(HOST_YIELDS, SIMULATED_YIELDS));
        let one = |&threads| Switch { threads, yields };
        Ok(self.threads.0.iter().map(one).collect())
    }
}

#[derive(Args)]
pub(crate) struct DmaLatencyArgs {
    /// Bytes of a block; a range is taken at powers of 2
    #[arg(long, value_name = "LIST", value_parser = sizes, default_value = "8-16k", allow_negative_numbers = true)]
    pub sizes: List<usize>,

    /// How many SPEs get at once
    #[arg(long, value_name = "LIST", value_parser = counts, default_value = "1", allow_negative_numbers = true)]
    pub spes: List<usize>,
}

impl Asked for DmaLatencyArgs {
    type Program = DmaLatency;
    const EXAMPLE: &'static str = "dma-latency --sizes 8-16k --spes 1";

    fn programs(&self, _: Kind) -> Result<Vec<DmaLatency>, String> {
        let mut programs = Vec::new();
        for &spes in &self.spes.0 {
            let one = |&block_bytes| DmaLatency { spes, block_bytes };
            programs.extend(self.sizes.0.iter().map(one));
        }
        Ok(programs)
    }
}
