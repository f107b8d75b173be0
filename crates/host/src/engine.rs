//! Engines, which perform MFC commands. A host has no DMA hardware, so the thread that issues a
//! command also performs it, immediately. Only these commands stay in the queue of the MFC:
//!
//! - A list that stopped at an element with stall-and-notify, until the program acknowledges it.
//! - A put to a full inbound mailbox, until the mailbox has room. Whenever the processor that fills
//!   the queue waits, it tries the put again.
//! - A command that is ordered after one of these commands.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use cellworks_machine::memory::{LINE_BYTES, Translation};
use cellworks_machine::mfc::{
    Command, CommandFault, CommandQueue, Direction, EffectiveAddress, EntryId, ListCursor,
    ListElement, LsAddr, MfcFault, Opcode, Operation, PushError, RawCommand, Tag, TagMask,
};
use cellworks_machine::{
    LateFault, LocalStore, ProblemStateRegister, SignalRegister, SpeId, TryIssueError, barrier,
};

use crate::run::Run;

/// A command queue of an SPE's MFC. Only the processor that fills the queue performs its commands.
pub(crate) struct Engine<const ENTRIES: usize> {
    run: Arc<Run>,
    /// The name of the queue for panics, such as `the MFC queue`.
    name: &'static str,
    pub(crate) local_store: LocalStore,
    pub(crate) translation: Translation,
    queue: RefCell<CommandQueue<ENTRIES>>,
    unsent: RefCell<Vec<Unsent>>,
    /// Whether a command waits for room in a mailbox. Every wait of the processor checks this flag.
    has_unsent: Cell<bool>,
    /// The first fault of a queued command that no call has returned, if `takes_faults` is set.
    late: Cell<Option<LateFault>>,
    /// Whether the program takes the faults of queued commands itself.
    takes_faults: Cell<bool>,
    /// The places in foreign source where queued commands were issued.
    places: RefCell<Vec<(EntryId, &'static str)>>,
    /// The next element of each stalled list.
    lists: RefCell<Vec<(EntryId, ListCursor)>>,
}

#[derive(Clone, Copy)]
struct Move {
    operation: Operation,
    direction: Direction,
    lsa: LsAddr,
    ea: EffectiveAddress,
    bytes: usize,
}

enum Performed {
    Complete,
    Stalled(ListCursor),
    /// The inbound mailbox of this SPE is full. If the command is a list, the cursor is at the put.
    NoRoom(SpeId, Option<ListCursor>),
}

/// A started command that waits for room in an inbound mailbox.
struct Unsent {
    entry: EntryId,
    /// The SPE with the full mailbox, for which `Words::announce_writer` was called.
    to: SpeId,
    cursor: Option<ListCursor>,
}

impl<const ENTRIES: usize> Engine<ENTRIES> {
    pub(crate) fn new(run: Arc<Run>, name: &'static str, local_store: LocalStore) -> Self {
        Self {
            translation: Translation::new(Arc::clone(&run.space)),
            run,
            name,
            local_store,
            queue: RefCell::default(),
            unsent: RefCell::default(),
            has_unsent: Cell::new(false),
            late: Cell::new(None),
            takes_faults: Cell::new(false),
            places: RefCell::default(),
            lists: RefCell::default(),
        }
    }

    /// Performs or queues a command. `place` returns the place in foreign source where it is
    /// issued.
    #[inline]
    pub(crate) fn try_issue(
        &self,
        command: &Command,
        place: impl Fn() -> Option<&'static str>,
    ) -> Result<(), TryIssueError> {
        if self.is_empty() {
            return match self.perform(command) {
                Ok(Performed::Complete) => Ok(()),
                Ok(performed) => Ok(self.keep(*command, performed, place())?),
                Err(fault) => Err(self.refused(command.into(), fault).into()),
            };
        }
        self.drain_or_panic();
        let entry = match self.queue.borrow_mut().push(*command) {
            Ok(entry) => entry,
            Err(PushError::Full { .. }) => return Err(TryIssueError::Full),
            Err(PushError::Fault(fault)) => {
                return Err(self.refused(command.into(), fault).into());
            }
        };
        self.note_place(entry, place());
        self.drain().map_err(|late| late.fault.into())
    }

    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.has_unsent.get()
    }

    /// Retries the commands that wait for room in a mailbox.
    #[track_caller]
    pub(crate) fn advance(&self) {
        if self.has_unsent() {
            self.drain_or_panic();
        }
    }

    pub(crate) fn free_entries(&self) -> usize {
        self.drain_or_panic();
        self.queue.borrow().free_entries()
    }

    #[inline]
    pub(crate) fn incomplete_tags(&self) -> TagMask {
        if self.is_empty() {
            return TagMask::NONE;
        }
        self.drain_or_panic();
        self.queue.borrow().incomplete_tags()
    }

    pub(crate) fn take_stall_notifications(&self) -> TagMask {
        self.queue.borrow_mut().take_stall_notifications()
    }

    pub(crate) fn acknowledge_stall(&self, tag: Tag) -> Result<(), LateFault> {
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

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.borrow().is_empty()
    }

    /// Stores a line of the local store in main memory, or returns `None` if no region covers it.
    /// The SPE needs no reservation of the line.
    pub(crate) fn store_line(&self, lsa: LsAddr, ea: EffectiveAddress) -> Option<()> {
        let line = self.read_line(lsa);
        self.translation.with(ea, LINE_BYTES, |block, offset, _| {
            block.write(offset, &line);
        })
    }

    pub(crate) fn read_line(&self, lsa: LsAddr) -> [u8; LINE_BYTES] {
        let mut line = [0; LINE_BYTES];
        self.local_store.read(lsa, &mut line);
        line
    }

    #[inline]
    fn perform(&self, command: &Command) -> Result<Performed, MfcFault> {
        match command {
            Command::Transfer(transfer) => self.move_bytes(Move {
                operation: command.into(),
                direction: transfer.direction(),
                lsa: transfer.lsa(),
                ea: transfer.ea(),
                bytes: transfer.bytes() as usize,
            }),
            Command::SendSignal(signal) => self.move_bytes(Move {
                operation: command.into(),
                direction: Direction::Put,
                lsa: signal.lsa(),
                ea: signal.ea(),
                bytes: size_of::<u32>(),
            }),
            Command::ListTransfer(list) => self.walk(list.cursor()),
            Command::QueuedLinePut(put) => {
                let (operation, ea) = (command.into(), put.ea());
                let stored = self.store_line(put.lsa(), ea);
                stored.ok_or(MfcFault::DataStorage { operation, ea })?;
                Ok(Performed::Complete)
            }
            Command::StorageControl(control) if control.opcode() == Opcode::Sdcrz => {
                self.zero_lines(command.into(), control.ea(), control.bytes())
            }
            // The other storage control commands act on caches, which this computer keeps coherent.
            Command::Atomic(_) | Command::Ordering(_) | Command::StorageControl(_) => {
                Ok(Performed::Complete)
            }
        }
    }

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

    /// Moves the elements of a list until the list ends or stalls, or a mailbox is full.
    fn walk(&self, mut cursor: ListCursor) -> Result<Performed, MfcFault> {
        let direction = cursor.list().direction();
        let read = |at: LsAddr| {
            ListElement::from_words([
                self.local_store.read_word(at),
                self.local_store.read_word(LsAddr(at.0 + 4)),
            ])
        };
        loop {
            let at_element = cursor;
            let Some(element) = cursor.next(read).transpose()? else {
                return Ok(Performed::Complete);
            };
            let moved = self.move_bytes(Move {
                operation: element.operation(),
                direction,
                lsa: element.lsa(),
                ea: element.ea(),
                bytes: element.bytes() as usize,
            })?;
            if let Performed::NoRoom(to, None) = moved {
                return Ok(Performed::NoRoom(to, Some(at_element)));
            }
            if element.stalls() {
                return Ok(Performed::Stalled(cursor));
            }
        }
    }

    #[inline]
    fn move_bytes(&self, part: Move) -> Result<Performed, MfcFault> {
        let Move { lsa, ea, bytes, .. } = part;
        if bytes == 0 {
            return Ok(Performed::Complete);
        }
        let local = self.local_store.region().block();
        let at = lsa.0 as usize;
        let moved = self
            .translation
            .with(ea, bytes, |memory, offset, in_flight| {
                match part.direction {
                    Direction::Get => local.copy_from(at, memory, offset, bytes, in_flight),
                    Direction::Put => memory.copy_from(offset, local, at, bytes, in_flight),
                }
            });
        match moved {
            Some(()) => Ok(Performed::Complete),
            None => self.write_problem_state(part),
        }
    }

    /// Puts a word into a mailbox or signal register of another SPE.
    #[cold]
    fn write_problem_state(&self, part: Move) -> Result<Performed, MfcFault> {
        let run = &self.run;
        let Move { operation, ea, .. } = part;
        let register = ProblemStateRegister::at(ea)
            .filter(|(spe, _)| spe.index() < run.topology.spes().len())
            .filter(|_| part.direction == Direction::Put && part.bytes == size_of::<u32>());
        let Some((spe, register)) = register else {
            return Err(MfcFault::DataStorage { operation, ea });
        };
        let word = self.local_store.read_word(part.lsa);
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

    /// Performs all commands that can be performed now. Removes commands that cause faults, and
    /// returns the first fault.
    fn drain(&self) -> Result<(), LateFault> {
        let mut outcome = Ok(());
        self.has_unsent.set(false);
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

    /// Performs a started command. If `cursor` is given, the command is a list, continued from
    /// there.
    fn go_on(&self, entry: EntryId, cursor: Option<ListCursor>) -> Result<Performed, MfcFault> {
        let command = *self.queue.borrow().command(entry);
        match cursor {
            Some(cursor) => self.walk(cursor),
            None => self.perform(&command),
        }
    }

    /// Records the result of a started command. If the caller has already called
    /// `Words::announce_writer` for this command, `told` is the SPE with the full mailbox.
    fn settle(
        &self,
        entry: EntryId,
        mut performed: Result<Performed, MfcFault>,
        mut told: Option<SpeId>,
    ) -> Result<(), LateFault> {
        while let Ok(Performed::NoRoom(to, cursor)) = performed {
            if told == Some(to) {
                self.unsent.borrow_mut().push(Unsent { entry, to, cursor });
                self.has_unsent.set(true);
                return Ok(());
            }
            // The SPE may have read a word before the announcement, so the command is tried again.
            self.run.words(to).announce_writer();
            barrier::heavy();
            if let Some(before) = told.replace(to) {
                self.run.words(before).withdraw_writer();
            }
            performed = self.go_on(entry, cursor);
        }
        if let Some(to) = told {
            self.run.words(to).withdraw_writer();
        }
        if let Ok(Performed::Stalled(cursor)) = performed {
            self.queue.borrow_mut().stall(entry);
            self.lists.borrow_mut().push((entry, cursor));
            return Ok(());
        }
        let mut queue = self.queue.borrow_mut();
        let command = *queue.command(entry);
        queue.complete(entry);
        let mut places = self.places.borrow_mut();
        let at = places.iter().position(|(of, _)| *of == entry);
        let place = at.map(|at| places.swap_remove(at).1);
        performed.map(drop).map_err(|fault| LateFault {
            fault: self.refused((&command).into(), fault),
            place,
        })
    }

    fn note_place(&self, entry: EntryId, place: Option<&'static str>) {
        let noted = place.map(|place| (entry, place));
        self.places.borrow_mut().extend(noted);
    }

    #[cold]
    fn keep(
        &self,
        command: Command,
        performed: Performed,
        place: Option<&'static str>,
    ) -> Result<(), CommandFault> {
        let pushed = self.queue.borrow_mut().push(command);
        let entry = pushed.expect("an empty queue has room");
        self.queue.borrow_mut().start(entry);
        self.note_place(entry, place);
        let settled = self.settle(entry, Ok(performed), None);
        settled.map_err(|late| late.fault)
    }

    /// Drains the queue. If a queued command causes a fault that the program does not take itself,
    /// panics, except during unwinding.
    #[track_caller]
    fn drain_or_panic(&self) {
        let Err(late) = self.drain() else {
            return;
        };
        if self.takes_faults.get() {
            self.late.set(self.late.get().or(Some(late)));
        } else if !cellworks_threads::is_unwinding() {
            panic!("{}", self.text_of(&late.fault));
        }
    }

    #[cold]
    pub(crate) fn refused(&self, command: RawCommand, fault: MfcFault) -> CommandFault {
        CommandFault {
            spe: self.local_store.spe(),
            command,
            fault,
        }
    }

    fn text_of(&self, fault: &CommandFault) -> String {
        let CommandFault {
            spe,
            command,
            fault,
        } = fault;
        let name = self.name;
        format!("a command that waited in {name} of {spe}, {command}: {fault}")
    }

    /// Takes the fault of a queued command. From now on, no such fault panics.
    pub(crate) fn take_late_fault(&self) -> Option<LateFault> {
        self.takes_faults.set(true);
        self.late.take()
    }

    /// Returns the text of a fault that the program has not taken before its end.
    pub(crate) fn end_program(&self) -> Option<String> {
        self.takes_faults.set(false);
        self.late.take().map(|late| self.text_of(&late.fault))
    }
}

impl<const ENTRIES: usize> Drop for Engine<ENTRIES> {
    fn drop(&mut self) {
        for unsent in self.unsent.take() {
            self.run.words(unsent.to).withdraw_writer();
        }
    }
}
