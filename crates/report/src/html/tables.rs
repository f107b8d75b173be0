//! Tables of measurements and findings.

use cellworks_stats::Measurement;
use maud::{Markup, html};

use crate::counters::{about, tables as rows_of};
use crate::text::{
    between, buffers, figures, finding_name, finding_parameters, finding_value, interval_percent,
    size, whole,
};
use crate::{Counters, Report};

/// A column: its heading with the unit of its numbers, and what a measurement has there.
type Column = (&'static str, fn(&Measurement) -> Option<String>);

/// In the order of the table. A column in which no measurement of a function has something is left
/// out.
const COLUMNS: [Column; 18] = [
    ("between", |m| {
        Some(between(m.parameters.between).to_owned())
    }),
    ("SPEs", |m| Some(m.parameters.spes.to_string())),
    ("Cell", |m| Some(m.parameters.cell.to_string())),
    ("module", |m| text(m.parameters.module)),
    ("buffers", |m| {
        m.parameters.buffers.map(|b| buffers(b).to_owned())
    }),
    ("list elements", |m| text(m.parameters.list_elements)),
    ("block", |m| m.parameters.block_bytes.map(size)),
    ("chains", |m| text(m.parameters.chains)),
    ("loading SPEs", |m| text(m.parameters.loading_spes)),
    ("mean (ns)", |m| Some(figures(m.latency_ns.mean))),
    ("min (ns)", |m| Some(figures(m.latency_ns.min))),
    ("median (ns)", |m| Some(figures(m.latency_ns.p50))),
    ("± (%)", interval_percent),
    ("99 % (ns)", |m| Some(figures(m.latency_ns.p99))),
    ("max (ns)", |m| Some(figures(m.latency_ns.max))),
    ("bandwidth (GB/s)", |m| {
        m.bandwidth_bytes_per_s
            .map(|bytes| figures(bytes as f64 / 1e9))
    }),
    ("samples", |m| Some(whole(m.samples))),
    ("outliers", |m| Some(whole(m.outliers))),
];

/// Tables with more rows are folded: their curves show them at once.
const ROWS_MAX: usize = 8;

/// The columns that text fills from the left.
const LEFT: [&str; 2] = ["between", "buffers"];

fn text(number: Option<impl ToString>) -> Option<String> {
    number.map(|number| number.to_string())
}

/// A table for each function; `None` if nothing was measured.
pub(super) fn measurements(report: &Report) -> Option<Markup> {
    if report.measurements.is_empty() {
        return None;
    }
    let groups = report
        .measurements
        .chunk_by(|a, b| a.function == b.function);
    Some(html! {
        p.note {
            "Times are those of one operation. ± is half the width of the interval of the median: it \
             holds the median of each visit, and 95 % of those to come if rounds were independent \
             of each other."
        }
        @for group in groups {
            h3 { code { (group[0].function) } " " span.what { (group[0].function.operation()) } }
            @if group.len() > ROWS_MAX {
                details {
                    summary { (group.len()) " measurements" }
                    (grouped(group))
                }
            } @else {
                (grouped(group))
            }
        }
    })
}

fn grouped(group: &[Measurement]) -> Markup {
    let shown: Vec<Column> = COLUMNS
        .into_iter()
        .filter(|(_, value)| group.iter().any(|m| value(m).is_some()))
        .collect();
    let left = |heading| LEFT.contains(heading).then_some("left");
    html! {
        div.wide {
            table {
                thead {
                    tr {
                        @for (heading, _) in &shown {
                            th class=[left(heading)] scope="col" { (heading) }
                        }
                    }
                }
                tbody {
                    @for measurement in group {
                        tr { @for (heading, value) in &shown {
                            td class=[left(heading)] { (value(measurement).unwrap_or_default()) }
                        } }
                    }
                }
            }
        }
    }
}

/// What the parts of a simulated machine did.
pub(crate) fn counters(counters: &Counters) -> Markup {
    html! {
        p.note { (about(counters)) "; times are shares of it." }
        @for rows in rows_of(counters) {
            div.wide {
                table {
                    thead {
                        tr { @for (at, heading) in rows[0].iter().enumerate() {
                            th class=[(at == 0).then_some("left")] scope="col" { (heading) }
                        } }
                    }
                    tbody {
                        @for row in &rows[1..] {
                            tr { @for (at, value) in row.iter().enumerate() {
                                td class=[(at == 0).then_some("left")] { (value) }
                            } }
                        }
                    }
                }
            }
        }
    }
}

/// What follows from the measurements; `None` if nothing does.
pub(super) fn findings(report: &Report) -> Option<Markup> {
    if report.results.is_empty() {
        return None;
    }
    Some(html! {
        div.wide {
            table {
                thead { tr { th.left { "result" } th { "value" } th.left { "circumstances" } } }
                tbody {
                    @for finding in &report.results {
                        tr {
                            td.left { (finding_name(finding)) }
                            td { (finding_value(finding)) }
                            td.left { (finding_parameters(finding)) }
                        }
                    }
                }
            }
        }
    })
}
