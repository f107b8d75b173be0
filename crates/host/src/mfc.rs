//! The MFC of a host's SPE. An [`Engine`] performs the commands on the SPE's thread.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use cellworks_machine::memory::{LINE_BYTES, ReservedLine, Translation};
use cellworks_machine::mfc::{
    Command, CommandFault, EffectiveAddress, LsAddr, MfcFault, Operation, RawCommand,
    SPU_QUEUE_ENTRIES, Tag, TagMask,
};
use cellworks_machine::{LateFault, LocalStore, Mfc, TryIssueError, Wait};

use crate::engine::Engine;
use crate::worker::Worker;

/// The MFC of a [`HostSpe`](crate::HostSpe).
pub struct HostMfc {
    worker: Rc<Worker>,
    engine: Engine<SPU_QUEUE_ENTRIES>,
    reservation: Cell<Option<(EffectiveAddress, ReservedLine)>>,
    /// The bytes that were read with the last reservation.
    reserved_bytes: Cell<[u8; LINE_BYTES]>,
}

impl HostMfc {
    pub(crate) fn new(worker: Rc<Worker>, local_store: LocalStore) -> Self {
        Self {
            engine: Engine::new(Arc::clone(&worker.run), "the MFC queue", local_store),
            worker,
            reservation: Cell::new(None),
            reserved_bytes: Cell::new([0; LINE_BYTES]),
        }
    }

    pub(crate) fn translation(&self) -> &Translation {
        &self.engine.translation
    }

    /// Returns whether the queue is empty and no line is reserved.
    pub(crate) fn is_as_new(&self) -> bool {
        self.engine.is_empty() && self.reservation.get().is_none()
    }

    /// Returns the text of a fault that the program has not taken before its end.
    pub(crate) fn end_program(&self) -> Option<String> {
        self.engine.end_program()
    }

    /// Returns whether commands wait for room in a mailbox. A waiting thread must retry them.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.engine.has_unsent()
    }

    /// Retries the commands that wait for room in a mailbox.
    #[track_caller]
    pub(crate) fn advance(&self) {
        self.engine.advance();
    }

    /// Checks an atomic command, and calls `perform` with the addresses of its lines. `perform`
    /// returns `None` if no region covers the line at the effective address.
    fn atomic<R>(
        &self,
        command: RawCommand,
        perform: impl FnOnce(LsAddr, EffectiveAddress) -> Option<R>,
    ) -> Result<R, CommandFault> {
        let refused = |fault| self.engine.refused(command, fault);
        let checked = command.check(self.engine.local_store.bytes() as u32);
        let checked = checked.map_err(refused)?;
        let Command::Atomic(atomic) = checked else {
            unreachable!("an atomic's opcode makes an atomic");
        };
        let (lsa, ea) = (atomic.lsa(), atomic.ea());
        perform(lsa, ea).ok_or_else(|| {
            let operation = Operation::from(&checked);
            refused(MfcFault::DataStorage { operation, ea })
        })
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
        // `checked` is used in place, because moving it takes as long as all other steps together.
        let checked = command.check(self.engine.local_store.bytes() as u32);
        let place = || {
            let caller = self.worker.sleeper(self.engine.local_store.spe());
            self.worker.places.of(caller.thread())
        };
        match &checked {
            Ok(checked) => self.engine.try_issue(checked, place),
            Err(fault) => Err(self.engine.refused(command, *fault).into()),
        }
    }

    fn free_entries(&self) -> usize {
        self.engine.free_entries()
    }

    #[inline]
    fn incomplete_tags(&self) -> TagMask {
        self.engine.incomplete_tags()
    }

    fn take_stall_notifications(&self) -> TagMask {
        self.engine.take_stall_notifications()
    }

    fn acknowledge_stall(&self, tag: Tag) -> Result<(), LateFault> {
        self.engine.acknowledge_stall(tag)
    }

    fn take_late_fault(&self) -> Option<LateFault> {
        self.engine.take_late_fault()
    }

    fn getllar(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), CommandFault> {
        self.atomic(RawCommand::getllar(lsa, ea), |lsa, ea| {
            let translation = self.translation();
            let mut line = [0; LINE_BYTES];
            let reserved = translation.with(ea, LINE_BYTES, |block, offset, _| {
                block.can_be_reserved().then(|| {
                    let all = || translation.stores_in_flight();
                    block.reserve(offset / LINE_BYTES, &mut line, all)
                })
            })??;
            self.reservation.set(Some((ea, reserved)));
            self.reserved_bytes.set(line);
            self.engine.local_store.write(lsa, &line);
            Some(())
        })
    }

    fn putllc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<bool, CommandFault> {
        self.atomic(RawCommand::putllc(lsa, ea), |lsa, ea| {
            let line = self.engine.read_line(lsa);
            let (reservation, read) = (self.reservation.take(), self.reserved_bytes.get());
            self.translation().with(ea, LINE_BYTES, |block, _, _| {
                reservation.is_some_and(|(at, reserved)| {
                    at == ea && block.store_conditional(reserved, &read, &line)
                })
            })
        })
    }

    fn putlluc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), CommandFault> {
        self.atomic(RawCommand::putlluc(lsa, ea), |lsa, ea| {
            self.engine.store_line(lsa, ea)
        })
    }

    fn reservation_lost(&self) -> bool {
        let Some((ea, reserved)) = self.reservation.get() else {
            return true;
        };
        let read = self.reserved_bytes.get();
        let still = self.translation().with(ea, LINE_BYTES, |block, _, _| {
            block.still_reserved(reserved, &read)
        });
        !still.unwrap_or(false)
    }
}
