//! Programs, most of them from published papers. Each program runs on every [`Machine`].
//!
//! ```text
//!   flags of `cellworks run`, lists expanded ─┐
//!   an experiment in `papers/*.toml` ─────────┴─► parameters, as data ──► Program ── check
//!                                                                            │
//!       conclusions, figures ◄── Done, Done ... ◄── Quantities ◄── run on a machine
//! ```
//!
//! A [`Program`] is a struct of its parameters. The derives of the struct make each parameter a
//! flag of `cellworks run`, a key in `papers/*.toml`, and a part of the JSON of a result. A run
//! returns [`Quantity`]s. Several runs together give [`Conclusion`]s and [`Figure`]s.
//!
//! To add a program, add a module, its type to `programs!` below, and a row to this table:
//!
//! | program | what it is | from |
//! |---|---|---|
//! | [`Aes`] | AES-128 of a buffer in main memory, with three ways of buffering | CellMT, listings 7 to 9 |
//! | [`Switch`] | the cost of a context switch of cooperative threads | CellMT, listing 11 and figure 3 |
//! | [`DmaLatency`] | the latency of a get by size, measured as `cellworks stats` does | CellMT, figure 2 |
//! | [`Overlap`] | transfers that hide behind computation, for different amounts of computation per byte | CellMT, section 4.4 |
//! | [`CommsTime`] | the cost of a communication between processes, in a ring | DSMCBE, section 3.1 |
//! | [`Prototein`] | all foldings of a prototein, from a bag of tasks | DSMCBE, section 3.2 |
//! | [`Knn`] | the nearest neighbours of all points, in a ring | DSMCBE, section 3.3 |
//! | [`Ratio`] | the speed-up of a ring, by computation for each communication | DSMCBE, section 3.4 |
//! | [`Barrier`] | a barrier of SPEs by signals, with one root SPE or one in each Cell | CellStats, section 5.2 |
//! | [`Lu`] | the LU factors of a matrix, by tasks that wait for each other | Jack Rabbit, section 5.1 |
//! | [`BarnesHut`] | gravity of bodies, by a tree that is cut into sections | Jack Rabbit, section 5.2 |
//! | [`Mandelbrot`] | the Mandelbrot set, in rows that take very different times | Jack Rabbit, section 5.3 |
//! | [`Lookup`] | look-ups that follow pointers: plain, prefetched by hand and interleaved | of no paper |
//! | [`Server`] | clients, workers, a timer and a stop signal in one alternation | of no paper |
//!
//! The modules [`lu`], [`barnes_hut`] and [`mandelbrot`] also have the computations of these
//! programs, as functions over slices. The module [`exchange`] has the benchmark of `cellworks map
//! ring`.
//!
//! CellMT is Beltran and others, *CellMT: A cooperative multithreading library for the Cell/B.E.*
//! (HiPC 2009); DSMCBE is Skovhede and others, *Programming the CELL-BE using CSP* (CPA 2011);
//! CellStats is Abellán and others, *Characterizing the basic synchronization and communication
//! operations in Dual Cell-based Blades through CellStats* (2009); Jack Rabbit is a master's thesis
//! on a work queue for the Cell.

mod aes;
pub mod barnes_hut;
mod barrier;
mod blocks;
mod clock;
mod commstime;
mod deployment;
mod dma_latency;
mod error;
pub mod exchange;
mod figure;
mod gang;
mod knn;
mod lookup;
pub mod lu;
pub mod mandelbrot;
mod overlap;
mod picture;
mod placement;
mod prototein;
mod ratio;
mod ring;
mod server;
mod speedup;
mod switch;
mod workers;

use std::fmt::Debug;

use cellworks_machine::{Machine, Topology};
use clap::{Args, Command};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use barrier::Roots;
pub use blocks::{Buffering, Staging};
pub use cellworks_csp::{NetworkError, Transport};
pub use cellworks_tasks::{PoolError, Scheduler};
pub use deployment::Deployment;
pub use error::{ParameterError, ProgramError};
pub use figure::{Axis, Curve, Figure};
pub use lookup::{Method, Structure};
pub use picture::{Draw, Picture};
pub use placement::Placement;
pub use prototein::{Bag, PROTOTEIN_BEADS_MAX};
pub use workers::{OnOff, Workers};

/// The quantities of a run, or why it has none.
pub type RunResult = Result<Vec<Quantity>, ProgramError>;

/// A program with its parameters. A run of the program returns [`Quantity`]s.
///
/// Each field of the struct is a parameter. The name of the field is the name of the flag, of the
/// key in `papers/*.toml`, and of the parameter in the JSON of a result. `#[arg(long = "...")]`
/// gives the flag another name. The documentation of the field is the help text.
///
/// In `cellworks run` each flag takes a list of values, and the program runs once for each
/// combination. In whole numbers `k` means 1,000, or 1,024 if the field is `size` or its name ends
/// in `bytes`. A parameter of type `f64` is a number of cycles.
pub trait Program:
    Args + Clone + Debug + DeserializeOwned + PartialEq + Send + Sync + Serialize + 'static
{
    /// The name of the program in the command.
    const NAME: &'static str;

    /// Example flags of `cellworks run` for messages. They work on every machine with enough SPEs.
    const EXAMPLE: &'static str;

    /// Example flags for a machine with one SPE. If this is `None`, messages show `EXAMPLE` with
    /// `--spes` and `--workers` set to 1.
    const EXAMPLE_ON_ONE_SPE: Option<&'static str> = None;

    /// The quantities that a run can find.
    const METRICS: &'static [Metric];

    /// The parameter that is the number of repetitions, if there is one.
    const REPEATS: Option<Repeats> = None;

    /// Whether the program [draws](Self::run_as) pictures.
    const DRAWS: bool = false;

    /// What of the program can be placed, and counted: see [`run_as`](Self::run_as).
    const PARTS: Parts;

    /// Returns a title of a run, in a few words.
    fn title(&self) -> String;

    /// Checks that the program can run on a machine with this topology.
    ///
    /// # Errors
    ///
    /// Returns the [`ParameterError`] for a wrong parameter.
    fn check(&self, topology: &Topology) -> Result<(), ParameterError>;

    /// Returns the estimated bytes of address space for the data and the stacks of a run.
    fn address_space_bytes(&self) -> usize {
        0
    }

    /// Runs the program once on a machine, and returns the quantities. Calls `draw` with a picture
    /// after each frame or step, if the program [draws](Self::DRAWS). `parts` places the
    /// [parts](Self::PARTS) of the program, and receives what they send to each other or take from
    /// each other. A program without parts leaves it as it is.
    ///
    /// # Errors
    ///
    /// Returns [`ProgramError`] if the run is not possible, fails, or has a wrong result, and if
    /// the placement is not of as many SPEs as the network has units or the pool has workers.
    ///
    /// # Panics
    ///
    /// Panics if the machine does not have an SPE of the placement.
    fn run_as<M: Machine>(&self, machine: &M, draw: Draw<'_>, parts: &mut Deployment) -> RunResult;

    /// Runs as [`run_as`](Self::run_as) does, without pictures and with no placement.
    ///
    /// # Errors
    ///
    /// As for [`run_as`](Self::run_as).
    fn run<M: Machine>(&self, machine: &M) -> RunResult {
        self.run_as(machine, &mut |_| {}, &mut Deployment::default())
    }

    /// Sets the parameters that the chosen programs leave unset, and adds the programs that
    /// conclusions need. Of equal programs in the returned list, only one runs.
    fn complete(chosen: Vec<Self>) -> Vec<Self> {
        chosen
    }

    /// Returns the conclusions from several runs, in addition to the quantities of each run.
    fn conclusions(_: &[Done<Self>]) -> Vec<Conclusion> {
        Vec::new()
    }

    /// Returns the curves of several runs.
    fn figures(done: &[Done<Self>]) -> Vec<Figure>;

    /// Returns the flags, as the fields of the struct define them.
    fn flags() -> Command {
        Self::augment_args(Command::new(Self::NAME))
    }

    /// Returns the names and values of the parameters, in the order of the fields.
    ///
    /// # Panics
    ///
    /// Never: numbers and texts can be written as JSON.
    fn parameters(&self) -> Parameters {
        let values = serde_json::to_value(self).expect("parameters are numbers and texts");
        let flags = Self::flags();
        let names = flags.get_arguments().map(|flag| flag.get_id().as_str());
        names
            .filter_map(|name| Some((name.to_owned(), values.get(name)?.clone())))
            .collect()
    }
}

/// The parts of a program that can be placed on SPEs, and that send something to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The processes of a network.
    Processes,
    /// The workers of a pool, which take work from each other. They keep their own SPE each.
    Workers,
    /// The program has no such parts. The text says why, after "because".
    None(&'static str),
}

/// The names and values of parameters.
pub type Parameters = Vec<(String, Value)>;

/// The default number of repetitions. The default is larger on this computer than on a simulated
/// machine, because times on this computer vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// The name of the parameter that is the number of repetitions.
    pub parameter: &'static str,
    /// The default on this computer, as the text of a flag, such as `10k`.
    pub on_this_computer: &'static str,
    /// The default on a simulated machine, on which times do not vary.
    pub simulated: &'static str,
}

/// A quantity that a program can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name, such as `bandwidth`.
    pub name: &'static str,
    /// The unit, such as `bytes/s`.
    pub unit: &'static str,
}

impl Metric {
    pub(crate) const fn new(name: &'static str, unit: &'static str) -> Self {
        Self { name, unit }
    }

    /// Returns a quantity with the name and unit of this metric.
    pub const fn measured(self, value: f64) -> Quantity {
        Quantity {
            name: self.name,
            value,
            unit: self.unit,
        }
    }
}

/// A number that a program has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The name, such as `bandwidth`.
    pub name: &'static str,
    /// The value.
    pub value: f64,
    /// The unit, such as `bytes/s`.
    pub unit: &'static str,
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Done<P> {
    /// The program that has run.
    pub program: P,
    /// The quantities that the run has found.
    pub quantities: Vec<Quantity>,
}

/// A conclusion from several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The value of the conclusion, with its name and unit.
    pub quantity: Quantity,
    /// The parameters for which the conclusion holds: all parameters of a run, or fewer.
    pub parameters: Parameters,
}

impl<P> Done<P> {
    /// Returns the value of a quantity of this run, if the run has found the quantity.
    pub fn value(&self, name: &str) -> Option<f64> {
        let named = self
            .quantities
            .iter()
            .find(|quantity| quantity.name == name);
        named.map(|quantity| quantity.value)
    }
}

/// An operation that [`visit`] does on a type of program.
pub trait Visitor {
    /// The result of the operation.
    type Output;

    /// Does the operation on the type `P`.
    fn visit<P: Program>(self) -> Self::Output;
}

macro_rules! programs {
    ($($module:ident::$program:ident),*) => {
        $(pub use $module::$program;)*

        /// The names of all programs, in alphabetical order.
        pub const PROGRAMS: &[&str] = &[$($program::NAME),*];

        /// Does an operation on the program `name`. Returns `None` if there is no such program.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(if name == $program::NAME {
                return Some(visitor.visit::<$program>());
            })*
            None
        }
    };
}

programs![
    aes::Aes,
    barnes_hut::BarnesHut,
    barrier::Barrier,
    commstime::CommsTime,
    dma_latency::DmaLatency,
    knn::Knn,
    lookup::Lookup,
    lu::Lu,
    mandelbrot::Mandelbrot,
    overlap::Overlap,
    prototein::Prototein,
    ratio::Ratio,
    server::Server,
    switch::Switch
];
