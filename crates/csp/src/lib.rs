//! Networks of processes that communicate through channels (Communicating Sequential Processes).
//!
//! Processes are sequential code and share no data: an item that is written to a channel belongs to
//! the process that reads the item. A network runs on any [machine](cellworks_machine): this
//! computer or a simulated Cell. The design follows DSMCBE (see the source below).
//!
//! ```text
//!   Channel::new().one_to_one() ──► Writer ═══════ rendezvous or buffer ═══════► Reader
//!                                     │ write(process, item)      read(process) │
//!   Network: process(name, SPE, f) ───┴── Process ── Alternation ───────────────┘
//! ```
//!
//! - [`Channel`] makes channels. The type of an [end](Writer) determines how many processes may
//!   have the end, and whether the end may leave its SPE.
//! - [`Channel::local`] makes channels for the processes of a [group](Network::group) on one SPE.
//! - [`Input`] and [`Output`] are traits of ends, for processes that work with ends of any type.
//! - [`Alternation`] waits until one of several channels can be read or written.
//! - [`Reader::try_read`] and [`Writer::try_write`] do not wait. [`Reader::read_until`] and
//!   [`Writer::write_until`] wait until a deadline. [`Reader::items`] is an iterator.
//! - An [`Item`] is a value that a channel carries: a number, a collection, or an end of a channel.
//! - [`Process::create`] publishes a channel under an id. Other processes get its ends by the id.
//! - A channel ends when a process [poisons](Writer::poison) or [closes](Writer::close) it, or when
//!   the last reader or the last writer is dropped. Waiting writers get their items back.
//! - [`Process::spread_poison`] passes poison on to other channels.
//! - [`Network`] places processes on SPEs, runs them, and reports deadlocks.
//! - [`Network::starter`] lets processes start other processes while the network runs.
//! - [`processes`] has standard processes, such as [`map`](processes::map).
//! - [`OpenNetwork`] is a network of programs that run already, such as the tasks of a pool.
//! - [`Gate`] lets an OS thread outside the machine communicate with a network. With the feature
//!   `async`, `Gate::into_async` does the same for a task of an async runtime.
//! - [`ProcessError`] is the reason why a process ends before its work is done.
//!
//! Processes of one core share its floating-point control bits, such as the rounding mode. A
//! process that changes them must restore them before it communicates, waits or yields.
//!
//! # Data that several processes change
//!
//! Let one process, the server, own data that several processes change. The other processes write
//! requests to the server and read its answers. This example counts words in a server and, for
//! comparison, in a map under a lock:
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Mutex;
//!
//! use cellworks_csp::{Channel, Item, Network, Place, Process, ProcessError, Reader, Writer};
//! use cellworks_machine::{Machine, SpeId};
//!
//! enum Request {
//!     Count(&'static str),
//!     /// The server answers the client that has this number.
//!     HowOften(&'static str, usize),
//! }
//!
//! impl Item for Request {}
//!
//! fn server(
//!     process: &Process<impl Place>,
//!     mut requests: Reader<Request>,
//!     mut answers: Vec<Writer<u32>>,
//! ) -> Result<(), ProcessError> {
//!     let mut counts = BTreeMap::new();
//!     // Ends when the last client has ended.
//!     while let Ok(request) = requests.read(process) {
//!         match request {
//!             Request::Count(word) => *counts.entry(word).or_insert(0) += 1,
//!             Request::HowOften(word, client) => {
//!                 let count = counts.get(word).copied().unwrap_or(0);
//!                 answers[client].write(process, count)?;
//!             }
//!         }
//!     }
//!     Ok(())
//! }
//!
//! fn count_words<M: Machine>(machine: &M, texts: [&'static str; 2]) {
//!     let counts_under_lock = Mutex::new(BTreeMap::new());
//!     let (requests, to_serve) = Channel::new().any_to_one();
//!     let mut answers = Vec::new();
//!     let mut network = Network::on(machine);
//!     for (client, text) in texts.into_iter().enumerate() {
//!         let (answer, mut answered) = Channel::new().one_to_one();
//!         answers.push(answer);
//!         let (mut requests, under_lock) = (requests.clone(), &counts_under_lock);
//!         network.process(format!("client {client}"), SpeId::new(1), move |process| {
//!             for word in text.split_whitespace() {
//!                 *under_lock.lock().unwrap().entry(word).or_insert(0) += 1;
//!                 requests.write(process, Request::Count(word))?;
//!             }
//!             for word in text.split_whitespace() {
//!                 requests.write(process, Request::HowOften(word, client))?;
//!                 assert!(answered.read(process)? > 0);
//!             }
//!             Ok(())
//!         });
//!     }
//!     drop(requests);
//!     network.process("server", SpeId::new(0), |process| server(process, to_serve, answers));
//!     network.run().unwrap();
//!     # assert_eq!(counts_under_lock.into_inner().unwrap()["a"], 3);
//! }
//! # let host = cellworks_host::Host::builder().spes(2).build().unwrap();
//! # count_words(&host, ["a rose is a rose", "is a"]);
//! ```
//!
//! The server has three advantages over the lock:
//!
//! - If SPEs are confined to their local stores, a simulated machine counts the time of the server,
//!   but not that of a lock: a lock is in memory that these SPEs do not share.
//! - The server may wait. A process that holds a lock must neither wait nor yield, because another
//!   process of its core could then block on the lock, and with it the whole core.
//! - The report of a deadlock names the server.
//!
//! With the feature `parameters`, [`Transport`] implements traits of clap and of serde.
//!
//! Source: Skovhede, Larsen and Vinter, *Programming the CELL-BE using CSP* (CPA 2011).

// Each folder has a `mod.rs`, whose head is a drawing and the order in which to read its files.
//
//   ends ──► way ──► channel       the ends of a channel, the ways of an item, what the ends share
//     │       │         │
//     └───────┴────┬────┘
//                  ▼
//               process ──► transport       who waits and is woken, and how without shared memory
//                  ▲
//   network ───────┘                        places processes and runs them
//     └──► named, outside, counting, deadlock
//
// Read `process`, `ends`, `way`, `channel` and `network` in this order, and the rest in any order.
// `sync` has the types of std that models replace.

mod channel;
mod counting;
mod deadlock;
mod ends;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
mod named;
mod network;
mod outside;
mod process;
pub mod processes;
mod sync;
mod transport;
mod way;

pub use counting::Counted;
pub use deadlock::{Deadlock, Stuck};
pub use ends::alternation::Alternation;
pub use ends::alternation::tokens::{AsGuard, Chosen, GuardEnded, ReadGuard, WriteGuard};
pub use ends::ended::{Ended, Refused, Unsent};
pub use ends::input_output::{Ends, Input, Output};
pub use ends::item::{Foreign, Item};
pub use ends::{Any, Channel, Items, Kind, Local, One, Reach, Reader, Shared, Unwritten, Writer};
pub use named::error::{Mistake, NamedError};
pub use network::Network;
pub use network::error::NetworkError;
pub use network::group::Group;
pub use network::open::OpenNetwork;
pub use network::start::{Started, Starter};
pub use outside::GateError;
#[cfg(feature = "async")]
pub use outside::asynchronous::{AsyncGate, AsyncReader, AsyncWriter, Reading, Writing};
pub use outside::gate::Gate;
pub use outside::place::OutsidePlace;
pub use process::Process;
pub use process::error::ProcessError;
pub use process::place::{Place, PpePlace};
pub use transport::{NoRoomForItem, Traffic, Transport};
