//! What the primitives of a machine made of cells cost: starting programs, mailboxes, signals, DMA
//! and atomic operations. It is CellStats (Abellán, Fernández, Acacio: *Characterizing the basic
//! synchronization and communication operations in dual Cell-based blades*), for any [`Machine`].
//!
//! ```text
//!   Request ── plan ──► Plan ── measure(machine) ──► Measurement ── advise ──► Advice
//!   the paper's flags   checked                      latency, bandwidth, circumstances
//!      ▲
//!   characterize(topology): the requests that describe a whole machine
//!                          findings(measurements, capabilities): what follows from all of them
//! ```
//!
//! A matrix, of the ways between all pairs of SPEs or from SPEs to memory modules, is asked for and
//! planned as any function, and measured by [`Visits`].
//!
//! Every measurement verifies what its operations left behind. Where that is wrong there is an
//! error and no number. Nor is there one where the result cannot be true.
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
mod unsteady;

pub use advice::advise;
pub use characterize::characterize;
pub use error::{Impossible, MeasureError, RequestError, SpeError, Untrusted};
pub use findings::findings;
pub use function::{Function, Polling, Primitive};
pub use measure::{Readings, Visits, measure};
pub use plan::Plan;
pub use report::{
    Advice, Between, Buffers, Finding, Home, Interval, Latency, Matrix, MatrixClass, Measured,
    Measurement, MemoryCell, MemoryMatrix, MemoryRow, Parameters, Reference, State, Storage,
};
pub use request::{Count, Iterations, Limits, Request};
pub use settings::{Setting, Settings, Shown};
pub use state::APART;
pub use storage::name_storage;
pub use unsteady::unsteady;
