//! The identifier of a run, by which handles of different runs are told apart.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::topology::Topology;

/// The identifier of one run of a machine. Two runs of one machine have different identifiers.
///
/// The processors and threads of a run belong to this run only. A library that keeps a value for a
/// run compares identifiers, because a program can mix values of two runs: a program of a run can
/// itself run another machine. The text of an identifier names the machine.
///
/// ```
/// use cellworks_machine::{ModuleId, RunId, Topology};
///
/// let topology = Topology::new("a machine", vec![ModuleId::new(0)], Vec::new());
/// let run = RunId::new(&topology);
/// assert_eq!(run, run.clone());
/// assert_ne!(run, RunId::new(&topology));
/// assert!(run.to_string().ends_with(" of a machine (0 SPEs)"));
/// ```
#[derive(Clone, Debug)]
pub struct RunId {
    number: u32,
    machine: String,
}

impl RunId {
    /// Returns the identifier of a new run of the machine with this topology. Machines call this
    /// function.
    pub fn new(topology: &Topology) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let spes = match topology.spes().len() {
            1 => "1 SPE".to_owned(),
            spes => format!("{spes} SPEs"),
        };
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            machine: format!("{} ({spes})", topology.name()),
        }
    }
}

impl PartialEq for RunId {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for RunId {}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} of {}", self.number, self.machine)
    }
}
