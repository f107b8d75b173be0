//! The PPE of a simulated machine, which runs the main program.
//!
//! The PPE reaches the registers of SPEs by loads and stores, or by library calls that enter the
//! kernel. A store blocks the PPE until it has arrived, because a later load must not overtake it.
//!
//! | operation | loads and stores |
//! |---|---|
//! | write to an inbound mailbox | load of its status, store |
//! | read of an outbound mailbox | load of its status, load |
//! | read of an outbound interrupt mailbox | load of its status, library call |
//! | signal | store |
//! | command to an MFC | load of the queue's status, 5 stores, load of the command's status |
//! | tag status of an MFC | store of the mask, load |
//! | status of the mailboxes of an SPE | load |
//!
//! The accesses are those of the library libspe2 (`mbox.c`, `dma.c`). Programs cannot map the
//! outbound interrupt mailbox, so reading it is a call. With library calls, a command or a tag
//! status takes the time of a mailbox call, because no source gives their own times.
//!
//! A program that waits for a mailbox or a command polls its status. Only the last load is
//! simulated: the one that finds the word or the end of the command.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use cellworks_machine::mailbox::{MailboxFull, MailboxStatus, Outbound};
use cellworks_machine::memory::{LINE_BYTES, Translation};
use cellworks_machine::mfc::{CommandFault, EffectiveAddress, RawCommand, TagMask};
use cellworks_machine::{
    AtomicError, AtomicOp, CellPpeCore, Cycles, PpeCore, ProblemStateRegister, Processor, Program,
    RemoteWaker, RunId, SignalMode, SignalRegister, Sleeper, SpeId, Time, Timebase, Topology,
    TryIssueError, Wait, Wake,
};

use crate::fabric::{Access, Endpoint, Place, Transaction, WORD_BYTES};
use crate::index::PPE;
use crate::observe::Cause;
use crate::processor::SimProcessor;
use crate::programs::Programs;
use crate::remote::remote_waker;
use crate::setup::PpeAccess;
use crate::spe::SimSpe;
use crate::threads::OWNER;
use crate::time::{Femtoseconds, Moment};
use crate::words::{inbound_full, signal};
use crate::world::World;

/// The number of stores that write a command to the proxy queue of an MFC: the local address, two
/// halves of the effective address, size with tag, and opcode.
const COMMAND_STORES: usize = 5;

/// The PPE of a simulated machine, with the methods that the main program calls.
pub struct SimPpe {
    programs: Rc<Programs>,
    translation: Translation,
    timebase: Timebase,
    /// The accesses that the `ready` closure of a wait has made, and that have taken no time yet.
    owed: RefCell<Vec<Owed>>,
}

/// An access to an SPE by the `ready` closure of a wait.
#[derive(Clone, Copy)]
enum Owed {
    ReadOutbound(SpeId, Outbound),
    IssueProxy(SpeId),
    /// A read of the status of an SPE's mailboxes, or of the tag status of its proxy queue.
    Status(SpeId),
    Write {
        to: SpeId,
        register: ProblemStateRegister,
        word: u32,
        call: Femtoseconds,
    },
}

impl SimPpe {
    pub(crate) fn new(
        programs: Rc<Programs>,
        translation: Translation,
        timebase: Timebase,
    ) -> Self {
        Self {
            programs,
            translation,
            timebase,
            owed: RefCell::default(),
        }
    }

    fn world(&self) -> &World {
        &self.programs.world
    }

    fn processor(&self) -> &SimProcessor {
        self.world().processor(PPE)
    }

    fn by_calls(&self) -> bool {
        self.programs.ppe_access == PpeAccess::SystemCalls
    }

    /// Spends the time of a load from a register of an SPE.
    fn load(&self, from: SpeId) {
        let transaction = |token| Transaction {
            requester: Endpoint::of(PPE),
            target: Endpoint::Spe(from.index() as u16),
            place: Place::Register,
            access: Access::Read,
            bytes: WORD_BYTES,
            token,
        };
        let start = self.world().costs.mmio_read;
        self.world()
            .transact(self.processor(), Cause::Other, start, transaction);
    }

    /// Spends the time of a store to a register of an SPE.
    fn pay_for_store(&self, to: SpeId) {
        let start = self.world().costs.mmio_write;
        let to = Endpoint::Spe(to.index() as u16);
        self.world()
            .transact(self.processor(), Cause::Other, start, |token| {
                Transaction::register_write(Endpoint::of(PPE), to, token)
            });
    }

    /// Stores a word to a register of an SPE, and spends the time. The register must have room.
    fn store(&self, to: SpeId, register: ProblemStateRegister, word: u32, call: Femtoseconds) {
        let world = self.world();
        if self.by_calls() {
            world.pass(self.processor(), call);
        } else {
            self.pay_for_store(to);
        }
        let resumed = world.deliver(self.processor(), world.spe(to), register, word);
        world.resume_now(resumed);
    }

    /// Stores a word to a register of an SPE. In the `ready` closure of a wait, which must not
    /// wait, adds the store to `owed` instead.
    fn write(&self, to: SpeId, register: ProblemStateRegister, word: u32, call: Femtoseconds) {
        if !self.world().is_in_condition() {
            return self.store(to, register, word, call);
        }
        self.owed.borrow_mut().push(Owed::Write {
            to,
            register,
            word,
            call,
        });
    }

    /// Spends the time of reading the status and the word of an outbound mailbox that holds a word.
    fn pay_for_reading(&self, from: SpeId, mailbox: Outbound) {
        if !self.by_calls() {
            self.load(from);
        }
        self.pay_for_word(from, mailbox);
    }

    /// Spends the time of reading the word of an outbound mailbox, without the time of its status.
    fn pay_for_word(&self, from: SpeId, mailbox: Outbound) {
        if self.by_calls() || mailbox == Outbound::Interrupt {
            self.world()
                .pass(self.processor(), self.world().costs.mailbox_call);
        } else {
            self.load(from);
        }
    }

    /// Spends the time of reading the status of a proxy queue or of mailboxes. With library calls,
    /// this is the whole time of a command, a tag status or a mailbox status.
    fn pay_for_status(&self, of: SpeId) {
        if self.by_calls() {
            self.world()
                .pass(self.processor(), self.world().costs.mailbox_call)
        } else {
            self.load(of)
        }
    }

    /// Spends the time of the stores that write a command to a proxy queue.
    fn pay_for_command(&self, to: SpeId) {
        if !self.by_calls() {
            (0..COMMAND_STORES).for_each(|_| self.pay_for_store(to));
        }
    }

    /// Spends the time of reading whether a proxy queue has accepted a command.
    fn pay_for_command_status(&self, of: SpeId) {
        if !self.by_calls() {
            self.load(of);
        }
    }

    pub(crate) fn wait_for_programs(&self, at: &'static Location<'static>) {
        let why = "the programs that it spawned to end";
        let world = self.world();
        world.wait_until(self.processor(), Cause::Other, &why, at, &mut || {
            self.programs.have_ended()
        });
        world.panic_if_proxy_faulty();
    }

    fn wait_at(
        &self,
        cause: Cause,
        why: &dyn fmt::Display,
        at: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let came_true = self
            .world()
            .wait_until(self.processor(), cause, why, at, &mut || self.check(ready));
        self.pay_owed();
        came_true
    }

    /// Calls `ready`. If the result is false, sends the words that `ready` has written.
    fn check(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        let is_ready = ready();
        if !is_ready {
            self.send_owed();
            // A failed check takes no time, so its reads of a status are forgotten.
            let mut owed = self.owed.borrow_mut();
            owed.retain(|owed| !matches!(owed, Owed::Status(_)));
        }
        is_ready
    }

    /// Spends the time of the accesses in `owed` when the wait has ended.
    fn pay_owed(&self) {
        for owed in self.owed.take() {
            match owed {
                Owed::ReadOutbound(from, mailbox) => self.pay_for_reading(from, mailbox),
                Owed::IssueProxy(to) => {
                    self.pay_for_status(to);
                    self.pay_for_command(to);
                    self.pay_for_command_status(to);
                }
                Owed::Status(of) => self.pay_for_status(of),
                Owed::Write {
                    to,
                    register,
                    word,
                    call,
                } => self.store(to, register, word, call),
            }
        }
    }

    /// Sends the words that `ready` has written, because the program may wait for an answer.
    fn send_owed(&self) {
        let world = self.world();
        for owed in self
            .owed
            .borrow_mut()
            .extract_if(.., |owed| matches!(owed, Owed::Write { .. }))
        {
            if let Owed::Write {
                to,
                register,
                word,
                call,
            } = owed
            {
                let start = if self.by_calls() {
                    call
                } else {
                    world.costs.mmio_write
                };
                world.launch_word(self.processor(), world.spe(to), register, word, start);
            }
        }
    }
}

impl Wait for SimPpe {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        // A wait takes a cycle, so that an endless loop ends at the time limit.
        self.world().compute(self.processor(), 1);
        self.wait_at(Cause::Other, why, Location::caller(), ready)
    }
}

impl Wake for SimPpe {
    fn run_id(&self) -> &RunId {
        &self.world().id
    }

    fn now(&self) -> Time {
        // Reading the clock takes a cycle, so that an endless loop ends at the time limit.
        self.world()
            .pass(self.processor(), self.world().costs.cycle);
        self.world().now_of(self.processor())
    }

    fn is_cancelled(&self) -> bool {
        cellworks_threads::is_cancelled()
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        self.world().compute(self.processor(), 1);
        let to = self.world().named(to);
        self.world().notify_by(self.processor(), to);
    }

    fn sleeper(&self) -> Sleeper {
        self.world().sleeper(self.processor())
    }

    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        OWNER.outlast(done);
    }

    fn wake_elsewhere(&self, sleeper: Sleeper) {
        let sleeper = self.world().named(sleeper.processor());
        self.world().notify_by(self.processor(), sleeper);
    }

    fn remote_waker(&self) -> RemoteWaker {
        remote_waker(&self.programs.world)
    }

    #[track_caller]
    fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let at = Location::caller();
        let deadline = Moment::from(deadline);
        self.world().compute(self.processor(), 1);
        let mut check = || self.check(ready);
        let came_true =
            self.world()
                .wait_until_deadline(self.processor(), why, at, deadline, &mut check);
        self.pay_owed();
        came_true
    }
}

impl PpeCore for SimPpe {
    type Spe = SimSpe;

    fn topology(&self) -> &Topology {
        &self.world().topology
    }

    fn compute(&self, cycles: Cycles) {
        // Even `compute(0)` takes a cycle, so that an endless loop ends at the time limit.
        let cycles = cycles.0.clamp(1, self.world().costs.ppe_cycles_max);
        self.world().compute(self.processor(), cycles);
    }

    fn catch_up(&self) {
        self.world().settle(self.processor());
    }

    #[track_caller]
    fn yield_now(&self) {
        self.world().yield_now(self.processor(), Location::caller());
    }

    fn window_begins(&self) {
        self.world().begin_window(self.processor());
    }

    fn window_ends(&self) {
        self.world().end_window(self.processor());
    }

    fn are_spes_confined_to_local_store(&self) -> bool {
        true
    }

    fn start(&self, at: SpeId, program: Program<SimSpe>) {
        let (world, me) = (self.world(), self.processor());
        world.start_begins(me, at);
        world.pass(me, world.costs.start_program);
        world.start_ends(me);
        self.programs.enqueue(at, program);
    }
}

impl CellPpeCore for SimPpe {
    #[track_caller]
    fn try_write_in_mbox(&self, to: SpeId, word: u32) -> Result<(), MailboxFull> {
        let world = self.world();
        let receiver = world.spe(to);
        if !world.is_in_condition() {
            // A failed call always takes time, so that an endless loop ends at the time limit.
            if self.by_calls() {
                world.compute(self.processor(), 1)
            } else {
                self.load(to)
            }
        }
        if !receiver.words.keep_room() {
            if world.is_in_condition() {
                receiver.words.want_room(PPE);
            }
            return Err(inbound_full(to, word));
        }
        let call = world.costs.mailbox_call;
        self.write(to, ProblemStateRegister::InMbox, word, call);
        Ok(())
    }

    #[track_caller]
    fn write_in_mbox(&self, to: SpeId, word: u32) {
        if self.try_write_in_mbox(to, word).is_err() {
            let why = format_args!("room in the inbound mailbox of {to}");
            self.wait_at(Cause::Mailbox, &why, Location::caller(), &mut || {
                self.try_write_in_mbox(to, word).is_ok()
            });
        }
    }

    #[track_caller]
    fn try_read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> Option<u32> {
        let world = self.world();
        let sender = world.spe(from);
        if world.is_in_condition() {
            let word = world.take_outbound(sender, mailbox)?;
            self.owed
                .borrow_mut()
                .push(Owed::ReadOutbound(from, mailbox));
            return Some(word);
        }
        if self.by_calls() {
            if sender.words.has_outbound(mailbox) {
                world.pass(self.processor(), world.costs.mailbox_call);
            } else {
                world.pass(self.processor(), world.costs.cycle);
            }
        } else {
            self.load(from);
            if !sender.words.has_outbound(mailbox) {
                return None;
            }
            self.pay_for_word(from, mailbox);
        }
        world.take_outbound(sender, mailbox)
    }

    #[track_caller]
    fn mailbox_status(&self, spe: SpeId) -> MailboxStatus {
        let world = self.world();
        let words = &world.spe(spe).words;
        if world.is_in_condition() {
            self.owed.borrow_mut().push(Owed::Status(spe));
            if words.inbound_room() == 0 {
                words.want_room(PPE);
            }
        } else {
            self.pay_for_status(spe)
        }
        MailboxStatus {
            outbound: words.has_outbound(Outbound::Plain).into(),
            inbound_room: words.inbound_room(),
            outbound_interrupt: words.has_outbound(Outbound::Interrupt).into(),
        }
    }

    fn timebase(&self) -> Timebase {
        self.timebase
    }

    #[track_caller]
    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32) {
        self.world().spe(to);
        let call = self.world().costs.signal_call;
        self.write(to, signal(register), bits, call);
    }

    #[track_caller]
    fn set_signal_mode(&self, spe: SpeId, register: SignalRegister, mode: SignalMode) {
        let processor = self.world().spe(spe);
        self.world()
            .pass(self.processor(), self.world().costs.mmio_write);
        processor.words.set_signal_mode(register, mode);
    }

    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError> {
        self.world()
            .pass(self.processor(), self.world().costs.ppe_atomic);
        if !ea.0.is_multiple_of(4) {
            return Err(AtomicError::Misaligned { ea });
        }
        let before = self.translation.with(ea, 4, |block, offset, in_flight| {
            block.fetch_update(offset, op, in_flight)
        });
        let before = before.ok_or(AtomicError::NotMapped { ea })?;
        if op.stores(before) {
            let line = ea.0 / LINE_BYTES as u64;
            self.world().mfcs.caches.borrow_mut().discard(line);
        }
        Ok(before)
    }

    #[track_caller]
    fn try_issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), TryIssueError> {
        let world = self.world();
        world.spe(spe);
        let in_condition = world.is_in_condition();
        if !in_condition {
            self.pay_for_status(spe);
        }
        world.panic_if_proxy_faulty();
        let command = world.check_proxy(spe, command)?;
        if !world.has_free_proxy_entry(spe) {
            return Err(TryIssueError::Full);
        }
        if in_condition {
            world.issue_proxy(spe, &command)?;
            self.owed.borrow_mut().push(Owed::IssueProxy(spe));
        } else {
            self.pay_for_command(spe);
            world.issue_proxy(spe, &command)?;
            self.pay_for_command_status(spe);
        }
        world.panic_if_proxy_faulty();
        Ok(())
    }

    #[track_caller]
    fn issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), CommandFault> {
        loop {
            match self.try_issue_proxy(spe, command) {
                Ok(()) => return Ok(()),
                Err(TryIssueError::Fault(fault)) => return Err(fault),
                Err(TryIssueError::Full) => {}
            }
            let why = format_args!("a free entry in the MFC proxy queue of {spe}");
            let mut has_room = || self.world().has_free_proxy_entry(spe);
            if !self.wait_at(Cause::Dma, &why, Location::caller(), &mut has_room) {
                return Ok(());
            }
        }
    }

    #[track_caller]
    fn incomplete_proxy_tags(&self, spe: SpeId) -> TagMask {
        let world = self.world();
        world.spe(spe);
        if world.is_in_condition() {
            self.owed.borrow_mut().push(Owed::Status(spe));
        } else {
            if !self.by_calls() {
                self.pay_for_store(spe);
            }
            self.pay_for_status(spe);
        }
        world.panic_if_proxy_faulty();
        world.incomplete_proxy_tags(spe)
    }
}
