//! A machine whose type is known here alone.

use std::any::Any;
use std::ops::ControlFlow;

use cellworks_apps::{Picture, Program, ProgramError, Quantity, Visitor};
use cellworks_machine::CellMachine;
use cellworks_mapping::experiment::ExchangeRun;
use cellworks_sim::Sim;
use cellworks_stats::{MeasureError, Measured, Measurement, Plan, Readings, Visits};

use crate::program::{Chosen, visit};

/// Gets each picture that a program draws.
pub type Draw<'a> = &'a mut dyn FnMut(&Picture);

/// A machine that runs programs, measurements and exchanges, of whichever type it is.
pub trait Runner {
    /// Runs a program once, after a [check](Chosen::check). Pictures go to `draw`, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Program::run`].
    fn run_program(
        &self,
        program: &dyn Chosen,
        draw: Option<Draw<'_>>,
    ) -> Result<Vec<Quantity>, ProgramError>;

    /// Measures in one visit, as [`cellworks_stats::measure`].
    ///
    /// # Errors
    ///
    /// As [`cellworks_stats::measure`].
    fn measure(&self, plan: &Plan) -> Result<Measurement, MeasureError>;

    /// Visits the machine once more, as [`Visits::visit`].
    ///
    /// # Errors
    ///
    /// As [`Visits::visit`].
    fn visit(
        &self,
        visits: &mut Visits,
        more: bool,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Measured, MeasureError>;

    /// Reads the reference of a run once more, as [`Readings::read`].
    ///
    /// # Errors
    ///
    /// As [`Readings::read`].
    fn read_reference(&self, reference: &mut Readings) -> Result<(), MeasureError>;

    /// Runs tasks that exchange packets, as [`ExchangeRun::run`]: the time of a round in
    /// nanoseconds.
    ///
    /// # Errors
    ///
    /// As [`ExchangeRun::run`].
    fn exchange(&self, run: &ExchangeRun) -> Result<f64, String>;
}

/// A simulated machine as a runner. What it runs is compiled here, and not again in crates that call
/// this.
pub fn simulated(sim: &Sim) -> &dyn Runner {
    sim
}

impl<M: CellMachine> Runner for M {
    fn run_program(
        &self,
        program: &dyn Chosen,
        draw: Option<Draw<'_>>,
    ) -> Result<Vec<Quantity>, ProgramError> {
        let on = On {
            machine: self,
            program,
            draw,
        };
        visit(program.name(), on).expect("what was chosen is a program")
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

    fn read_reference(&self, reference: &mut Readings) -> Result<(), MeasureError> {
        reference.read(self)
    }

    fn exchange(&self, run: &ExchangeRun) -> Result<f64, String> {
        run.run(self)
    }
}

/// Runs the program on the machine, both of which have their types here.
struct On<'a, 'b, M> {
    machine: &'a M,
    program: &'a dyn Chosen,
    draw: Option<Draw<'b>>,
}

impl<M: CellMachine> Visitor for On<'_, '_, M> {
    type Output = Result<Vec<Quantity>, ProgramError>;

    fn visit<P: Program>(self) -> Self::Output {
        let program: &dyn Any = self.program;
        let program: &P = program
            .downcast_ref()
            .expect("a program has the type of its name");
        match self.draw {
            None => program.run(self.machine),
            Some(draw) => program.run_and_draw(self.machine, draw),
        }
    }
}
