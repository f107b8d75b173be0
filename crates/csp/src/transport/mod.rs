//! The transports: how requests, wake-ups and items travel if processors share no memory.
//!
//! ```text
//!   direct                                             coordinator
//!
//!   SPE a ──── getllar, putllc ────► line of the       SPE a ── outbound mailbox ──► PPE: SPE handler
//!     │                              channel             ▲                             │    ▲   steps of channels between
//!     │ step, decided here                               │                             │    │   two processes of two SPEs
//!     ├── signal 1: go on ──────────► SPE b              └────── inbound mailbox ──────┤    │
//!     │                                 │ getllar                                      ▼    │
//!     │ ◄── DMA get of the item ────────┤                       inbound mailbox      request coordinator
//!     │ ◄── signal 2: it is fetched ────┘                    SPE b ◄───────────────    all other steps
//! ```
//!
//! The [protocol](crate::channel::protocol) is the same on all machines: items are Rust values in
//! ordinary memory. If [SPEs are confined to their local
//! stores](cellworks_machine::Spe::is_confined_to_local_store), a transport also performs the
//! operations of the machine that would move items and messages. On a simulated machine these
//! operations take time. No process goes on before its message has arrived.
//!
//! | what | direct | coordinator |
//! |---|---|---|
//! | a step of a channel | an atomic update of the channel's line in main memory, by an SPE or the PPE | a request to the PPE, and an answer |
//! | an alternation checks a channel | a read of the channel's line, and an update only if the channel was ready | the same as a step |
//! | an alternation begins to wait, or ends its wait | an atomic update of its process's line | a request |
//! | a process may go on | a signal in OR mode, with a bit for the process, or to the PPE a word in the outbound mailbox; then a read of the line | an answer, in the inbound mailbox |
//! | both processes are on one SPE | nothing but instructions | the same |
//! | a process starts on another SPE | a word to the PPE, and a signal | a request, and an answer |
//!
//! **Items** wait in the local store of their writer. The reader reserves room, gets the bytes by
//! DMA, and signals the writer's SPE, which then frees the writer's room. The reader's room is
//! freed when the reading process has the item. The program of an SPE ends when its items were
//! fetched, or when no process is left that could fetch them. If a local store has no room for an
//! item, the SPE first flushes waiting items to main memory, the oldest first. Items of the PPE
//! wait in main memory. If the PPE reads an item of an SPE, it makes the SPE's MFC copy the item to
//! main memory (proxy queue).
//!
//! Read `choice` first, then `carrier` (what a process asks for), `spe` and `ppe` (the carriers of
//! both kinds of processors), and the data that they share: `exchange`, `items` with the `origin`
//! of each, `request`, and `users` of a channel. `costs` has the times of all of it.

mod carrier;
mod choice;
mod costs;
mod exchange;
mod items;
pub(crate) mod origin;
mod ppe;
mod request;
mod spe;
pub(crate) mod users;

use std::sync::Arc;

use cellworks_machine::memory::AllocateError;
use cellworks_machine::{CellMachine, Machine, OnCell, SpeId};

pub(crate) use carrier::{Asker, Carrier, MainCarrier, Stepped};
pub use choice::{Traffic, Transport};
pub(crate) use exchange::Exchange;
pub use items::NoRoomForItem;
use ppe::PpeCarrier;
pub(crate) use spe::EndOfProgram;
use spe::SpeCarrier;

use crate::network::starting::Starting;

/// The functions that make the carriers of a network on a Cell.
pub(crate) struct Carriers<M: Machine> {
    pub exchange: NewExchange<M>,
    pub of_spe: CarrierOfSpe<M::Spe>,
    /// Makes the carrier of the main process, before programs start on the SPEs.
    pub of_main: CarrierOfMain<M::Core>,
}

type NewExchange<M> = fn(&M, Transport, usize, Arc<Starting>) -> Result<Exchange, AllocateError>;

pub(crate) type CarrierOfSpe<S> = for<'a> fn(&'a S, &'a Exchange) -> Box<dyn Carrier + 'a>;

type CarrierOfMain<C> = for<'a> fn(&'a C, &'a Exchange, Vec<SpeId>) -> Box<dyn MainCarrier + 'a>;

/// The [`OnCell`] operation that returns the [`Carriers`] of a Cell.
pub(crate) struct CarriersOfCell;

impl<M: Machine> OnCell<M> for CarriersOfCell {
    type Output = Carriers<M>;

    fn run(self, _: &M) -> Carriers<M>
    where
        M: CellMachine,
    {
        Carriers {
            exchange: Exchange::new,
            of_spe: |spe, exchange| Box::new(SpeCarrier::new(spe, exchange)),
            of_main: |core, exchange, spes| Box::new(PpeCarrier::new(core, exchange, spes)),
        }
    }
}
