//! Rotations: threads that take turns in a fixed order, so that a switch has nothing to decide.
//!
//! ```text
//!   ready queue:  ── x ── y ── waits for its scope ──►  its turn
//!                                                         │ goes on with `next`
//!                                                         ▼
//!                               ┌──► a ──► b ──► c ──► d ──┐    each `take_turn` is one step: one pointer
//!                               └──────────────────────────┘    is stored, and the switch follows
//! ```
//!
//! A thread of a scope enters the rotation by calling [`begin_turns`](crate::begin_turns) while its
//! parent waits for the scope to end. The threads of a rotation form a circle through their blocks.
//! They are not in the ready queue: there the parent stands for all of them.
//!
//! While they take turns the ready queue appears empty, as it does when the core is frozen. So
//! everything but a turn takes the slow paths for an empty queue. A thread that parks, ends, spawns
//! or wakes another one first leaves the circle, and the parent is put into the ready queue for the
//! threads that stay. A thread that has left comes back when it calls `begin_turns` again.
//!
//! If other threads of the core are ready, the parent lets them run when each thread of the circle
//! has had a turn.

// Rejected: prefetches of several threads in a row. They gained when a turn had 45 instructions,
// and cost more than they gain now that it has less than 30.
// Rejected: the next thread in a register, checked by a branch. A turn then takes 2.0 to 2.8 ns
// instead of 3.0 in a cache, where no turns are taken, but as long as before with data far away.
// Each machine would need a type for it.

use std::cell::Cell;
use std::ptr;

use crate::block::Block;

/// The threads of a scope that take turns.
///
/// Blocks in it are valid: they belong to threads of the running core that have not ended. The
/// `turn` of each block equals its `ahead`, with two exceptions: the block at which the round
/// pauses, and all blocks once the core is cancelled. So a turn has only `turn` to check.
pub(crate) struct Rotation {
    /// The thread that goes on first when the parent continues. The round is complete when it would
    /// be that thread's turn again. Null if the rotation is empty.
    next: Cell<*const Block>,
    /// The thread at which the round pauses: its turn is taken on the slow path, because other
    /// threads are ready or it is alone in the rotation. Null if the round does not pause.
    pause: Cell<*const Block>,
    /// How many threads were ready when the parent was continued.
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
        // SAFETY: null or a valid block, see `Rotation`.
        unsafe { self.next.get().as_ref() }
    }

    /// Whether this thread of the rotation is the last one of the round.
    pub(crate) fn ends_with(&self, block: &Block) -> bool {
        ptr::eq(block.ahead.get(), self.next.get())
    }

    /// Adds a thread that is in no rotation, as the last one of the round.
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
        // SAFETY: valid blocks, see `Rotation`; if the rotation was empty both are `block` itself.
        unsafe {
            (*behind).ahead.set(block);
            (*behind).turn.set(block);
            (*ahead).behind.set(block);
        }
    }

    /// Begins a round, and sets whether it pauses at its end. It is called before any thread of the
    /// rotation goes on, and the rotation is not empty.
    pub(crate) fn begin(&self, pauses: bool) {
        // SAFETY: null or a valid block, see `Rotation`.
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

    /// Takes out the running thread. The thread after it becomes the next one.
    pub(crate) fn remove(&self, block: &Block) {
        let (behind, ahead) = (block.behind.get(), block.ahead.get());
        // SAFETY: valid blocks, see `Rotation`; if the block is the only one both are `block`
        // itself.
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

    /// The numbers of the threads that have a turn without a pause, from the first one of the round
    /// on.
    fn turns(rotation: &Rotation) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut next = rotation.next.get();
        // SAFETY: valid blocks, see `Rotation`.
        while let Some(block) = unsafe { next.as_ref() } {
            numbers.push(block.number.get());
            next = match rotation.ends_with(block) {
                true => ptr::null(),
                false => block.turn.get(),
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
            // The round goes on with the thread after the one that has left last.
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
