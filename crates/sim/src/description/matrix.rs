//! The reader of measured latency matrices in CSV files.

use super::check::SPES_MAX;
use super::error::DescriptionError;

/// The longest allowed time in nanoseconds, the same as in a description.
const LONGEST_NS: f64 = 1e9;

/// Reads one-way times in nanoseconds. Returns them in picoseconds, with missing ones filled in.
pub(super) fn read(text: &str, file: &str) -> Result<Vec<Vec<u64>>, DescriptionError> {
    let refused = |row: usize, problem: String| DescriptionError::new(file, row + 1, problem);
    let lines: Vec<&str> = text.trim_end_matches(['\n', '\r']).split('\n').collect();
    let cores = lines.len();
    let mut measured = Vec::new();
    for (row, line) in lines.iter().enumerate() {
        let fields = line.trim_end_matches('\r').split(',').enumerate();
        let times = fields.map(|(column, field)| {
            time_ps(field.trim()).map_err(|field| {
                let allowed = "a time in nanoseconds, 0 to 1000000000, or nothing";
                let problem = format!("column {} is {field:?}; allowed: {allowed}", column + 1);
                refused(row, problem)
            })
        });
        measured.push(times.collect::<Result<Vec<_>, _>>()?);
    }
    if !(2..=SPES_MAX).contains(&cores) {
        let problem = format!("the matrix has {cores} rows; allowed: 2 to {SPES_MAX}");
        return Err(refused(cores - 1, problem));
    }
    for (row, times) in measured.iter().enumerate() {
        if times.len() != cores {
            let problem = format!(
                "the row has {} columns; allowed: {cores}, because there are {cores} rows",
                times.len()
            );
            return Err(refused(row, problem));
        }
    }
    let between = |row: usize, column: usize| {
        let time = measured[row][column].or(measured[column][row]);
        let time = time.or((row == column).then_some(0));
        time.ok_or_else(|| {
            let problem = format!(
                "column {} is empty, and so is column {} of line {}; allowed: a time in one of them",
                column + 1,
                row + 1,
                column + 1
            );
            refused(row, problem)
        })
    };
    let row = |row| (0..cores).map(|column| between(row, column)).collect();
    (0..cores).map(row).collect()
}

/// Returns the time in a field in picoseconds, or `None` if the field is empty.
fn time_ps(field: &str) -> Result<Option<u64>, &str> {
    if field.is_empty() {
        return Ok(None);
    }
    match field.parse::<f64>() {
        // One multiplication and one rounding of an `f64` give the same result on every computer.
        Ok(ns) if (0.0..=LONGEST_NS).contains(&ns) => Ok(Some((ns * 1_000.0).round() as u64)),
        _ => Err(field),
    }
}
