//! JSON: one object for scripts, described in docs/json.md.

use serde::Serialize;

/// Returns a report or a comparison as JSON.
///
/// # Panics
///
/// If `result` cannot be written as JSON. Reports and comparisons can always be written.
pub fn render(result: &impl Serialize) -> String {
    let mut text =
        serde_json::to_string_pretty(result).expect("only strings, numbers, lists and objects");
    text.push('\n');
    text
}
