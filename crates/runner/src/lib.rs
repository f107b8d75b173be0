//! Runs programs, measurements and exchanges (tasks that send packets) on a machine of any type.
//!
//! ```text
//!   a name and values ──► Kind ──► dyn Chosen ─┐
//!   a plan of `stats` ─────────────────────────┼──► dyn Runner ──► numbers
//!   an exchange of `mapping` ──────────────────┘    (a Host, a Sim, ...)
//! ```
//!
//! For speed, programs, measurements and exchanges are compiled twice: for simulated machines
//! ([`simulated`]) and for this computer ([`this_computer`]). Other crates use [`Runner`] and
//! [`Chosen`], which hide the types, so that these crates do not compile the programs again. Work
//! of another crate runs on a machine of any type by [`AnyCell`].
//!
//! ```
//! use cellworks_machine::Machine;
//! use cellworks_runner::{kind, simulated};
//! use cellworks_sim::{Description, Sim};
//!
//! let switch = kind("switch").unwrap();
//! let values = serde_json::json!({ "threads": 2, "yields": 100 });
//! let program = switch.read(values.as_object().unwrap().clone())?;
//! let sim = Sim::new(Description::built_in("qs20").unwrap()).unwrap();
//! program.check(sim.topology())?;
//! let quantities = simulated(&sim).run_program(&*program)?;
//! assert_eq!(quantities[0].name, "switch");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod any_cell;
mod program;
mod runner;

pub use any_cell::{AnyCell, CellWork};
pub use program::{Choice, Chosen, Conclusions, ProgramKind, Ran, kind, names};
pub use runner::{Runner, simulated, this_computer};

/// The former name of [`ProgramKind`].
#[deprecated(note = "use `ProgramKind`")]
pub type Kind = ProgramKind;
