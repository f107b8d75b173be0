//! A task uses the worker that it is given, not the main program or an outer worker.
use cellworks_machine::{Machine, Spe};
use cellworks_tasks::{Main, Part, Phase, Worker};

fn of_the_main_program<M: Machine>(main: &Main<'_, M>) {
    let done = main.phase(|phase| {
        let task = phase.task("install", (Part(0..9),), |_, _| main.install(|_| ()));
        phase.submit(main, task)?;
        Ok(())
    });
    done.unwrap();
}

fn of_a_task<'scope, S: Spe>(phase: &'scope Phase<'scope, '_, S>, outer: &'scope Worker<'_, S>) {
    let task = phase.task("count", (Part(0..9),), |_, _| _ = outer.workers());
    phase.submit(outer, task).unwrap();
}

fn main() {}
