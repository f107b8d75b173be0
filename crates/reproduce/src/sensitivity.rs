//! Computes how much simulated numbers change with a fitted parameter.

use std::sync::Arc;

use cellworks_sim::Description;

use crate::experiment::Simulation;
use crate::paper::{Number, Paper};
use crate::quantities::{fitted, with_quantity};
use crate::reproduce::simulated;
use crate::run::run;

/// The effect of a fitted parameter on published numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The parameter, such as `link.latency_ps`.
    pub parameter: String,
    /// The published number to which the parameter was fitted.
    pub fitted_to: String,
    /// The changes of the simulated values, one for each number of the paper that belongs to this
    /// machine and is not `kept_back`.
    pub changes: Vec<Change>,
}

/// The change of a number when a parameter grows by a tenth.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The id of the number in its paper.
    pub number: String,
    /// The change of the simulated value in per cent.
    pub percent: f64,
}

/// For each fitted parameter of the machine, raises only this parameter by a tenth, and returns the
/// changes of the paper's known numbers (those of this machine that are not `kept_back`).
///
/// # Errors
///
/// Returns the reason why a simulation failed.
///
/// # Panics
///
/// Panics if the raised value of a parameter does not fit into the parameter's number type.
pub fn sensitivity(paper: &Paper, description: &Description) -> Result<Vec<Moved>, String> {
    let before = known(paper, description)?;
    let moved = |(parameter, fitted_to): (String, String)| {
        let raised = with_quantity(description, &parameter, |value| value + value.div_ceil(10));
        let after = known(paper, &raised.expect("it is one of the fitted ones"))?;
        let changes = before
            .iter()
            .zip(after)
            .map(|((number, before), (_, after))| Change {
                number: number.id.clone(),
                percent: (after / before - 1.0) * 100.0,
            });
        Ok(Moved {
            parameter,
            fitted_to,
            changes: changes.collect(),
        })
    };
    fitted(description).into_iter().map(moved).collect()
}

/// Returns the known numbers of the paper, with their simulated values on this machine.
fn known<'a>(
    paper: &'a Paper,
    description: &Description,
) -> Result<Vec<(&'a Number, f64)>, String> {
    let machine: Arc<str> = description.name.as_str().into();
    let numbers = || {
        paper.numbers.iter().filter_map(|number| {
            let counts = !number.kept_back && paper.machine_of(number) == &*machine;
            let experiment = number.experiment.as_ref()?;
            counts.then_some((number, experiment))
        })
    };
    let mut simulations = Vec::new();
    for (_, experiment) in numbers() {
        experiment.simulations(&machine, &mut simulations);
    }
    let describe = |_: &str| Some(description.clone());
    let outcomes = run(simulations, &describe);
    let outcome = |simulation: &Simulation| outcomes[simulation].clone();
    numbers()
        .map(|(number, experiment)| {
            let value = simulated(number, experiment, &machine, &outcome)
                .map_err(|why| format!("{}: {why}", number.id))?;
            Ok((number, value))
        })
        .collect()
}
