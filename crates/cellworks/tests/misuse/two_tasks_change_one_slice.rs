//! Tasks of one phase may run at once, so what they change is disjoint.
use cellworks_machine::Machine;
use cellworks_tasks::{Main, TaskError, Update};

fn program<M: Machine>(main: &Main<'_, M>, numbers: &mut [u32]) -> Result<(), TaskError> {
    main.phase(|phase| {
        for _ in 0..2 {
            let task = phase.task("add", Update::new(numbers), |_, numbers| numbers[0] += 1);
            phase.submit(main, task)?;
        }
        Ok(())
    })
}

fn main() {}
