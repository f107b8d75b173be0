//! A graph as a list of edges.

use std::num::IntErrorKind;

use super::metis;
use super::text::{TextError, amount, shown};
use crate::error::ProblemError;
use crate::volumes::Volumes;

pub(super) fn parse(text: &str) -> Result<Volumes, TextError> {
    if let Some(metis::Header {
        line,
        vertices,
        edges,
        ..
    }) = metis::recognised(text)
    {
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
                shown(text.trim())
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
