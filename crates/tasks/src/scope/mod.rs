//! Scopes, which start closures one by one.
//!
//! ```text
//!   Scope::spawn(closure) ──► count: one more ──► queue ──► a worker runs the closure
//!   end of the scope: waits until the count is 0  ◄──────── counts its end, with others at once
//! ```
//!
//! Read this file first, then `closure` (a closure of any type in a queue), `state` (what a scope
//! and its closures share) and `count` (the closures that have not ended).

pub(crate) mod closure;
pub(crate) mod count;
pub(crate) mod state;

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use cellworks_machine::{Cancelled, Payload, Spe};
use crossbeam_utils::CachePadded;

use crate::discard::discard;
use crate::phase::node::ScopeOf;
use crate::place::{Place, WokenBy};
use crate::pool::panicked;
use crate::scope::closure::Closure;
use crate::scope::count::Count;
use crate::shared::Shared;
use crate::shared::job::{Job, Spawned};
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

    /// Panics if `from` is a place of another pool.
    #[track_caller]
    #[inline]
    pub(crate) fn assert_of_pool(&self, from: &impl Place<S>) {
        assert!(
            from.pool() == self.pool,
            "a task was started from a worker of another pool: name the worker that the caller was handed by the pool \
             of this scope"
        );
    }

    /// Counts a task that is about to be started. Panics if `from` is a place of another pool.
    #[track_caller]
    #[inline]
    pub(crate) fn start(&self, from: &impl Place<S>) {
        self.assert_of_pool(from);
        if from.processor() == self.owner {
            // SAFETY: `from` is on the owner's processor, and a place never changes its processor.
            unsafe { self.count.start_by_owner() };
        } else {
            self.count.start();
        }
    }

    /// Starts a closure on any worker, or on the worker with the number `only_on`.
    ///
    /// # Safety
    ///
    /// Values that `body` borrows, and this scope, live until all closures of the scope have run or
    /// were discarded.
    #[inline]
    #[track_caller]
    unsafe fn spawn<F>(&self, from: &impl Place<S>, only_on: Option<usize>, body: F)
    where
        F: FnOnce(&Worker<'_, S>) + Send,
    {
        if let Err(cancelled) = from.catch_up() {
            discard(body);
            resume_unwind(cancelled);
        }
        // This may panic, and a `Closure` would be leaked.
        self.start(from);
        // SAFETY: by the contract of this function.
        let body = unsafe { Closure::new(body) };
        let job = Job::Spawned(Spawned { scope: self, body });
        match only_on {
            None => from.push(job),
            Some(worker) => from.push_to(worker, job),
        }
        if let Err(cancelled) = from.wait_for_room() {
            resume_unwind(cancelled);
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
        unsafe { self.state.spawn(from, None, body) };
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

    /// Calls `f` once on each worker, and returns the results in the order of the workers' numbers.
    /// A worker calls `f` when it has no other closure in its own queue.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn names<S: Spe>(worker: &Worker<'_, S>) -> Vec<String> {
    ///     worker.broadcast(|worker| format!("worker {} on {}", worker.number(), worker.spe().id()))
    /// }
    /// # use cellworks_machine::Machine;
    /// # let host = cellworks_host::Host::builder().spes(2).build().unwrap();
    /// # let names = cellworks_tasks::Pool::new(&host).run(|main| main.install(|w| names(w)));
    /// # assert_eq!(names.unwrap(), ["worker 0 on SPE 0", "worker 1 on SPE 1"]);
    /// ```
    ///
    /// # Panics
    ///
    /// After all calls have ended, passes on the first panic of `f`.
    pub fn broadcast<R: Send>(&self, f: impl Fn(&Worker<'_, S>) -> R + Sync) -> Vec<R> {
        let mut results: Vec<Option<R>> = (0..self.workers()).map(|_| None).collect();
        let calls = self.guarded(|| {
            self.scope(|scope| {
                for (number, result) in results.iter_mut().enumerate() {
                    let call = |worker: &Worker<'_, S>| *result = Some(f(worker));
                    // SAFETY: as in `Scope::spawn`, and the results and `f` outlive the scope.
                    unsafe { scope.state.spawn(self, Some(number), call) };
                }
            })
        });
        if let Err(panic) = calls {
            results.into_iter().for_each(discard);
            discard(f);
            resume_unwind(panic);
        }
        let results: Option<Vec<R>> = results.into_iter().collect();
        // Only a cancelled run drops a closure, and then it unwinds its programs.
        results.unwrap_or_else(|| resume_unwind(Box::new(Cancelled)))
    }

    /// Starts `body` on any worker, in no scope. [`Pool::run`](crate::Pool::run) waits for it at its
    /// end.
    ///
    /// While thousands of closures are queued, this call waits like
    /// [`Scope::spawn`].
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn log<S: Spe>(worker: &Worker<'_, S>, text: String) {
    ///     worker.spawn(move |_| eprintln!("{text}"));
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the run is cancelled while this call waits. If `body` panics, `Pool::run` returns
    /// [`PoolError::Panicked`](crate::PoolError::Panicked) after all closures have ended.
    #[track_caller]
    pub fn spawn(&self, body: impl FnOnce(&Worker<'_, S>) + Send + 'static) {
        let shared = self.program().shared;
        shared.spawn(self, "Worker::spawn", body);
    }
}

impl<S: Spe> Shared<S> {
    /// Starts a closure in the scope of the pool. `call` is the method that was given the closure.
    #[track_caller]
    pub(crate) fn spawn<F>(&self, from: &impl Place<S>, call: &'static str, body: F)
    where
        F: FnOnce(&Worker<'_, S>) + Send + 'static,
    {
        let body = panicked::named(call, Location::caller(), body);
        // SAFETY: the closure borrows nothing. `Pool::run` keeps the scope, and returns only when
        // every closure of it was run or discarded.
        unsafe { self.scope().spawn(from, None, body) };
    }

    /// Returns the scope of closures that belong to no other scope.
    pub(crate) fn scope(&self) -> &ScopeOf<S> {
        let scope = self.scope.get();
        scope.expect("the main program makes the scope before any closure is started")
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
    end(place, &scope.state, result).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Waits for the closures of a scope, whose program has returned `result`. Returns the panic of the
/// program, of the wait or of a closure, in this order, or the result.
pub(crate) fn end<S: Spe, R>(
    place: &impl Place<S>,
    state: &ScopeOf<S>,
    result: Result<R, Payload>,
) -> Result<R, Payload> {
    let waited = wait(place, state);
    let panic = locked(&state.panic).take();
    match (result, waited, panic) {
        (Ok(result), Ok(()), None) => Ok(result),
        (Err(panic), waited, other) => {
            discard(waited);
            discard(other);
            Err(panic)
        }
        (result, Err(panic), other) => {
            discard(result);
            discard(other);
            Err(panic)
        }
        (result, Ok(()), Some(panic)) => {
            discard(result);
            Err(panic)
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
