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

/// Published numbers of papers beside what simulated machines give. `machine` is that of the first
/// paper, and `trust` and `complete` hold if every simulation gave a number; `complete` does not if
/// some were left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduction {
    /// What all results have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The machines that some numbers or other papers are about; `parameters` of each result say
    /// which.
    pub other_machines: Vec<MachineInfo>,
    /// The papers.
    pub papers: Vec<PaperInfo>,
    /// All numbers in a few.
    pub summary: ReproductionSummary,
    /// The numbers, in the order of the papers and of each paper.
    pub results: Vec<Reproduced>,
    /// The figures of the papers, as the simulated machine draws them; none unless they were asked
    /// for.
    pub figures: Vec<ReproducedFigure>,
}

/// A paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PaperInfo {
    /// What the command calls it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Who wrote it, and when.
    pub authors: String,
}

/// One published number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduced {
    /// What it is called among those of its paper.
    pub name: String,
    /// The simulated value; `None` if it was not simulated. Of a shape it is the ratio.
    pub value: Option<f64>,
    /// The unit of the simulated and of the published value.
    pub unit: String,
    /// `paper`, `machine` and `conditions`.
    pub parameters: BTreeMap<String, Value>,
    /// What it is, in a few words.
    pub quantity: String,
    /// Where in the paper it stands.
    pub source: String,
    /// The published value; `None` if it was kept back, or the text states only a shape.
    pub published: Option<f64>,
    /// How the published value is to be read.
    pub reading: Published,
    /// Whether it was published, but kept back from those who fitted the machine's parameters: the
    /// simulated value is a prediction.
    pub kept_back: bool,
    /// What the text states instead of a value.
    pub shape: Option<ShapeRange>,
    /// Whether the simulated ratio is in the range of the shape.
    pub holds: Option<bool>,
    /// Whether something was chosen so that it comes out: `relation` is `fitted`.
    pub served_for_calibration: bool,
    /// How far the simulated value is from the published one, in per cent of that; above 0 if it is
    /// larger. 0 where the reading allows the value; `None` for ranks, which are compared by eye.
    pub error_percent: Option<f64>,
    /// Why nothing has simulated it.
    pub not_simulated: Option<String>,
    /// Why its simulation gave no number.
    pub failed: Option<String>,
    /// How the simulated value comes about, and so what its error tells about the model; `None` if
    /// it was kept back or is not simulated.
    pub relation: Option<Relation>,
    /// What was chosen, if it is fitted: the name of a quantity of the machine or a few words. What
    /// it repeats or follows from, if it is derived.
    pub follows_from: Option<String>,
}

/// How the simulated value of a known number comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Something was chosen while the number was in view.
    Fitted,
    /// It repeats a parameter or another number, or follows from them by arithmetic.
    Derived,
    /// Neither: only these numbers tell how good the model is.
    Independent,
}

/// How a published value is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Published {
    /// As it stands.
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
    /// What is divided by what, and what counts as holding.
    pub rule: String,
    /// The lower end of the range of the ratio, included.
    pub at_least: Option<f64>,
    /// The upper end, included.
    pub at_most: Option<f64>,
}

/// All numbers in a few.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproductionSummary {
    /// Those that something was fitted to.
    pub calibration: Errors,
    /// Those that nothing was fitted to: derived and independent ones.
    pub validation: Errors,
    /// Those that repeat a parameter or another number, or follow from them.
    pub derived: Errors,
    /// The others: these tell how good the model is.
    pub independent: Errors,
    /// How many numbers are predictions of what was kept back.
    pub predictions: usize,
    /// How many numbers are not simulated.
    pub not_simulated: usize,
}

/// How far simulated values are from published ones, whichever is larger.
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
    /// The paper.
    pub paper: String,
    /// Its number there, or the listings that it is drawn from.
    pub number: String,
    /// What it shows.
    pub title: String,
    /// What its curves are drawn against: `block_bytes`, `list_elements`, `spes`, `threads`,
    /// `cycles_per_byte` or `operations`.
    pub against: String,
    /// Its panels.
    pub panels: Vec<ReproducedPanel>,
}

/// A part of a figure with axes of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReproducedPanel {
    /// What its curves have in common.
    pub title: String,
    /// Its curves.
    pub curves: Vec<Curve>,
}

/// A simulated curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// What distinguishes it.
    pub name: String,
    /// Its points, by `x`.
    pub points: Vec<CurvePoint>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Where it is on the axis.
    pub x: u64,
    /// The time of one operation, in nanoseconds.
    pub latency_ns: f64,
    /// What all SPEs move together, in bytes a second.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// How many times as fast it is as the same by one process on one SPE, if that is what the
    /// figure shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
}

impl ReproductionSummary {
    /// Summarises numbers.
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
