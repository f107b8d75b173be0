//! Nodes: the submitted tasks, with the tasks and programs that wait for them.
//!
//! ```text
//!   submitted ── the tasks before it end ──► ready ── a worker takes it ──► runs ──► ended
//!                                              │                                     ▲
//!                                              └── diced ── its parts run, the last one ends
//! ```

use std::borrow::Cow;
use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;

use cellworks_machine::{Payload, Processor, Sleeper, Spe};

use crate::discard::{discard, forgiving};
use crate::error::TaskError;
use crate::phase::current::Current;
use crate::phase::lock::LockState;
use crate::phase::work::Work;
use crate::pool::settings::Priority;
use crate::scope::state::ScopeState;
use crate::sync::{AtomicBool, AtomicU8, AtomicUsize, Mutex, Ordering, locked};

/// A submitted task, or a part of a submitted task.
pub struct Node<S: Spe> {
    name: Cow<'static, str>,
    /// The number of the task in its phase, from 1 on.
    pub(crate) number: usize,
    /// The submitted task of which this node is a part, if any.
    whole: Option<Arc<Node<S>>>,
    /// Valid until the task is counted as ended.
    pub(crate) phase: *const PhaseState<S>,
    /// The body and the data of the task. `None` after they were dropped.
    work: UnsafeCell<Option<Box<dyn Work<S>>>>,
    pub(crate) dices: bool,
    pub(crate) priority: Priority,
    pub(crate) lock: Option<Lock<S>>,
    /// Whether `Others::near` was set at the submission.
    is_near: bool,
    /// The number of the worker that runs or has run the task, or [`NOWHERE`].
    ran_on: AtomicUsize,
    /// The number of tasks before this task that have not ended, plus 1 during the submission. For
    /// a diced task, the number of parts that have not ended.
    left: AtomicUsize,
    /// [`BEGUN`], [`DROPPED`], both or none. One value, so that a task is cancelled or begins.
    state: AtomicU8,
    has_lock: AtomicBool,
    others: Mutex<Others<S>>,
}

pub(crate) type Lock<S> = Arc<Mutex<LockState<Arc<Node<S>>>>>;

/// The task to which running code belongs.
pub(crate) type CurrentTask<S> = Current<Arc<Node<S>>>;

/// The state of a scope that a task may have made.
pub(crate) type ScopeOf<S> = ScopeState<Arc<Node<S>>>;

/// The bit of `state` of a task of which at least a part has begun.
const BEGUN: u8 = 1;

/// The bit of `state` of a task that must not run: it was cancelled, or a task before it failed or
/// did not run.
const DROPPED: u8 = 2;

/// The value of `ran_on` if no worker has run the task.
const NOWHERE: usize = usize::MAX;

/// The tasks before and after a task, and the programs that wait for the task.
struct Others<S: Spe> {
    end: Option<End>,
    /// The tasks before this task. Empty after this task has ended.
    before: Vec<Arc<Node<S>>>,
    after: Vec<Arc<Node<S>>>,
    /// The threads that wait for the task.
    waiting: Vec<Sleeper>,
    /// The task with which this task should share a worker. `None` after this task has ended,
    /// because in a chain of such tasks each one would keep all earlier ones.
    near: Option<Arc<Node<S>>>,
}

/// Whether a task has taken its lock.
pub(crate) enum TakenLock {
    /// The task has its lock, or has none.
    Yes,
    /// Another task holds the lock and will pass it on.
    Deferred,
    /// The task must not run.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    /// The task did not run, or failed.
    Failed,
}

/// The part of a phase that its tasks use.
pub(crate) struct PhaseState<S: Spe> {
    pub(crate) scope: ScopeOf<S>,
    has_failed: AtomicBool,
    failure: Mutex<Option<TaskError>>,
}

impl<S: Spe> PhaseState<S> {
    pub(crate) fn new(scope: ScopeOf<S>) -> Self {
        Self {
            scope,
            has_failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// Returns whether it is a phase of the main program, or of a task otherwise.
    pub(crate) fn is_of_main(&self) -> bool {
        self.scope.owner == Processor::Ppe
    }

    /// Records the failure of a task, and keeps the first failure.
    pub(crate) fn fail(&self, failure: TaskError) {
        let mut first = locked(&self.failure);
        if first.is_some() {
            drop(first);
            discard(failure);
        } else {
            *first = Some(failure);
        }
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Returns whether a task has failed. Then no further task of the phase begins.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Takes the first failure, if any.
    pub(crate) fn take_failure(&self) -> Option<TaskError> {
        locked(&self.failure).take()
    }
}

/// The end of a run at a limit of time unwinds the end of a phase, also after the failure of a
/// task.
impl<S: Spe> Drop for PhaseState<S> {
    fn drop(&mut self) {
        discard(self.take_failure());
    }
}

// SAFETY: only the worker that has taken the task out of a queue accesses the work. All other
// fields, and the values behind pointers, are `Sync`.
unsafe impl<S: Spe> Send for Node<S> {}
// SAFETY: as above.
unsafe impl<S: Spe> Sync for Node<S> {}

impl<S: Spe> Node<S> {
    pub(crate) fn new(
        name: Cow<'static, str>,
        number: usize,
        phase: *const PhaseState<S>,
        work: Box<dyn Work<S>>,
        lock: Option<Lock<S>>,
    ) -> Self {
        Self {
            name,
            number,
            whole: None,
            phase,
            work: UnsafeCell::new(Some(work)),
            dices: false,
            priority: Priority::Normal,
            lock,
            is_near: false,
            ran_on: AtomicUsize::new(NOWHERE),
            left: AtomicUsize::new(1),
            state: AtomicU8::new(0),
            has_lock: AtomicBool::new(false),
            others: Mutex::new(Others {
                end: None,
                before: Vec::new(),
                after: Vec::new(),
                waiting: Vec::new(),
                near: None,
            }),
        }
    }

    /// Makes a part of the submitted task. `self` is the submitted task or one of its parts.
    pub(crate) fn part(self: &Arc<Self>, work: Box<dyn Work<S>>) -> Self {
        let whole = self.whole();
        Self {
            whole: Some(Arc::clone(whole)),
            dices: true,
            priority: self.priority,
            left: AtomicUsize::new(0),
            ..Self::new(self.name.clone(), self.number, self.phase, work, None)
        }
    }

    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    pub(crate) fn has_its_lock(&self) -> bool {
        self.has_lock.load(Ordering::Relaxed)
    }

    /// Returns the submitted task: this task, or the task of which this is a part.
    pub(crate) fn whole(self: &Arc<Self>) -> &Arc<Self> {
        self.whole.as_ref().unwrap_or(self)
    }

    pub(crate) fn is_part(&self) -> bool {
        self.whole.is_some()
    }

    /// # Safety
    ///
    /// The caller has taken the task out of a queue, or has not put the task into a queue yet.
    pub(crate) unsafe fn work(&self) -> &(dyn Work<S> + 'static) {
        // SAFETY: by the contract of this function.
        let work = unsafe { &*self.work.get() };
        work.as_deref().expect("a task that has not ended has work")
    }

    /// # Safety
    ///
    /// See [`work`](Self::work).
    pub(crate) unsafe fn drop_work(&self) {
        // SAFETY: by the contract of this function.
        unsafe { *self.work.get() = None };
    }

    pub(crate) fn put_after(&self, before: &[Arc<Node<S>>]) {
        locked(&self.others).before = before.to_vec();
    }

    /// Makes this task wait for the tasks in `before` that have not ended.
    pub(crate) fn wait_for_those_before(self: &Arc<Self>, before: &[Arc<Node<S>>]) {
        for other in before {
            let mut others = locked(&other.others);
            match others.end {
                Some(End::Done) => {}
                Some(End::Failed) => self.drop_it(),
                None => {
                    self.left.fetch_add(1, Ordering::Relaxed);
                    others.after.push(Arc::clone(self));
                }
            }
        }
    }

    /// Returns whether the task has no lock, and no task or program waits for the task.
    pub(crate) fn is_alone(self: &Arc<Self>) -> bool {
        self.whole().lock.is_none() && !self.is_awaited()
    }

    /// Returns whether another task comes after this task, or a program waits for this task.
    pub(crate) fn is_awaited(self: &Arc<Self>) -> bool {
        let others = locked(&self.whole().others);
        !others.after.is_empty() || !others.waiting.is_empty()
    }

    /// Returns the task at a place in the list of those before this task. The list is empty if this
    /// task has ended.
    pub(crate) fn before(&self, place: usize) -> Option<Arc<Node<S>>> {
        locked(&self.others).before.get(place).cloned()
    }

    /// Does the same as [`before`](Self::before), for the tasks that come after this task.
    pub(crate) fn after(&self, place: usize) -> Option<Arc<Node<S>>> {
        locked(&self.others).after.get(place).cloned()
    }

    /// Subtracts one from `left`. Returns true if `left` is now 0.
    pub(crate) fn release(&self) -> bool {
        // `AcqRel` makes the writes of earlier tasks visible to the worker of this task.
        self.left.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Makes the task wait for `parts` more parts.
    pub(crate) fn wait_for_parts(&self, parts: usize) {
        self.left.fetch_add(parts, Ordering::Relaxed);
    }

    /// Records a panic of the task's code as the failure of its phase. The task has not ended.
    pub(crate) fn panicked(self: &Arc<Self>, payload: Payload) {
        let task = self.to_string();
        // SAFETY: the task has not been counted as ended, so its phase exists.
        unsafe { &*self.phase }.fail(TaskError::Panicked {
            task,
            payload: payload.into(),
        });
    }

    /// Marks the task as one that must not run.
    pub(crate) fn drop_it(&self) {
        self.state.fetch_or(DROPPED, Ordering::Relaxed);
    }

    pub(crate) fn is_dropped(self: &Arc<Self>) -> bool {
        self.whole().state.load(Ordering::Relaxed) & DROPPED != 0
    }

    /// Records that the task begins on a worker. Returns false if it must not run.
    #[must_use]
    pub(crate) fn begin(self: &Arc<Self>, worker: usize) -> bool {
        let whole = self.whole();
        let begin = |state: u8| (state & DROPPED == 0).then_some(state | BEGUN);
        let begun = whole
            .state
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, begin);
        whole.ran_on.store(worker, Ordering::Relaxed);
        begun.is_ok()
    }

    /// Makes the worker of `other` the best worker for this task. The task is in no queue yet.
    pub(crate) fn set_near(&mut self, other: Arc<Node<S>>) {
        self.is_near = true;
        locked(&self.others).near = Some(other);
    }

    /// Returns the number of the worker on which the task should run, if any.
    #[inline]
    pub(crate) fn best_worker(&self) -> Option<usize> {
        if !self.is_near {
            return None;
        }
        let others = locked(&self.others);
        let ran_on = others.near.as_ref()?.ran_on.load(Ordering::Relaxed);
        (ran_on != NOWHERE).then_some(ran_on)
    }

    /// Returns the task that holds the lock of this task, if this task cannot end before it.
    pub(crate) fn held_up_by(self: &Arc<Self>) -> Option<Arc<Node<S>>> {
        let lock = self.lock.as_ref().filter(|_| !self.has_its_lock())?;
        if self.end().is_some() {
            return None;
        }
        let lock = locked(lock);
        // A dropped task ends without the lock, unless it waits for the lock already.
        if self.is_dropped() && !lock.defers(|task| Arc::ptr_eq(task, self)) {
            return None;
        }
        lock.holder()
    }

    /// Takes the lock of this task, if it has one.
    pub(crate) fn take_lock(self: &Arc<Self>) -> TakenLock {
        let Some(lock) = &self.lock else {
            return TakenLock::Yes;
        };
        if self.has_its_lock() {
            return TakenLock::Yes;
        }
        let mut lock = locked(lock);
        // Checked while no other thread can look for a deferred task: see `held_up_by`.
        if self.is_dropped() {
            return TakenLock::Dropped;
        }
        if !lock.take(self) {
            return TakenLock::Deferred;
        }
        self.has_lock.store(true, Ordering::Relaxed);
        TakenLock::Yes
    }

    /// Drops the task unless it has begun. Returns whether the task will not run.
    pub(crate) fn cancel(self: &Arc<Self>) -> bool {
        let drop_it = |state: u8| (state & BEGUN == 0).then_some(state | DROPPED);
        let state = &self.whole().state;
        state
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, drop_it)
            .is_ok()
    }

    /// Returns how the task has ended, or `None` before its end.
    pub(crate) fn end(&self) -> Option<End> {
        locked(&self.others).end
    }

    /// Registers a thread to be woken when the task ends. If the task has already ended, returns its
    /// end instead.
    pub(crate) fn announce_to(&self, waiting: Sleeper) -> Option<End> {
        let mut others = locked(&self.others);
        if others.end.is_none() {
            others.waiting.push(waiting);
        }
        others.end
    }

    /// Records the end of this submitted task, and gives back the task's lock. Calls `push` with
    /// each task that is now ready, and `wake` with each thread that waits for this task.
    pub(crate) fn end_with(
        &self,
        end: End,
        mut push: impl FnMut(Arc<Self>),
        wake: impl Fn(Sleeper),
    ) {
        if let Some(lock) = &self.lock
            && self.has_its_lock()
            && let Some(next) = locked(lock).give_back()
        {
            next.has_lock.store(true, Ordering::Relaxed);
            push(next);
        }
        let mut others = locked(&self.others);
        others.end = Some(end);
        let ended = (std::mem::take(&mut others.before), others.near.take());
        let after = std::mem::take(&mut others.after);
        let waiting = std::mem::take(&mut others.waiting);
        drop(others);
        drop(ended);
        for task in after {
            if end == End::Failed {
                task.drop_it();
            }
            if task.release() {
                push(task);
            }
        }
        waiting.into_iter().for_each(wake);
    }

    /// Drops a task that was taken out of a queue, because the run was cancelled. Also drops the
    /// tasks that are ready after that.
    pub(crate) fn discard(self: &Arc<Self>) {
        // A list and no recursion, because a program may submit a long chain of tasks.
        let mut ready = vec![Arc::clone(self)];
        while let Some(task) = ready.pop() {
            task.discard_one(&mut |task| ready.push(task));
        }
    }

    fn discard_one(self: &Arc<Self>, push: &mut dyn FnMut(Arc<Self>)) {
        // Destructors of values that the task owns may panic.
        // SAFETY: the caller has taken the task out of a queue.
        forgiving(|| unsafe { self.drop_work() });
        let whole = self.whole();
        whole.drop_it();
        if self.is_part() && !whole.release() {
            return;
        }
        // In a cancelled run, waiting threads poll, so none needs to be woken.
        whole.end_with(End::Failed, push, |_| {});
        // SAFETY: the task has not been counted as ended. The call of `end` below counts it.
        let phase = unsafe { &*whole.phase };
        // In a cancelled run the owner checks the count without being woken.
        let _: bool = phase.scope.count.end(1);
    }
}

impl<S: Spe> fmt::Display for Node<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' ({})", self.name, self.number)
    }
}
