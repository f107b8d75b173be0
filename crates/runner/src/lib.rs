//! Runs programs, measurements and exchanges (tasks that send packets to each other) on a machine
//! of any type.
//!
//! ```text
//!   a name and values ──► Kind ──► dyn Chosen ─┐
//!   a plan of `stats` ─────────────────────────┼──► dyn Runner ──► numbers
//!   an exchange of `mapping` ──────────────────┘    (a Host, a Sim, ...)
//! ```
//!
//! Programs, measurements and exchanges are generic over the machine. For speed, the compiler makes
//! two copies: one for simulated machines ([`simulated`]) and one for this computer
//! ([`this_computer`]). All other code, which reads arguments and stores results, uses [`Runner`]
//! and [`Chosen`], which hide the types. Therefore no other crate compiles the programs again.
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
