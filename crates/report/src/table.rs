//! The table for people: a block for each function, at most 100 columns wide.

use cellworks_stats::Measurement;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::Report;
use crate::text::{TITLE, bandwidth, between, buffers, size, time};

/// A column: its heading, and what a measurement has there.
type Column = (&'static str, fn(&Measurement) -> Option<String>);

/// In the order of the table. A column in which no measurement of a function has something is left
/// out. The slowest sample is in JSON and CSV only: with it lines would pass 100 columns.
const COLUMNS: [Column; 12] = [
    ("between", |m| {
        Some(between(m.parameters.between).to_owned())
    }),
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
            .list_elements
            .map(|elements| elements.to_string())
    }),
    ("block", |m| m.parameters.block_bytes.map(size)),
    ("mean", |m| Some(time(m.latency_ns.mean))),
    ("min", |m| Some(time(m.latency_ns.min))),
    ("median", |m| Some(time(m.latency_ns.p50))),
    ("99 %", |m| Some(time(m.latency_ns.p99))),
    ("bandwidth", |m| m.bandwidth_bytes_per_s.map(bandwidth)),
];

/// The columns that text fills from the left.
const LEFT: [&str; 2] = ["between", "buffers"];

/// The report as a table; titles carry ANSI styles.
pub fn render(report: &Report) -> String {
    let machine = &report.machine;
    let count = |number: usize, noun: &str| {
        format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
    };
    let mut text = format!(
        "{}{}{}: {}, {}, {}\n",
        TITLE.render(),
        machine.name,
        TITLE.render_reset(),
        count(machine.spes, "SPE"),
        count(machine.cells.len(), "Cell"),
        count(machine.memory_modules, "memory module"),
    );
    for group in report
        .measurements
        .chunk_by(|a, b| a.function == b.function)
    {
        let function = group[0].function;
        text += &format!(
            "\n{}{function}{}: {}\n",
            TITLE.render(),
            TITLE.render_reset(),
            function.operation()
        );
        for line in grouped(group).lines() {
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}

fn grouped(group: &[Measurement]) -> String {
    let shown: Vec<Column> = COLUMNS
        .into_iter()
        .filter(|(_, value)| group.iter().any(|m| value(m).is_some()))
        .collect();
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(shown.iter().map(|(heading, _)| *heading));
    for measurement in group {
        table.add_row(
            shown
                .iter()
                .map(|(_, value)| value(measurement).unwrap_or_default()),
        );
    }
    for (column, (heading, _)) in table.column_iter_mut().zip(&shown) {
        column.set_padding((0, 2));
        if !LEFT.contains(heading) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}
