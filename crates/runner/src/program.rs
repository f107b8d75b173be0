//! Programs as trait objects, which hide the programs' types from other modules.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use cellworks_apps::{
    Conclusion, Done, Figure, Metric, PROGRAMS, ParameterError, Parameters, Parts, Program,
    Quantity, Repeats, Visitor, visit,
};
use cellworks_machine::Topology;
use clap::Command;
use serde_json::{Map, Value};

/// A program of any type, with its parameters.
pub trait Chosen: Any + Debug + Send + Sync {
    /// Returns the program's name: see [`Program::NAME`].
    fn name(&self) -> &'static str;

    /// Returns a title of the run: see [`Program::title`].
    fn title(&self) -> String;

    /// Checks the parameters: see [`Program::check`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Program::check`].
    fn check(&self, topology: &Topology) -> Result<(), ParameterError>;

    /// Estimates the program's address space in bytes: see [`Program::address_space_bytes`].
    fn address_space_bytes(&self) -> usize;

    /// Returns the names and values of the parameters: see [`Program::parameters`].
    fn parameters(&self) -> Parameters;
}

impl<P: Program> Chosen for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn title(&self) -> String {
        Program::title(self)
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        Program::check(self, topology)
    }

    fn address_space_bytes(&self) -> usize {
        Program::address_space_bytes(self)
    }

    fn parameters(&self) -> Parameters {
        Program::parameters(self)
    }
}

/// A shared chosen program.
pub type Choice = Arc<dyn Chosen>;

/// A program and the results of its run.
pub type Ran = (Choice, Vec<Quantity>);

/// The conclusions from several runs of one kind of program.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusions {
    /// The conclusions: see [`Program::conclusions`].
    pub conclusions: Vec<Conclusion>,
    /// The curves: see [`Program::figures`].
    pub figures: Vec<Figure>,
}

/// A kind of program, with the properties of its type.
#[derive(Clone, Copy, Debug)]
pub struct ProgramKind {
    /// The name: see [`Program::NAME`].
    pub name: &'static str,
    /// An example of flags: see [`Program::EXAMPLE`].
    pub example: &'static str,
    /// An example for one SPE: see [`Program::EXAMPLE_ON_ONE_SPE`].
    pub example_on_one_spe: Option<&'static str>,
    /// The quantities of a run: see [`Program::METRICS`].
    pub metrics: &'static [Metric],
    /// The parameter with the number of repetitions: see [`Program::REPEATS`].
    pub repeats: Option<Repeats>,
    /// Whether the program draws pictures: see [`Program::DRAWS`].
    pub draws: bool,
    /// What of the program can be placed: see [`Program::PARTS`].
    pub parts: Parts,
    flags: fn() -> Command,
    read: fn(Map<String, Value>) -> Result<Choice, serde_json::Error>,
    complete: fn(&[Choice]) -> Vec<Choice>,
    conclude: fn(&[Ran]) -> Conclusions,
}

impl ProgramKind {
    /// Returns the flags: see [`Program::flags`].
    pub fn flags(&self) -> Command {
        (self.flags)()
    }

    /// Returns the program with these parameter values.
    ///
    /// # Errors
    ///
    /// Returns an error if a parameter is missing, is unknown or has a value of another type.
    pub fn read(&self, values: Map<String, Value>) -> Result<Choice, serde_json::Error> {
        (self.read)(values)
    }

    /// Returns the programs to run for `chosen`, each only once: see [`Program::complete`].
    ///
    /// # Panics
    ///
    /// Panics if a program in `chosen` is not of this kind.
    pub fn complete(&self, chosen: &[Choice]) -> Vec<Choice> {
        (self.complete)(chosen)
    }

    /// Returns the conclusions from several runs.
    ///
    /// # Panics
    ///
    /// Panics if a program in `ran` is not of this kind.
    pub fn conclude(&self, ran: &[Ran]) -> Conclusions {
        (self.conclude)(ran)
    }
}

/// Returns the names of all kinds of programs, in alphabetical order.
pub fn names() -> &'static [&'static str] {
    PROGRAMS
}

/// Returns the kind of program with this name, or `None` if the name is unknown.
pub fn kind(name: &str) -> Option<ProgramKind> {
    visit(name, Described)
}

struct Described;

impl Visitor for Described {
    type Output = ProgramKind;

    fn visit<P: Program>(self) -> ProgramKind {
        ProgramKind {
            name: P::NAME,
            example: P::EXAMPLE,
            example_on_one_spe: P::EXAMPLE_ON_ONE_SPE,
            metrics: P::METRICS,
            repeats: P::REPEATS,
            draws: P::DRAWS,
            parts: P::PARTS,
            flags: P::flags,
            read: |values| {
                let program: P = serde_json::from_value(Value::Object(values))?;
                Ok(Arc::new(program))
            },
            complete: |chosen| {
                let chosen = chosen.iter().map(|one| typed::<P>(&**one)).collect();
                let mut each_once: Vec<P> = Vec::new();
                for program in P::complete(chosen) {
                    if !each_once.contains(&program) {
                        each_once.push(program);
                    }
                }
                let chosen = |program| Arc::new(program) as Choice;
                each_once.into_iter().map(chosen).collect()
            },
            conclude: |ran| {
                let done = ran.iter().map(|(program, quantities)| Done {
                    program: typed::<P>(&**program),
                    quantities: quantities.clone(),
                });
                let done: Vec<Done<P>> = done.collect();
                Conclusions {
                    conclusions: P::conclusions(&done),
                    figures: P::figures(&done),
                }
            },
        }
    }
}

/// Returns a copy of `chosen`, which must be of type `P`.
fn typed<P: Program>(chosen: &dyn Chosen) -> P {
    let chosen: &dyn Any = chosen;
    let typed: &P = chosen.downcast_ref().expect("all programs are of one kind");
    typed.clone()
}
