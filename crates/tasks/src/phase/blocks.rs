//! Blocks of a slice, which tasks of one phase use one after the other.
//!
//! Tasks [declare](crate::Task::after) their order, and the phase checks the order when a task is
//! submitted. A task that changes a block must come after all earlier tasks that use the block. A
//! task that reads a block must come after the task that last changed the block.

// Rejected: running the tasks of a block in the order of submission, because the phase could not
// check whether that is the right order.
// Rejected: references as handles of blocks. Then a shared and an exclusive reference to a block
// could exist at the same time.

use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use cellworks_machine::Spe;

use crate::error::TaskError;
use crate::phase::block_use::BlockUse;
use crate::phase::data::{Read, Update};
use crate::phase::node::Node;

/// A slice that is divided into blocks of equal length, for tasks of one phase. See
/// [`Phase::blocks`](crate::Phase::blocks).
#[derive(Debug)]
pub struct Blocks<'d, T> {
    pub(crate) slice: NonNull<[T]>,
    pub(crate) block: usize,
    /// The id of the phase that checks the uses of the blocks.
    pub(crate) phase: usize,
    pub(crate) borrow: PhantomData<&'d mut [T]>,
}

// SAFETY: this value gives no access to the slice. Tasks access the slice only in a checked order.
unsafe impl<T: Send> Send for Blocks<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Blocks<'_, T> {}

impl<'d, T: Pod> Blocks<'d, T> {
    /// Returns the number of blocks.
    pub fn count(&self) -> usize {
        self.slice.len() / self.block
    }

    /// Returns a block that a task will read.
    ///
    /// # Panics
    ///
    /// Panics if no block has this number.
    pub fn read(&self, block: usize) -> Read<'d, T> {
        Read::of_block(self.block(block), self.usage(block, false))
    }

    /// Returns a block that a task will change.
    ///
    /// # Panics
    ///
    /// Panics if no block has this number.
    pub fn update(&self, block: usize) -> Update<'d, T> {
        Update::of_block(self.block(block), self.usage(block, true))
    }

    fn block(&self, block: usize) -> NonNull<[T]> {
        let count = self.count();
        assert!(
            block < count,
            "there are {count} blocks, and none has the number {block}"
        );
        // SAFETY: the assertion has checked that the block is inside of the slice.
        let first = unsafe { self.slice.cast::<T>().add(block * self.block) };
        NonNull::slice_from_raw_parts(first, self.block)
    }

    fn usage(&self, block: usize, changes: bool) -> BlockUse {
        BlockUse {
            slice: self.slice.as_ptr().addr(),
            block,
            changes,
            phase: self.phase,
        }
    }
}

/// The tasks that use the blocks of a phase, and the declared order of the tasks.
pub(crate) struct Users<S: Spe> {
    /// Maps the address of a slice and the number of a block to the tasks that use the block.
    of_blocks: HashMap<(usize, usize), UsersOfBlock<S>>,
    /// Maps the number of a task to the numbers of the tasks before it. Ended tasks are not
    /// removed, because the check must not depend on how fast tasks run.
    before: HashMap<usize, Box<[usize]>>,
}

struct UsersOfBlock<S: Spe> {
    changed_by: Option<Arc<Node<S>>>,
    /// The tasks that have read the block since the last change.
    read_by: Vec<Arc<Node<S>>>,
}

impl<S: Spe> Users<S> {
    pub(crate) fn new() -> Self {
        Self {
            of_blocks: HashMap::new(),
            before: HashMap::new(),
        }
    }

    /// Records the tasks that `task` comes after.
    pub(crate) fn declare(&mut self, task: &Node<S>, before: &[Arc<Node<S>>]) {
        let before = before.iter().map(|other| other.number).collect();
        self.before.insert(task.number, before);
    }

    /// Returns whether `task` comes after `other`, directly or through other tasks.
    fn is_ordered(&self, task: &Node<S>, other: &Node<S>) -> bool {
        let mut to_visit = vec![task.number];
        let mut seen = HashSet::new();
        while let Some(number) = to_visit.pop() {
            let before = self.before.get(&number).into_iter().flatten().copied();
            for before in before {
                if before == other.number {
                    return true;
                }
                // A task comes only after earlier tasks, which have smaller numbers.
                if before > other.number && seen.insert(before) {
                    to_visit.push(before);
                }
            }
        }
        false
    }

    /// Checks that a task comes after the earlier users of its blocks, and records its uses.
    ///
    /// # Errors
    ///
    /// Returns [`TaskError`], and records nothing, if the task does not come after an earlier user.
    pub(crate) fn admit(
        &mut self,
        phase: usize,
        task: &Arc<Node<S>>,
        uses: &[BlockUse],
    ) -> Result<(), TaskError> {
        for (place, usage) in uses.iter().enumerate() {
            let BlockUse { block, changes, .. } = *usage;
            let name = || task.to_string();
            if usage.phase != phase {
                return Err(TaskError::BlockOfOtherPhase {
                    task: name(),
                    block,
                });
            }
            let is_same = |other: &BlockUse| (other.slice, other.block) == (usage.slice, block);
            let mut others = uses[..place].iter().filter(|other| is_same(other));
            if others.any(|other| other.changes || changes) {
                return Err(TaskError::NamedTwice {
                    task: name(),
                    block,
                });
            }
            let Some(users) = self.of_blocks.get(&(usage.slice, block)) else {
                continue;
            };
            // A task that reads the block must come after the task that last changed the block.
            let before: Vec<_> = match (&users.changed_by, changes && !users.read_by.is_empty()) {
                (_, true) => users.read_by.iter().map(|reader| (reader, false)).collect(),
                (writer, false) => writer.iter().map(|writer| (writer, true)).collect(),
            };
            for (other, other_changes) in before {
                if !self.is_ordered(task, other) {
                    return Err(TaskError::Conflict {
                        task: name(),
                        block,
                        changes,
                        other: other.to_string(),
                        other_changes,
                    });
                }
            }
        }
        for usage in uses {
            let users = self.of_blocks.entry((usage.slice, usage.block));
            let users = users.or_insert_with(|| UsersOfBlock {
                changed_by: None,
                read_by: Vec::new(),
            });
            if usage.changes {
                users.changed_by = Some(Arc::clone(task));
                users.read_by.clear();
            } else {
                users.read_by.push(Arc::clone(task));
            }
        }
        Ok(())
    }
}
