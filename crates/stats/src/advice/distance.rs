//! The best places for SPEs that exchange data, by the distances in matrices.

use super::value::{Compared, Value};
use super::words::{listed, range};
use crate::figures::{plain, size, time};
use crate::function::Primitive;
use crate::report::{Matrix, MatrixClass};

/// Returns one sentence for each distance that is the fastest for some primitives. The last
/// sentence has the primitives that take the same time at all distances.
pub(super) fn by_distance(matrices: &[Matrix]) -> Vec<String> {
    let mut near_first: Vec<(&str, Vec<String>)> = Vec::new();
    let mut equal = Vec::new();
    for matrix in matrices {
        let classes: Vec<(&str, Value)> = matrix
            .classes
            .iter()
            .filter_map(|class| Some((class.name.as_str(), of_class(class)?)))
            .collect();
        if classes.len() < 2 {
            continue;
        }
        let by_time = |a: &&(&str, Value), b: &&(&str, Value)| a.1.is.total_cmp(&b.1.is);
        let (Some((best, short)), Some((worst, long))) = (
            classes.iter().min_by(by_time),
            classes.iter().max_by(by_time),
        ) else {
            continue;
        };
        let what = match matrix.primitive {
            Primitive::Mailbox => "a mailbox word".to_owned(),
            Primitive::Signal => "a signal".to_owned(),
            Primitive::Atomic => "a change of an atomic variable".to_owned(),
            Primitive::Copy => match matrix.block_bytes {
                Some(bytes) => format!("a block of {}", size(bytes)),
                None => "a block".to_owned(),
            },
        };
        match long.beside(*short) {
            Compared::More(ratio) => {
                let figures = format!(
                    "{what} takes {} one way there, and {} {}, {} times as long",
                    time(short.is),
                    time(long.is),
                    where_others_sit(worst),
                    plain(ratio)
                );
                match near_first.iter_mut().find(|(name, _)| name == best) {
                    Some((_, others)) => others.push(figures),
                    None => near_first.push((best, vec![figures])),
                }
            }
            Compared::Equal => {
                let times = range(time(short.is), &time(long.is));
                equal.push(format!("{what} takes {times} one way"));
            }
            Compared::Less(_) | Compared::Unclear => {}
        }
    }
    let mut texts: Vec<String> = near_first
        .into_iter()
        .map(|(best, figures)| {
            format!(
                "Place SPEs that exchange data {}: {}.",
                where_pairs_sit(best),
                figures.join("; ")
            )
        })
        .collect();
    if !equal.is_empty() {
        texts.push(format!(
            "How far apart SPEs sit makes no difference where {} at any distance.",
            listed(&equal)
        ));
    }
    texts
}

/// Returns the median time of a class of pairs. The interval of this value begins at the time of
/// the fastest pair, and ends at the median, because slower pairs may have been disturbed.
fn of_class(class: &MatrixClass) -> Option<Value> {
    let median = Value::exactly(class.p50_ns?)?;
    Some(Value {
        low: class.min_ns.map_or(median.is, |min| min.min(median.is)),
        ..median
    })
}

/// The name of the class of pairs in different Cells, on a machine with two Cells. The name comes
/// from [`Topology::name_of`](cellworks_machine::Topology::name_of).
const OTHER_CELL: &str = "other Cell";

fn where_pairs_sit(class: &str) -> String {
    if class == OTHER_CELL {
        return "in different Cells".to_owned();
    }
    if class.starts_with("across") {
        return class.to_owned();
    }
    let place = class.strip_prefix("same ").unwrap_or(class);
    let preposition = if place == "core" { "on" } else { "in" };
    format!("{preposition} the same {place}")
}

/// Describes the place of the pairs of a class, for a sentence that has already named nearer pairs.
fn where_others_sit(class: &str) -> String {
    if class == OTHER_CELL {
        return "to an SPE in the other Cell".to_owned();
    }
    where_pairs_sit(class)
}
