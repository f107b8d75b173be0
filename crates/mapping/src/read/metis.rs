//! Graphs of METIS (G. Karypis, METIS manual, section 4.1.1).
//!
//! ```text
//! % a comment
//! 3 2 001          the numbers of vertices and of edges, and what has weights
//! 2 7              the neighbours of vertex 1, counted from 1, each with the weight of the edge
//! 1 7 3 9          each edge is in the lines of both of its vertices
//! 2 9
//! ```
//!
//! The digits of the third number of the header say whether vertices have sizes, vertices have
//! weights, and edges have weights. A fourth number is the number of weights of each vertex.

use super::scotch;
use super::tasks::Tasks;
use super::text;
use super::text::{TextError, amount, count, shown};
use crate::volumes::Volumes;

/// The numbers of the header.
pub(super) struct Header {
    /// Its line in the file.
    pub line: usize,
    pub vertices: usize,
    pub edges: usize,
    /// The number of words before the neighbours of a vertex.
    before: usize,
    has_weights: bool,
}

/// Returns true if a line is a comment.
fn is_comment(text: &str) -> bool {
    text.trim_start().starts_with('%')
}

fn lines(text: &str) -> impl Iterator<Item = text::Word<'_>> {
    let lines = (1..).zip(text.trim_end().lines());
    lines.filter(|(_, text)| !is_comment(text))
}

fn header(text: &str) -> Option<Header> {
    let (line, header) = lines(text).next()?;
    let numbers: Option<Vec<usize>> = header
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    let (vertices, edges, format, weights) = match numbers?[..] {
        [vertices, edges] => (vertices, edges, 0, 1),
        [vertices, edges, format] => (vertices, edges, format, 1),
        [vertices, edges, format, weights] => (vertices, edges, format, weights),
        _ => return None,
    };
    let [sizes, weighted, has_weights] = [format / 100, format / 10 % 10, format % 10];
    if [sizes, weighted, has_weights]
        .iter()
        .any(|digit| *digit > 1)
    {
        return None;
    }
    Some(Header {
        line,
        vertices,
        edges,
        before: sizes.saturating_add(weighted * weights),
        has_weights: has_weights == 1,
    })
}

/// Returns the header, if a text is a graph of METIS by what is in it: it has a line for each
/// vertex, and each edge is in the lines of both of its vertices. A list of edges is hardly ever
/// such a graph.
pub(super) fn recognised(text: &str) -> Option<Header> {
    let header = header(text)?;
    let is_graph = header.edges > 0 && parse(text).is_ok();
    is_graph.then_some(header)
}

/// Returns true if each line of a graph can be an edge of a list as well.
pub(super) fn is_like_edges(text: &str) -> bool {
    let mut lines = text.trim_end().lines();
    lines.all(|row| matches!(row.split_whitespace().count(), 2 | 3))
}

/// Returns true if a text begins with a header, and has a line for each vertex, some of which are
/// no edges of a list, so that it can be meant to be a graph of METIS.
pub(super) fn is_likely(text: &str) -> bool {
    let rows = || lines(text).skip(1);
    header(text).is_some_and(|header| {
        rows().count() == header.vertices
            && rows().any(|(_, row)| !matches!(row.split_whitespace().count(), 2 | 3))
    })
}

pub(super) fn parse(text: &str) -> Result<Tasks, TextError> {
    let Some(header) = header(text) else {
        let line = lines(text).next().map_or(1, |(line, _)| line);
        return Err(TextError::at(
            line,
            "a graph of METIS begins with its numbers of vertices and of edges, and perhaps three digits that say what \
             has weights, as in `3 2 001`",
        ));
    };
    let Header {
        vertices, edges, ..
    } = header;
    // The last vertices may have no neighbours, and so blank lines at the end of the file.
    let mut arcs = Vec::new();
    let mut last = header.line;
    for (vertex, (line, row)) in lines(text).skip(1).enumerate() {
        last = line;
        let mut words = row.split_whitespace();
        if vertex >= vertices {
            let rule = format!(
                "{:?} stands after the line of the last vertex: line {} says that there are {vertices}",
                shown(row),
                header.line
            );
            return Err(TextError::at(line, rule));
        }
        for _ in 0..header.before {
            let Some(word) = words.next() else {
                let rule = format!(
                    "it ends before the neighbours: line {} says that {} numbers stand before them",
                    header.line, header.before
                );
                return Err(TextError::at(line, rule));
            };
            amount(word, line)?;
        }
        while let Some(word) = words.next() {
            let neighbour = count(word, line, "the number of a neighbour")?;
            if neighbour == 0 || neighbour > vertices {
                let rule = format!(
                    "vertex {neighbour} is unknown: line {} says that there are {vertices}, numbered from 1",
                    header.line
                );
                return Err(TextError::at(line, rule));
            }
            let weight = if header.has_weights {
                words.next().map(|word| amount(word, line))
            } else {
                Some(Ok(1.0))
            };
            let weight = weight.ok_or_else(|| {
                let rule = format!("neighbour {neighbour} has no weight after it");
                TextError::at(line, rule)
            })??;
            arcs.push((vertex, neighbour - 1, weight));
        }
    }
    if Some(arcs.len()) != edges.checked_mul(2) {
        let rule = format!(
            "the lines list {} neighbours, and line {} says that there are {edges} edges, each in the lines of both of \
             its vertices",
            arcs.len(),
            header.line
        );
        return Err(TextError::at(last, rule));
    }
    let volumes = Volumes::from_edges(vertices, arcs)?;
    scotch::check_directions(&volumes, 1, last)?;
    let notes = match header.before {
        0 => Vec::new(),
        _ => vec![
            "the sizes and weights of its vertices are ignored, because a place takes any task"
                .to_owned(),
        ],
    };
    Ok(Tasks {
        volumes,
        first: 1,
        notes,
    })
}
