//! The tasks of a pool that wait for other tasks, and the search for circles of such tasks.
//!
//! A task cannot end before another task in these cases:
//!
//! - Code of the first task waits for the other task (`Handle::wait`).
//! - The first task was submitted to come after the other task (`Task::after`).
//! - The first task needs a lock that the other task holds (`Task::locked`).
//! - The other task belongs to a phase that the first task has made.
//!
//! The search is made when a wait begins, and that is enough. In a circle each task is in one of
//! these cases, and at least one of them waits by a handle. A task takes its lock, and makes
//! phases, only while it runs and before it waits, so the wait that begins last finds the others.
//!
//! ```text
//!   behind ◄── the waiter ── the new wait ──► the target ──► ahead
//! ```
//!
//! The search looks in turn at a task ahead, for which the target waits, and at a task behind,
//! which waits for the waiter. It ends when there is no more task on one side. So a wait that
//! begins at an end of a long chain takes as little time as one of two tasks, and one that makes
//! one chain of two takes as long as the shorter chain. Which tasks need a lock is not recorded, so
//! if a task behind holds a lock, only the tasks ahead are looked at.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter;
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::error::TaskError;
use crate::phase::node::Node;
use crate::sync::{Mutex, locked};

/// The tasks of a pool that wait for other tasks.
pub struct Waits<S: Spe>(Mutex<Record<S>>);

struct Record<S: Spe> {
    /// Maps the address of a waiting task and the number of a wait to the task that it waits for.
    /// A task may have several waits, because each cooperative thread and each closure of a task
    /// may wait.
    targets: BTreeMap<(usize, usize), Arc<Node<S>>>,
    /// Maps the address of a task and the number of a wait for the task to the task that waits.
    waiters: BTreeMap<(usize, usize), Arc<Node<S>>>,
    /// Maps the address of each waiting task whose phase was made by a task to the wait of the task
    /// that made the phase.
    of_makers: HashMap<usize, Wait<S>>,
    /// The number of waits that have begun.
    begun: usize,
}

/// A wait of `waiter` for `target`.
struct Wait<S: Spe> {
    number: usize,
    waiter: Arc<Node<S>>,
    target: Arc<Node<S>>,
}

impl<S: Spe> Clone for Wait<S> {
    fn clone(&self) -> Self {
        Self {
            number: self.number,
            waiter: Arc::clone(&self.waiter),
            target: Arc::clone(&self.target),
        }
    }
}

impl<S: Spe> Waits<S> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Record {
            targets: BTreeMap::new(),
            waiters: BTreeMap::new(),
            of_makers: HashMap::new(),
            begun: 0,
        }))
    }

    /// Records that `waiter` will wait for `target`, until the result is dropped. Returns
    /// [`TaskError::Circle`] if this wait would close a circle of tasks that wait for each other.
    pub(crate) fn begin(
        &self,
        waiter: &Arc<Node<S>>,
        target: &Arc<Node<S>>,
    ) -> Result<Waiting<'_, S>, TaskError> {
        // The waiting task, the task that made the phase of the waiting task, and so on.
        let waiting = || {
            let first = Some(Arc::clone(waiter.whole()));
            iter::successors(first, |task| {
                // SAFETY: `waiter` has not ended, so no phase that contains it has ended, and no
                // task that has made such a phase.
                unsafe { (*task.phase).scope.parent.task() }.cloned()
            })
        };
        let mut record = locked(&self.0);
        let wait = record.add(waiting(), target);
        if record.may_close_circle(&wait)
            && let Err(circle) = record.check(&waiting().collect::<Vec<_>>(), target)
        {
            record.remove(wait);
            return Err(circle);
        }
        drop(record);
        Ok(Waiting { waits: self, wait })
    }
}

impl<S: Spe> Record<S> {
    /// Adds a wait for `target` of the first task in `waiting`, and of each later task for the one
    /// before it. Returns the wait for `target`.
    fn add(
        &mut self,
        waiting: impl IntoIterator<Item = Arc<Node<S>>>,
        target: &Arc<Node<S>>,
    ) -> Wait<S> {
        let mut first = None;
        let mut target = Arc::clone(target);
        for waiter in waiting {
            // Then the later tasks wait already.
            let is_last = self.does_wait(&waiter);
            let wait = Wait {
                number: self.begun,
                waiter: Arc::clone(&waiter),
                target: Arc::clone(&target),
            };
            self.begun += 1;
            let key = |task| (address(task), wait.number);
            self.targets.insert(key(&waiter), Arc::clone(&target));
            self.waiters.insert(key(&target), Arc::clone(&waiter));
            if first.is_none() {
                first = Some(wait);
            } else {
                self.of_makers.insert(address(&target), wait);
            }
            if is_last {
                break;
            }
            target = waiter;
        }
        first.expect("there is a waiter")
    }

    /// Removes a wait that [`add`](Self::add) has returned, and the waits that it alone has made
    /// necessary.
    fn remove(&mut self, wait: Wait<S>) {
        let mut next = Some(wait);
        while let Some(wait) = next {
            let key = |task| (address(task), wait.number);
            self.targets.remove(&key(&wait.waiter));
            self.waiters.remove(&key(&wait.target));
            next = None;
            if !self.does_wait(&wait.waiter) {
                next = self.of_makers.remove(&address(&wait.waiter));
            }
        }
    }

    fn does_wait(&self, task: &Arc<Node<S>>) -> bool {
        waits_of(&self.targets, address(task)).next().is_some()
    }

    /// Returns the tasks that must end before `task`.
    fn ahead_of(&self, task: Arc<Node<S>>) -> impl Iterator<Item = Arc<Node<S>>> {
        let targets = waits_of(&self.targets, address(&task));
        let holder = Arc::clone(&task);
        let before = (0..).map_while(move |place| task.before(place));
        let held_up_by = iter::once_with(move || holder.held_up_by()).flatten();
        targets.chain(before).chain(held_up_by)
    }

    /// Returns the tasks that cannot end before `task`, without those that need a lock.
    fn behind(&self, task: Arc<Node<S>>) -> impl Iterator<Item = Arc<Node<S>>> {
        let waiters = waits_of(&self.waiters, address(&task));
        waiters.chain((0..).map_while(move |place| task.after(place)))
    }

    /// Returns false if a wait closes no circle. The wait was added.
    fn may_close_circle(&self, wait: &Wait<S>) -> bool {
        let mut ahead = Search::new(&wait.target, |task| self.ahead_of(task));
        let knows_all = Cell::new(true);
        let mut behind = Search::new(&wait.waiter, |task: Arc<Node<S>>| {
            knows_all.set(knows_all.get() && !task.has_its_lock());
            self.behind(task)
        });
        if Arc::ptr_eq(&wait.waiter, &wait.target) {
            return true;
        }
        loop {
            match ahead.next() {
                None => return false,
                Some(task) if behind.has_found(&task) => return true,
                Some(_) => {}
            }
            if knows_all.get() {
                match behind.next() {
                    None if knows_all.get() => return false,
                    Some(task) if ahead.has_found(&task) => return true,
                    _ => {}
                }
            }
        }
    }

    /// Searches the whole way ahead, which takes longer. Fails if a task ahead of `target` is in
    /// `waiting`: see [`add`](Self::add).
    fn check(&self, waiting: &[Arc<Node<S>>], target: &Arc<Node<S>>) -> Result<(), TaskError> {
        // Maps each task that the loop finds to the task that waits for it.
        let mut from = HashMap::new();
        let mut to_visit = vec![Arc::clone(target)];
        let mut seen = HashSet::from([address(target)]);
        while let Some(task) = to_visit.pop() {
            if let Some(place) = waiting.iter().position(|other| Arc::ptr_eq(other, &task)) {
                return Err(circle(&waiting[..=place], target, &from));
            }
            for next in self.ahead_of(Arc::clone(&task)) {
                if seen.insert(address(&next)) {
                    from.insert(address(&next), Arc::clone(&task));
                    to_visit.push(next);
                }
            }
        }
        Ok(())
    }
}

/// A search from a task on, whose steps are the items of the iterator. `next_to` returns the tasks
/// next to a task.
struct Search<S: Spe, F, I> {
    next_to: F,
    found: HashSet<usize>,
    to_visit: Vec<Arc<Node<S>>>,
    /// The tasks next to the one that is visited.
    next: Option<I>,
}

impl<S: Spe, F, I> Search<S, F, I> {
    fn new(first: &Arc<Node<S>>, next_to: F) -> Self {
        Self {
            next_to,
            found: HashSet::from([address(first)]),
            to_visit: vec![Arc::clone(first)],
            next: None,
        }
    }

    fn has_found(&self, task: &Arc<Node<S>>) -> bool {
        self.found.contains(&address(task))
    }
}

impl<S: Spe, F: Fn(Arc<Node<S>>) -> I, I: Iterator<Item = Arc<Node<S>>>> Iterator
    for Search<S, F, I>
{
    type Item = Arc<Node<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(task) = self.next.as_mut().and_then(Iterator::next) {
                if self.found.insert(address(&task)) {
                    self.to_visit.push(Arc::clone(&task));
                }
                return Some(task);
            }
            self.next = Some((self.next_to)(self.to_visit.pop()?));
        }
    }
}

/// A wait that has begun. Dropping this value ends the wait.
pub(crate) struct Waiting<'a, S: Spe> {
    waits: &'a Waits<S>,
    wait: Wait<S>,
}

impl<S: Spe> Drop for Waiting<'_, S> {
    fn drop(&mut self) {
        locked(&self.waits.0).remove(self.wait.clone());
    }
}

/// Returns the tasks that `waits` has for the task at an address, in the order in which the waits
/// began.
fn waits_of<S: Spe>(
    waits: &BTreeMap<(usize, usize), Arc<Node<S>>>,
    address: usize,
) -> impl Iterator<Item = Arc<Node<S>>> {
    let of_task = waits.range((address, 0)..=(address, usize::MAX));
    of_task.map(|(_, other)| Arc::clone(other))
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
