//! Comparisons as a table and as CSV, and functions that the HTML page also uses.

use cellworks_stats::figures::plain;
use serde_json::Value;

use super::judgement::is_enough;
use super::{Compared, Comparison, Ratio, RatioKind, Spread, Verdict, listed};
use crate::columns::Table;
use crate::csv::{lines, or_empty};
use crate::text::{
    bandwidth, bold, count, in_words, name_in_json, place, size, time, without_unit, wrapped,
};
use crate::words::Words;

pub(super) const CSV_HEADER: &str = "kind,name,parameters,value_unit,a,b,ratio,ratio_low,ratio_high,verdict,a_low,a_high,b_low,b_high,noticeable_slowdown\n";

/// The summary names up to this number of slower measurements, and of faster measurements.
const EXTREMES: usize = 5;

const COLUMNS: [&str; 7] = [
    "A",
    "range of A",
    "B",
    "range of B",
    "B/A",
    "interval",
    "B is",
];

/// Returns the comparison as a table with lines of at most `width` characters. The table has a
/// block for each function, finding and matrix. Titles contain ANSI styles.
pub fn table(comparison: &Comparison, width: usize) -> String {
    let groups: Vec<Group<'_>> = groups(comparison).collect();
    let words = words(comparison);
    let mut text = String::new();
    for line in headline(comparison) {
        text += &wrapped(&line, "  ", width);
    }
    for (title, extremes) in extremes(&groups) {
        text += &format!("\n{}\n", bold(title));
        for extreme in extremes {
            let line = format!(
                "  {:>6} times  {}",
                factor(extreme.ratio.value),
                extreme.what
            );
            text += &wrapped(&words.say(&line), "                ", width);
        }
    }
    for group in &groups {
        let title = bold(&group.title);
        text.push('\n');
        text += &match group.common.as_str() {
            "" => title + "\n",
            common => wrapped(&words.say(&format!("{title} ({common})")), "  ", width),
        };
        text += &group.table().translated(words).text(Some(width));
    }
    for (title, left_out) in left_out(comparison) {
        text += "\n";
        text += &wrapped(&format!("{title}:"), "  ", width);
        for what in left_out {
            text += &wrapped(&format!("  {what}"), "    ", width);
        }
    }
    text
}

/// Returns the comparison as CSV: a header, and a line for each ratio. The field `parameters` has
/// the form `name=value`, separated by semicolons.
pub fn csv(comparison: &Comparison) -> String {
    let fields = |ratio: &Ratio| {
        let ends = |ends: Option<Spread>| {
            [ends.map(|ends| ends.low), ends.map(|ends| ends.high)].map(or_empty)
        };
        let [a_low, a_high] = ends(ratio.spread_of_a);
        let [b_low, b_high] = ends(ratio.spread_of_b);
        [
            name_in_json(ratio.kind),
            ratio.name.clone(),
            listed(&ratio.parameters, ";"),
            ratio.value_unit.clone(),
            ratio.a.to_string(),
            ratio.b.to_string(),
            ratio.value.to_string(),
            or_empty(ratio.interval.map(|interval| interval.low)),
            or_empty(ratio.interval.map(|interval| interval.high)),
            name_in_json(ratio.verdict),
            a_low,
            a_high,
            b_low,
            b_high,
            or_empty(ratio.noticeable_slowdown),
        ]
    };
    lines(CSV_HEADER, comparison.results.iter().map(fields))
}

pub(super) struct Group<'a> {
    pub title: String,
    /// The parameters that have the same value in all ratios, such as `block 1 KB, SPEs 2`.
    pub common: String,
    /// The names of the parameters that differ between the ratios.
    varying: Vec<&'a str>,
    pub ratios: &'a [Ratio],
}

pub(super) fn groups(comparison: &Comparison) -> impl Iterator<Item = Group<'_>> {
    comparison
        .results
        .chunk_by(|a, b| (a.kind, &a.name) == (b.kind, &b.name))
        .map(|ratios| {
            let first = &ratios[0];
            let everywhere = |name: &str| {
                let value = shown(first, name);
                ratios.iter().all(|ratio| shown(ratio, name) == value)
            };
            let names = first.parameters.keys().filter(|name| everywhere(name));
            let common: Vec<&String> = names.collect();
            let mut varying: Vec<&str> = ratios
                .iter()
                .flat_map(|ratio| ratio.parameters.keys())
                .filter(|name| !common.contains(name))
                .map(String::as_str)
                .collect();
            varying.sort_unstable();
            varying.dedup();
            let common = common.into_iter().map(|name| named(first, name));
            Group {
                title: match first.kind {
                    RatioKind::Measurement | RatioKind::Finding | RatioKind::Result => {
                        first.name.clone()
                    }
                    RatioKind::Matrix => format!("matrix of {}", first.name),
                },
                common: common.collect::<Vec<_>>().join(", "),
                varying,
                ratios,
            }
        })
}

impl Group<'_> {
    /// Returns a row for each ratio. Empty columns are left out.
    pub(super) fn table(&self) -> Table {
        let rows = self.ratios.iter().map(|ratio| self.row(ratio));
        let mut table = Table::new(self.headings(), rows, []);
        table.retain_columns(|_, cells| cells.iter().any(|cell| !cell.is_empty()));
        table
    }

    fn headings(&self) -> Vec<String> {
        let varying = self.varying.iter().map(|name| heading_of(name));
        varying
            .chain(COLUMNS.into_iter().map(str::to_owned))
            .collect()
    }

    fn row(&self, ratio: &Ratio) -> Vec<String> {
        let value = |value| in_unit(value, &ratio.value_unit);
        let range = |spread: Option<Spread>| match spread {
            Some(Spread { low, high, .. }) => format!("{} to {}", value(low), value(high)),
            None => String::new(),
        };
        let values = [
            value(ratio.a),
            range(ratio.spread_of_a),
            value(ratio.b),
            range(ratio.spread_of_b),
            factor(ratio.value),
            interval(ratio),
            match ratio.verdict {
                Verdict::Undecided => String::new(),
                decided => name_in_json(decided),
            },
        ];
        let parameters = self.varying.iter().map(|name| parameter(ratio, name));
        parameters.chain(values).collect()
    }

    /// Returns the name of a ratio with the parameters in which the ratios of the group differ,
    /// such as `dmaget (block 1 KB, SPEs 2)`.
    pub(super) fn name_of(&self, ratio: &Ratio) -> String {
        let there = |name: &&&str| !parameter(ratio, name).is_empty();
        let varying = self.varying.iter().filter(there);
        let varying: Vec<String> = varying.map(|name| named(ratio, name)).collect();
        if varying.is_empty() {
            self.title.clone()
        } else {
            format!("{} ({})", self.title, varying.join(", "))
        }
    }
}

/// Returns the heading of a column with the values of a parameter.
fn heading_of(name: &str) -> String {
    match name {
        "list_elements" => "list".to_owned(),
        name => in_words(without_unit(name)),
    }
}

/// Returns a parameter with its value, such as `block 1 KB`.
fn named(ratio: &Ratio, name: &str) -> String {
    format!("{} {}", heading_of(name), parameter(ratio, name))
}

/// Formats a ratio with enough digits for differences of less than a per cent.
pub(super) fn factor(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.3}"),
        _ => plain(ratio),
    }
}

/// Returns the ends of the interval of a ratio, or an empty text if there is none.
pub(super) fn interval(ratio: &Ratio) -> String {
    let interval = ratio.interval.as_ref();
    interval.map_or_else(String::new, |interval| {
        format!("{} to {}", factor(interval.low), factor(interval.high))
    })
}

/// Returns the value of a parameter. Where the data of a measurement lies is named as `stats` names
/// it.
fn shown(ratio: &Ratio, name: &str) -> Option<Value> {
    let place = place(ratio.lies_in).filter(|_| name == "between");
    match place {
        Some(place) => Some(place.into()),
        None => ratio.parameters.get(name).cloned(),
    }
}

/// Returns the value of a parameter, or an empty text if the ratio does not have the parameter.
fn parameter(ratio: &Ratio, name: &str) -> String {
    match shown(ratio, name) {
        None => String::new(),
        Some(Value::String(text)) => text,
        Some(value) if name.ends_with("_bytes") => match value.as_u64() {
            Some(bytes) => in_unit(bytes as f64, "bytes"),
            None => value.to_string(),
        },
        Some(value) => value.to_string(),
    }
}

pub(super) struct Extreme<'a> {
    pub what: String,
    pub ratio: &'a Ratio,
}

/// Returns the [`EXTREMES`] measurements with the largest slowdowns, and those with the largest
/// speed-ups. Measurements are left out if the intervals of A and B overlap.
pub(super) fn extremes<'a>(groups: &[Group<'a>]) -> Vec<(&'static str, Vec<Extreme<'a>>)> {
    let of = |verdict: Verdict| {
        let mut found: Vec<Extreme<'a>> = groups
            .iter()
            .flat_map(|group| group.ratios.iter().map(move |ratio| (group, ratio)))
            .filter(|(_, ratio)| ratio.kind == RatioKind::Measurement && ratio.verdict == verdict)
            .map(|(group, ratio)| Extreme {
                what: group.name_of(ratio),
                ratio,
            })
            .collect();
        let distance = |extreme: &Extreme<'_>| extreme.ratio.value.ln().abs();
        found.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        found.truncate(EXTREMES);
        found
    };
    [
        (
            "Slowed down most, of those beyond both intervals",
            of(Verdict::Slower),
        ),
        (
            "Sped up most, of those beyond both intervals",
            of(Verdict::Faster),
        ),
    ]
    .into_iter()
    .filter(|(_, extremes)| !extremes.is_empty())
    .collect()
}

fn headline(comparison: &Comparison) -> Vec<String> {
    let Compared {
        runs_of_a,
        runs_of_b,
        ..
    } = &comparison.compared;
    let (machine_a, machine_b) = (&comparison.envelope.machine, &comparison.other.machine);
    let mut lines = vec![
        heading(comparison),
        format!("A: {}, {}", runs_of_a.join(", "), machine_a.name),
        format!("B: {}, {}", runs_of_b.join(", "), machine_b.name),
    ];
    lines.extend(summary(comparison));
    lines.extend(comparison.notes.iter().cloned());
    lines
}

/// Returns names for parts of computers if both machines are computers, else for parts of a Cell.
pub(super) fn words(comparison: &Comparison) -> Words<'_> {
    Words::of_both(&comparison.envelope.machine, &comparison.other.machine)
}

pub(super) fn heading(comparison: &Comparison) -> String {
    format!(
        "{} compared with {}",
        comparison.compared.b, comparison.compared.a
    )
}

/// Returns what the threshold says, in one line. `None` without a threshold.
pub(super) fn judged(comparison: &Comparison) -> Option<String> {
    let judgement = comparison.judgement?;
    // Binary fractions such as 7 % have no exact value.
    let percent = (1e8 * judgement.threshold).round() / 1e6;
    let of = count(judgement.judged, "time or rate");
    let of = of.replace("time or rates", "times and rates");
    let line = match (judgement.judged, judgement.slower) {
        (0, _) => "Not judged: no time and no rate has enough runs on both sides.".to_owned(),
        (_, 0) => format!("Not slower: none of {of} is slower by more than {percent} %."),
        (_, slower) => format!(
            "Slower: {slower} of {of} {} slower by more than {percent} %.",
            if slower == 1 { "is" } else { "are" }
        ),
    };
    Some(match (judgement.judged, judgement.too_few_runs) {
        (0, _) | (_, 0) => line,
        (_, few) => format!("{line} {few} more have too few runs, and are not judged."),
    })
}

pub(super) fn summary(comparison: &Comparison) -> Vec<String> {
    let summary = &comparison.summary;
    let mut lines: Vec<String> = judged(comparison).into_iter().collect();
    let (Some(median), Some(largest)) = (summary.median_deviation, summary.largest_deviation)
    else {
        return lines;
    };
    let percent = |share: f64| format!("{} %", plain(100.0 * share));
    lines.push(match summary.geometric_mean_ratio {
        Some(mean) => format!(
            "{} in both: B takes {} times as long, in the geometric mean.",
            count(summary.compared, "measurement"),
            plain(mean)
        ),
        None => format!("{} in both.", count(summary.compared, "result")),
    });
    lines.push(format!(
        "Half of the ratios are within {} of 1, all within {}.",
        percent(median),
        percent(largest)
    ));
    let has_runs = comparison.compared.has_several();
    if has_runs || summary.geometric_mean_ratio.is_some() {
        lines.push(format!(
            "B is slower beyond both intervals in {}, faster beyond both in {}; in {} they overlap, or one is \
             not known.",
            summary.slower, summary.faster, summary.undecided
        ));
    }
    if has_runs {
        lines.push(
            "The interval of several runs holds their values and their intervals.".to_owned(),
        );
    }
    let [a, b] = [
        comparison.compared.runs_of_a.len(),
        comparison.compared.runs_of_b.len(),
    ];
    if !comparison.is_exact() && !is_enough(a, b) {
        lines.push(format!(
            "{} and {} cannot tell a change from what varies from run to run. Measure at least three times on \
             each side.",
            count(a, "run"),
            count(b, "run")
        ));
    }
    lines.extend(comparison.noticeable().map(|[half, most]| {
        format!(
            "A slowdown of {} would have been noticed in half of the rows, one of {} in nine of ten.",
            percent(half - 1.0),
            percent(most - 1.0)
        )
    }));
    lines
}

/// Returns the lists of values without a ratio, with their titles. Empty lists are left out.
pub(super) fn left_out(comparison: &Comparison) -> impl Iterator<Item = (String, Vec<String>)> {
    let words = words(comparison);
    let only = |name: &str| format!("Only in {name}");
    [
        (only(&comparison.compared.a), &comparison.only_in_a[..]),
        (only(&comparison.compared.b), &comparison.only_in_b[..]),
        (
            "In both, with a value that is not above 0".to_owned(),
            &comparison.without_ratio[..],
        ),
    ]
    .into_iter()
    .filter(|(_, left_out)| !left_out.is_empty())
    .map(move |(title, left_out)| (title, left_out.iter().map(|what| words.say(what)).collect()))
}

pub(super) fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" => time(value),
        "bytes" => size(value as usize),
        "bytes/s" | "bytes_per_s" => bandwidth(value as u64),
        unit => format!("{} {unit}", plain(value)),
    }
}
