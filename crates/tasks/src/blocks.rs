//! Blocks of a slice that tasks of one phase use one after the other.
//!
//! A slice is borrowed by one task. Where tasks use the same data in an order that they
//! [declare](crate::Task::after), the phase borrows the slice and tasks name its blocks. The phase
//! checks each use when the task is submitted: a task that changes a block comes after all that
//! have used it before, and a task that reads it comes after the one that has changed it last.

use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use cellworks_machine::{Pending, PendingMut, Spe, StageError, Staged, StagedMut};

use crate::block_use::BlockUse;
use crate::data::{Data, Target, Update, Viewed};
use crate::error::TaskError;
use crate::node::Node;

/// A slice in blocks of equal length, for the tasks of one phase: see
/// [`Phase::blocks`](crate::Phase::blocks).
#[derive(Debug)]
pub struct Blocks<'d, T> {
    pub(crate) slice: NonNull<[T]>,
    pub(crate) block: usize,
    /// The phase that checks their use.
    pub(crate) phase: usize,
    pub(crate) borrow: PhantomData<&'d mut [T]>,
}

// SAFETY: it gives access to nothing; tasks get it as the phase allows.
unsafe impl<T: Send> Send for Blocks<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Blocks<'_, T> {}

impl<'d, T: Pod> Blocks<'d, T> {
    /// How many blocks there are.
    pub fn count(&self) -> usize {
        self.slice.len() / self.block
    }

    /// A block, for a task that reads it.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    pub fn read(&self, block: usize) -> ReadBlock<'d, T> {
        ReadBlock {
            slice: self.block(block),
            usage: self.usage(block, false),
            borrow: PhantomData,
        }
    }

    /// A block, for a task that changes it.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    pub fn update(&self, block: usize) -> UpdateBlock<'d, T> {
        UpdateBlock {
            block: Update(Target::of_block(self.block(block))),
            usage: self.usage(block, true),
        }
    }

    fn block(&self, block: usize) -> NonNull<[T]> {
        let count = self.count();
        assert!(
            block < count,
            "there are {count} blocks, and none has the number {block}"
        );
        // SAFETY: the block is inside of the slice.
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

/// A block that a task reads.
#[derive(Debug)]
pub struct ReadBlock<'d, T> {
    slice: NonNull<[T]>,
    usage: BlockUse,
    borrow: PhantomData<&'d [T]>,
}

// SAFETY: as for the shared reference that it stands for.
unsafe impl<T: Sync> Send for ReadBlock<'_, T> {}

/// A block that a task changes.
#[derive(Debug)]
pub struct UpdateBlock<'d, T> {
    block: Update<'d, T>,
    usage: BlockUse,
}

impl<T: Pod> Viewed for ReadBlock<'_, T> {
    type View<'v> = &'v [T];
}

impl<T: Pod> Viewed for UpdateBlock<'_, T> {
    type View<'v> = &'v mut [T];
}

// SAFETY: nothing is written, and the block cannot be split.
unsafe impl<'d, T: Pod + Sync> Data for ReadBlock<'d, T> {
    type Ahead<'s, S: Spe>
        = Pending<'s, T, S>
    where
        Self: 's;
    type Staged<'s, S: Spe>
        = Staged<'s, T, S>
    where
        Self: 's;

    fn bytes(&self) -> usize {
        self.slice.len() * size_of::<T>()
    }

    fn pieces(&self, _: &mut dyn FnMut(usize)) {}

    unsafe fn part(&self, _: Range<usize>) -> Self {
        Self { ..*self }
    }

    unsafe fn whole(&self) -> Self {
        Self { ..*self }
    }

    unsafe fn begin<'s, S: Spe>(&self, spe: &'s S) -> Result<Self::Ahead<'s, S>, StageError>
    where
        Self: 's,
    {
        // SAFETY: the phase lets the task run only while no other one changes the block, which is
        // part of a slice that is borrowed for 'd.
        let slice: &'s [T] = unsafe { self.slice.as_ref() };
        spe.stage_ahead(slice)
    }

    fn arrive<'s, S: Spe>(ahead: Self::Ahead<'s, S>) -> Self::Staged<'s, S>
    where
        Self: 's,
    {
        ahead.wait()
    }

    fn view<'v, 's: 'v, S: Spe>(staged: &'v mut Self::Staged<'s, S>) -> Self::View<'v>
    where
        Self: 's,
    {
        staged
    }

    fn blocks(&self, named: &mut dyn FnMut(BlockUse)) {
        named(self.usage);
    }
}

// SAFETY: it is an `Update`, and is not split.
unsafe impl<'d, T: Pod + Send> Data for UpdateBlock<'d, T> {
    type Ahead<'s, S: Spe>
        = PendingMut<'s, T, S>
    where
        Self: 's;
    type Staged<'s, S: Spe>
        = StagedMut<'s, T, S>
    where
        Self: 's;

    fn bytes(&self) -> usize {
        self.block.bytes()
    }

    fn pieces(&self, named: &mut dyn FnMut(usize)) {
        self.block.pieces(named);
    }

    unsafe fn part(&self, pieces: Range<usize>) -> Self {
        Self {
            // SAFETY: by the contract of this function.
            block: unsafe { self.block.part(pieces) },
            usage: self.usage,
        }
    }

    unsafe fn whole(&self) -> Self {
        Self {
            // SAFETY: by the contract of this function.
            block: unsafe { self.block.whole() },
            usage: self.usage,
        }
    }

    unsafe fn begin<'s, S: Spe>(&self, spe: &'s S) -> Result<Self::Ahead<'s, S>, StageError>
    where
        Self: 's,
    {
        // SAFETY: the phase lets the task run only while no other one uses the block.
        unsafe { self.block.begin(spe) }
    }

    fn arrive<'s, S: Spe>(ahead: Self::Ahead<'s, S>) -> Self::Staged<'s, S>
    where
        Self: 's,
    {
        ahead.wait()
    }

    fn view<'v, 's: 'v, S: Spe>(staged: &'v mut Self::Staged<'s, S>) -> Self::View<'v>
    where
        Self: 's,
    {
        staged
    }

    fn blocks(&self, named: &mut dyn FnMut(BlockUse)) {
        named(self.usage);
    }
}

/// The tasks that use the blocks of a phase.
pub(crate) struct Users<S: Spe> {
    /// By slice and block.
    of_blocks: HashMap<(usize, usize), UsersOfBlock<S>>,
    /// The tasks that each task was said to come after, by number, also of those that have ended:
    /// whether an order was declared does not depend on how fast tasks run.
    before: HashMap<usize, Box<[usize]>>,
}

struct UsersOfBlock<S: Spe> {
    changed_by: Option<Arc<Node<S>>>,
    /// Since it was changed.
    read_by: Vec<Arc<Node<S>>>,
}

impl<S: Spe> Users<S> {
    pub(crate) fn new() -> Self {
        Self {
            of_blocks: HashMap::new(),
            before: HashMap::new(),
        }
    }

    /// The tasks that a task was said to come after.
    pub(crate) fn declare(&mut self, task: &Node<S>, before: &[Arc<Node<S>>]) {
        let before = before.iter().map(|other| other.number).collect();
        self.before.insert(task.number, before);
    }

    /// Whether a task comes after another one, perhaps because it comes after a third one that
    /// does.
    fn is_ordered(&self, task: &Node<S>, other: &Node<S>) -> bool {
        let mut to_visit = vec![task.number];
        let mut seen = HashSet::new();
        while let Some(number) = to_visit.pop() {
            let before = self.before.get(&number).into_iter().flatten().copied();
            for before in before {
                if before == other.number {
                    return true;
                }
                // Tasks come after those alone that were submitted before them.
                if before > other.number && seen.insert(before) {
                    to_visit.push(before);
                }
            }
        }
        false
    }

    /// Admits what a task uses, if it comes after the tasks that it has to.
    ///
    /// # Errors
    ///
    /// [`TaskError`]; nothing is admitted then.
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
            // What reads it comes after what has changed it.
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
