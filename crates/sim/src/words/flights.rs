use cellworks_machine::ProblemStateRegister;

use crate::index::ProcessorIndex;

/// The words on their way to registers. Free entries form a list, linked by `next_free`.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    flights: Vec<Flight>,
    /// The index of the first free entry, or the length of the vector.
    free: u32,
}

/// A word on its way to a register, or a free entry.
#[derive(Clone, Copy, Debug)]
struct Flight {
    from: u32,
    to: u32,
    word: u32,
    next_free: u32,
    register: ProblemStateRegister,
}

impl Flights {
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

    // `inline(never)` keeps the code that sends a word small.
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

    #[inline]
    pub(super) fn ends(&self, index: u32) -> (ProcessorIndex, ProcessorIndex) {
        let Flight { from, to, .. } = self.flights[index as usize];
        (from as ProcessorIndex, to as ProcessorIndex)
    }

    /// Frees the entry of a word. Returns the word with its register.
    #[inline]
    pub(super) fn end(&mut self, index: u32) -> (ProblemStateRegister, u32) {
        let place = &mut self.flights[index as usize];
        place.next_free = self.free;
        self.free = index;
        (place.register, place.word)
    }
}
