//! The table for people: a block for each function, at most 100 columns wide.

use cellworks_stats::Measurement;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::{Report, TITLE, between, buffers, size};

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

pub(crate) fn render(report: &Report) -> String {
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

/// Nanoseconds with three figures, in a unit that suits.
fn time(ns: f64) -> String {
    scaled(ns, &[(1e0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")])
}

/// Bytes per second; the units are powers of 1,000, as in the paper.
fn bandwidth(bytes_per_s: u64) -> String {
    scaled(
        bytes_per_s as f64,
        &[(1e0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")],
    )
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // 999.5 would be printed as 1000: it belongs to the next unit.
    let (factor, unit) = units
        .iter()
        .rev()
        .find(|(factor, _)| value >= factor * 0.9995)
        .unwrap_or(&units[0]);
    let value = value / factor;
    let decimals = match value {
        _ if value < 9.995 => 2,
        _ if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_figures_and_a_unit() {
        let times = [
            0.5,
            9.994,
            9.996,
            99.96,
            999.4,
            999.6,
            1_680_000.0,
            2.5e9,
            1.0e12,
        ];
        let expected = [
            "0.50 ns", "9.99 ns", "10.0 ns", "100 ns", "999 ns", "1.00 us", "1.68 ms", "2.50 s",
            "1000 s",
        ];
        assert_eq!(times.map(time), expected);
        assert_eq!(bandwidth(24_600_000_000), "24.6 GB/s");
        assert_eq!(bandwidth(0), "0.00 B/s");
        assert_eq!(
            [1, 128, 1_024, 1_040, 16_384, 64 << 20].map(size),
            ["1 B", "128 B", "1 KB", "1040 B", "16 KB", "64 MB"]
        );
    }
}
