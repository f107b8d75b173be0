//! Matrices of volumes: plain ones, and those of Matrix Market.

use super::tasks::Tasks;
use super::text::{TextError, Words, amount, shown};
use crate::error::ProblemError;
use crate::volumes::Volumes;

/// The words with which a file of Matrix Market begins.
const MARKET: &str = "%%MatrixMarket";

/// The smallest number of rows that no list of edges has the form of: an edge has up to 3 numbers.
const PLAIN: usize = 4;

/// A row of a plain matrix: its line, and its words.
type Row<'a> = (usize, Vec<&'a str>);

pub(super) fn is_market(text: &str) -> bool {
    let begin = text.get(..MARKET.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(MARKET))
}

fn rows(text: &str) -> Vec<Row<'_>> {
    let lines = (1..).zip(text.lines());
    let lines = lines.map(|(line, text)| (line, text.split(['#', '%']).next().unwrap_or_default()));
    let lines: Vec<_> = lines.filter(|(_, text)| !text.trim().is_empty()).collect();
    let has = |sign: &char| lines.iter().any(|(_, text)| text.contains(*sign));
    let separator = [',', ';'].into_iter().find(has);
    lines
        .into_iter()
        .map(|(line, text)| {
            let words = match separator {
                Some(separator) => text.split(separator).map(str::trim).collect(),
                None => text.split_whitespace().collect(),
            };
            (line, words)
        })
        .collect()
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

/// Returns true if the first row is the size of the others: one number, which no list of edges
/// begins with, or two equal ones. Two can be an edge, so they count only if the others are no
/// list.
fn has_size(rows: &[Row<'_>]) -> bool {
    let Some(((_, first), others)) = rows.split_first() else {
        return false;
    };
    let size = others.len();
    let is_size = !first.is_empty() && first.iter().all(|word| word.parse() == Ok(size));
    let is_square = || others.iter().all(|(_, words)| words.len() == size);
    is_size
        && match first.len() {
            1 => size > 0,
            2 => is_square() && (size >= PLAIN || has_zero_diagonal(others)),
            _ => false,
        }
}

fn has_zero_diagonal(rows: &[Row<'_>]) -> bool {
    let is_zero = |(at, (_, words)): (usize, &Row<'_>)| words[at].parse() == Ok(0.0);
    rows.iter().enumerate().all(is_zero)
}

/// Removes what surrounds the elements: the size before them, names of columns and rows, and a
/// comma after the last element of each row.
fn bare(mut rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    if has_size(&rows) {
        rows.remove(0);
        return rows;
    }
    let size = rows.len().saturating_sub(1);
    let has_names = size > 0
        && rows[0].1.first().is_some_and(|word| !is_number(word))
        && rows[0].1.len() == size + 1
        && rows[0].1[0] != "tasks"
        && rows[0].1[1..].iter().all(|name| !name.is_empty());
    if has_names {
        rows.remove(0);
        rows.iter_mut().for_each(|row| {
            row.1.remove(0);
        });
    }
    let size = rows.len();
    let ends = |row: &Row<'_>| row.1.len() == size + 1 && row.1[size].is_empty();
    if size > 0 && rows.iter().all(ends) {
        rows.iter_mut().for_each(|row| {
            row.1.pop();
        });
    }
    rows
}

/// Returns true if a text is a plain matrix: as many rows as columns. Up to three rows can be a
/// list of edges as well. They are a matrix if no task sends to itself, because an edge of the
/// first task to itself, or of volume 0, hardly ever stands in a list.
pub(super) fn is_plain(text: &str) -> bool {
    let all = rows(text);
    let count = all.len();
    let rows = bare(all);
    let size = rows.len();
    let is_square = size > 1 && rows.iter().all(|(_, words)| words.len() == size);
    is_square && (size >= PLAIN || size < count || has_zero_diagonal(&rows))
}

/// Returns true if the rows are longer than those of a list of edges, so that they can be meant to
/// be a matrix.
pub(super) fn is_likely(text: &str) -> bool {
    let rows = rows(text);
    !rows.is_empty() && rows.iter().all(|(_, words)| words.len() >= PLAIN)
}

/// Returns true if each row is one number longer than the one before, and the first has one.
pub(super) fn is_half(text: &str) -> bool {
    let rows = rows(text);
    let is_next = |(at, (_, words)): (usize, &Row<'_>)| words.len() == at + 1;
    rows.len() >= PLAIN && rows.iter().enumerate().all(is_next)
}

/// Parses a plain matrix. Row i has the volumes from task i.
pub(super) fn plain(text: &str) -> Result<Tasks, TextError> {
    let all = rows(text);
    let says_its_size = has_size(&all) && all[0].1.len() == 1;
    let rows = bare(all);
    let size = rows.len();
    let mut edges = Vec::new();
    for (from, (line, words)) in rows.iter().enumerate() {
        if words.len() != size {
            let rule = format!(
                "the row has {} numbers, and there are {size} rows: a matrix of volumes has as many columns as rows",
                words.len()
            );
            return Err(TextError::at(*line, rule));
        }
        for (to, word) in words.iter().enumerate() {
            if word.is_empty() {
                let rule = format!("column {} is empty: write 0 if nothing is sent", to + 1);
                return Err(TextError::at(*line, rule));
            }
            edges.push((from, to, amount(word, *line)?));
        }
    }
    let notes = if size < PLAIN && !says_its_size {
        vec![format!(
            "it is read as a matrix of {size} tasks; if it is a list of edges, begin it with `tasks N`"
        )]
    } else {
        Vec::new()
    };
    Ok(Tasks {
        volumes: Volumes::from_edges(size, edges)?,
        first: 0,
        notes,
    })
}

/// Parses a matrix of Matrix Market (R.F. Boisvert, R. Pozo and K.A. Remington, The Matrix Market
/// Exchange Formats, NISTIR 5935, 1996). Row i has the volumes from task i. A symmetric matrix has
/// the elements on and below the diagonal.
pub(super) fn market(text: &str) -> Result<Tasks, TextError> {
    let header = text.lines().next().unwrap_or_default().to_lowercase();
    let words: Vec<&str> = header.split_whitespace().collect();
    let refused = |rule: &str| Err(TextError::at(1, rule));
    let (is_array, field, symmetry) = match words[..] {
        [_, "matrix", "coordinate", field, symmetry] => (false, field, symmetry),
        [_, "matrix", "array", field, symmetry] => (true, field, symmetry),
        _ => {
            return refused(
                "a file of Matrix Market begins as `%%MatrixMarket matrix coordinate real general` does, with `array` \
                 for a matrix with all elements",
            );
        }
    };
    let is_pattern = match field {
        "real" | "integer" | "double" | "unsigned-integer" => false,
        "pattern" if !is_array => true,
        _ => {
            return refused(&format!(
                "its elements are {:?}, and volumes are `real` or `integer`, or `pattern` with coordinates for volumes \
                 of 1",
                shown(field)
            ));
        }
    };
    let is_symmetric = match symmetry {
        "general" => false,
        "symmetric" => true,
        _ => {
            return refused(&format!(
                "it is {:?}, so that volumes would be below 0 or no numbers: volumes are `general` or `symmetric`",
                shown(symmetry)
            ));
        }
    };
    let mut words = Words::of(text, |line| !line.trim_start().starts_with('%'));
    let (line, tasks) = words.count("the number of rows")?;
    let (_, columns) = words.count("the number of columns")?;
    if tasks != columns {
        let rule = format!(
            "the matrix has {tasks} rows and {columns} columns, and a matrix of volumes has as many columns as rows"
        );
        return Err(TextError::at(line, rule));
    }
    if tasks == 0 {
        return Err(ProblemError::NoTasks.into());
    }
    if tasks == usize::MAX {
        return Err(TextError::TooManyTasks { line });
    }
    let mut edges = Vec::new();
    let mut add = |from: usize, to: usize, volume: f64| {
        if volume > 0.0 {
            edges.push((from, to, volume));
            if is_symmetric && from != to {
                edges.push((to, from, volume));
            }
        }
    };
    if is_array {
        // Column by column.
        for column in 0..tasks {
            let first = if is_symmetric { column } else { 0 };
            for row in first..tasks {
                add(row, column, words.amount("the last element of the matrix")?);
            }
        }
    } else {
        let (_, elements) = words.count("the number of elements")?;
        for _ in 0..elements {
            let mut index = |what: &str| {
                let (line, number) = words.count(what)?;
                if number == 0 || number > tasks {
                    let rule = format!(
                        "{number} stands where {what} has to be: the matrix has {tasks}, numbered from 1"
                    );
                    return Err(TextError::at(line, rule));
                }
                Ok((line, number - 1))
            };
            let (line, row) = index("a row")?;
            let (_, column) = index("a column")?;
            if is_symmetric && column > row {
                let rule = "the element is above the diagonal, and a symmetric matrix has those on and below it";
                return Err(TextError::at(line, rule));
            }
            let volume = if is_pattern {
                1.0
            } else {
                words.amount("a volume")?
            };
            add(row, column, volume);
        }
    }
    words.end("the last element of the matrix")?;
    Ok(Tasks {
        volumes: Volumes::from_edges(tasks, edges)?,
        first: 0,
        notes: Vec::new(),
    })
}
