//! Reports of commands to `Hazards` and to the observer.

use cellworks_machine::SpeId;
use cellworks_machine::mfc::{Command, Direction, EffectiveAddress, EntryId, LsAddr, Opcode};

use super::state::{LINE, MfcState, Move, Watched};
use crate::fabric::WORD_BYTES;
use crate::hazard::Transfer;
use crate::issuer::Issuer;
use crate::observe::Arguments;
use crate::world::World;

impl World {
    /// Reports a command that was issued. An element of a list is reported when it is fetched.
    pub(super) fn watch_command(
        &self,
        mfc: &mut MfcState,
        issuer: Issuer,
        entry: EntryId,
        command: &Command,
    ) {
        let (now, spe) = (self.now(), mfc.spe);
        let id = mfc.next_serial();
        let opcode = command.opcode();
        let mut hazards = self.observers.hazards.borrow_mut();
        let issue = hazards.issue(spe, issuer, command.tag(), opcode.order());
        let issue = issue.at(self.place(spe, issuer));
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
                    Some(tag) if opcode != Opcode::Barrier => hazards.order_group(spe, issuer, tag),
                    _ => hazards.order_all(spe, issuer),
                }
                None
            }
            Command::ListTransfer(_) | Command::QueuedLinePut(_) | Command::Atomic(_) => None,
        };
        let bytes = match command {
            Command::QueuedLinePut(_) => LINE,
            // Each element of a list is counted when it begins.
            _ => transfer.map_or(0, |transfer| u64::from(transfer.bytes)),
        };
        if let Some(transfer) = transfer {
            let hazard = hazards.begin(now, spe, id, &transfer);
            mfc.record_hazard(issuer, hazard);
        }
        drop(hazards);
        match issuer {
            Issuer::Spu => mfc.spu.waiting.push((entry, id, issue)),
            Issuer::Ppe => mfc.proxy.waiting.push((entry, id, issue)),
        }
        let mut observer = self.observers.observer.borrow_mut();
        let (lsa, ea) = match command {
            Command::ListTransfer(list) => (Some(list.lsa()), None),
            _ => (
                transfer.map(|transfer| transfer.lsa),
                transfer.map(|transfer| transfer.ea),
            ),
        };
        let arguments = Arguments {
            bytes,
            lsa,
            ea,
            tag: command.tag(),
        };
        observer.command_issued(now, spe, issuer, id, opcode.name(), arguments);
        observer.queue_depth(now, spe, issuer, mfc.depth(issuer));
    }

    /// Returns the place in foreign source of the program that issues a command now. In the
    /// condition of a wait another thread may run, so it is that of the only thread with a place.
    pub(super) fn place(&self, spe: SpeId, issuer: Issuer) -> Option<&'static str> {
        let processor = self.spe(spe);
        match issuer {
            Issuer::Spu if self.is_in_condition() => processor.places.only(),
            Issuer::Spu => processor.place(),
            Issuer::Ppe => None,
        }
    }

    /// Reports an element of a list to `Hazards`.
    pub(super) fn watch_element(&self, mfc: &mut MfcState, place: usize, element: &Move) {
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
        let mut observer = self.observers.observer.borrow_mut();
        observer.element_begins(mfc.spe, work.id, element.left);
        drop(observer);
        let hazard =
            self.observers
                .hazards
                .borrow_mut()
                .begin(self.now(), mfc.spe, serial, &transfer);
        mfc.record_hazard(Issuer::Spu, hazard);
    }

    /// Reports the end of a list element to `Hazards` if the element has no more requests.
    pub(super) fn forget_element(&self, mfc: &mut MfcState, place: usize, at: usize) {
        let element = &mfc.work[place].watched[at];
        if element.is_sent && element.in_flight == 0 {
            self.observers.hazards.borrow_mut().end(mfc.spe, element.id);
            mfc.work[place].watched.remove(at);
        }
    }

    pub(super) fn forget_command(
        &self,
        mfc: &MfcState,
        id: u64,
        is_watched: bool,
        watched: &[Watched],
    ) {
        let mut hazards = self.observers.hazards.borrow_mut();
        let own = is_watched.then_some(id);
        let elements = watched.iter().map(|element| element.id);
        own.into_iter()
            .chain(elements)
            .for_each(|id| hazards.end(mfc.spe, id));
        self.observers
            .observer
            .borrow_mut()
            .command_complete(self.now(), mfc.spe, id);
    }
}
