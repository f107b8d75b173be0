//! The sending of bus requests for commands, and the effects of completed requests.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::{Direction, EffectiveAddress, LsAddr, MfcFault, Operation};
use cellworks_machine::{Payload, Processor, SpeId};

use super::state::{Effect, LINE, Line, MfcState, Stalled, Task, Work, is_watched};
use crate::bus::Owner;
use crate::fabric::Transaction;
use crate::index::{PPE, ThreadIndex};
use crate::issuer::Issuer;
use crate::processor::SimProcessor;
use crate::queue::{Event, EventKind};
use crate::time::Moment;
use crate::world::World;

/// The result of an attempt to send a bus request.
enum Sent {
    /// A request was sent, or a command ended without a request.
    Something,
    /// No request may be sent before this time.
    NotBefore(Moment),
    /// No request is left, or the next one must wait for a request on the bus.
    Nothing,
}

impl World {
    pub(super) fn start_commands(&self, mfc: &mut MfcState) {
        let not_before = self.now() + self.costs.start;
        let MfcState {
            spu, proxy, work, ..
        } = mfc;
        if !mfc.is_closed {
            spu.start(Issuer::Spu, not_before, work);
        }
        proxy.start(Issuer::Ppe, not_before, work);
    }

    /// Drops the commands that a program has left in its MFC, except requests on the bus and
    /// commands of the PPE.
    pub fn close_mfc(&self, spe: SpeId) {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        mfc.is_closed = true;
        let (on_the_bus, given_up) = std::mem::take(&mut mfc.work)
            .into_iter()
            .partition(|work| work.in_flight > 0 || work.issuer == Issuer::Ppe);
        mfc.work = on_the_bus;
        mfc.work
            .iter_mut()
            .filter(|work| work.issuer == Issuer::Spu)
            .for_each(|work| work.is_sent = true);
        let given_up: Vec<Work> = given_up;
        for work in given_up {
            self.forget_command(&mfc, work.id, work.is_watched, &work.watched);
        }
        for (stalled, _) in std::mem::take(&mut mfc.stalled) {
            self.forget_command(&mfc, stalled.id, false, &[]);
        }
        for (entry, id, _) in std::mem::take(&mut mfc.spu.waiting) {
            let is_watched = is_watched(mfc.spu.queue.command(entry));
            self.forget_command(&mfc, id, is_watched, &[]);
        }
    }

    /// Ends the use of an MFC by a program. Returns the error of a command of the program, if no
    /// call has returned the error before.
    pub fn end_program_of_mfc(&self, spe: SpeId) -> Option<Payload> {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        mfc.spu.queue.take_stall_notifications();
        mfc.takes_faults = false;
        mfc.spu.late.take().map(Payload::from)
    }

    /// Takes an error that no call has returned, from the queues that `processor` uses.
    pub fn take_late_error(&self, processor: &SimProcessor) -> Option<Payload> {
        let late = match processor.id {
            Processor::Ppe => {
                let mut mfcs = self.mfcs.all().iter();
                mfcs.find_map(|mfc| mfc.borrow_mut().proxy.late.take())
            }
            Processor::Spe(spe) => self.mfcs.of(spe).borrow_mut().spu.late.take(),
        };
        late.map(Payload::from)
    }

    /// Sends the requests of an MFC that are due. Returns the thread that continues now, if any.
    #[inline(never)]
    pub fn send_requests(&self, spe: SpeId) -> Option<ThreadIndex> {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        mfc.wake_up_at = None;
        self.pump(&mut mfc);
        drop(mfc);
        self.check_if_finished(spe)
    }

    /// Makes an MFC that waits for room in a mailbox send its request again.
    pub fn wake_mfc(&self, spe: SpeId) {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        mfc.work.iter_mut().for_each(|work| work.is_blocked = false);
        self.wake_up_at(&mut mfc, self.now());
    }

    fn wake_up_at(&self, mfc: &mut MfcState, time: Moment) {
        if mfc.wake_up_at.is_some_and(|planned| planned <= time) {
            return;
        }
        mfc.wake_up_at = Some(time);
        let event = Event {
            kind: EventKind::MfcRequest,
            index: mfc.spe.index() as u32,
        };
        self.clock.plan(time, event);
    }

    /// Sends the bus requests that are due, and queues the event of the next one.
    pub(super) fn pump(&self, mfc: &mut MfcState) {
        loop {
            match self.send_one(mfc) {
                Sent::Something => {}
                Sent::NotBefore(time) => return self.wake_up_at(mfc, time),
                Sent::Nothing => return,
            }
        }
    }

    fn send_one(&self, mfc: &mut MfcState) -> Sent {
        let now = self.now();
        if mfc.free_lines.is_empty() {
            return Sent::Nothing;
        }
        let can_send = |work: &Work| !work.is_sent && !work.is_blocked;
        let Some(place) = mfc
            .work
            .iter()
            .position(|work| can_send(work) && work.not_before <= now)
        else {
            let waiting = mfc.work.iter().filter(|work| can_send(work));
            return match waiting.map(|work| work.not_before).min() {
                Some(time) => Sent::NotBefore(time),
                None => Sent::Nothing,
            };
        };
        if mfc.next_request_at > now {
            return Sent::NotBefore(mfc.next_request_at);
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
                mfc.requests_time -= i128::from(now.as_femtoseconds());
                mfc.next_request_at = now + self.costs.request_interval;
                let token = Owner::Line {
                    spe: spe as u32,
                    line,
                }
                .token();
                let transaction = Transaction {
                    token,
                    ..transaction
                };
                self.bus.begin(&self.clock, transaction);
            }
            Ok(None) => self.finish_if_complete(mfc, place),
            Err(fault) => {
                mfc.fail(place, now, &fault);
                (mfc.work[place].is_sent, mfc.work[place].has_failed) = (true, true);
                self.finish_if_complete(mfc, place);
            }
        }
        Sent::Something
    }

    /// Completes a bus request of an MFC. Returns the thread that continues now, if any.
    pub fn line_arrives(&self, spe: SpeId, line: usize) -> Option<ThreadIndex> {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        let Line {
            work,
            element,
            effect,
        } = mfc.lines[line];
        mfc.free_lines.push(line as u32);
        mfc.requests_time += i128::from(self.now().as_femtoseconds());
        let place = mfc.work.iter().position(|other| other.id == work);
        let place = place.expect("a command is there until all its lines are");
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
                    mfc.work[place].has_failed = true;
                    mfc.fail(place, self.now(), &fault);
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
                self.mfcs.caches.borrow_mut().discard(ea / LINE);
                None
            }
        };
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
        let resumed = delivered.and_then(|(to, register, word)| {
            self.deliver(self.spe(spe), self.spe(to), register, word)
        });
        match (resumed, self.check_if_finished(spe)) {
            (Some(resumed), Some(later)) => {
                self.clock.plan_now(Event::resume(later));
                Some(resumed)
            }
            (resumed, later) => resumed.or(later),
        }
    }

    /// Checks the waiting threads of an SPE if an MFC command has ended since the last check.
    fn check_if_finished(&self, spe: SpeId) -> Option<ThreadIndex> {
        let finished = self.mfcs.take_finished(spe);
        finished.then(|| self.check(self.spe(spe))).flatten()
    }

    /// Queues a check of the waiting threads of an SPE if an MFC command has ended.
    pub(super) fn notify_if_finished(&self, spe: SpeId) {
        if self.mfcs.take_finished(spe) {
            self.notify(self.spe(spe));
        }
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
            self.mfcs.caches.borrow_mut().discard(ea.0 / LINE);
        }
        moved.ok_or(MfcFault::DataStorage { operation, ea })
    }

    pub(super) fn store_line(&self, mfc: &MfcState, lsa: LsAddr, ea: EffectiveAddress) {
        let mut line = [0; LINE_BYTES];
        mfc.local_store.read(lsa, &mut line);
        mfc.translation.with(ea, LINE_BYTES, |block, offset, _| {
            block.write(offset, &line)
        });
        self.mfcs.caches.borrow_mut().discard(ea.0 / LINE);
    }

    /// Removes a `Work` if all its requests have been sent and are complete.
    fn finish_if_complete(&self, mfc: &mut MfcState, place: usize) {
        let work = &mfc.work[place];
        if !work.is_sent || work.in_flight > 0 {
            return;
        }
        let work = mfc.work.remove(place);
        match work.issuer {
            Issuer::Spu => self.mfcs.set_finished(mfc.spe),
            Issuer::Ppe => self.notify(self.processor(PPE)),
        }
        let mut given_back = Vec::new();
        match (work.entry, work.task) {
            (
                Some(entry),
                Task::List {
                    cursor,
                    stalls: true,
                    ..
                },
            ) if !work.has_failed && !mfc.is_closed => {
                mfc.spu.queue.stall(entry);
                let stalled = Stalled {
                    entry,
                    id: work.id,
                    issue: work.issue,
                };
                mfc.stalled.push((stalled, cursor));
                return;
            }
            (Some(entry), _) => match work.issuer {
                Issuer::Spu => mfc.spu.queue.complete(entry),
                Issuer::Ppe => mfc.proxy.queue.complete(entry),
            },
            (None, _) => {
                mfc.typed.retain(|(id, _)| *id != work.id);
                given_back = mfc.held.extract_if(.., |(id, _)| *id == work.id).collect();
            }
        }
        self.forget_command(mfc, work.id, work.is_watched, &work.watched);
        // Dropping a buffer panics if `Hazards` finds a transfer in it, so `forget_command` comes
        // first. The event loop, which calls this function, must not unwind.
        if let Err(hazard) = catch_unwind(AssertUnwindSafe(|| drop(given_back))) {
            mfc.panic_late(work.issuer, hazard);
        }
        let depth = mfc.depth(work.issuer);
        let now = self.now();
        self.observers
            .observer
            .borrow_mut()
            .queue_depth(now, mfc.spe, work.issuer, depth);
        self.start_commands(mfc);
    }
}
