//! The columns of measurements, for the table and the page.

use cellworks_stats::figures::{bandwidth, size, time};
use cellworks_stats::{Measurement, Setting};

use crate::columns::Table;
use crate::text::{
    added_ns, doubts_of, ends, figures, interval_percent, name_in_json, pages, whole,
};

/// Who reads a table. Columns of a terminal are narrow, so each time has its unit. On a page the
/// unit is in the heading.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reader {
    Terminal,
    Page,
}

/// The text of a measurement in a column. A column without texts is left out.
enum Cell {
    Same(fn(&Measurement) -> Option<String>),
    Nanoseconds(fn(&Measurement) -> Option<f64>),
    /// The text at a terminal, and on a page.
    Each([fn(&Measurement) -> Option<String>; 2]),
}

use Cell::{Each, Nanoseconds, Same};

/// The headings of a column at a terminal and on a page, and its texts.
type FixedColumn = ([&'static str; 2], Cell);

/// The columns before the columns of the settings.
const BEFORE_SETTINGS: [FixedColumn; 8] = [
    (["between"; 2], Same(|m| Some(ends(m)))),
    (["SPEs"; 2], Same(|m| Some(m.parameters.spes.to_string()))),
    (["Cell"; 2], Same(|m| Some(m.parameters.cell.to_string()))),
    (["module"; 2], Same(|m| text(m.parameters.module))),
    (
        ["buffers"; 2],
        Same(|m| m.parameters.buffers.map(name_in_json)),
    ),
    (
        ["list", "list elements"],
        Same(|m| text(m.parameters.settings.list_elements)),
    ),
    (
        ["block"; 2],
        Same(|m| m.parameters.settings.block_bytes.map(size)),
    ),
    (["pages"; 2], Same(|m| m.huge_page_share.map(pages))),
];

/// The time of the slowest sample has no column at a terminal, because lines would be longer than
/// 100 characters.
const AFTER_SETTINGS: [FixedColumn; 13] = [
    (
        ["mean", "mean (ns)"],
        Nanoseconds(|m| Some(m.latency_ns.mean)),
    ),
    (["min", "min (ns)"], Nanoseconds(|m| Some(m.latency_ns.min))),
    (
        ["median", "median (ns)"],
        Nanoseconds(|m| Some(m.latency_ns.p50)),
    ),
    (["bare", "bare (ns)"], Nanoseconds(|m| m.bare_ns)),
    (["adds", "adds (ns)"], Nanoseconds(added_ns)),
    (["± %", "± (%)"], Same(interval_percent)),
    (
        ["99 %", "99 % (ns)"],
        Nanoseconds(|m| Some(m.latency_ns.p99)),
    ),
    (
        ["max", "max (ns)"],
        Each([|_| None, |m| Some(figures(m.latency_ns.max))]),
    ),
    (
        [OUTLIERS; 2],
        Each([
            |m| (m.outliers > 0).then(|| m.outliers.to_string()),
            |_| None,
        ]),
    ),
    (
        ["bandwidth", "bandwidth (GB/s)"],
        Each([
            |m| m.bandwidth_bytes_per_s.map(bandwidth),
            |m| {
                m.bandwidth_bytes_per_s
                    .map(|bytes| figures(bytes as f64 / 1e9))
            },
        ]),
    ),
    (["samples"; 2], Each([|_| None, |m| Some(whole(m.samples))])),
    ([OUTLIERS; 2], Each([|_| None, |m| Some(whole(m.outliers))])),
    (["doubt"; 2], Same(|m| doubts_of(&m.doubts, ", "))),
];

/// The heading of the column with the numbers of outliers.
pub(crate) const OUTLIERS: &str = "outliers";

/// The columns with texts.
const TEXTS: [&str; 3] = ["between", "buffers", "doubt"];

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// Returns the measurements of one function as a table, without columns that have no text.
pub(crate) fn table_of(group: &[Measurement], reader: Reader) -> Table {
    let at = reader as usize;
    let fixed = |(headings, cell): FixedColumn| {
        let cell = |m: &Measurement| match cell {
            Same(text) => text(m),
            Nanoseconds(ns) => ns(m).map([time, figures][at]),
            Each(texts) => texts[at](m),
        };
        (headings[at], group.iter().map(cell).collect())
    };
    let settings = Setting::shown().map(|(setting, shown)| {
        let cell = |m: &Measurement| text((setting.get)(&m.parameters.settings));
        let headings = [shown.heading, shown.long_heading];
        (headings[at], group.iter().map(cell).collect())
    });
    let before = BEFORE_SETTINGS.into_iter().map(fixed);
    let after = AFTER_SETTINGS.into_iter().map(fixed);
    let columns = before.chain(settings).chain(after);
    let columns: Vec<(&str, Vec<Option<String>>)> = columns
        .filter(|(_, cells): &(_, Vec<_>)| cells.iter().any(Option::is_some))
        .collect();
    let texts = columns.iter().map(|(heading, _)| TEXTS.contains(heading));
    let row = |row: usize| {
        let cells = columns.iter().map(move |(_, cells)| cells[row].clone());
        cells.map(Option::unwrap_or_default)
    };
    Table::new(
        columns.iter().map(|(heading, _)| *heading),
        (0..group.len()).map(row),
        (0..)
            .zip(texts)
            .filter_map(|(at, is_text)| is_text.then_some(at)),
    )
}
