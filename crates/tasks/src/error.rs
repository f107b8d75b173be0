//! Errors of tasks.

use std::fmt;
use std::ops::Range;

use cellworks_machine::{PanicPayload, Payload, StageError};

/// The error of a phase: the first failure of a task. After this failure, no task began.
#[derive(thiserror::Error)]
pub enum TaskError {
    /// A task panicked.
    #[error("task {task} panicked: {payload}")]
    Panicked {
        /// Name and number of the task.
        task: String,
        /// The payload of the panic.
        payload: PanicPayload,
    },
    /// The data of a task does not fit into a local store.
    #[error(
        "task {task} needs {bytes} bytes of local store for its data, and there is no room: {source}; give each task \
         less data, or let it be diced"
    )]
    NoRoom {
        /// Name and number of the task.
        task: String,
        /// Bytes of the task's data.
        bytes: usize,
        /// The error of the local store.
        source: StageError,
    },
    /// A dice (a function that says where a task is split) returned a piece at which the task
    /// cannot be split, because a part would be empty, or because the task has no such piece.
    #[error(
        "the dice of task {task} cut its pieces {} to {} at piece {cut}{}: a dice returns the first piece of each part \
         except the first part, in rising order, and no part is empty",
        pieces.start,
        pieces.end.saturating_sub(1),
        after(*before)
    )]
    Diced {
        /// Name and number of the task.
        task: String,
        /// The numbers of the task's pieces.
        pieces: Range<usize>,
        /// The returned piece at which the task cannot be split.
        cut: usize,
        /// The returned piece before `cut`, if any.
        before: Option<usize>,
    },
    /// The parts that a dice returned do not have each number of the task's [`Part`](crate::Part)
    /// once, or one of them is empty.
    #[error(
        "the dice of task {task} returned parts that are not {whole:?}: {}: a dice returns each number of a `Part` in \
         one part, and no empty part",
        misfit(*covered, part.as_ref())
    )]
    DicedParts {
        /// Name and number of the task.
        task: String,
        /// The range that was split.
        whole: Range<usize>,
        /// The end of the parts that fit to each other, from the start of `whole` on.
        covered: usize,
        /// The next part, if any.
        part: Option<Range<usize>>,
    },
    /// A part that a dice returned uses a block that the task has not named.
    #[error(
        "the dice of task {task} returned a part that reads block {block}, which the task has not named: name each block \
         that a part may read in the data of the task"
    )]
    DicedBlock {
        /// Name and number of the task.
        task: String,
        /// The block's number.
        block: usize,
    },
    /// A task may be diced, but the pool cannot split its data.
    #[error(
        "task {task} may be diced, but its data has {}: give it data of which each element has the same number of \
         pieces (`Part`, rows of an `Update` or `Write`)",
        unlike(pieces)
    )]
    CannotBeDiced {
        /// Name and number of the task.
        task: String,
        /// The number of pieces of each element of the data, without elements that cannot be split.
        pieces: Vec<usize>,
    },
    /// Two tasks use a block, at least one of them changes it, and their order is not declared.
    #[error(
        "task {task} {} block {block}, which task {other} {}: say that it comes after that task (`Task::after`)",
        uses(*changes),
        uses(*other_changes)
    )]
    Conflict {
        /// Name and number of the task that was submitted.
        task: String,
        /// The block's number.
        block: usize,
        /// Whether the submitted task changes the block.
        changes: bool,
        /// Name and number of the task that was submitted before.
        other: String,
        /// Whether `other` changes the block.
        other_changes: bool,
    },
    /// A task changes a block and uses the same block a second time.
    #[error(
        "task {task} changes block {block} and names it twice: name it once, as one that it updates"
    )]
    NamedTwice {
        /// Name and number of the task.
        task: String,
        /// The block's number.
        block: usize,
    },
    /// A task uses a block of another phase.
    #[error(
        "task {task} uses block {block} of another phase: make the blocks with the phase in which the tasks are submitted"
    )]
    BlockOfOtherPhase {
        /// Name and number of the task.
        task: String,
        /// The block's number.
        block: usize,
    },
    /// A task names a lock of another phase, or comes after a task of another phase.
    #[error(
        "task {task} {what} of another phase: a task comes after tasks of its own phase, and is locked by its locks"
    )]
    OfOtherPhase {
        /// Name and number of the task.
        task: String,
        /// The part of the error's text that names the lock or the other task.
        what: String,
    },
    /// A task is near a task of another pool.
    #[error(
        "task {task} is near task {other} of another pool, whose workers are not those of this pool: name a task of \
         this pool (`Task::near`)"
    )]
    NearOtherPool {
        /// Name and number of the task that was submitted.
        task: String,
        /// Name and number of the task of the other pool.
        other: String,
    },
    /// Tasks wait for each other, or a task waits for itself.
    #[error("{}", circle(tasks))]
    Circle {
        /// Names and numbers of the tasks. Each task waits for the next one, and the last for the
        /// first.
        tasks: Vec<String>,
    },
    /// A filter dropped a task, but another task comes after it or a program waits for it.
    #[error(
        "task {task} was dropped by a filter, but another task comes after it or a program waits for it: have the \
         filter keep it (`Pool::filter`)"
    )]
    DroppedByFilter {
        /// Name and number of the task.
        task: String,
    },
    /// A program waited for a task that was cancelled, or that comes after a failed task.
    #[error("task {task} did not run: it was cancelled, or a task that comes before it has failed")]
    DidNotRun {
        /// Name and number of the task.
        task: String,
    },
}

cellworks_machine::debug_by_display!(TaskError);

/// The error of a dice whose task is not known yet.
pub(crate) enum DiceError {
    Panicked(Payload),
    Cut {
        pieces: Range<usize>,
        cut: usize,
        before: Option<usize>,
    },
    Parts {
        whole: Range<usize>,
        covered: usize,
        part: Option<Range<usize>>,
    },
    Block {
        block: usize,
    },
}

impl DiceError {
    pub(crate) fn of(self, task: String) -> TaskError {
        match self {
            Self::Panicked(payload) => TaskError::Panicked {
                task,
                payload: payload.into(),
            },
            Self::Cut {
                pieces,
                cut,
                before,
            } => TaskError::Diced {
                task,
                pieces,
                cut,
                before,
            },
            Self::Parts {
                whole,
                covered,
                part,
            } => TaskError::DicedParts {
                task,
                whole,
                covered,
                part,
            },
            Self::Block { block } => TaskError::DicedBlock { task, block },
        }
    }
}

fn after(before: Option<usize>) -> String {
    before.map_or_else(String::new, |cut| format!(", after a cut at piece {cut}"))
}

fn misfit(covered: usize, part: Option<&Range<usize>>) -> String {
    match part {
        Some(part) => format!("after the parts up to {covered} follows {part:?}"),
        None => format!("the parts end at {covered}"),
    }
}

fn unlike(pieces: &[usize]) -> String {
    if pieces.is_empty() {
        return "no pieces".to_owned();
    }
    let counts: Vec<_> = pieces.iter().map(usize::to_string).collect();
    format!("{} pieces", counts.join(" and "))
}

fn uses(changes: bool) -> &'static str {
    if changes { "changes" } else { "reads" }
}

fn circle(tasks: &[String]) -> impl fmt::Display {
    match tasks {
        [task] => format!("task {task} waits for itself: it would never end"),
        _ => format!(
            "tasks wait for each other, and none would ever end: {}, which waits for the first",
            tasks.join(", which waits for ")
        ),
    }
}
