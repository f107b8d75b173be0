//! Phases, to which a program submits tasks one by one.
//!
//! ```text
//!   Phase::submit(Task) ──► Node: a submitted task ──► queue ──► a worker stages the data,
//!     │                       │   work: body and data            and runs the body with a View
//!     ▼                       ├── the tasks before and after it
//!   Handle: waits, cancels    └── its lock
//! ```
//!
//! Read `task` first (what a program says of a task), then `data` and `blocks` (what it says of the
//! task's data), this file (what a submission checks), `work` (the body with its data, and how both
//! are split), `node` (the submitted task until its end) and `taken` (a node that a worker has
//! taken out of a queue). `lock` has the tasks that wait for a lock, `handle` the waits of
//! programs, `waits` finds those that would never end, `current` is the task to which running code
//! belongs, and `block_use` is a use of a block.

pub(crate) mod block_use;
pub(crate) mod blocks;
pub(crate) mod current;
pub(crate) mod data;
pub(crate) mod handle;
pub(crate) mod lock;
pub(crate) mod node;
pub(crate) mod taken;
pub(crate) mod task;
pub(crate) mod waits;
pub(crate) mod work;

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use cellworks_machine::Spe;

use crate::discard::discard;
use crate::error::TaskError;
use crate::phase::blocks::{Blocks, Users};
use crate::phase::data::{Data, SharedData};
use crate::phase::handle::Handle;
use crate::phase::node::{Node, PhaseState, ScopeOf};
use crate::phase::task::{Task, TaskLock};
use crate::phase::work::{AtCuts, Evenly, IntoParts, Work};
use crate::place::Place;
use crate::scope;
use crate::shared::job::Job;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, locked};
use crate::worker::Worker;

/// A phase, to which tasks are submitted. Made by [`Main::phase`](crate::Main::phase).
pub struct Phase<'scope, 'env: 'scope, S: Spe> {
    state: PhaseState<S>,
    submitted: AtomicUsize,
    has_blocks: AtomicBool,
    users: Mutex<Users<S>>,
    // Invariant in both lifetimes, as in `std::thread::scope`.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope, S: Spe> Phase<'scope, '_, S> {
    /// Makes a task, for [`submit`](Self::submit). `body` is given the staged `data`, and runs once
    /// for each part if the task is [diced](Task::diced). `name` appears in errors and traces.
    pub fn task<D, F>(
        &'scope self,
        name: impl Into<Cow<'static, str>>,
        data: D,
        body: F,
    ) -> Task<'scope, S>
    where
        D: Data + 'scope,
        F: Fn(&Worker<'_, S>, D::View<'_>) + Send + Sync + 'scope,
    {
        Task::new(name.into(), data, body, Evenly)
    }

    /// Does the same as [`task`](Self::task), for a task that is [diced](Task::diced) where `dice`
    /// says: for example, into parts of equal cost.
    ///
    /// To split the task, the pool calls `dice` with the numbers of the task's pieces and the
    /// wanted number of parts. A piece is a row of an [`Update`](crate::Update) or
    /// [`Write`](crate::Write), or an integer of a [`Part`](crate::Part), and pieces count from 0
    /// in the data that was submitted, also for a part that is split again. `dice` returns the
    /// first piece of each part except the first part, in rising order. It may return more or fewer
    /// parts than wanted. If it returns no piece, the task runs whole. A task with one piece is not
    /// split.
    ///
    /// If a part would be empty, or a returned piece is not a piece of the task, the phase ends
    /// with [`TaskError::Diced`]. If `dice` panics, the phase ends with [`TaskError::Panicked`].
    ///
    /// ```
    /// use std::ops::Range;
    ///
    /// use cellworks_machine::Machine;
    /// use cellworks_tasks::{Pool, Update};
    ///
    /// /// Adds 1 to each row. Before row `i`, the rows cost `costs[i]` together.
    /// fn add<M: Machine>(
    ///     machine: &M,
    ///     rows: &mut [f32],
    ///     columns: usize,
    ///     costs: &[f64],
    /// ) -> Result<(), Box<dyn std::error::Error>> {
    ///     Pool::new(machine).run(|main| {
    ///         main.phase(|phase| {
    ///             let data = Update::rows(rows, columns);
    ///             let dice = |rows: Range<usize>, parts| {
    ///                 let (begin, end) = (costs[rows.start], costs[rows.end]);
    ///                 let cost = |part| begin + (end - begin) * part as f64 / parts as f64;
    ///                 let cut = |part| costs.partition_point(|&before| before < cost(part));
    ///                 let mut cuts: Vec<_> = (1..parts).map(cut).collect();
    ///                 // A row that costs more than a part makes two cuts equal.
    ///                 cuts.dedup();
    ///                 cuts.retain(|&cut| rows.start < cut && cut < rows.end);
    ///                 cuts
    ///             };
    ///             let add = |rows: &mut [f32]| rows.iter_mut().for_each(|x| *x += 1.0);
    ///             let task = phase.task_with_cuts("add", data, move |_, rows| add(rows), dice);
    ///             phase.submit(main, task)?;
    ///             Ok(())
    ///         })
    ///     })??;
    ///     Ok(())
    /// }
    /// ```
    pub fn task_with_cuts<D, F, G>(
        &'scope self,
        name: impl Into<Cow<'static, str>>,
        data: D,
        body: F,
        dice: G,
    ) -> Task<'scope, S>
    where
        D: Data + 'scope,
        F: Fn(&Worker<'_, S>, D::View<'_>) + Send + Sync + 'scope,
        G: Fn(Range<usize>, usize) -> Vec<usize> + Send + Sync + 'scope,
    {
        Task::new(name.into(), data, body, AtCuts(dice)).diced()
    }

    /// Does the same as [`task_with_cuts`](Self::task_with_cuts), for data that tasks do not change.
    /// `dice` is given the data and the wanted number of parts, and returns the data of the parts,
    /// in any order. So each part may read another slice.
    ///
    /// The data has a [`Part`](crate::Part), and each of its numbers is in one part. A part may not
    /// be empty, or read a block that the task has not named. Otherwise the phase ends with
    /// [`TaskError::DicedParts`] or [`TaskError::DicedBlock`]. If `dice` returns one part, the task
    /// runs whole. If `dice` panics, the phase ends with [`TaskError::Panicked`].
    pub fn task_with_dice<D, F, G>(
        &'scope self,
        name: impl Into<Cow<'static, str>>,
        data: D,
        body: F,
        dice: G,
    ) -> Task<'scope, S>
    where
        D: SharedData + 'scope,
        F: Fn(&Worker<'_, S>, D::View<'_>) + Send + Sync + 'scope,
        G: Fn(D, usize) -> Vec<D> + Send + Sync + 'scope,
    {
        Task::new(name.into(), data, body, IntoParts(dice)).diced()
    }

    /// Submits a task, which runs when the tasks [before it](Task::after) have ended. `from` is the
    /// caller's [`Place`].
    ///
    /// While thousands of tasks are queued, this call waits, as
    /// [`Scope::spawn`](crate::Scope::spawn) does. With queues in main memory, a task that submits
    /// other tasks does not wait.
    ///
    /// # Errors
    ///
    /// Returns [`TaskError`] in these cases, and drops the task:
    ///
    /// - The task uses a block that another task uses, and does not come after the other task.
    /// - The task changes a block and names the block twice, or the pool cannot dice the task.
    /// - The task comes after a task of another phase, or has a lock or a block of another phase.
    /// - The task is near a task of another pool.
    ///
    /// # Panics
    ///
    /// Panics if `from` belongs to another pool, or if the run is cancelled while this call waits.
    pub fn submit(
        &'scope self,
        from: &impl Place<S>,
        task: Task<'scope, S>,
    ) -> Result<Handle<'scope, S>, TaskError> {
        // Before the task is a user of its blocks.
        self.state.scope.assert_of_pool(from);
        if let Err(cancelled) = from.catch_up() {
            discard(task);
            resume_unwind(cancelled);
        }
        let Task {
            name,
            work,
            dices,
            priority,
            after,
            lock,
            near,
        } = task;
        // SAFETY: only the lifetime changes. Borrowed values live for `'scope`, and `run` below
        // returns only after every task was run or dropped.
        let work = unsafe {
            std::mem::transmute::<Box<dyn Work<S> + 'scope>, Box<dyn Work<S> + 'static>>(work)
        };
        let state = &self.state;
        let number = self.submitted.fetch_add(1, Ordering::Relaxed) + 1;
        let lock_is_here = lock.as_ref().is_none_or(|lock| lock.phase() == self.id());
        let lock = lock.map(TaskLock::into_state);
        let mut node = Node::new(name, number, state, work, lock);
        node.dices = dices;
        node.priority = priority;
        if let Some(near) = near {
            if near.pool() != state.scope.pool {
                return Err(TaskError::NearOtherPool {
                    task: node.to_string(),
                    other: near.node.to_string(),
                });
            }
            node.set_near(near.node);
        }
        let node = Arc::new(node);
        // SAFETY: the task is in no queue yet.
        let work = unsafe { node.work() };
        if dices {
            let pieces = work.pieces();
            if pieces.is_empty() || pieces.iter().any(|&n| n != pieces[0]) {
                let task = node.to_string();
                return Err(TaskError::CannotBeDiced { task, pieces });
            }
        }
        let is_here = |phase: usize| phase == self.id();
        let of_other_phase = |what: String| TaskError::OfOtherPhase {
            task: node.to_string(),
            what,
        };
        if let Some(task) = after.iter().find(|task| !is_here(task.node.phase.addr())) {
            return Err(of_other_phase(format!("comes after {task:?}")));
        }
        if !lock_is_here {
            return Err(of_other_phase("has a lock".to_owned()));
        }
        let mut uses = Vec::new();
        work.blocks(&mut |usage| uses.push(usage));
        let before: Vec<_> = after.iter().map(|task| Arc::clone(&task.node)).collect();
        node.put_after(&before);
        // Without blocks the order of the tasks is of no use, and a long chain of tasks would keep
        // memory for each of them. All users of a block are submitted after this flag was set.
        if !uses.is_empty() || self.has_blocks.load(Ordering::Relaxed) {
            let mut users = locked(&self.users);
            users.declare(&node, &before);
            users.admit(self.id(), &node, &uses)?;
        }
        state.scope.start(from);
        node.wait_for_those_before(&before);
        if node.release() {
            let job = Job::Task(Arc::clone(&node));
            let destination = from.queue_of(&job);
            from.push(job);
            if let Err(cancelled) = from.wait_for_room_at(destination, number) {
                resume_unwind(cancelled);
            }
        }
        Ok(Handle::new(node, state.scope.pool))
    }

    /// Splits a slice into blocks of `block` elements, for tasks that declare their order.
    ///
    /// # Panics
    ///
    /// Panics if the slice does not consist of whole blocks.
    pub fn blocks<T: Pod>(&'scope self, slice: &'scope mut [T], block: usize) -> Blocks<'scope, T> {
        assert!(
            block > 0 && slice.len().is_multiple_of(block),
            "a slice of {} elements has no blocks of {block}",
            slice.len()
        );
        self.has_blocks.store(true, Ordering::Relaxed);
        Blocks {
            slice: NonNull::from_mut(slice),
            block,
            phase: self.id(),
            borrow: PhantomData,
        }
    }

    /// Makes a lock for tasks of this phase: see [`Task::locked`].
    pub fn lock(&'scope self) -> TaskLock<'scope, S> {
        TaskLock::new(self.id())
    }

    /// Returns a number that no other phase has while this phase exists.
    fn id(&self) -> usize {
        std::ptr::from_ref(&self.state).addr()
    }
}

impl<S: Spe> Worker<'_, S> {
    /// Does the same as [`Main::phase`](crate::Main::phase), for a task.
    ///
    /// # Errors
    ///
    /// See [`Main::phase`](crate::Main::phase).
    pub fn phase<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&'scope Phase<'scope, 'env, S>) -> Result<R, TaskError>,
    ) -> Result<R, TaskError> {
        run(self, f)
    }
}

/// Calls `f` with a phase, and waits for its tasks. Returns the first failure of a task, if any.
pub(crate) fn run<'env, S: Spe, R>(
    place: &impl Place<S>,
    f: impl for<'scope> FnOnce(&'scope Phase<'scope, 'env, S>) -> Result<R, TaskError>,
) -> Result<R, TaskError> {
    let phase = Phase {
        state: PhaseState::new(ScopeOf::new(place)),
        submitted: AtomicUsize::new(0),
        has_blocks: AtomicBool::new(false),
        users: Mutex::new(Users::new()),
        scope: PhantomData,
        env: PhantomData,
    };
    place.phase_begins();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let result = f(&phase);
        place.all_submitted();
        result
    }));
    let waited = scope::wait(place, &phase.state.scope).and_then(|()| place.phase_ends());
    let failure = phase.state.take_failure();
    match (result, waited, failure) {
        (Ok(result), Ok(()), None) => result,
        (Err(panic), waited, failure) => {
            discard(waited);
            discard(failure);
            resume_unwind(panic)
        }
        (result, Err(panic), failure) => {
            discard(result);
            discard(failure);
            resume_unwind(panic)
        }
        (Ok(result), Ok(()), Some(failure)) => {
            discard(result);
            Err(failure)
        }
    }
}
