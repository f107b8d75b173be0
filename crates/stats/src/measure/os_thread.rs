//! `osthread`: creating a thread of the operating system that does nothing, and joining it. The
//! paper does not have this function.

use std::panic::resume_unwind;
use std::thread;

use cellworks_machine::CellMachine;

use super::crew::conduct;
use super::outcome::Outcome;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::sample::Stopwatch;

/// Measures iterations, each of which creates one thread on the CPU of the PPE.
pub(super) fn measure<M: CellMachine>(machine: &M, plan: &Plan) -> Result<Outcome, MeasureError> {
    let rounds = machine.run(|ppe| {
        let mut stopwatch = Stopwatch::new(1, || ppe.now());
        let mut create_and_join = || {
            let created = thread::Builder::new().spawn(|| ());
            created
                .map_err(MeasureError::OsThread)?
                .join()
                .unwrap_or_else(|payload| resume_unwind(payload));
            Ok::<_, MeasureError>(())
        };
        conduct(&plan.pace, |round| {
            stopwatch.time(round, || ppe.now(), &mut create_and_join)
        })?;
        Ok::<_, MeasureError>(stopwatch.into_rounds())
    })??;
    Ok(Outcome {
        loops: vec![rounds],
        operations_per_iteration: 1,
        ..Outcome::default()
    })
}
