//! Data on its way: the next tasks, whose data is staged while another task runs, and the data that
//! ended tasks have written and that still leaves the local store.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use cellworks_machine::Spe;

use crate::phase::taken::Taken;
use crate::phase::work::Begun;
use crate::worker::depth::Depth;

/// A task that a worker has taken, and its data on the way to the local store.
pub(crate) type OnItsWay<S> = (Taken<S>, Box<dyn Begun<S>>);

/// The data of one worker that is on its way.
pub(crate) struct Ahead<S: Spe> {
    /// The next tasks, in their order.
    tasks: RefCell<VecDeque<OnItsWay<S>>>,
    depth: RefCell<Depth>,
    /// Whether a task waits for its data. Meanwhile no other task begins.
    is_staging: Cell<bool>,
    /// Whether written data of ended tasks may still be in the local store.
    has_puts: Cell<bool>,
    /// Whether a task waits for local store that other tasks use.
    wants_room: Cell<bool>,
}

impl<S: Spe> Ahead<S> {
    pub(crate) fn new(depth: Depth) -> Self {
        Self {
            tasks: RefCell::default(),
            depth: RefCell::new(depth),
            is_staging: Cell::new(false),
            has_puts: Cell::new(false),
            wants_room: Cell::new(false),
        }
    }

    /// Returns the next task, unless there is none.
    pub(crate) fn next(&self) -> Option<OnItsWay<S>> {
        self.tasks.borrow_mut().pop_front()
    }

    pub(crate) fn push(&self, task: OnItsWay<S>) {
        self.tasks.borrow_mut().push_back(task);
    }

    /// Takes all tasks, in their order.
    pub(crate) fn take_all(&self) -> VecDeque<OnItsWay<S>> {
        self.tasks.take()
    }

    pub(crate) fn len(&self) -> usize {
        self.tasks.borrow().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.borrow().is_empty()
    }

    /// Returns whether tasks are staged ahead at all.
    pub(crate) fn is_on(&self) -> bool {
        self.depth.borrow().ahead > 0
    }

    /// Returns the number of tasks to stage ahead now.
    pub(crate) fn depth(&self) -> usize {
        self.depth.borrow().ahead
    }

    /// See [`Depth::learn`].
    pub(crate) fn learn(&self, waited: u128, took: u128) {
        self.depth.borrow_mut().learn(waited, took);
    }

    pub(crate) fn is_staging(&self) -> bool {
        self.is_staging.get()
    }

    /// Records that a task waits for its data from now on.
    pub(crate) fn begin_to_stage(&self) {
        self.is_staging.set(true);
    }

    /// Records that the data has arrived, or will not arrive. Returns whether a task has waited.
    pub(crate) fn end_to_stage(&self) -> bool {
        self.is_staging.replace(false)
    }

    /// Records that written data of an ended task may still be in the local store.
    pub(crate) fn has_put(&self) {
        self.has_puts.set(true);
    }

    /// Returns whether written data may still be in the local store. The caller waits for it.
    pub(crate) fn take_puts(&self) -> bool {
        self.has_puts.replace(false)
    }

    /// Records that a task waits for local store that other tasks use.
    pub(crate) fn want_room(&self) {
        self.wants_room.set(true);
    }

    /// Returns whether a task waits for local store. The caller notifies it.
    pub(crate) fn take_wish_for_room(&self) -> bool {
        self.wants_room.replace(false)
    }
}
