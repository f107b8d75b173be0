//! A table of measured latencies.

// Rejected: the CSV of `stats --matrix` as costs. Unlike the JSON of the same run, the CSV lacks
// the machine and the list of omitted CPUs, so the CPU of a row is unknown.

use cellworks_machine::latency_table;

use super::text::TextError;
use crate::costs::Costs;

pub(super) fn parse(text: &str) -> Result<Costs, TextError> {
    let latencies = latency_table(text).map_err(|error| TextError::Line {
        line: error.line,
        rule: error.problem,
    })?;
    Ok(Costs::from_rows(&latencies)?)
}
