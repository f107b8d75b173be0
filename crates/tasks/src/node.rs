//! A task that was submitted: what it waits for, and what waits for it.
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

use cellworks_machine::{Processor, Spe};

use crate::job::Job;
use crate::lock::LockState;
use crate::phase::PhaseState;
use crate::place::sealed::Sealed;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, locked};
use crate::task::{Priority, Work};

/// A task that was submitted.
pub struct Node<S: Spe> {
    name: Cow<'static, str>,
    /// In its phase, from 1 on.
    pub(crate) number: usize,
    /// The task of which this is a part.
    whole: Option<Arc<Node<S>>>,
    /// Valid until the task is counted as ended.
    pub(crate) phase: *const PhaseState<S>,
    /// Taken out by the worker that runs the task, or drops it.
    work: UnsafeCell<Option<Box<dyn Work<S>>>>,
    pub(crate) dices: bool,
    pub(crate) priority: Priority,
    pub(crate) lock: Option<Lock<S>>,
    /// The task on whose worker it would best run.
    pub(crate) near: Option<Arc<Node<S>>>,
    /// The number of the worker that has run it; [`NOWHERE`] before.
    ran_on: AtomicUsize,
    /// Tasks that have not ended and come before it, and 1 until it has been submitted; of a task
    /// that was diced, parts that have not ended.
    left: AtomicUsize,
    /// It is not to run: it was cancelled, or a task before it did not run or failed.
    is_dropped: AtomicBool,
    has_begun: AtomicBool,
    /// A lock was given to it.
    pub(crate) has_lock: AtomicBool,
    others: Mutex<Others<S>>,
}

/// A lock, as the tasks that it is for hold it.
type Lock<S> = Arc<Mutex<LockState<Arc<Node<S>>>>>;

/// No worker has this number.
const NOWHERE: usize = usize::MAX;

/// What a task knows of others.
struct Others<S: Spe> {
    /// How it has ended.
    end: Option<End>,
    /// Those before it, until it has ended.
    before: Vec<Arc<Node<S>>>,
    /// Those after it.
    after: Vec<Arc<Node<S>>>,
    /// Where programs wait for its end.
    waiting: Vec<Processor>,
}

/// How a task has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It has run to its end.
    Done,
    /// It did not run, or failed.
    Failed,
}

// SAFETY: the work is reached by one worker, the one that has taken the task out of a queue; the
// rest is `Sync`, and the pointers are to what is.
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
            near: None,
            ran_on: AtomicUsize::new(NOWHERE),
            left: AtomicUsize::new(1),
            is_dropped: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            has_lock: AtomicBool::new(false),
            others: Mutex::new(Others {
                end: None,
                before: Vec::new(),
                after: Vec::new(),
                waiting: Vec::new(),
            }),
        }
    }

    /// A part of this task, or of the task of which this is a part.
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

    /// What errors and traces call it; tasks of one kind have one name.
    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    /// Whether its lock was given to it, after it was deferred.
    pub(crate) fn has_its_lock(&self) -> bool {
        self.has_lock.load(Ordering::Relaxed)
    }

    /// The task that was submitted.
    pub(crate) fn whole(self: &Arc<Self>) -> &Arc<Self> {
        self.whole.as_ref().unwrap_or(self)
    }

    pub(crate) fn is_part(&self) -> bool {
        self.whole.is_some()
    }

    /// Its work.
    ///
    /// # Safety
    ///
    /// The caller has taken the task out of a queue, or has not put it into one yet.
    pub(crate) unsafe fn work(&self) -> &(dyn Work<S> + 'static) {
        // SAFETY: by the contract of this function.
        let work = unsafe { &*self.work.get() };
        work.as_deref().expect("a task that has not ended has work")
    }

    /// Drops its work.
    ///
    /// # Safety
    ///
    /// As [`work`](Self::work).
    pub(crate) unsafe fn drop_work(&self) {
        // SAFETY: by the contract of this function.
        unsafe { *self.work.get() = None };
    }

    /// The task comes after others.
    pub(crate) fn put_after(&self, before: &[Arc<Node<S>>]) {
        locked(&self.others).before = before.to_vec();
    }

    /// Has those before it release it when they end.
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

    /// Whether nothing waits for its end but its phase.
    pub(crate) fn is_alone(self: &Arc<Self>) -> bool {
        self.whole().lock.is_none() && !self.is_awaited()
    }

    /// Whether a task comes after it, or a program waits for its end.
    pub(crate) fn is_awaited(self: &Arc<Self>) -> bool {
        let others = locked(&self.whole().others);
        !others.after.is_empty() || !others.waiting.is_empty()
    }

    /// Those that it was said to come after, if it has not ended.
    pub(crate) fn before(&self) -> Vec<Arc<Node<S>>> {
        locked(&self.others).before.clone()
    }

    /// One thing less that the task waits for; true if it was the last.
    pub(crate) fn release(&self) -> bool {
        // What came before it, the worker that runs it sees.
        self.left.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// The task was diced into this number of parts, or a part of it into one more than this.
    pub(crate) fn wait_for_parts(&self, parts: usize) {
        self.left.fetch_add(parts, Ordering::Relaxed);
    }

    /// It is not to run.
    pub(crate) fn drop_it(&self) {
        self.is_dropped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_dropped(self: &Arc<Self>) -> bool {
        self.whole().is_dropped.load(Ordering::Relaxed)
    }

    /// A worker begins to run it.
    pub(crate) fn begin(self: &Arc<Self>, worker: usize) {
        let whole = self.whole();
        whole.has_begun.store(true, Ordering::Relaxed);
        whole.ran_on.store(worker, Ordering::Relaxed);
    }

    /// The number of the worker that it would best run on, if that is known.
    pub(crate) fn best_worker(&self) -> Option<usize> {
        let ran_on = self.near.as_ref()?.ran_on.load(Ordering::Relaxed);
        (ran_on != NOWHERE).then_some(ran_on)
    }

    pub(crate) fn has_begun(self: &Arc<Self>) -> bool {
        self.whole().has_begun.load(Ordering::Relaxed)
    }

    /// How it has ended, if it has.
    pub(crate) fn end(&self) -> Option<End> {
        locked(&self.others).end
    }

    /// Has the end announced at a processor. The end, if it has come.
    pub(crate) fn announce_at(&self, waiting: Processor) -> Option<End> {
        let mut others = locked(&self.others);
        if others.end.is_none() {
            others.waiting.push(waiting);
        }
        others.end
    }

    /// The task has ended: lets those go on that waited for it.
    pub(crate) fn end_with(self: &Arc<Self>, end: End, place: &impl Sealed<S>) {
        let mut others = locked(&self.others);
        others.end = Some(end);
        others.before = Vec::new();
        let after = std::mem::take(&mut others.after);
        let waiting = std::mem::take(&mut others.waiting);
        drop(others);
        for task in after {
            if end == End::Failed {
                task.drop_it();
            }
            if task.release() {
                place.push(Job::Task(task));
            }
        }
        for processor in waiting {
            place.notify(processor);
        }
    }
}

impl<S: Spe> fmt::Display for Node<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' ({})", self.name, self.number)
    }
}
