//! The results of a run of Cellworks, and views of them.
//!
//! ```text
//!                              ┌─► table   for people at a terminal
//!   measurements, matrices,    ├─► csv     for spreadsheets
//!   findings, advice ──► Report├─► json    for scripts, by a published schema
//!                              └─► html    one file with curves and heat maps
//! ```
//!
//! A [`Report`] is computed once, and every view only shows its contents. A [`ProgramReport`] has
//! the results of programs, a [`PlacementReport`] the places for tasks, and an
//! [`ExplanationReport`] the differences between two placements. [`read()`] reads these reports
//! from their JSON, [`Comparison`] compares two reports of one kind, and [`export`](export::export)
//! writes them for services that watch for regressions. A [`Reproduction`]
//! compares simulated numbers with published numbers. All of these types contain an [`Envelope`].

// `made_up` is also a module of the tests in `tests/`, so it uses the public name of this crate.
#[cfg(test)]
extern crate self as cellworks_report;

mod columns;
pub mod compare;
mod counters;
pub mod csv;
mod envelope;
pub mod explanation;
pub mod export;
pub mod heat_map;
pub mod html;
pub mod json;
pub mod machine;
mod machine_info;
pub mod machines;
#[cfg(test)]
#[path = "../tests/made_up/mod.rs"]
mod made_up;
mod measurements;
mod median;
mod memory_matrix;
pub mod placement;
pub mod program;
mod read;
mod report;
pub mod reproduction;
mod scale;
#[cfg(feature = "schema")]
pub mod schema;
pub mod sweep;
pub mod table;
mod text;
mod views;
mod words;

pub use compare::Comparison;
pub use counters::{
    Bottleneck, Counters, FreePart, PartCounters, ResourceCounters, SpeCounters,
    table as counters_table,
};
pub use envelope::{
    Conditions, CpuLeftOut, Envelope, Environment, NotMeasured, Reason, ReasonKind, SCHEMA_VERSION,
    Trust,
};
pub use explanation::{ExplainedPair, ExplainedPlacement, ExplanationReport, LinkLoad};
pub use machine::{
    CacheInfo, CpuInfo, ElementInfo, InterconnectInfo, MachineReport, NumaNodeInfo, QuotaInfo,
};
pub use machine_info::{CellInfo, MachineInfo, Simulation};
pub use machines::{Machines, SimulatedMachine};
pub use placement::{
    CpuBinding, DRAWN_MAX, FixedTask, PairVolume, PictureDrawing, PictureLine, PlaceCpu,
    PlacementPicture, PlacementProblem, PlacementReport, PlacementTrial, PlacementTrials, Quality,
    ToolCommand,
};
pub use program::{FigureAxis, FigureCurve, ProgramFigure, ProgramReport};
pub use read::{Measured, ReadError, read};
pub use report::Report;
pub use reproduction::Reproduction;
pub use sweep::{MappingTimes, SweepInfo, SweepReport};
pub use text::{WIDTH, bandwidth, size, time, title, wrapped};
pub use views::Views;
pub use words::Words;

views::views! {
    Report: table::render, csv::render, html::render, envelope;
    ProgramReport: program::table, program::csv, program::html, envelope;
    SweepReport: sweep::table, sweep::csv, sweep::html, found.envelope;
    PlacementReport: placement::table, placement::csv, placement::html, envelope;
    ExplanationReport: explanation::table, explanation::csv, explanation::html, envelope;
    Comparison: compare::table, compare::csv, compare::html, envelope;
    Reproduction: reproduction::table, reproduction::csv, reproduction::html, envelope;
    MachineReport: machine::table, machine::csv, machine::html;
}
