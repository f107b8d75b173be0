//! A dice that is given the data of its task could keep it, and the task would still run with it.
use std::sync::Mutex;

use cellworks_machine::Machine;
use cellworks_tasks::{Main, TaskError, Update};

fn program<M: Machine>(main: &Main<'_, M>, numbers: &mut [u32]) -> Result<(), TaskError> {
    let kept = Mutex::new(None);
    main.phase(|phase| {
        let data = Update::new(numbers);
        let dice = |whole: Update<'_, u32>, _: usize| {
            *kept.lock().unwrap() = Some(whole);
            Vec::new()
        };
        let task = phase.task_with_dice("add", data, |_, numbers| numbers[0] += 1, dice);
        phase.submit(main, task)?;
        Ok(())
    })
}

fn main() {}
