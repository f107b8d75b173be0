//! The Memory Flow Controllers: commands become bus requests of at most a line, and come back.
//!
//! ```text
//!   try_issue ─► CommandQueue ─ may start ─► work, oldest first ─ a line at a time ─► fabric
//!                (who waits for whom)        (how far it has come)                       │
//!                     ▲                            ▲  outstanding requests are limited   │
//!                     └── complete, stall ─────────┴──── bytes move when the line ◄──────┘
//! ```
//!
//! A command of 16 KB is one piece of work that has some lines under way, never 128 events. Bytes of the raw
//! level move when their line arrives, so that races show; typed transfers have moved theirs already, and
//! only take their time.

use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use cellworks_machine::memory::{AddressSpace, LINE_BYTES, ReservedLine, Translation};
use cellworks_machine::mfc::{
    Command, CommandQueue, Direction, EffectiveAddress, EntryId, ListCursor, ListElement, LsAddr,
    MfcFault, Opcode, Operation, Order, PushError, RawCommand, SPU_QUEUE_ENTRIES, Tag, TagMask,
};
use cellworks_machine::{
    LocalBuffer, LocalStore, Mfc, Payload, ProblemStateRegister, Processor, SpeId, TryIssueError,
    Wait,
};
use cellworks_threads as threads;

use crate::atomic::Held;
use crate::engine::{Owner, ThreadIndex, World, core_of};
use crate::fabric::{Access, Node, Place, Transaction};
use crate::hazard::{Hazard, Issue, Transfer};
use crate::observe::Cause;
use crate::queue::{Event, Kind};
use crate::words::{WORD_BYTES, register_write};

/// Where local stores appear in main memory: above all regions, below the problem-state areas.
pub(crate) const LOCAL_STORES_AT: u64 = 1 << 62;

/// From the start of one local store to that of the next: lists cannot cross 4 GiB, and a local store
/// must not.
pub(crate) const LOCAL_STORE_STRIDE: u64 = 1 << 30;

/// Where the watch for hazards takes ordinary memory to be, of which every transfer has its own.
const TYPED_AT: u64 = 1 << 60;

const LINE: u64 = LINE_BYTES as u64;

/// One MFC: its queue and what is under way.
pub(crate) struct MfcState {
    spe: SpeId,
    local_store: LocalStore,
    pub translation: Translation,
    queue: CommandQueue,
    work: Vec<Work>,
    lines: Vec<Line>,
    free_lines: Vec<u32>,
    /// When it may send its next request, in femtoseconds.
    next_request_fs: u64,
    /// The next event that has it look for something to send.
    wake_up_fs: Option<u64>,
    /// Names commands and typed transfers.
    serial: u64,
    /// Typed transfers that are not complete.
    typed: Vec<(u64, Direction)>,
    /// Buffers whose views are gone, while their transfers are not complete.
    held: Vec<(u64, LocalBuffer)>,
    /// Commands that have not been started: their ids and what the watch for hazards knows of them.
    issued: Vec<(EntryId, u64, Issue)>,
    /// Lists that have stopped at an element with stall-and-notify.
    stalled: Vec<(Stalled, ListCursor)>,
    /// Its program has ended: no command begins.
    is_closed: bool,
    /// What went wrong after the call that caused it had returned, as the panic of whoever asks next: a
    /// command that waited turned out to be illegal, or the watch for hazards found something.
    late: Option<Payload>,
    pub reservation: Option<(EffectiveAddress, ReservedLine)>,
}

/// A command that was started, or a typed transfer.
struct Work {
    id: u64,
    /// `None` for a typed transfer.
    entry: Option<EntryId>,
    task: Task,
    /// When its next request may leave.
    from_fs: u64,
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
        serial: u64,
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
            queue: CommandQueue::new(),
            work: Vec::with_capacity(SPU_QUEUE_ENTRIES),
            lines: vec![nothing; outstanding_requests],
            free_lines: (0..outstanding_requests as u32).rev().collect(),
            next_request_fs: 0,
            wake_up_fs: None,
            serial,
            typed: Vec::new(),
            held: Vec::new(),
            issued: Vec::new(),
            stalled: Vec::new(),
            is_closed: false,
            late: None,
            reservation: None,
        }
    }

    /// The last id that it gave to a command.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Whether no command is under way and no line reserved.
    pub fn is_as_new(&self) -> bool {
        self.queue.is_empty() && self.typed.is_empty() && self.reservation.is_none()
    }

    /// Whether nothing is on the bus.
    pub fn is_quiet(&self) -> bool {
        self.work.is_empty()
    }

    /// Entries of the queue that hold nothing. Typed transfers take one each.
    fn free_entries(&self) -> usize {
        self.queue.free_entries().saturating_sub(self.typed.len())
    }

    /// Takes down a fault that nobody waits for: whoever asks the queue next is told.
    fn fail(&mut self, now_fs: u64, fault: &MfcFault) {
        let text = format!(
            "a command that waited in the MFC queue of {}, at {}: {fault}",
            self.spe,
            crate::at(now_fs)
        );
        self.late.get_or_insert_with(|| Box::new(text));
    }

    /// As [`fail`](Self::fail), for what the watch found.
    fn take_down(&mut self, hazard: Option<Hazard>) {
        if let Some(hazard) = hazard {
            self.late
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
            }),
            Command::SendSignal(signal) => Task::Move(Move {
                operation: command.into(),
                direction: Direction::Put,
                lsa: signal.lsa().0,
                ea: signal.ea().0,
                left: WORD_BYTES,
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

/// Whether the watch for hazards knows a command by its own id, and not by its elements.
fn is_watched(command: &Command) -> bool {
    matches!(command, Command::Transfer(_) | Command::SendSignal(_))
}

/// What a look for something to send has found.
enum Sent {
    /// A request has left, or a command needed none.
    Something,
    /// Nothing can leave before this time.
    NotBefore(u64),
    /// Nothing is left to send, or nothing may leave until something comes back.
    Nothing,
}

impl World {
    /// Starts the commands that may start now.
    fn start_commands(&self, mfc: &mut MfcState) {
        for entry in mfc.queue.runnable() {
            mfc.queue.start(entry);
            let place = mfc.issued.iter().position(|(issued, ..)| *issued == entry);
            let (_, id, issue) = mfc.issued.swap_remove(place.expect("it was issued"));
            let command = mfc.queue.command(entry);
            let (is_watched, task) = (is_watched(command), MfcState::task_of(command));
            mfc.work.push(Work {
                id,
                entry: Some(entry),
                task,
                from_fs: self.now_fs() + self.costs.start_fs,
                in_flight: 0,
                is_sent: false,
                is_blocked: false,
                is_watched,
                issue,
                watched: Vec::new(),
            });
        }
    }

    /// Takes down that a command was issued, and begins to watch what it transfers; elements of lists are
    /// watched from when they are fetched on.
    fn watch_command(&self, mfc: &mut MfcState, entry: EntryId, command: &Command) {
        let (now_fs, spe) = (self.now_fs(), mfc.spe);
        let id = mfc.next_serial();
        let opcode = command.opcode();
        let mut hazards = self.hazards.borrow_mut();
        let issue = hazards.issue(spe, command.tag(), opcode.order());
        let transfer = |direction, lsa, ea, bytes| Transfer {
            name: opcode.name(),
            direction,
            lsa,
            ea,
            bytes,
            issue,
        };
        let transfer = match command {
            Command::Transfer(t) => Some(transfer(t.direction(), t.lsa(), t.ea(), t.bytes())),
            Command::SendSignal(s) => Some(transfer(Direction::Put, s.lsa(), s.ea(), WORD_BYTES)),
            Command::Ordering(_) | Command::StorageControl(_) => {
                match command.tag() {
                    Some(tag) if opcode != Opcode::Barrier => hazards.order_group(spe, tag),
                    _ => hazards.order_all(spe),
                }
                None
            }
            Command::ListTransfer(_) | Command::QueuedLinePut(_) | Command::Atomic(_) => None,
        };
        let bytes = transfer.map_or(0, |transfer| u64::from(transfer.bytes));
        if let Some(transfer) = transfer {
            let hazard = hazards.begin(now_fs, spe, id, &transfer);
            mfc.take_down(hazard);
        }
        drop(hazards);
        mfc.issued.push((entry, id, issue));
        let mut observer = self.observer.borrow_mut();
        observer.command_issued(now_fs, spe, id, opcode.name(), bytes);
        observer.queue_depth(now_fs, spe, SPU_QUEUE_ENTRIES - mfc.free_entries());
    }

    /// Begins to watch an element of a list.
    fn watch_element(&self, mfc: &mut MfcState, place: usize, element: &Move) {
        let serial = mfc.next_serial();
        let work = &mut mfc.work[place];
        let transfer = Transfer {
            name: element.operation.opcode.name(),
            direction: element.direction,
            lsa: LsAddr(element.lsa),
            ea: EffectiveAddress(element.ea),
            bytes: element.left,
            issue: work.issue,
        };
        work.watched.push(Watched {
            id: serial,
            in_flight: 0,
            is_sent: false,
        });
        let hazard = self
            .hazards
            .borrow_mut()
            .begin(self.now_fs(), mfc.spe, serial, &transfer);
        mfc.take_down(hazard);
    }

    /// Ends the watch of an element that has nothing to send and nothing under way.
    fn forget_element(&self, mfc: &mut MfcState, place: usize, at: usize) {
        let element = &mfc.work[place].watched[at];
        if element.is_sent && element.in_flight == 0 {
            self.hazards.borrow_mut().end(mfc.spe, element.id);
            mfc.work[place].watched.remove(at);
        }
    }

    /// A command is complete, or given up.
    fn forget_command(&self, mfc: &MfcState, id: u64, is_watched: bool, watched: &[Watched]) {
        let mut hazards = self.hazards.borrow_mut();
        let own = is_watched.then_some(id);
        let elements = watched.iter().map(|element| element.id);
        own.into_iter()
            .chain(elements)
            .for_each(|id| hazards.end(mfc.spe, id));
        self.observer
            .borrow_mut()
            .command_complete(self.now_fs(), mfc.spe, id);
    }

    /// Ends what a program has left in its MFC: what is on the bus comes to its end, the rest does not
    /// begin.
    pub fn close_mfc(&self, spe: SpeId) {
        let mut mfc = self.mfcs[spe.index()].borrow_mut();
        mfc.is_closed = true;
        let (on_the_bus, given_up) = std::mem::take(&mut mfc.work)
            .into_iter()
            .partition(|work| work.in_flight > 0);
        mfc.work = on_the_bus;
        mfc.work.iter_mut().for_each(|work| work.is_sent = true);
        let given_up: Vec<Work> = given_up;
        for work in given_up {
            self.forget_command(&mfc, work.id, work.is_watched, &work.watched);
        }
        for (stalled, _) in std::mem::take(&mut mfc.stalled) {
            self.forget_command(&mfc, stalled.id, false, &[]);
        }
        for (entry, id, _) in std::mem::take(&mut mfc.issued) {
            let is_watched = is_watched(mfc.queue.command(entry));
            self.forget_command(&mfc, id, is_watched, &[]);
        }
    }

    /// An MFC looks for something to send: its event.
    pub fn send_requests(&self, spe: usize) -> Option<ThreadIndex> {
        let mut mfc = self.mfcs[spe].borrow_mut();
        mfc.wake_up_fs = None;
        self.pump(&mut mfc);
        drop(mfc);
        self.check_if_finished(spe)
    }

    /// An MFC that was blocked by a full mailbox looks again.
    pub fn wake_mfc(&self, spe: usize) {
        let mut mfc = self.mfcs[spe].borrow_mut();
        mfc.work.iter_mut().for_each(|work| work.is_blocked = false);
        self.wake_up_at(&mut mfc, self.now_fs());
    }

    fn wake_up_at(&self, mfc: &mut MfcState, time_fs: u64) {
        if mfc
            .wake_up_fs
            .is_some_and(|planned_fs| planned_fs <= time_fs)
        {
            return;
        }
        mfc.wake_up_fs = Some(time_fs);
        let event = Event {
            kind: Kind::MfcRequest,
            index: mfc.spe.index() as u32,
        };
        self.queue.borrow_mut().push(time_fs, event);
    }

    /// Sends what may be sent now, and sees to it that the rest is sent later.
    fn pump(&self, mfc: &mut MfcState) {
        loop {
            match self.send_one(mfc) {
                Sent::Something => {}
                Sent::NotBefore(time_fs) => return self.wake_up_at(mfc, time_fs),
                Sent::Nothing => return,
            }
        }
    }

    fn send_one(&self, mfc: &mut MfcState) -> Sent {
        let now_fs = self.now_fs();
        if mfc.free_lines.is_empty() {
            return Sent::Nothing;
        }
        let can_send = |work: &Work| !work.is_sent && !work.is_blocked;
        let Some(place) = mfc
            .work
            .iter()
            .position(|work| can_send(work) && work.from_fs <= now_fs)
        else {
            let waiting = mfc.work.iter().filter(|work| can_send(work));
            return match waiting.map(|work| work.from_fs).min() {
                Some(time_fs) => Sent::NotBefore(time_fs),
                None => Sent::Nothing,
            };
        };
        if mfc.next_request_fs > now_fs {
            return Sent::NotBefore(mfc.next_request_fs);
        }
        let spe = mfc.spe.index();
        match self.next_request(mfc, place) {
            Ok(Some((transaction, effect))) => {
                let line = mfc.free_lines.pop().expect("there is a free line");
                let work = &mut mfc.work[place];
                work.in_flight += 1;
                let element = work.watched.last_mut().map(|element| {
                    element.in_flight += 1;
                    element.id
                });
                mfc.lines[line as usize] = Line {
                    work: work.id,
                    element,
                    effect,
                };
                mfc.next_request_fs = now_fs + self.costs.request_interval_fs;
                let token = Owner::Line {
                    spe: spe as u32,
                    line,
                }
                .token();
                let transaction = Transaction {
                    token,
                    ..transaction
                };
                let queue = &mut self.queue.borrow_mut();
                self.fabric.borrow_mut().begin(now_fs, transaction, queue);
            }
            Ok(None) => self.finish_if_complete(mfc, place),
            Err(fault) => {
                mfc.fail(now_fs, &fault);
                mfc.work[place].is_sent = true;
                self.finish_if_complete(mfc, place);
            }
        }
        Sent::Something
    }

    /// The next request of a piece of work; `None` if it has none now, because it is sent or blocked.
    fn next_request(
        &self,
        mfc: &mut MfcState,
        place: usize,
    ) -> Result<Option<(Transaction, Effect)>, MfcFault> {
        let requester = Node::Spe(mfc.spe.index() as u16);
        let to_memory = |module, address, access, bytes| Transaction {
            requester,
            target: module,
            place: Place::Memory { address },
            access,
            bytes,
            token: Owner::Thread(0).token(),
        };
        let (id, from_fs) = (mfc.work[place].id, mfc.work[place].from_fs);
        let mut task = std::mem::replace(&mut mfc.work[place].task, Task::Nothing);
        let mut is_sent = false;
        let mut is_blocked = false;
        let mut again_from_fs = from_fs;
        let request = match &mut task {
            Task::Nothing => {
                is_sent = true;
                Ok(None)
            }
            Task::Typed {
                direction,
                address,
                left,
            } => {
                let bytes = (*left).min(LINE) as u32;
                let access = access_of(*direction);
                let module = Node::Module(self.typed_module());
                let request = (*left > 0)
                    .then(|| (to_memory(module, *address, access, bytes), Effect::Nothing));
                *address += LINE;
                *left -= u64::from(bytes);
                is_sent = *left == 0;
                Ok(request)
            }
            Task::LinePut { lsa, ea } => {
                is_sent = true;
                let effect = Effect::StoreLine { lsa: *lsa, ea: *ea };
                let module = self.module_of(mfc, *ea);
                Ok(Some((
                    to_memory(module, ea.0, Access::Write, LINE as u32),
                    effect,
                )))
            }
            Task::Zero { ea, lines } => {
                let effect = Effect::ZeroLine { ea: *ea };
                let module = self.module_of(mfc, EffectiveAddress(*ea));
                let request = (*lines > 0)
                    .then(|| (to_memory(module, *ea, Access::Write, LINE as u32), effect));
                *ea = ea.wrapping_add(LINE);
                *lines = lines.saturating_sub(1);
                is_sent = *lines == 0;
                Ok(request)
            }
            Task::Move(part) => self.next_of_move(mfc, part, &mut is_blocked).inspect(|_| {
                is_sent = part.left == 0;
            }),
            Task::List {
                cursor,
                element,
                stalls,
            } => {
                if element.is_none() && !*stalls {
                    match cursor.next(|at| mfc.read_element(at)).transpose() {
                        Err(fault) => return Err(fault),
                        Ok(None) => is_sent = true,
                        Ok(Some(next)) => {
                            *stalls = next.stalls();
                            let next = Move {
                                operation: next.operation(),
                                direction: cursor.list().direction(),
                                lsa: next.lsa().0,
                                ea: next.ea().0,
                                left: next.bytes(),
                            };
                            if next.left > 0 {
                                self.watch_element(mfc, place, &next);
                            }
                            *element = Some(next);
                            again_from_fs = self.now_fs() + self.costs.list_element_fs;
                        }
                    }
                    // The element leaves once it has been fetched.
                    Ok(None)
                } else {
                    let request = match element {
                        Some(part) => self.next_of_move(mfc, part, &mut is_blocked),
                        None => Ok(None),
                    };
                    if element.is_some_and(|part| part.left == 0) {
                        *element = None;
                        is_sent = *stalls;
                        if let Some(watched) = mfc.work[place].watched.last_mut() {
                            watched.is_sent = true;
                        }
                    }
                    request
                }
            }
        };
        let work = &mut mfc.work[place];
        debug_assert_eq!(work.id, id);
        work.task = task;
        work.is_sent = is_sent;
        work.is_blocked = is_blocked;
        work.from_fs = again_from_fs;
        request
    }

    fn next_of_move(
        &self,
        mfc: &mut MfcState,
        part: &mut Move,
        is_blocked: &mut bool,
    ) -> Result<Option<(Transaction, Effect)>, MfcFault> {
        if part.left == 0 {
            return Ok(None);
        }
        let bytes = part.left.min((LINE - part.ea % LINE) as u32);
        let Move {
            operation,
            direction,
            lsa,
            ea,
            ..
        } = *part;
        let requester = Node::Spe(mfc.spe.index() as u16);
        let token = Owner::Thread(0).token();
        let access = access_of(direction);
        let effect = Effect::Copy {
            operation,
            direction,
            lsa,
            ea,
            bytes,
        };
        let request = match mfc.site(operation, direction, ea, bytes, self.words.len())? {
            Site::Memory(target) => {
                let place = Place::Memory { address: ea };
                (
                    Transaction {
                        requester,
                        target,
                        place,
                        access,
                        bytes,
                        token,
                    },
                    effect,
                )
            }
            Site::LocalStore(target) => {
                let place = Place::LocalStore;
                (
                    Transaction {
                        requester,
                        target,
                        place,
                        access,
                        bytes,
                        token,
                    },
                    effect,
                )
            }
            Site::Register(to, register) => {
                if register == ProblemStateRegister::InMbox && self.keep_room(to, 0).is_err() {
                    self.block_until_room(to, mfc.spe.index());
                    let from = Processor::Spe(mfc.spe);
                    let hazard = self
                        .hazards
                        .borrow_mut()
                        .mailbox_full(self.now_fs(), from, to);
                    mfc.take_down(hazard);
                    *is_blocked = true;
                    return Ok(None);
                }
                (
                    register_write(requester, to, token),
                    Effect::Word { to, register, lsa },
                )
            }
        };
        part.lsa += bytes;
        part.ea += u64::from(bytes);
        part.left -= bytes;
        Ok(Some(request))
    }

    /// The memory module of a line that was checked.
    fn module_of(&self, mfc: &MfcState, ea: EffectiveAddress) -> Node {
        let home = mfc
            .translation
            .with(ea, LINE_BYTES, |block, _, _| block.home());
        Node::Module(home.map_or(0, |home| home.index() as u16))
    }

    /// A request of an MFC is complete. Returns the thread that goes on at once, if one does.
    pub fn line_arrives(&self, spe: usize, line: usize) -> Option<ThreadIndex> {
        let mut mfc = self.mfcs[spe].borrow_mut();
        let Line {
            work,
            element,
            effect,
        } = mfc.lines[line];
        mfc.free_lines.push(line as u32);
        let delivered = match effect {
            Effect::Nothing => None,
            Effect::Copy {
                operation,
                direction,
                lsa,
                ea,
                bytes,
            } => {
                if let Err(fault) = self.copy(&mfc, operation, direction, lsa, ea, bytes) {
                    mfc.fail(self.now_fs(), &fault);
                }
                None
            }
            Effect::Word { to, register, lsa } => {
                let word = mfc.local_store.read_word(LsAddr(lsa));
                Some((to, register, word))
            }
            Effect::StoreLine { lsa, ea } => {
                self.store_line(&mfc, lsa, ea);
                None
            }
            Effect::ZeroLine { ea } => {
                mfc.translation
                    .with(EffectiveAddress(ea), LINE_BYTES, |block, offset, _| {
                        block.write(offset, &[0; LINE_BYTES]);
                    });
                self.caches.borrow_mut().discard(ea / LINE);
                None
            }
        };
        let place = mfc.work.iter().position(|other| other.id == work);
        let place = place.expect("a command is there until all its lines are");
        let work = &mut mfc.work[place];
        work.in_flight -= 1;
        if let Some(element) = element {
            let at = work
                .watched
                .iter()
                .position(|watched| watched.id == element);
            let at = at.expect("an element is watched until its last line has come");
            work.watched[at].in_flight -= 1;
            self.forget_element(&mut mfc, place, at);
        }
        self.finish_if_complete(&mut mfc, place);
        self.pump(&mut mfc);
        drop(mfc);
        let resumed = delivered.and_then(|(to, register, word)| self.deliver(to, register, word));
        match (resumed, self.check_if_finished(spe)) {
            (Some(resumed), Some(later)) => {
                let event = Event {
                    kind: Kind::Resume,
                    index: later,
                };
                self.queue.borrow_mut().push(self.now_fs(), event);
                Some(resumed)
            }
            (resumed, later) => resumed.or(later),
        }
    }

    /// Asks what the SPE's threads wait for, if a command has ended since this was last asked.
    fn check_if_finished(&self, spe: usize) -> Option<ThreadIndex> {
        let finished = self.finished[spe].replace(false);
        if finished { self.check(spe + 1) } else { None }
    }

    fn copy(
        &self,
        mfc: &MfcState,
        operation: Operation,
        direction: Direction,
        lsa: u32,
        ea: u64,
        bytes: u32,
    ) -> Result<(), MfcFault> {
        let local = mfc.local_store.region().block();
        let (at, length) = (lsa as usize, bytes as usize);
        let ea = EffectiveAddress(ea);
        let moved = mfc
            .translation
            .with(ea, length, |memory, offset, in_flight| match direction {
                Direction::Get => local.copy_from(at, memory, offset, length, in_flight),
                Direction::Put => memory.copy_from(offset, local, at, length, in_flight),
            });
        if direction == Direction::Put {
            self.caches.borrow_mut().discard(ea.0 / LINE);
        }
        moved.ok_or(MfcFault::DataStorage { operation, ea })
    }

    fn store_line(&self, mfc: &MfcState, lsa: LsAddr, ea: EffectiveAddress) {
        let mut line = [0; LINE_BYTES];
        mfc.local_store.read(lsa, &mut line);
        mfc.translation.with(ea, LINE_BYTES, |block, offset, _| {
            block.write(offset, &line)
        });
        self.caches.borrow_mut().discard(ea.0 / LINE);
    }

    /// Takes a piece of work away that has nothing to send and nothing under way.
    fn finish_if_complete(&self, mfc: &mut MfcState, place: usize) {
        let work = &mfc.work[place];
        if !work.is_sent || work.in_flight > 0 {
            return;
        }
        let work = mfc.work.remove(place);
        self.finished[mfc.spe.index()].set(true);
        let mut given_back = Vec::new();
        match (work.entry, work.task) {
            (
                Some(entry),
                Task::List {
                    cursor,
                    stalls: true,
                    ..
                },
            ) if mfc.late.is_none() && !mfc.is_closed => {
                mfc.queue.stall(entry);
                let stalled = Stalled {
                    entry,
                    id: work.id,
                    issue: work.issue,
                };
                mfc.stalled.push((stalled, cursor));
                return;
            }
            (Some(entry), _) => mfc.queue.complete(entry),
            (None, _) => {
                mfc.typed.retain(|(id, _)| *id != work.id);
                given_back = mfc.held.extract_if(.., |(id, _)| *id == work.id).collect();
            }
        }
        self.forget_command(mfc, work.id, work.is_watched, &work.watched);
        // After the watch has forgotten the transfer. If it minds, because of another one, it unwinds: not through
        // the event loop, which may run on anybody's stack.
        if let Err(hazard) = catch_unwind(AssertUnwindSafe(|| drop(given_back))) {
            mfc.late.get_or_insert(hazard);
        }
        let depth = SPU_QUEUE_ENTRIES - mfc.free_entries();
        let now_fs = self.now_fs();
        self.observer
            .borrow_mut()
            .queue_depth(now_fs, mfc.spe, depth);
        if !mfc.is_closed {
            self.start_commands(mfc);
        }
    }

    /// Begins a transfer whose bytes have moved already.
    pub fn begin_typed(&self, spe: SpeId, direction: Direction, lsa: LsAddr, bytes: usize) -> u64 {
        let mut mfc = self.mfcs[spe.index()].borrow_mut();
        let id = mfc.next_serial();
        let left = bytes as u64;
        // Where ordinary memory lies differs from run to run, so it is dealt out to the banks in the order
        // in which it is used.
        let address = self.typed_address.get();
        self.typed_address
            .set(address + left.next_multiple_of(LINE));
        let task = match left {
            0 => Task::Nothing,
            _ => Task::Typed {
                direction,
                address,
                left,
            },
        };
        let name = match direction {
            Direction::Get => "typed get",
            Direction::Put => "typed put",
        };
        let now_fs = self.now_fs();
        let mut hazards = self.hazards.borrow_mut();
        let issue = hazards.issue(spe, None, Order::None);
        let transfer = Transfer {
            name,
            direction,
            lsa,
            ea: EffectiveAddress(TYPED_AT + address),
            bytes: bytes as u32,
            issue,
        };
        let hazard = hazards.begin(now_fs, spe, id, &transfer);
        mfc.take_down(hazard);
        drop(hazards);
        mfc.work.push(Work {
            id,
            entry: None,
            task,
            from_fs: now_fs + self.costs.start_fs,
            in_flight: 0,
            is_sent: false,
            is_blocked: false,
            is_watched: true,
            issue,
            watched: Vec::new(),
        });
        mfc.typed.push((id, direction));
        let mut observer = self.observer.borrow_mut();
        observer.command_issued(now_fs, spe, id, name, left);
        observer.queue_depth(now_fs, spe, SPU_QUEUE_ENTRIES - mfc.free_entries());
        drop(observer);
        self.pump(&mut mfc);
        drop(mfc);
        self.tell_if_finished(spe);
        id
    }

    /// The program of an SPE has ended: what its MFC has still to say is not for the next one. Returns what its
    /// program would have panicked with, if it had asked.
    pub fn end_program_of_mfc(&self, spe: SpeId) -> Option<Payload> {
        let mut mfc = self.mfcs[spe.index()].borrow_mut();
        mfc.queue.take_stall_notifications();
        mfc.late.take()
    }

    /// Takes what an MFC would tell the next who asks.
    pub fn take_late_error(&self, spe: usize) -> Option<Payload> {
        self.mfcs[spe].borrow_mut().late.take()
    }

    /// Whether a typed transfer is complete.
    pub fn typed_is_complete(&self, spe: SpeId, id: u64) -> bool {
        let mfc = self.mfcs[spe.index()].borrow();
        mfc.typed.iter().all(|(other, _)| *other != id)
    }

    /// Keeps the buffer of a view that is gone until its last transfer is complete.
    pub fn hold_buffer(&self, spe: SpeId, transfer: u64, buffer: LocalBuffer) {
        if !self.typed_is_complete(spe, transfer) {
            self.mfcs[spe.index()]
                .borrow_mut()
                .held
                .push((transfer, buffer));
        }
    }

    /// Whether buffers are held whose views are gone.
    pub fn holds_buffers(&self, spe: SpeId) -> bool {
        !self.mfcs[spe.index()].borrow().held.is_empty()
    }

    /// Whether all typed puts are complete.
    pub fn typed_puts_are_complete(&self, spe: SpeId) -> bool {
        let mfc = self.mfcs[spe.index()].borrow();
        mfc.typed
            .iter()
            .all(|(_, direction)| *direction == Direction::Get)
    }

    /// Has the SPE's threads look, if a command has ended since they last did.
    fn tell_if_finished(&self, spe: SpeId) {
        if self.finished[spe.index()].replace(false) {
            self.notify(core_of(spe));
        }
    }

    /// Whether the queue of an MFC has a free entry.
    pub fn has_free_entry(&self, spe: SpeId) -> bool {
        self.mfcs[spe.index()].borrow().free_entries() > 0
    }
}

fn access_of(direction: Direction) -> Access {
    match direction {
        Direction::Get => Access::Read,
        Direction::Put => Access::Write,
    }
}

/// The MFC of a [`SimSpe`](crate::SimSpe).
pub struct SimMfc {
    world: Rc<World>,
    spe: SpeId,
    local_store: LocalStore,
}

impl SimMfc {
    pub(crate) fn new(world: Rc<World>, spe: SpeId, local_store: LocalStore) -> Self {
        Self {
            world,
            spe,
            local_store,
        }
    }

    fn core(&self) -> usize {
        core_of(self.spe)
    }

    fn state(&self) -> std::cell::RefMut<'_, MfcState> {
        self.world.mfcs[self.spe.index()].borrow_mut()
    }

    /// What nobody can be told of as an error: the call that found it did not cause it.
    fn panic_if_faulty(&self) {
        let is_faulty = self.state().late.is_some();
        if is_faulty
            && !threads::is_unwinding()
            && let Some(error) = self.world.take_late_error(self.spe.index())
        {
            // Like a panic, but it is the machine that speaks, and at a place that says nothing.
            resume_unwind(error);
        }
    }

    /// Checks an atomic command, at the cost of a cycle: a loop that tries it until it is legal comes to an end.
    fn line(&self, command: RawCommand) -> Result<(Operation, LsAddr, EffectiveAddress), MfcFault> {
        self.world.compute(self.core(), 1);
        let command = command.check(self.local_store.bytes() as u32)?;
        let Command::Atomic(atomic) = command else {
            unreachable!("an atomic's opcode makes an atomic");
        };
        let operation = Operation::from(&command);
        self.state().check_line(operation, atomic.ea())?;
        Ok((operation, atomic.lsa(), atomic.ea()))
    }

    /// Takes the time of reading a line through the atomic unit.
    pub(crate) fn fetch_line(&self, ea: EffectiveAddress) {
        let world = &self.world;
        let (spe, line) = (self.spe.index(), ea.0 / LINE);
        world.pass(self.core(), world.costs.issue_fs);
        let held = world.caches.borrow().held(spe, line);
        if held == Held::No && !world.is_in_condition() {
            let owner = world.caches.borrow().changed_by(line);
            let (target, place) = match owner {
                Some(owner) => (Node::Spe(owner as u16), Place::AtomicCache),
                None => {
                    let module = world.module_of(&self.state(), ea);
                    (module, Place::Memory { address: ea.0 })
                }
            };
            self.lock_transaction(Access::Read, target, place, LINE as u32);
        } else {
            world.pass(self.core(), world.costs.atomic_hit_fs);
        }
        world.add_lag(self.core(), world.costs.channel_fs);
        world.caches.borrow_mut().read(spe, line);
    }

    /// Takes the time of making a line this SPE's own.
    pub(crate) fn claim_line(&self, ea: EffectiveAddress) {
        let world = &self.world;
        let (spe, line) = (self.spe.index(), ea.0 / LINE);
        world.pass(self.core(), world.costs.issue_fs);
        let is_own = world.caches.borrow().held(spe, line) == Held::Changed;
        if is_own || !self.state().has_reservation() || world.is_in_condition() {
            world.pass(self.core(), world.costs.atomic_hit_fs);
        } else {
            let module = world.module_of(&self.state(), ea);
            self.lock_transaction(Access::Claim, module, Place::Memory { address: ea.0 }, 0);
        }
        world.add_lag(self.core(), world.costs.channel_fs);
    }

    fn lock_transaction(&self, access: Access, target: Node, place: Place, bytes: u32) {
        let requester = Node::Spe(self.spe.index() as u16);
        let transaction = |token| Transaction {
            requester,
            target,
            place,
            access,
            bytes,
            token,
        };
        self.world.transact(
            self.core(),
            Cause::Lock,
            self.world.costs.start_fs,
            transaction,
        );
    }
}

impl Wait for SimMfc {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        let at = Location::caller();
        // A loop of waits for what is there already comes to an end.
        self.world.compute(self.core(), 1);
        self.world
            .wait_until(self.core(), Cause::Dma, why, at, ready)
    }
}

impl Mfc for SimMfc {
    fn try_issue(&self, command: RawCommand) -> Result<(), TryIssueError> {
        let world = &self.world;
        world.pass(self.core(), world.costs.issue_fs);
        self.panic_if_faulty();
        let command = command.check(self.local_store.bytes() as u32)?;
        let mut mfc = self.state();
        if mfc.free_entries() == 0 {
            return Err(TryIssueError::Full);
        }
        let spes = world.words.len();
        let is_list = matches!(command, Command::ListTransfer(_));
        if !is_list {
            mfc.check_addresses(&command, spes)?;
        }
        let entry = match mfc.queue.push(command) {
            Ok(entry) => entry,
            Err(PushError::Full { .. }) => return Err(TryIssueError::Full),
            Err(PushError::Fault(fault)) => return Err(fault.into()),
        };
        // What a list names that has to wait may still be changed by what it waits for.
        if is_list
            && mfc.queue.is_runnable(entry)
            && let Err(fault) = mfc.check_addresses(&command, spes)
        {
            mfc.queue.start(entry);
            mfc.queue.complete(entry);
            return Err(fault.into());
        }
        world.watch_command(&mut mfc, entry, &command);
        world.start_commands(&mut mfc);
        world.pump(&mut mfc);
        drop(mfc);
        world.tell_if_finished(self.spe);
        self.panic_if_faulty();
        Ok(())
    }

    #[track_caller]
    fn free_entries(&self) -> usize {
        self.world.pass(self.core(), self.world.costs.channel_fs);
        self.panic_if_faulty();
        self.state().free_entries()
    }

    #[track_caller]
    fn incomplete_tags(&self) -> TagMask {
        self.world.pass(self.core(), self.world.costs.channel_fs);
        self.panic_if_faulty();
        self.state().queue.incomplete_tags()
    }

    fn take_stall_notifications(&self) -> TagMask {
        self.world.pass(self.core(), self.world.costs.channel_fs);
        self.state().queue.take_stall_notifications()
    }

    fn acknowledge_stall(&self, tag: Tag) -> Result<(), MfcFault> {
        let world = &self.world;
        world.pass(self.core(), world.costs.channel_fs);
        let mut mfc = self.state();
        let resumed: Vec<EntryId> = mfc.queue.acknowledge(tag).collect();
        let mut outcome = Ok(());
        for entry in resumed {
            let place = mfc.stalled.iter().position(|(list, _)| list.entry == entry);
            let place = place.expect("a stalled list has a cursor");
            let (stalled, cursor) = mfc.stalled.swap_remove(place);
            if let Err(fault) = mfc.check_list(cursor, world.words.len()) {
                outcome = outcome.and(Err(fault));
                mfc.queue.complete(entry);
                world.forget_command(&mfc, stalled.id, false, &[]);
                continue;
            }
            mfc.work.push(Work {
                id: stalled.id,
                entry: Some(entry),
                task: Task::List {
                    cursor,
                    element: None,
                    stalls: false,
                },
                from_fs: world.now_fs(),
                in_flight: 0,
                is_sent: false,
                is_blocked: false,
                is_watched: false,
                issue: stalled.issue,
                watched: Vec::new(),
            });
        }
        world.start_commands(&mut mfc);
        world.pump(&mut mfc);
        drop(mfc);
        world.tell_if_finished(self.spe);
        outcome
    }

    fn getllar(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), MfcFault> {
        let (operation, lsa, ea) = self.line(RawCommand::getllar(lsa, ea))?;
        self.fetch_line(ea);
        let line = self.world.reserve_line(self.spe, ea);
        let line = line.ok_or(MfcFault::DataStorage { operation, ea })?;
        self.local_store.write(lsa, &line);
        Ok(())
    }

    fn putllc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<bool, MfcFault> {
        let (operation, lsa, ea) = self.line(RawCommand::putllc(lsa, ea))?;
        self.claim_line(ea);
        let mut line = [0; LINE_BYTES];
        self.local_store.read(lsa, &mut line);
        let stored = self.world.store_reserved_line(self.spe, ea, &line);
        stored.ok_or(MfcFault::DataStorage { operation, ea })
    }

    fn putlluc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), MfcFault> {
        let (_, lsa, ea) = self.line(RawCommand::putlluc(lsa, ea))?;
        self.claim_line(ea);
        let mfc = self.state();
        self.world.store_line(&mfc, lsa, ea);
        self.world
            .caches
            .borrow_mut()
            .store(self.spe.index(), ea.0 / LINE);
        Ok(())
    }

    fn reservation_lost(&self) -> bool {
        self.world.pass(self.core(), self.world.costs.channel_fs);
        !self.state().has_reservation()
    }
}

impl World {
    /// Whether a line of main memory is there.
    pub fn is_line_mapped(&self, spe: SpeId, ea: EffectiveAddress) -> bool {
        let mfc = self.mfcs[spe.index()].borrow();
        let is_memory = mfc
            .translation
            .with(ea, LINE_BYTES, |block, _, _| block.can_be_reserved());
        is_memory == Some(true)
    }

    /// Reads a line of main memory and reserves it for an SPE. `None` if it is not there.
    pub fn reserve_line(&self, spe: SpeId, ea: EffectiveAddress) -> Option<[u8; LINE_BYTES]> {
        let mut mfc = self.mfcs[spe.index()].borrow_mut();
        let mut line = [0; LINE_BYTES];
        let reserved = mfc.translation.with(ea, LINE_BYTES, |block, offset, _| {
            block.can_be_reserved().then(|| {
                let all = || mfc.translation.stores_in_flight();
                block.reserve(offset / LINE_BYTES, &mut line, all)
            })
        })??;
        mfc.reservation = Some((ea, reserved));
        Some(line)
    }

    /// Stores a line if the SPE still has it reserved, and says whether it did. `None` if it is not there.
    pub fn store_reserved_line(
        &self,
        spe: SpeId,
        ea: EffectiveAddress,
        line: &[u8; LINE_BYTES],
    ) -> Option<bool> {
        let mut mfc = self.mfcs[spe.index()].borrow_mut();
        let reservation = mfc.reservation.take();
        let stored = mfc.translation.with(ea, LINE_BYTES, |block, _, _| {
            reservation
                .is_some_and(|(at, reserved)| at == ea && block.store_conditional(reserved, line))
        })?;
        if stored {
            self.caches.borrow_mut().store(spe.index(), ea.0 / LINE);
        }
        Some(stored)
    }
}
