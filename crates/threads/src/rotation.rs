//! A rotation: threads of a scope that take turns in a fixed order.
//!
//! ```text
//!   ready queue:  ── x ── y ── parent ──► continues a, the first thread of the round
//!                (x, y: other threads)    │
//!                                         ▼
//!                                    ┌──► a ──► b ──► c ──► d ──┐  each `take_turn` switches
//!                                    └──────────────────────────┘  to the next thread
//! ```
//!
//! The parent is the thread that called `scope`. A thread enters the rotation of its scope when it
//! calls [`begin_turns`](crate::begin_turns) while the parent waits for the scope to end. The
//! control blocks of the rotation form a circular list. The threads of the rotation are not in the
//! ready queue. Their parent is in the ready queue, and starts the turns when it runs.
//!
//! While threads take turns, the ready queue appears empty, so that every other operation takes its
//! slow path. A thread that parks, ends, or spawns or wakes a thread first leaves the rotation and
//! puts the parent into the ready queue.
//!
//! In a round, each thread of the rotation has one turn. Other ready threads run after the round.

// Rejected: prefetching several threads ahead. A turn has less than 30 instructions, so a prefetch
// takes more time than it saves.
// Rejected: keeping the next thread in a register and checking it with a branch. This shortens a
// turn from 3.0 ns to 2.0 to 2.8 ns if the data are in a cache, but saves no time if they are not.

use std::cell::Cell;
use std::ptr;

use crate::block::Block;

/// The threads of a scope that take turns. Blocks are valid, because their threads have not ended.
///
/// `turn` equals `ahead`, but is null in the block `pause` and on a cancelled core.
pub(crate) struct Rotation {
    /// The first thread of the round. Null if the rotation is empty.
    next: Cell<*const Block>,
    /// The last thread of the round if its turn takes the slow path `turn_in_round`, otherwise
    /// null. The slow path is needed if other threads are ready, or if the rotation has one thread.
    pause: Cell<*const Block>,
    /// The number of ready threads that are hidden while the rotation takes turns.
    pub(crate) ready: Cell<usize>,
}

impl Rotation {
    pub(crate) const fn new() -> Self {
        Rotation {
            next: Cell::new(ptr::null()),
            pause: Cell::new(ptr::null()),
            ready: Cell::new(0),
        }
    }

    pub(crate) fn next(&self) -> Option<&Block> {
        // SAFETY: the pointer is null or a valid block, see `Rotation`.
        unsafe { self.next.get().as_ref() }
    }

    /// Returns whether `block` has the last turn of the round.
    pub(crate) fn ends_with(&self, block: &Block) -> bool {
        ptr::eq(block.ahead.get(), self.next.get())
    }

    /// Adds a thread that is in no rotation. The thread has the last turn of the round.
    pub(crate) fn push(&self, block: &Block) {
        debug_assert!(block.frame.is_clear(), "a thread takes turns twice");
        let (behind, ahead) = match self.next() {
            Some(next) => (next.behind.get(), ptr::from_ref(next)),
            None => {
                self.next.set(block);
                (ptr::from_ref(block), ptr::from_ref(block))
            }
        };
        block.behind.set(behind);
        block.ahead.set(ahead);
        block.turn.set(ahead);
        // SAFETY: each of `behind` and `ahead` is `block` or a valid block, see `Rotation`.
        unsafe {
            (*behind).ahead.set(block);
            (*behind).turn.set(block);
            (*ahead).behind.set(block);
        }
    }

    /// Begins a round. If `pauses` is true, the last turn takes the slow path. The rotation must
    /// not be empty.
    pub(crate) fn begin(&self, pauses: bool) {
        // SAFETY: the pointer is null or a valid block, see `Rotation`.
        if let Some(block) = unsafe { self.pause.get().as_ref() } {
            block.turn.set(block.ahead.get());
        }
        self.pause.set(ptr::null());
        if let Some(next) = self.next().filter(|_| pauses) {
            let last = next.behind.get();
            // SAFETY: as above.
            unsafe { (*last).turn.set(ptr::null()) };
            self.pause.set(last);
        }
    }

    /// Removes the running thread.
    pub(crate) fn remove(&self, block: &Block) {
        let (behind, ahead) = (block.behind.get(), block.ahead.get());
        // SAFETY: each of `behind` and `ahead` is `block` or a valid block, see `Rotation`.
        unsafe {
            (*behind).ahead.set(ahead);
            (*behind).turn.set(ahead);
            (*ahead).behind.set(behind);
        }
        block.turn.set(ptr::null());
        block.frame.clear();
        if ptr::eq(self.pause.get(), block) {
            self.pause.set(ptr::null());
        }
        let is_last = ptr::eq(ahead, block);
        self.next.set(if is_last { ptr::null() } else { ahead });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Stack;

    fn blocks() -> [Block; 4] {
        let blocks = std::array::from_fn(|_| Block::new(Stack::FOREIGN, ptr::null_mut(), 0));
        for (number, block) in (0..).zip(&blocks) {
            block.number.set(number);
        }
        blocks
    }

    /// Returns the numbers of the threads in the order of their turns.
    fn turns(rotation: &Rotation) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut next = rotation.next.get();
        // SAFETY: valid blocks, see `Rotation`.
        while let Some(block) = unsafe { next.as_ref() } {
            numbers.push(block.number.get());
            next = if rotation.ends_with(block) {
                ptr::null()
            } else {
                block.turn.get()
            };
        }
        numbers
    }

    #[test]
    fn turns_are_taken_in_the_order_in_which_blocks_came_whichever_leave() {
        for leaving in 0..16_u64 {
            let (rotation, blocks) = (Rotation::new(), blocks());
            blocks.iter().for_each(|block| rotation.push(block));
            assert_eq!(turns(&rotation), [0, 1, 2, 3]);
            let leaves = |block: &&Block| leaving & 1 << block.number.get() != 0;
            blocks
                .iter()
                .filter(leaves)
                .for_each(|block| rotation.remove(block));
            // The round may now begin with any remaining thread.
            let mut stay = turns(&rotation);
            stay.sort_unstable();
            let expected = Vec::from_iter((0..4).filter(|number| leaving & 1 << number == 0));
            assert_eq!(stay, expected);
            assert!(
                blocks
                    .iter()
                    .filter(leaves)
                    .all(|block| block.turn.get().is_null())
            );
        }
    }

    #[test]
    fn a_round_that_pauses_does_so_at_its_last_block_and_the_next_one_need_not() {
        let (rotation, blocks) = (Rotation::new(), blocks());
        blocks.iter().for_each(|block| rotation.push(block));
        rotation.begin(true);
        assert!(blocks[3].turn.get().is_null());
        assert!(ptr::eq(blocks[2].turn.get(), &blocks[3]));
        rotation.begin(false);
        assert!(ptr::eq(blocks[3].turn.get(), &blocks[0]));
    }
}
