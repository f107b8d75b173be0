//! Comparisons for people: as a table, as CSV, and as a page.

use std::collections::BTreeMap;
use std::iter::{once, repeat};

use cellworks_stats::figures::plain;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::Value;

use super::{Comparison, Kind, Ratio, Summary, Verdict, listed};
use crate::csv::quoted;
use crate::text::{TITLE, bandwidth, size, time};

const HEADER: &str = "kind,name,parameters,value_unit,a,b,ratio,ratio_low,ratio_high,verdict\n";

/// The columns after those of the parameters.
const COLUMNS: [&str; 5] = ["A", "B", "B/A", "interval", "B is"];

/// The comparison as a table, a block for each function, finding and matrix; titles carry ANSI styles.
pub fn table(comparison: &Comparison) -> String {
    let mut text = headline(comparison)
        .iter()
        .fold(String::new(), |text, line| text + line + "\n");
    for group in groups(comparison) {
        text += &format!(
            "\n{}{}{}{}\n",
            TITLE.render(),
            group.title,
            TITLE.render_reset(),
            if group.common.is_empty() {
                String::new()
            } else {
                format!(" ({})", group.common)
            }
        );
        let [headings, rows @ ..] = &group.lines()[..] else {
            continue;
        };
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(headings)
            .add_rows(rows);
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in table.to_string().lines() {
            text += line.trim_end();
            text.push('\n');
        }
    }
    for (title, left_out) in left_out(comparison) {
        text += &format!("\n{title}:\n");
        for what in left_out {
            text += &format!("  {what}\n");
        }
    }
    text
}

/// The comparison as CSV: a header, and a line for each ratio. `parameters` is a list of `name=value`
/// with semicolons between; a field that has a comma or a quote in it is quoted.
pub fn csv(comparison: &Comparison) -> String {
    comparison
        .results
        .iter()
        .map(|ratio| {
            let end = |end: Option<f64>| end.map(|end| end.to_string()).unwrap_or_default();
            let fields = [
                kind(ratio.kind).to_owned(),
                ratio.name.clone(),
                listed(&ratio.parameters, ";"),
                ratio.value_unit.clone(),
                ratio.a.to_string(),
                ratio.b.to_string(),
                ratio.value.to_string(),
                end(ratio.interval.map(|interval| interval.low)),
                end(ratio.interval.map(|interval| interval.high)),
                verdict(ratio.verdict).to_owned(),
            ];
            fields.map(|field| quoted(&field)).join(",") + "\n"
        })
        .fold(HEADER.to_owned(), |text, line| text + &line)
}

/// The comparison as an HTML page that needs no other file, no network and no script. A bar goes to the
/// right for each ratio above 1 and to the left for each below; its length is the logarithm, and ends at
/// a factor of 4.
pub fn html(comparison: &Comparison) -> String {
    let [first, others @ ..] = &headline(comparison)[..] else {
        unreachable!("a headline has lines");
    };
    let title = escaped(first);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    for line in others {
        page += &format!("<p>{}</p>\n", escaped(line));
    }
    for group in groups(comparison) {
        page += &format!("<h2>{}</h2>\n", escaped(&group.title));
        if !group.common.is_empty() {
            page += &format!("<p>{}</p>\n", escaped(&group.common));
        }
        let lines = group.lines();
        let bars = group.ratios.iter().map(bar);
        let last = once("1/4 to 4 times".to_owned()).chain(bars);
        page += "<table>\n";
        for ((line, last), cell) in lines.iter().zip(last).zip(once("th").chain(repeat("td"))) {
            page += "<tr>";
            for text in line {
                page += &format!("<{cell}>{}</{cell}>", escaped(text));
            }
            page += &format!("<{cell} class=\"scale\">{last}</{cell}></tr>\n");
        }
        page += "</table>\n";
    }
    for (title, left_out) in left_out(comparison) {
        page += &format!("<h2>{}</h2>\n<ul>\n", escaped(&title));
        for what in left_out {
            page += &format!("<li>{}</li>\n", escaped(what));
        }
        page += "</ul>\n";
    }
    page + "</body>\n</html>\n"
}

const STYLE: &str = "\
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }
table { border-collapse: collapse; }
th, td { padding: 0.15em 0.7em; text-align: right; white-space: nowrap; }
tr:nth-child(even) td { background: #f4f4f4; }
.scale { min-width: 14em; text-align: center; }
.bar { display: block; height: 0.8em; position: relative; border-left: 1px solid #666; margin-left: 50%; }
.bar span { display: block; height: 100%; position: absolute; background: #888; }
.faster span { background: #2a7f3f; }
.slower span { background: #b3402a; }
";

/// A bar that starts in the middle of its cell.
fn bar(ratio: &Ratio) -> String {
    let percent = ratio.value.log(4.0).clamp(-1.0, 1.0) * 100.0;
    let side = if percent < 0.0 { "right" } else { "left" };
    // To the left it starts at the left border of its box.
    let at = if percent < 0.0 { 100 } else { 0 };
    format!(
        "<span class=\"bar {}\"><span style=\"{side}:{at}%;width:{:.1}%\"></span></span>",
        verdict(ratio.verdict),
        percent.abs()
    )
}

/// The ratios of one function, finding or matrix.
struct Group<'a> {
    title: String,
    /// The parameters that are the same for all.
    common: String,
    /// The names of the others.
    varying: Vec<&'a str>,
    ratios: &'a [Ratio],
}

fn groups(comparison: &Comparison) -> impl Iterator<Item = Group<'_>> {
    comparison
        .results
        .chunk_by(|a, b| (a.kind, &a.name) == (b.kind, &b.name))
        .map(|ratios| {
            let first = &ratios[0];
            let everywhere = |name: &String, value: &Value| {
                ratios
                    .iter()
                    .all(|ratio| ratio.parameters.get(name) == Some(value))
            };
            let common: BTreeMap<String, Value> = first
                .parameters
                .iter()
                .filter(|(name, value)| everywhere(name, value))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            let mut varying: Vec<&str> = ratios
                .iter()
                .flat_map(|ratio| ratio.parameters.keys())
                .filter(|name| !common.contains_key(*name))
                .map(String::as_str)
                .collect();
            varying.sort_unstable();
            varying.dedup();
            Group {
                title: match first.kind {
                    Kind::Measurement | Kind::Finding => first.name.clone(),
                    Kind::Matrix => format!("matrix of {}", first.name),
                },
                common: listed(&common, ", "),
                varying,
                ratios,
            }
        })
}

impl Group<'_> {
    /// The headings, and the cells of each ratio, without columns that have nothing but a heading.
    fn lines(&self) -> Vec<Vec<String>> {
        let mut lines = vec![self.headings()];
        lines.extend(self.ratios.iter().map(|ratio| self.row(ratio)));
        let is_used: Vec<bool> = (0..lines[0].len())
            .map(|column| lines[1..].iter().any(|line| !line[column].is_empty()))
            .collect();
        for line in &mut lines {
            let mut is_used = is_used.iter();
            line.retain(|_| is_used.next() == Some(&true));
        }
        lines
    }

    fn headings(&self) -> Vec<String> {
        let short = |name: &&str| match *name {
            "list_elements" => "list".to_owned(),
            name => name.trim_end_matches("_bytes").replace('_', " "),
        };
        let columns = COLUMNS.into_iter().map(str::to_owned);
        self.varying.iter().map(short).chain(columns).collect()
    }

    fn row(&self, ratio: &Ratio) -> Vec<String> {
        let parameter = |name: &&str| match ratio.parameters.get(*name) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) if name.ends_with("_bytes") => match value.as_u64() {
                Some(bytes) => in_unit(bytes as f64, "bytes"),
                None => value.to_string(),
            },
            Some(value) => value.to_string(),
        };
        let interval = ratio
            .interval
            .map(|interval| format!("{} to {}", plain(interval.low), plain(interval.high)));
        let values = [
            in_unit(ratio.a, &ratio.value_unit),
            in_unit(ratio.b, &ratio.value_unit),
            plain(ratio.value),
            interval.unwrap_or_default(),
            match ratio.verdict {
                Verdict::Undecided => String::new(),
                decided => verdict(decided).to_owned(),
            },
        ];
        self.varying.iter().map(parameter).chain(values).collect()
    }
}

/// What is said before the ratios: who is compared with whom, the summary, and the notes.
fn headline(comparison: &Comparison) -> Vec<String> {
    let (a, b) = (&comparison.compared.a, &comparison.compared.b);
    let mut lines = vec![
        format!("{b} compared with {a}"),
        format!("A: {a}, {}", comparison.machine.name),
        format!("B: {b}, {}", comparison.other.machine.name),
    ];
    lines.extend(summary(&comparison.summary));
    lines.extend(comparison.notes.iter().cloned());
    lines
}

/// One line each, so that none is much longer than a terminal is wide.
fn summary(summary: &Summary) -> Vec<String> {
    let (Some(mean), Some(median), Some(largest)) = (
        summary.geometric_mean_ratio,
        summary.median_deviation,
        summary.largest_deviation,
    ) else {
        return Vec::new();
    };
    let percent = |share: f64| format!("{} %", plain(100.0 * share));
    let noun = if summary.compared == 1 {
        "measurement"
    } else {
        "measurements"
    };
    vec![
        format!(
            "{} {noun} in both: B takes {} times as long, in the geometric mean.",
            summary.compared,
            plain(mean)
        ),
        format!(
            "Half of the ratios are within {} of 1, all within {}.",
            percent(median),
            percent(largest)
        ),
        format!(
            "B is surely faster in {}, surely slower in {}, and undecided in {}.",
            summary.faster, summary.slower, summary.undecided
        ),
    ]
}

/// What has no ratio, under a title each; no title without something under it.
fn left_out(comparison: &Comparison) -> impl Iterator<Item = (String, &[String])> {
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
}

fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" => time(value),
        "bytes" => size(value as usize),
        "bytes/s" | "bytes_per_s" => bandwidth(value as u64),
        unit => format!("{} {unit}", plain(value)),
    }
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Measurement => "measurement",
        Kind::Finding => "finding",
        Kind::Matrix => "matrix",
    }
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Undecided => "undecided",
    }
}

/// Text that a browser shows as it is.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
