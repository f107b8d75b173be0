//! Published numbers beside simulated ones.
//!
//! ```text
//!   published, simulated, error ─┐                 ┌─► table, csv, html   for people
//!   what was kept back, predicted├─► Reproduction ─┤
//!   curves of figures ───────────┘                 └─► json::render       for scripts
//! ```

mod page;
#[cfg(test)]
mod tests;
mod views;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Envelope, MachineInfo};

pub use page::html;
#[cfg(test)]
pub(crate) use views::CSV_HEADER;
pub use views::{csv, table};

/// Published numbers of papers beside those of simulated machines. `machine` is that of the first
/// paper. `trust` and `complete` hold if every simulation gave a number; `complete` does not hold
/// if some numbers were left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduction {
    /// What all results have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The machines of some numbers or of other papers; the `parameters` of a result name its
    /// machine.
    pub other_machines: Vec<MachineInfo>,
    /// The papers.
    pub papers: Vec<PaperInfo>,
    /// A summary of all numbers.
    pub summary: ReproductionSummary,
    /// The numbers, in the order of the papers and of each paper.
    pub results: Vec<Reproduced>,
    /// The figures of the papers, as the simulated machine draws them; empty unless the user asked
    /// for them.
    pub figures: Vec<ReproducedFigure>,
}

/// A paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PaperInfo {
    /// The name of the paper on the command line.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its authors, and the year.
    pub authors: String,
}

/// One published number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduced {
    /// Its name among the numbers of its paper.
    pub name: String,
    /// The simulated value; `None` if it was not simulated. For a shape it is the ratio.
    pub value: Option<f64>,
    /// The unit of the simulated and of the published value.
    pub unit: String,
    /// `paper`, `machine` and `conditions`.
    pub parameters: BTreeMap<String, Value>,
    /// The quantity, in a few words.
    pub quantity: String,
    /// Its place in the paper.
    pub source: String,
    /// The published value; `None` if it was kept back, or if the text states only a shape.
    pub published: Option<f64>,
    /// How the published value is to be read.
    pub reading: Published,
    /// Whether the value was published, but kept back while the machine's parameters were fitted.
    /// Then the simulated value is a prediction.
    pub kept_back: bool,
    /// What the text states instead of a value.
    pub shape: Option<ShapeRange>,
    /// Whether the simulated ratio is in the range of the shape.
    pub holds: Option<bool>,
    /// Whether something was chosen to reproduce it: `relation` is `fitted`.
    pub served_for_calibration: bool,
    /// The distance of the simulated value from the published one, in per cent of the published
    /// one. It is above 0 if the simulated value is larger, and 0 if the reading allows the value.
    /// `None` for ranks, which are compared by eye.
    pub error_percent: Option<f64>,
    /// The reason why no experiment has simulated it.
    pub not_simulated: Option<String>,
    /// The reason why its simulation gave no number.
    pub failed: Option<String>,
    /// How the simulated value comes about. This decides what its error shows about the model.
    /// `None` if the number was kept back or is not simulated.
    pub relation: Option<Relation>,
    /// For a fitted number, what was chosen: the name of a quantity of the machine or a few words.
    /// For a derived number, what it repeats or follows from.
    pub follows_from: Option<String>,
}

/// How the simulated value of a known number comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Something was chosen with regard to the number.
    Fitted,
    /// It repeats a parameter or another number, or follows from them by arithmetic.
    Derived,
    /// The value is neither fitted nor derived: only these numbers show how good the model is.
    Independent,
}

/// How a published value is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Published {
    /// As it is printed.
    Exact,
    /// The text says "about".
    About,
    /// The text says "at least": a larger value has no error.
    AtLeast,
    /// The text says "less than": a smaller value has no error.
    AtMost,
}

/// A relation that a text states in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShapeRange {
    /// Which values are divided, and what the ratio must be.
    pub rule: String,
    /// The lower end of the range of the ratio, included.
    pub at_least: Option<f64>,
    /// The upper end, included.
    pub at_most: Option<f64>,
}

/// A summary of all numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionSummary {
    /// The numbers that something was fitted to.
    pub calibration: Errors,
    /// The numbers that nothing was fitted to: derived and independent ones.
    pub validation: Errors,
    /// The numbers that repeat a parameter or another number, or follow from them.
    pub derived: Errors,
    /// The other numbers: these show how good the model is.
    pub independent: Errors,
    /// The number of predictions of values that were kept back.
    pub predictions: usize,
    /// The number of numbers that are not simulated.
    pub not_simulated: usize,
}

/// The distances of simulated values from published ones, in either direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// How many numbers have an error.
    pub numbers: usize,
    /// The median of their errors, in per cent.
    pub median_percent: Option<f64>,
    /// The largest error, in per cent.
    pub worst_percent: Option<f64>,
    /// The name of the number that has it.
    pub worst: Option<String>,
    /// How many errors are at most 5 %.
    pub within_5_percent: usize,
    /// How many errors are at most 10 %.
    pub within_10_percent: usize,
    /// How many errors are at most 25 %.
    pub within_25_percent: usize,
    /// How many shapes there are.
    pub shapes: usize,
    /// How many of them hold.
    pub shapes_that_hold: usize,
}

/// A figure of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproducedFigure {
    /// The name of the paper.
    pub paper: String,
    /// Its number in the paper, or the listings that it is drawn from.
    pub number: String,
    /// The title.
    pub title: String,
    /// The quantity of the horizontal axis: `block_bytes`, `list_elements`, `spes`, `threads`,
    /// `cycles_per_byte` or `operations`.
    pub against: String,
    /// Its panels.
    pub panels: Vec<ReproducedPanel>,
}

/// A part of a figure, with its own axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproducedPanel {
    /// The title: what its curves have in common.
    pub title: String,
    /// Its curves.
    pub curves: Vec<Curve>,
}

/// A simulated curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// What distinguishes it from the other curves.
    pub name: String,
    /// Its points, sorted by `x`.
    pub points: Vec<CurvePoint>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Its place on the horizontal axis.
    pub x: u64,
    /// The time of one operation, in nanoseconds.
    pub latency_ns: f64,
    /// The bytes a second that all SPEs together move.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// How many times as fast it is as the same program with one process on one SPE, if the figure
    /// shows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
}

impl ReproductionSummary {
    /// The summary of these numbers.
    pub fn of(results: &[Reproduced]) -> Self {
        let those = |relations: &[Relation]| {
            let is =
                |result: &&Reproduced| result.relation.is_some_and(|it| relations.contains(&it));
            Errors::of(results.iter().filter(is))
        };
        let count = |is: fn(&Reproduced) -> bool| results.iter().filter(|r| is(r)).count();
        Self {
            calibration: those(&[Relation::Fitted]),
            validation: those(&[Relation::Derived, Relation::Independent]),
            derived: those(&[Relation::Derived]),
            independent: those(&[Relation::Independent]),
            predictions: count(|result| result.kept_back && result.value.is_some()),
            not_simulated: count(|result| result.not_simulated.is_some()),
        }
    }
}

impl Errors {
    fn of<'a>(results: impl Iterator<Item = &'a Reproduced> + Clone) -> Self {
        let mut errors: Vec<(f64, &str)> = results
            .clone()
            .filter_map(|result| Some((result.error_percent?.abs(), result.name.as_str())))
            .collect();
        errors.sort_by(|a, b| a.0.total_cmp(&b.0));
        let within = |percent: f64| errors.iter().filter(|(error, _)| *error <= percent).count();
        let middle = errors.len() / 2;
        let median = match errors.len() {
            0 => None,
            odd if odd % 2 == 1 => Some(errors[middle].0),
            _ => Some(errors[middle - 1].0.midpoint(errors[middle].0)),
        };
        let shapes = results.filter_map(|result| result.holds);
        Self {
            numbers: errors.len(),
            median_percent: median,
            worst_percent: errors.last().map(|(error, _)| *error),
            worst: errors.last().map(|(_, name)| (*name).to_owned()),
            within_5_percent: within(5.0),
            within_10_percent: within(10.0),
            within_25_percent: within(25.0),
            shapes: shapes.clone().count(),
            shapes_that_hold: shapes.filter(|holds| *holds).count(),
        }
    }
}

impl Reproduced {
    /// One of its parameters, as text.
    fn parameter(&self, name: &str) -> &str {
        self.parameters
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}
