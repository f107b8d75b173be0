//! What the command and the papers run on a machine, of whichever type the machine is.
//!
//! ```text
//!   a name and values ──► Kind ──► dyn Chosen ─┐
//!   a plan of `stats` ─────────────────────────┼──► dyn Runner ──► numbers
//!   an exchange of `mapping` ──────────────────┘    (a Host, a Sim, ...)
//! ```
//!
//! Programs, measurements and exchanges are written once, and compiled for each type of machine: that
//! makes them fast. What only chooses them, such as arguments, sessions and files of papers, has a
//! [`Runner`] and a [`Chosen`] instead, which know these types. So it is compiled once, and the
//! programs are compiled once for simulated machines ([`simulated`]), though two crates run them.
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
pub use runner::{Draw, Runner, simulated};
