//! The tasks of a pool that wait for other tasks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::error::TaskError;
use crate::node::Node;
use crate::sync::{Mutex, locked};

/// Maps the address of each waiting task to the task that it waits for.
pub struct Waits<S: Spe>(Mutex<HashMap<usize, Arc<Node<S>>>>);

impl<S: Spe> Waits<S> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// Records that `waiter` will wait for `target`. Returns [`TaskError::Circle`] if this wait
    /// would close a circle of tasks that wait for each other.
    pub(crate) fn begin(
        &self,
        waiter: &Arc<Node<S>>,
        target: &Arc<Node<S>>,
    ) -> Result<(), TaskError> {
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

    pub(crate) fn end(&self, waiter: &Arc<Node<S>>) {
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
