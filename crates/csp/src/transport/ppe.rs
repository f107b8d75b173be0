//! The carrier of the main process, which also does the work of the paper's SPE handler and request
//! coordinator. The SPE handler and the coordinator take turns on the PPE.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use cellworks_machine::mfc::{EffectiveAddress, RawCommand};
use cellworks_machine::{
    AtomicOp, CellPpeCore, Processor, SignalMode, SignalRegister, SpeId, Time,
};

use super::carrier::{Asker, Carrier, MainCarrier, Stepped, step_at_line};
use super::choice::Transport;
use super::costs::{
    ANSWER_WORDS, COORDINATOR, HANDLER, PAUSE_OF_SKIP, REQUEST_WORDS, SPE_STEP, THREAD_WAKE,
};
use super::exchange::{Exchange, Route};
use super::items::{Bytes, issue_all, signal_of};
use super::origin::Origin;
use super::spe::{Asked, wake_bit};
use crate::channel::link::{Link, Waiting};
use crate::channel::waker::Woken;
use crate::sync::locked;

pub(crate) struct PpeCarrier<'a, C> {
    core: &'a C,
    exchange: &'a Exchange,
    spes: Vec<SpeId>,
    /// Words of outbound mailboxes that were read and not handled, with their SPEs.
    words: RefCell<VecDeque<(SpeId, u32)>>,
    /// The words of incomplete requests, by the SPEs that sent these words.
    requests: RefCell<BTreeMap<SpeId, Vec<u32>>>,
    /// The index of the SPE that the SPE handler asks next for a word.
    turn: Cell<usize>,
}

impl<'a, C: CellPpeCore> PpeCarrier<'a, C> {
    /// Makes the carrier. Must be called before programs start on `spes`.
    pub fn new(core: &'a C, exchange: &'a Exchange, spes: Vec<SpeId>) -> Self {
        let this = Self {
            core,
            exchange,
            spes,
            words: RefCell::default(),
            requests: RefCell::default(),
            turn: Cell::new(0),
        };
        this.set_signal_modes(SignalMode::Or);
        this
    }

    fn set_signal_modes(&self, mode: SignalMode) {
        for spe in &self.spes {
            for register in [SignalRegister::One, SignalRegister::Two] {
                self.core.set_signal_mode(*spe, register, mode);
            }
        }
    }

    /// Does work of the SPE handler: reads the mailboxes of the SPEs in turn, and stops at the SPE
    /// `until`, which has sent the word that is handled next. While no mailbox has a word, this
    /// work takes no simulated time.
    fn ask_in_turn(&self, until: SpeId) {
        loop {
            let turn = self.turn.get();
            self.turn.set((turn + 1) % self.spes.len());
            let spe = self.spes[turn];
            if spe == until {
                return;
            }
            let mailbox = self.exchange.transport.mailbox();
            if let Some(word) = self.core.try_read_out_mbox(spe, mailbox) {
                self.words.borrow_mut().push_back((spe, word));
            }
        }
    }

    fn handle(&self, spe: SpeId, request: &[u32]) {
        let (asked, process) = Asked::of(request[0]);
        self.core.compute(HANDLER);
        if !matches!(asked, Asked::SimpleStep | Asked::Start) {
            self.core.compute(THREAD_WAKE);
            self.core.compute(COORDINATOR);
        }
        match asked {
            Asked::Wait => {}
            Asked::Wake => self.answer(request[1]),
            Asked::Start => self.pass_start_on(SpeId::new(process as u16)),
            Asked::SimpleStep | Asked::Step => {
                let Some(stepped) = self.exchange.requests.perform(process) else {
                    return;
                };
                if stepped.waits {
                    self.core.notify(Processor::Spe(spe));
                } else {
                    self.answer(process);
                }
                self.wake(stepped.woken);
            }
        }
    }

    /// Does work of the SPE handler: tells the program of an SPE to start a process.
    fn pass_start_on(&self, at: SpeId) {
        // A program that has registered no waker yet checks for requests before its first wait.
        let Some(program) = self.exchange.deliver_start(at) else {
            return;
        };
        match self.exchange.transport {
            Transport::Direct => {
                let register = SignalRegister::One;
                self.core
                    .send_signal(at, register, wake_bit(program.process));
            }
            Transport::Coordinator => self.answer(program.process),
        }
    }

    /// Tells a process that it may go on, unless the process has ended.
    fn answer(&self, process: u32) {
        match self.exchange.processor_of(process) {
            None => {}
            Some(Processor::Ppe) => {
                self.core.compute(THREAD_WAKE);
                self.exchange.arrive(process);
            }
            Some(Processor::Spe(spe)) => {
                self.core.compute(HANDLER);
                let mut answer = [0; ANSWER_WORDS];
                answer[0] = process;
                for word in answer {
                    self.core.write_in_mbox(spe, word);
                }
            }
        }
    }

    fn update(&self, line: EffectiveAddress) {
        let updated = self.core.fetch_update(line, AtomicOp::Add(1));
        updated.expect("the lines of a network are in a region of its own");
    }

    /// Reads a line, as an SPE does by `getllar`. The compare-and-swap affects neither reservations
    /// nor copies of the line: it never stores, because the word counts updates and never reaches
    /// `u32::MAX`.
    fn read_line(&self, line: EffectiveAddress) {
        let never = AtomicOp::CompareAndSwap {
            expected: u32::MAX,
            new: u32::MAX,
        };
        let word = self.core.fetch_update(line, never);
        word.expect("the lines of a network are in a region of its own");
    }
}

impl<C: CellPpeCore> Carrier for PpeCarrier<'_, C> {
    fn begin(&self, process: u32) {
        self.exchange.begin(process, Processor::Ppe);
    }

    fn end(&self, process: u32) {
        self.exchange.end(process);
    }

    fn perform(&self, asker: Asker<'_>, what: &Waiting<'_>, step: &mut dyn FnMut() -> Stepped) {
        self.serve();
        let route = self.exchange.route(what, asker.number, Processor::Ppe);
        match (route, self.exchange.transport) {
            (Route::Local, _) => {
                self.core.compute(SPE_STEP);
                self.wake(step().woken);
            }
            (Route::Shared { line, .. }, Transport::Direct) => {
                self.core.compute(SPE_STEP);
                let (read, update) = (|| self.read_line(line), || self.update(line));
                self.wake(step_at_line(asker, step, read, update));
            }
            (Route::Shared { .. }, Transport::Coordinator) => {
                self.core.compute(THREAD_WAKE);
                self.core.compute(COORDINATOR);
                let stepped = step();
                self.wake(stepped.woken);
                if !stepped.waits {
                    self.core.compute(THREAD_WAKE);
                }
            }
        }
    }

    fn announce(&self, asker: Asker<'_>, step: &mut dyn FnMut() -> Woken) {
        let process = asker.number;
        match self.exchange.transport {
            Transport::Direct => {
                self.core.compute(SPE_STEP);
                self.update(self.exchange.line_of_process(process));
            }
            Transport::Coordinator => {
                self.core.compute(THREAD_WAKE);
                self.core.compute(COORDINATOR);
            }
        }
        self.exchange.set_alternating(process, true);
        self.wake(step());
    }

    fn skip(&self, asker: Asker<'_>) {
        self.serve();
        if self.exchange.transport == Transport::Direct {
            self.read_line(self.exchange.line_of_process(asker.number));
        }
        self.core.compute(PAUSE_OF_SKIP);
    }

    fn serve(&self) {
        self.core.wait_until(&"nothing", &mut || {
            self.collect();
            true
        });
        self.handle_all();
    }

    fn wake(&self, woken: Woken) {
        woken.for_each(|waker| {
            let (processor, process) = (waker.sleeper.processor(), waker.process);
            match (processor, self.exchange.transport) {
                (Processor::Ppe, Transport::Direct) => self.exchange.arrive(process),
                (Processor::Spe(_), _) if std::thread::panicking() => {
                    // A process that unwinds takes no simulated time.
                    self.exchange.arrive(process);
                    self.core.notify(processor);
                }
                (Processor::Spe(spe), Transport::Direct) => {
                    if self.exchange.alternates(process) {
                        let line = self.exchange.line_of_process(process);
                        self.update(line);
                    }
                    self.core
                        .send_signal(spe, SignalRegister::One, wake_bit(process));
                }
                (_, Transport::Coordinator) => self.answer(process),
            }
        });
    }

    fn start(&self, at: SpeId) {
        self.core.compute(HANDLER);
        self.pass_start_on(at);
    }

    fn receive_start(&self, _: u32) {
        unreachable!("no process is started on the PPE");
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
            self.handle_all();
            let mut arrived = exchange.take_arrived(process);
            if !arrived {
                let mut something = || {
                    arrived = exchange.take_arrived(process);
                    self.collect() || arrived
                };
                let came = match deadline {
                    None => self.core.wait_until(why, &mut something),
                    Some(deadline) => self.core.wait_until_deadline(why, deadline, &mut something),
                };
                if !came {
                    break ready();
                }
            }
            if !arrived {
                continue;
            }
            if exchange.transport == Transport::Direct
                && let Route::Shared { line, .. } = exchange.route(what, process, Processor::Ppe)
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
        let mut items = locked(&self.exchange.items);
        let start = items.reserve_main(asker, link, bytes);
        items.pack(asker.number, Bytes::Main { start })
    }

    fn bring(&self, asker: Asker<'_>, link: &dyn Link, origin: Origin, bytes: usize) {
        if !origin.has_bytes() {
            return;
        }
        let Some(from) = locked(&self.exchange.items).begin_fetch(origin) else {
            return;
        };
        if let Bytes::Local { spe, lsa, .. } = from {
            let mut items = locked(&self.exchange.items);
            let start = items.reserve_main(asker, link, bytes);
            let ea = items.main_address(start);
            drop(items);
            let tag = issue_all(asker.number, RawCommand::put, lsa, ea, bytes, |command| {
                self.core.issue_proxy(spe, command)
            });
            let why = format_args!("an item to leave the local store of {spe}");
            self.core.wait_until(&why, &mut || {
                (self.core.incomplete_proxy_tags(spe) & tag.into()).is_empty()
            });
            self.exchange.count_moved(bytes);
            let mut items = locked(&self.exchange.items);
            items.end_fetch(origin);
            items.release_main(start);
            drop(items);
            self.core
                .send_signal(spe, SignalRegister::Two, signal_of(origin));
        } else {
            locked(&self.exchange.items).end_fetch(origin);
        }
    }

    fn count_communication(&self) {
        self.exchange.count_communication();
    }

    fn finish(&self) {
        for spe in &self.spes {
            // Wakes the SPE if it waits for processes to fetch its items: none is left now.
            self.core.notify(Processor::Spe(*spe));
        }
        self.set_signal_modes(SignalMode::Overwrite);
    }
}

impl<C: CellPpeCore> MainCarrier for PpeCarrier<'_, C> {
    fn collect(&self) -> bool {
        let mut words = self.words.borrow_mut();
        let before = words.len();
        for spe in &self.spes {
            let mailbox = self.exchange.transport.mailbox();
            if let Some(word) = self.core.try_read_out_mbox(*spe, mailbox) {
                words.push_back((*spe, word));
            }
        }
        words.len() > before
    }

    fn handle_all(&self) {
        loop {
            let Some((spe, word)) = self.words.borrow_mut().pop_front() else {
                return;
            };
            match self.exchange.transport {
                Transport::Direct => match Asked::of(word) {
                    (Asked::Start, spe) => {
                        self.core.compute(HANDLER);
                        self.pass_start_on(SpeId::new(spe as u16));
                    }
                    (_, process) => self.exchange.arrive(process),
                },
                Transport::Coordinator => {
                    self.ask_in_turn(spe);
                    let mut requests = self.requests.borrow_mut();
                    let request = requests.entry(spe).or_default();
                    request.push(word);
                    if request.len() == REQUEST_WORDS {
                        let request = std::mem::take(request);
                        drop(requests);
                        self.handle(spe, &request);
                    }
                }
            }
        }
    }
}
