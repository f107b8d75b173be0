//! The results of runs as files of results keep them: a list of names and values.

use cellworks_apps::Quantity;
use cellworks_runner::Kind;

use crate::session::Session;

use super::found::Found;

/// The results of a run as a file has them.
///
/// The message says which of them the program does not find.
pub(super) fn read(kind: Kind, values: Vec<(String, f64)>) -> Result<Vec<Quantity>, String> {
    let quantities = values.iter().map(|(name, value)| {
        let mut metrics = kind.metrics.iter();
        let metric = metrics.find(|metric| metric.name == name);
        let metric = metric.ok_or_else(|| format!("{} does not find any `{name}`", kind.name))?;
        Ok(metric.measured(*value))
    });
    quantities.collect()
}

/// Keeps what a run has found, if there is a file for it.
///
/// The message says why that was not possible.
pub(super) fn keep(
    session: &Session<Found>,
    step: usize,
    found: &[Quantity],
) -> Result<(), String> {
    let values: Vec<(&str, f64)> = found.iter().map(|one| (one.name, one.value)).collect();
    session.sweep().keep(step, &values)
}
