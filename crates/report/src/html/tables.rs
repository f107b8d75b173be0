//! Tables of measurements and findings.

use cellworks_stats::Finding;
use maud::{Markup, html};

use crate::columns::Table;
use crate::counters::Counters;
use crate::counters::{about, busiest, free_parts, sentences, tables};
use crate::measurements::{Reader, table_of};
use crate::report::Report;
use crate::text::{DOUBTFUL, finding_name, finding_parameters, in_unit, notes_of};

/// A table with more rows is folded, because the curves show the same numbers.
const ROWS_MAX: usize = 8;

pub(super) fn measurements(report: &Report) -> Markup {
    if report.measurements.is_empty() {
        return html! {};
    }
    let groups = report
        .measurements
        .chunk_by(|a, b| a.function == b.function);
    html! {
        p.note {
            "Times are those of one operation. ± is half the width of the interval of the median: it \
             holds the median of each visit, and 95 % of those to come if rounds were independent \
             of each other. 1 % of the samples took more than what stands at 99 %; an outlier is farther \
             from both quartiles than three times their distance."
        }
        @for group in groups {
            h3 { code { (group[0].function) } " " span.what { (group[0].function.operation()) } }
            @let table = table_of(group, Reader::Page).page();
            @if group.len() > ROWS_MAX {
                details {
                    summary { (group.len()) " measurements" }
                    (table)
                }
            } @else {
                (table)
            }
            @for note in notes_of(group, &report.envelope.machine) { p.note { (note) } }
        }
    }
}

pub(crate) fn counters(counters: Option<&Counters>) -> Markup {
    html! {
        @if let Some(counters) = counters {
            p.note { (about(counters)) "; times are shares of it." }
            @for table in tables(counters) { (table.page()) }
            @if let Some(busiest) = busiest(counters) { p.note { "Busiest: " (busiest) "." } }
            @if let Some(table) = free_parts(counters) {
                h3 { "Bottleneck" }
                @for sentence in sentences(counters) { p { (sentence) } }
                (table.page())
            }
        }
    }
}

pub(super) fn findings(report: &Report) -> Markup {
    let row = |finding: &Finding| {
        let mut parameters = finding_parameters(finding);
        if finding.doubtful {
            parameters += &format!(" {DOUBTFUL}");
        }
        [
            finding_name(finding),
            in_unit(finding.value, &finding.unit),
            parameters,
        ]
    };
    let headings = ["result", "value", "circumstances"];
    let table = Table::new(headings, report.results.iter().map(row), [0, 2]);
    html! { @if !table.rows.is_empty() { (table.page()) } }
}
