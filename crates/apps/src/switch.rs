//! The context switch of cooperative threads (CellMT, section 5, listing 11).

use std::cell::Cell;
use std::hint::black_box;

use cellworks_machine::{Cycles, Machine, Spe, StackError, Topology, Wake};

use crate::figure::{axis, counted};
use crate::{
    Done, Figure, ParameterError, Parameters, Program, ProgramError, Quantity, Value, against, gang,
};

/// Cooperative threads of one SPE that compute and yield. A switch is what they take longer for each yield than
/// one thread that only computes as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// How many threads.
    pub threads: usize,
    /// How many yields of all threads together, at least one of each. Starting and ending a thread costs a
    /// switch or two, so there should be a thousand times as many.
    pub yields: u64,
}

/// What the loop of the paper computes between two yields.
const WORK: Cycles = Cycles(4);

impl Program for Switch {
    const NAME: &'static str = "switch";

    fn title(&self) -> String {
        format!("switch, {}", counted(self.threads, "thread"))
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("threads", Value::Count(self.threads as u64)),
            ("yields", Value::Count(self.yields)),
        ]
    }

    fn check(&self, _: &Topology) -> Result<(), ParameterError> {
        let Self { threads, yields } = *self;
        if threads == 0 {
            return Err(ParameterError::Zero {
                parameter: "threads",
                noun: "threads",
            });
        }
        if yields < threads as u64 {
            return Err(ParameterError::TooFewYields { yields, threads });
        }
        Ok(())
    }

    fn run<M: Machine>(&self, machine: &M) -> Result<Vec<Quantity>, ProgramError> {
        self.check(machine.topology())?;
        let each = self.yields / self.threads as u64;
        let all = each * self.threads as u64;
        let gang = gang::run(machine, vec![()], |spe: &M::Spe, ()| {
            let sum = Cell::new(0_u64);
            let add = |number: u64| {
                spe.compute(WORK);
                sum.set(black_box(sum.get().wrapping_add(number)));
            };
            let begin = spe.now();
            (0..all).for_each(add);
            let reference = spe.now().since(begin);
            let begin = spe.now();
            spe.threads(self.threads, |_| {
                for number in 0..each {
                    add(number);
                    spe.yield_now();
                }
            })?;
            // On a computer that does something else, the threads may have been the faster ones.
            Ok(spe.now().since(begin).as_seconds_f64() - reference.as_seconds_f64())
        })?;
        let clock_hz = gang.clock_hz;
        let difference_s: Result<Vec<f64>, StackError> = gang.results.into_iter().collect();
        let switch_s = difference_s?[0] / all as f64;
        Ok(vec![
            Quantity {
                name: "switch",
                value: switch_s * 1e9,
                unit: "ns",
            },
            Quantity {
                name: "switch_cycles",
                value: switch_s * clock_hz,
                unit: "cycles",
            },
        ])
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        let mut figures = against(done, "Context switch", "switch_cycles", axis);
        figures.extend(against(done, "Context switch", "switch", axis));
        figures
    }
}
