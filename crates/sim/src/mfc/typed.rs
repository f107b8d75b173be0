//! Typed transfers, which only take simulated time. Their bytes are moved before they begin.

use cellworks_machine::mfc::{Direction, EffectiveAddress, LsAddr, Order};
use cellworks_machine::{LocalBuffer, SpeId};

use super::state::{TYPED_AT, Task, Work};
use crate::hazard::Transfer;
use crate::issuer::Issuer;
use crate::observe::Arguments;
use crate::world::World;

impl World {
    /// Begins a typed transfer, and returns its id.
    pub fn begin_typed(&self, spe: SpeId, direction: Direction, lsa: LsAddr, bytes: usize) -> u64 {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        let id = mfc.next_serial();
        let left = bytes as u64;
        let address = self.mfcs.next_typed_address(left);
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
        let now = self.now();
        let mut hazards = self.observers.hazards.borrow_mut();
        let issue = hazards.issue(spe, Issuer::Spu, None, Order::None);
        let issue = issue.at(self.place(spe, Issuer::Spu));
        let transfer = Transfer {
            name,
            direction,
            lsa,
            ea: EffectiveAddress(TYPED_AT + address),
            bytes: bytes as u32,
            issue,
        };
        let hazard = hazards.begin(now, spe, id, &transfer);
        mfc.record_hazard(Issuer::Spu, hazard);
        drop(hazards);
        let not_before = now + self.costs.start;
        mfc.work.push(Work {
            is_watched: true,
            ..Work::new(id, Issuer::Spu, issue, task, not_before)
        });
        mfc.typed.push((id, direction));
        let mut observer = self.observers.observer.borrow_mut();
        let arguments = Arguments {
            bytes: left,
            lsa: Some(lsa),
            ..Arguments::default()
        };
        observer.command_issued(now, spe, Issuer::Spu, id, name, arguments);
        observer.queue_depth(now, spe, Issuer::Spu, mfc.depth(Issuer::Spu));
        drop(observer);
        self.pump(&mut mfc);
        drop(mfc);
        self.notify_if_finished(spe);
        id
    }

    pub fn typed_is_complete(&self, spe: SpeId, id: u64) -> bool {
        let mfc = self.mfcs.of(spe).borrow();
        mfc.typed.iter().all(|(other, _)| *other != id)
    }

    /// Keeps the buffer of a dropped view until `transfer` is complete.
    pub fn hold_buffer(&self, spe: SpeId, transfer: u64, buffer: LocalBuffer) {
        if !self.typed_is_complete(spe, transfer) {
            self.mfcs.of(spe).borrow_mut().held.push((transfer, buffer));
        }
    }

    pub fn holds_buffers(&self, spe: SpeId) -> bool {
        !self.mfcs.of(spe).borrow().held.is_empty()
    }

    pub fn typed_puts_are_complete(&self, spe: SpeId) -> bool {
        let mfc = self.mfcs.of(spe).borrow();
        mfc.typed
            .iter()
            .all(|(_, direction)| *direction == Direction::Get)
    }

    pub fn has_free_entry(&self, spe: SpeId) -> bool {
        self.mfcs.of(spe).borrow().free_entries() > 0
    }
}
