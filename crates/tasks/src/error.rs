//! Errors of tasks.

use std::fmt;

use cellworks_machine::{Payload, StageError};

/// The error of a phase: the first failure of a task. After this failure, no task began.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A task panicked.
    #[error("task {task} panicked: {}", message(payload))]
    Panicked {
        /// Name and number of the task.
        task: String,
        /// The payload of the panic.
        payload: Payload,
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
    /// A dice (a function that splits a task) returned parts that are not the whole task.
    #[error(
        "task {task} was diced into parts that have {} of its {} pieces: a dice returns each piece of the data that it \
         gets once",
        counts(in_parts),
        counts(pieces)
    )]
    Diced {
        /// Name and number of the task.
        task: String,
        /// The number of pieces of each element of the data, without elements that cannot be split.
        pieces: Vec<usize>,
        /// The number of pieces in all returned parts, for each element of `pieces`.
        in_parts: Vec<usize>,
    },
    /// A task may be diced, but the pool cannot split its data.
    #[error(
        "task {task} may be diced, but its data has {}: give it data of which each element has the same number of \
         pieces (`Part`, rows of an `Update` or `Write`), or a dice of its own (`Phase::task_with_dice`)",
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

pub(crate) struct DiceError {
    pub(crate) pieces: Vec<usize>,
    pub(crate) in_parts: Vec<usize>,
}

fn message(payload: &Payload) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

fn counts(pieces: &[usize]) -> String {
    let counts: Vec<_> = pieces.iter().map(usize::to_string).collect();
    counts.join(" and ")
}

fn unlike(pieces: &[usize]) -> String {
    match pieces {
        [] => "no pieces".to_owned(),
        _ => format!("{} pieces", counts(pieces)),
    }
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
