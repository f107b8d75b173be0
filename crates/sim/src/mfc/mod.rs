//! The Memory Flow Controllers: commands become bus requests of at most a line, and come back.
//!
//! ```text
//!   try_issue ─► CommandQueue ─ may start ─► work, oldest first ─ a line at a time ─► fabric
//!                (who waits for whom)        (how far it has come)                       │
//!                     ▲                            ▲  outstanding requests are limited   │
//!                     └── complete, stall ─────────┴──── bytes move when the line ◄──────┘
//! ```
//!
//! There are two queues: that of the SPU, with 16 entries, and the proxy queue of the PPE, with 8. Each has tag groups
//! and an order of its own; what may start in either shares the rest, from the work on.
//!
//! A command of 16 KB is one piece of work that has some lines under way, never 128 events. Bytes of the raw
//! level move when their line arrives, so that races show; typed transfers have moved theirs already, and
//! only take their time.

mod program;
mod proxy;
mod requests;
mod typed;
mod watch;

use std::sync::Arc;

use cellworks_machine::memory::{AddressSpace, LINE_BYTES, ReservedLine, Translation};
use cellworks_machine::mfc::{
    Command, CommandQueue, Direction, EffectiveAddress, EntryId, ListCursor, ListElement, LsAddr,
    MfcFault, Opcode, Operation, PROXY_QUEUE_ENTRIES, SPU_QUEUE_ENTRIES,
};
use cellworks_machine::{LocalBuffer, LocalStore, Payload, ProblemStateRegister, Processor, SpeId};

pub use self::program::SimMfc;
use crate::fabric::Node;
use crate::hazard::{Hazard, Issue};
use crate::time::Moment;
use crate::words::WORD_BYTES;

/// Where local stores appear in main memory: above all regions, below the problem-state areas.
pub(crate) const LOCAL_STORES_AT: u64 = 1 << 62;

/// From the start of one local store to that of the next: lists cannot cross 4 GiB, and a local store
/// must not.
pub(crate) const LOCAL_STORE_STRIDE: u64 = 1 << 30;

/// Where the watch for hazards takes ordinary memory to be, of which every transfer has its own.
const TYPED_AT: u64 = 1 << 60;

const LINE: u64 = LINE_BYTES as u64;

/// Who has issued a command of an MFC, and so in which of its queues it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Issuer {
    /// The program of its SPE.
    Spu,
    /// The PPE, in the proxy queue.
    Ppe,
}

impl Issuer {
    /// The processor, for the MFC of this SPE.
    pub fn processor(self, spe: SpeId) -> Processor {
        match self {
            Self::Spu => Processor::Spe(spe),
            Self::Ppe => Processor::Ppe,
        }
    }
}

/// A queue, and what of its commands is not on the bus.
#[derive(Default)]
struct Issued<const ENTRIES: usize> {
    queue: CommandQueue<ENTRIES>,
    /// Commands that have not been started: their ids and what the watch for hazards knows of them.
    waiting: Vec<(EntryId, u64, Issue)>,
    /// What went wrong after the call that caused it had returned, as the panic of whoever asks next: a
    /// command that waited turned out to be illegal, or the watch for hazards found something.
    late: Option<Payload>,
}

impl<const ENTRIES: usize> Issued<ENTRIES> {
    /// Starts the commands that may start now.
    fn start(&mut self, issuer: Issuer, not_before: Moment, work: &mut Vec<Work>) {
        for entry in self.queue.runnable() {
            self.queue.start(entry);
            let place = self
                .waiting
                .iter()
                .position(|(waiting, ..)| *waiting == entry);
            let (_, id, issue) = self.waiting.swap_remove(place.expect("it was issued"));
            let command = self.queue.command(entry);
            work.push(Work {
                id,
                issuer,
                entry: Some(entry),
                task: MfcState::task_of(command),
                not_before,
                in_flight: 0,
                is_sent: false,
                is_blocked: false,
                is_watched: watch::is_watched(command),
                issue,
                watched: Vec::new(),
            });
        }
    }

    /// Commands that are not complete.
    fn depth(&self) -> usize {
        ENTRIES - self.queue.free_entries()
    }
}

/// One MFC: its queues and what is under way.
pub(crate) struct MfcState {
    spe: SpeId,
    local_store: LocalStore,
    pub translation: Translation,
    spu: Issued<SPU_QUEUE_ENTRIES>,
    proxy: Issued<PROXY_QUEUE_ENTRIES>,
    work: Vec<Work>,
    lines: Vec<Line>,
    free_lines: Vec<u32>,
    /// When it may send its next request, in femtoseconds.
    next_request_at: Moment,
    /// The next event that has it look for something to send.
    wake_up_at: Option<Moment>,
    /// Names commands and typed transfers.
    serial: u64,
    /// Typed transfers that are not complete.
    typed: Vec<(u64, Direction)>,
    /// Buffers whose views are gone, while their transfers are not complete.
    held: Vec<(u64, LocalBuffer)>,
    /// Lists that have stopped at an element with stall-and-notify.
    stalled: Vec<(Stalled, ListCursor)>,
    /// Its program has ended: none of its commands begins.
    is_closed: bool,
    pub reservation: Option<(EffectiveAddress, ReservedLine)>,
}

/// A command that was started, or a typed transfer.
struct Work {
    id: u64,
    issuer: Issuer,
    /// `None` for a typed transfer.
    entry: Option<EntryId>,
    task: Task,
    /// When its next request may leave.
    not_before: Moment,
    /// Lines under way.
    in_flight: u32,
    /// Nothing is left to send.
    is_sent: bool,
    /// It puts a word to a mailbox that is full.
    is_blocked: bool,
    /// The watch for hazards knows it by its id.
    is_watched: bool,
    issue: Issue,
    /// The elements of a list that the watch knows, the one that is being sent at the end.
    watched: Vec<Watched>,
}

/// An element of a list under the watch for hazards.
struct Watched {
    id: u64,
    /// Lines under way.
    in_flight: u32,
    is_sent: bool,
}

/// A list that has stopped.
struct Stalled {
    entry: EntryId,
    id: u64,
    issue: Issue,
}

/// What is left to send.
enum Task {
    Move(Move),
    List {
        cursor: ListCursor,
        element: Option<Move>,
        /// The element under way stalls the list when it is complete.
        stalls: bool,
    },
    Typed {
        direction: Direction,
        address: u64,
        left: u64,
    },
    /// A whole line, whatever reservation is on it.
    LinePut {
        lsa: LsAddr,
        ea: EffectiveAddress,
    },
    Zero {
        ea: u64,
        lines: u64,
    },
    /// Only its order counts.
    Nothing,
}

#[derive(Clone, Copy)]
struct Move {
    operation: Operation,
    direction: Direction,
    lsa: u32,
    ea: u64,
    left: u32,
    /// A mailbox was full when it came, and the watch for hazards knows of it.
    met_full_mailbox: bool,
}

/// A request on the bus.
#[derive(Clone, Copy)]
struct Line {
    work: u64,
    /// The element that it belongs to, for the watch for hazards.
    element: Option<u64>,
    effect: Effect,
}

/// What a request does when it is complete.
#[derive(Clone, Copy)]
enum Effect {
    Nothing,
    Copy {
        operation: Operation,
        direction: Direction,
        lsa: u32,
        ea: u64,
        bytes: u32,
    },
    Word {
        to: SpeId,
        register: ProblemStateRegister,
        lsa: u32,
    },
    StoreLine {
        lsa: LsAddr,
        ea: EffectiveAddress,
    },
    ZeroLine {
        ea: u64,
    },
}

/// Where the bytes at an effective address are.
enum Site {
    Memory(Node),
    LocalStore(Node),
    Register(SpeId, ProblemStateRegister),
}

impl MfcState {
    pub fn new(
        spe: SpeId,
        space: &Arc<AddressSpace>,
        local_store: LocalStore,
        outstanding_requests: usize,
    ) -> Self {
        let nothing = Line {
            work: 0,
            element: None,
            effect: Effect::Nothing,
        };
        Self {
            spe,
            local_store,
            translation: Translation::new(Arc::clone(space)),
            spu: Issued::default(),
            proxy: Issued::default(),
            work: Vec::with_capacity(SPU_QUEUE_ENTRIES),
            lines: vec![nothing; outstanding_requests],
            free_lines: (0..outstanding_requests as u32).rev().collect(),
            next_request_at: Moment::START,
            wake_up_at: None,
            serial: 0,
            typed: Vec::new(),
            held: Vec::new(),
            stalled: Vec::new(),
            is_closed: false,
            reservation: None,
        }
    }

    /// Whether no command of the SPE's program is under way and no line reserved.
    pub fn is_as_new(&self) -> bool {
        self.spu.queue.is_empty() && self.typed.is_empty() && self.reservation.is_none()
    }

    /// Whether nothing is on the bus that the SPE's program has issued.
    pub fn is_quiet(&self) -> bool {
        self.work.iter().all(|work| work.issuer == Issuer::Ppe)
    }

    /// Forgets what a program has left behind, when nothing of it is on the bus.
    pub fn renew(&mut self) {
        self.spu = Issued::default();
        self.is_closed = false;
        // An event that was planned for what is gone finds nothing to send.
        self.wake_up_at = None;
        self.typed.clear();
        self.held.clear();
        self.reservation = None;
    }

    /// Entries of the SPU's queue that hold nothing. Typed transfers take one each.
    fn free_entries(&self) -> usize {
        let free = self.spu.queue.free_entries();
        free.saturating_sub(self.typed.len())
    }

    /// Entries of a queue that are taken.
    fn depth(&self, issuer: Issuer) -> usize {
        match issuer {
            Issuer::Spu => SPU_QUEUE_ENTRIES - self.free_entries(),
            Issuer::Ppe => self.proxy.depth(),
        }
    }

    /// What the next who asks a queue is told.
    fn late(&mut self, issuer: Issuer) -> &mut Option<Payload> {
        match issuer {
            Issuer::Spu => &mut self.spu.late,
            Issuer::Ppe => &mut self.proxy.late,
        }
    }

    /// Takes down a fault that nobody waits for: whoever asks the queue next is told.
    fn fail(&mut self, issuer: Issuer, now: Moment, fault: &MfcFault) {
        let queue = match issuer {
            Issuer::Spu => "queue",
            Issuer::Ppe => "proxy queue",
        };
        let text = format!(
            "a command that waited in the MFC {queue} of {}, at {}: {fault}",
            self.spe, now
        );
        self.late(issuer).get_or_insert_with(|| Box::new(text));
    }

    /// As [`fail`](Self::fail), for what the watch found.
    fn take_down(&mut self, issuer: Issuer, hazard: Option<Hazard>) {
        if let Some(hazard) = hazard {
            self.late(issuer)
                .get_or_insert_with(|| Box::new(hazard.to_string()));
        }
    }

    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn site(
        &self,
        operation: Operation,
        direction: Direction,
        ea: u64,
        bytes: u32,
        spes: usize,
    ) -> Result<Site, MfcFault> {
        let at = EffectiveAddress(ea);
        let fault = MfcFault::DataStorage { operation, ea: at };
        if ea >= LOCAL_STORES_AT {
            if let Some((spe, register)) = ProblemStateRegister::at(at) {
                let is_word = direction == Direction::Put && bytes == WORD_BYTES;
                return if is_word && spe.index() < spes {
                    Ok(Site::Register(spe, register))
                } else {
                    Err(fault)
                };
            }
            let spe = (ea - LOCAL_STORES_AT) / LOCAL_STORE_STRIDE;
            let within = (ea - LOCAL_STORES_AT) % LOCAL_STORE_STRIDE;
            return if spe < spes as u64
                && within + u64::from(bytes) <= self.local_store.bytes() as u64
            {
                Ok(Site::LocalStore(Node::Spe(spe as u16)))
            } else {
                Err(fault)
            };
        }
        let home = self
            .translation
            .with(at, bytes as usize, |block, _, _| block.home());
        match home {
            Some(home) => Ok(Site::Memory(Node::Module(home.index() as u16))),
            None => Err(fault),
        }
    }

    fn read_element(&self, at: LsAddr) -> ListElement {
        ListElement::from_words([
            self.local_store.read_word(at),
            self.local_store.read_word(LsAddr(at.0 + 4)),
        ])
    }

    /// Looks through what a command would move, up to the first stall of a list.
    fn check_addresses(&self, command: &Command, spes: usize) -> Result<(), MfcFault> {
        let check = |operation, direction, ea: EffectiveAddress, bytes| {
            if bytes == 0 {
                return Ok(());
            }
            self.site(operation, direction, ea.0, bytes, spes).map(drop)
        };
        match command {
            Command::Transfer(transfer) => check(
                command.into(),
                transfer.direction(),
                transfer.ea(),
                transfer.bytes(),
            ),
            Command::SendSignal(signal) => {
                check(command.into(), Direction::Put, signal.ea(), WORD_BYTES)
            }
            Command::ListTransfer(list) => self.check_list(list.cursor(), spes),
            Command::QueuedLinePut(put) => self.check_line(command.into(), put.ea()),
            Command::StorageControl(control) if control.opcode() == Opcode::Sdcrz => {
                let (first, lines) = lines_of(control.ea(), control.bytes());
                (0..lines).try_for_each(|line| {
                    self.check_line(command.into(), EffectiveAddress(first + line * LINE))
                })
            }
            Command::Atomic(_) | Command::Ordering(_) | Command::StorageControl(_) => Ok(()),
        }
    }

    fn check_list(&self, mut cursor: ListCursor, spes: usize) -> Result<(), MfcFault> {
        let direction = cursor.list().direction();
        while let Some(element) = cursor.next(|at| self.read_element(at)).transpose()? {
            if element.bytes() > 0 {
                let ea = element.ea().0;
                self.site(element.operation(), direction, ea, element.bytes(), spes)?;
            }
            if element.stalls() {
                break;
            }
        }
        Ok(())
    }

    /// Whether the line that it reserved last is still reserved.
    fn has_reservation(&self) -> bool {
        let Some((ea, reserved)) = self.reservation else {
            return false;
        };
        let still = self
            .translation
            .with(ea, LINE_BYTES, |block, _, _| block.still_reserved(reserved));
        still.unwrap_or(false)
    }

    /// Whether a line of main memory is there.
    fn check_line(&self, operation: Operation, ea: EffectiveAddress) -> Result<(), MfcFault> {
        let is_memory = self
            .translation
            .with(ea, LINE_BYTES, |block, _, _| block.can_be_reserved());
        if is_memory == Some(true) {
            Ok(())
        } else {
            Err(MfcFault::DataStorage { operation, ea })
        }
    }

    fn task_of(command: &Command) -> Task {
        match command {
            Command::Transfer(transfer) => Task::Move(Move {
                operation: command.into(),
                direction: transfer.direction(),
                lsa: transfer.lsa().0,
                ea: transfer.ea().0,
                left: transfer.bytes(),
                met_full_mailbox: false,
            }),
            Command::SendSignal(signal) => Task::Move(Move {
                operation: command.into(),
                direction: Direction::Put,
                lsa: signal.lsa().0,
                ea: signal.ea().0,
                left: WORD_BYTES,
                met_full_mailbox: false,
            }),
            Command::ListTransfer(list) => Task::List {
                cursor: list.cursor(),
                element: None,
                stalls: false,
            },
            Command::QueuedLinePut(put) => Task::LinePut {
                lsa: put.lsa(),
                ea: put.ea(),
            },
            Command::StorageControl(control) if control.opcode() == Opcode::Sdcrz => {
                let (ea, lines) = lines_of(control.ea(), control.bytes());
                Task::Zero { ea, lines }
            }
            // The other storage control commands act on caches, which are coherent.
            Command::Atomic(_) | Command::Ordering(_) | Command::StorageControl(_) => Task::Nothing,
        }
    }
}

/// The lines that a range touches: the first and how many.
fn lines_of(ea: EffectiveAddress, bytes: u32) -> (u64, u64) {
    let first = ea.lock_line().0;
    let lines = match u64::from(bytes).checked_sub(1) {
        Some(to_last) => (ea.0.saturating_add(to_last) - first) / LINE + 1,
        None => 0,
    };
    (first, lines)
}
