//! The bounded queue of figure 4.2 of the Jack Rabbit thesis, in main memory or in a local store.

// Rejected: tasks in simulated memory. A task owns and borrows Rust values, so a wrong transfer
// would break memory safety. Therefore buffers hold numbers of tasks, and a table holds the tasks.

use cellworks_machine::LocalStore;
use cellworks_machine::memory::Region;
use cellworks_machine::mfc::LsAddr;

/// The largest number of tasks in a buffer.
pub(crate) const BUFFER_TASKS: usize = 1_024;

/// The number of bytes of an element: the size of a pointer of an SPE.
pub(super) const ELEMENT_BYTES: usize = 4;

/// The offset of the head in a buffer, in bytes. The tail and the length follow.
pub(super) const CONTROL: usize = BUFFER_TASKS * ELEMENT_BYTES;

/// The number of bytes of head, tail and length, which fill a line.
pub(super) const CONTROL_BYTES: usize = 128;

pub(super) const BUFFER_BYTES: usize = CONTROL + CONTROL_BYTES;

const HEAD: usize = CONTROL;
const TAIL: usize = CONTROL + 4;
const LENGTH: usize = CONTROL + 8;

/// Memory that a processor accesses by words.
pub(super) trait Words {
    fn get(&self, at: usize) -> u32;
    fn set(&self, at: usize, word: u32);
}

/// A buffer in main memory, as the PPE accesses it.
pub(super) struct InMain<'a> {
    pub(super) memory: &'a Region,
    pub(super) start: usize,
}

impl Words for InMain<'_> {
    fn get(&self, at: usize) -> u32 {
        self.memory.load_u32(self.start + at)
    }

    fn set(&self, at: usize, word: u32) {
        self.memory.write(self.start + at, &word.to_ne_bytes());
    }
}

/// A copy of a buffer in a local store, as its SPE accesses it.
pub(super) struct InLocal<'a> {
    pub(super) local_store: &'a LocalStore,
    pub(super) start: LsAddr,
}

impl Words for InLocal<'_> {
    fn get(&self, at: usize) -> u32 {
        self.local_store.read_word(LsAddr(self.start.0 + at as u32))
    }

    fn set(&self, at: usize, word: u32) {
        self.local_store
            .write_word(LsAddr(self.start.0 + at as u32), word);
    }
}

/// A queue of the numbers of tasks, which the caller has locked.
pub(super) struct Buffer<W>(pub(super) W);

impl<W: Words> Buffer<W> {
    pub(super) fn len(&self) -> usize {
        self.0.get(LENGTH) as usize
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == BUFFER_TASKS
    }

    /// Returns the offset of the next element to push, in bytes.
    pub(super) fn tail(&self) -> usize {
        self.0.get(TAIL) as usize * ELEMENT_BYTES
    }

    /// Returns the offset of the first element, in bytes.
    pub(super) fn head(&self) -> usize {
        self.0.get(HEAD) as usize * ELEMENT_BYTES
    }

    pub(super) fn push_back(&self, task: u32) {
        debug_assert!(!self.is_full());
        self.0.set(self.tail(), task);
        self.step(TAIL);
        self.0.set(LENGTH, self.0.get(LENGTH) + 1);
    }

    pub(super) fn pop_front(&self) -> u32 {
        debug_assert!(!self.is_empty());
        let task = self.0.get(self.head());
        self.step(HEAD);
        self.0.set(LENGTH, self.0.get(LENGTH) - 1);
        task
    }

    fn step(&self, end: usize) {
        let next = (self.0.get(end) + 1) % BUFFER_TASKS as u32;
        self.0.set(end, next);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Plain(RefCell<Vec<u32>>);

    impl Words for Plain {
        fn get(&self, at: usize) -> u32 {
            self.0.borrow()[at / 4]
        }

        fn set(&self, at: usize, word: u32) {
            self.0.borrow_mut()[at / 4] = word;
        }
    }

    #[test]
    fn a_buffer_is_first_in_first_out_around_its_end() {
        let buffer = Buffer(Plain(RefCell::new(vec![0; BUFFER_BYTES / 4])));
        let tasks = BUFFER_TASKS as u32;
        for round in 0..3 {
            (0..tasks).for_each(|task| buffer.push_back(round * tasks + task));
            assert!(buffer.is_full());
            for task in 0..tasks {
                assert_eq!(buffer.pop_front(), round * tasks + task);
            }
            assert!(buffer.is_empty());
            // Moves the head and the tail by one element for the next round.
            buffer.push_back(7);
            assert_eq!((buffer.len(), buffer.pop_front()), (1, 7));
        }
    }
}
