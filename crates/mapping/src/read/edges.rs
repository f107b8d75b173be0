//! A graph as a list of edges.

use std::num::IntErrorKind;

use super::text::{TextError, amount};
use crate::error::ProblemError;
use crate::volumes::Volumes;

pub(super) fn parse(text: &str) -> Result<Volumes, TextError> {
    if let Some((line, vertices, edges)) = metis_header(text) {
        let rule = format!(
            "this is a graph in the format of METIS, with {vertices} vertices and {edges} edges, whose lines list \
             neighbours; write a line for each direction of an edge, as in `0 1 4096` (if it is a list of edges, begin \
             it with `tasks N`)"
        );
        return Err(TextError::Line { line, rule });
    }
    let mut declared = None;
    let mut edges = Vec::new();
    for (line, text) in text
        .lines()
        .enumerate()
        .map(|(line, text)| (line + 1, text))
    {
        let text = text.split('#').next().unwrap_or_default();
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| !word.is_empty())
            .collect();
        let wrong = || {
            let rule = format!(
                "{:?} is no edge: a line has a sending task, a receiving task and a volume, as in `0 1 4096`; only \
                 the first may be `tasks N`",
                text.trim()
            );
            TextError::Line { line, rule }
        };
        let number = |word: &str| match word.parse::<usize>() {
            Ok(number) if number < usize::MAX => Ok(number),
            Err(error) if *error.kind() != IntErrorKind::PosOverflow => Err(wrong()),
            _ => Err(TextError::TooManyTasks { line }),
        };
        match words[..] {
            [] => {}
            ["tasks", count] if declared.is_none() && edges.is_empty() => {
                declared = Some(number(count)?);
            }
            [from, to] => edges.push((line, number(from)?, number(to)?, 1.0)),
            [from, to, volume] => {
                edges.push((line, number(from)?, number(to)?, amount(volume, line)?));
            }
            _ => return Err(wrong()),
        }
    }

    let largest = edges
        .iter()
        .map(|(line, from, to, _)| (*from.max(to), *line))
        .max();
    let tasks = match (declared, largest) {
        (Some(tasks), Some((task, line))) if task >= tasks => {
            let rule = format!(
                "task {task} is unknown: the first line says that there are {tasks}, numbered from 0"
            );
            return Err(TextError::Line { line, rule });
        }
        (Some(tasks), _) => tasks,
        (None, Some((task, _))) => task + 1,
        (None, None) => 0,
    };
    if tasks == 0 {
        return Err(ProblemError::NoTasks.into());
    }
    Ok(Volumes::from_edges(
        tasks,
        edges
            .into_iter()
            .map(|(_, from, to, volume)| (from, to, volume)),
    )?)
}

/// Returns the line, the vertices and the edges of the header, if a text is a graph of METIS
/// (G. Karypis, METIS manual, section 4.1.1): a header with the numbers of vertices and edges,
/// perhaps with a 1 that says that edges have weights, and then a line for each vertex with its
/// neighbours, counted from 1. Each edge is in the lines of both of its vertices.
fn metis_header(text: &str) -> Option<(usize, usize, usize)> {
    let numbers = |text: &str| -> Option<Vec<usize>> {
        let words = text.split_whitespace();
        words.map(|word| word.parse().ok()).collect()
    };
    let is_comment = |text: &str| text.starts_with('%');
    let lines = (1..).zip(text.trim_end().lines());
    let mut lines = lines.filter(|(_, text)| !is_comment(text));
    let (line, header) = lines.next()?;
    let (vertices, edges, words_of_edge) = match numbers(header)?[..] {
        [vertices, edges] | [vertices, edges, 0] => (vertices, edges, 1),
        [vertices, edges, 1] => (vertices, edges, 2),
        _ => return None,
    };
    let mut rows: Vec<_> = lines
        .map(|(_, text)| numbers(text))
        .collect::<Option<_>>()?;
    if edges == 0 || rows.len() > vertices {
        return None;
    }
    rows.iter_mut()
        .for_each(|row| *row = row.iter().copied().step_by(words_of_edge).collect());
    let is_neighbour = |vertex: usize, other: usize| {
        let row = other.checked_sub(1).and_then(|row| rows.get(row));
        vertex != other && row.is_some_and(|row| row.contains(&vertex))
    };
    let neighbours = || {
        (1..)
            .zip(&rows)
            .flat_map(|(vertex, row)| row.iter().map(move |&other| (vertex, other)))
    };
    let is_graph = neighbours().count() == edges.checked_mul(2)?
        && neighbours().all(|(vertex, other)| is_neighbour(vertex, other));
    is_graph.then_some((line, vertices, edges))
}
