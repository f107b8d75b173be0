//! HTML: one file with everything in it, that opens from a disk without a network.
//!
//! ```text
//!   page ─┬─ doubts, warnings, advice, results
//!         ├─ curves ────── sweeps: which lines   ── chart: SVG of lines on two axes
//!         ├─ heat maps ─── matrix: a table up to 16 SPEs, above a canvas that the script paints
//!         ├─ measurements  tables: one for each function
//!         └─ circumstances
//! ```
//!
//! Curves are SVG and complete without the script, which shows what the pointer is over and paints
//! the large heat maps. They are drawn here because of what charting crates would add to every
//! report: plotly 0.14 adds its script of 4.7 MB and MathJax of 2.1 MB, which cannot be left out, and
//! charming 0.6 names the address of a script in the network. A report of a small machine has
//! 100 KB, takes its colours from the reader's preference for light or dark, and prints.

mod chart;
mod matrix;
mod sweeps;
mod tables;

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::text::{self, doubts, figures, parts_of, time};
use crate::{Conditions, Report};

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// The report as one HTML file that loads nothing.
///
/// Its size is about 100 KB, and 5 bytes more for each pair of a matrix of more than 16 SPEs.
pub fn render(report: &Report) -> String {
    let machine = &report.machine;
    let title = format!("{} – cellworks {}", machine.name, report.command);
    let curves = sweeps::of(report);
    let parts: [(&str, &str, Option<Markup>); 7] = [
        ("advice", "Advice", advice(report)),
        ("results", "Results", tables::findings(report)),
        ("curves", "Curves", sweeps::figures(&curves)),
        ("matrices", "Heat maps", matrix::figures(report)),
        ("measurements", "Measurements", tables::measurements(report)),
        ("not-measured", "Not measured", not_measured(report)),
        (
            "circumstances",
            "Machine and circumstances",
            Some(circumstances(report)),
        ),
    ];
    let parts = parts.map(|(id, heading, part)| part.map(|part| (id, heading, part)));
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.command { "cellworks " (report.command) }
                    h1 { (machine.name) }
                    p.parts {
                        (parts_of(machine))
                        @if let Some(end) = finished(report) { " · " span.end { (end) } }
                    }
                    nav aria-label="Parts of this report" {
                        @for (id, heading, _) in &parts { a href={ "#" (id) } { (heading) } }
                    }
                }
                main {
                    @for (heading, reasons) in doubts(report) {
                        aside.doubt role="alert" { h2 { (heading) } (points(&reasons)) }
                    }
                    @if !report.environment.warnings.is_empty() {
                        aside.warning { h2 { "Warnings" } (points(&report.environment.warnings)) }
                    }
                    @for (id, heading, part) in &parts {
                        section id=(id) { h2 { (heading) } (part) }
                    }
                }
                div #hover role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn points(sentences: &[String]) -> Markup {
    html! { ul { @for sentence in sentences { li { (sentence) } } } }
}

fn advice(report: &Report) -> Option<Markup> {
    (!report.advice.is_empty()).then(|| {
        html! {
            dl.advice {
                @for advice in &report.advice {
                    div { dt { (advice.topic.replace('_', " ")) } dd { (advice.text) } }
                }
            }
        }
    })
}

fn not_measured(report: &Report) -> Option<Markup> {
    (!report.not_measured.is_empty()).then(|| {
        html! {
            ul {
                @for missing in &report.not_measured {
                    li { b { (missing.what) } ": " (missing.why) }
                }
            }
        }
    })
}

/// When the run ended, to the minute; `None` if no calendar has that number of seconds.
fn finished(report: &Report) -> Option<String> {
    let seconds = i64::try_from(report.environment.finished_unix_s).ok()?;
    let end = Timestamp::from_second(seconds).ok()?;
    Some(format!("{} UTC", end.strftime("%Y-%m-%d %H:%M")))
}

fn circumstances(report: &Report) -> Markup {
    let environment = &report.environment;
    let machine = &report.machine;
    let mut rows = vec![
        ("Machine", format!("{} ({})", machine.name, machine.kind)),
        ("SPEs", machine.spes.to_string()),
        ("Cells", machine.cells.len().to_string()),
        ("Memory modules", machine.memory_modules.to_string()),
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
    ];
    rows.extend(environment.host.iter().flat_map(conditions));
    html! {
        dl.facts { @for (what, value) in &rows { dt { (what) } dd { (value) } } }
        details {
            summary { "Where each SPE is" }
            ul {
                @for (number, cell) in machine.cells.iter().enumerate() {
                    li {
                        "Cell " (number) ", memory module " (cell.nearest_memory_module) ": "
                        @for (at, spe) in cell.spes.iter().enumerate() {
                            @if at > 0 { ", " }
                            (text::spe(machine, *spe))
                        }
                    }
                }
            }
        }
    }
}

/// The state of the computer; what could not be read is left out.
fn conditions(host: &Conditions) -> Vec<(&'static str, String)> {
    let share = |share: Option<f64>| share.map(|share| format!("{:.1} %", share * 100.0));
    let governors = (!host.governors.is_empty()).then(|| host.governors.join(", "));
    let rows = [
        ("Load before the run", host.load_average.map(figures)),
        ("CPUs used by others before", share(host.busy_before)),
        ("CPUs used by others during", share(host.busy_during)),
        ("CPUs taken by the hypervisor", share(host.stolen_during)),
        ("Frequency governors", governors),
        (
            "Quota",
            host.quota_cpus
                .map(|cpus| format!("{} CPUs", figures(cpus))),
        ),
        ("Clock", host.clock_source.clone()),
        (
            "Highest clock rate",
            host.highest_clock_hz
                .map(|hz| format!("{} GHz", figures(hz as f64 / 1e9))),
        ),
        ("Smallest step of the clock", host.clock_step_ns.map(time)),
        ("Reading the clock", Some(time(host.clock_reading_ns))),
    ];
    let left_out = text::left_out(host).into_iter();
    rows.into_iter()
        .filter_map(|(what, value)| Some((what, value?)))
        .chain(left_out.map(|cpus| ("Left out", cpus)))
        .collect()
}
