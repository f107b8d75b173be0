//! JSON: one object, for scripts.

use crate::Report;

/// The report as JSON.
///
/// # Panics
///
/// Never: a report has only strings, numbers and lists.
pub fn render(report: &Report) -> String {
    let mut text =
        serde_json::to_string_pretty(report).expect("a report has only strings, numbers and lists");
    text.push('\n');
    text
}
