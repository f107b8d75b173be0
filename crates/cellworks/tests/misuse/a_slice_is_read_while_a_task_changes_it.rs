//! A slice belongs to its task until the phase has ended.
use cellworks_machine::Machine;
use cellworks_tasks::{Main, TaskError, Update};

fn program<M: Machine>(main: &Main<'_, M>, numbers: &mut [u32]) -> Result<u32, TaskError> {
    main.phase(|phase| {
        let task = phase.task("add", Update::new(&mut *numbers), |_, numbers| numbers[0] += 1);
        phase.submit(main, task)?;
        Ok(numbers[0])
    })
}

fn main() {}
