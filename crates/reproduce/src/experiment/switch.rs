//! The context switch of CellMT (section 5, listing 11): a program of `apps`.

use cellworks_apps::Program;
use cellworks_machine::Machine;
use serde::Deserialize;

use super::{Outcome, failed};

/// Cooperative threads that compute and yield; the result is the time of a yield, see
/// [`cellworks_apps::Switch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// How many threads.
    pub threads: usize,
}

/// Yields of all threads together: a thousand times as many as the paper has threads, so that what starting
/// and ending them takes does not show.
const YIELDS: u64 = 16_000;

impl Switch {
    pub(super) fn run<M: Machine>(&self, machine: &M) -> Result<Outcome, String> {
        let program = cellworks_apps::Switch {
            threads: self.threads,
            yields: YIELDS,
        };
        let found = program.run(machine).map_err(failed)?;
        Ok(Outcome::time(found[0].value))
    }
}
