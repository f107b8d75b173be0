//! Machines as trait objects, which hide the machines' types from other modules.

use std::any::Any;
use std::ops::ControlFlow;

use cellworks_apps::exchange::ExchangeRun;
use cellworks_apps::{Deployment, Draw, Program, RunResult, Visitor, visit};
use cellworks_host::Host;
use cellworks_machine::{CellMachine, Machine};
use cellworks_sim::Sim;
use cellworks_stats::{MeasureError, Measured, Measurement, Plan, Readings, Visits};

use crate::program::Chosen;

/// A machine of any type, which runs programs, measurements and exchanges.
pub trait Runner {
    /// Runs a program once, after its [check](Chosen::check): see [`Program::run_as`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Program::run_as`].
    fn run_as(&self, program: &dyn Chosen, draw: Draw<'_>, parts: &mut Deployment) -> RunResult;

    /// Runs a program once, after its [check](Chosen::check): see [`Program::run`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Program::run`].
    fn run_program(&self, program: &dyn Chosen) -> RunResult {
        self.run_as(program, &mut |_| {}, &mut Deployment::default())
    }

    /// Measures a plan: see [`cellworks_stats::measure`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`cellworks_stats::measure`].
    fn measure(&self, plan: &Plan) -> Result<Measurement, MeasureError>;

    /// Makes the next visit of a measurement that is made in several visits: see [`Visits::visit`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Visits::visit`].
    fn visit(
        &self,
        visits: &mut Visits,
        more: bool,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Measured, MeasureError>;

    /// Makes the next visit of several measurements in one run: see [`Visits::visit_together`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Visits::visit_together`].
    fn visit_together(
        &self,
        together: &mut [Visits],
        more: bool,
    ) -> Result<Vec<Result<Measured, MeasureError>>, MeasureError>;

    /// Measures the reference times of a run (a mailbox exchange and a cache line between two
    /// SPEs), and adds these times to `reference`: see [`Readings::read`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Readings::read`].
    fn read_reference(&self, reference: &mut Readings) -> Result<(), MeasureError>;

    /// Runs tasks that exchange packets, and returns the time of a round of packets in nanoseconds.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ExchangeRun::run`].
    fn exchange(&self, run: &ExchangeRun) -> Result<f64, String>;
}

/// Returns this computer as a runner. Not inlined, so that only this crate compiles the programs.
#[inline(never)]
pub fn this_computer(host: &Host) -> &dyn Runner {
    host
}

/// Returns a simulated machine as a runner. Not inlined, so that only this crate compiles programs.
#[inline(never)]
pub fn simulated(sim: &Sim) -> &dyn Runner {
    sim
}

// Programs run on every machine, but measurements and exchanges use MFCs and mailboxes. Only a Cell
// has these.
impl<M: CellMachine> Runner for M {
    fn run_as(&self, program: &dyn Chosen, draw: Draw<'_>, parts: &mut Deployment) -> RunResult {
        let on = On {
            machine: self,
            program,
            draw,
            parts,
        };
        visit(program.name(), on).expect("a chosen program has the name of a program")
    }

    fn measure(&self, plan: &Plan) -> Result<Measurement, MeasureError> {
        cellworks_stats::measure(self, plan)
    }

    fn visit(
        &self,
        visits: &mut Visits,
        more: bool,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Measured, MeasureError> {
        visits.visit(self, more, progress)
    }

    fn visit_together(
        &self,
        together: &mut [Visits],
        more: bool,
    ) -> Result<Vec<Result<Measured, MeasureError>>, MeasureError> {
        Visits::visit_together(together, self, more)
    }

    fn read_reference(&self, reference: &mut Readings) -> Result<(), MeasureError> {
        reference.read(self)
    }

    fn exchange(&self, run: &ExchangeRun) -> Result<f64, String> {
        run.run(self)
    }
}

/// A visitor that runs a program on a machine after recovering the type of the program.
struct On<'a, 'b, M> {
    machine: &'a M,
    program: &'a dyn Chosen,
    draw: Draw<'b>,
    parts: &'a mut Deployment,
}

impl<M: Machine> Visitor for On<'_, '_, M> {
    type Output = RunResult;

    fn visit<P: Program>(self) -> Self::Output {
        let program: &dyn Any = self.program;
        let program: &P = program
            .downcast_ref()
            .expect("a program has the type of its name");
        program.run_as(self.machine, self.draw, self.parts)
    }
}
