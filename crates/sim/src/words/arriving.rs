//! The arrival of words, which may end the wait of a thread.

use cellworks_machine::ProblemStateRegister;

use crate::bus::Owner;
use crate::fabric::{Endpoint, Transaction};
use crate::index::ThreadIndex;
use crate::processor::SimProcessor;
use crate::world::World;

impl World {
    pub fn send_word(&self, index: u32) {
        let (from, to) = self.bus.flights.borrow().ends(index);
        let (from, to) = (Endpoint::of(from), Endpoint::of(to));
        let transaction = Transaction::register_write(from, to, Owner::Word(index).token());
        self.bus.begin(&self.clock, transaction);
    }

    /// Stores an arrived word in its register, and returns the receiving processor.
    #[inline(always)]
    pub fn word_arrives(&self, index: u32) -> &SimProcessor {
        let mut flights = self.bus.flights.borrow_mut();
        let ((from, to), (register, word)) = (flights.ends(index), flights.end(index));
        drop(flights);
        let to = self.processor(to);
        to.words.put(register, word);
        to.woken_by.set(Some(from));
        to
    }

    /// Stores a word of a processor in a register. Returns the thread that continues now, if any.
    pub fn deliver(
        &self,
        from: &SimProcessor,
        to: &SimProcessor,
        register: ProblemStateRegister,
        word: u32,
    ) -> Option<ThreadIndex> {
        to.words.put(register, word);
        to.woken_by.set(Some(from.index));
        self.check(to)
    }
}
