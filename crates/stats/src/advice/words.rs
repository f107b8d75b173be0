//! Combines facts into sentences.

use super::value::{Compared, Gain};
use crate::figures::size;

/// Advice for gets or for puts. The sentence is `before`, `what` (such as `gets`) and `after`.
pub(super) struct Recommendation {
    pub before: String,
    pub what: &'static str,
    pub after: String,
    pub figures: String,
}

/// Makes a sentence for each group of recommendations that differ only in `what` and `figures`.
pub(super) fn merge_alike(all: Vec<Recommendation>) -> Vec<String> {
    let mut groups: Vec<Vec<Recommendation>> = Vec::new();
    for one in all {
        let same = groups
            .iter_mut()
            .find(|group| (&group[0].before, &group[0].after) == (&one.before, &one.after));
        match same {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let sentence = |group: Vec<Recommendation>| {
        let what: Vec<String> = group.iter().map(|one| one.what.to_owned()).collect();
        let figures: Vec<&str> = group.iter().map(|one| one.figures.as_str()).collect();
        format!(
            "{}{}{}: {}.",
            group[0].before,
            listed(&what),
            group[0].after,
            figures.join("; ")
        )
    };
    groups.into_iter().map(sentence).collect()
}

pub(super) fn range(from: String, to: &str) -> String {
    if from == to {
        from
    } else {
        format!("{from} to {to}")
    }
}

/// Returns the index of the size with the largest `gain`, this gain, and a text with all sizes that
/// have a gain. Returns `None` if no size has a gain.
pub(super) fn gained(by_size: &[(usize, Compared)], gain: Gain) -> Option<(usize, f64, String)> {
    let gains = by_size.iter().map(|(_, compared)| gain(*compared));
    let (best, ratio) = gains
        .enumerate()
        .filter_map(|(at, ratio)| Some((at, ratio?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_better = |(_, compared): &(usize, Compared)| {
        (*compared != Compared::Unclear).then(|| gain(*compared).is_some())
    };
    let is_better: Vec<Option<bool>> = by_size.iter().map(is_better).collect();
    let sizes = range_of(&is_better, |at| size(by_size[at].0));
    Some((best, ratio, sizes))
}

/// Returns a text with the names of the indices at which `is_true` is `Some(true)`. There must be
/// such an index. If `is_true` is `Some(false)` between two of these indices, the text lists the
/// name of each. Otherwise, the text has only the names of the first and the last index.
fn range_of(is_true: &[Option<bool>], name: impl Fn(usize) -> String) -> String {
    let places: Vec<usize> = (0..is_true.len())
        .filter(|at| is_true[*at] == Some(true))
        .collect();
    let (first, last) = (places[0], places[places.len() - 1]);
    if first == last {
        name(first)
    } else if is_true[first..=last].contains(&Some(false)) {
        listed(&places.into_iter().map(name).collect::<Vec<_>>())
    } else {
        format!("{} to {}", name(first), name(last))
    }
}

pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}

/// Writes a number with a noun: `1 SPE`, `2 SPEs`.
pub(super) fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_for_gets_and_puts_is_one_sentence() {
        let recommendation = |what, after: &str, figures: &str| Recommendation {
            before: "Make ".to_owned(),
            what,
            after: after.to_owned(),
            figures: figures.to_owned(),
        };
        assert_eq!(
            merge_alike(vec![
                recommendation("gets", " large", "1 ns"),
                recommendation("puts", " large", "2 ns")
            ]),
            ["Make gets and puts large: 1 ns; 2 ns."]
        );
        assert_eq!(
            merge_alike(vec![
                recommendation("gets", " large", "1 ns"),
                recommendation("puts", " small", "2 ns")
            ]),
            ["Make gets large: 1 ns.", "Make puts small: 2 ns."]
        );
    }

    #[test]
    fn ranges_bridge_what_is_unknown_and_not_what_is_false() {
        let range = |is_true: &[Option<bool>]| range_of(is_true, |at| at.to_string());
        let (yes, no, unknown) = (Some(true), Some(false), None);
        assert_eq!(range(&[no, yes, unknown, yes, no]), "1 to 3");
        assert_eq!(range(&[yes, no, yes, yes]), "0, 2 and 3");
        assert_eq!(range(&[unknown, yes, unknown]), "1");
    }
}
