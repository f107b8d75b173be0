//! Programs of published papers, written once against [`Machine`] and run on every machine.
//!
//! ```text
//!   parameters ──► Program ── check ──► run on a machine ──► Quantities ─┐
//!                     │        (one value of each parameter)             │
//!                     └── several of them: Done, Done, Done ... ◄────────┘
//!                               │
//!                               ├── conclusions: what follows from all of them
//!                               └── figures: their curves
//! ```
//!
//! A [`Program`] is a value with all its parameters, and one run of it gives [`Quantity`]s. Lists of
//! values, progress, tables and pages are for the command `cellworks run`, which has one way to do
//! these for all programs.
//!
//! | program | what it is | from |
//! |---|---|---|
//! | [`Aes`] | AES-128 of a buffer in main memory, with three ways of buffering | CellMT, listings 7 to 9 |
//! | [`Switch`] | what a context switch of cooperative threads costs | CellMT, listing 11 and figure 3 |
//! | [`Overlap`] | how far transfers hide behind computation, by computation a byte | CellMT, section 4.4 |
//! | [`CommsTime`] | what a communication between processes costs, in a ring | DSMCBE, section 3.1 |
//! | [`Prototein`] | all foldings of a prototein, from a bag of tasks | DSMCBE, section 3.2 |
//! | [`Knn`] | the nearest neighbours of all points, in a ring | DSMCBE, section 3.3 |
//! | [`Ratio`] | how much computation a communication needs beside it, in a ring | DSMCBE, section 3.4 |
//! | [`Barrier`] | a barrier of SPEs by signals, with one root or one in each Cell | CellStats, section 5.2 |
//!
//! CellMT is Beltran and others, *CellMT: A cooperative multithreading library for the Cell/B.E.* (HiPC 2009); DSMCBE is
//! Skovhede and others, *Programming the CELL-BE using CSP* (CPA 2011); CellStats is Abellán and others,
//! *Characterizing the basic synchronization and communication operations in Dual Cell-based Blades through CellStats* (2009).

mod aes;
mod barrier;
mod blocks;
mod clock;
mod commstime;
mod error;
mod figure;
mod gang;
mod knn;
mod overlap;
mod placement;
mod prototein;
mod ratio;
mod ring;
mod speedup;
mod switch;

use std::borrow::Cow;

use cellworks_machine::{Machine, Topology};

pub use aes::{Aes, SPU_AES_CYCLES_PER_BYTE};
pub use barrier::{Barrier, Roots};
pub use blocks::Buffering;
pub use cellworks_csp::Transport;
pub use clock::clock_rate_hz;
pub use commstime::CommsTime;
pub use error::{ParameterError, ProgramError};
pub use figure::{Axis, Curve, Figure, against};
pub use knn::Knn;
pub use overlap::Overlap;
pub use placement::Placement;
pub use prototein::{PROTOTEIN_BEADS_MAX, Prototein};
pub use ratio::Ratio;
pub use switch::Switch;

/// A program with its parameters, that gives numbers.
pub trait Program: Sized {
    /// What the command calls it.
    const NAME: &'static str;

    /// What one run of it is, in a few words.
    fn title(&self) -> String;

    /// The circumstances of its quantities: names and values, the ones that people ask for first in front.
    fn parameters(&self) -> Parameters;

    /// Whether it can run on a machine.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] names the parameter that is wrong.
    fn check(&self, topology: &Topology) -> Result<(), ParameterError>;

    /// Runs once, after a [check](Self::check).
    ///
    /// # Errors
    ///
    /// [`ProgramError`] if it cannot run on this machine, or the run or its result was wrong.
    fn run<M: Machine>(&self, machine: &M) -> Result<Vec<Quantity>, ProgramError>;

    /// What follows from several runs, beside the quantities of each.
    fn conclusions(_: &[Done<Self>]) -> Vec<Conclusion> {
        Vec::new()
    }

    /// The curves of several runs.
    fn figures(done: &[Done<Self>]) -> Vec<Figure>;
}

/// The circumstances of a quantity: names and values.
pub type Parameters = Vec<(&'static str, Value)>;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// How many of something.
    Count(u64),
    /// A number of something that comes in parts.
    Number(f64),
    /// A choice, or a text.
    Text(Cow<'static, str>),
}

/// A number that a program has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// What it is, such as `bandwidth`.
    pub name: &'static str,
    /// How much.
    pub value: f64,
    /// Of what, such as `bytes/s`.
    pub unit: &'static str,
}

/// A run that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Done<P> {
    /// What has run.
    pub program: P,
    /// What it found.
    pub quantities: Vec<Quantity>,
}

/// What follows from several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The number.
    pub quantity: Quantity,
    /// Under which circumstances; where they are those of a run, it belongs to that run.
    pub parameters: Parameters,
}

impl Value {
    /// The number, unless it is a text.
    pub fn as_number(&self) -> Option<f64> {
        match *self {
            Self::Count(count) => Some(count as f64),
            Self::Number(number) => Some(number),
            Self::Text(_) => None,
        }
    }
}

impl<P> Done<P> {
    /// The value of one of its quantities.
    pub fn value(&self, name: &str) -> Option<f64> {
        let named = self
            .quantities
            .iter()
            .find(|quantity| quantity.name == name);
        named.map(|quantity| quantity.value)
    }
}
