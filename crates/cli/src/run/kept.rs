//! The results of runs as files of results keep them: a list of names and values.

use cellworks_apps::{Program, Quantity};

use crate::session::Session;

use super::found::Found;

/// The results of a run as a file has them.
///
/// The message says which of them the program does not find.
pub(super) fn read<P: Program>(values: Vec<(String, f64)>) -> Result<Vec<Quantity>, String> {
    let quantities = values.iter().map(|(name, value)| {
        let mut metrics = P::METRICS.iter();
        let metric = metrics.find(|metric| metric.name == name);
        let metric = metric.ok_or_else(|| format!("{} does not find any `{name}`", P::NAME))?;
        Ok(metric.measured(*value))
    });
    quantities.collect()
}

/// Keeps what a run has found, if there is a file for it.
///
/// The message says why that was not possible.
pub(super) fn keep<P: Program>(
    session: &Session<Found<P>>,
    step: usize,
    found: &[Quantity],
) -> Result<(), String> {
    let values: Vec<(&str, f64)> = found.iter().map(|one| (one.name, one.value)).collect();
    session.sweep().keep(step, &values)
}
