//! JSON: one object, for scripts.

use super::Report;

pub(crate) fn render(report: &Report) -> String {
    let mut text =
        serde_json::to_string_pretty(report).expect("a report has only strings, numbers and lists");
    text.push('\n');
    text
}
