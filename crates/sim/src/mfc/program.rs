//! The MFC with the methods that SPE programs call, and its atomic commands.

use std::fmt;
use std::panic::{Location, resume_unwind};
use std::rc::Rc;

use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::{
    Command, CommandFault, EffectiveAddress, EntryId, LsAddr, MfcFault, Operation, PushError,
    RawCommand, Tag, TagMask,
};
use cellworks_machine::{LateFault, LocalStore, Mfc, SpeId, TryIssueError, Wait};
use cellworks_threads as threads;

use super::state::{LINE, Late, MfcState, Stalled, Task, Work};
use super::transaction::request;
use crate::atomic::{Held, LineCommand};
use crate::fabric::{Access, Endpoint, Place, Transaction};
use crate::issuer::Issuer;
use crate::observe::Cause;
use crate::processor::SimProcessor;
use crate::world::World;

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

    fn processor(&self) -> &SimProcessor {
        self.world.spe(self.spe)
    }

    fn state(&self) -> std::cell::RefMut<'_, MfcState> {
        self.world.mfcs.of(self.spe).borrow_mut()
    }

    /// Panics with the late error of the MFC, if there is one: an error that a call did not return,
    /// unless it is a fault that the program takes itself.
    fn panic_if_faulty(&self) {
        let mfc = self.state();
        let is_faulty = match &mfc.spu.late {
            Some(Late::Fault(..)) => !mfc.takes_faults,
            Some(Late::Panic(_)) => true,
            None => false,
        };
        drop(mfc);
        if is_faulty
            && !threads::is_unwinding()
            && let Some(error) = self.world.take_late_error(self.processor())
        {
            // `panic!` would also print the location of this line, which the user does not need.
            resume_unwind(error);
        }
    }

    /// Checks an atomic command. This takes a cycle, so that an endless loop ends at the time
    /// limit.
    fn line(&self, command: RawCommand) -> Result<(LsAddr, EffectiveAddress), CommandFault> {
        self.world.compute(self.processor(), 1);
        let mfc = self.state();
        let refused = |fault| mfc.refused(command, fault);
        let checked = command.check(self.local_store.bytes() as u32);
        let checked = checked.map_err(refused)?;
        let Command::Atomic(atomic) = checked else {
            unreachable!("an atomic's opcode makes an atomic");
        };
        let found = mfc.check_line(Operation::from(&checked), atomic.ea());
        found.map_err(refused)?;
        Ok((atomic.lsa(), atomic.ea()))
    }

    /// Returns the fault of an atomic command if its line is not there any more.
    fn gone(&self, command: RawCommand, ea: EffectiveAddress) -> CommandFault {
        let checked = command.check(self.local_store.bytes() as u32);
        let operation = Operation::from(&checked.expect("it was legal before"));
        self.state()
            .refused(command, MfcFault::DataStorage { operation, ea })
    }

    /// Spends the time of getting a line into the atomic unit, and calls `read` at the time at
    /// which the bus orders the command. Stores after `read` end the reservation, even before the
    /// line arrives.
    pub(crate) fn fetch_line<R>(&self, ea: EffectiveAddress, read: impl FnOnce() -> R) -> R {
        let world = &self.world;
        let (spe, line) = (self.spe.index(), ea.0 / LINE);
        world.pass(self.processor(), world.costs.issue);
        let is_held = || world.mfcs.caches.borrow().held(spe, line) != Held::No;
        if is_held() || world.is_in_condition() {
            world.pass(self.processor(), world.costs.atomic_hit);
        }
        // The line is fetched even if another processor stores to it meanwhile.
        let is_fetched = !is_held() && !world.is_in_condition();
        if is_fetched {
            self.try_until_not_refused(ea, LineCommand::Read { from: None });
        }
        let from = world.mfcs.caches.borrow().supplier(line);
        // From now on, even before the line arrives, this SPE shares the line with the supplier,
        // because the bus has ordered the request.
        world.mfcs.caches.borrow_mut().read(spe, line);
        let found = read();
        if is_fetched {
            let command = LineCommand::Read { from };
            self.refusing_others(ea, command, || self.fetch_from(ea, from));
        }
        world.add_lag(self.processor(), world.costs.channel);
        found
    }

    fn fetch_from(&self, ea: EffectiveAddress, supplier: Option<usize>) {
        let (target, place) = match supplier {
            Some(supplier) => (Endpoint::Spe(supplier as u16), Place::AtomicCache),
            None => {
                let module = self.world.module_of(&self.state(), ea);
                (module, Place::Memory { address: ea.0 })
            }
        };
        self.lock_transaction(Access::Read, target, place, LINE as u32);
    }

    pub(crate) fn claim_line(&self, ea: EffectiveAddress) {
        let world = &self.world;
        let (spe, line) = (self.spe.index(), ea.0 / LINE);
        world.pass(self.processor(), world.costs.issue);
        let is_own = world.mfcs.caches.borrow().held(spe, line) == Held::Changed;
        if is_own || !self.state().has_reservation() || world.is_in_condition() {
            world.pass(self.processor(), world.costs.atomic_hit);
        } else {
            self.try_until_not_refused(ea, LineCommand::Claim);
            // The reservation is lost if another SPE has claimed the line first.
            if self.state().has_reservation() {
                self.refusing_others(ea, LineCommand::Claim, || self.command_alone(ea));
            }
        }
        world.add_lag(self.processor(), world.costs.channel);
    }

    /// Waits while a conflicting command of another SPE is on the bus. No source gives the interval
    /// between attempts. Each attempt takes the time in which the SPE's own Cell answers.
    fn try_until_not_refused(&self, ea: EffectiveAddress, command: LineCommand) {
        let (world, spe, line) = (&self.world, self.spe.index(), ea.0 / LINE);
        while world.mfcs.caches.borrow().refuses(spe, line, command) {
            world.pass(self.processor(), world.costs.refused);
        }
    }

    /// Runs `act`, while conflicting commands of other SPEs to the line are refused.
    fn refusing_others(&self, ea: EffectiveAddress, command: LineCommand, act: impl FnOnce()) {
        let (caches, spe) = (&self.world.mfcs.caches, self.spe.index());
        caches.borrow_mut().begin(spe, ea.0 / LINE, command);
        act();
        caches.borrow_mut().end(spe);
    }

    fn command_alone(&self, ea: EffectiveAddress) {
        let module = self.world.module_of(&self.state(), ea);
        self.lock_transaction(Access::Claim, module, Place::Memory { address: ea.0 }, 0);
    }

    fn lock_transaction(&self, access: Access, target: Endpoint, place: Place, bytes: u32) {
        let transaction = |token| Transaction {
            token,
            ..request(self.spe, target, place, access, bytes)
        };
        self.world.transact(
            self.processor(),
            Cause::Lock,
            self.world.costs.start,
            transaction,
        );
    }
}

impl Wait for SimMfc {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        let at = Location::caller();
        // A wait takes a cycle, so that an endless loop ends at the time limit.
        self.world.compute(self.processor(), 1);
        self.world
            .wait_until(self.processor(), Cause::Dma, why, at, ready)
    }
}

impl Mfc for SimMfc {
    fn try_issue(&self, command: RawCommand) -> Result<(), TryIssueError> {
        let world = &self.world;
        world.pass(self.processor(), world.costs.issue);
        self.panic_if_faulty();
        let refused = |mfc: &MfcState, fault| TryIssueError::from(mfc.refused(command, fault));
        let mut mfc = self.state();
        let checked = command.check(self.local_store.bytes() as u32);
        let checked = checked.map_err(|fault| refused(&mfc, fault))?;
        if mfc.free_entries() == 0 {
            return Err(TryIssueError::Full);
        }
        let spes = world.spe_count();
        let is_list = matches!(checked, Command::ListTransfer(_));
        if !is_list {
            let found = mfc.check_addresses(&checked, spes);
            found.map_err(|fault| refused(&mfc, fault))?;
        }
        let entry = match mfc.spu.queue.push(checked) {
            Ok(entry) => entry,
            Err(PushError::Full { .. }) => return Err(TryIssueError::Full),
            Err(PushError::Fault(fault)) => return Err(refused(&mfc, fault)),
        };
        // An earlier command may change a list in local store before the list command starts.
        // Therefore only a list that starts now is checked.
        if is_list
            && mfc.spu.queue.is_runnable(entry)
            && let Err(fault) = mfc.check_addresses(&checked, spes)
        {
            mfc.spu.queue.start(entry);
            mfc.spu.queue.complete(entry);
            return Err(refused(&mfc, fault));
        }
        world.watch_command(&mut mfc, Issuer::Spu, entry, &checked);
        world.start_commands(&mut mfc);
        world.pump(&mut mfc);
        drop(mfc);
        world.notify_if_finished(self.spe);
        self.panic_if_faulty();
        Ok(())
    }

    #[track_caller]
    fn free_entries(&self) -> usize {
        self.world.pass(self.processor(), self.world.costs.channel);
        self.panic_if_faulty();
        self.state().free_entries()
    }

    #[track_caller]
    fn incomplete_tags(&self) -> TagMask {
        self.world.pass(self.processor(), self.world.costs.channel);
        self.panic_if_faulty();
        self.state().spu.queue.incomplete_tags()
    }

    fn take_stall_notifications(&self) -> TagMask {
        self.world.pass(self.processor(), self.world.costs.channel);
        self.state().spu.queue.take_stall_notifications()
    }

    fn acknowledge_stall(&self, tag: Tag) -> Result<(), LateFault> {
        let world = &self.world;
        world.pass(self.processor(), world.costs.channel);
        let mut mfc = self.state();
        let resumed: Vec<EntryId> = mfc.spu.queue.acknowledge(tag).collect();
        let mut outcome = Ok(());
        for entry in resumed {
            let place = mfc.stalled.iter().position(|(list, _)| list.entry == entry);
            let place = place.expect("a stalled list has a cursor");
            let (stalled, cursor) = mfc.stalled.swap_remove(place);
            if let Err(fault) = mfc.check_list(cursor, world.spe_count()) {
                let fault = mfc.refused(mfc.spu.queue.command(entry).into(), fault);
                let place = stalled.issue.place;
                outcome = outcome.and(Err(LateFault { fault, place }));
                mfc.spu.queue.complete(entry);
                world.forget_command(&mfc, stalled.id, false, &[]);
                continue;
            }
            let task = Task::List {
                cursor,
                element: None,
                stalls: false,
                next_at: None,
            };
            let Stalled { id, issue, .. } = stalled;
            mfc.work.push(Work {
                entry: Some(entry),
                ..Work::new(id, Issuer::Spu, issue, task, world.now())
            });
        }
        world.start_commands(&mut mfc);
        world.pump(&mut mfc);
        drop(mfc);
        world.notify_if_finished(self.spe);
        outcome
    }

    fn take_late_fault(&self) -> Option<LateFault> {
        let mut mfc = self.state();
        mfc.takes_faults = true;
        let fault = |late: &mut Late| matches!(late, Late::Fault(..));
        match mfc.spu.late.take_if(fault) {
            Some(Late::Fault(fault, _)) => Some(fault),
            _ => None,
        }
    }

    fn getllar(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), CommandFault> {
        let command = RawCommand::getllar(lsa, ea);
        let (lsa, ea) = self.line(command)?;
        let line = self.fetch_line(ea, || self.world.reserve_line(self.spe, ea));
        let line = line.ok_or_else(|| self.gone(command, ea))?;
        self.local_store.write(lsa, &line);
        Ok(())
    }

    fn putllc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<bool, CommandFault> {
        let command = RawCommand::putllc(lsa, ea);
        let (lsa, ea) = self.line(command)?;
        self.claim_line(ea);
        let mut line = [0; LINE_BYTES];
        self.local_store.read(lsa, &mut line);
        let stored = self.world.store_reserved_line(self.spe, ea, &line);
        stored.ok_or_else(|| self.gone(command, ea))
    }

    fn putlluc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), CommandFault> {
        let (lsa, ea) = self.line(RawCommand::putlluc(lsa, ea))?;
        self.claim_line(ea);
        let mfc = self.state();
        self.world.store_line(&mfc, lsa, ea);
        self.world
            .mfcs
            .caches
            .borrow_mut()
            .store(self.spe.index(), ea.0 / LINE);
        Ok(())
    }

    fn reservation_lost(&self) -> bool {
        self.world.pass(self.processor(), self.world.costs.channel);
        !self.state().has_reservation()
    }
}

impl World {
    pub fn is_line_mapped(&self, spe: SpeId, ea: EffectiveAddress) -> bool {
        let mfc = self.mfcs.of(spe).borrow();
        let is_memory = mfc
            .translation
            .with(ea, LINE_BYTES, |block, _, _| block.can_be_reserved());
        is_memory == Some(true)
    }

    /// Reads and reserves a line of main memory, or returns `None` if the line does not exist.
    pub fn reserve_line(&self, spe: SpeId, ea: EffectiveAddress) -> Option<[u8; LINE_BYTES]> {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        let mut line = [0; LINE_BYTES];
        let reserved = mfc.translation.with(ea, LINE_BYTES, |block, offset, _| {
            block.can_be_reserved().then(|| {
                let all = || mfc.translation.stores_in_flight();
                block.reserve(offset / LINE_BYTES, &mut line, all)
            })
        })??;
        (mfc.reservation, mfc.reserved_bytes) = (Some((ea, reserved)), line);
        Some(line)
    }

    /// Stores a line if the SPE has reserved it. Returns whether the line was stored, or `None` if
    /// the line does not exist.
    pub fn store_reserved_line(
        &self,
        spe: SpeId,
        ea: EffectiveAddress,
        line: &[u8; LINE_BYTES],
    ) -> Option<bool> {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        let reservation = mfc.reservation.take();
        let stored = mfc.translation.with(ea, LINE_BYTES, |block, _, _| {
            reservation.is_some_and(|(at, reserved)| {
                at == ea && block.store_conditional(reserved, &mfc.reserved_bytes, line)
            })
        })?;
        if stored {
            self.mfcs
                .caches
                .borrow_mut()
                .store(spe.index(), ea.0 / LINE);
        }
        Some(stored)
    }
}
