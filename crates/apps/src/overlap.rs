//! Transfers that hide behind computation (CellMT, section 4.4).
//!
//! ```text
//!   taken      single: transfer + computation          ╱
//!                                                  ╱ ╱
//!      transfer ─────────────────────────────── ╱  ╱     overlapping: the larger of the two
//!                                            ╱   ╱
//!                                    crossover: computation takes as long as transfers
//! ```
//!
//! The vertical axis is the time for each byte, and the horizontal axis the computation for each
//! byte. The program is like [`Aes`](crate::Aes), but computes for a chosen time instead of
//! encrypting.

use cellworks_machine::{Machine, Topology};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::blocks::{
    Buffering, Staging, change, check_bytes, check_cycles, cycles_of, room_for, shares,
};
use crate::clock::spend;
use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError, verify};
use crate::figure::{Curve, Figure, against, axis};
use crate::gang::{self, check_spes};
use crate::picture::Draw;
use crate::{Conclusion, Done, Metric, Parameters, Parts, Program, Quantity, RunResult};

/// Compares single buffering, double buffering and threads with a model, for different amounts of
/// computation for each byte. Finds the crossover, where computation takes as long as transfers.
///
/// The programs change each block once, and the result is checked for this change. The model starts
/// from a run without computation, which measures the time t of the transfers. With c cycles of
/// computation for each byte, single buffering should take t + c cycles a byte. The other ways
/// overlap computation and transfers, and should take the larger of t and c.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[command(mut_args(|flag| {
    if flag.get_id() == "threads" { flag.help(THREADS_HELP) } else { flag }
}))]
pub struct Overlap {
    /// The cycles of computation for each byte. A range such as 0.1-100 stands for 1, 2 and 5 times
    /// each power of 10 in it. A run with 0, which only transfers, is always added.
    #[arg(long, default_value = "0.1-100,11.7")]
    pub cycles_per_byte: f64,

    /// How blocks get to a local store and back.
    #[command(flatten)]
    #[serde(flatten)]
    pub staging: Staging,

    /// How many SPEs share the buffer, from SPE 0 on.
    #[arg(long, default_value = "1")]
    pub spes: usize,

    /// Bytes of the buffer, a multiple of 16.
    #[arg(long, default_value = "1m")]
    pub bytes: usize,

    /// Bytes that are staged at once, a multiple of 16.
    #[arg(long = "block", default_value = "4k")]
    pub block_bytes: usize,
}

const USUAL_THREADS: [usize; 3] = [2, 4, 8];
const THREADS_HELP: &str = "Threads of each SPE, with --buffering threads [default: 2,4,8]";

/// The size of a quadword, which DMA moves as one piece.
const QUADWORD_BYTES: usize = 16;

const BANDWIDTH: Metric = Metric::new("bandwidth", "bytes/s");
const TAKEN: Metric = Metric::new("taken", "cycles/byte");

// These metrics are computed from several runs.
const MODEL: Metric = Metric::new("model", "cycles/byte");
const CROSSOVER: Metric = Metric::new("crossover", "cycles/byte");
const GAIN: Metric = Metric::new("gain", "times");
const MODEL_GAIN: Metric = Metric::new("model_gain", "times");

impl Program for Overlap {
    const NAME: &'static str = "overlap";
    const EXAMPLE: &'static str = "--threads 2,4,8 --cycles-per-byte 0.1-100";
    const METRICS: &'static [Metric] = &[BANDWIDTH, TAKEN];
    const PARTS: Parts =
        Parts::None("its SPEs change blocks of main memory and send nothing to each other");

    fn title(&self) -> String {
        format!(
            "overlap, {}, {} cycles a byte",
            self.staging.title(),
            self.cycles_per_byte
        )
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        const WHY: &str = "a quadword";
        self.staging.check()?;
        check_spes(self.spes, topology)?;
        check_bytes("bytes", self.bytes, QUADWORD_BYTES, WHY)?;
        check_bytes("block_bytes", self.block_bytes, QUADWORD_BYTES, WHY)?;
        check_cycles(self.cycles_per_byte)
    }

    fn address_space_bytes(&self) -> usize {
        // The buffer, and the expected result of the same size.
        self.bytes.saturating_mul(2)
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, _: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let mut buffer = room_for(self.bytes)?;
        buffer.resize(self.bytes, 0);
        let parts = shares(&mut buffer, self.block_bytes, self.spes);
        let gang = gang::run(machine, Self::NAME, parts, |spe: &M::Spe, part| {
            let work = |block: &mut [u8]| {
                spend(spe, cycles_of(block.len(), self.cycles_per_byte));
                touch(block);
            };
            change(spe, part, self.block_bytes, self.staging, &work)
        })?;
        let quantities = vec![
            BANDWIDTH.measured(gang.bandwidth(self.bytes)),
            TAKEN.measured(gang.cycles_per_byte(self.bytes)),
        ];
        gang.results.into_iter().collect::<Result<(), _>>()?;
        self.verify_changed(&buffer)?;
        Ok(quantities)
    }

    fn complete(chosen: Vec<Self>) -> Vec<Self> {
        // The model starts from a run without computation.
        let transfers = chosen.iter().map(|one| Self {
            cycles_per_byte: 0.0,
            ..*one
        });
        let mut all: Vec<Self> = transfers.chain(chosen.iter().copied()).collect();
        all.sort_by(|a, b| a.cycles_per_byte.total_cmp(&b.cycles_per_byte));
        Staging::complete(all, &USUAL_THREADS, |one| &mut one.staging)
    }

    /// Returns a `model` for each run, and a `gain` and a `model_gain` over single buffering. For
    /// double buffering and for threads, returns a `crossover`.
    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        let mut conclusions = Vec::new();
        for one in done {
            let quantities = [model(one, done), gain(one, done), model_gain(one, done)];
            for quantity in quantities.into_iter().flatten() {
                let parameters = one.program.parameters();
                conclusions.push(Conclusion {
                    quantity,
                    parameters,
                });
            }
        }
        conclusions.extend(crossovers(done).map(|(program, transfer)| Conclusion {
            quantity: CROSSOVER.measured(transfer),
            parameters: program.of_transfers(),
        }));
        conclusions
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        let mut figures = against(done, "Moved by all SPEs together", BANDWIDTH, axis);
        let with_gain: Vec<Done<Self>> = done
            .iter()
            .filter(|one| one.program.staging.buffering != Buffering::Single)
            .filter_map(|one| {
                Some(Done {
                    program: one.program,
                    quantities: vec![gain(one, done)?],
                })
            })
            .collect();
        for mut figure in against(&with_gain, "Against single buffering", GAIN, axis) {
            if figure.x.unit == "cycles/byte" {
                figure.curves.extend(crossover_points(done));
            }
            figures.push(figure);
        }
        figures
    }
}

impl Overlap {
    /// Checks that every block was moved, changed, and moved back exactly once.
    fn verify_changed(&self, buffer: &[u8]) -> Result<(), ProgramError> {
        let mut expected = room_for(self.bytes)?;
        expected.resize(self.bytes, 0);
        expected.chunks_mut(self.block_bytes).for_each(touch);
        verify(buffer, &expected, "one change of each block")
    }

    fn of_transfers(&self) -> Parameters {
        let parameters = self.parameters().into_iter();
        parameters
            .filter(|(name, _)| name != "cycles_per_byte")
            .collect()
    }

    fn with_single(self) -> Self {
        let staging = Staging {
            buffering: Buffering::Single,
            threads: None,
        };
        Self { staging, ..self }
    }

    /// Returns the cycles a byte that the model predicts, if transfers alone take `transfer`.
    fn expected(&self, transfer: f64) -> f64 {
        match self.staging.buffering {
            Buffering::Single => transfer + self.cycles_per_byte,
            Buffering::Double | Buffering::Threads => transfer.max(self.cycles_per_byte),
        }
    }
}

/// Changes a byte of each cache line, so that the whole block must be moved and moved back.
fn touch(block: &mut [u8]) {
    block.iter_mut().step_by(64).for_each(|byte| *byte += 1);
}

/// Returns the cycles a byte that a program took, or `None` if `done` lacks the program.
fn taken(program: Overlap, done: &[Done<Overlap>]) -> Option<f64> {
    let same = done.iter().find(|one| one.program == program);
    same.and_then(|one| one.value(TAKEN.name))
}

/// Returns the cycles a byte of `program` without computation, or `None` if `done` lacks it.
fn transfer(program: Overlap, done: &[Done<Overlap>]) -> Option<f64> {
    let alone = Overlap {
        cycles_per_byte: 0.0,
        ..program
    };
    taken(alone, done)
}

fn model(one: &Done<Overlap>, done: &[Done<Overlap>]) -> Option<Quantity> {
    let transfer = transfer(one.program, done)?;
    Some(MODEL.measured(one.program.expected(transfer)))
}

fn gain(one: &Done<Overlap>, done: &[Done<Overlap>]) -> Option<Quantity> {
    let single = taken(one.program.with_single(), done)?;
    Some(GAIN.measured(single / one.value(TAKEN.name)?))
}

fn model_gain(one: &Done<Overlap>, done: &[Done<Overlap>]) -> Option<Quantity> {
    let single = one.program.with_single();
    let single = single.expected(transfer(single, done)?);
    let this = one.program.expected(transfer(one.program, done)?);
    Some(MODEL_GAIN.measured(single / this))
}

/// Returns the programs with double buffering or threads, each with its crossover.
fn crossovers(done: &[Done<Overlap>]) -> impl Iterator<Item = (Overlap, f64)> {
    done.iter()
        .filter(|one| one.program.cycles_per_byte == 0.0)
        .filter(|one| one.program.staging.buffering != Buffering::Single)
        .filter_map(|one| Some((one.program, one.value(TAKEN.name)?)))
}

/// Returns a curve for each crossover: a single point, with the gain that the model predicts.
fn crossover_points(done: &[Done<Overlap>]) -> Vec<Curve> {
    crossovers(done)
        .filter_map(|(program, transfer)| {
            let at = Overlap {
                cycles_per_byte: transfer,
                ..program
            };
            let single = at.with_single();
            let single = single.expected(self::transfer(single, done)?);
            Some(Curve {
                name: format!("crossover, {}", program.staging.title()),
                points: vec![(transfer, single / at.expected(transfer))],
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_was_not_moved_back_once_is_a_wrong_result() {
        let program = Overlap {
            staging: Staging {
                buffering: Buffering::Double,
                threads: None,
            },
            spes: 1,
            bytes: 512,
            block_bytes: 128,
            cycles_per_byte: 0.0,
        };
        let blocks_changed = |times: [usize; 4]| {
            let mut buffer = vec![0; 512];
            for (block, times) in buffer.chunks_mut(128).zip(times) {
                (0..times).for_each(|_| touch(block));
            }
            program.verify_changed(&buffer)
        };
        assert!(blocks_changed([1; 4]).is_ok());
        let lost = blocks_changed([1, 1, 0, 1]).unwrap_err().to_string();
        let text = "the result is wrong: byte 256 of 512 is 0x00, and 0x01 in what one change of each block gives";
        assert!(lost.starts_with(text), "{lost}");
        let twice = blocks_changed([1, 1, 1, 2]).unwrap_err().to_string();
        assert!(twice.contains("byte 384 of 512 is 0x02"), "{twice}");
    }
}
