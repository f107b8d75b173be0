//! Errors of problems and placements.

use crate::{Place, Task};

/// Why a problem or a placement is not valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// There is nothing to place.
    #[error("the problem has no tasks: give it one at least")]
    NoTasks,
    /// A task that the problem does not have.
    #[error("{task} is unknown: the problem has {tasks} tasks, numbered from 0")]
    UnknownTask {
        /// Which task.
        task: Task,
        /// How many there are.
        tasks: usize,
    },
    /// A place that the problem does not have.
    #[error("{place} is unknown: the problem has {places} places, numbered from 0")]
    UnknownPlace {
        /// Which place.
        place: Place,
        /// How many there are.
        places: usize,
    },
    /// The pattern is not defined for this number of tasks.
    #[error("the pattern {pattern} with {tasks} tasks: it takes {rule}")]
    Pattern {
        /// The name of the pattern.
        pattern: &'static str,
        /// How many tasks it should have.
        tasks: usize,
        /// The numbers of tasks for which it is defined.
        rule: &'static str,
    },
    /// A volume that is negative, infinite or not a number.
    #[error(
        "the volume from {from} to {to} is {volume}: a volume is a finite number of 0 or more; use 0 for tasks that \
         do not communicate"
    )]
    Volume {
        /// The sending task.
        from: Task,
        /// The receiving task.
        to: Task,
        /// The value that was given.
        volume: f64,
    },
    /// A cost that is negative, infinite or not a number.
    #[error(
        "the cost from {from} to {to} is {cost}: a cost is a finite number of 0 or more, and each pair of places has \
         one; measure what is missing, or forbid a place"
    )]
    Cost {
        /// The place at which the communication starts.
        from: Place,
        /// The place at which the communication ends.
        to: Place,
        /// The value that was given.
        cost: f64,
    },
    /// A matrix that is not square.
    #[error(
        "the matrix of {matrix} has {rows} rows, but the length of row {row}, counted from 0, is {length}: make it square"
    )]
    NotSquare {
        /// Volumes or costs.
        matrix: &'static str,
        /// How many rows there are.
        rows: usize,
        /// The first row of another length.
        row: usize,
        /// Its length.
        length: usize,
    },
    /// The tasks do not fit.
    #[error(
        "{tasks} tasks do not fit on {places} places (forbidden: {forbidden}; tasks on each other place: {capacity}): \
         allow more tasks a place (`capacity`), or use fewer tasks"
    )]
    TooManyTasks {
        /// How many tasks there are.
        tasks: usize,
        /// How many places.
        places: usize,
        /// How many of the places take no task.
        forbidden: usize,
        /// How many tasks each of the other places takes.
        capacity: usize,
    },
    /// A task that is fixed to two places.
    #[error("{task} is fixed to {} and to {}: fix it to one of them", places[0], places[1])]
    FixedTwice {
        /// Which task.
        task: Task,
        /// The places.
        places: [Place; 2],
    },
    /// A task at a place that must stay empty.
    #[error(
        "{task} is at {place}, which takes no task: choose another place, or do not forbid this one"
    )]
    Forbidden {
        /// Which task.
        task: Task,
        /// The place of the task.
        place: Place,
    },
    /// More tasks at a place than it takes.
    #[error(
        "{place} takes {capacity} of the tasks {}: move some of them, or allow more tasks a place (`capacity`)",
        numbers(tasks)
    )]
    Overfull {
        /// Which place.
        place: Place,
        /// How many tasks it takes.
        capacity: usize,
        /// The tasks at this place, up to the first one for which it has no room.
        tasks: Vec<Task>,
    },
    /// A placement for another number of tasks.
    #[error("the placement has {places} places for {tasks} tasks: name one place for each task")]
    Length {
        /// How many tasks there are.
        tasks: usize,
        /// How many places were named.
        places: usize,
    },
    /// A placement that moves a fixed task.
    #[error("{task} is at {place}, but is fixed to {fixed}: place it there, or do not fix it")]
    Moved {
        /// Which task.
        task: Task,
        /// The place of the task.
        place: Place,
        /// The place at which it is fixed.
        fixed: Place,
    },
}

fn numbers(tasks: &[Task]) -> String {
    let numbers: Vec<String> = tasks.iter().map(|task| task.0.to_string()).collect();
    numbers.join(", ")
}
