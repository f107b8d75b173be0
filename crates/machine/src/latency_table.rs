//! Tables of measured latencies between processors, as CSV.

use std::collections::BTreeSet;

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

/// Measured one-way latencies between processors, for [`latency_table`].
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyTable {
    /// A square matrix in nanoseconds. Row n has the latencies from processor n.
    pub rows: Vec<Vec<f64>>,
    /// The numbers of the processors, if the table names them, such as `4` or `CPU 4`.
    pub cpus: Option<Vec<usize>>,
    /// The line of the first row, counted from 1.
    pub first_line: usize,
}

/// Reads one-way latencies between processors in nanoseconds, as the program core-to-core-latency
/// of Nicolas Viennot writes them with `--csv`.
///
/// Line n, counted from 0, has the latencies from processor n to processors 0, 1 and so on, with
/// commas between them, or semicolons, with which a comma is a decimal one. A missing latency is
/// the one of the other direction, or 0 from a processor to itself. So the half below or above the
/// diagonal is enough. Lines of 1, 2, 3 and so on latencies are the half below, with the diagonal.
/// Blank lines at the end do not count.
///
/// The first line and the first column may have names: words, or the numbers of the processors. A
/// table with names may have blanks between its columns, as c2clat of Erik Rigtorp prints it.
///
/// ```
/// let table = cellworks_machine::latency_table(",,\n40,,\n40,10,\n")?;
/// assert_eq!(table.rows, [[0.0, 40.0, 40.0], [40.0, 0.0, 10.0], [40.0, 10.0, 0.0]]);
/// let table = cellworks_machine::latency_table(" CPU  4  6\n   4  0 26\n   6 26  0\n")?;
/// assert_eq!(table.rows, [[0.0, 26.0], [26.0, 0.0]]);
/// assert_eq!(table.cpus, Some(vec![4, 6]));
/// # Ok::<(), cellworks_machine::LatencyTableError>(())
/// ```
///
/// # Errors
///
/// Fails if the table is empty or not square, if a field is not a finite number of 0 or more, or
/// if a latency is missing in both directions.
pub fn latency_table(text: &str) -> Result<LatencyTable, LatencyTableError> {
    // Some programs write this mark at the begin of a file.
    let text = text.trim_start_matches('\u{feff}');
    if let Some(row) = text.lines().position(is_printed_for_people) {
        let problem = "this is the table that core-to-core-latency prints on a terminal; write one with \
                       `core-to-core-latency --csv > FILE`";
        return Err(refused(row, problem.to_owned()));
    }
    let mut rows = fields(text);
    if rows.is_empty() {
        let problem = "the file is empty; allowed: a line for each processor";
        return Err(refused(0, problem.to_owned()));
    }
    let columns = rows[0].len();
    let names = take_names(&mut rows);
    let first_line = 1 + usize::from(names.is_some());
    // Names of columns alone are as many as the columns, and no column of names is removed then.
    let first_column = 1 + columns - names.as_ref().map_or(columns, Vec::len);
    if is_half(&rows) {
        let size = rows.len();
        rows.iter_mut()
            .for_each(|row| row.resize(size, String::new()));
    }
    if let Some((row, problem)) = stacked(&rows) {
        return Err(refused(row + first_line - 1, problem));
    }
    Ok(LatencyTable {
        rows: filled(&rows, first_line, first_column)?,
        cpus: names.and_then(|names| cpus_of(&names)),
        first_line,
    })
}

fn refused(row: usize, problem: String) -> LatencyTableError {
    LatencyTableError {
        line: row + 1,
        problem,
    }
}

/// Returns the fields of each line, without the quotation marks around them.
fn fields(text: &str) -> Vec<Vec<String>> {
    let bare = |field: &str| field.trim().trim_matches('"').trim().to_owned();
    let has_decimal_commas = text.contains(';');
    let has_blanks = !has_decimal_commas && !text.contains(',');
    // `trim_end` may have removed blanks, but no comma, of the last line.
    let lines = text.trim_end().lines();
    let split = |line: &str| -> Vec<String> {
        match (has_decimal_commas, has_blanks) {
            (true, _) => line.replace(',', ".").split(';').map(bare).collect(),
            (_, true) => line.split_whitespace().map(bare).collect(),
            _ => line.split(',').map(bare).collect(),
        }
    };
    let rows: Vec<Vec<String>> = lines.clone().map(split).collect();
    // Without names, lines with blanks may also be a list of edges.
    match rows.first() {
        Some(first) if has_blanks && !first.first().is_some_and(|corner| is_word(corner)) => {
            lines.map(|line| vec![bare(line)]).collect()
        }
        _ => rows,
    }
}

fn is_word(field: &str) -> bool {
    !field.is_empty() && field.parse::<f64>().is_err()
}

/// Removes the names of columns and rows, and returns those of the columns. Without a word in the
/// corner, numbers are names only if they cannot be latencies: from 0 on, or if nothing else is in
/// the half above the diagonal, or if the corner alone of the diagonal is empty.
fn take_names(rows: &mut Vec<Vec<String>>) -> Option<Vec<String>> {
    let columns = rows[0].len();
    let first = &rows[0][..];
    if rows.len() == columns + 1 && columns > 1 && first.iter().all(|field| is_word(field)) {
        return Some(rows.remove(0));
    }
    if rows.len() != columns || columns < 3 || rows.iter().any(|row| row.len() != columns) {
        return None;
    }
    let (corner, names) = first.split_first()?;
    let numbers: Option<Vec<usize>> = names.iter().map(|name| name.parse().ok()).collect();
    let are_names = match numbers {
        _ if !corner.is_empty() && !is_word(corner) => false,
        None => names.iter().all(|name| is_word(name)),
        Some(numbers) => {
            let in_rows = rows[1..].iter().map(|row| &row[0]);
            let within = || (1..columns).map(|row| &rows[row][row..]);
            let is_alone = within().all(|row| row[1..].iter().all(String::is_empty));
            let has_diagonal = within().all(|row| !row[0].is_empty());
            in_rows.eq(names)
                && numbers.is_sorted_by(|one, other| one < other)
                && (is_word(corner) || numbers[0] == 0 || is_alone || has_diagonal)
        }
    };
    are_names.then(|| {
        let mut names = rows.remove(0);
        names.remove(0);
        rows.iter_mut().for_each(|row| drop(row.remove(0)));
        names
    })
}

/// Returns the numbers of the processors with these names, if each has another one.
fn cpus_of(names: &[String]) -> Option<Vec<usize>> {
    let number = |name: &String| {
        let name = name.to_lowercase();
        name.strip_prefix("cpu")
            .unwrap_or(&name)
            .trim()
            .parse()
            .ok()
    };
    let cpus: Vec<usize> = names.iter().map(number).collect::<Option<_>>()?;
    let are_distinct = cpus.iter().collect::<BTreeSet<_>>().len() == cpus.len();
    are_distinct.then_some(cpus)
}

/// Returns whether the rows are the half below the diagonal, each with one field more than the one
/// before, of which the last is that of a processor to itself.
fn is_half(rows: &[Vec<String>]) -> bool {
    let is_to_itself = |field: &String| matches!(latency(field), Some(None | Some(0.0)));
    let is_next = |(at, row): (usize, &Vec<String>)| row.len() == at + 1 && is_to_itself(&row[at]);
    rows.len() > 1 && rows.iter().enumerate().all(is_next)
}

/// Returns the latencies of a table, in which missing ones are filled in.
fn filled(
    rows: &[Vec<String>],
    first_line: usize,
    first_column: usize,
) -> Result<Vec<Vec<f64>>, LatencyTableError> {
    let size = rows.len();
    let refused = |row: usize, problem| refused(row + first_line - 1, problem);
    let mut given = Vec::with_capacity(size);
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
                    column + first_column
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
                column + first_column,
                row + first_column,
                column + first_line
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
    let is_filled = |row: &Vec<String>| row.len() > 1 || row.iter().any(|field| !field.is_empty());
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

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::proptest;

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
            "\u{feff};;\r\n10,0;;\r\n4e1;40,0;\r\n",
            "0\n10,0\n40,40,0\n",
        ] {
            assert_eq!(latency_table(text).unwrap().rows, symmetric, "{text:?}");
        }
        assert_eq!(
            latency_table("5,1\n2,\n").unwrap().rows,
            [[5.0, 1.0], [2.0, 0.0]]
        );
    }

    #[test]
    fn names_of_columns_and_rows_are_no_latencies() {
        let latencies = [[0.0, 10.0, 40.0], [10.0, 0.0, 40.0], [40.0, 40.0, 0.0]];
        for (text, cpus) in [
            (",0,1,2\n0,,,\n1,10,,\n2,40,40,\n", Some(vec![0, 1, 2])),
            (
                ",0,1,2\n0,,10,40\n1,10,,40\n2,40,40,\n",
                Some(vec![0, 1, 2]),
            ),
            (",4,6,8\n4,,,\n6,10,,\n8,40,40,\n", Some(vec![4, 6, 8])),
            (
                ",4,6,8\n4,0,10,40\n6,10,0,40\n8,40,40,0\n",
                Some(vec![4, 6, 8]),
            ),
            (
                " CPU 4 6 8\n 4 0 10 40\n 6 10 0 40\n 8 40 40 0\n",
                Some(vec![4, 6, 8]),
            ),
            (
                "\"\",\"a\",\"b\",\"c\"\n\"a\",,,\n\"b\",10,,\n\"c\",40,40,\n",
                None,
            ),
            (
                ";cpu4;CPU 6;Cpu8\n;;;\n;10,0;;\n;40,0;40,0;\n",
                Some(vec![4, 6, 8]),
            ),
            ("a,b,c\n,,\n10,,\n40,40,\n", None),
        ] {
            let table = latency_table(text).unwrap();
            assert_eq!(table.rows, latencies, "{text:?}");
            assert_eq!((table.cpus, table.first_line), (cpus, 2), "{text:?}");
        }
        // Numbers that may be latencies are latencies.
        let table = latency_table(",1,2\n1,,1\n2,1,\n").unwrap();
        assert_eq!(
            table.rows,
            [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
        );
        assert_eq!(
            problem(",4,6\n4,,x\n6,10,\n"),
            "line 2: column 3 is \"x\"; allowed: a finite time of 0 or more, in nanoseconds, or nothing"
        );
        assert_eq!(
            problem("cpu,4,6\n4,,\n6,,\n"),
            "line 2: column 3 is empty, and so is column 2 of line 3; allowed: a time in one of them"
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
        // A row may have more columns than the names above it.
        assert!(problem("a,b\n,,,\n,\n").starts_with("line 2: the row has 4 columns; allowed: 2,"));
        // A blank line has no field if columns have blanks between them.
        assert!(problem("=\n\n\"\n").starts_with("line 1: the row has 1 columns;"));
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

    proptest! {
        #[test]
        fn no_table_makes_it_panic(table in "(a,b\n|a,b,c\n)?(([a0-2]?,){0,4}[a0-2 ]?\n){0,6}") {
            let _ = latency_table(&table);
        }
    }
}
