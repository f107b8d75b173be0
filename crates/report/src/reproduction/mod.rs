//! Published numbers of papers beside simulated numbers.
//!
//! ```text
//!   published, simulated, error ─┐                 ┌─► table, csv, html   for people
//!   predictions ─────────────────┼─► Reproduction ─┤
//!   curves of figures ───────────┘                 └─► json::render       for scripts
//! ```

mod page;
#[cfg(test)]
mod tests;
mod views;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::envelope::Envelope;
use crate::machine_info::MachineInfo;
use crate::median::median;

pub use page::html;
pub use views::{csv, table};

/// Published numbers of papers, with the numbers of simulated machines. `machine` is the machine of
/// the first paper. `trust.trustworthy` and `complete` are true if every simulation gave a number.
/// If the run ended before all numbers were simulated, `complete` is false.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// The part that the results of all commands have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// Machines other than `machine`. The `parameters` of a result name its machine.
    pub other_machines: Vec<MachineInfo>,
    /// The papers.
    pub papers: Vec<PaperInfo>,
    /// A summary of all numbers.
    pub summary: ReproductionSummary,
    /// The published numbers with their simulated values, paper by paper. The numbers of one paper
    /// are in the order of that paper.
    pub results: Vec<Reproduced>,
    /// The figures of the papers, from simulated numbers. Empty if the user did not ask for them.
    pub figures: Vec<ReproducedFigure>,
}

/// A paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PaperInfo {
    /// The name of the paper on the command line.
    pub name: String,
    /// The title of the paper.
    pub title: String,
    /// The authors of the paper, and the year.
    pub authors: String,
}

/// One published number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reproduced {
    /// The name of the number, which is unique in its paper.
    pub name: String,
    /// The simulated value. `None` if the number was not simulated. If `shape` is given, it is the
    /// simulated ratio.
    pub value: Option<f64>,
    /// The unit of the simulated and of the published value.
    pub unit: String,
    /// The parameters `paper`, `machine` and `conditions`.
    pub parameters: BTreeMap<String, Value>,
    /// The quantity, in a few words.
    pub quantity: String,
    /// The place of the number in the paper.
    pub source: String,
    /// The published value. `None` if it was kept back, or if the text states only a shape.
    pub published: Option<f64>,
    /// How the published value has to be read.
    pub reading: Published,
    /// Whether the value was published but kept back while the parameters of the machine were
    /// fitted. If so, the simulated value is a prediction.
    pub kept_back: bool,
    /// The relation that the text states instead of a value.
    pub shape: Option<ShapeRange>,
    /// Whether the simulated ratio is in the range of the shape.
    pub holds: Option<bool>,
    /// Whether a parameter was chosen to reproduce the number. If so, `relation` is `fitted`.
    pub served_for_calibration: bool,
    /// The distance of the simulated value from the published value, in per cent of the published
    /// value. It is above 0 if the simulated value is larger, and 0 if the reading allows the
    /// simulated value. `None` for ranks, which are compared by eye.
    pub error_percent: Option<f64>,
    /// The reason why no experiment simulates the number.
    pub not_simulated: Option<String>,
    /// The reason why the simulation gave no number.
    pub failed: Option<String>,
    /// The origin of the simulated value. It determines what the error shows about the model.
    /// `None` if the number was kept back or is not simulated.
    pub relation: Option<Relation>,
    /// For a fitted number, the name of the quantity that was chosen, or a few words. For a derived
    /// number, the numbers or parameters from which it follows.
    pub follows_from: Option<String>,
}

/// The origin of the simulated value of a published number that was not kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// A parameter was chosen to reproduce the number.
    Fitted,
    /// The simulated value repeats a parameter or another published number, or follows by
    /// arithmetic from parameters or other published numbers.
    Derived,
    /// The number is neither fitted nor derived. Only these numbers show how good the model is.
    Independent,
}

/// How a published value has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Published {
    /// The value is exact as printed.
    Exact,
    /// The text says "about".
    About,
    /// The text says "at least": a larger value has no error.
    AtLeast,
    /// The text says "less than": a smaller value has no error.
    AtMost,
}

/// A relation that a paper states in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShapeRange {
    /// The ratio and the range in which the ratio must be, in words. The words name the two values
    /// that are divided.
    pub rule: String,
    /// The lower end of the range of the ratio. The range includes the end.
    pub at_least: Option<f64>,
    /// The upper end of the range of the ratio. The range includes the end.
    pub at_most: Option<f64>,
}

/// A summary of all numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReproductionSummary {
    /// The numbers to which a parameter was fitted.
    pub calibration: Errors,
    /// The numbers to which no parameter was fitted: derived and independent numbers.
    pub validation: Errors,
    /// The derived numbers: they repeat a parameter or another number, or follow from them.
    pub derived: Errors,
    /// The independent numbers: these show how good the model is.
    pub independent: Errors,
    /// The number of predictions of values that were kept back.
    pub predictions: usize,
    /// The number of published numbers that are not simulated.
    pub not_simulated: usize,
}

/// The sizes of the errors of simulated values, without their signs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Errors {
    /// The number of published numbers that have an error.
    pub numbers: usize,
    /// The median of the errors, in per cent.
    pub median_percent: Option<f64>,
    /// The largest error, in per cent.
    pub worst_percent: Option<f64>,
    /// The name of the number with the largest error.
    pub worst: Option<String>,
    /// The number of errors of at most 5 %.
    pub within_5_percent: usize,
    /// The number of errors of at most 10 %.
    pub within_10_percent: usize,
    /// The number of errors of at most 25 %.
    pub within_25_percent: usize,
    /// The number of shapes.
    pub shapes: usize,
    /// The number of shapes that hold.
    pub shapes_that_hold: usize,
}

/// A figure of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReproducedFigure {
    /// The name of the paper.
    pub paper: String,
    /// The number of the figure in the paper. If the figure is drawn from listings of the paper,
    /// the field names these listings instead.
    pub number: String,
    /// The title.
    pub title: String,
    /// The quantity of the horizontal axis: `block_bytes`, `list_elements`, `spes`, `threads`,
    /// `cycles_per_byte` or `operations`.
    pub against: String,
    /// The panels of the figure.
    pub panels: Vec<ReproducedPanel>,
}

/// A part of a figure, with its own axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReproducedPanel {
    /// The title, which names what the curves have in common.
    pub title: String,
    /// The curves of the panel.
    pub curves: Vec<Curve>,
}

/// A simulated curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Curve {
    /// The name of the curve, which distinguishes it from the other curves.
    pub name: String,
    /// The points of the curve, sorted by `x`.
    pub points: Vec<CurvePoint>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurvePoint {
    /// The position of the point on the horizontal axis.
    pub x: u64,
    /// The time of one operation, in nanoseconds.
    pub latency_ns: f64,
    /// The number of bytes per second that all SPEs together move.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// The speed-up of the program over the same program with one process on one SPE. It is left
    /// out if the figure does not show speed-ups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
}

impl ReproductionSummary {
    /// Makes the summary of the given numbers.
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
        let shapes = results.filter_map(|result| result.holds);
        Self {
            numbers: errors.len(),
            median_percent: median(&errors.iter().map(|(error, _)| *error).collect::<Vec<_>>()),
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
    fn parameter(&self, name: &str) -> &str {
        self.parameters
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}
