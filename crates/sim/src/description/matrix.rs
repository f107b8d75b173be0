//! The reader of measured latency matrices in CSV files.

use cellworks_machine::latency_table;

use super::check::SPES_MAX;
use super::error::DescriptionError;

/// The longest allowed time in nanoseconds, the same as in a description.
const LONGEST_NS: f64 = 1e9;

/// Reads one-way times in nanoseconds. Returns them in picoseconds, with missing ones filled in.
pub(super) fn read(text: &str, file: &str) -> Result<Vec<Vec<u64>>, DescriptionError> {
    let refused = |line: usize, problem: String| DescriptionError::new(file, line, problem);
    let table = latency_table(text).map_err(|error| refused(error.line, error.problem))?;
    let (latencies, first_line) = (table.rows, table.first_line);
    let cores = latencies.len();
    if !(2..=SPES_MAX).contains(&cores) {
        let problem = format!("the matrix has {cores} rows; allowed: 2 to {SPES_MAX}");
        return Err(refused(cores, problem));
    }
    let picoseconds = |(row, latencies): (usize, Vec<f64>)| {
        let columns = latencies.into_iter().enumerate();
        columns
            .map(|(column, ns)| {
                if ns > LONGEST_NS {
                    let problem = format!(
                        "column {} is {ns:?}; allowed: a time in nanoseconds, 0 to {LONGEST_NS}, or nothing",
                        column + 1
                    );
                    return Err(refused(row + first_line, problem));
                }
                // One multiplication and one rounding of an `f64` give the same result on every
                // computer.
                Ok((ns * 1_000.0).round() as u64)
            })
            .collect()
    };
    latencies.into_iter().enumerate().map(picoseconds).collect()
}
