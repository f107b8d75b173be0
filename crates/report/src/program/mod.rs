//! What programs found that `cellworks run` ran: their numbers and curves.
//!
//! ```text
//!   results by parameters ─┐                   ┌─► table, csv, html   for people
//!   figures ───────────────┴─► ProgramReport ──┴─► json::render       for scripts
//! ```

mod page;
#[cfg(test)]
mod tests;
mod views;

use cellworks_stats::Finding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Counters, Envelope, NotMeasured};

pub use page::html;
pub use views::{csv, table};

/// What a program found, in one run or in several with other parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramReport {
    /// What all results have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// Which program, such as `aes`.
    pub program: String,
    /// What has not run, and why.
    pub not_measured: Vec<NotMeasured>,
    /// The numbers. Those with the same parameters are of one run, or belong to it.
    pub results: Vec<Finding>,
    /// Curves of the results.
    pub figures: Vec<ProgramFigure>,
    /// What the parts of a simulated machine did in the run; `None` unless asked for.
    pub counters: Option<Counters>,
}

/// Curves over one quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramFigure {
    /// What it shows.
    pub title: String,
    /// What the curves are drawn against.
    pub x: FigureAxis,
    /// What they show.
    pub y: FigureAxis,
    /// The curves.
    pub curves: Vec<FigureCurve>,
}

/// What an axis shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FigureAxis {
    /// What it is, in a few words.
    pub label: String,
    /// In what, such as `bytes`.
    pub unit: String,
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureCurve {
    /// What distinguishes it.
    pub name: String,
    /// Its points as `[x, y]`, by `x`.
    pub points: Vec<(f64, f64)>,
}
