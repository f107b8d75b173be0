//! How requests, decisions, wake-ups and items travel where processors share no memory.
//!
//! ```text
//!   direct                                             coordinator
//!
//!   SPE a ──── getllar, putllc ────► line of the       SPE a ── outbound mailbox ──► PPE: SPE handler
//!     │                              channel             ▲                             │    ▲   steps of channels between
//!     │ step, decided here                               │                             │    │   two processes of two SPEs
//!     ├── signal 1: who may go on ──► SPE b              └────── inbound mailbox ──────┤    │
//!     │                                 │ getllar                                      ▼    │
//!     │ ◄── DMA get of the item ────────┤                       inbound mailbox      request coordinator
//!     │ ◄── signal 2: it is fetched ────┘                    SPE b ◄───────────────    all other steps
//! ```
//!
//! The protocol is the same everywhere, and so are the items: Rust values, which change their owner in ordinary memory
//! (`protocol`). What is added here where
//! [SPEs are confined to their local stores](cellworks_machine::Spe::is_confined_to_local_store)
//! are the operations of the machine that would carry them, and that nobody goes on before what carries the news has arrived. On a
//! simulated machine these operations take time.
//!
//! | what | direct | coordinator |
//! |---|---|---|
//! | a step of a channel | an atomic update of the channel's line, in main memory; the PPE does the same | a request to the PPE, and an answer |
//! | an alternation looks at a channel | a read of the channel's line; the update only if something was there | the same as a step |
//! | an alternation begins to wait, or is taken out of a wait | an atomic update of its process's line | a request |
//! | somebody may go on | a signal, in OR mode, with a bit for the process; to the PPE a word in the outbound mailbox; who was woken then reads the line | an answer, in the inbound mailbox |
//! | both processes are on one SPE | nothing but instructions | the same |
//!
//! **Items** wait in the local store of their writer, which reserves the room when the item is to be written. The reader makes
//! room, gets the bytes by DMA, and signals the writer's SPE, which frees its room; then the item belongs to the reader's
//! program, which the room is given back to. The program of an SPE does not end before its items were fetched, or nobody is
//! left who could. An SPE without room for an item puts those of its own that wait to main
//! memory first, the oldest first, and readers get them there. The PPE's items wait in main memory; it has the MFC of the writer's
//! SPE put others there (proxy queue).
//!
//! **A network uses** on such machines both signal registers (in OR mode), the inbound and the outbound mailbox of its SPEs, and their
//! tag groups from 16 on; its processes cannot.

mod costs;
mod exchange;
mod items;
mod ppe;
mod request;
mod spe;

use std::fmt;

use cellworks_machine::memory::AllocateError;
use cellworks_machine::{CellMachine, Machine, OnCell, SpeId, Time};

use crate::link::Link;
use crate::parcel::Origin;
use crate::waiting::Waiting;
use crate::waker::Woken;

pub(crate) use exchange::Exchange;
pub use items::NoRoomForItem;
use ppe::PpeCarrier;
pub(crate) use spe::EndOfProgram;
use spe::SpeCarrier;

/// How processes of a network reach each other where SPEs are confined to their local stores: on a simulated Cell, and on a strict
/// host, where it takes no simulated time. On any other host they share memory, and it makes no difference.
///
/// There the signal registers, the mailboxes and the tag groups from 16 on of its SPEs are the network's: its processes must not use
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "parameters",
    derive(clap::ValueEnum, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Transport {
    /// SPE to SPE, by signals and DMA, with the decisions made by the SPEs: what the paper proposes for the future
    /// (section 4).
    #[default]
    #[cfg_attr(feature = "parameters", value(help = "SPE to SPE, by signals and DMA"))]
    Direct,
    /// The paper's own: every request goes through the SPE handler to the request coordinator, both on the PPE
    /// (section 2.1). Two short cuts (section 2.2.8): between two processes that never change, of a channel made by
    /// [`one_to_one`](crate::Channel::one_to_one), the SPE handler decides alone, and if they are on one SPE nothing leaves it.
    #[cfg_attr(
        feature = "parameters",
        value(help = "by requests to the PPE's request coordinator, as in the paper")
    )]
    Coordinator,
}

/// What the channels of a network had to move where [transports](Transport) are used: all 0 where processors share memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Items that were read.
    pub communications: u64,
    /// Messages of SPEs to the PPE: requests to the [coordinator](Transport::Coordinator), wake-ups of the main process with
    /// the [direct](Transport::Direct) transport.
    pub requests: u64,
    /// Bytes of items that were moved by DMA, between local stores, or to and from main memory. Those that were flushed count
    /// twice, when they leave and when they are read.
    pub bytes_moved: u64,
    /// Items that were put to main memory because a local store was full.
    pub items_flushed: u64,
}

/// A process that asks its processor's carrier for something.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub name: &'a str,
    pub number: u32,
    /// It alternates, and may find nothing to do.
    pub looks: bool,
}

/// What came of a step.
pub(crate) struct Stepped {
    pub woken: Woken,
    /// The process that asked for it has to wait for another one.
    pub waits: bool,
    /// It has changed the state of the channel. Only a look of an alternation may not have.
    pub changes: bool,
}

/// Performs a step of a channel at its line, which `update` changes and `look` reads. Returns whom to wake.
fn step_at_line(
    asker: Asker<'_>,
    step: &mut dyn FnMut() -> Stepped,
    look: impl FnOnce(),
    update: impl FnOnce(),
) -> Woken {
    if !asker.looks {
        update();
        return step().woken;
    }
    // Who reads a line leaves the reservations of those alone that are about to change it.
    look();
    let stepped = step();
    if stepped.changes {
        update();
    }
    stepped.woken
}

/// What carries news and items for the processes of one processor.
pub(crate) trait Carrier {
    /// A process starts.
    fn begin(&self, process: u32);

    /// A process has ended.
    fn end(&self, process: u32);

    /// Performs a step of the channel that `what` names, and wakes whom it gave a reason to go on.
    fn perform(&self, asker: Asker<'_>, what: &Waiting<'_>, step: &mut dyn FnMut() -> Stepped);

    /// Performs the step with which an alternation begins to wait.
    fn announce(&self, asker: Asker<'_>, step: &mut dyn FnMut() -> Woken);

    /// An alternation has found no guard ready, and does not wait.
    fn skip(&self, asker: Asker<'_>);

    /// Does what this processor has been asked for by others: see [`PpeCarrier`].
    fn serve(&self);

    /// Wakes others for something that was no step: ends that were dropped.
    fn wake(&self, woken: Woken);

    /// Waits until `ready` says true and the news of it has arrived, or `deadline` has come: then false.
    fn wait(
        &self,
        asker: Asker<'_>,
        what: &Waiting<'_>,
        why: &dyn fmt::Display,
        deadline: Option<Time>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool;

    /// Makes room for an item that is to be written.
    fn pack(&self, asker: Asker<'_>, link: &dyn Link, bytes: usize) -> Origin;

    /// Brings an item to this processor.
    fn bring(&self, asker: Asker<'_>, link: &dyn Link, origin: Origin, bytes: usize);

    /// An item was read.
    fn count_communication(&self);

    /// The processes of an SPE have ended, or all processes of the network if this is the carrier
    /// of the main one.
    fn finish(&self);
}

/// What carries news and items for the main process, and serves the SPEs.
pub(crate) trait MainCarrier: Carrier {
    /// Takes the words that are in outbound mailboxes; asked in conditions. Says whether there was
    /// one.
    fn collect(&self) -> bool;

    /// Does what the words that have come ask for.
    fn handle_all(&self);
}

/// How the carriers of a network are made, on a machine that has what they use.
pub(crate) struct Carriers<M: Machine> {
    /// What they have in common; the last argument is how many programs there are.
    pub exchange: fn(&M, Transport, usize) -> Result<Exchange, AllocateError>,
    /// The carrier of the processes of an SPE.
    pub of_spe: CarrierOfSpe<M::Spe>,
    /// The carrier of the main process, before programs start on the SPEs.
    pub of_main: CarrierOfMain<M::Core>,
}

/// Makes the carrier of the processes of an SPE.
pub(crate) type CarrierOfSpe<S> = for<'a> fn(&'a S, &'a Exchange) -> Box<dyn Carrier + 'a>;

/// Makes the carrier of the main process.
type CarrierOfMain<C> = for<'a> fn(&'a C, &'a Exchange, Vec<SpeId>) -> Box<dyn MainCarrier + 'a>;

/// Says how carriers are made: they use the mailboxes, signals and MFCs of a Cell.
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
