//! The table for people at a terminal: advice and results first, then a table for each function.

use cellworks_stats::Measurement;

use crate::columns::Table;
use crate::envelope::{Conditions, Envelope, NotMeasured};
use crate::machine_info::MachineInfo;
use crate::measurements::{OUTLIERS, Reader, table_of};
use crate::report::Report;
use crate::text::{
    self, bold, figures, finding_name, finding_parameters, in_unit, parts_of, whole,
};
use crate::words::Words;
use crate::{counters, heat_map, memory_matrix};

/// The columns that are left out until the table of a function fits, beginning with the first.
const SPARE: [&str; 5] = [OUTLIERS, "min", "mean", "99 %", "± %"];

/// If the table of a function is too wide and all rows have the same value in one of these columns,
/// a line above the table shows the value instead.
const COMMON: [&str; 4] = ["between", "Cell", "module", "buffers"];

const OF_NUMBERS: &str = "Times of one operation: half of the samples took less than the median, and 1 % more \
     than what stands at 99 %. ± is half the width of the interval in which the median of another run is \
     expected, in percent; an outlier is farther from both quartiles than three times their distance.";

const OF_DOUBTS: &str = "The doubt is disturbed if other programs used the CPUs meanwhile, unsteady if the times are \
     between CPUs and the computer was not in its main state, and uncertain if ± is more than 10 % or not known.";

/// The largest number of listed measurements that are missing for the same reason.
const NAMED: usize = 10;

/// Returns the report as a table with lines of at most `width` characters. Lines are longer if a
/// table is still too wide after columns were left out. Titles and heat maps contain ANSI styles.
pub fn render(report: &Report, width: usize) -> String {
    let machine = &report.envelope.machine;
    let words = Words::of(machine);
    let mut text = head(machine, width);
    if let Some(host) = &report.envelope.environment.host {
        text += &surroundings(host, width);
    }
    text += &cautions(&report.envelope, width);
    text += &section("Trustworthy", text::trusted(report), words, width);
    text += &section(
        "Still trustworthy",
        text::still_trusted(report),
        words,
        width,
    );
    let heading = if text::is_all_doubtful(&report.advice) {
        format!("Advice ({})", text::ALL_DOUBTFUL)
    } else {
        "Advice".to_owned()
    };
    text += &section(&heading, text::advice(&report.advice), words, width);
    let results = report.results.iter().map(|finding| {
        let line = format!(
            "{}: {}",
            finding_name(finding),
            in_unit(finding.value, &finding.unit)
        );
        let line = match finding_parameters(finding) {
            parameters if parameters.is_empty() => line,
            parameters => format!("{line} ({parameters})"),
        };
        if finding.doubtful {
            format!("{line} {}", text::DOUBTFUL)
        } else {
            line
        }
    });
    text += &section("Results", results, words, width);
    if !report.measurements.is_empty() {
        text += &format!("\n{}\n", bold("Measurements"));
        text += &text::wrapped(OF_NUMBERS, "", width);
        if report.measurements.iter().any(|m| !m.doubts.is_empty()) {
            text += &text::wrapped(OF_DOUBTS, "", width);
        }
    }
    for group in report
        .measurements
        .chunk_by(|a, b| a.function == b.function)
    {
        let function = group[0].function;
        let title = format!(
            "{}: {}",
            bold(function.name()),
            words.say(function.operation())
        );
        text.push('\n');
        text += &text::wrapped(&title, "  ", width);
        text += &grouped(group, words, width);
        for note in text::notes_of(group, machine) {
            text += &text::wrapped(&words.say(&note), "", width);
        }
    }
    for matrix in &report.matrices {
        text.push('\n');
        text += &heat_map::render(matrix, machine, width);
    }
    if let Some(matrix) = &report.memory_matrix {
        text.push('\n');
        text += &memory_matrix::table(matrix, machine, width);
    }
    if let Some(counters) = &report.counters {
        text += &counters::table(counters, width);
    }
    let two_states = text::two_states(&report.measurements);
    text += &section("Two states", two_states, words, width);
    let missing = not_measured(&report.not_measured);
    text += &section("Not measured", missing, words, width);
    text + &section("Next", next(report), words, width)
}

/// Returns commands that a user may want to run after everything was measured on a computer.
fn next(report: &Report) -> Vec<String> {
    let machine = &report.envelope.machine;
    if !machine.is_this_computer() || report.measurements.is_empty() || report.matrices.is_empty() {
        return Vec::new();
    }
    let mut next = vec![
        "the CPUs for threads that talk to each other, here two: `cellworks stats --matrix atomic --full --json \
         matrix.json`, and then `cellworks map solve --pattern pairs --tasks 2 --costs matrix.json`"
            .to_owned(),
    ];
    if machine.memory_modules > 1 && report.memory_matrix.is_none() {
        next.push(
            "latency and bandwidth from each NUMA node to each other: `cellworks stats --matrix memory`"
                .to_owned(),
        );
    }
    next
}

pub(crate) fn head(machine: &MachineInfo, width: usize) -> String {
    let words = Words::of(machine);
    let title = format!("{}: {}", bold(&machine.name), words.say(&parts_of(machine)));
    let mut text = text::wrapped(&title, "  ", width);
    text += &text::wrapped(&format!("  {}", words.in_a_line()), "  ", width);
    if let Some(seats) = text::seats(machine) {
        text += &text::wrapped(&format!("  {seats}"), "  ", width);
    }
    if let Some(simulation) = &machine.simulation {
        text += &text::wrapped(&format!("  {}", text::simulation(simulation)), "  ", width);
    }
    text
}

/// Returns the missing measurements with reasons, but at most [`NAMED`] for each reason.
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

/// Returns the state of the computer, and the unused CPUs. Unknown values are left out.
fn surroundings(host: &Conditions, width: usize) -> String {
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
        text += &text::wrapped(&format!("  {}", known.join(", ")), "  ", width);
    }
    let left_out = text::left_out(host);
    if !left_out.is_empty() {
        text += &text::wrapped(&format!("  left out: {}", left_out.join(", ")), "  ", width);
    }
    text
}

pub(crate) fn cautions(envelope: &Envelope, width: usize) -> String {
    let words = Words::of(&envelope.machine);
    let warnings = ("Warnings", envelope.environment.warnings.clone());
    let all = text::doubts(envelope).into_iter().chain([warnings]);
    all.fold(String::new(), |text, (heading, sentences)| {
        text + &section(heading, sentences, words, width)
    })
}

/// Returns a heading with a list of points in the words of the machine. Without points the text is
/// empty.
pub(crate) fn section(
    heading: &str,
    points: impl IntoIterator<Item = String>,
    words: Words<'_>,
    width: usize,
) -> String {
    let points: String = points
        .into_iter()
        .map(|point| text::wrapped(&format!("- {}", words.say(&point)), "  ", width))
        .collect();
    if points.is_empty() {
        return points;
    }
    format!("\n{}\n{points}", bold(heading))
}

/// Returns the table of one function, without the columns that do not fit into `width`.
fn grouped(group: &[Measurement], words: Words<'_>, width: usize) -> String {
    let mut shown = table_of(group, Reader::Terminal);
    let lines_of = |shown: &Table| shown.clone().translated(words).text(None);
    let fits = |shown: &Table| {
        let lines = lines_of(shown);
        lines.lines().all(|line| line.chars().count() <= width)
    };
    let (mut above, mut below) = (String::new(), String::new());
    for next in SPARE {
        if fits(&shown) {
            break;
        }
        let before = shown.headings.len();
        shown.retain_columns(|heading, _| heading != next);
        if next == OUTLIERS && shown.headings.len() < before {
            let outliers: usize = group.iter().map(|m| m.outliers).sum();
            let samples: usize = group.iter().map(|m| m.samples).sum();
            below = format!(
                "outliers: {} of {} samples\n",
                whole(outliers),
                whole(samples)
            );
            if !fits(&shown) {
                above = common(&mut shown, words);
            }
        }
    }
    above + &lines_of(&shown) + &below
}

/// Removes columns of [`COMMON`] with equal values in all rows, and returns a line of the values.
fn common(shown: &mut Table, words: Words<'_>) -> String {
    let mut equal = Vec::new();
    shown.retain_columns(|heading, cells| {
        let is_common = COMMON.contains(&heading) && cells.iter().all(|cell| *cell == cells[0]);
        if is_common {
            equal.push(format!("{heading} {}", cells[0]));
        }
        !is_common
    });
    if equal.is_empty() {
        String::new()
    } else {
        format!("all: {}\n", words.say(&equal.join(", ")))
    }
}
