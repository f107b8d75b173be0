//! The memory matrix for the terminal, the page and CSV. It has the latency and the bandwidth with
//! which an SPE of each NUMA node or Cell reads each memory module.
//!
//! ```text
//!  latency in ns    node 0  node 1        columns: memory modules
//!  node 0 (CPU 0)     98.4     142        a row: a NUMA node or Cell, and the SPE that reads
//!  node 1 (CPU 8)      141    97.9        a blank cell: there was no time to measure it
//! ```

use std::iter;

use cellworks_stats::{MemoryCell, MemoryMatrix, MemoryRow, Storage};
use maud::{Markup, html};

use crate::columns::Table;
use crate::machine_info::MachineInfo;
use crate::report::Report;
use crate::text::{self, bold, figures, size};
use crate::words::Words;

type Figure = fn(&MemoryCell) -> String;

/// The two quantities of a matrix cell. Each quantity has its own table.
const FIGURES: [(&str, Figure); 2] = [
    ("latency in ns", |cell| figures(cell.latency_ns)),
    ("GB/s", |cell| {
        figures(cell.bandwidth_bytes_per_s as f64 / 1e9)
    }),
];

const TITLE: &str = "From memory module to SPE: latency, and read bandwidth of one SPE";

/// Returns the matrix as two tables with notes. Tables that are wider than `width` are divided.
pub(crate) fn table(matrix: &MemoryMatrix, machine: &MachineInfo, width: usize) -> String {
    let words = Words::of(machine);
    let mut text = text::wrapped(&bold(&words.say(TITLE)), "  ", width);
    for note in notes(matrix, machine) {
        text += &text::wrapped(&words.say(&note), "", width);
    }
    let labels = matrix.rows.iter().map(|row| label(row, machine));
    let widest = labels.map(|label| label.chars().count()).max();
    let left = width.saturating_sub(widest.unwrap_or(0).max("latency in ns".len()));
    let widest = matrix.numbers().last().copied().unwrap_or(0);
    let column = words.say(&heading(widest.max(matrix.modules))).len() + 2;
    let fitting = (left / column).max(1);
    for table in tables(matrix, machine) {
        let table = table.translated(words);
        for first in (1..=matrix.modules).step_by(fitting) {
            let (mut part, mut at) = (table.clone(), 0..);
            part.retain_columns(|_, _| {
                let at = at.next();
                at == Some(0) || at.is_some_and(|at| (first..first + fitting).contains(&at))
            });
            text.push('\n');
            text += &part.text(None);
        }
    }
    text
}

pub(crate) fn figure(report: &Report) -> Markup {
    let machine = &report.envelope.machine;
    html! {
        @if let Some(matrix) = &report.memory_matrix {
            h3 { (TITLE) }
            @for note in notes(matrix, machine) { p.note { (note) } }
            @for table in tables(matrix, machine) { (table.page()) }
        }
    }
}

/// Returns a table for each quantity.
fn tables(matrix: &MemoryMatrix, machine: &MachineInfo) -> [Table; 2] {
    FIGURES.map(|(what, figure)| {
        let rows = matrix.rows.iter().zip(&matrix.cells).map(|(row, cells)| {
            let cells = cells.iter().map(Option::as_ref);
            let cells = cells.map(|cell| cell.map(figure).unwrap_or_default());
            iter::once(label(row, machine)).chain(cells)
        });
        let modules = matrix.numbers().into_iter().map(heading);
        let headings = iter::once(what.to_owned()).chain(modules);
        Table::new(headings, rows, [0]).with_names()
    })
}

fn heading(module: usize) -> String {
    format!("module {module}")
}

/// Returns the name of a row: a NUMA node of a computer, or a Cell of a simulated machine.
fn label(row: &MemoryRow, machine: &MachineInfo) -> String {
    let spe = text::spe_in_short(machine, row.spe);
    if machine.is_this_computer() {
        format!("module {} ({spe})", row.nearest_module)
    } else {
        format!("Cell {} ({spe})", row.cell)
    }
}

/// Returns sentences about the method of measurement, about memory modules without an SPE, and
/// about the memory in which the block is.
fn notes(matrix: &MemoryMatrix, machine: &MachineInfo) -> Vec<String> {
    let block = size(matrix.block_bytes);
    let mut notes = vec![if machine.is_this_computer() {
        format!(
            "One SPE at a time reads a block of {block}: its latency is that of loads at random, each of which \
             depends on the one before, its bandwidth that of getting all of the block."
        )
    } else {
        format!(
            "One SPE at a time reads a block of {block} by DMA: its latency is that of a get of 64 bytes at \
             random, each of which depends on the one before, its bandwidth that of getting all of the block."
        )
    }];
    if matrix.modules == 1 && matrix.rows.len() == 1 {
        notes.push(
            "There is one memory module, so this one cell is all: what reading its memory takes."
                .to_owned(),
        );
    }
    let has_row = |module: &usize| matrix.rows.iter().any(|row| row.nearest_module == *module);
    let without: Vec<u32> = matrix
        .numbers()
        .into_iter()
        .filter(|module| !has_row(module))
        .map(|module| module as u32)
        .collect();
    if !without.is_empty() {
        let (noun, rows) = match without.len() {
            1 => ("module", "it has a column and no row"),
            _ => ("modules", "they have columns and no rows"),
        };
        notes.push(format!(
            "Beside memory {noun} {} there is no SPE that was measured: {rows}.",
            text::ranges(without),
        ));
    }
    let advice = "give a larger one with -b";
    match matrix.lies_in {
        Some(Storage::Cache) => notes.push(format!(
            "The block fits into the last-level cache, so these are figures of the cache; {advice}."
        )),
        Some(Storage::Partly) => notes.push(format!(
            "The last-level cache may hold a part of the block, so these are not yet figures of memory; {advice}."
        )),
        Some(Storage::Memory) | None => {}
    }
    let cells = || matrix.cells.iter().flatten().flatten();
    let mut pages: Vec<String> = cells()
        .filter_map(|cell| Some(text::pages(cell.huge_page_share?)))
        .collect();
    pages.sort();
    pages.dedup();
    if !pages.is_empty() {
        notes.push(format!("Pages of the blocks: {}.", pages.join("; ")));
    }
    let is = |verified| move |cell: &MemoryCell| cell.verified == verified;
    if cells().any(is(Some(false))) {
        notes.push(
            "The machine has some of the blocks in another memory module than they should be in."
                .to_owned(),
        );
    } else if cells().any(is(None)) {
        notes.push("The machine cannot confirm in which memory modules the blocks lay.".to_owned());
    } else if cells().next().is_some() {
        notes.push("The machine confirmed that each block lay in its memory module.".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    fn shown(change: impl Fn(&mut MemoryMatrix), width: usize) -> String {
        let report = made_up::memory_matrix();
        let mut matrix = report.memory_matrix.unwrap();
        change(&mut matrix);
        let text = table(&matrix, &report.envelope.machine, width);
        text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "")
    }

    #[test]
    fn the_table_has_both_figures_of_each_cell_and_says_what_they_are_of() {
        assert_eq!(
            shown(|_| (), 100),
            "\
From NUMA node to CPU: latency, and read bandwidth of one CPU
One CPU at a time reads a block of 128 MB: its latency is that of loads at random, each of which
depends on the one before, its bandwidth that of getting all of the block.
Beside NUMA node 1 there is no CPU that was measured: it has a column and no row.
Pages of the blocks: 2 MB.
The machine confirmed that each block lay in its NUMA node.

latency in ns   node 0  node 1
node 0 (CPU 0)    96.0

GB/s            node 0  node 1
node 0 (CPU 0)    12.5
"
        );
    }

    #[test]
    fn where_there_is_no_room_for_all_columns_they_are_several_tables() {
        let narrow = shown(|_| (), 28);
        for heading in ["latency in ns   node 0\n", "latency in ns   node 1\n"] {
            assert!(narrow.contains(heading), "{narrow}");
        }
        assert!(narrow.lines().all(|line| line.len() <= 28), "{narrow}");
    }

    #[test]
    fn what_makes_the_figures_doubtful_is_said() {
        let in_a_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = |change: &dyn Fn(&mut MemoryMatrix)| in_a_line(shown(change, 100));
        let verified = |matrix: &mut MemoryMatrix, verified| {
            let cell = matrix.cells[0][0].as_mut();
            cell.unwrap().verified = verified;
        };
        for (text, expected) in [
            (
                said(&|matrix| matrix.lies_in = Some(Storage::Cache)),
                "The block fits into the last-level cache, so these are figures of the cache; give a larger one with -b.",
            ),
            (
                said(&|matrix| matrix.lies_in = Some(Storage::Partly)),
                "The last-level cache may hold a part of the block, so these are not yet figures of memory; give a \
                 larger one with -b.",
            ),
            (
                said(&|matrix| verified(matrix, Some(false))),
                "The machine has some of the blocks in another NUMA node than they should be in.",
            ),
            (
                said(&|matrix| verified(matrix, None)),
                "The machine cannot confirm in which NUMA nodes the blocks lay.",
            ),
            (
                said(&|matrix| {
                    matrix.modules = 1;
                    matrix.cells[0].truncate(1);
                }),
                "There is one NUMA node, so this one cell is all: what reading its memory takes.",
            ),
            (
                said(&|matrix| {
                    matrix.modules = 3;
                    matrix.cells[0].push(None);
                }),
                "Beside NUMA nodes 1-2 there is no CPU that was measured: they have columns and no rows.",
            ),
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn the_page_has_the_same_numbers() {
        let page = crate::html::render(&made_up::memory_matrix());
        for said in [
            "From NUMA node to CPU: latency, and read bandwidth of one CPU",
            "<th scope=\"col\">node 1</th>",
            "<td>96.0</td><td></td>",
            "<td>12.5</td><td></td>",
        ] {
            assert!(page.contains(said), "{said}\n{page}");
        }
    }

    #[test]
    fn csv_has_a_line_for_each_measured_cell() {
        assert_eq!(
            crate::csv::render(&made_up::memory_matrix()),
            format!(
                "{}0,CPU 0,0,0,0,134217728,96,95,97.5,12500000000,1\n",
                crate::csv::MEMORY_HEADER
            )
        );
    }
}
