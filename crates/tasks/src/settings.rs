//! The settings of a pool.

/// How tasks of phases come to the workers that run them.
///
/// The setting is about tasks of phases: closures of [`Worker::join`](crate::Worker::join) and of
/// scopes are always distributed by stealing. On a simulated machine the steps of `ThreeLevel` and
/// `Mars` take the time of their operations: atomic updates of locks, and DMA of queues, of the
/// objects of tasks and of their binaries. Both need a machine that is a
/// [Cell](cellworks_machine::CellMachine), as the host is too. They keep about 25 KiB of each local
/// store, and use tag group 31 of the MFCs and 1 MiB of main memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// Each worker has a queue, and takes tasks from other queues when its own is empty.
    #[default]
    Stealing,
    /// The scheduler of Jack Rabbit (chapter 4 of the paper). Tasks go through a prefilter, a
    /// reorder buffer of 1,024 tasks and a ready buffer into the inbox of a worker. Whenever the
    /// main program submits or waits, the PPE imports tasks into the reorder buffer, orders them by
    /// priority, calls the [filters](crate::Pool::filter) and dices tasks. Workers check tasks out.
    /// A phase of the main program ends with a barrier of all workers. An inbox holds two tasks,
    /// and no more are staged ahead, even if [`Pool::staging`](crate::Pool::staging) sets a larger
    /// number. Submitting waits while the prefilter is full, so a million tasks need no more memory
    /// than some thousand.
    ThreeLevel,
    /// MARS as the paper describes it (sections 2.1 and 5.3): one queue of 1,024 tasks, from which
    /// workers take one task at a time, first in, first out. Nothing is diced or staged ahead.
    Mars,
}

/// How many tasks a worker stages ahead of the one that it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staging {
    /// The number adapts: one more whenever a task has waited for its data for more than a
    /// twentieth of its time, and one less when tasks do not wait. On a machine that is not
    /// [confined to local stores](cellworks_machine::Spe::is_confined_to_local_store) no tasks are
    /// staged ahead.
    #[default]
    Automatic,
    /// This number, or fewer if there is no room.
    Ahead(usize),
    /// No tasks are staged ahead: a task waits for its data when it begins.
    Off,
}

/// A task that may be diced is diced when fewer tasks wait for each worker (section 4.7 of the
/// paper).
pub const DICING_THRESHOLD: usize = 16;
