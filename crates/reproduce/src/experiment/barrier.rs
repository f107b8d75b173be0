//! The all-to-one barriers of CellStats section 5.2: a program of `apps`.

use cellworks_apps::{Program, Roots};
use cellworks_machine::Machine;
use serde::Deserialize;

use super::{Outcome, check_spes, failed};

/// A barrier of SPEs by signals; the result is its time, see [`cellworks_apps::Barrier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// How many SPEs, from SPE 0 on; at most 32, because each has a bit of a signal.
    pub spes: u16,
    /// Who gathers: SPE 0, or the first SPE of each Cell.
    pub root_per_cell: bool,
}

/// Timed barriers.
const BARRIERS: u64 = 32;

impl Barrier {
    pub(super) fn run<M: Machine>(&self, machine: &M) -> Result<Outcome, String> {
        check_spes(machine, usize::from(self.spes))?;
        let roots = match self.root_per_cell {
            true => Roots::EachCell,
            false => Roots::One,
        };
        let program = cellworks_apps::Barrier {
            roots,
            spes: usize::from(self.spes),
            barriers: BARRIERS,
        };
        let found = program.run(machine).map_err(failed)?;
        Ok(Outcome::time(found[0].value))
    }
}
