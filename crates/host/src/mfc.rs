//! The MFC of a host's SPE: there is no DMA engine, so commands are performed by the SPE's own
//! thread when they are issued.
//!
//! That is one of the orders that the architecture allows, and it leaves the queue empty, with one
//! exception: a list that stops at an element with stall-and-notify. It stays in the queue until
//! it is acknowledged, and so does what is ordered after it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use cellworks_machine::memory::{LINE_BYTES, ReservedLine, Translation};
use cellworks_machine::mfc::{
    Command, CommandQueue, Direction, EffectiveAddress, EntryId, ListCursor, ListElement, LsAddr,
    MfcFault, Opcode, Operation, PushError, RawCommand, Tag, TagMask,
};
use cellworks_machine::{
    LocalStore, Mfc, ProblemStateRegister, SignalRegister, SpeId, TryIssueError, Wait, barrier,
};

use crate::worker::Worker;

/// The MFC of a [`HostSpe`](crate::HostSpe).
pub struct HostMfc {
    worker: Rc<Worker>,
    local_store: LocalStore,
    translation: Translation,
    queue: RefCell<CommandQueue>,
    unsent: RefCell<Vec<Unsent>>,
    /// How far each list in the queue has come.
    lists: RefCell<Vec<(EntryId, ListCursor)>>,
    reservation: Cell<Option<(EffectiveAddress, ReservedLine)>>,
}

/// What became of a command that was performed.
enum Performed {
    Complete,
    Stalled(ListCursor),
    /// The inbound mailbox of this SPE, to which it puts a word, is full. A list goes on at the
    /// element that puts it.
    NoRoom(SpeId, Option<ListCursor>),
}

/// A started command that waits for room in an inbound mailbox.
struct Unsent {
    entry: EntryId,
    /// Whose mailbox. Its reader was told that somebody waits.
    to: SpeId,
    cursor: Option<ListCursor>,
}

impl HostMfc {
    pub(crate) fn new(worker: Rc<Worker>, local_store: LocalStore) -> Self {
        Self {
            translation: Translation::new(Arc::clone(&worker.run.space)),
            worker,
            local_store,
            queue: RefCell::default(),
            unsent: RefCell::default(),
            lists: RefCell::default(),
            reservation: Cell::new(None),
        }
    }

    pub(crate) fn translation(&self) -> &Translation {
        &self.translation
    }

    /// Performs a command that may start now.
    #[inline]
    fn perform(&self, command: &Command) -> Result<Performed, MfcFault> {
        match command {
            Command::Transfer(transfer) => self.move_bytes(
                command.into(),
                transfer.direction(),
                transfer.lsa(),
                transfer.ea(),
                transfer.bytes() as usize,
            ),
            Command::SendSignal(signal) => self.move_bytes(
                command.into(),
                Direction::Put,
                signal.lsa(),
                signal.ea(),
                size_of::<u32>(),
            ),
            Command::ListTransfer(list) => self.walk(list.cursor()),
            Command::QueuedLinePut(put) => {
                self.putlluc(put.lsa(), put.ea())?;
                Ok(Performed::Complete)
            }
            Command::StorageControl(control) if control.opcode() == Opcode::Sdcrz => {
                self.zero_lines(command.into(), control.ea(), control.bytes())
            }
            // The other storage control commands act on caches, which are coherent here.
            Command::Atomic(_) | Command::Ordering(_) | Command::StorageControl(_) => {
                Ok(Performed::Complete)
            }
        }
    }

    /// Zeroes the lines that a range touches.
    fn zero_lines(
        &self,
        operation: Operation,
        ea: EffectiveAddress,
        bytes: u32,
    ) -> Result<Performed, MfcFault> {
        let Some(to_last) = u64::from(bytes).checked_sub(1) else {
            return Ok(Performed::Complete);
        };
        for line in (ea.lock_line().0..=ea.0 + to_last).step_by(LINE_BYTES) {
            let ea = EffectiveAddress(line);
            let zeroed = self.translation.with(ea, LINE_BYTES, |block, offset, _| {
                block.write(offset, &[0; LINE_BYTES]);
            });
            zeroed.ok_or(MfcFault::DataStorage { operation, ea })?;
        }
        Ok(Performed::Complete)
    }

    /// Moves the elements of a list up to its end or a stall.
    fn walk(&self, mut cursor: ListCursor) -> Result<Performed, MfcFault> {
        let read = |at: LsAddr| {
            let words = [
                self.local_store.read_word(at),
                self.local_store.read_word(LsAddr(at.0 + 4)),
            ];
            ListElement::from_words(words)
        };
        loop {
            let at_element = cursor;
            let Some(element) = cursor.next(read).transpose()? else {
                return Ok(Performed::Complete);
            };
            let moved = self.move_bytes(
                element.operation(),
                cursor.list().direction(),
                element.lsa(),
                element.ea(),
                element.bytes() as usize,
            )?;
            if let Performed::NoRoom(to, None) = moved {
                return Ok(Performed::NoRoom(to, Some(at_element)));
            }
            if element.stalls() {
                return Ok(Performed::Stalled(cursor));
            }
        }
    }

    #[inline]
    fn move_bytes(
        &self,
        operation: Operation,
        direction: Direction,
        lsa: LsAddr,
        ea: EffectiveAddress,
        bytes: usize,
    ) -> Result<Performed, MfcFault> {
        if bytes == 0 {
            return Ok(Performed::Complete);
        }
        let local = self.local_store.region().block();
        let at = lsa.0 as usize;
        let moved = self
            .translation
            .with(ea, bytes, |memory, offset, in_flight| match direction {
                Direction::Get => local.copy_from(at, memory, offset, bytes, in_flight),
                Direction::Put => memory.copy_from(offset, local, at, bytes, in_flight),
            });
        match moved {
            Some(()) => Ok(Performed::Complete),
            None => self.write_problem_state(operation, direction, lsa, ea, bytes),
        }
    }

    /// A put of a word to another SPE's mailbox or signal register.
    #[cold]
    fn write_problem_state(
        &self,
        operation: Operation,
        direction: Direction,
        lsa: LsAddr,
        ea: EffectiveAddress,
        bytes: usize,
    ) -> Result<Performed, MfcFault> {
        let run = &self.worker.run;
        let register = ProblemStateRegister::at(ea)
            .filter(|(spe, _)| spe.index() < run.topology.spes().len())
            .filter(|_| direction == Direction::Put && bytes == size_of::<u32>());
        let Some((spe, register)) = register else {
            return Err(MfcFault::DataStorage { operation, ea });
        };
        let word = self.local_store.read_word(lsa);
        match register {
            ProblemStateRegister::InMbox => {
                if run.write_in_mbox(spe, word).is_err() {
                    return Ok(Performed::NoRoom(spe, None));
                }
            }
            ProblemStateRegister::SigNotify1 => run.send_signal(spe, SignalRegister::One, word),
            ProblemStateRegister::SigNotify2 => run.send_signal(spe, SignalRegister::Two, word),
        }
        Ok(Performed::Complete)
    }

    /// Performs what may start in the queue, until nothing is left but stalled lists, puts to full
    /// mailboxes, and what waits for them. The first fault is returned; the command that caused it
    /// is gone.
    fn drain(&self) -> Result<(), MfcFault> {
        let mut outcome = Ok(());
        for Unsent { entry, to, cursor } in self.unsent.take() {
            let performed = self.go_on(entry, cursor);
            outcome = outcome.and(self.settle(entry, performed, Some(to)));
        }
        loop {
            let next = self.queue.borrow().runnable().next();
            let Some(entry) = next else { return outcome };
            self.queue.borrow_mut().start(entry);
            let performed = self.go_on(entry, None);
            outcome = outcome.and(self.settle(entry, performed, None));
        }
    }

    /// Performs a started command; a list from `cursor` on, if there is one.
    fn go_on(&self, entry: EntryId, cursor: Option<ListCursor>) -> Result<Performed, MfcFault> {
        let command = *self.queue.borrow().command(entry);
        match cursor {
            Some(cursor) => self.walk(cursor),
            None => self.perform(&command),
        }
    }

    /// Books what became of a started command. `told` is the SPE whose mailbox it waited for.
    fn settle(
        &self,
        entry: EntryId,
        mut performed: Result<Performed, MfcFault>,
        mut told: Option<SpeId>,
    ) -> Result<(), MfcFault> {
        while let Ok(Performed::NoRoom(to, cursor)) = performed {
            if told == Some(to) {
                self.unsent.borrow_mut().push(Unsent { entry, to, cursor });
                return Ok(());
            }
            // A reader that has not heard of this may have made room meanwhile: another look.
            self.worker.run.words(to).want_room();
            barrier::heavy();
            if let Some(before) = told.replace(to) {
                self.worker.run.words(before).stop_wanting_room();
            }
            performed = self.go_on(entry, cursor);
        }
        if let Some(to) = told {
            self.worker.run.words(to).stop_wanting_room();
        }
        if let Ok(Performed::Stalled(cursor)) = performed {
            self.queue.borrow_mut().stall(entry);
            self.lists.borrow_mut().push((entry, cursor));
            return Ok(());
        }
        self.queue.borrow_mut().complete(entry);
        performed.map(drop)
    }

    /// Puts a command that could not be performed to its end into the empty queue.
    #[cold]
    fn keep(&self, command: Command, performed: Performed) -> Result<(), MfcFault> {
        let pushed = self.queue.borrow_mut().push(command);
        let entry = pushed.expect("an empty queue has room");
        self.queue.borrow_mut().start(entry);
        self.settle(entry, Ok(performed), None)
    }

    /// Whether no command is under way and no line reserved.
    pub(crate) fn is_as_new(&self) -> bool {
        self.queue_is_empty() && self.reservation.get().is_none()
    }

    /// What nobody can be told of as an error: the call that found it did not cause it.
    #[track_caller]
    fn drain_or_panic(&self) {
        if let Err(fault) = self.drain() {
            panic!(
                "a command that waited in the MFC queue of {}: {fault}",
                self.local_store.spe()
            );
        }
    }

    fn queue_is_empty(&self) -> bool {
        self.queue.borrow().is_empty()
    }

    fn line(&self, command: RawCommand) -> Result<(Operation, LsAddr, EffectiveAddress), MfcFault> {
        let command = command.check(self.local_store.bytes() as u32)?;
        let Command::Atomic(atomic) = command else {
            unreachable!("an atomic's opcode makes an atomic");
        };
        Ok((Operation::from(&command), atomic.lsa(), atomic.ea()))
    }

    fn read_line(&self, lsa: LsAddr) -> [u8; LINE_BYTES] {
        let mut line = [0; LINE_BYTES];
        self.local_store.read(lsa, &mut line);
        line
    }
}

impl Drop for HostMfc {
    fn drop(&mut self) {
        for unsent in self.unsent.take() {
            self.worker.run.words(unsent.to).stop_wanting_room();
        }
    }
}

impl Wait for HostMfc {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.worker.wait_until(why, ready)
    }
}

impl Mfc for HostMfc {
    #[inline]
    fn try_issue(&self, command: RawCommand) -> Result<(), TryIssueError> {
        // Results are looked at in place: moving them out costs as much as all the rest.
        let checked = command.check(self.local_store.bytes() as u32);
        let command = checked.as_ref().map_err(|fault| *fault)?;
        if self.queue_is_empty() {
            let performed = self.perform(command);
            if matches!(performed, Ok(Performed::Complete)) {
                return Ok(());
            }
            return Ok(self.keep(*command, performed?)?);
        }
        self.drain_or_panic();
        match self.queue.borrow_mut().push(*command) {
            Ok(_) => {}
            Err(PushError::Full { .. }) => return Err(TryIssueError::Full),
            Err(PushError::Fault(fault)) => return Err(fault.into()),
        }
        Ok(self.drain()?)
    }

    fn free_entries(&self) -> usize {
        self.drain_or_panic();
        self.queue.borrow().free_entries()
    }

    #[inline]
    fn incomplete_tags(&self) -> TagMask {
        if self.queue_is_empty() {
            return TagMask::NONE;
        }
        self.drain_or_panic();
        self.queue.borrow().incomplete_tags()
    }

    fn take_stall_notifications(&self) -> TagMask {
        self.queue.borrow_mut().take_stall_notifications()
    }

    fn acknowledge_stall(&self, tag: Tag) -> Result<(), MfcFault> {
        let resumed: Vec<EntryId> = self.queue.borrow_mut().acknowledge(tag).collect();
        let mut outcome = Ok(());
        for entry in resumed {
            let mut lists = self.lists.borrow_mut();
            let at = lists.iter().position(|(list, _)| *list == entry);
            let (_, cursor) = lists.swap_remove(at.expect("a stalled list has a cursor"));
            drop(lists);
            outcome = outcome.and(self.settle(entry, self.walk(cursor), None));
        }
        outcome.and(self.drain())
    }

    fn getllar(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), MfcFault> {
        let (operation, lsa, ea) = self.line(RawCommand::getllar(lsa, ea))?;
        let mut line = [0; LINE_BYTES];
        let reserved = self.translation.with(ea, LINE_BYTES, |block, offset, _| {
            block.can_be_reserved().then(|| {
                let all = || self.translation.stores_in_flight();
                block.reserve(offset / LINE_BYTES, &mut line, all)
            })
        });
        let Some(Some(reserved)) = reserved else {
            return Err(MfcFault::DataStorage { operation, ea });
        };
        self.reservation.set(Some((ea, reserved)));
        self.local_store.write(lsa, &line);
        Ok(())
    }

    fn putllc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<bool, MfcFault> {
        let (operation, lsa, ea) = self.line(RawCommand::putllc(lsa, ea))?;
        let line = self.read_line(lsa);
        let reservation = self.reservation.take();
        let stored = self.translation.with(ea, LINE_BYTES, |block, _, _| {
            reservation
                .is_some_and(|(at, reserved)| at == ea && block.store_conditional(reserved, &line))
        });
        stored.ok_or(MfcFault::DataStorage { operation, ea })
    }

    fn putlluc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), MfcFault> {
        let (operation, lsa, ea) = self.line(RawCommand::putlluc(lsa, ea))?;
        let line = self.read_line(lsa);
        let stored = self.translation.with(ea, LINE_BYTES, |block, offset, _| {
            block.write(offset, &line);
        });
        stored.ok_or(MfcFault::DataStorage { operation, ea })
    }

    fn reservation_lost(&self) -> bool {
        let Some((ea, reserved)) = self.reservation.get() else {
            return true;
        };
        let still = self
            .translation
            .with(ea, LINE_BYTES, |block, _, _| block.still_reserved(reserved));
        !still.unwrap_or(false)
    }
}
