//! The results of the programs of `cellworks run`: their numbers and curves.
//!
//! ```text
//!   results by parameters ─┐                   ┌─► table, csv, html   for people
//!   curves ────────────────┴─► ProgramReport ──┴─► json::render       for scripts
//! ```

mod page;
#[cfg(test)]
mod tests;
mod views;

use cellworks_stats::Finding;
use serde::{Deserialize, Serialize};

use crate::counters::Counters;
use crate::envelope::{Envelope, NotMeasured};

pub use page::html;
pub use views::{csv, table};

/// The results of a program, from one run or from several runs with different parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramReport {
    /// The part that the results of all commands have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The name of the program, such as `aes`.
    pub program: String,
    /// The runs that are missing, and the reasons.
    pub not_measured: Vec<NotMeasured>,
    /// The numbers. Numbers with the same parameters are from the same run.
    pub results: Vec<Finding>,
    /// Curves of the results.
    pub figures: Vec<ProgramFigure>,
    /// The counters of the parts of a simulated machine. `None` if the user did not ask for them.
    pub counters: Option<Counters>,
}

/// Curves over one quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramFigure {
    /// The title.
    pub title: String,
    /// The quantity of the horizontal axis.
    pub x: FigureAxis,
    /// The quantity of the vertical axis.
    pub y: FigureAxis,
    /// The curves.
    pub curves: Vec<FigureCurve>,
}

/// The quantity of an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureAxis {
    /// The name of the quantity, in a few words.
    pub label: String,
    /// The unit, such as `bytes`.
    pub unit: String,
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureCurve {
    /// The name of the curve, which distinguishes it from the other curves.
    pub name: String,
    /// The points of the curve as `[x, y]`, sorted by `x`.
    pub points: Vec<(f64, f64)>,
}
