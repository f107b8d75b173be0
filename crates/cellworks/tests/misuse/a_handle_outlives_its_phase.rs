//! A task has ended with its phase, and what it was submitted to is gone.
use cellworks_machine::Machine;
use cellworks_tasks::{Handle, Main, TaskError, Value};

fn program<M: Machine>(main: &Main<'_, M>) -> Result<(), TaskError> {
    let handle: Handle<'_, M::Spe> =
        main.phase(|phase| phase.submit(main, phase.task("none", Value(1), |_, _| ())))?;
    handle.wait(main)
}

fn main() {}
