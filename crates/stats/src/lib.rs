//! Measures the cost of a machine's primitives: starting programs, mailboxes, signals, DMA and
//! atomic operations. The crate is the benchmark CellStats (Abellán, Fernández, Acacio:
//! *Characterizing the basic synchronization and communication operations in dual Cell-based
//! blades*) for any [`Machine`].
//!
//! ```text
//!   Request ── plan ──► Plan ── measure(machine) ──► Measurement ── advise ──► Advice
//!   the paper's flags   checked                      latency, bandwidth, circumstances
//!      ▲
//!   characterize(topology): the requests that describe a whole machine
//!                          findings(measurements, machine): what follows from all of them
//! ```
//!
//! A matrix has a figure for each pair of SPEs, or for each memory module as seen from each Cell or
//! NUMA node. [`Visits`] measures a matrix.
//!
//! Every measurement verifies the data that its operations moved, and returns an error if the data
//! is wrong or the result is impossible.
//!
//! [`Machine`]: cellworks_machine::Machine

mod advice;
mod characterize;
mod error;
pub mod figures;
mod findings;
mod function;
mod measure;
mod plan;
mod program;
mod report;
mod request;
mod sample;
mod settings;
mod shuffle;
mod state;
mod storage;
#[cfg(test)]
mod test_data;
mod unsteady;

pub use advice::advise;
pub use characterize::characterize;
pub use error::{Impossible, MeasureError, RequestError, SpeError, Untrusted};
pub use findings::findings;
pub use function::{Function, Polling, Primitive};
pub use measure::{Readings, Visits, measure};
pub use plan::Plan;
pub use report::{
    Advice, Between, Buffers, Choice, Doubt, Finding, Home, Interval, Latency, Matrix, MatrixClass,
    Measured, Measurement, MemoryCell, MemoryMatrix, MemoryRow, PairTime, Parameters, Reference,
    State, Storage,
};
pub use request::{Count, Iterations, Limits, Request};
pub use settings::{Setting, SettingView, Settings};
pub use state::STATES_RATIO_MIN;
pub use storage::classify_storage;
pub use unsteady::unsteady;
