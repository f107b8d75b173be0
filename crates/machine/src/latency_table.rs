//! Tables of measured latencies between processors, as CSV.

/// The first mistake in a table, for [`latency_table`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct LatencyTableError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is in the line, and what is allowed.
    pub problem: String,
}

crate::debug_by_display!(LatencyTableError);

/// Reads one-way latencies between processors in nanoseconds, as the program core-to-core-latency
/// of Nicolas Viennot writes them with `--csv`. Returns a square matrix.
///
/// Line n, counted from 0, has the latencies from processor n to processors 0, 1 and so on, with
/// commas between them. A missing latency is the one of the other direction, or 0 from a processor
/// to itself. So the half below or above the diagonal is enough. Blank lines at the end do not
/// count.
///
/// ```
/// let latencies = cellworks_machine::latency_table(",,\n40,,\n40,10,\n")?;
/// assert_eq!(latencies, [[0.0, 40.0, 40.0], [40.0, 0.0, 10.0], [40.0, 10.0, 0.0]]);
/// # Ok::<(), cellworks_machine::LatencyTableError>(())
/// ```
///
/// # Errors
///
/// Fails if the table is empty or not square, if a field is not a finite number of 0 or more, or
/// if a latency is missing in both directions.
pub fn latency_table(text: &str) -> Result<Vec<Vec<f64>>, LatencyTableError> {
    let refused = |row: usize, problem: String| LatencyTableError {
        line: row + 1,
        problem,
    };
    if let Some(row) = text.lines().position(is_printed_for_people) {
        let problem = "this is the table that core-to-core-latency prints on a terminal; write one with \
                       `core-to-core-latency --csv > FILE`";
        return Err(refused(row, problem.to_owned()));
    }
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let size = lines.len();
    if size == 0 {
        let problem = "the file is empty; allowed: a line for each processor";
        return Err(refused(0, problem.to_owned()));
    }
    // `trim_end` may have removed blanks, but no comma, of the last line.
    let fields = |line: &str| -> Vec<String> {
        line.split(',')
            .map(|field| field.trim().to_owned())
            .collect()
    };
    let rows: Vec<_> = lines.into_iter().map(fields).collect();
    let mut given = Vec::with_capacity(size);
    if let Some((row, problem)) = stacked(&rows) {
        return Err(refused(row, problem));
    }
    for (row, fields) in rows.iter().enumerate() {
        if fields.len() != size {
            let problem = format!(
                "the row has {} columns; allowed: {size}, because there are {size} rows (with nothing between commas \
                 where a latency is missing)",
                fields.len()
            );
            return Err(refused(row, problem));
        }
        let latencies = fields.iter().enumerate().map(|(column, field)| {
            latency(field).ok_or_else(|| {
                let problem = format!(
                    "column {} is {field:?}; allowed: a finite time of 0 or more, in nanoseconds, or nothing",
                    column + 1
                );
                refused(row, problem)
            })
        });
        given.push(latencies.collect::<Result<Vec<_>, _>>()?);
    }
    let between = |row: usize, column: usize| {
        let latency = given[row][column].or(given[column][row]);
        latency.or((row == column).then_some(0.0)).ok_or_else(|| {
            let problem = format!(
                "column {} is empty, and so is column {} of line {}; allowed: a time in one of them",
                column + 1,
                row + 1,
                column + 1
            );
            refused(row, problem)
        })
    };
    let row = |row| (0..size).map(|column| between(row, column)).collect();
    (0..size).map(row).collect()
}

/// Returns whether a line is one that core-to-core-latency prints without `--csv`.
fn is_printed_for_people(line: &str) -> bool {
    line.contains('±') || line.starts_with("Num cores:") || line.starts_with("Showing latency=")
}

/// Returns the first row of the second table, and what is wrong, if the rows are those of several
/// square tables of the same size.
fn stacked(rows: &[Vec<String>]) -> Option<(usize, String)> {
    let columns = rows[0].len();
    let is_filled = |row: &Vec<String>| row.len() > 1 || !row[0].is_empty();
    let filled: Vec<usize> = (0..rows.len())
        .filter(|row| is_filled(&rows[*row]))
        .collect();
    let is_stacked = columns > 1
        && filled.len() > columns
        && filled.len().is_multiple_of(columns)
        && filled.iter().all(|row| rows[*row].len() == columns);
    is_stacked.then(|| {
        let problem = format!(
            "a second table begins here: the file has {} tables of {columns} columns, such as those of several \
             benchmarks; allowed: one, so keep the {columns} lines of one benchmark",
            filled.len() / columns
        );
        (filled[columns], problem)
    })
}

/// Returns the latency in a field, or `Some(None)` if the field is empty.
fn latency(field: &str) -> Option<Option<f64>> {
    if field.is_empty() {
        return Some(None);
    }
    let latency: f64 = field.parse().ok()?;
    // `-0` is no mistake, and is 0.
    (latency >= 0.0 && latency.is_finite()).then_some(Some(latency.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        latency_table(text).unwrap_err().to_string()
    }

    #[test]
    fn one_half_is_enough_and_blank_lines_at_the_end_do_not_count() {
        let symmetric = [[0.0, 10.0, 40.0], [10.0, 0.0, 40.0], [40.0, 40.0, 0.0]];
        for text in [
            ",,\n10,,\n40,40,\n",
            ",,\n10,,\n40,40,\n\n  \r\n",
            ",10,40\n,,40\n,,\n",
            "0,10,40\r\n10,0,40\r\n40,,0\r\n",
        ] {
            assert_eq!(latency_table(text).unwrap(), symmetric, "{text:?}");
        }
        assert_eq!(
            latency_table("5,1\n2,\n").unwrap(),
            [[5.0, 1.0], [2.0, 0.0]]
        );
    }

    #[test]
    fn tables_of_several_benchmarks_are_not_one() {
        let second = |line| {
            format!(
                "line {line}: a second table begins here: the file has 2 tables of 2 columns, such as those of several \
                 benchmarks; allowed: one, so keep the 2 lines of one benchmark"
            )
        };
        assert_eq!(problem(",\n1,\n,\n2,\n"), second(3));
        assert_eq!(problem(",\n1,\n\n,\n2,\n"), second(4));
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        assert_eq!(
            problem("\n"),
            "line 1: the file is empty; allowed: a line for each processor"
        );
        assert_eq!(
            problem("0,1,2\n1,0,3\n2,3\n"),
            "line 3: the row has 2 columns; allowed: 3, because there are 3 rows (with nothing between commas where a \
             latency is missing)"
        );
        assert_eq!(
            problem(",,\n1,,\n2,,\n"),
            "line 2: column 3 is empty, and so is column 2 of line 3; allowed: a time in one of them"
        );
        for field in ["-1", "inf", "NaN", "fast"] {
            assert_eq!(
                problem(&format!(",{field}\n1,\n")),
                format!(
                    "line 1: column 2 is \"{field}\"; allowed: a finite time of 0 or more, in nanoseconds, or nothing"
                )
            );
        }
    }

    #[test]
    fn a_table_for_people_is_refused_with_the_flag() {
        let printed = "CPU: Some CPU\nNum cores: 2\n\n       0       1\n  0\n  1    40±0\n";
        assert_eq!(
            problem(printed),
            "line 2: this is the table that core-to-core-latency prints on a terminal; write one with \
             `core-to-core-latency --csv > FILE`"
        );
        assert!(problem("  1    40±0\n").starts_with("line 1: this is the table that"));
    }
}
