//! Prints, as a Markdown table, by how many per cent each number that a QS20 is calibrated on moves when a
//! fitted parameter grows by a tenth:
//!
//! ```text
//! cargo run --release -p cellworks-reproduce --example sensitivity
//! ```

use cellworks_reproduce::{Paper, sensitivity};
use cellworks_sim::Description;

/// Less than this, in per cent, is not worth a number.
const SHOWN_FROM: f64 = 0.05;

fn main() -> Result<(), String> {
    let paper = Paper::built_in("cellstats").expect("it is built in");
    let qs20 = Description::built_in("qs20").expect("it is built in");
    let rows = sensitivity(&paper, &qs20)?;
    let ids = rows.first().map_or(&[][..], |row| &row.changes);
    // Numbers are rows: there are more of them than parameters.
    let names: Vec<String> = rows
        .iter()
        .map(|row| format!("`{}`", row.parameter))
        .collect();
    println!("| number | {} |", names.join(" | "));
    println!("|---|{}", "---:|".repeat(names.len()));
    for (at, (id, _)) in ids.iter().enumerate() {
        let changes: Vec<String> = rows.iter().map(|row| percent(row.changes[at].1)).collect();
        println!("| {id} | {} |", changes.join(" | "));
    }
    println!();
    println!("| parameter | fitted to |");
    println!("|---|---|");
    for row in &rows {
        println!("| `{}` | {} |", row.parameter, row.fitted_to);
    }
    Ok(())
}

fn percent(change: f64) -> String {
    if change.abs() < SHOWN_FROM {
        return String::new();
    }
    format!("{change:+.1}")
}
