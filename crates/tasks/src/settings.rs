//! What a program chooses for its pool.

/// How tasks of phases come to the workers that run them.
///
/// What [`Worker::join`](crate::Worker::join) and scopes start is stolen in any case. On a
/// simulated machine the steps of `ThreeLevel` and `Mars` take the time of the operations that they
/// are made of: atomic updates of locks, and DMA of queues, of the objects of tasks and of their
/// binaries. They need a machine that is a [Cell](cellworks_machine::CellMachine), as the host is
/// too, keep about 25 KiB of each local store, and use tag group 31 of the MFCs and 1 MiB of main
/// memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// Each worker has a queue, and takes tasks from others when it has none.
    #[default]
    Stealing,
    /// Jack Rabbit's (chapter 4 of the paper): tasks go through a prefilter, a reorder buffer of
    /// 1,024 tasks and a ready buffer into the inbox of a worker. The PPE imports them into the
    /// reorder buffer, orders them by priority, asks the [filters](crate::Pool::filter) and dices,
    /// whenever the main program submits or waits; workers check out. A phase of the main program
    /// ends with a barrier of all workers. An inbox holds two tasks, and no more are staged ahead,
    /// whatever [`Pool::staging`](crate::Pool::staging) says. Submitting waits while the prefilter
    /// is full, so a million tasks need no more memory than some thousand.
    ThreeLevel,
    /// MARS as the paper describes it (sections 2.1 and 5.3): one queue of 1,024 tasks, from which
    /// workers take one task at a time, first in, first out. Nothing is diced or staged ahead.
    Mars,
}

/// How many tasks a worker stages ahead of the one that it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staging {
    /// One more whenever a task has waited for its data for more than a twentieth of its time, and
    /// one less when tasks do not wait. None on a machine that is not [confined to local
    /// stores](cellworks_machine::Spe::is_confined_to_local_store).
    #[default]
    Automatic,
    /// This number, as far as there is room.
    Ahead(usize),
    /// None: a task waits for its data when it begins.
    Off,
}

/// A task that may be diced is diced when fewer tasks wait for each worker (section 4.7 of the
/// paper).
pub const DICING_THRESHOLD: usize = 16;
