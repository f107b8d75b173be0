//! The context switch of CellMT (section 5, listing 11).

use cellworks_machine::{Cycles, Machine, Spe, SpeId};
use serde::Deserialize;

use super::{Outcome, failed};

/// Cooperative threads that compute and yield; the result is the time of a yield, which is what they take
/// longer than one thread that only computes as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// How many threads; from 2 on, because one alone has nobody to switch to.
    pub threads: usize,
}

/// Yields of all threads together; 64 times as many as there may be threads, so that what starting and
/// ending them takes does not show.
const YIELDS: usize = 1_024;
/// What the loop of the paper computes between two yields.
const WORK: Cycles = Cycles(4);

impl Switch {
    pub(super) fn run<M: Machine>(&self, machine: &M) -> Result<Outcome, String> {
        let threads = self.threads;
        let each = YIELDS / threads.max(1);
        machine
            .run(|ppe| {
                let program = ppe.spawn(SpeId::new(0), move |spe| {
                    let begin = spe.now();
                    for _ in 0..each * threads {
                        spe.compute(WORK);
                    }
                    let reference = spe.now().since(begin);
                    let begin = spe.now();
                    spe.threads(threads, |_| {
                        for _ in 0..each {
                            spe.compute(WORK);
                            spe.yield_now();
                        }
                    })
                    .unwrap();
                    let all = spe.now().since(begin);
                    (all - reference).as_nanoseconds_f64() / (each * threads) as f64
                });
                program.join()
            })
            .map_err(failed)?
            .map(Outcome::time)
            .map_err(|_| "the program of the SPE panicked".to_owned())
    }
}
