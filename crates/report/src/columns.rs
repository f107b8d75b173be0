//! Tables for people, as rows of text in columns. Cells stay whole if there is room.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets};

use crate::text::trimmed;

/// The number of blanks between columns.
const GAP: u16 = 2;

/// Writes rows of text, the headings first, in columns that are two blanks apart. If `is_text`
/// returns true for the index of a column, the column is aligned to the left, otherwise to the
/// right.
pub(crate) fn columns<R: Into<Row>>(
    rows: impl IntoIterator<Item = R>,
    is_text: impl Fn(usize) -> bool,
) -> String {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Disabled);
    aligned(table, rows, is_text)
}

/// Like [`columns`], in at most `width` columns of the terminal. Cells that are too long are
/// broken. The cells of the first column are names. They are broken only if they take more than
/// half of the width.
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
