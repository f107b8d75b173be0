//! The words that are on their way to a register.

use cellworks_machine::ProblemStateRegister;

use crate::index::ProcessorIndex;

/// The words that are on their way to a register. The vector has a place for each word. The places
/// of arrived words form a free list: `next_free` of a free place is the index of the next one.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    flights: Vec<Flight>,
    /// The first place of the free list, which the next word takes. If no place is free, this is
    /// the number of places, and the next word gets a new place at the end.
    free: u32,
}

/// A word on its way, or a free place.
#[derive(Clone, Copy, Debug)]
struct Flight {
    from: u32,
    to: u32,
    word: u32,
    next_free: u32,
    register: ProblemStateRegister,
}

impl Flights {
    /// Adds a word and returns its place.
    #[inline]
    pub(super) fn begin(
        &mut self,
        from: ProcessorIndex,
        to: ProcessorIndex,
        register: ProblemStateRegister,
        word: u32,
    ) -> u32 {
        let index = self.free;
        if index as usize == self.flights.len() {
            self.add_place();
        }
        let place = &mut self.flights[index as usize];
        self.free = place.next_free;
        *place = Flight {
            from: from as u32,
            to: to as u32,
            word,
            next_free: 0,
            register,
        };
        index
    }

    // This is not inlined, so that the code on the path of a word stays small.
    #[cold]
    #[inline(never)]
    fn add_place(&mut self) {
        self.flights.push(Flight {
            from: 0,
            to: 0,
            word: 0,
            next_free: self.free + 1,
            register: ProblemStateRegister::InMbox,
        });
    }

    /// Returns the processor that a word comes from and the processor that it goes to.
    #[inline]
    pub(super) fn ends(&self, index: u32) -> (ProcessorIndex, ProcessorIndex) {
        let Flight { from, to, .. } = self.flights[index as usize];
        (from as ProcessorIndex, to as ProcessorIndex)
    }

    /// Frees the place of a word that has arrived. Returns its receiving processor, its register
    /// and the word.
    #[inline]
    pub(super) fn end(&mut self, index: u32) -> (ProcessorIndex, ProblemStateRegister, u32) {
        let place = &mut self.flights[index as usize];
        place.next_free = self.free;
        self.free = index;
        (place.to as ProcessorIndex, place.register, place.word)
    }
}
