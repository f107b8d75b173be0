//! The settings of a pool and of a task.

/// The scheduler of a pool, which distributes the tasks of phases to the workers. Closures of
/// [`Worker::join`](crate::Worker::join) and scopes are always distributed by stealing.
///
/// `ThreeLevel` and `Mars` need a [Cell](cellworks_machine::CellMachine), such as the host. They
/// use about 25 KiB of each local store, tag group 31 of the MFCs and 1 MiB of main memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "parameters",
    derive(clap::ValueEnum, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Scheduler {
    /// Each worker has a queue. A worker with an empty queue takes tasks of other workers.
    #[default]
    #[cfg_attr(
        feature = "parameters",
        value(
            help = "each worker has its own queue; a worker with an empty queue takes tasks from \
                    the queues of others"
        )
    )]
    Stealing,
    /// The scheduler of Jack Rabbit (chapter 4 of the Jack Rabbit thesis). Tasks go through a
    /// prefilter, a reorder buffer of 1,024 tasks and a ready buffer into the inbox of a worker.
    ///
    /// When the main program submits or waits, the PPE moves tasks to the reorder buffer, orders,
    /// [filters](crate::Pool::filter) and dices them. Workers take tasks into inboxes. An inbox has
    /// room for two tasks, so at most two tasks are staged ahead. Phases end with a barrier.
    #[cfg_attr(
        feature = "parameters",
        value(help = "the queue of Jack Rabbit, in three levels")
    )]
    ThreeLevel,
    /// MARS, as the same thesis describes it (sections 2.1 and 5.3): one queue of 1,024 tasks, from
    /// which workers take single tasks in order. Nothing is diced or staged ahead.
    #[cfg_attr(
        feature = "parameters",
        value(help = "the queue of MARS, with which the paper Jack Rabbit compares its own")
    )]
    Mars,
}

/// The number of tasks that a worker stages ahead of the running task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staging {
    /// The number adapts. It grows by one when a task has waited for its data for more than a
    /// twentieth of its time, and falls by one when 16 tasks in a row did not wait. If tasks can
    /// use data outside of local stores, the number is 0.
    #[default]
    Automatic,
    /// This number, or fewer if the local store has no room.
    Ahead(usize),
    /// 0: the data of a task is transferred only when the task begins.
    Off,
}

/// The priority of a task among the tasks that wait for a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Workers take these tasks when no other tasks are left.
    Low,
    /// The usual priority.
    #[default]
    Normal,
    /// Workers take these tasks before all other tasks.
    High,
}

/// The default threshold for dicing, in tasks per worker (section 4.7 of the Jack Rabbit thesis).
pub const DICING_THRESHOLD: usize = 16;
