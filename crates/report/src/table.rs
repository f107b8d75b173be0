//! The table for people: a block for each function, at most 100 columns wide.

use std::iter;

use cellworks_stats::Measurement;

use crate::columns::columns;
use crate::text::{
    self, Column, FixedColumn, WIDTH, added_ns, bandwidth, bold, buffers, columns_of, ends,
    figures, finding_name, finding_parameters, finding_value, interval_percent, parts_of, size,
    time, whole,
};
use crate::{Conditions, Envelope, NotMeasured, Report, counters, heat_map};

/// In the order of the table, before the columns of settings. A column in which no measurement of a
/// function has something is left out. The slowest sample is in JSON and CSV only: with it lines
/// would pass 100 columns.
const BEFORE_SETTINGS: [FixedColumn; 7] = [
    ("between", |m| Some(ends(m).to_owned())),
    ("SPEs", |m| Some(m.parameters.spes.to_string())),
    ("Cell", |m| Some(m.parameters.cell.to_string())),
    ("module", |m| {
        m.parameters.module.map(|module| module.to_string())
    }),
    ("buffers", |m| {
        m.parameters.buffers.map(|b| buffers(b).to_owned())
    }),
    ("list", |m| {
        m.parameters
            .settings
            .list_elements
            .map(|elements| elements.to_string())
    }),
    ("block", |m| m.parameters.settings.block_bytes.map(size)),
];

/// The columns after those of settings.
const AFTER_SETTINGS: [FixedColumn; 9] = [
    ("mean", |m| Some(time(m.latency_ns.mean))),
    ("min", |m| Some(time(m.latency_ns.min))),
    ("median", |m| Some(time(m.latency_ns.p50))),
    ("bare", |m| m.bare_ns.map(time)),
    ("adds", |m| added_ns(m).map(time)),
    ("± %", interval_percent),
    ("99 %", |m| Some(time(m.latency_ns.p99))),
    (OUTLIERS, |m| {
        (m.outliers > 0).then(|| m.outliers.to_string())
    }),
    ("bandwidth", |m| m.bandwidth_bytes_per_s.map(bandwidth)),
];

/// The columns that text fills from the left.
const LEFT: [&str; 2] = ["between", "buffers"];

/// What is left out of a group that would pass 100 columns, the first one first. JSON has it all.
const SPARE: [&str; 3] = [OUTLIERS, "min", "± %"];

/// So many lines say what was not measured for one reason.
const NAMED: usize = 10;

/// The heading of a column that becomes a line below where there is no room for it.
const OUTLIERS: &str = "outliers";

/// The report as a table; titles and heat maps carry ANSI styles.
pub fn render(report: &Report) -> String {
    let machine = &report.envelope.machine;
    let mut text = format!("{}: {}\n", bold(&machine.name), parts_of(machine));
    if let Some(simulation) = &machine.simulation {
        text += &text::wrapped(&text::simulation(simulation), "  ");
    }
    if let Some(host) = &report.envelope.environment.host {
        text += &surroundings(host);
    }
    text += &cautions(&report.envelope);
    for group in report
        .measurements
        .chunk_by(|a, b| a.function == b.function)
    {
        let function = group[0].function;
        text += &format!("\n{}: {}\n", bold(function.name()), function.operation());
        text += &grouped(group);
        for note in text::notes_of(group, machine) {
            text += &text::wrapped(&note, "");
        }
    }
    for matrix in &report.matrices {
        text.push('\n');
        text += &heat_map::render(matrix, machine);
    }
    let results = report.results.iter().map(|finding| {
        let line = format!("{}: {}", finding_name(finding), finding_value(finding));
        match finding_parameters(finding) {
            parameters if parameters.is_empty() => line,
            parameters => format!("{line} ({parameters})"),
        }
    });
    text += &section("Results", results);
    text += &section(
        "Advice",
        report.advice.iter().map(|advice| advice.text.clone()),
    );
    if let Some(counters) = &report.counters {
        text += &format!("\n{}: {}\n", bold("Counters"), counters::about(counters));
        text += &counters::tables(counters)
            .map(|table| columns(table, |at| at == 0))
            .join("\n");
    }
    text += &section("Two states", text::two_states(&report.measurements));
    text += &section("Not measured", not_measured(&report.not_measured));
    text
}

/// What was not measured, and why. Of many with one reason only the first ones are named; JSON has
/// them all.
pub(crate) fn not_measured(missing: &[NotMeasured]) -> Vec<String> {
    let reasons = missing.chunk_by(|a, b| a.why == b.why);
    let lines = reasons.flat_map(|same| {
        let named = if same.len() > NAMED {
            NAMED - 1
        } else {
            same.len()
        };
        let line = |one: &NotMeasured| format!("{}: {}", one.what, one.why);
        let others = same.len() - named;
        let rest = (others > 0).then(|| format!("{} more: {}", whole(others), same[0].why));
        same[..named].iter().map(line).chain(rest)
    });
    lines.collect()
}

/// What of the computer's state matters to every number, and which CPUs are not among the SPEs.
/// Nothing is said of what is not known.
fn surroundings(host: &Conditions) -> String {
    let governors = host.governors.join(" and ");
    let known = [
        (!governors.is_empty()).then(|| format!("governor {governors}")),
        host.highest_clock_hz
            .map(|hz| format!("at most {} GHz", figures(hz as f64 / 1e9))),
        host.quota_cpus
            .map(|cpus| format!("quota {}", text::quota(cpus))),
        host.clock_source
            .as_ref()
            .map(|source| format!("clock source {source}")),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    let mut text = String::new();
    if !known.is_empty() {
        text += &text::wrapped(&known.join(", "), "  ");
    }
    let left_out = text::left_out(host);
    if !left_out.is_empty() {
        text += &text::wrapped(&format!("left out: {}", left_out.join(", ")), "  ");
    }
    text
}

/// Why the numbers cannot be relied upon, and warnings; nothing if there are none.
pub(crate) fn cautions(envelope: &Envelope) -> String {
    let mut text = String::new();
    for (heading, sentences) in text::doubts(envelope) {
        text += &section(heading, sentences);
    }
    text + &section("Warnings", envelope.environment.warnings.clone())
}

/// A heading and its points, each wrapped; nothing if there are none.
pub(crate) fn section(heading: &str, points: impl IntoIterator<Item = String>) -> String {
    let points: String = points
        .into_iter()
        .map(|point| text::wrapped(&format!("- {point}"), "  "))
        .collect();
    if points.is_empty() {
        return points;
    }
    format!("\n{}\n{points}", bold(heading))
}

/// The measurements of one function, in lines of at most 100 columns as long as there is something
/// to spare.
fn grouped(group: &[Measurement]) -> String {
    let mut shown = columns_of(
        group,
        &BEFORE_SETTINGS,
        |shown| shown.heading,
        &AFTER_SETTINGS,
    );
    let mut below = String::new();
    for next in SPARE {
        if fits(&of_group(group, &shown)) {
            break;
        }
        let before = shown.len();
        shown.retain(|(heading, _)| *heading != next);
        if next == OUTLIERS && shown.len() < before {
            let outliers: usize = group.iter().map(|m| m.outliers).sum();
            let samples: usize = group.iter().map(|m| m.samples).sum();
            below = format!(
                "outliers: {} of {} samples\n",
                whole(outliers),
                whole(samples)
            );
        }
    }
    of_group(group, &shown) + &below
}

fn fits(text: &str) -> bool {
    text.lines().all(|line| line.chars().count() <= WIDTH)
}

fn of_group(group: &[Measurement], shown: &[Column]) -> String {
    let headings = shown.iter().map(|(heading, _)| (*heading).to_owned());
    let row = |measurement| {
        let values = shown.iter().map(|(_, value)| value(measurement));
        values.map(Option::unwrap_or_default).collect()
    };
    let rows = group.iter().map(row);
    let rows: Vec<Vec<String>> = iter::once(headings.collect()).chain(rows).collect();
    columns(rows, |at| LEFT.contains(&shown[at].0))
}
