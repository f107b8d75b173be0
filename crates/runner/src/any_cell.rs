//! Work of other crates on a machine of one of the known types.

use cellworks_host::Host;
use cellworks_machine::CellMachine;
use cellworks_sim::Sim;

/// Work for a Cell of any type: see [`AnyCell::on_cell`].
pub trait CellWork {
    /// The type of the result.
    type Output;

    /// Runs the work on `machine`.
    fn run<M: CellMachine>(self, machine: &M) -> Self::Output;
}

/// A machine of one of the known types, for work that others write.
#[derive(Clone, Copy)]
pub enum AnyCell<'a> {
    /// This computer.
    ThisComputer(&'a Host),
    /// A simulated machine.
    Simulated(&'a Sim),
}

impl AnyCell<'_> {
    /// Runs `work` on the machine. The calling crate compiles the work for each type of machine.
    ///
    /// ```
    /// use cellworks_machine::{CellMachine, CellSpe, Mfc, RunError, SpeId};
    /// use cellworks_runner::{AnyCell, CellWork};
    /// use cellworks_sim::{Description, Sim};
    ///
    /// struct EntriesOfTheQueue;
    ///
    /// impl CellWork for EntriesOfTheQueue {
    ///     type Output = Result<usize, RunError>;
    ///
    ///     fn run<M: CellMachine>(self, machine: &M) -> Self::Output {
    ///         let entries = |spe: &M::Spe| spe.mfc().free_entries();
    ///         machine.run(|ppe| ppe.spawn(SpeId::new(0), entries).join().unwrap())
    ///     }
    /// }
    ///
    /// let sim = Sim::new(Description::built_in("ps3").unwrap()).unwrap();
    /// assert_eq!(AnyCell::Simulated(&sim).on_cell(EntriesOfTheQueue)?, 16);
    /// # Ok::<(), RunError>(())
    /// ```
    pub fn on_cell<W: CellWork>(self, work: W) -> W::Output {
        match self {
            Self::ThisComputer(host) => work.run(host),
            Self::Simulated(sim) => work.run(sim),
        }
    }
}
