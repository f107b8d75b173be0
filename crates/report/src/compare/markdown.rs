//! Comparisons as Markdown, for a comment on a pull request.

use super::views::{self, Group, factor, groups, in_unit, interval, left_out, summary};
use super::{Comparison, Ratio, RatioKind, Verdict};

/// The bytes of a table after which further rows are left out. A comment on GitHub has at most
/// 65,536 characters, and there are three tables, of which the last has the rows of the others too.
const BYTES_MAX: usize = 16_000;

/// A list of values that are on one side only ends after this number.
const LISTED_MAX: usize = 50;

/// Returns the comparison as Markdown: what the threshold says, then the ratios that are beyond
/// both intervals, then sentences, and the rest folded. Paragraphs are not broken into lines.
pub fn markdown(comparison: &Comparison) -> String {
    let groups: Vec<Group<'_>> = groups(comparison).collect();
    let words = views::words(comparison);
    let mut sentences = summary(comparison).into_iter();
    let mut text = String::new();
    if comparison.judgement.is_some()
        && let Some(verdict) = sentences.next()
    {
        text += &format!("**{}**\n\n", words.say(&verdict));
    }
    let threshold = comparison.judgement.map(|judgement| judgement.threshold);
    let slower: Vec<&Ratio> = match threshold {
        Some(share) => comparison
            .slower_by(share)
            .map(|(ratio, _)| ratio)
            .collect(),
        None => beyond(comparison, Verdict::Slower),
    };
    let of = |wanted: &[&Ratio]| -> Vec<String> {
        let rows = groups.iter().flat_map(|group| {
            let ratios = group.ratios.iter();
            let wanted = ratios.filter(|ratio| wanted.iter().any(|one| std::ptr::eq(*one, *ratio)));
            wanted.map(|ratio| words.say(&row(group, ratio)))
        });
        rows.collect()
    };
    let all: Vec<&Ratio> = comparison.results.iter().collect();
    text += &table(&of(&slower));
    let compared = &comparison.compared;
    text += &format!(
        "- A: {}\n- B: {}\n",
        compared.runs_of_a.join(", "),
        compared.runs_of_b.join(", ")
    );
    for sentence in sentences.chain(comparison.notes.iter().cloned()) {
        text += &format!("- {}\n", words.say(&sentence));
    }
    let faster = beyond(comparison, Verdict::Faster);
    for (title, rows) in [
        ("Faster beyond both intervals", &faster),
        ("All ratios", &all),
    ] {
        text += &folded(title, rows.len(), &table(&of(rows)));
    }
    for (title, names) in left_out(comparison) {
        let listed = names.iter().take(LISTED_MAX);
        let mut list: String = listed.map(|name| format!("- {name}\n")).collect();
        if names.len() > LISTED_MAX {
            list += &format!("- and {} more\n", names.len() - LISTED_MAX);
        }
        text += &folded(&title, names.len(), &list);
    }
    text
}

/// Returns the ratios of times and rates that are beyond both intervals on one side.
fn beyond(comparison: &Comparison, verdict: Verdict) -> Vec<&Ratio> {
    let is_it = |ratio: &&Ratio| ratio.verdict == verdict && ratio.kind != RatioKind::Finding;
    comparison.results.iter().filter(is_it).collect()
}

fn row(group: &Group<'_>, ratio: &Ratio) -> String {
    let value = |value| in_unit(value, &ratio.value_unit);
    format!(
        "| {} | {} | {} | {} | {} |\n",
        group.name_of(ratio).replace('|', "\\|"),
        value(ratio.a),
        value(ratio.b),
        factor(ratio.value),
        interval(ratio)
    )
}

/// Returns a table, or nothing without rows.
fn table(rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text =
        "| what | A | B | B/A | interval |\n| :-- | --: | --: | --: | :-- |\n".to_owned();
    for (at, row) in rows.iter().enumerate() {
        if text.len() + row.len() > BYTES_MAX {
            text += &format!("\n{} more rows are left out.\n", rows.len() - at);
            break;
        }
        text += row;
    }
    text + "\n"
}

fn folded(title: &str, number: usize, text: &str) -> String {
    match number {
        0 => String::new(),
        _ => format!("\n<details><summary>{title}: {number}</summary>\n\n{text}\n</details>\n"),
    }
}
