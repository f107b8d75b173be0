//! Tasks as values: their data, their bodies, and their settings.

// Rejected: hints on task lengths. `Priority::High` is enough: with it, 96 tasks and a last task 32
// times as long as each of them take 3.20 ms instead of 4.90 ms on 4 workers of a simulated PS3.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cellworks_machine::{Payload, Spe, StageError};

use crate::block_use::BlockUse;
use crate::data::Data;
use crate::error::DiceError;
use crate::lock::TaskLock;
use crate::phase::Handle;
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

impl<'d, S: Spe> Task<'d, S> {
    pub(crate) fn new<D, F, G>(name: Cow<'static, str>, data: D, body: F, dice: Option<G>) -> Self
    where
        D: Data + 'd,
        F: Fn(&Worker<'_, S>, D::View<'_>) + Send + Sync + 'd,
        G: Fn(D, usize) -> Vec<D> + Send + Sync + 'd,
    {
        Self {
            name,
            work: Box::new(Whole {
                data,
                how: Arc::new(How { body, dice }),
            }),
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

/// A task without the types of its data and body.
pub(crate) trait Work<S: Spe>: Send {
    fn bytes(&self) -> usize;

    /// Returns the number of pieces of each element of the data, without elements that cannot be
    /// split.
    fn pieces(&self) -> Vec<usize>;

    fn blocks(&self, named: &mut dyn FnMut(BlockUse));

    /// Returns whether the task has its own function that splits it (a dice).
    fn has_dice(&self) -> bool;

    /// Begins to stage the data, or returns [`StageError`] if the local store has no room.
    ///
    /// # Safety
    ///
    /// See [`Data::begin`].
    unsafe fn begin<'s>(&self, spe: &'s S) -> Result<Box<dyn Begun<S> + 's>, StageError>
    where
        Self: 's;

    /// Gets the data, calls `arrived`, runs the body, and puts back the written data. Fails if the
    /// local store has no room. If the body panicked, the inner error is the payload.
    ///
    /// # Safety
    ///
    /// See [`Data::begin`].
    unsafe fn run(
        &self,
        worker: &Worker<'_, S>,
        arrived: &mut dyn FnMut(),
    ) -> Result<Result<(), Payload>, StageError>;

    /// Splits the task into about `parts` parts. Fails if the parts are not the whole task.
    ///
    /// # Safety
    ///
    /// The whole task is not used afterwards.
    unsafe fn dice<'t>(&self, parts: usize) -> Result<Vec<Box<dyn Work<S> + 't>>, DiceError>
    where
        Self: 't;
}

/// A task with data on the way to the local store.
pub(crate) trait Begun<S: Spe> {
    /// Waits for the data, calls `arrived`, runs the body, and begins to put back the written data.
    fn run(
        self: Box<Self>,
        worker: &Worker<'_, S>,
        arrived: &mut dyn FnMut(),
    ) -> Result<(), Payload>;
}

struct Whole<D, F, G> {
    data: D,
    how: Arc<How<F, G>>,
}

/// The body of a task, and the function that splits it (dice). All parts share this value.
struct How<F, G> {
    body: F,
    dice: Option<G>,
}

struct OnItsWay<'s, S: Spe, D: Data + 's, F, G> {
    ahead: D::Ahead<'s, S>,
    how: Arc<How<F, G>>,
}

fn run_with<'s, S, D, F>(
    ahead: D::Ahead<'s, S>,
    body: &F,
    worker: &Worker<'_, S>,
    arrived: &mut dyn FnMut(),
) -> Result<(), Payload>
where
    S: Spe,
    D: Data + 's,
    F: Fn(&Worker<'_, S>, D::View<'_>),
{
    catch_unwind(AssertUnwindSafe(|| {
        let mut staged = D::arrive::<S>(ahead);
        arrived();
        body(worker, D::view::<S>(&mut staged));
    }))
}

impl<'s, S, D, F, G> Begun<S> for OnItsWay<'s, S, D, F, G>
where
    S: Spe,
    D: Data + 's,
    F: Fn(&Worker<'_, S>, D::View<'_>),
{
    fn run(
        self: Box<Self>,
        worker: &Worker<'_, S>,
        arrived: &mut dyn FnMut(),
    ) -> Result<(), Payload> {
        let Self { ahead, how } = *self;
        run_with::<S, D, F>(ahead, &how.body, worker, arrived)
    }
}

impl<S, D, F, G> Work<S> for Whole<D, F, G>
where
    S: Spe,
    D: Data,
    F: Fn(&Worker<'_, S>, D::View<'_>) + Send + Sync,
    G: Fn(D, usize) -> Vec<D> + Send + Sync,
{
    fn bytes(&self) -> usize {
        self.data.bytes()
    }

    fn pieces(&self) -> Vec<usize> {
        pieces_of(&self.data)
    }

    fn blocks(&self, named: &mut dyn FnMut(BlockUse)) {
        self.data.blocks(named);
    }

    fn has_dice(&self) -> bool {
        self.how.dice.is_some()
    }

    unsafe fn begin<'s>(&self, spe: &'s S) -> Result<Box<dyn Begun<S> + 's>, StageError>
    where
        Self: 's,
    {
        Ok(Box::new(OnItsWay {
            // SAFETY: by the contract of this function.
            ahead: unsafe { self.data.begin(spe) }?,
            how: Arc::clone(&self.how),
        }))
    }

    unsafe fn run(
        &self,
        worker: &Worker<'_, S>,
        arrived: &mut dyn FnMut(),
    ) -> Result<Result<(), Payload>, StageError> {
        // SAFETY: by the contract of this function.
        let ahead = unsafe { self.data.begin(worker.spe()) }?;
        Ok(run_with::<S, D, F>(ahead, &self.how.body, worker, arrived))
    }

    unsafe fn dice<'t>(&self, parts: usize) -> Result<Vec<Box<dyn Work<S> + 't>>, DiceError>
    where
        Self: 't,
    {
        let pieces = self.pieces();
        let least = pieces.iter().copied().min().unwrap_or(0);
        // SAFETY: the parts replace the whole, and do not overlap.
        let part = |range| unsafe { self.data.part(range) };
        let datas = match &self.how.dice {
            // SAFETY: the parts of `dice` replace the whole.
            Some(dice) => dice(unsafe { self.data.whole() }, parts),
            None => {
                let parts = parts.min(least).max(1);
                let begin = |part: usize| least * part / parts;
                let range = |number| begin(number)..begin(number + 1);
                (0..parts).map(range).map(part).collect()
            }
        };
        let mut in_parts = vec![0; pieces.len()];
        for data in &datas {
            let pieces = pieces_of(data);
            in_parts
                .iter_mut()
                .zip(pieces)
                .for_each(|(sum, n)| *sum += n);
        }
        if in_parts != pieces {
            return Err(DiceError { pieces, in_parts });
        }
        let whole = |data| -> Box<dyn Work<S> + 't> {
            Box::new(Self {
                data,
                how: Arc::clone(&self.how),
            })
        };
        Ok(datas.into_iter().map(whole).collect())
    }
}

fn pieces_of(data: &impl Data) -> Vec<usize> {
    let mut pieces = Vec::new();
    data.pieces(&mut |count| pieces.push(count));
    pieces
}
