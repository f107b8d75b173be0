//! `mkthread`: starting an empty program on an SPE, and waiting for its end (section 3.1.1).

use std::convert::Infallible;

use cellworks_machine::{CellMachine, SpeId};

use super::crew::conduct;
use super::outcome::Outcome;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::sample::Stopwatch;

/// Measures iterations, each of which starts a program on each SPE and then joins all programs.
pub(super) fn measure<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    spes: &[SpeId],
) -> Result<Outcome, MeasureError> {
    let name = plan.function().name();
    let rounds = machine.run(|ppe| {
        let mut stopwatch = Stopwatch::new(1, || ppe.now());
        let mut programs = Vec::with_capacity(spes.len());
        let mut start_and_join = || {
            programs.extend(spes.iter().map(|spe| ppe.spawn_named(*spe, name, |_| ())));
            for program in programs.drain(..) {
                if let Err(panic) = program.join() {
                    std::panic::resume_unwind(panic.into_inner());
                }
            }
            Ok::<_, Infallible>(())
        };
        let Ok(()) = conduct(&plan.pace, |round| {
            stopwatch.time(round, || ppe.now(), &mut start_and_join)
        });
        stopwatch.into_rounds()
    })?;
    Ok(Outcome {
        loops: vec![rounds],
        operations_per_iteration: spes.len(),
        ..Outcome::default()
    })
}
