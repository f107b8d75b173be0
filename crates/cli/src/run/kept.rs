//! The results of runs in files, as lists of names and values.

use cellworks_apps::Quantity;
use cellworks_runner::ProgramKind;

use crate::session::Session;

use super::found::ProgramSteps;

/// Converts the values in a file to the results of a run. The error names a value that is not a
/// result of the program.
pub(super) fn read(kind: ProgramKind, values: Vec<(String, f64)>) -> Result<Vec<Quantity>, String> {
    let quantities = values.iter().map(|(name, value)| {
        let mut metrics = kind.metrics.iter();
        let metric = metrics.find(|metric| metric.name == name);
        let metric = metric.ok_or_else(|| format!("{} does not find any `{name}`", kind.name))?;
        Ok(metric.measured(*value))
    });
    quantities.collect()
}

/// Appends the result of a run to the file, if there is one. The error is the reason why this
/// failed.
pub(super) fn keep(
    session: &Session<ProgramSteps>,
    step: usize,
    found: &[Quantity],
) -> Result<(), String> {
    let values: Vec<(&str, f64)> = found.iter().map(|one| (one.name, one.value)).collect();
    session.sweep().keep(step, &values)
}
