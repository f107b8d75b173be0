//! A matrix of times between SPEs, for the terminal.
//!
//! ```text
//!   from \ to     0   32   64        columns: the first SPE of each block
//!   SPE 0-31   52.1 98.4  101        a cell: the median of its measured pairs
//!   SPE 32-63  97.9 51.7             a blank cell: no pair was measured
//! ```
//!
//! Cells contain numbers, so the picture is complete without colours. If there are too many pairs
//! for the terminal, a cell is a block of pairs. On a computer the SPEs have the names of their
//! CPUs.

use anstyle::{AnsiColor, RgbColor, Style};
use cellworks_stats::{Matrix, MatrixClass};

use crate::columns::Table;
use crate::machine_info::MachineInfo;
use crate::scale::{Scale, Unit, wants_dark_text};
use crate::text::{self, bold, matrix_notes, matrix_title, time};
use crate::words::Words;

/// Returns the matrix as coloured cells with numbers, a table of times by distance, and a legend,
/// in at most `width` columns. Colours are ANSI styles of 24 bits.
pub fn render(matrix: &Matrix, machine: &MachineInfo, width: usize) -> String {
    let words = Words::of(machine);
    let scale = Scale::of(matrix);
    let unit = scale.map_or("ns", |scale| scale.unit().name);
    let title = bold(&words.say(&matrix_title(matrix)));
    let mut text = text::wrapped(&format!("{title}: one way, in {unit}"), "  ", width);
    text += &text::wrapped(&words.say(&matrix_notes(matrix)), "", width);
    if let Some(scale) = scale {
        text += &cells(matrix, machine, &scale, width);
    }
    if !matrix.classes.is_empty() {
        text.push('\n');
        text += &classes(matrix, "", time).translated(words).text(None);
    }
    if let Some(sentences) = text::nearest_and_farthest(matrix, machine) {
        text += &text::wrapped(&sentences, "", width);
    }
    text
}

fn cells(matrix: &Matrix, machine: &MachineInfo, scale: &Scale, width: usize) -> String {
    let spes = matrix.one_way_ns.len();
    let names = Names::of(machine, spes);
    let Grid {
        block,
        labels,
        medians,
        unit,
    } = Grid::that_fits(matrix, &names, scale.unit(), width);
    let label = label_width(&labels);
    let cell = cell_width(&medians, &names, unit);

    let mut text = format!("\n{:>label$}", "from \\ to");
    for first in (0..spes).step_by(block) {
        text += &format!("{:>cell$}", names.numbers[first]);
    }
    text.push('\n');
    for (name, row) in labels.iter().zip(&medians) {
        let mut line = format!("{name:<label$}");
        for time in row {
            line += &match time {
                Some(ns) => {
                    let style = style(scale, *ns);
                    format!(
                        "{}{:>cell$}{}",
                        style.render(),
                        unit.figures(*ns),
                        style.render_reset()
                    )
                }
                None => " ".repeat(cell),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text + "\n" + &legend(scale, block, width)
}

/// The names of SPEs. On a computer these are the numbers of their CPUs.
struct Names<'m> {
    machine: &'m MachineInfo,
    noun: &'static str,
    numbers: Vec<u32>,
}

impl<'m> Names<'m> {
    /// The largest number of characters of a list of CPUs.
    const LIST: usize = 12;

    fn of(machine: &'m MachineInfo, spes: usize) -> Self {
        let cpus = text::cpus(&machine.spe_places);
        let cpus = cpus.filter(|cpus| machine.is_this_computer() && cpus.len() == spes);
        Self {
            machine,
            noun: if cpus.is_some() { "CPU" } else { "SPE" },
            numbers: cpus.unwrap_or_else(|| (0..spes as u32).collect()),
        }
    }

    /// Returns the name of a block of SPEs, such as `SPE 0-31`.
    fn block(&self, first: usize, last: usize) -> String {
        let numbers = &self.numbers[first..=last];
        match text::ranges(numbers.to_vec()) {
            long if long.len() > Self::LIST => {
                format!("{} {} and {} more", self.noun, numbers[0], last - first)
            }
            list => format!("{} {list}", self.noun),
        }
    }
}

/// A matrix of times between blocks of SPEs.
struct Grid {
    /// The number of SPEs in a block. The last block may have fewer.
    block: usize,
    labels: Vec<String>,
    medians: Vec<Vec<Option<f64>>>,
    unit: Unit,
}

impl Grid {
    /// Returns the grid with the smallest blocks that fits. If the number of SPEs is no multiple of
    /// the block size, the last block is smaller. A grid without a smaller last block is preferred
    /// if its blocks are at most 1.5 times as large.
    fn that_fits(matrix: &Matrix, names: &Names<'_>, unit: Unit, width: usize) -> Self {
        let spes = matrix.one_way_ns.len();
        // A grid with a cell for each pair is tried first. The labels of this grid include the
        // places of the SPEs.
        let single = Self::of(matrix, unit, 1, |spe, _| text::spe(names.machine, spe));
        if single.fits(names, width) {
            return single;
        }
        let named = |block| Self::of(matrix, unit, block, |first, last| names.block(first, last));
        // A column has at least a digit and a blank, so at most `width / 2` columns fit.
        let mut block = spes.div_ceil(width / 2);
        let finest = loop {
            let grid = named(block);
            if grid.fits(names, width) {
                break grid;
            }
            block += 1;
        };
        let equal = (block..=block * 3 / 2).find(|block| spes.is_multiple_of(*block));
        equal
            .map(named)
            .filter(|grid| grid.fits(names, width))
            .unwrap_or(finest)
    }

    fn of(
        matrix: &Matrix,
        unit: Unit,
        block: usize,
        label: impl Fn(usize, usize) -> String,
    ) -> Self {
        let spes = matrix.one_way_ns.len();
        let last = |first: usize| (first + block).min(spes) - 1;
        Self {
            block,
            labels: (0..spes)
                .step_by(block)
                .map(|first| label(first, last(first)))
                .collect(),
            medians: medians(matrix, block),
            unit,
        }
    }

    fn fits(&self, names: &Names<'_>, width: usize) -> bool {
        let columns = (width - label_width(&self.labels).min(width))
            / cell_width(&self.medians, names, self.unit);
        // A grid of one block is always accepted, because there is no coarser grid.
        self.labels.len() <= columns.max(1)
    }
}

fn legend(scale: &Scale, block: usize, width: usize) -> String {
    let mut line = String::from("Colours:");
    for ns in scale.shown_ns() {
        let prefix = match ns {
            low if low == scale.low_ns && scale.below => "at most ",
            high if high == scale.high_ns && scale.above => "at least ",
            _ => "",
        };
        let style = style(scale, ns);
        line += &format!(
            " {} {prefix}{} {}",
            style.render(),
            time(ns),
            style.render_reset()
        );
    }
    line += "; blank: not measured\n";
    if block > 1 {
        let note = format!(
            "Each number is the median of a block of up to {block} x {block} pairs; a column is named by the first \
             of its block."
        );
        line += &text::wrapped(&note, "", width);
    }
    line
}

fn style(scale: &Scale, ns: f64) -> Style {
    let colour = scale.colour(ns);
    let text = if wants_dark_text(colour) {
        AnsiColor::Black
    } else {
        AnsiColor::BrightWhite
    };
    Style::new()
        .bg_color(Some(RgbColor(colour.r, colour.g, colour.b).into()))
        .fg_color(Some(text.into()))
}

fn medians(matrix: &Matrix, block: usize) -> Vec<Vec<Option<f64>>> {
    let rows = matrix.one_way_ns.chunks(block);
    rows.map(|rows| {
        (0..matrix.one_way_ns.len())
            .step_by(block)
            .map(|first| {
                let columns = rows
                    .iter()
                    .flat_map(|row| row.iter().skip(first).take(block));
                median(columns.flatten().copied().collect())
            })
            .collect()
    })
    .collect()
}

fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len().checked_sub(1)? / 2).copied()
}

fn label_width(labels: &[String]) -> usize {
    let widest = labels.iter().map(|label| label.chars().count()).max();
    widest.unwrap_or(0).max("from \\ to".len()) + 1
}

/// Returns the width of a cell: the longest number or heading, and a blank.
fn cell_width(grid: &[Vec<Option<f64>>], names: &Names<'_>, unit: Unit) -> usize {
    let times = grid.iter().flatten().flatten();
    let widest = times.map(|ns| unit.figures(*ns).len()).max().unwrap_or(0);
    let last = names.numbers.iter().max().copied().unwrap_or_default();
    widest.max(last.to_string().len()) + 1
}

/// Returns the times by distance. `unit` follows the headings of times.
pub(crate) fn classes(matrix: &Matrix, unit: &str, time: fn(f64) -> String) -> Table {
    let times = ["min", "median", "max"].map(|heading| format!("{heading}{unit}"));
    let row = |class: &MatrixClass| {
        let counts = [class.pairs, class.pairs_measured].map(text::whole);
        let times = [class.min_ns, class.p50_ns, class.max_ns];
        let times = times.map(|ns| ns.map(time).unwrap_or_default());
        [class.name.clone()].into_iter().chain(counts).chain(times)
    };
    let headings = ["distance", "pairs", "measured"].map(str::to_owned);
    let headings = headings.into_iter().chain(times);
    Table::new(headings, matrix.classes.iter().map(row), [0])
}
