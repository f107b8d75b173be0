//! Rows of text in columns, as all tables for people are written whose cells stay whole.

use comfy_table::{CellAlignment, ContentArrangement, Row, Table, presets};

use crate::text::trimmed;

/// Rows of text, the headings first, in columns two blanks apart. A column fills from the right,
/// unless `is_text` says of its index that it holds text.
pub(crate) fn columns<R: Into<Row>>(
    rows: impl IntoIterator<Item = R>,
    is_text: impl Fn(usize) -> bool,
) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .add_rows(rows);
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if !is_text(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table.to_string())
}
