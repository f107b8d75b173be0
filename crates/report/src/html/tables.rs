//! Tables of measurements and findings.

use cellworks_stats::Measurement;
use maud::{Markup, html};

use crate::counters::{about, busiest, free_parts, sentences, tables as rows_of};
use crate::text::{
    DOUBTFUL, FixedColumn, added_ns, buffers, columns_of, doubts_of, ends, figures, finding_name,
    finding_parameters, finding_value, interval_percent, notes_of, pages, size, whole,
};
use crate::{Counters, Report};

/// The columns before the columns of the settings. A column without values is left out.
const BEFORE_SETTINGS: [FixedColumn; 8] = [
    ("between", |m| Some(ends(m).to_owned())),
    ("SPEs", |m| Some(m.parameters.spes.to_string())),
    ("Cell", |m| Some(m.parameters.cell.to_string())),
    ("module", |m| text(m.parameters.module)),
    ("buffers", |m| {
        m.parameters.buffers.map(|b| buffers(b).to_owned())
    }),
    ("list elements", |m| {
        text(m.parameters.settings.list_elements)
    }),
    ("block", |m| m.parameters.settings.block_bytes.map(size)),
    ("pages", |m| m.huge_page_share.map(pages)),
];

const AFTER_SETTINGS: [FixedColumn; 12] = [
    ("mean (ns)", |m| Some(figures(m.latency_ns.mean))),
    ("min (ns)", |m| Some(figures(m.latency_ns.min))),
    ("median (ns)", |m| Some(figures(m.latency_ns.p50))),
    ("bare (ns)", |m| m.bare_ns.map(figures)),
    ("adds (ns)", |m| added_ns(m).map(figures)),
    ("± (%)", interval_percent),
    ("99 % (ns)", |m| Some(figures(m.latency_ns.p99))),
    ("max (ns)", |m| Some(figures(m.latency_ns.max))),
    ("bandwidth (GB/s)", |m| {
        m.bandwidth_bytes_per_s
            .map(|bytes| figures(bytes as f64 / 1e9))
    }),
    ("samples", |m| Some(whole(m.samples))),
    ("outliers", |m| Some(whole(m.outliers))),
    ("doubt", |m| doubts_of(&m.doubts, ", ")),
];

/// A table with more rows is folded, because the curves show the same numbers.
const ROWS_MAX: usize = 8;

const LEFT: [&str; 3] = ["between", "buffers", "doubt"];

fn text(number: Option<impl ToString>) -> Option<String> {
    number.map(|number| number.to_string())
}

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
             of each other. 1 % of the samples took more than what stands at 99 %; an outlier is farther \
             from both quartiles than three times their distance."
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
            @for note in notes_of(group, &report.envelope.machine) { p.note { (note) } }
        }
    })
}

fn grouped(group: &[Measurement]) -> Markup {
    let shown = columns_of(
        group,
        &BEFORE_SETTINGS,
        |shown| shown.long_heading,
        &AFTER_SETTINGS,
    );
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

pub(crate) fn counters(counters: &Counters) -> Markup {
    html! {
        p.note { (about(counters)) "; times are shares of it." }
        @for rows in rows_of(counters) { (of_rows(&rows, |at| at == 0)) }
        @if let Some(busiest) = busiest(counters) { p.note { "Busiest: " (busiest) "." } }
        @if let Some(rows) = free_parts(counters) {
            h3 { "Bottleneck" }
            @for sentence in sentences(counters) { p { (sentence) } }
            (of_rows(&rows, |at| at == 0 || at == 3))
        }
    }
}

fn of_rows(rows: &[Vec<String>], is_text: impl Fn(usize) -> bool) -> Markup {
    html! {
        div.wide {
            table {
                thead {
                    tr { @for (at, heading) in rows[0].iter().enumerate() {
                        th class=[is_text(at).then_some("left")] scope="col" { (heading) }
                    } }
                }
                tbody {
                    @for row in &rows[1..] {
                        tr { @for (at, value) in row.iter().enumerate() {
                            td class=[is_text(at).then_some("left")] { (value) }
                        } }
                    }
                }
            }
        }
    }
}

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
                            td.left {
                                (finding_parameters(finding))
                                @if finding.doubtful { " " (DOUBTFUL) }
                            }
                        }
                    }
                }
            }
        }
    })
}
