//! How far transfers hide behind computation (CellMT, section 4.4), by computation a byte.
//!
//! ```text
//!   taken      single: transfer + computation          ╱
//!                                                  ╱ ╱
//!      transfer ─────────────────────────────── ╱  ╱     overlapped: the larger of the two
//!                                            ╱   ╱
//!                                    crossover: computation equals transfer
//! ```

use cellworks_machine::{Machine, Topology};

use crate::blocks::{Buffering, change, check_bytes, check_cycles, cycles_of, shares};
use crate::clock::spend;
use crate::error::verify;
use crate::figure::axis;
use crate::gang::{self, check_spes};
use crate::{
    Conclusion, Curve, Done, Figure, ParameterError, Parameters, Program, ProgramError, Quantity,
    Value, against,
};

/// The programs of [`Aes`](crate::Aes), with a computation of a chosen length in place of the cipher. Each block
/// is changed once, which the result is compared with.
///
/// Several of them are compared with a model. A run of the same buffering without computation says what its
/// transfers take, t; with c cycles of computation for each byte, single buffering should take t + c cycles a
/// byte, and what overlaps max(t, c).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// How transfers and computation follow each other.
    pub buffering: Buffering,
    /// How many SPEs, from SPE 0 on.
    pub spes: usize,
    /// Of the buffer.
    pub bytes: usize,
    /// What is staged at once.
    pub block_bytes: usize,
    /// What is computed for each byte; 0 for transfers alone.
    pub cycles_per_byte: f64,
}

/// DMA moves such pieces as one.
const QUADWORD_BYTES: usize = 16;

const TAKEN: &str = "taken";
const GAIN: &str = "gain";

impl Program for Overlap {
    const NAME: &'static str = "overlap";

    fn title(&self) -> String {
        format!(
            "overlap, {}, {} cycles a byte",
            self.buffering.title(),
            self.cycles_per_byte
        )
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = vec![("cycles_per_byte", Value::Number(self.cycles_per_byte))];
        parameters.extend(self.of_buffering());
        parameters
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        const WHY: &str = "a quadword";
        self.buffering.check()?;
        check_spes(self.spes, topology)?;
        check_bytes("bytes", self.bytes, QUADWORD_BYTES, WHY)?;
        check_bytes("block_bytes", self.block_bytes, QUADWORD_BYTES, WHY)?;
        check_cycles(self.cycles_per_byte)
    }

    fn run<M: Machine>(&self, machine: &M) -> Result<Vec<Quantity>, ProgramError> {
        self.check(machine.topology())?;
        let mut buffer = vec![0; self.bytes];
        let parts = shares(&mut buffer, self.block_bytes, self.spes);
        let gang = gang::run(machine, parts, |spe: &M::Spe, part| {
            let work = |block: &mut [u8]| {
                spend(spe, cycles_of(block.len(), self.cycles_per_byte));
                touch(block);
            };
            change(spe, part, self.block_bytes, self.buffering, &work)
        })?;
        let quantities = vec![
            Quantity {
                name: "bandwidth",
                value: gang.bandwidth(self.bytes),
                unit: "bytes/s",
            },
            cycles(TAKEN, gang.cycles_per_byte(self.bytes)),
        ];
        gang.results.into_iter().collect::<Result<(), _>>()?;
        self.verify_changed(&buffer)?;
        Ok(quantities)
    }

    /// `model` of each run whose transfers are known, `gain` and `model_gain` over single
    /// buffering, and of each way that overlaps its `crossover`.
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
            quantity: cycles("crossover", transfer),
            parameters: program.of_buffering(),
        }));
        conclusions
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        let mut figures = against(done, "Moved by all SPEs together", "bandwidth", axis);
        let with_gain: Vec<Done<Self>> = done
            .iter()
            .filter(|one| one.program.buffering != Buffering::Single)
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
    /// Whether every block has come, was changed, and has left, once.
    fn verify_changed(&self, buffer: &[u8]) -> Result<(), ProgramError> {
        let mut expected = vec![0; self.bytes];
        expected.chunks_mut(self.block_bytes).for_each(touch);
        verify(buffer, &expected, "one change of each block")
    }

    /// The parameters without the computation.
    fn of_buffering(&self) -> Parameters {
        let mut parameters: Parameters = self.buffering.parameters().collect();
        parameters.extend([
            ("spes", Value::Count(self.spes as u64)),
            ("bytes", Value::Count(self.bytes as u64)),
            ("block_bytes", Value::Count(self.block_bytes as u64)),
        ]);
        parameters
    }

    /// What it should take, if its transfers take `transfer`.
    fn expected(&self, transfer: f64) -> f64 {
        match self.buffering {
            Buffering::Single => transfer + self.cycles_per_byte,
            Buffering::Double | Buffering::Threads(_) => transfer.max(self.cycles_per_byte),
        }
    }
}

/// Changes a byte of each cache line, so that all of a block has to come and to leave.
fn touch(block: &mut [u8]) {
    block.iter_mut().step_by(64).for_each(|byte| *byte += 1);
}

/// Cycles a byte.
fn cycles(name: &'static str, value: f64) -> Quantity {
    Quantity {
        name,
        value,
        unit: "cycles/byte",
    }
}

fn times(name: &'static str, value: f64) -> Quantity {
    Quantity {
        name,
        value,
        unit: "times",
    }
}

/// What a program took, if it is among those that are done.
fn taken(program: Overlap, done: &[Done<Overlap>]) -> Option<f64> {
    let same = done.iter().find(|one| one.program == program);
    same.and_then(|one| one.value(TAKEN))
}

/// What the transfers of a program take alone.
fn transfer(program: Overlap, done: &[Done<Overlap>]) -> Option<f64> {
    let alone = Overlap {
        cycles_per_byte: 0.0,
        ..program
    };
    taken(alone, done)
}

fn with_single(program: Overlap) -> Overlap {
    Overlap {
        buffering: Buffering::Single,
        ..program
    }
}

fn model(one: &Done<Overlap>, done: &[Done<Overlap>]) -> Option<Quantity> {
    let transfer = transfer(one.program, done)?;
    Some(cycles("model", one.program.expected(transfer)))
}

fn gain(one: &Done<Overlap>, done: &[Done<Overlap>]) -> Option<Quantity> {
    let single = taken(with_single(one.program), done)?;
    Some(times(GAIN, single / one.value(TAKEN)?))
}

fn model_gain(one: &Done<Overlap>, done: &[Done<Overlap>]) -> Option<Quantity> {
    let single = with_single(one.program);
    let single = single.expected(transfer(single, done)?);
    let this = one.program.expected(transfer(one.program, done)?);
    Some(times("model_gain", single / this))
}

/// The ways that overlap, each with the computation that takes as long as its transfers, in cycles a byte.
fn crossovers(done: &[Done<Overlap>]) -> impl Iterator<Item = (Overlap, f64)> {
    done.iter()
        .filter(|one| one.program.cycles_per_byte == 0.0)
        .filter(|one| one.program.buffering != Buffering::Single)
        .filter_map(|one| Some((one.program, one.value(TAKEN)?)))
}

/// Where computation equals transfer, at the gain that the model says.
fn crossover_points(done: &[Done<Overlap>]) -> Vec<Curve> {
    crossovers(done)
        .filter_map(|(program, transfer)| {
            let at = Overlap {
                cycles_per_byte: transfer,
                ..program
            };
            let single = with_single(at);
            let single = single.expected(self::transfer(single, done)?);
            Some(Curve {
                name: format!("crossover, {}", program.buffering.title()),
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
            buffering: Buffering::Double,
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
