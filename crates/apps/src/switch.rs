//! The context switch of cooperative threads (CellMT, section 5, listing 11).

use std::cell::Cell;
use std::hint::black_box;

use cellworks_machine::{Cycles, Machine, Spe, StackError, Topology, Wake};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::error::ParameterError;
use crate::figure::{Figure, against, axis, counted};
use crate::picture::Draw;
use crate::placement::STACK_BYTES;
use crate::{Done, Metric, Parts, Program, Repeats, RunResult, gang};

/// Measures a context switch of cooperative threads: CellMT's listing 11 and figure 3.
///
/// Threads of one SPE compute and yield. One thread does the same computation without yields. The
/// difference of the two times, divided by the number of yields, is the time of a switch.
#[derive(Args, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// How many threads.
    #[arg(long, default_value = "1-16")]
    pub threads: usize,

    /// How many yields all threads make together, at least one each. The measured time contains the
    /// start and the end of each thread, which take as long as a switch or two. With a thousand
    /// times as many yields as threads, this hardly changes the result.
    #[arg(long)]
    pub yields: u64,
}

const SWITCH: Metric = Metric::new("switch", "ns");
const SWITCH_CYCLES: Metric = Metric::new("switch_cycles", "cycles");

const WORK: Cycles = Cycles(4);

/// The largest number of threads. Their stacks take 40,000 of 65,530 mappings of a Linux process.
const THREADS_MAX: usize = 20_000;

impl Program for Switch {
    const NAME: &'static str = "switch";
    const EXAMPLE: &'static str = "--threads 1-16";
    const METRICS: &'static [Metric] = &[SWITCH, SWITCH_CYCLES];
    const PARTS: Parts = Parts::None("it runs on one SPE");
    const REPEATS: Option<Repeats> = Some(Repeats {
        parameter: "yields",
        // A million yields take at least a millisecond, far longer than reading the clock.
        on_this_computer: "1m",
        // 16,000 yields take at least a hundred times as long as starting and ending 16 threads.
        simulated: "16k",
    });

    fn title(&self) -> String {
        format!("switch, {}", counted(self.threads, "thread"))
    }

    fn check(&self, _: &Topology) -> Result<(), ParameterError> {
        let Self { threads, yields } = *self;
        if threads == 0 {
            return Err(ParameterError::Zero {
                parameter: "threads",
                noun: "threads",
            });
        }
        if threads > THREADS_MAX {
            return Err(ParameterError::Refused {
                parameter: "threads",
                why: format!("{threads} threads are too many; use at most {THREADS_MAX}"),
            });
        }
        if yields < threads as u64 {
            return Err(ParameterError::TooFewYields { yields, threads });
        }
        Ok(())
    }

    fn address_space_bytes(&self) -> usize {
        self.threads.saturating_mul(STACK_BYTES)
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, _: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let each = self.yields / self.threads as u64;
        let all = each * self.threads as u64;
        let gang = gang::run(machine, Self::NAME, vec![()], |spe: &M::Spe, ()| {
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
            // On a busy computer the difference may be negative.
            Ok(spe.now().since(begin).as_seconds_f64() - reference.as_seconds_f64())
        })?;
        let clock_hz = gang.clock_hz;
        let difference_s: Result<Vec<f64>, StackError> = gang.results.into_iter().collect();
        let switch_s = difference_s?[0] / all as f64;
        Ok(vec![
            SWITCH.measured(switch_s * 1e9),
            SWITCH_CYCLES.measured(switch_s * clock_hz),
        ])
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        let mut figures = against(done, "Context switch", SWITCH_CYCLES, axis);
        figures.extend(against(done, "Context switch", SWITCH, axis));
        figures
    }
}
