//! Arranges rows of text in columns, for people.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets};

use crate::text::trimmed;

const GAP: u16 = 2;

/// Arranges rows in columns. The first row has the headings. The column with index `i` is aligned
/// to the left if `is_text(i)` is true, otherwise to the right.
pub(crate) fn columns<R: Into<Row>>(
    rows: impl IntoIterator<Item = R>,
    is_text: impl Fn(usize) -> bool,
) -> String {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Disabled);
    aligned(table, rows, is_text)
}

/// Like [`columns`], but long cells are broken so that a line has at most `width` characters. Cells
/// of the first column are only broken if they are longer than half of `width`.
pub(crate) fn columns_within<R: Into<Row>>(
    rows: impl IntoIterator<Item = R>,
    is_text: impl Fn(usize) -> bool,
    width: usize,
) -> String {
    let mut table = Table::new();
    let width = u16::try_from(width).unwrap_or(u16::MAX).saturating_add(GAP);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    aligned(table, rows, is_text)
}

fn aligned<R: Into<Row>>(
    mut table: Table,
    rows: impl IntoIterator<Item = R>,
    is_text: impl Fn(usize) -> bool,
) -> String {
    table.load_style(presets::NOTHING).add_rows(rows);
    let names = table.column_max_content_widths().first().copied();
    let half = table.width().map(|width| width / 2);
    if let (Some(names), Some(half), Some(first)) = (names, half, table.column_mut(0))
        && names <= half
    {
        first.set_constraint(ColumnConstraint::ContentWidth);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP));
        if !is_text(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table.to_string())
}
