//! The door of a shared pool, through which closures of other threads come to the workers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use cellworks_machine::{Outside, Processor, Spe};

use crate::scope::closure::Closure;
use crate::shared::Shared;
use crate::shared::job::{Job, Spawned};
use crate::worker::Worker;

pub(super) struct Door<S: Spe> {
    state: Mutex<State<S>>,
    changed: Condvar,
    /// Whether the pool is to be ended.
    is_ended: AtomicBool,
}

enum State<S: Spe> {
    /// The main program has not begun.
    Ahead,
    Open(Inside<S>),
    /// No closure comes in any more, and tasks of the pool with this number may still run.
    Closing(usize),
    Closed,
}

struct Inside<S: Spe> {
    /// The number of the pool.
    pool: usize,
    /// Valid while the door is open.
    shared: *const Shared<S>,
    outside: Arc<dyn Outside>,
}

// SAFETY: workers share the value behind the pointer, so threads may share it.
unsafe impl<S: Spe> Send for Inside<S> {}

/// The main program of the pool has ended, or its run was cancelled.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Closed;

impl<S: Spe> Door<S> {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State::Ahead),
            changed: Condvar::new(),
            is_ended: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the main program has begun.
    pub(super) fn wait_for_begin(&self) -> Result<(), Closed> {
        let is_ahead = |state: &mut State<S>| matches!(state, State::Ahead);
        let begun = self.changed.wait_while(self.state(), is_ahead);
        match *begun.unwrap_or_else(PoisonError::into_inner) {
            State::Ahead | State::Closing(_) | State::Closed => Err(Closed),
            State::Open(_) => Ok(()),
        }
    }

    /// Opens the door. `outside` is a handle to the run, which counts the calling threads.
    ///
    /// # Safety
    ///
    /// The caller closes the door before the shared data of the pool or their scope end, and waits
    /// for the closures of the scope after that.
    pub(super) unsafe fn open(&self, shared: &Shared<S>, outside: Arc<dyn Outside>) {
        *self.state() = State::Open(Inside {
            pool: shared.number,
            shared: std::ptr::from_ref(shared),
            outside,
        });
        self.changed.notify_all();
    }

    /// Closes the door. After this call no closure comes in.
    pub(super) fn close(&self) {
        let mut state = self.state();
        if let State::Open(inside) = &*state {
            *state = State::Closing(inside.pool);
        }
    }

    /// Called when the run has ended.
    pub(super) fn run_has_ended(&self) {
        *self.state() = State::Closed;
        self.changed.notify_all();
    }

    /// Wakes the main program, which then ends the pool.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
        if let State::Open(Inside { outside, .. }) = &*self.state() {
            outside.notify(Processor::Ppe);
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Returns the number of the pool, which no other pool has, if closures may come in.
    pub(super) fn pool(&self) -> Result<usize, Closed> {
        match &*self.state() {
            State::Open(inside) => Ok(inside.pool),
            State::Ahead | State::Closing(_) | State::Closed => Err(Closed),
        }
    }

    /// Returns the number of the pool, if tasks of it may run.
    pub(super) fn running_pool(&self) -> Option<usize> {
        match &*self.state() {
            State::Open(inside) => Some(inside.pool),
            State::Closing(pool) => Some(*pool),
            State::Ahead | State::Closed => None,
        }
    }

    /// Starts a closure on a worker. Returns the number of closures that are queued.
    ///
    /// # Safety
    ///
    /// Values that `body` borrows live until the closure has run or was discarded.
    pub(super) unsafe fn start<F>(&self, body: F) -> Result<usize, Closed>
    where
        F: FnOnce(&Worker<'_, S>) + Send,
    {
        let state = self.state();
        let State::Open(inside) = &*state else {
            return Err(Closed);
        };
        // SAFETY: the door is open, and it is not closed while this thread holds the lock.
        let shared = unsafe { &*inside.shared };
        let scope = shared.scope();
        scope.count.start();
        // SAFETY: by the contract of this function.
        let body = unsafe { Closure::new(body) };
        let job = Job::Spawned(Spawned { scope, body });
        shared.push_fresh(job, |processor| inside.outside.notify(processor));
        Ok(shared.fresh.len())
    }
}
