//! The sending of words, and room in mailboxes, for which threads and MFCs wait.

use cellworks_machine::ProblemStateRegister;
use cellworks_machine::mailbox::Outbound;

use crate::index::PPE;
use crate::processor::SimProcessor;
use crate::queue::{Event, EventKind};
use crate::time::Femtoseconds;
use crate::world::World;

impl World {
    /// Sends a word from a processor to a register of another processor, after `start`.
    #[inline(always)]
    pub fn launch_word(
        &self,
        from: &SimProcessor,
        to: &SimProcessor,
        register: ProblemStateRegister,
        word: u32,
        start: Femtoseconds,
    ) {
        // The lag of the sender, which the clock has not counted yet, delays the word.
        let now = self.now() + from.lag();
        let latency = from.word_latency[to.index - 1];
        let mut flights = self.bus.flights.borrow_mut();
        let index = flights.begin(from.index, to.index, register, word);
        drop(flights);
        let (kind, after) = match latency {
            Some(latency) => (EventKind::Word, start + latency),
            None => (EventKind::SendWord, start),
        };
        self.clock.plan(now + after, Event { kind, index });
    }

    /// Takes the oldest word of an inbound mailbox, and wakes the senders that wait for room.
    #[inline]
    pub fn take_inbound(&self, of: &SimProcessor) -> Option<u32> {
        let word = of.words.inbound.pop()?;
        if of.words.is_room_wanted.get() {
            self.wake_for_room(of);
        }
        Some(word)
    }

    /// Wakes all processors and MFCs that wait for room in an inbound mailbox, because the first of
    /// them may not need the room any more. Those that find no room wait again, in the same order.
    #[cold]
    #[inline(never)]
    fn wake_for_room(&self, of: &SimProcessor) {
        let words = &of.words;
        words.is_room_wanted.set(false);
        let wanting = words.wanting_room.take();
        let blocked = words.blocked.take();
        wanting
            .into_iter()
            .for_each(|processor| self.notify_by(of, self.processor(processor)));
        blocked.into_iter().for_each(|mfc| self.wake_mfc(mfc));
    }

    pub fn put_outbound(&self, of: &SimProcessor, mailbox: Outbound, word: u32) -> bool {
        let place = &of.words.outbound[mailbox.index()];
        if place.get().is_some() {
            return false;
        }
        place.set(Some(word));
        self.notify_by(of, self.processor(PPE));
        true
    }

    pub fn take_outbound(&self, of: &SimProcessor, mailbox: Outbound) -> Option<u32> {
        let word = of.words.outbound[mailbox.index()].take()?;
        self.notify_by(self.processor(PPE), of);
        Some(word)
    }
}
