//! Phases, to which a program submits tasks one by one.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use cellworks_machine::Spe;

use crate::blocks::{Blocks, Users};
use crate::data::Data;
use crate::error::TaskError;
use crate::job::Job;
use crate::lock::TaskLock;
use crate::node::{End, Node};
use crate::place::Place;
use crate::scope::{self, ScopeState};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, locked};
use crate::task::{Task, Work};
use crate::worker::Worker;

/// A phase, to which tasks are submitted. Made by [`Main::phase`](crate::Main::phase).
pub struct Phase<'scope, 'env: 'scope, S: Spe> {
    state: PhaseState<S>,
    // Invariant in both lifetimes, as in `std::thread::scope`.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

pub(crate) struct PhaseState<S: Spe> {
    pub(crate) scope: ScopeState,
    has_failed: AtomicBool,
    failure: Mutex<Option<TaskError>>,
    submitted: AtomicUsize,
    users: Mutex<Users<S>>,
    /// The task that has made the phase.
    parent: Option<Arc<Node<S>>>,
}

/// Maps the address of each waiting task to the task that it waits for.
pub struct Waits<S: Spe>(Mutex<HashMap<usize, Arc<Node<S>>>>);

impl<S: Spe> PhaseState<S> {
    /// Records the failure of a task, and keeps the first failure.
    pub(crate) fn fail(&self, failure: TaskError) {
        locked(&self.failure).get_or_insert(failure);
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Returns whether a task has failed. Then no further task of the phase begins.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

impl<S: Spe> Waits<S> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// Records that `waiter` will wait for `target`. Returns [`TaskError::Circle`] if the tasks
    /// would wait for each other.
    fn begin(&self, waiter: &Arc<Node<S>>, target: &Arc<Node<S>>) -> Result<(), TaskError> {
        let waiter = waiter.whole();
        // The waiting task, the task that made the phase of the waiting task, and so on.
        let first = Some(Arc::clone(waiter));
        let waiting: Vec<_> = std::iter::successors(first, |task| {
            // SAFETY: `waiter` has not ended, so no phase that contains it has ended.
            unsafe { &*task.phase }.parent.clone()
        })
        .collect();
        let mut waits = locked(&self.0);
        // Maps each task that the loop finds to the task that waits for it.
        let mut from = HashMap::new();
        let mut to_visit = vec![Arc::clone(target)];
        let mut seen = HashSet::from([address(target)]);
        while let Some(task) = to_visit.pop() {
            if let Some(place) = waiting.iter().position(|other| Arc::ptr_eq(other, &task)) {
                return Err(circle(&waiting[..=place], target, &from));
            }
            let waits_for = waits.get(&address(&task)).cloned();
            for next in waits_for.into_iter().chain(task.before()) {
                if seen.insert(address(&next)) {
                    from.insert(address(&next), Arc::clone(&task));
                    to_visit.push(next);
                }
            }
        }
        waits.insert(address(waiter), Arc::clone(target));
        Ok(())
    }

    fn end(&self, waiter: &Arc<Node<S>>) {
        locked(&self.0).remove(&address(waiter.whole()));
    }
}

fn address<S: Spe>(task: &Arc<Node<S>>) -> usize {
    Arc::as_ptr(task).addr()
}

/// Makes the error of a circle of waits. The first task in `waiting` waits for `target`, and each
/// later task waits for the task before it. `from` maps a task to a task that waits for it.
fn circle<S: Spe>(
    waiting: &[Arc<Node<S>>],
    target: &Arc<Node<S>>,
    from: &HashMap<usize, Arc<Node<S>>>,
) -> TaskError {
    let mut task = waiting.last().expect("there is a waiter");
    let mut way = Vec::new();
    while !Arc::ptr_eq(task, target) {
        task = &from[&address(task)];
        way.push(task);
    }
    let tasks = waiting.iter().rev().chain(way.into_iter().rev());
    TaskError::Circle {
        tasks: tasks.map(ToString::to_string).collect(),
    }
}

/// A handle to a submitted task. Dropping the handle does not affect the task.
pub struct Handle<'scope, S: Spe> {
    node: Arc<Node<S>>,
    pool: usize,
    phase: PhantomData<&'scope ()>,
}

impl<S: Spe> Clone for Handle<'_, S> {
    fn clone(&self) -> Self {
        Self {
            node: Arc::clone(&self.node),
            pool: self.pool,
            phase: PhantomData,
        }
    }
}

impl<S: Spe> fmt::Debug for Handle<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.node)
    }
}

impl<S: Spe> Handle<'_, S> {
    /// Returns whether the task has ended.
    pub fn has_ended(&self) -> bool {
        self.node.end().is_some()
    }

    /// Cancels the task and the tasks that come after it. Returns false if the task has begun.
    pub fn cancel(&self) -> bool {
        if self.node.has_begun() {
            return false;
        }
        self.node.drop_it();
        !self.node.has_begun()
    }

    /// Waits until the task has ended. Meanwhile, other tasks run. `from` is the caller's
    /// [`Place`].
    ///
    /// # Errors
    ///
    /// - Returns [`TaskError::Circle`] if this task cannot end before the calling task.
    /// - Returns [`TaskError::DidNotRun`] if this task or a task before it was cancelled or failed.
    ///
    /// # Panics
    ///
    /// Panics if `from` and the task belong to different pools.
    #[track_caller]
    pub fn wait(&self, from: &impl Place<S>) -> Result<(), TaskError> {
        let node = &self.node;
        assert!(
            from.pool() == self.pool,
            "task {node} belongs to another pool than the worker that waits for it: name the worker that the caller \
             was handed by the pool of the task"
        );
        let end = node.announce_at(from.processor());
        let end = match end {
            Some(end) => end,
            None => {
                let waiter = from.current_task();
                if let Some(waiter) = &waiter {
                    from.waits().begin(waiter, node)?;
                }
                let why = format_args!("task {node} to end");
                let waited = from.wait_for(&why, &mut || node.end().is_some());
                if let Some(waiter) = &waiter {
                    from.waits().end(waiter);
                }
                waited.unwrap_or_else(|panic| resume_unwind(panic));
                node.end().unwrap_or(End::Failed)
            }
        };
        match end {
            End::Done => Ok(()),
            End::Failed => Err(TaskError::DidNotRun {
                task: node.to_string(),
            }),
        }
    }

    pub(crate) fn node(&self) -> &Arc<Node<S>> {
        &self.node
    }
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
        let dice: Option<fn(D, usize) -> Vec<D>> = None;
        Task::new(name.into(), data, body, dice)
    }

    /// Does the same as [`task`](Self::task). To [dice](Task::diced) the task, the pool calls
    /// `dice` with the data and the wanted number of parts. `dice` may return any number of parts.
    /// If the parts are not exactly the data, the phase ends with [`TaskError::Diced`].
    pub fn task_with_dice<D, F, G>(
        &'scope self,
        name: impl Into<Cow<'static, str>>,
        data: D,
        body: F,
        dice: G,
    ) -> Task<'scope, S>
    where
        D: Data + 'scope,
        F: Fn(&Worker<'_, S>, D::View<'_>) + Send + Sync + 'scope,
        G: Fn(D, usize) -> Vec<D> + Send + Sync + 'scope,
    {
        Task::new(name.into(), data, body, Some(dice)).diced()
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
    ///
    /// # Panics
    ///
    /// Panics if `from` belongs to another pool, or if the run is cancelled while this call waits.
    pub fn submit(
        &'scope self,
        from: &impl Place<S>,
        task: Task<'scope, S>,
    ) -> Result<Handle<'scope, S>, TaskError> {
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
        let number = state.submitted.fetch_add(1, Ordering::Relaxed) + 1;
        let lock_is_here = lock.as_ref().is_none_or(|lock| lock.phase() == self.id());
        let lock = lock.map(TaskLock::into_state);
        let mut node = Node::new(name, number, state, work, lock);
        node.dices = dices;
        node.priority = priority;
        node.near = near.map(|task| task.node);
        let node = Arc::new(node);
        // SAFETY: the task is in no queue yet.
        let work = unsafe { node.work() };
        if dices && !work.has_dice() {
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
        let before: Vec<_> = after.iter().map(|task| Arc::clone(task.node())).collect();
        node.put_after(&before);
        if !uses.is_empty() || !before.is_empty() {
            let mut users = locked(&state.users);
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
        Ok(Handle {
            node,
            pool: state.scope.pool,
            phase: PhantomData,
        })
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

/// Calls `f` with a phase, and waits for its tasks. Returns the first failure of a task, if any.
pub(crate) fn run<'env, S: Spe, R>(
    place: &impl Place<S>,
    f: impl for<'scope> FnOnce(&'scope Phase<'scope, 'env, S>) -> Result<R, TaskError>,
) -> Result<R, TaskError> {
    let phase = Phase {
        state: PhaseState {
            scope: ScopeState::new(place),
            has_failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            submitted: AtomicUsize::new(0),
            users: Mutex::new(Users::new()),
            parent: place.current_task().map(|task| Arc::clone(task.whole())),
        },
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
    let failure = locked(&phase.state.failure).take();
    match (result, waited, failure) {
        (Err(panic), _, _) | (_, Err(panic), _) => resume_unwind(panic),
        (_, _, Some(failure)) => Err(failure),
        (Ok(result), Ok(()), None) => result,
    }
}
