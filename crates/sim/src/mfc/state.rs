//! The state of an MFC: its queues, its bus requests and its started commands.

use std::sync::Arc;

use cellworks_machine::memory::{AddressSpace, LINE_BYTES, ReservedLine, Translation};
use cellworks_machine::mfc::{
    Command, CommandFault, CommandQueue, Direction, EffectiveAddress, EntryId, ListCursor,
    ListElement, LsAddr, MfcFault, Opcode, Operation, PROXY_QUEUE_ENTRIES, RawCommand,
    SPU_QUEUE_ENTRIES,
};
use cellworks_machine::{LateFault, LocalBuffer, LocalStore, Payload, ProblemStateRegister, SpeId};

use crate::fabric::{Endpoint, WORD_BYTES};
use crate::hazard::{Hazard, Issue};
use crate::issuer::Issuer;
use crate::time::{Femtoseconds, Moment};

/// The effective address of the first local store, above all regions and below the problem-state
/// areas (the registers of SPEs).
pub(crate) const LOCAL_STORES_AT: u64 = 1 << 62;

/// The distance between two local stores. It divides 4 GiB, so no local store crosses a multiple of
/// 4 GiB, which a list command cannot cross.
pub(crate) const LOCAL_STORE_STRIDE: u64 = 1 << 30;

/// The lowest of the effective addresses that identify typed transfers in `Hazards`.
pub(super) const TYPED_AT: u64 = 1 << 60;

pub(super) const LINE: u64 = LINE_BYTES as u64;

#[derive(Default)]
pub(super) struct Issued<const ENTRIES: usize> {
    pub queue: CommandQueue<ENTRIES>,
    pub waiting: Vec<(EntryId, u64, Issue)>,
    /// The next thread that uses the queue panics with this error.
    pub late: Option<Late>,
}

/// An error of a command found after its issue.
pub(super) enum Late {
    /// A fault of a command that waited, and the text of the panic.
    Fault(LateFault, String),
    /// The payload of the panic: a hazard, or what a destructor panicked with.
    Panic(Payload),
}

impl From<Late> for Payload {
    fn from(late: Late) -> Self {
        match late {
            Late::Fault(_, text) => Box::new(text),
            Late::Panic(payload) => payload,
        }
    }
}

impl<const ENTRIES: usize> Issued<ENTRIES> {
    /// Starts the commands that may start now, and adds them to `work`.
    pub fn start(&mut self, issuer: Issuer, not_before: Moment, work: &mut Vec<Work>) {
        for entry in self.queue.runnable() {
            self.queue.start(entry);
            let place = self
                .waiting
                .iter()
                .position(|(waiting, ..)| *waiting == entry);
            let (_, id, issue) = self.waiting.swap_remove(place.expect("it was issued"));
            let command = self.queue.command(entry);
            let task = Task::of(command);
            work.push(Work {
                entry: Some(entry),
                is_watched: is_watched(command),
                ..Work::new(id, issuer, issue, task, not_before)
            });
        }
    }

    pub fn depth(&self) -> usize {
        ENTRIES - self.queue.free_entries()
    }
}

pub(crate) struct MfcState {
    pub(super) spe: SpeId,
    pub(super) local_store: LocalStore,
    pub translation: Translation,
    pub(super) spu: Issued<SPU_QUEUE_ENTRIES>,
    pub(super) proxy: Issued<PROXY_QUEUE_ENTRIES>,
    pub(super) work: Vec<Work>,
    pub(super) lines: Vec<Line>,
    pub(super) free_lines: Vec<u32>,
    /// The sum of the ends of all completed requests, less the starts of all requests, in
    /// femtoseconds. Requests under way have no end yet.
    pub(super) requests_time: i128,
    /// The earliest time of the next bus request.
    pub(super) next_request_at: Moment,
    /// The time of the queued event that sends the next bus request.
    pub(super) wake_up_at: Option<Moment>,
    /// The last id given to a command or typed transfer.
    pub(super) serial: u64,
    /// The ids and directions of the incomplete typed transfers.
    pub(super) typed: Vec<(u64, Direction)>,
    /// The buffers of dropped views, each with the id of the transfer after which it is freed.
    pub(super) held: Vec<(u64, LocalBuffer)>,
    /// The lists that have stopped after a stall-and-notify element.
    pub(super) stalled: Vec<(Stalled, ListCursor)>,
    /// Whether the program of the SPE has ended, so that its waiting commands do not start.
    pub(super) is_closed: bool,
    /// Whether the program of the SPE takes the faults of waiting commands itself.
    pub(super) takes_faults: bool,
    pub reservation: Option<(EffectiveAddress, ReservedLine)>,
    /// The bytes that were read with the last reservation.
    pub reserved_bytes: [u8; LINE_BYTES],
}

/// A started command or a typed transfer.
pub(super) struct Work {
    pub id: u64,
    pub issuer: Issuer,
    pub entry: Option<EntryId>,
    pub task: Task,
    pub not_before: Moment,
    pub in_flight: u32,
    /// Whether the `Work` has no more requests to send.
    pub is_sent: bool,
    /// Whether the `Work` waits for room in a mailbox.
    pub is_blocked: bool,
    /// Whether the `Work` had a fault, so the rest of it is dropped.
    pub has_failed: bool,
    /// Whether `Hazards` has a transfer with this `id`.
    pub is_watched: bool,
    pub issue: Issue,
    /// If the `Work` is a list: its elements that are now transfers in `Hazards`. The requests of
    /// the last of these elements are being sent.
    pub watched: Vec<Watched>,
}

impl Work {
    pub fn new(id: u64, issuer: Issuer, issue: Issue, task: Task, not_before: Moment) -> Self {
        Self {
            id,
            issuer,
            entry: None,
            task,
            not_before,
            in_flight: 0,
            is_sent: false,
            is_blocked: false,
            has_failed: false,
            is_watched: false,
            issue,
            watched: Vec::new(),
        }
    }
}

/// Returns whether the command is one transfer in `Hazards`. Each element of a list is one.
pub(super) fn is_watched(command: &Command) -> bool {
    matches!(command, Command::Transfer(_) | Command::SendSignal(_))
}

pub(super) struct Watched {
    pub id: u64,
    pub in_flight: u32,
    pub is_sent: bool,
}

/// A list that has stopped after a stall-and-notify element.
pub(super) struct Stalled {
    pub entry: EntryId,
    pub id: u64,
    pub issue: Issue,
}

/// The transfers that a `Work` still has to send.
pub(super) enum Task {
    Move(Move),
    List {
        cursor: ListCursor,
        element: Option<Move>,
        /// Whether the list stalls after the current element.
        stalls: bool,
        /// The earliest time of the next element: `list_interval` after the first request of the
        /// current element. `None` before this request.
        next_at: Option<Moment>,
    },
    Typed {
        direction: Direction,
        address: u64,
        left: u64,
    },
    /// A put of a whole line, which needs no reservation and ignores those of other SPEs.
    LinePut {
        lsa: LsAddr,
        ea: EffectiveAddress,
    },
    Zero {
        ea: u64,
        lines: u64,
    },
    /// A command that moves no data but orders other commands.
    Nothing,
}

#[derive(Clone, Copy)]
pub(super) struct Move {
    pub operation: Operation,
    pub direction: Direction,
    pub lsa: u32,
    pub ea: u64,
    pub left: u32,
    /// Whether the full mailbox was reported to `Hazards`.
    pub met_full_mailbox: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Line {
    pub work: u64,
    /// The id of the list element in `Hazards`.
    pub element: Option<u64>,
    pub effect: Effect,
}

/// The effect of a completed request.
#[derive(Clone, Copy)]
pub(super) enum Effect {
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

pub(super) enum Site {
    Memory(Endpoint),
    LocalStore(Endpoint),
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
            requests_time: 0,
            next_request_at: Moment::START,
            wake_up_at: None,
            serial: 0,
            typed: Vec::new(),
            held: Vec::new(),
            stalled: Vec::new(),
            is_closed: false,
            takes_faults: false,
            reservation: None,
            reserved_bytes: [0; LINE_BYTES],
        }
    }

    /// Returns whether the MFC has no incomplete command of its SPE and no reserved line.
    pub fn is_as_new(&self) -> bool {
        self.spu.queue.is_empty() && self.typed.is_empty() && self.reservation.is_none()
    }

    /// Returns the time that a request was under way, divided by the number of requests that may be
    /// under way at once. It is the whole time if all of them always were.
    pub fn busy_with_requests(&self, now: Moment) -> Femtoseconds {
        let under_way = (self.lines.len() - self.free_lines.len()) as i128;
        let sum = self.requests_time + under_way * i128::from(now.as_femtoseconds());
        Femtoseconds((sum / self.lines.len() as i128) as u64)
    }

    /// Returns whether the MFC has no bus request of its SPE.
    pub fn is_quiet(&self) -> bool {
        self.work.iter().all(|work| work.issuer == Issuer::Ppe)
    }

    /// Resets the state that a program has left in the MFC. [`is_quiet`](Self::is_quiet) must be
    /// true.
    pub fn renew(&mut self) {
        self.spu = Issued::default();
        self.is_closed = false;
        // If the event is still queued, it will find no request to send.
        self.wake_up_at = None;
        self.typed.clear();
        self.held.clear();
        self.reservation = None;
    }

    /// Returns the number of free entries of the SPU queue. Incomplete typed transfers are not in
    /// `spu.queue`, but each of them also takes an entry.
    pub(super) fn free_entries(&self) -> usize {
        let free = self.spu.queue.free_entries();
        free.saturating_sub(self.typed.len())
    }

    pub(super) fn depth(&self, issuer: Issuer) -> usize {
        match issuer {
            Issuer::Spu => SPU_QUEUE_ENTRIES - self.free_entries(),
            Issuer::Ppe => self.proxy.depth(),
        }
    }

    pub(super) fn late(&mut self, issuer: Issuer) -> &mut Option<Late> {
        match issuer {
            Issuer::Spu => &mut self.spu.late,
            Issuer::Ppe => &mut self.proxy.late,
        }
    }

    pub(super) fn refused(&self, command: RawCommand, fault: MfcFault) -> CommandFault {
        CommandFault {
            spe: self.spe,
            command,
            fault,
        }
    }

    /// Records the fault of the command at index `place` of `work`.
    pub(super) fn fail(&mut self, place: usize, now: Moment, fault: &MfcFault) {
        let Work {
            issuer,
            issue,
            entry,
            ..
        } = self.work[place];
        let entry = entry.expect("a typed transfer has no address that could be wrong");
        let queue = match issuer {
            Issuer::Spu => "queue",
            Issuer::Ppe => "proxy queue",
        };
        let command = match issuer {
            Issuer::Spu => self.spu.queue.command(entry),
            Issuer::Ppe => self.proxy.queue.command(entry),
        };
        let refused = self.refused(command.into(), *fault);
        let CommandFault { spe, command, .. } = refused;
        let text = format!(
            "a command that waited in the MFC {queue} of {spe}, {command}, at {now}: {fault}"
        );
        let fault = LateFault {
            fault: refused,
            place: issue.place,
        };
        self.late(issuer).get_or_insert(Late::Fault(fault, text));
    }

    pub(super) fn record_hazard(&mut self, issuer: Issuer, hazard: Option<Hazard>) {
        if let Some(hazard) = hazard {
            self.panic_late(issuer, Box::new(hazard.to_string()));
        }
    }

    /// Records the payload of a late panic, unless an earlier error will panic.
    pub(super) fn panic_late(&mut self, issuer: Issuer, payload: Payload) {
        let takes_faults = issuer == Issuer::Spu && self.takes_faults;
        let late = self.late(issuer);
        if late.is_none() || takes_faults && matches!(late, Some(Late::Fault(..))) {
            *late = Some(Late::Panic(payload));
        }
    }

    pub(super) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(super) fn site(
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
                Ok(Site::LocalStore(Endpoint::Spe(spe as u16)))
            } else {
                Err(fault)
            };
        }
        let home = self
            .translation
            .with(at, bytes as usize, |block, _, _| block.home());
        match home {
            Some(home) => Ok(Site::Memory(Endpoint::Module(home.index() as u16))),
            None => Err(fault),
        }
    }

    pub(super) fn read_element(&self, at: LsAddr) -> ListElement {
        ListElement::from_words([
            self.local_store.read_word(at),
            self.local_store.read_word(LsAddr(at.0 + 4)),
        ])
    }

    /// Checks the addresses that a command uses: of a list, those up to the first stall.
    pub(super) fn check_addresses(&self, command: &Command, spes: usize) -> Result<(), MfcFault> {
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

    pub(super) fn check_list(&self, mut cursor: ListCursor, spes: usize) -> Result<(), MfcFault> {
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

    pub(super) fn has_reservation(&self) -> bool {
        let Some((ea, reserved)) = self.reservation else {
            return false;
        };
        let still = self.translation.with(ea, LINE_BYTES, |block, _, _| {
            block.still_reserved(reserved, &self.reserved_bytes)
        });
        still.unwrap_or(false)
    }

    pub(super) fn check_line(
        &self,
        operation: Operation,
        ea: EffectiveAddress,
    ) -> Result<(), MfcFault> {
        let is_memory = self
            .translation
            .with(ea, LINE_BYTES, |block, _, _| block.can_be_reserved());
        if is_memory == Some(true) {
            Ok(())
        } else {
            Err(MfcFault::DataStorage { operation, ea })
        }
    }
}

impl Task {
    fn of(command: &Command) -> Self {
        match command {
            Command::Transfer(transfer) => Self::Move(Move {
                operation: command.into(),
                direction: transfer.direction(),
                lsa: transfer.lsa().0,
                ea: transfer.ea().0,
                left: transfer.bytes(),
                met_full_mailbox: false,
            }),
            Command::SendSignal(signal) => Self::Move(Move {
                operation: command.into(),
                direction: Direction::Put,
                lsa: signal.lsa().0,
                ea: signal.ea().0,
                left: WORD_BYTES,
                met_full_mailbox: false,
            }),
            Command::ListTransfer(list) => Self::List {
                cursor: list.cursor(),
                element: None,
                stalls: false,
                next_at: None,
            },
            Command::QueuedLinePut(put) => Self::LinePut {
                lsa: put.lsa(),
                ea: put.ea(),
            },
            Command::StorageControl(control) if control.opcode() == Opcode::Sdcrz => {
                let (ea, lines) = lines_of(control.ea(), control.bytes());
                Self::Zero { ea, lines }
            }
            // The other storage-control commands act on caches, which are coherent in this model.
            Command::Atomic(_) | Command::Ordering(_) | Command::StorageControl(_) => Self::Nothing,
        }
    }
}

/// Returns the address of the first cache line of a range, and the number of its lines.
fn lines_of(ea: EffectiveAddress, bytes: u32) -> (u64, u64) {
    let first = ea.lock_line().0;
    let lines = match u64::from(bytes).checked_sub(1) {
        Some(to_last) => (ea.0.saturating_add(to_last) - first) / LINE + 1,
        None => 0,
    };
    (first, lines)
}
