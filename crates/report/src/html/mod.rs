//! HTML: one complete file that needs no network.
//!
//! ```text
//!   page ─┬─ notices, advice, results
//!         ├─ curves         `sweeps` chooses the lines of each chart, `chart` draws them as SVG
//!         ├─ heat maps      `matrix`: a table for up to 16 SPEs, a canvas for more SPEs
//!         ├─ measurements   `tables`: a table for each function
//!         └─ circumstances  facts about the machine and the run
//! ```
//!
//! Charts are complete without the script of the page. The script paints each canvas, and shows a
//! text about the point under the pointer. The page has light and dark colours, and can be printed.

// Rejected: pages drawn with plotly or charming. plotly 0.14 adds 6.8 MB of scripts to every page,
// and charming 0.6 loads its script from the network. The script of these pages has 3 KB.

pub(crate) mod chart;
mod matrix;
mod page;
mod sweeps;
mod tables;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use maud::{Markup, html};

use crate::envelope::{Conditions, Envelope, Environment, NotMeasured};
use crate::machine_info::{CellInfo, MachineInfo};
use crate::memory_matrix;
use crate::report::Report;
use crate::text::{self, doubts, figures, parts_of, time};
use crate::words::Words;

pub(crate) use page::{Page, Part, notice};
pub(crate) use sweeps::short;
pub(crate) use tables::counters;

/// Returns the report as an HTML page that loads no other file.
///
/// The page has about 150 KB, plus 5 bytes for each pair of a matrix of more than 16 SPEs.
pub fn render(report: &Report) -> String {
    let machine = &report.envelope.machine;
    let words = Words::of(machine);
    let curves = sweeps::of(report);
    let parts = vec![
        Part::new("advice", "Advice", advice(report)),
        Part::new("results", "Results", tables::findings(report)),
        Part::new("curves", "Curves", sweeps::figures(&curves)),
        Part::new("matrices", "Heat maps", matrix::figures(report)),
        Part::new("memory", "Memory", memory_matrix::figure(report)),
        Part::new("measurements", "Measurements", tables::measurements(report)),
        Part::new("states", "Two states", two_states(report)),
        Part::new("counters", "Counters", counters(report.counters.as_ref())),
        not_measured(&report.not_measured),
    ];
    let about = html! {
        (words.say(&parts_of(machine)))
        @if let Some(end) = finished(&report.envelope.environment) { " · " span.end { (end) } }
        (about(machine))
    };
    page_of(&report.envelope, &machine.name, about, parts)
}

/// Returns the page of a run. Its notices come before `parts`, and its circumstances after them.
pub(crate) fn page_of(
    envelope: &Envelope,
    heading: &str,
    about: Markup,
    mut parts: Vec<Part>,
) -> String {
    parts.push(circumstances(envelope));
    Page {
        command: &envelope.command,
        heading,
        about,
        notices: notices(envelope),
        words: Words::of(&envelope.machine),
        parts,
    }
    .render()
}

pub(crate) fn about(machine: &MachineInfo) -> Markup {
    html! {
        br; (Words::of(machine).in_a_line())
        @if let Some(seats) = text::seats(machine) { br; (seats) }
    }
}

fn notices(envelope: &Envelope) -> Markup {
    html! {
        @for (heading, reasons) in doubts(envelope) { (notice("doubt", heading, &reasons)) }
        (notice("warning", "Warnings", &envelope.environment.warnings))
    }
}

fn advice(report: &Report) -> Markup {
    let texts = text::advice(&report.advice);
    let texts: Vec<_> = report.advice.iter().zip(texts).collect();
    html! {
        @if text::is_all_doubtful(&report.advice) { p.note { "Note: " (text::ALL_DOUBTFUL) "." } }
        @if !texts.is_empty() {
            dl.advice {
                @for about in texts.chunk_by(|(a, _), (b, _)| a.topic == b.topic) {
                    div {
                        dt { (about[0].0.topic.replace('_', " ")) }
                        dd { @for (_, text) in about { p { (text) } } }
                    }
                }
            }
        }
    }
}

fn two_states(report: &Report) -> Markup {
    let states = text::two_states(&report.measurements);
    html! {
        @if !states.is_empty() {
            ul { @for measurement in states { li { (measurement) } } }
        }
    }
}

pub(crate) fn not_measured(missing: &[NotMeasured]) -> Part {
    let list = html! {
        @if !missing.is_empty() {
            ul {
                @for missing in missing {
                    li { b { (missing.what) } ": " (missing.why) }
                }
            }
        }
    };
    Part::new("not-measured", "Not measured", list)
}

/// Returns the time at which the run ended, to the minute, or `None` after the year 9999.
fn finished(environment: &Environment) -> Option<String> {
    let end = UNIX_EPOCH.checked_add(Duration::from_secs(environment.finished_unix_s))?;
    let mut text = String::new();
    write!(text, "{}", humantime::format_rfc3339_seconds(end)).ok()?;
    let (day, time) = text.split_once('T')?;
    Some(format!("{day} {} UTC", time.get(..5)?))
}

fn circumstances(envelope: &Envelope) -> Part {
    let machine = &envelope.machine;
    let content = html! {
        dl.facts {
            @for (what, value) in facts(machine, &envelope.environment) {
                dt { (what) } dd { (value) }
            }
        }
        @if !machine.cells.is_empty() {
            details {
                summary { "Where each SPE is" }
                ul {
                    @for (number, cell) in machine.cells.iter().enumerate() {
                        @for (module, spes) in by_module(machine, cell) {
                            li {
                                "Cell " (number) ", memory module " (module) ": "
                                @for (at, spe) in spes.iter().enumerate() {
                                    @if at > 0 { ", " }
                                    (text::spe(machine, *spe))
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    Part::new("circumstances", "Machine and circumstances", content)
}

/// Groups the SPEs of a Cell by their nearest memory module. Most Cells have only one module.
fn by_module(machine: &MachineInfo, cell: &CellInfo) -> BTreeMap<usize, Vec<usize>> {
    let mut by_module = BTreeMap::<_, Vec<usize>>::new();
    for &spe in &cell.spes {
        let module = machine.spe_memory_modules.get(spe).copied();
        let module = module.unwrap_or(cell.nearest_memory_module);
        by_module.entry(module).or_default().push(spe);
    }
    by_module
}

/// Returns facts about the machine, the program and the computer. Unknown facts are left out.
pub(crate) fn facts(
    machine: &MachineInfo,
    environment: &Environment,
) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Machine", format!("{} ({})", machine.name, machine.kind))];
    // For a matrix of costs only the number of places is known.
    if !machine.cells.is_empty() {
        facts.extend([
            ("SPEs", machine.spes.to_string()),
            ("Cells", machine.cells.len().to_string()),
            ("Memory modules", machine.memory_modules.to_string()),
        ]);
    }
    facts.extend([
        (
            "System",
            format!(
                "{} {}, {}",
                environment.operating_system,
                environment.kernel.as_deref().unwrap_or_default(),
                environment.architecture
            ),
        ),
        (
            "Measured by",
            format!(
                "cellworks {}, {} build",
                environment.cellworks_version, environment.build
            ),
        ),
    ]);
    let simulation = machine.simulation.as_ref().map(text::simulation);
    facts.extend(simulation.map(|how| ("Simulation", how)));
    facts.extend(finished(environment).map(|end| ("Measured until", end)));
    facts.extend(environment.host.iter().flat_map(conditions));
    facts
}

fn conditions(host: &Conditions) -> Vec<(&'static str, String)> {
    let share = |share: Option<f64>| share.map(|share| format!("{:.1} %", share * 100.0));
    let governors = (!host.governors.is_empty()).then(|| host.governors.join(", "));
    let left_out = text::left_out(host).join(", ");
    let rows = [
        ("Load before the run", host.load_average.map(figures)),
        ("CPUs used by others before", share(host.busy_before)),
        ("CPUs used by others during", share(host.busy_during)),
        ("CPUs taken by the hypervisor", share(host.stolen_during)),
        ("Frequency governors", governors),
        ("Quota", host.quota_cpus.map(text::quota)),
        ("Clock", host.clock_source.clone()),
        (
            "Highest clock rate",
            host.highest_clock_hz
                .map(|hz| format!("{} GHz", figures(hz as f64 / 1e9))),
        ),
        ("Smallest step of the clock", host.clock_step_ns.map(time)),
        ("Reading the clock", Some(time(host.clock_reading_ns))),
        ("Huge pages", host.transparent_huge_pages.clone()),
        (
            "Memory available",
            host.memory_available_bytes
                .map(|bytes| format!("{} GiB", figures(bytes as f64 / f64::from(1 << 30)))),
        ),
        ("Left out", (!left_out.is_empty()).then_some(left_out)),
    ];
    rows.into_iter()
        .filter_map(|(what, value)| Some((what, value?)))
        .collect()
}
