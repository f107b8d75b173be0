//! A matrix of measured latencies.

// Rejected: the CSV of `stats --matrix` as costs. Unlike the JSON of the same run, the CSV lacks
// the machine and the list of omitted CPUs, so the CPU of a row is unknown.

use super::text::{TextError, amount};
use crate::costs::Costs;

pub(super) fn parse(text: &str) -> Result<Costs, TextError> {
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split(',').map(str::trim).collect())
        .collect();
    let cores = rows.len();
    if cores == 0 {
        let rule = "the file is empty: it has to have a line for each core".to_owned();
        return Err(TextError::Line { line: 1, rule });
    }
    if let Some(core) = rows.iter().position(|row| row.len() != cores) {
        let rule = format!(
            "{} elements, but the file has {cores} lines: the matrix has to be square, with empty elements between \
             commas where it has no latency",
            rows[core].len()
        );
        return Err(TextError::Line {
            line: core + 1,
            rule,
        });
    }

    let triangular = rows
        .iter()
        .enumerate()
        .all(|(core, row)| row[core + 1..].iter().all(|element| element.is_empty()));
    let mut values = vec![vec![0.0; cores]; cores];
    for (from, row) in rows.iter().enumerate() {
        let given = if triangular { from + 1 } else { cores };
        for (to, element) in row[..given].iter().enumerate() {
            let line = from + 1;
            if element.is_empty() && from != to {
                let rule = format!(
                    "the latency between core {from} and core {to} is missing: there have to be all of them, or all \
                     below the diagonal and none above it"
                );
                return Err(TextError::Line { line, rule });
            }
            if !element.is_empty() {
                values[from][to] = amount(element, line)?;
            }
            if triangular {
                values[to][from] = values[from][to];
            }
        }
    }
    Ok(Costs::from_rows(&values)?)
}
