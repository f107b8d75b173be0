//! The interface of machines made of *cells*: cores that each have a small local store and move
//! data explicitly, by DMA, mailboxes and signals. Programs are written against [`Spe`] and [`Ppe`]
//! and run on every [`Machine`], at two levels:
//!
//! - **Every machine**: SPEs read and change slices of main memory by staging ([`Spe::stage`] and
//!   similar methods), and run cooperative threads. Programs cannot race, because the borrow
//!   checker guards staged slices. New programs should use this level.
//! - **A Cell** ([`CellMachine`], [`CellSpe`], [`Machine::on_cell`]): SPEs also have mailboxes,
//!   signals, a decrementer and the raw level ([`Mfc`]), with DMA commands, tag groups, fences,
//!   lists and reservations. This level is for measuring tools and for programs ported from C.
//!
//! ```text
//!   main program           Ppe ── spawn ──► program on an SPE
//!                           │                 │ stage, stream, threads      every machine
//!                           │                 │ mfc(): commands, lists      a Cell
//!                           └── mailboxes, signals, atomics ──┘            a Cell
//! ```
//!
//! SPEs and the PPE wait and wake by the methods of [`Wait`] and [`Wake`]. While a thread waits,
//! the other cooperative threads of its core run. If all threads wait, the run ends with
//! [`RunError::Deadlock`], which lists what each thread waits for.

mod activity;
mod atomic;
pub mod barrier;
mod capabilities;
mod error;
mod flows;
mod id;
mod interleave;
mod latency_table;
mod local_store;
pub mod mailbox;
pub mod memory;
pub mod mfc;
mod panic_payload;
mod place;
mod plain_data;
mod ppe;
mod problem_state;
mod program;
mod program_panic;
mod prose;
mod run_id;
mod signal;
pub mod sizes;
mod spe;
mod staging;
mod sync;
mod threads;
mod time;
mod topology;
mod wake;

pub use bytemuck;

pub use activity::Activity;
pub use atomic::{AtomicError, AtomicOp};
pub use capabilities::Capabilities;
pub use error::{Cancelled, RunEnd, RunError, Running, Waiting};
pub use flows::{Flow, Flows, Party};
pub use id::{CellId, ModuleId, Processor, SpeId, ThreadId};
pub use interleave::{InFlight, Interleave, InterleaveError, Interleaved, InterleavedSpe};
pub use latency_table::{LatencyTable, LatencyTableError, latency_table};
pub use local_store::space::{Holder, NoRoom, Space};
pub use local_store::{
    LOCAL_STORE_BYTES, LocalBuffer, LocalStore, LocalStoreUse, LocalStoreWatch, StageError,
};
pub use panic_payload::{PanicPayload, Payload};
pub use place::{At, Places};
pub use plain_data::PlainData;
pub use ppe::core::{CellPpeCore, PpeCore};
pub use ppe::{CellMachine, Handle, Machine, OnCell, Ppe};
pub use problem_state::ProblemStateRegister;
pub use program::{Outcome, Program};
pub use program_panic::ProgramPanic;
pub use run_id::RunId;
pub use signal::{SignalMode, SignalRegister};
pub use spe::Spe;
pub use spe::cell::CellSpe;
pub use spe::core::{NewThread, SpeCore, StageRequest, StartThread};
pub use spe::mfc::{LateFault, Mfc, TryIssueError, fetch_update_words};
pub use staging::{Pending, PendingMut, Staged, StagedMut, Stream};
pub use threads::{StackError, THREAD_STACK_BYTES, ThreadBuilder, ThreadHandle, ThreadScope};
pub use time::{Cycles, Decrementer, Span, Time, Timebase};
pub use topology::{Distance, SpeSite, Topology};
pub use wake::{Outside, Outsiders, RemoteWaker, Sleeper, Wait, Wake};
