//! Tasks as values: their data, their bodies, and their settings.

// Rejected: hints on task lengths. `Priority::High` is enough: with it, 96 tasks and a last task 32
// times as long as each of them take 3.20 ms instead of 4.90 ms on 4 workers of a simulated PS3.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::phase::data::Data;
use crate::phase::handle::Handle;
use crate::phase::lock::LockState;
use crate::phase::node::Lock;
use crate::phase::work::{Split, Whole, Work};
use crate::pool::settings::Priority;
use crate::sync::Mutex;
use crate::worker::Worker;

/// A task for a pool: its body, its data and its settings. [`Phase::task`](crate::Phase::task)
/// makes a task.
///
/// ```
/// use cellworks_machine::Machine;
/// use cellworks_tasks::{Pool, Read, Update};
///
/// /// Adds `offsets` to each row of a table.
/// fn shift<M: Machine>(
///     machine: &M,
///     rows: &mut [f32],
///     offsets: &[f32],
/// ) -> Result<(), Box<dyn std::error::Error>> {
///     Pool::new(machine).run(|main| {
///         main.phase(|phase| {
///             for row in rows.chunks_mut(offsets.len()) {
///                 let data = (Update::new(row), Read::new(offsets));
///                 let shift = phase.task("shift", data, |_, (row, offsets)| {
///                     row.iter_mut().zip(offsets).for_each(|(x, by)| *x += by);
///                 });
///                 phase.submit(main, shift)?;
///             }
///             Ok(())
///         })
///     })??;
///     Ok(())
/// }
/// ```
pub struct Task<'d, S: Spe> {
    pub(crate) name: Cow<'static, str>,
    pub(crate) work: Box<dyn Work<S> + 'd>,
    pub(crate) dices: bool,
    pub(crate) priority: Priority,
    pub(crate) after: Vec<Handle<'d, S>>,
    pub(crate) lock: Option<TaskLock<'d, S>>,
    pub(crate) near: Option<Handle<'d, S>>,
}

impl<'d, S: Spe> Task<'d, S> {
    pub(crate) fn new<D, F, G>(name: Cow<'static, str>, data: D, body: F, split: G) -> Self
    where
        D: Data + 'd,
        F: Fn(&Worker<'_, S>, D::View<'_>) + Send + Sync + 'd,
        G: Split<D> + 'd,
    {
        Self {
            name,
            work: Box::new(Whole::new(data, body, split)),
            dices: false,
            priority: Priority::Normal,
            after: Vec::new(),
            lock: None,
            near: None,
        }
    }

    /// Allows the pool to split the task when few tasks wait: see
    /// [`Pool::dicing`](crate::Pool::dicing). The body then runs for each part of the data.
    #[must_use]
    pub fn diced(mut self) -> Self {
        self.dices = true;
        self
    }

    /// Makes this task start only after `task`, or not at all if `task` fails. Calls accumulate.
    #[must_use]
    pub fn after(mut self, task: &Handle<'d, S>) -> Self {
        self.after.push(task.clone());
        self
    }

    /// Makes the task run only while it holds `lock`. While another task holds the lock, this task
    /// is deferred. The task that was deferred first takes the lock next.
    #[must_use]
    pub fn locked(mut self, lock: &TaskLock<'d, S>) -> Self {
        self.lock = Some(lock.clone());
        self
    }

    /// Hints that this task should run on the worker that has run `task`, because data may be near
    /// this worker. An idle worker may take this task instead.
    #[must_use]
    pub fn near(mut self, task: &Handle<'d, S>) -> Self {
        self.near = Some(task.clone());
        self
    }

    /// Sets the priority of this task among the tasks that wait for a worker.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }
}

/// A lock for tasks of a phase, made by [`Phase::lock`](crate::Phase::lock). Only one of the tasks
/// that are [locked](crate::Task::locked) by the same lock runs at a time.
pub struct TaskLock<'scope, S: Spe> {
    state: Lock<S>,
    /// The id of the only phase that may use the lock.
    phase: usize,
    scope: PhantomData<&'scope ()>,
}

impl<S: Spe> Clone for TaskLock<'_, S> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            ..*self
        }
    }
}

impl<S: Spe> TaskLock<'_, S> {
    pub(crate) fn new(phase: usize) -> Self {
        Self {
            state: Arc::new(Mutex::new(LockState::new())),
            phase,
            scope: PhantomData,
        }
    }

    pub(crate) fn phase(&self) -> usize {
        self.phase
    }

    pub(crate) fn into_state(self) -> Lock<S> {
        self.state
    }
}
