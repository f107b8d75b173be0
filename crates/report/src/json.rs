//! JSON: one object for scripts. docs/json.md describes the object.

use serde::Serialize;

/// A report or a comparison as JSON.
///
/// # Panics
///
/// If `result` contains something that JSON does not have. Reports and comparisons contain only
/// strings, numbers, lists and objects.
pub fn render(result: &impl Serialize) -> String {
    let mut text =
        serde_json::to_string_pretty(result).expect("only strings, numbers, lists and objects");
    text.push('\n');
    text
}
