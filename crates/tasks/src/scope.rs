//! Scopes, which start closures one by one.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cellworks_machine::{Payload, Spe};
use crossbeam_utils::CachePadded;

use crate::closure::Closure;
use crate::count::Count;
use crate::discard::discard;
use crate::job::{Job, Spawned};
use crate::node::ScopeOf;
use crate::place::{Place, WokenBy};
use crate::sync::{Mutex, locked};
use crate::worker::Worker;

/// A scope, which starts closures: see [`Worker::scope`] and [`Main::scope`](crate::Main::scope).
pub struct Scope<'scope, 'env: 'scope, S: Spe> {
    state: ScopeOf<S>,
    // Invariant in both lifetimes, as in `std::thread::scope`.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<S: Spe> ScopeOf<S> {
    pub(crate) fn new(owner: &impl Place<S>) -> Self {
        Self {
            count: CachePadded::new(Count::new()),
            owner: owner.processor(),
            waiter: owner.sleeper(),
            pool: owner.pool(),
            parent: owner.current(),
            panic: Mutex::new(None),
        }
    }

    /// Counts a task that is about to be started. Panics if `from` is a place of another pool.
    #[track_caller]
    #[inline]
    pub(crate) fn start(&self, from: &impl Place<S>) {
        assert!(
            from.pool() == self.pool,
            "a task was started from a worker of another pool: name the worker that the caller was handed by the pool \
             of this scope"
        );
        if from.processor() == self.owner {
            // SAFETY: `from` is on the owner's processor, and a place never changes its processor.
            unsafe { self.count.start_by_owner() };
        } else {
            self.count.start();
        }
    }

    /// Keeps the first panic of a closure. If the run was cancelled, returns the panic instead.
    pub(crate) fn failed(&self, panic: Payload, worker: &Worker<'_, S>) -> Result<(), Payload> {
        if worker.is_cancelled() {
            return Err(panic);
        }
        let mut first = locked(&self.panic);
        if first.is_some() {
            drop(first);
            discard(panic);
        } else {
            *first = Some(panic);
        }
        Ok(())
    }
}

impl<'scope, S: Spe> Scope<'scope, '_, S> {
    /// Starts `body` on any worker. `from` is the caller's worker or [`Main`](crate::Main) program.
    ///
    /// `body` may start more closures in the scope. If `body` panics, the call that made the scope
    /// panics after all closures have ended.
    ///
    /// While thousands of closures are queued, this call waits until workers have taken half of
    /// them. During this wait, other tasks run on other stacks.
    ///
    /// # Panics
    ///
    /// Panics if `from` belongs to another pool, or if the run is cancelled while this call waits.
    #[inline]
    #[track_caller]
    pub fn spawn<P, F>(&'scope self, from: &P, body: F)
    where
        P: Place<S>,
        F: FnOnce(&Worker<'_, S>) + Send + 'scope,
    {
        // SAFETY: `run` below returns only when every closure was run or discarded.
        let body = unsafe { Closure::new(body) };
        self.state.start(from);
        from.push(Job::Spawned(Spawned {
            scope: &raw const self.state,
            body,
        }));
        if let Err(cancelled) = from.wait_for_room() {
            resume_unwind(cancelled);
        }
    }
}

impl<S: Spe> Worker<'_, S> {
    /// Calls `f` with a scope, in which `f` can start closures. Returns when all of these closures
    /// have ended. Other tasks can run during this wait. The closures may borrow values that
    /// outlive this call.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn squares<S: Spe>(worker: &Worker<'_, S>, numbers: &mut [u64]) {
    ///     worker.scope(|scope| {
    ///         for number in numbers {
    ///             scope.spawn(worker, |_| *number *= *number);
    ///         }
    ///     });
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// After all closures have ended, passes on the panic of `f`, or the first panic of a closure
    /// if `f` did not panic.
    pub fn scope<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
    ) -> R {
        run(self, f)
    }
}

/// Calls `f` with a scope, and waits for the closures that were started in it.
pub(crate) fn run<'env, S: Spe, R>(
    place: &impl Place<S>,
    f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> R,
) -> R {
    let scope = Scope {
        state: ScopeOf::new(place),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let waited = wait(place, &scope.state);
    let panic = locked(&scope.state.panic).take();
    match (result, waited, panic) {
        (Ok(result), Ok(()), None) => result,
        (Err(panic), waited, other) => {
            discard(waited);
            discard(other);
            resume_unwind(panic)
        }
        (result, Err(panic), other) => {
            discard(result);
            discard(other);
            resume_unwind(panic)
        }
        (result, Ok(()), Some(panic)) => {
            discard(result);
            resume_unwind(panic)
        }
    }
}

/// Waits until all closures of a scope have ended. Fails after the wait if the run was cancelled,
/// but not if the caller is unwinding already.
pub(crate) fn wait<S: Spe>(place: &impl Place<S>, state: &ScopeOf<S>) -> Result<(), Payload> {
    // SAFETY: the owner of the scope calls this, on the thread that has made the scope.
    if unsafe { state.count.begin_to_wait() } {
        return Ok(());
    }
    place.wait_for(&"the tasks of its scope to end", WokenBy::Name, &mut || {
        state.count.is_zero()
    })
}
