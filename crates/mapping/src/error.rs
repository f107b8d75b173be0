//! Errors of problems and placements.

use crate::ids::{Place, Task};

/// The largest volume and the largest cost, so that sums of their products stay finite: the largest
/// `f64` is above 10^308.
const AMOUNT_MAX: f64 = 1e100;

/// Returns true if a number can be a volume or a cost.
pub(crate) fn is_amount(number: f64) -> bool {
    (0.0..=AMOUNT_MAX).contains(&number)
}

/// The reason why a problem or a placement is not valid.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// The problem has no tasks.
    #[error("the problem has no tasks: give it one at least")]
    NoTasks,
    /// A task that the problem does not have.
    #[error("{task} is unknown: the problem has {tasks} tasks, numbered from 0")]
    UnknownTask {
        /// The task.
        task: Task,
        /// The number of tasks of the problem.
        tasks: usize,
    },
    /// A place that the problem does not have.
    #[error("{place} is unknown: the problem has {places} places, numbered from 0")]
    UnknownPlace {
        /// The place.
        place: Place,
        /// The number of places of the problem.
        places: usize,
    },
    /// The pattern is not defined for this number of tasks.
    #[error("the pattern {pattern} with {tasks} tasks: it takes {rule}")]
    Pattern {
        /// The name of the pattern.
        pattern: &'static str,
        /// The number of tasks that was asked for.
        tasks: usize,
        /// The numbers of tasks for which the pattern is defined.
        rule: &'static str,
    },
    /// A volume that is not a number from 0 to 10^100.
    #[error(
        "the volume from {from} to {to} is {volume}: a volume is a number from 0 to 1e100; use 0 for tasks that do \
         not communicate"
    )]
    Volume {
        /// The sending task.
        from: Task,
        /// The receiving task.
        to: Task,
        /// The value that was given.
        volume: f64,
    },
    /// A cost that is not a number from 0 to 10^100.
    #[error(
        "the cost from {from} to {to} is {cost}: a cost is a number from 0 to 1e100, and each pair of places has one; \
         measure what is missing, or forbid a place"
    )]
    Cost {
        /// The place at which the communication starts.
        from: Place,
        /// The place at which the communication ends.
        to: Place,
        /// The value that was given.
        cost: f64,
    },
    /// A level of a machine without parts, or a machine with more than 2^24 places.
    #[error(
        "the level `{level}` has {parts} parts of {size} places: a level has 1 or more, and a machine at most 2^24 \
         places"
    )]
    Level {
        /// The name of the level.
        level: String,
        /// The number of parts.
        parts: usize,
        /// The number of places in a part.
        size: usize,
    },
    /// A matrix that is not square.
    #[error(
        "the matrix of {matrix} has {rows} rows, but the length of row {row}, counted from 0, is {length}: make it square"
    )]
    NotSquare {
        /// The contents of the matrix: `volumes` or `costs`.
        matrix: &'static str,
        /// The number of rows.
        rows: usize,
        /// The first row that is too short or too long.
        row: usize,
        /// The length of this row.
        length: usize,
    },
    /// The problem has more tasks than its places have room for.
    #[error(
        "{tasks} tasks do not fit on {places} places (forbidden: {forbidden}; tasks on each other place: {capacity}): \
         allow more tasks a place (`capacity`), or use fewer tasks"
    )]
    TooManyTasks {
        /// The number of tasks.
        tasks: usize,
        /// The number of places.
        places: usize,
        /// The number of forbidden places.
        forbidden: usize,
        /// The number of tasks that each place takes if it is not forbidden.
        capacity: usize,
    },
    /// A task that is fixed to two places.
    #[error("{task} is fixed to {} and to {}: fix it to one of them", places[0], places[1])]
    FixedTwice {
        /// The task.
        task: Task,
        /// The two places.
        places: [Place; 2],
    },
    /// A task at a forbidden place.
    #[error(
        "{task} is at {place}, which takes no task: choose another place, or do not forbid this one"
    )]
    Forbidden {
        /// The task.
        task: Task,
        /// The place of the task.
        place: Place,
    },
    /// A place has more tasks than it takes.
    #[error(
        "{place} takes {capacity} of the tasks {}: move some of them, or allow more tasks a place (`capacity`)",
        numbers(tasks)
    )]
    Overfull {
        /// The place.
        place: Place,
        /// The number of tasks that the place takes.
        capacity: usize,
        /// The tasks at this place, up to the first task that is too many.
        tasks: Vec<Task>,
    },
    /// The number of places of a placement is not the number of tasks.
    #[error("the placement has {places} places for {tasks} tasks: name one place for each task")]
    Length {
        /// The number of tasks of the problem.
        tasks: usize,
        /// The number of places of the placement.
        places: usize,
    },
    /// A placement that moves a fixed task.
    #[error("{task} is at {place}, but is fixed to {fixed}: place it there, or do not fix it")]
    Moved {
        /// The task.
        task: Task,
        /// The place of the task.
        place: Place,
        /// The place to which the task is fixed.
        fixed: Place,
    },
}

cellworks_machine::debug_by_display!(ProblemError);

fn numbers(tasks: &[Task]) -> String {
    let numbers: Vec<String> = tasks.iter().map(|task| task.0.to_string()).collect();
    numbers.join(", ")
}
