//! Simulated machines made of Cells: the PlayStation 3, QS20, QS22 and your own.
//!
//! A [`Sim`] runs the same programs as the crate `host`, on a model of the hardware with simulated
//! time. The same program, [`Description`] and seed give the same result on every computer.
//!
//! ```
//! use cellworks_machine::{Cycles, Machine, Spe, SpeId, Time};
//! use cellworks_sim::{Description, Sim};
//!
//! let sim = Sim::new(Description::built_in("qs20").unwrap()).unwrap();
//! let data = vec![1.0_f32; 1_000];
//! let (sum, end) = sim.run(|ppe| {
//!     let program = ppe.spawn(SpeId::new(3), |spe| {
//!         let staged = spe.stage(&data).unwrap();
//!         spe.compute(Cycles(250));
//!         staged.iter().sum::<f32>()
//!     });
//!     (program.join().unwrap(), ppe.now())
//! }).unwrap();
//! assert_eq!(sum, 1_000.0);
//! // The start of a program takes more than a millisecond.
//! assert!(end > Time::from_femtoseconds(1_600_000_000_000));
//! ```
//!
//! ```text
//!   Sim ── run ──► world: the state of a run
//!                    ├─ engine     events, processors, cooperative threads
//!                    │ SimSpe, SimPpe, SimMfc: the calls of programs, and their times
//!                    ├─ words      mailboxes and signals
//!                    ├─ mfc        commands, and their requests of at most a line
//!                    ├─ atomic     which SPE has which cache line
//!                    ├─ fabric     command bus, rings or another interconnect, memory, link
//!                    ├─ observe    counters, hash and trace
//!                    ├─ hazard     a watch for transfers that race
//!                    └─ watchdog   warns of programs that run for long without a call
//! ```

mod atomic;
mod bottleneck;
mod bus;
mod clock;
mod costs;
mod description;
mod engine;
mod fabric;
mod hazard;
mod index;
mod issuer;
mod judge;
mod memory;
mod mfc;
mod observe;
mod observers;
mod part;
mod ppe;
mod processor;
mod programs;
mod queue;
mod remote;
mod run;
mod setup;
mod sim;
mod spe;
mod threads;
mod time;
mod watchdog;
mod ways;
mod words;
mod world;
mod yields;

pub use bottleneck::{Bottleneck, FreePart};
pub use description::*;
pub use hazard::{Hazard, HazardWatch, MAX_HAZARDS};
pub use mfc::SimMfc;
pub use observe::{Cause, Counters, PartCounters, ResourceCounters, SpeCounters};
pub use part::Part;
pub use ppe::SimPpe;
pub use setup::{PpeAccess, Window};
pub use sim::{Sim, SimBuilder, SimError};
pub use spe::{SimHold, SimSpe};
pub use ways::Ways;

/// Reads traces of simulated runs, for the tests of a program.
pub mod trace {
    pub use crate::observe::{ReadTraceError, Slice, read_slices};
}
