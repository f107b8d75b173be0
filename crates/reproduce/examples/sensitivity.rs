//! Prints, as Markdown tables, by how many per cent each known number that is simulated on a QS20 moves when a
//! fitted parameter grows by a tenth: first those that it is calibrated on, then the others:
//!
//! ```text
//! cargo run --release -p cellworks-reproduce --example sensitivity
//! ```

use cellworks_reproduce::{Moved, Paper, sensitivity};
use cellworks_sim::Description;

/// Less than this, in per cent, is not worth a number.
const SHOWN_FROM: f64 = 0.05;

fn main() -> Result<(), String> {
    let qs20 = Description::built_in("qs20").expect("it is built in");
    let mut parameters = sensitivity(
        &Paper::built_in("cellstats").expect("it is built in"),
        &qs20,
    )?;
    for other in ["cellmt", "others"] {
        let paper = Paper::built_in(other).expect("it is built in");
        for (all, more) in parameters.iter_mut().zip(sensitivity(&paper, &qs20)?) {
            all.changes.extend(more.changes);
        }
    }
    print(&parameters, true);
    print(&parameters, false);
    println!("| | parameter | fitted to |");
    println!("|---|---|---|");
    for (letter, row) in letters().zip(&parameters) {
        println!("| {letter} | `{}` | {} |", row.parameter, row.fitted_to);
    }
    Ok(())
}

/// A letter for each parameter: with their names as headings the tables would be wider than a page.
fn letters() -> impl Iterator<Item = char> {
    'A'..='Z'
}

/// A row for each number: there are more of them than parameters.
fn print(parameters: &[Moved], served_for_calibration: bool) {
    let letters: Vec<String> = letters()
        .take(parameters.len())
        .map(|letter| letter.to_string())
        .collect();
    println!("| number | {} |", letters.join(" | "));
    println!("|---|{}", "---:|".repeat(letters.len()));
    let numbers = parameters.first().map_or(&[][..], |row| &row.changes);
    for (at, number) in numbers.iter().enumerate() {
        if number.served_for_calibration != served_for_calibration {
            continue;
        }
        let changes: Vec<String> = parameters
            .iter()
            .map(|row| percent(row.changes[at].percent))
            .collect();
        println!("| {} | {} |", number.number, changes.join(" | "));
    }
    println!();
}

fn percent(change: f64) -> String {
    if change.abs() < SHOWN_FROM {
        return String::new();
    }
    format!("{change:+.1}")
}
