//! What can be wrong with a task.

use std::fmt;

use cellworks_machine::{Payload, StageError};

/// Why the tasks of a phase did not all run to their end. The task that is named is the first;
/// those that had not begun did not run.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A task panicked.
    #[error("task {task} panicked: {}", message(payload))]
    Panicked {
        /// Its name and number.
        task: String,
        /// What the panic carried.
        payload: Payload,
    },
    /// The data of a task does not fit into a local store.
    #[error(
        "task {task} needs {bytes} bytes of local store for its data, and there is no room: {source}; give each task \
         less data, or let it be diced"
    )]
    NoRoom {
        /// Its name and number.
        task: String,
        /// Bytes of its data.
        bytes: usize,
        /// What the local store says.
        source: StageError,
    },
    /// The parts of a task are not the whole task.
    #[error(
        "task {task} was diced into parts that have {} of its {} pieces: a dice returns each piece of the data that it \
         gets once",
        counts(in_parts),
        counts(pieces)
    )]
    Diced {
        /// Its name and number.
        task: String,
        /// How many pieces each part of its data has that can be split.
        pieces: Vec<usize>,
        /// How many pieces the parts have together.
        in_parts: Vec<usize>,
    },
    /// A task may be diced, but nothing says how.
    #[error(
        "task {task} may be diced, but its data has {}: give it data of which each element has the same number of \
         pieces (`Part`, rows of an `Update` or `Write`), or a dice of its own (`Phase::task_with_dice`)",
        unlike(pieces)
    )]
    CannotBeDiced {
        /// Its name and number.
        task: String,
        /// How many pieces each part of its data has that can be split.
        pieces: Vec<usize>,
    },
    /// Two tasks use a block, at least one of them to change it, and nothing says which is first.
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
        /// Whether the task changes it.
        changes: bool,
        /// Name and number of the task that was submitted before.
        other: String,
        /// Whether that one changes it.
        other_changes: bool,
    },
    /// A task uses a block more than once, and changes it.
    #[error(
        "task {task} changes block {block} and names it twice: name it once, as one that it updates"
    )]
    NamedTwice {
        /// Its name and number.
        task: String,
        /// The block's number.
        block: usize,
    },
    /// A task uses a block of another phase.
    #[error(
        "task {task} uses block {block} of another phase: make the blocks with the phase in which the tasks are submitted"
    )]
    BlockOfOtherPhase {
        /// Its name and number.
        task: String,
        /// The block's number.
        block: usize,
    },
    /// A task names a lock, or a task to come after, of another phase.
    #[error(
        "task {task} {what} of another phase: a task comes after tasks of its own phase, and is locked by its locks"
    )]
    OfOtherPhase {
        /// Its name and number.
        task: String,
        /// What it names.
        what: String,
    },
    /// Tasks wait for each other, or one for itself.
    #[error("{}", circle(tasks))]
    Circle {
        /// Names and numbers: each waits for the next one, or comes after it, and the last for the
        /// first.
        tasks: Vec<String>,
    },
    /// A filter dropped a task that is awaited.
    #[error(
        "task {task} was dropped by a filter, but another task comes after it or a program waits for it: have the \
         filter keep it (`Pool::filter`)"
    )]
    DroppedByFilter {
        /// Its name and number.
        task: String,
    },
    /// A task was waited for that did not run: it was cancelled, or one before it has failed.
    #[error("task {task} did not run: it was cancelled, or a task that comes before it has failed")]
    DidNotRun {
        /// Its name and number.
        task: String,
    },
}

/// The parts of a task are not the whole task.
pub(crate) struct DiceError {
    pub(crate) pieces: Vec<usize>,
    pub(crate) in_parts: Vec<usize>,
}

/// What a panic says, if it says anything.
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
