//! Measures systems in turn, and prints their tables.

const REPETITIONS: usize = 15;

/// One system: its name, and a measurement that returns nanoseconds for each operation.
pub struct System<'a> {
    name: String,
    measure: Box<dyn FnMut() -> f64 + 'a>,
}

pub fn system<'a>(name: impl Into<String>, measure: impl FnMut() -> f64 + 'a) -> System<'a> {
    System {
        name: name.into(),
        measure: Box::new(measure),
    }
}

impl System<'_> {
    /// The same system with more words in front of its name.
    pub fn called(mut self, words: &str) -> Self {
        self.name = format!("{words}, {}", self.name);
        self
    }
}

/// Whether to measure the table with this title: the command line asks for it, or for no table.
pub fn is_wanted(title: &str) -> bool {
    // Cargo adds the argument `--bench`.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|w| w != "--bench")
        .collect();
    words.is_empty() || words.iter().any(|word| title.contains(word))
}

/// Measures all systems in turn, and prints their table. If the command line asks for other tables,
/// does nothing.
pub fn compare(title: &str, mut systems: Vec<System<'_>>) {
    if !is_wanted(title) {
        return;
    }
    let mut rounds = Vec::new();
    for round in 0..=REPETITIONS {
        let times: Vec<f64> = systems.iter_mut().map(|s| (s.measure)()).collect();
        // The first round warms up.
        if round > 0 {
            rounds.push(times);
        }
    }
    println!("\n{title}:\n\n| system | ns | ratio |\n|---|---|---|");
    for (index, system) in systems.iter().enumerate() {
        let times = sorted(rounds.iter().map(|times| times[index]));
        let ratios = sorted(rounds.iter().map(|times| times[index] / times[0]));
        let (middle, last) = (times.len() / 2, times.len() - 1);
        println!(
            "| {} | {} ({}-{}) | {:.2} |",
            system.name,
            digits(times[middle]),
            digits(times[0]),
            digits(times[last]),
            ratios[middle]
        );
    }
}

fn digits(ns: f64) -> String {
    let places = if ns < 100.0 { 2 } else { 0 };
    format!("{ns:.places$}")
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
