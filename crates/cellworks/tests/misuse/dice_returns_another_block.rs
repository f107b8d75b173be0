//! A dice that returns data could return a block of another task.
use cellworks_machine::Machine;
use cellworks_tasks::{Main, TaskError};

fn program<M: Machine>(main: &Main<'_, M>, numbers: &mut [u32]) -> Result<(), TaskError> {
    main.phase(|phase| {
        let blocks = phase.blocks(numbers, 16);
        let (first, other) = (blocks.update(0), blocks.update(1));
        let add = phase.task("add", other, |_, numbers| numbers[0] += 1);
        phase.submit(main, add)?;
        let dice = move |_, _| vec![blocks.update(1)];
        let task = phase.task_with_dice("diced", first, |_, numbers| numbers[0] += 1, dice);
        phase.submit(main, task)?;
        Ok(())
    })
}

fn main() {}
