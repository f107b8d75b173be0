//! A table of measured latencies.

// Rejected: the CSV of `stats --matrix` as costs. Unlike the JSON of the same run, the CSV lacks
// the machine and the list of omitted CPUs, so the CPU of a row is unknown.

use cellworks_machine::latency_table;

use super::text::TextError;
use crate::costs::Costs;
use crate::error::is_amount;

/// Returns the costs, and the CPUs of the places if the table names them.
pub(super) fn parse(text: &str) -> Result<(Costs, Option<Vec<usize>>), TextError> {
    let table = latency_table(text).map_err(|error| TextError::Line {
        line: error.line,
        rule: error.problem,
    })?;
    for (row, latencies) in table.rows.iter().enumerate() {
        if let Some(latency) = latencies.iter().find(|latency| !is_amount(**latency)) {
            let rule = format!("{latency:e} stands where a number from 0 to 1e100 has to be");
            return Err(TextError::Line {
                line: row + table.first_line,
                rule,
            });
        }
    }
    Ok((Costs::from_rows(&table.rows)?, table.cpus))
}
