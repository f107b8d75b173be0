//! The settings of a pool.

/// The scheduler of a pool, which distributes the tasks of phases to the workers.
///
/// Closures of [`Worker::join`](crate::Worker::join) and scopes are always distributed by stealing.
///
/// `ThreeLevel` and `Mars` need a machine that is a [Cell](cellworks_machine::CellMachine). The
/// host is a Cell too. These schedulers use about 25 KiB of each local store, tag group 31 of the
/// MFCs and 1 MiB of main memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// Each worker has a queue. If its queue is empty, a worker takes tasks of other workers.
    #[default]
    Stealing,
    /// The scheduler of Jack Rabbit (chapter 4 of the Jack Rabbit thesis). Tasks go through a
    /// prefilter, a reorder buffer of 1,024 tasks and a ready buffer into the inbox of a worker.
    /// Whenever the main program submits or waits, the PPE imports tasks into the reorder buffer,
    /// orders these tasks by priority, calls the [filters](crate::Pool::filter) and dices tasks.
    /// Workers check out tasks, that is, move tasks into their inboxes. A phase of the main program
    /// ends with a barrier of all workers.
    ///
    /// An inbox holds two tasks, so at most two tasks are staged ahead. While the prefilter is
    /// full, submitting waits.
    ThreeLevel,
    /// MARS, as the same thesis describes it (sections 2.1 and 5.3): one queue of 1,024 tasks, from
    /// which workers take one task at a time, in order. Nothing is diced or staged ahead.
    Mars,
}

/// The number of tasks that a worker stages ahead of the running task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staging {
    /// The number adapts. Whenever a task has waited for its data for more than a twentieth of the
    /// task's time, the number grows by one. When 16 tasks in a row did not wait, the number falls
    /// by one. On a machine that is not [confined to local
    /// stores](cellworks_machine::Spe::is_confined_to_local_store) no tasks are staged ahead.
    #[default]
    Automatic,
    /// The number of tasks. If the local store has no room, fewer tasks are staged ahead.
    Ahead(usize),
    /// No tasks are staged ahead: the data of a task is transferred only when the task begins.
    Off,
}

/// The default threshold for dicing (section 4.7 of the Jack Rabbit thesis). When fewer tasks than
/// the threshold wait for each worker, tasks that may be diced are diced.
pub const DICING_THRESHOLD: usize = 16;
