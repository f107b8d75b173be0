//! How much calibrated numbers move when a fitted parameter does.

use std::sync::Arc;

use cellworks_sim::Description;

use crate::experiment::Simulation;
use crate::paper::Paper;
use crate::quantities::{fitted, with_quantity};
use crate::reproduce::simulated;
use crate::run::run;

/// What a fitted parameter of a machine does to calibrated numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The parameter, such as `link.latency_ps`.
    pub parameter: String,
    /// The published number that it was fitted to.
    pub fitted_to: String,
    /// By how many per cent each calibrated number that is simulated on this machine moves when the
    /// parameter grows by a tenth: its id and the change.
    pub changes: Vec<(String, f64)>,
}

/// Raises each fitted parameter of the machine by a tenth, one after the other, and says how much each
/// calibrated number of the paper that is simulated on this machine moves.
///
/// # Errors
///
/// Why a simulation failed.
///
/// # Panics
///
/// Never: what is raised is one of the fitted parameters.
pub fn sensitivity(paper: &Paper, description: &Description) -> Result<Vec<Moved>, String> {
    let before = calibrated(paper, description)?;
    let moved = |(parameter, fitted_to): (String, String)| {
        let raised = with_quantity(description, &parameter, |value| value + value.div_ceil(10));
        let after = calibrated(paper, &raised.expect("it is one of the fitted ones"))?;
        let changes = before
            .iter()
            .zip(after)
            .map(|((id, before), (_, after))| (id.clone(), (after / before - 1.0) * 100.0));
        Ok(Moved {
            parameter,
            fitted_to,
            changes: changes.collect(),
        })
    };
    fitted(description).into_iter().map(moved).collect()
}

/// The calibrated numbers of the paper on this machine: id and value.
fn calibrated(paper: &Paper, description: &Description) -> Result<Vec<(String, f64)>, String> {
    let machine: Arc<str> = description.name.as_str().into();
    let numbers = || {
        paper.numbers.iter().filter_map(|number| {
            let counts = number.served_for_calibration && paper.machine_of(number) == &*machine;
            let experiment = number.experiment.as_ref()?;
            counts.then_some((number, experiment))
        })
    };
    let mut simulations = Vec::new();
    for (_, experiment) in numbers() {
        experiment.simulations(&machine, &mut simulations);
    }
    let describe = |_: &str| Some(description.clone());
    let outcomes = run(simulations, &describe, &|_, _| {});
    let outcome = |simulation: &Simulation| outcomes[simulation].clone();
    numbers()
        .map(|(number, experiment)| {
            let value = simulated(number, experiment, &machine, &outcome)
                .map_err(|why| format!("{}: {why}", number.id))?;
            Ok((number.id.clone(), value))
        })
        .collect()
}
