//! A table: arranged in columns for a terminal, and drawn on a page.

use std::collections::HashSet;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};
use maud::{Markup, html};

use crate::text::trimmed;
use crate::words::Words;

const GAP: u16 = 2;

/// The length in bytes above which a text is broken into lines on a narrow page.
const LONG: usize = 30;

/// Headings, and rows of cells. Columns are aligned to the right, except those with texts.
#[derive(Clone)]
pub(crate) struct Table {
    /// Empty for a table without headings.
    pub headings: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// The columns with texts, counted from 0. They are aligned to the left.
    texts: Vec<usize>,
    /// Whether the first column has the names of the rows.
    has_names: bool,
}

impl Table {
    pub fn new<R: IntoIterator<Item = String>>(
        headings: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = R>,
        texts: impl IntoIterator<Item = usize>,
    ) -> Self {
        Self {
            headings: headings.into_iter().map(Into::into).collect(),
            rows: (rows.into_iter().map(|row| row.into_iter().collect())).collect(),
            texts: texts.into_iter().collect(),
            has_names: false,
        }
    }

    /// Takes the first column for the names of the rows.
    pub fn with_names(self) -> Self {
        Self {
            has_names: true,
            ..self
        }
    }

    /// Translates all texts into the words of a machine.
    pub fn translated(mut self, words: Words<'_>) -> Self {
        for heading in &mut self.headings {
            *heading = words.heading(heading);
        }
        for cell in self.rows.iter_mut().flatten() {
            *cell = words.say(cell);
        }
        self
    }

    /// Keeps the columns for which `is_kept` returns true, given the heading and the cells.
    pub fn retain_columns(&mut self, mut is_kept: impl FnMut(&str, &[&str]) -> bool) {
        let kept: Vec<bool> = (0..self.headings.len())
            .map(|at| {
                let cells: Vec<&str> = self.rows.iter().map(|row| row[at].as_str()).collect();
                is_kept(&self.headings[at], &cells)
            })
            .collect();
        for line in self.rows.iter_mut().chain([&mut self.headings]) {
            let mut kept = kept.iter();
            line.retain(|_| kept.next() == Some(&true));
        }
        let before = |at: usize| kept[..at].iter().filter(|kept| **kept).count();
        self.texts.retain(|at| kept[*at]);
        self.texts.iter_mut().for_each(|at| *at = before(*at));
    }

    /// Arranges the cells in columns. If a `width` is given, long cells are broken so that a line
    /// has at most this number of characters. Cells of the first column are only broken if they
    /// are longer than half of it. No number is broken: if the numbers and the longest words of
    /// the texts need more than `width`, the lines are longer.
    pub fn text(&self, width: Option<usize>) -> String {
        let mut table = comfy_table::Table::new();
        if let Some(width) = width {
            let width = u16::try_from(width).unwrap_or(u16::MAX).saturating_add(GAP);
            table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width);
        }
        let headings = (!self.headings.is_empty()).then_some(&self.headings);
        table
            .load_style(presets::NOTHING)
            .add_rows(headings.into_iter().chain(&self.rows));
        let names = table.column_max_content_widths().first().copied();
        let half = table.width().map(|width| width / 2);
        if let (Some(names), Some(half), Some(first)) = (names, half, table.column_mut(0))
            && names <= half
            && self.texts.contains(&0)
        {
            first.set_constraint(ColumnConstraint::ContentWidth);
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, GAP));
            if !self.texts.contains(&at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let text = trimmed(&table.to_string());
        if width.is_none() || !self.is_torn(&text) {
            return text;
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            if column.constraint().is_none() {
                // A width includes the gap.
                let width = self.longest_word(at).saturating_add(GAP);
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
            }
        }
        trimmed(&table.to_string())
    }

    /// Returns whether a number of the table is not whole in its text.
    fn is_torn(&self, text: &str) -> bool {
        let whole: HashSet<&str> = text.split_whitespace().collect();
        let cells = self.rows.iter().flat_map(|row| row.iter().enumerate());
        cells
            .filter(|(at, _)| !self.texts.contains(at))
            .flat_map(|(_, cell)| cell.split_whitespace())
            .any(|word| !whole.contains(word))
    }

    /// Returns the length of the longest word in the rows of a column.
    fn longest_word(&self, column: usize) -> u16 {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let words = cells.flat_map(|cell| cell.split_whitespace());
        let longest = words.map(|word| word.chars().count()).max();
        u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX)
    }

    pub fn page(&self) -> Markup {
        self.page_with(&[])
    }

    /// Draws the table with a further column: a heading, and a cell for each row.
    pub fn page_with(&self, last: &[Markup]) -> Markup {
        let is_text = |at: usize| self.texts.contains(&at);
        let left = |at: usize| is_text(at).then_some("left");
        let class = |at: usize, text: &str| {
            if text.len() > LONG {
                is_text(at).then_some("left words")
            } else {
                left(at)
            }
        };
        let is_name = |at: usize| at == 0 && self.has_names;
        let (heading, cells) = last.split_first().unzip();
        let cell = |row: usize| cells.and_then(|cells| cells.get(row));
        html! {
            div.wide {
                table {
                    @if !self.headings.is_empty() {
                        thead {
                            tr {
                                @for (at, heading) in self.headings.iter().enumerate() {
                                    th class=[left(at)] scope=[(!is_name(at)).then_some("col")] { (heading) }
                                }
                                @if let Some(heading) = heading { th scope="col" { (heading) } }
                            }
                        }
                    }
                    tbody {
                        @for (number, row) in self.rows.iter().enumerate() {
                            tr {
                                @for (at, text) in row.iter().enumerate() {
                                    @if is_name(at) { th.left scope="row" { (text) } }
                                    @else { td class=[class(at, text)] { (text) } }
                                }
                                @if let Some(cell) = cell(number) { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
