//! The carrier of the processes of an SPE.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering;

use cellworks_machine::mfc::{EffectiveAddress, RawCommand};
use cellworks_machine::{
    AtomicOp, CellSpe, LocalBuffer, Mfc, Processor, SignalRegister, Sleeper, SpeId, Time,
};

use super::carrier::{Asker, Carrier, Stepped, step_at_line};
use super::choice::Transport;
use super::costs::{ANSWER_WORDS, PAUSE_OF_SKIP, REQUEST_WORDS, SPE_REQUEST, SPE_STEP};
use super::exchange::{Exchange, Route};
use super::items::{Bytes, CommandOf, HOLDER, issue_all, no_room_for_item, room_of, signal_of};
use super::origin::Origin;
use crate::channel::link::{Link, Waiting};
use crate::channel::waker::Woken;
use crate::sync::locked;

/// The register for signals that a process may go on: see [`wake_bit`].
const WAKE: SignalRegister = SignalRegister::One;

/// The register for signals that an item was fetched: see [`signal_of`].
const FETCHED: SignalRegister = SignalRegister::Two;

/// Returns the signal bit for a process that may go on. Several processes may share a bit.
pub(crate) fn wake_bit(process: u32) -> u32 {
    1 << (process % 32)
}

/// The kind of a request to the PPE: the low bits of the first word, below the process number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Asked {
    /// A step of a channel that only one reader and one writer, both on SPEs, have used.
    SimpleStep,
    Step,
    /// An alternation begins to wait.
    Wait,
    /// The process in the second word may go on.
    Wake,
    /// An SPE must start a process. The first word has the SPE in place of the process.
    Start,
}

const ASKED_BITS: u32 = 3;

impl Asked {
    pub(crate) fn by(self, process: u32) -> u32 {
        process << ASKED_BITS | self as u32
    }

    pub(crate) fn of(word: u32) -> (Self, u32) {
        let asked = match word & ((1 << ASKED_BITS) - 1) {
            0 => Self::SimpleStep,
            1 => Self::Step,
            2 => Self::Wait,
            3 => Self::Wake,
            _ => Self::Start,
        };
        (asked, word >> ASKED_BITS)
    }
}

pub(crate) struct SpeCarrier<'a, S: CellSpe> {
    spe: &'a S,
    exchange: &'a Exchange,
    /// The rooms of the items that wait in this local store, by item number, the oldest first.
    rooms: RefCell<BTreeMap<u32, LocalBuffer>>,
    /// The number of running DMA transfers of this local store. Each one frees room at its end.
    transfers: Cell<usize>,
    /// The number of calls of `send`. Messages to the PPE are sent in the order of these calls.
    messages: Cell<u64>,
    sent: Cell<u64>,
    /// How many processes wait to send, or for room in the local store.
    queued: Cell<usize>,
    /// How many words of an incomplete answer have come.
    answer: Cell<usize>,
}

impl<'a, S: CellSpe> SpeCarrier<'a, S> {
    pub fn new(spe: &'a S, exchange: &'a Exchange) -> Self {
        Self {
            spe,
            exchange,
            rooms: RefCell::default(),
            transfers: Cell::new(0),
            messages: Cell::new(0),
            sent: Cell::new(0),
            queued: Cell::new(0),
            answer: Cell::new(0),
        }
    }

    fn processor(&self) -> Processor {
        Processor::Spe(self.spe.id())
    }

    /// Takes signals and words for the processes of this SPE. Called in the condition of each wait.
    fn collect(&self) {
        match self.exchange.transport {
            Transport::Direct => {
                if let Some(signal) = self.spe.try_read_signal(WAKE) {
                    let here = self.exchange.processes_on(self.processor());
                    let named = here.into_iter().filter(|p| wake_bit(*p) & signal != 0);
                    named.for_each(|process| self.exchange.arrive(process));
                }
            }
            Transport::Coordinator => {
                while let Some(word) = self.spe.try_read_in_mbox() {
                    let words = self.answer.get();
                    if words == 0 {
                        self.exchange.arrive(word);
                    }
                    self.answer.set((words + 1) % ANSWER_WORDS);
                }
            }
        }
    }

    fn send(&self, words: &[u32]) {
        let message = self.messages.replace(self.messages.get() + 1);
        if message > self.sent.get() {
            self.wait_in_queue("its turn to send to the PPE", &mut || {
                message <= self.sent.get()
            });
        }
        self.exchange.count_request();
        for word in words {
            let mailbox = self.exchange.transport.mailbox();
            let mut sent = || {
                // Empties the inbound mailbox, because the PPE may be waiting for room in it.
                self.collect();
                self.spe.try_write_out_mbox(mailbox, *word).is_ok()
            };
            if !sent() {
                let why = "the PPE to empty its outbound mailbox";
                self.spe.wait_until(&why, &mut sent);
            }
        }
        self.sent.set(self.sent.get() + 1);
        self.tell_queued();
    }

    fn wait_in_queue(&self, why: &str, ready: &mut dyn FnMut() -> bool) {
        self.queued.set(self.queued.get() + 1);
        self.spe.wait_until(&why, &mut || {
            self.collect();
            ready()
        });
        self.queued.set(self.queued.get() - 1);
    }

    fn tell_queued(&self) {
        if self.queued.get() > 0 {
            self.spe.notify(self.processor());
        }
    }

    fn update(&self, line: EffectiveAddress) {
        let updated = self.spe.fetch_update(line, AtomicOp::Add(1));
        updated.expect("the lines of a network are in a region of its own");
    }

    fn read_line(&self, line: EffectiveAddress) {
        let word = self.spe.load_word(line);
        word.expect("the lines of a network are in a region of its own");
    }

    fn wake_one(&self, sleeper: Sleeper, process: u32) {
        let processor = sleeper.processor();
        if processor == self.processor() {
            self.exchange.arrive(process);
            self.spe.wake(sleeper);
            return;
        }
        if std::thread::panicking() {
            // A process that unwinds takes no simulated time.
            self.exchange.arrive(process);
            self.spe.notify(processor);
            return;
        }
        if self.exchange.transport == Transport::Coordinator {
            self.send(&[Asked::Wake.by(0), process, 0]);
            return;
        }
        if self.exchange.alternates(process) {
            self.update(self.exchange.line_of_process(process));
        }
        match processor {
            Processor::Ppe => self.send(&[Asked::Wake.by(process)]),
            Processor::Spe(to) => self.spe.send_signal(to, WAKE, wake_bit(process)),
        }
    }

    /// Asks the PPE for a step, and waits for the answer. If the step shows that the process has to
    /// wait for another process, the PPE sends no answer, and this call returns after the step.
    fn ask(&self, asker: Asker<'_>, asked: Asked, step: &mut dyn FnMut() -> Stepped) {
        let (exchange, process) = (self.exchange, asker.number);
        exchange.take_arrived(process);
        self.spe.compute(SPE_REQUEST);
        let is_performed = exchange.requests.ask(process, step, || {
            let mut request = [0; REQUEST_WORDS];
            request[0] = asked.by(process);
            self.send(&request);
            let why = "the answer of the PPE to a request";
            self.spe.wait_until(&why, &mut || {
                self.collect();
                match exchange.requests.outcome(process) {
                    Some(waits) => waits || exchange.take_arrived(process),
                    None => false,
                }
            });
        });
        if !is_performed {
            // A destructor in a cancelled run neither waits nor takes simulated time.
            self.wake(step().woken);
            return;
        }
        self.spe.compute(SPE_REQUEST);
    }

    /// Frees the room of fetched items. Returns whether room was freed.
    fn free_fetched(&self) -> bool {
        let Some(signal) = self.spe.try_read_signal(FETCHED) else {
            return false;
        };
        let fetched = locked(&self.exchange.items).take_fetched(self.spe.id(), signal);
        let mut rooms = self.rooms.borrow_mut();
        for origin in &fetched {
            rooms.remove(&origin.number());
        }
        !fetched.is_empty()
    }

    /// Reserves room for an item in this local store. If there is no room, flushes waiting items.
    fn make_room(&self, asker: Asker<'_>, link: &dyn Link, bytes: usize) -> LocalBuffer {
        let local_store = self.spe.local_store();
        let (room, align) = room_of(bytes);
        loop {
            let no_room = match local_store.reserve(room, align, HOLDER) {
                Ok(buffer) => return buffer,
                Err(no_room) => no_room,
            };
            if self.free_fetched() || self.flush_oldest(asker, link) {
                continue;
            }
            let is_awaited = self.transfers.get() > 0 || !self.rooms.borrow().is_empty();
            if !is_awaited {
                let no_room = no_room.no_room().clone();
                no_room_for_item(asker, link, bytes, self.processor(), no_room);
            }
            let before = local_store.free_bytes();
            self.wait_in_queue("room for an item in its local store", &mut || {
                self.free_fetched() || local_store.free_bytes() > before
            });
        }
    }

    /// Flushes the oldest waiting item to main memory. Returns false if no item waits.
    fn flush_oldest(&self, asker: Asker<'_>, link: &dyn Link) -> bool {
        let mut rooms = self.rooms.borrow_mut();
        let mut items = locked(&self.exchange.items);
        let mut ids = rooms.keys().copied();
        let Some(origin) = ids
            .find(|id| items.is_waiting(Origin::new(*id)))
            .map(Origin::new)
        else {
            return false;
        };
        let buffer = rooms.remove(&origin.number()).expect("it was found there");
        drop(rooms);
        let bytes = buffer.bytes();
        let start = items.reserve_main(asker, link, bytes);
        let ea = items.main_address(start);
        drop(items);
        self.transfer(asker, RawCommand::put, &buffer, ea, bytes);
        let mut items = locked(&self.exchange.items);
        if items.flushed(origin, start) {
            self.exchange.count_flushed();
        } else {
            items.release_main(start);
            if items.bytes_of(origin).is_some() {
                // A process is fetching the item from this local store, so the room is kept.
                self.rooms.borrow_mut().insert(origin.number(), buffer);
            }
        }
        drop(items);
        self.tell_queued();
        true
    }

    fn transfer(
        &self,
        asker: Asker<'_>,
        of: CommandOf,
        buffer: &LocalBuffer,
        ea: EffectiveAddress,
        bytes: usize,
    ) {
        let mfc = self.spe.mfc();
        let lsa = buffer.address();
        self.transfers.set(self.transfers.get() + 1);
        let tag = issue_all(asker.number, of, lsa, ea, bytes, |command| {
            mfc.issue(command)
        });
        mfc.wait_all(tag.into());
        self.transfers.set(self.transfers.get() - 1);
        self.exchange.count_moved(bytes);
    }
}

impl<S: CellSpe> Carrier for SpeCarrier<'_, S> {
    fn begin(&self, process: u32) {
        self.exchange.begin(process, self.processor());
    }

    fn end(&self, process: u32) {
        self.exchange.end(process);
    }

    fn perform(&self, asker: Asker<'_>, what: &Waiting<'_>, step: &mut dyn FnMut() -> Stepped) {
        let route = self.exchange.route(what, asker.number, self.processor());
        match (route, self.exchange.transport) {
            (Route::Local, _) => {
                self.spe.compute(SPE_STEP);
                self.wake(step().woken);
            }
            (Route::Shared { line, .. }, Transport::Direct) => {
                self.spe.compute(SPE_STEP);
                let (read, update) = (|| self.read_line(line), || self.update(line));
                self.wake(step_at_line(asker, step, read, update));
            }
            (Route::Shared { is_simple, .. }, Transport::Coordinator) => {
                let asked = if is_simple {
                    Asked::SimpleStep
                } else {
                    Asked::Step
                };
                self.ask(asker, asked, step);
            }
        }
    }

    fn announce(&self, asker: Asker<'_>, step: &mut dyn FnMut() -> Woken) {
        let process = asker.number;
        match self.exchange.transport {
            Transport::Direct => {
                self.spe.compute(SPE_STEP);
                self.update(self.exchange.line_of_process(process));
            }
            Transport::Coordinator => {
                self.spe.compute(SPE_REQUEST);
                let mut request = [0; REQUEST_WORDS];
                request[0] = Asked::Wait.by(process);
                self.send(&request);
            }
        }
        self.exchange.set_alternating(process, true);
        self.wake(step());
    }

    fn skip(&self, asker: Asker<'_>) {
        self.read_line(self.exchange.line_of_process(asker.number));
        self.spe.compute(PAUSE_OF_SKIP);
    }

    fn serve(&self) {}

    fn wake(&self, woken: Woken) {
        woken.for_each(|waker| self.wake_one(waker.sleeper, waker.process));
    }

    fn start(&self, at: SpeId) {
        if std::thread::panicking() {
            // A process that unwinds takes no simulated time.
            if let Some(waker) = self.exchange.deliver_start(at) {
                self.exchange.arrive(waker.process);
                self.spe.notify(Processor::Spe(at));
            }
            return;
        }
        self.spe.compute(SPE_REQUEST);
        let mut request = [0; REQUEST_WORDS];
        request[0] = Asked::Start.by(at.index() as u32);
        let words = match self.exchange.transport {
            Transport::Direct => 1,
            Transport::Coordinator => REQUEST_WORDS,
        };
        self.send(&request[..words]);
    }

    fn receive_start(&self, program: u32) {
        match self.exchange.transport {
            Transport::Direct => self.read_line(self.exchange.line_of_process(program)),
            Transport::Coordinator => self.spe.compute(SPE_REQUEST),
        }
    }

    fn wait(
        &self,
        asker: Asker<'_>,
        what: &Waiting<'_>,
        why: &dyn fmt::Display,
        deadline: Option<Time>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let (exchange, process) = (self.exchange, asker.number);
        let is_ready = loop {
            let mut arrived = || {
                self.collect();
                exchange.take_arrived(process)
            };
            let came = match deadline {
                None => self.spe.wait_until(why, &mut arrived),
                Some(deadline) => self.spe.wait_until_deadline(why, deadline, &mut arrived),
            };
            if !came {
                break ready();
            }
            if exchange.transport == Transport::Direct
                && let Route::Shared { line, .. } = exchange.route(what, process, self.processor())
            {
                self.read_line(line);
            }
            if ready() {
                break true;
            }
        };
        exchange.set_alternating(process, false);
        is_ready
    }

    fn pack(&self, asker: Asker<'_>, link: &dyn Link, bytes: usize) -> Origin {
        if bytes == 0 {
            return Origin::default();
        }
        if !self.rooms.borrow().is_empty() {
            self.free_fetched();
        }
        let buffer = self.make_room(asker, link, bytes);
        let lsa = buffer.address();
        let origin = locked(&self.exchange.items).pack(
            asker.number,
            Bytes::Local {
                spe: self.spe.id(),
                lsa,
                ea: self.spe.local_store().effective(lsa),
            },
        );
        self.rooms.borrow_mut().insert(origin.number(), buffer);
        origin
    }

    fn bring(&self, asker: Asker<'_>, link: &dyn Link, origin: Origin, bytes: usize) {
        if !origin.has_bytes() {
            return;
        }
        let mut items = locked(&self.exchange.items);
        let bytes_of = items.bytes_of(origin);
        if matches!(bytes_of, Some(Bytes::Local { spe, .. }) if spe == self.spe.id()) {
            items.remove(origin);
            drop(items);
            self.rooms.borrow_mut().remove(&origin.number());
            self.tell_queued();
            return;
        }
        drop(items);
        let buffer = self.make_room(asker, link, bytes);
        let mut items = locked(&self.exchange.items);
        let Some(from) = items.begin_fetch(origin) else {
            return;
        };
        let ea = match from {
            Bytes::Local { ea, .. } => ea,
            Bytes::Main { start } => items.main_address(start),
        };
        drop(items);
        self.transfer(asker, RawCommand::get, &buffer, ea, bytes);
        locked(&self.exchange.items).end_fetch(origin);
        if let Bytes::Local { spe, .. } = from {
            self.spe.send_signal(spe, FETCHED, signal_of(origin));
        }
        drop(buffer);
        self.tell_queued();
    }

    fn count_communication(&self) {
        self.exchange.count_communication();
    }

    /// Waits until the items of this SPE were fetched, or no process is left to fetch them.
    fn finish(&self) {
        let is_left = || self.exchange.programs.load(Ordering::Acquire) > 0;
        if !is_left() {
            self.spe.notify(Processor::Ppe);
        }
        let why = "others to fetch the items that its processes have written";
        self.spe.wait_until(&why, &mut || {
            self.free_fetched();
            self.collect();
            self.rooms.borrow().is_empty() || !is_left()
        });
        while self.spe.try_read_in_mbox().is_some() {}
        for register in [WAKE, FETCHED] {
            self.spe.try_read_signal(register);
        }
    }
}

/// The end of the processes of an SPE, or of the main process. The destructor records this end,
/// also after a panic or if the processes never began.
pub(crate) struct EndOfProgram<'a>(pub Option<&'a Exchange>);

impl Drop for EndOfProgram<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = self.0 {
            exchange.programs.fetch_sub(1, Ordering::Release);
        }
    }
}
