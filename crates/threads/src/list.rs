//! A doubly linked list of the control blocks of threads. The links are fields of the blocks.

use std::cell::Cell;
use std::ptr;

use crate::block::Block;

/// Control blocks in the order in which they were added. All blocks in a list are valid, because
/// blocks stay in their places until the run ends.
pub(crate) struct List {
    first: Cell<*const Block>,
    last: Cell<*const Block>,
}

impl List {
    pub(crate) const fn new() -> Self {
        List {
            first: Cell::new(ptr::null()),
            last: Cell::new(ptr::null()),
        }
    }

    pub(crate) fn last(&self) -> Option<&Block> {
        // SAFETY: the pointer is null or a valid block, see `List`.
        unsafe { self.last.get().as_ref() }
    }

    /// Appends a block that is in no list.
    pub(crate) fn push(&self, block: &Block) {
        let previous = self.last.replace(block);
        block.links.previous.set(previous);
        block.links.next.set(ptr::null());
        // SAFETY: the pointer is null or a valid block, see `List`.
        match unsafe { previous.as_ref() } {
            Some(previous) => previous.links.next.set(block),
            None => self.first.set(block),
        }
    }

    /// Removes a block that is in this list.
    pub(crate) fn remove(&self, block: &Block) {
        let (previous, next) = (block.links.previous.get(), block.links.next.get());
        // SAFETY: the pointer is null or a valid block, see `List`.
        match unsafe { previous.as_ref() } {
            Some(previous) => previous.links.next.set(next),
            None => self.first.set(next),
        }
        // SAFETY: the pointer is null or a valid block, see `List`.
        match unsafe { next.as_ref() } {
            Some(next) => next.links.previous.set(previous),
            None => self.last.set(previous),
        }
    }

    /// Returns all blocks, first to last. The list must not change during the iteration.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Block> {
        // SAFETY: the pointer is null or a valid block, see `List`.
        let block = |pointer: *const Block| unsafe { pointer.as_ref() };
        std::iter::successors(block(self.first.get()), move |current| {
            block(current.links.next.get())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Stack;

    #[test]
    fn blocks_stay_in_order_whichever_of_them_leave() {
        // Each bit of `leaving` that is 1 stands for a block to remove.
        for leaving in 0..16_u64 {
            let blocks: [Block; 4] =
                std::array::from_fn(|_| Block::new(Stack::FOREIGN, ptr::null_mut(), 0));
            let list = List::new();
            for (number, block) in (0..).zip(&blocks) {
                block.number.set(number);
                list.push(block);
            }
            let leaves = |block: &&Block| leaving & 1 << block.number.get() != 0;
            blocks
                .iter()
                .filter(leaves)
                .for_each(|block| list.remove(block));
            let numbers = || Vec::from_iter(list.iter().map(|block| block.number.get()));
            let stay = Vec::from_iter((0..4).filter(|number| leaving & 1 << number == 0));
            assert_eq!(numbers(), stay);
            assert_eq!(
                list.last().map(|block| block.number.get()),
                stay.last().copied()
            );
            blocks
                .iter()
                .filter(leaves)
                .for_each(|block| list.push(block));
            assert_eq!(numbers().len(), 4);
        }
    }
}
