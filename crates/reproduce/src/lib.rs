//! Published numbers of Cell machines as data, and the experiments that simulate them.
//!
//! ```text
//!   papers/*.toml ──► Paper ── its numbers ──► Simulations, each once ── on all cores ──► Outcomes
//!                       │                                                                    │
//!                       └── published value, unit, source ──────► Reproduction ◄── value ────┘
//! ```
//!
//! An [`Experiment`] simulates a number: by a program that runs on any machine, or by arithmetic
//! with the results of several programs. The values of some published numbers are kept back from
//! this project, so that the model must predict them.
//!
//! [`sensitivity`] computes how much known numbers change with the fitted parameters of a machine.

mod experiment;
mod figure;
mod paper;
mod quantities;
mod reproduce;
mod run;
mod sensitivity;

pub use experiment::{
    Bounce, Combination, Combined, Experiment, Gives, Ring, RingStatistic, Run, ScalesFrom, Stats,
    Stream,
};
pub use figure::{Figure, Line, Panel};
pub use paper::{Number, Paper, PaperError, Reading, Relation, Shape, Unit};
pub use quantities::{fitted, with_quantity};
pub use reproduce::{Extent, Plan, Reproducing, UnknownMachine};
pub use run::{Descriptions, Simulated, built_in, simulate_rings};
pub use sensitivity::{Change, Moved, sensitivity};
