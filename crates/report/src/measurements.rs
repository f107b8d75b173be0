//! The columns of measurements, for the table and the page.

use cellworks_stats::figures::{bandwidth, size, time};
use cellworks_stats::{Measurement, Setting};

use crate::columns::Table;
use crate::text::{added_ns, buffers, doubts_of, ends, figures, interval_percent, pages, whole};

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
    (["between"; 2], Same(|m| Some(ends(m).to_owned()))),
    (["SPEs"; 2], Same(|m| Some(m.parameters.spes.to_string()))),
    (["Cell"; 2], Same(|m| Some(m.parameters.cell.to_string()))),
    (["module"; 2], Same(|m| text(m.parameters.module))),
    (
        ["buffers"; 2],
        Same(|m| text(m.parameters.buffers.map(buffers))),
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

/// A column of a table: its heading, and a function that returns the text of a measurement.
pub(crate) type Column = (&'static str, Box<dyn Fn(&Measurement) -> Option<String>>);

/// Returns the columns for measurements of one function, without those that have no text.
pub(crate) fn columns_of(group: &[Measurement], reader: Reader) -> Vec<Column> {
    let at = reader as usize;
    let fixed = |(headings, cell): FixedColumn| -> Column {
        let heading = headings[at];
        match cell {
            Same(text) => (heading, Box::new(text)),
            Nanoseconds(ns) => (heading, Box::new(move |m| ns(m).map([time, figures][at]))),
            Each(texts) => (heading, Box::new(texts[at])),
        }
    };
    let settings = Setting::shown().map(|(setting, shown)| -> Column {
        let heading = [shown.heading, shown.long_heading][at];
        (
            heading,
            Box::new(|m| text((setting.get)(&m.parameters.settings))),
        )
    });
    let all = BEFORE_SETTINGS.into_iter().map(fixed).chain(settings);
    all.chain(AFTER_SETTINGS.into_iter().map(fixed))
        .filter(|(_, value)| group.iter().any(|m| value(m).is_some()))
        .collect()
}

pub(crate) fn table_of(group: &[Measurement], columns: &[Column]) -> Table {
    let headings = || columns.iter().map(|(heading, _)| *heading);
    let row = |m| {
        columns
            .iter()
            .map(move |(_, value)| value(m).unwrap_or_default())
    };
    let texts = headings()
        .enumerate()
        .filter(|(_, heading)| TEXTS.contains(heading));
    Table::new(headings(), group.iter().map(row), texts.map(|(at, _)| at))
}
