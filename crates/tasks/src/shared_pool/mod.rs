//! A pool that any thread of the process may use.
//!
//! ```text
//!   threads of the program                       an OS thread of the pool: `Pool::run`
//!   install, spawn ───► door ──── closures ────► workers
//!        └── waits for the answer ◄─────────────────┘
//!   end, drop ────────► door ──────────────────► main, which waits for all closures
//! ```
//!
//! Read this file first, then `door` (how closures come to the workers), `answer` (how a caller
//! waits), `here` (a caller that is a worker itself) and `ends` (pools that wait for each other).

mod answer;
mod door;
mod ends;
pub(crate) mod here;

use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::{self, Builder, JoinHandle};

use cellworks_machine::{Machine, PpeCore, Processor, RunError};

use crate::discard::discard;
use crate::place::WokenBy;
use crate::place::sealed::Sealed;
use crate::pool::panicked;
use crate::pool::{Main, Pool, PoolError};
use crate::shared::room::MOST_QUEUED;
use crate::shared_pool::answer::{Answer, Question};
use crate::shared_pool::door::{Closed, Door};
use crate::shared_pool::ends::WaitForEnd;
use crate::shared_pool::here::Here;
use crate::worker::Worker;

/// A pool that runs until it is ended, and that any thread of the process may use.
///
/// A static `SharedPool` is a pool for the whole program:
///
/// ```
/// use std::sync::LazyLock;
///
/// use cellworks_host::Host;
/// use cellworks_tasks::SharedPool;
///
/// static POOL: LazyLock<SharedPool<Host>> = LazyLock::new(|| {
///     let host = Host::new().expect("this computer has CPUs");
///     SharedPool::start(host, |pool| pool).expect("the system starts threads")
/// });
///
/// let answers: Vec<u64> = std::thread::scope(|threads| {
///     let ask = |n: u64| threads.spawn(move || POOL.install(|worker| worker.par_iter(0..n).sum()));
///     [10, 100].map(ask).map(|thread| thread.join().unwrap()).into()
/// });
/// assert_eq!(answers, [45, 4_950]);
/// ```
///
/// # Deadlocks
///
/// The machine reports no deadlock of the tasks of a `SharedPool`, because any thread may still
/// start a task for which the others wait. Tasks that wait for each other by a
/// [`Handle`](crate::Handle) are an error here, too, and so are pools whose tasks wait for each
/// other's [end](Self::end). A circle that leads through [`install`](Self::install) or another
/// thread is not found, and waits for ever.
pub struct SharedPool<M: Machine> {
    door: Arc<Door<M::Spe>>,
    started_at: &'static Location<'static>,
    /// The OS thread of the main program. `None` after it was joined.
    thread: Option<JoinHandle<Ended>>,
}

/// How the run of a pool has ended: its result, or a panic. If a task has dropped the pool, the OS
/// thread of the run drops this value, and a panic there would abort the process. So this value
/// forgives destructors that panic.
struct Ended(Option<thread::Result<Result<(), PoolError>>>);

impl Drop for Ended {
    fn drop(&mut self) {
        discard(self.0.take());
    }
}

impl<M: Machine + 'static> SharedPool<M> {
    /// Starts a pool on a machine. `settings` is given the pool to set the number of workers and
    /// more: `SharedPool::start(host, |pool| pool.workers(2))`.
    ///
    /// # Errors
    ///
    /// Returns [`PoolError::NoOutside`] if the machine is simulated or has local stores that tasks
    /// cannot leave, and the other errors that [`Pool::run`] returns when it starts.
    ///
    /// # Panics
    ///
    /// Passes on a panic of `settings`.
    #[track_caller]
    pub fn start(
        machine: M,
        settings: impl for<'m> FnOnce(Pool<'m, M>) -> Pool<'m, M> + Send + 'static,
    ) -> Result<Self, PoolError>
    where
        M: Send,
    {
        let door = Arc::new(Door::new());
        let program = {
            let door = Arc::clone(&door);
            move || {
                let run = || settings(Pool::new(&machine)).run(|main| serve(main, &door));
                let result = catch_unwind(AssertUnwindSafe(run));
                door.run_has_ended();
                Ended(Some(result.map(Result::flatten)))
            }
        };
        let at = Processor::Ppe;
        let started = Builder::new().name("cellworks pool".into()).spawn(program);
        let thread = started.map_err(|source| RunError::NoThread { at, source })?;
        let mut pool = Self {
            door,
            started_at: Location::caller(),
            thread: Some(thread),
        };
        if pool.door.wait_for_begin() == Err(Closed) {
            pool.join()?;
        }
        Ok(pool)
    }

    /// Runs `work` on a worker, and returns its result. Blocks the calling thread meanwhile.
    ///
    /// In a task of this pool, calls `work` at once with the worker of the task. In a task of
    /// another pool or a process of a network, blocks the OS thread with all its tasks.
    ///
    /// # Panics
    ///
    /// Passes on the panic of `work`. Panics if the run of the pool was cancelled, for example
    /// because the system gave no thread for a worker. Panics in a cooperative thread that a task
    /// of this pool has started, because the wait would block the worker: use the task's worker.
    #[track_caller]
    pub fn install<R: Send>(&self, work: impl FnOnce(&Worker<'_, M::Spe>) -> R + Send) -> R {
        if let Some(worker) = self.worker_here("install") {
            return work(worker);
        }
        let answer = Arc::new(Answer::new());
        let question = Question::new(work, Arc::clone(&answer));
        // SAFETY: `wait` returns after the closure was run or discarded.
        let started = unsafe { self.door.start(move |worker| question.run(worker)) };
        started.unwrap_or_else(|Closed| has_ended("install"));
        answer.wait().unwrap_or_else(|| has_ended("install"))
    }

    /// Starts `body` on a worker. The pool waits for it at its end.
    ///
    /// While thousands of closures are queued, this call waits until workers have taken those that
    /// were queued before.
    ///
    /// # Panics
    ///
    /// Panics if the run of the pool was cancelled. If `body` panics, [`end`](Self::end) returns
    /// [`PoolError::Panicked`], which names this call.
    #[track_caller]
    pub fn spawn(&self, body: impl FnOnce(&Worker<'_, M::Spe>) + Send + 'static) {
        if let Some(worker) = self.worker_here("spawn") {
            return worker
                .program()
                .shared
                .spawn(worker, "SharedPool::spawn", body);
        }
        let body = panicked::named("SharedPool::spawn", Location::caller(), body);
        // SAFETY: the closure borrows nothing.
        let queued = unsafe { self.door.start(body) };
        if queued.unwrap_or_else(|Closed| has_ended("spawn")) >= MOST_QUEUED {
            self.install(|_| ());
        }
    }

    /// Waits for all closures and ends the pool. Dropping the pool does the same, and loses the
    /// error.
    ///
    /// # Errors
    ///
    /// Returns the error of the run: see [`Pool::run`].
    ///
    /// # Panics
    ///
    /// Panics in a task of this pool, which would wait for itself. Panics in a task of another pool
    /// for whose end a task of this pool waits already, because neither pool would end. Dropping
    /// the pool does not wait in these two cases: the pool ends by itself, after its last task.
    #[track_caller]
    pub fn end(mut self) -> Result<(), PoolError> {
        assert!(
            !self.is_here(),
            "`SharedPool::end` was called in a task of the pool, and would wait for this task: call it in another \
             thread, or drop the pool, which does not wait here"
        );
        let waiting = self.wait_for_end().unwrap_or_else(|here| {
            panic!(
                "`SharedPool::end` was called for the pool that was started at {}, in a task of the pool that was started \
                 at {here}, for whose end a task of the first one waits already, so neither pool would end: call it \
                 where no task waits for the end, such as in `main`, or drop the pool, which does not wait here",
                self.started_at
            )
        });
        self.door.end();
        let result = self.join();
        drop(waiting);
        result
    }

    /// Returns the worker that runs the calling task, if it is a task of this pool.
    #[track_caller]
    fn worker_here(&self, call: &str) -> Option<&Worker<'_, M::Spe>> {
        let pool = self.door.pool().unwrap_or_else(|Closed| has_ended(call));
        match here::look(pool) {
            Here::Elsewhere => None,
            // SAFETY: the worker is one of the pool with this number, and only `Worker`s of this
            // pool have the number, because the door was open. So the type is right. The worker
            // exists as long as its job, which is the caller.
            Here::Worker(worker) => Some(unsafe { &*worker.cast::<Worker<'_, M::Spe>>() }),
            Here::Thread => panic!(
                "`SharedPool::{call}` was called in a cooperative thread that a task of the pool has started, or in a \
                 filter, and would block a worker of the pool: use the worker that the task was given"
            ),
        }
    }
}

impl<M: Machine> SharedPool<M> {
    /// Returns whether the calling thread is on an OS thread of the pool, which cannot wait for its
    /// end.
    fn is_here(&self) -> bool {
        self.door.running_pool().is_some_and(here::is_of)
    }

    /// Records that the calling thread waits for the end of the pool, if tasks of it may run.
    /// Returns the line of [`WaitForEnd::begin`] if it would wait for ever.
    fn wait_for_end(&self) -> Result<Option<WaitForEnd>, &'static Location<'static>> {
        let pool = self.door.running_pool();
        pool.map(|pool| WaitForEnd::begin(pool, self.started_at))
            .transpose()
    }

    fn join(&mut self) -> Result<(), PoolError> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        let ended = thread.join();
        let mut ended = ended.unwrap_or_else(|panic| resume_unwind(panic));
        let result = ended.0.take().expect("nothing else takes the result");
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<M: Machine> Drop for SharedPool<M> {
    fn drop(&mut self) {
        self.door.end();
        // A task that drops the pool would wait for itself.
        if !self.is_here()
            && let Some(thread) = self.thread.take()
            && let Ok(_waiting) = self.wait_for_end()
        {
            drop(thread.join());
        }
    }
}

impl<M: Machine> fmt::Debug for SharedPool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPool").finish_non_exhaustive()
    }
}

/// The main program of a shared pool: lets threads in until the pool is ended.
fn serve<M: Machine>(main: &Main<'_, M>, door: &Door<M::Spe>) -> Result<(), PoolError> {
    let outside = main.ppe().outside().ok_or_else(|| PoolError::NoOutside {
        machine: main.ppe().topology().name().to_owned(),
    })?;
    // For all threads that may come, so that the machine reports no deadlock before.
    outside.admit();
    let _listed = here::Listed::without_worker(main.shared().number);
    // SAFETY: the door is closed below, in each case, while `main` exists.
    unsafe { door.open(main.shared(), Arc::clone(&outside)) };
    let wait = || {
        main.wait(&"the end of the pool", WokenBy::Notification, &mut || {
            door.is_ended()
        })
    };
    let waited = catch_unwind(AssertUnwindSafe(wait));
    door.close();
    outside.dismiss();
    waited
        .map(|_| Ok(()))
        .unwrap_or_else(|panic| resume_unwind(panic))
}

#[track_caller]
fn has_ended(call: &str) -> ! {
    panic!(
        "`SharedPool::{call}` was called on a pool whose run was cancelled: `SharedPool::end` returns the reason"
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use cellworks_host::Host;

    use super::*;

    /// The door is as after a run that was cancelled.
    #[test]
    fn a_pool_whose_run_was_cancelled_refuses_calls() {
        let pool = SharedPool::<Host> {
            door: Arc::new(Door::new()),
            started_at: Location::caller(),
            thread: None,
        };
        pool.door.run_has_ended();
        let refused = |call: &str, message: Box<dyn std::any::Any + Send>| {
            let expected = format!(
                "`SharedPool::{call}` was called on a pool whose run was cancelled: `SharedPool::end` returns the reason"
            );
            assert_eq!(message.downcast_ref(), Some(&expected));
        };
        let install = || pool.install(|_| ());
        refused(
            "install",
            catch_unwind(AssertUnwindSafe(install)).unwrap_err(),
        );
        let spawn = || pool.spawn(|_| ());
        refused("spawn", catch_unwind(AssertUnwindSafe(spawn)).unwrap_err());
    }

    /// A run that was cancelled unwinds its tasks, which drop the handles that they have.
    #[test]
    fn a_task_of_a_cancelled_run_does_not_wait_for_the_end_of_the_run() {
        let pool = SharedPool::<Host> {
            door: Arc::new(Door::new()),
            started_at: Location::caller(),
            thread: None,
        };
        let host = Host::new().unwrap();
        let in_run = |main: &Main<'_, Host>| {
            let outside = main.ppe().outside().unwrap();
            // SAFETY: the door is closed below, and no closure comes in before.
            unsafe { pool.door.open(main.shared(), outside) };
            pool.door.close();
            assert!(!pool.is_here());
            let _listed = here::Listed::without_worker(main.shared().number);
            assert!(pool.is_here());
        };
        Pool::new(&host).run(in_run).unwrap();
    }

    /// A closure that a cancelled run drops.
    #[test]
    fn a_dropped_question_has_no_answer() {
        let answer = Arc::new(Answer::<u32>::new());
        drop(Question::new(|| 1_u32, Arc::clone(&answer)));
        assert_eq!(answer.wait(), None);
    }
}
