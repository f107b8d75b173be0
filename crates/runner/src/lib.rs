//! Runs programs, measurements and exchanges on a machine of any type. The command and the papers
//! use this crate.
//!
//! ```text
//!   a name and values ──► Kind ──► dyn Chosen ─┐
//!   a plan of `stats` ─────────────────────────┼──► dyn Runner ──► numbers
//!   an exchange of `mapping` ──────────────────┘    (a Host, a Sim, ...)
//! ```
//!
//! Programs, measurements and exchanges are written once. They are compiled for each type of
//! machine, because that makes them fast. The code around them, such as arguments, sessions and
//! files of papers, uses a [`Runner`] and a [`Chosen`], which hide these types. So that code is
//! compiled once. The programs are compiled once for simulated machines ([`simulated`]) and once
//! for this computer ([`this_computer`]). No other crate compiles them again.
//!
//! ```
//! use cellworks_machine::Machine;
//! use cellworks_runner::{kind, simulated};
//! use cellworks_sim::{Description, Sim};
//!
//! let switch = kind("switch").unwrap();
//! let values = serde_json::json!({ "threads": 2, "yields": 100 });
//! let program = switch.read(values.as_object().unwrap().clone())?;
//! let sim = Sim::new(Description::built_in("qs20").unwrap());
//! program.check(sim.topology())?;
//! let quantities = simulated(&sim).run_program(&*program, None)?;
//! assert_eq!(quantities[0].name, "switch");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dma_latency;
mod program;
mod runner;

pub use program::{Choice, Chosen, Conclusions, Kind, Ran, kind, names};
pub use runner::{Draw, Runner, simulated, this_computer};
