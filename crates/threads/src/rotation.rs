//! Threads that take turns in an order that is known beforehand, so that a switch has nothing to
//! decide.
//!
//! ```text
//!   ready queue:  ── x ── y ── waits for its scope ──►  its turn
//!                                                         │ goes on with `next`
//!                                                         ▼
//!                               ┌──► a ──► b ──► c ──► d ──┐    each `take_turn` is one step: one pointer
//!                               └──────────────────────────┘    is stored, and the switch follows
//! ```
//!
//! Threads of a scope that call [`begin_turns`](crate::begin_turns) while their parent waits for
//! the scope to end stand in a circle through their blocks, not in the ready queue, where the
//! parent stands for all of them. While they take turns the ready queue looks empty, as it does
//! when the core is frozen. Whatever is not a turn takes the slow paths that are there for that: a
//! thread that parks, ends, spawns or wakes another one first leaves the circle, and the parent is
//! put into the ready queue for those that stay. A thread that has left comes back when it calls
//! `begin_turns` again.
//!
//! If others are ready, the parent gives up its turn when each thread of the circle has had one.

use std::cell::Cell;
use std::ptr;

use crate::block::Block;

/// The threads of a scope that take turns.
///
/// Blocks in it are valid: they belong to threads that have not ended, of the running core. Each
/// has `ahead` as its `turn`, but for the one at which the round pauses, and once the core is
/// cancelled: so a turn has one question to ask.
pub(crate) struct Rotation {
    /// Who goes on first when the parent continues: the round is complete when it would come again.
    /// Null if there is no such thread.
    next: Cell<*const Block>,
    /// Whose turn is not taken without further ado, as others are ready or there is no other
    /// thread. Null if there is no such thread.
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

    /// Whether a thread of it is the last of the round.
    pub(crate) fn ends_with(&self, block: &Block) -> bool {
        ptr::eq(block.ahead.get(), self.next.get())
    }

    /// Takes in a thread that is in no rotation, as the last of the round.
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
        // SAFETY: valid blocks, see `Rotation`; if it was empty both are `block` itself.
        unsafe {
            (*behind).ahead.set(block);
            (*behind).turn.set(block);
            (*ahead).behind.set(block);
        }
    }

    /// Says whether the round pauses at its end. To be called before any thread of it goes on;
    /// there is one.
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

    /// Takes out the thread that runs; the one after it is the next.
    pub(crate) fn remove(&self, block: &Block) {
        let (behind, ahead) = (block.behind.get(), block.ahead.get());
        // SAFETY: valid blocks, see `Rotation`; if it is the only one both are `block` itself.
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

    /// Who has a turn without a pause, from the first of the round on.
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
            // The round goes on with who comes after the one that has left last.
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
