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

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::error::TaskError;
use crate::phase::node::Node;
use crate::sync::{Mutex, locked};

/// Maps the address of each waiting task to the tasks that it waits for. There may be several,
/// because each cooperative thread and each closure of a task may wait.
pub struct Waits<S: Spe>(Mutex<HashMap<usize, Vec<Arc<Node<S>>>>>);

impl<S: Spe> Waits<S> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// Records that `waiter` will wait for `target`, until the result is dropped. Returns
    /// [`TaskError::Circle`] if this wait would close a circle of tasks that wait for each other.
    pub(crate) fn begin(
        &self,
        waiter: &Arc<Node<S>>,
        target: &Arc<Node<S>>,
    ) -> Result<Waiting<'_, S>, TaskError> {
        // The waiting task, the task that made the phase of the waiting task, and so on.
        let first = Some(Arc::clone(waiter.whole()));
        let waiting: Vec<_> = std::iter::successors(first, |task| {
            // SAFETY: `waiter` has not ended, so no phase that contains it has ended, and no task
            // that has made such a phase.
            unsafe { (*task.phase).scope.parent.task() }.cloned()
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
            let waits_for = waits.get(&address(&task)).into_iter().flatten().cloned();
            for next in waits_for.chain(task.before()).chain(task.held_up_by()) {
                if seen.insert(address(&next)) {
                    from.insert(address(&next), Arc::clone(&task));
                    to_visit.push(next);
                }
            }
        }
        // The first task in `waiting` waits for `target`, and each other one for the one before it.
        let targets = std::iter::once(target).chain(&waiting);
        let begun: Vec<_> = waiting
            .iter()
            .zip(targets)
            .map(|(waiter, target)| (address(waiter), Arc::clone(target)))
            .collect();
        for (waiter, target) in &begun {
            waits.entry(*waiter).or_default().push(Arc::clone(target));
        }
        drop(waits);
        Ok(Waiting { waits: self, begun })
    }
}

/// A wait that has begun. Dropping this value ends the wait.
pub(crate) struct Waiting<'a, S: Spe> {
    waits: &'a Waits<S>,
    /// The addresses of waiting tasks, and the tasks that they wait for.
    begun: Vec<(usize, Arc<Node<S>>)>,
}

impl<S: Spe> Drop for Waiting<'_, S> {
    fn drop(&mut self) {
        let mut waits = locked(&self.waits.0);
        for (waiter, target) in &self.begun {
            let Some(targets) = waits.get_mut(waiter) else {
                continue;
            };
            if let Some(place) = targets.iter().position(|other| Arc::ptr_eq(other, target)) {
                targets.swap_remove(place);
            }
            if targets.is_empty() {
                waits.remove(waiter);
            }
        }
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
