//! A pool of workers, and the main program that uses it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use cellworks_machine::{Machine, Payload, Ppe, Processor, RunError, SpeId, StackError, Wake};

use crate::core::Core;
use crate::counters::{Counters, WorkerCounters};
use crate::error::TaskError;
use crate::job::Job;
use crate::node::Node;
use crate::phase::{self, Phase, Waits};
use crate::place::{self, sealed::Sealed};
use crate::room::MOST_QUEUED;
use crate::scope::{self, Scope};
use crate::shared::Shared;
use crate::sync::{Mutex, locked};
use crate::worker::Worker;

/// A pool of workers on the SPEs of a machine.
///
/// It is a value: a program may have several, one after the other, and none is global. Its workers
/// are started by [`run`](Self::run) and end with it.
pub struct Pool<'m, M: Machine> {
    machine: &'m M,
    workers: Option<usize>,
    staging: Staging,
    dicing: Option<usize>,
}

/// How many tasks a worker stages ahead of the one that it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staging {
    /// One more whenever a task has waited for its data for more than a twentieth of its time, and
    /// one less when tasks do not wait. None on a machine that is not [confined to local
    /// stores](cellworks_machine::Spe::is_confined_to_local_store).
    #[default]
    Automatic,
    /// This number, as far as there is room.
    Ahead(usize),
    /// None: a task waits for its data when it begins.
    Off,
}

/// A task that may be diced is diced when fewer tasks wait for each worker (section 4.7 of the
/// paper).
pub const DICING_THRESHOLD: usize = 16;

/// Why a pool did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// A pool needs a worker.
    #[error("a pool has at least 1 worker: ask for 1 to {spes}, as {machine} has {spes} SPEs")]
    NoWorkers {
        /// The machine's name.
        machine: String,
        /// How many SPEs it has.
        spes: usize,
    },
    /// Each worker has an SPE of its own.
    #[error(
        "{asked} workers were asked for, but {machine} has {spes} SPEs: ask for 1 to {spes} workers"
    )]
    TooManyWorkers {
        /// The machine's name.
        machine: String,
        /// How many SPEs it has.
        spes: usize,
        /// How many workers were asked for.
        asked: usize,
    },
    /// A worker's local store has no room for its threads.
    #[error("worker {worker} on {} cannot start: {source}", source.spe())]
    NoRoom {
        /// Its number.
        worker: usize,
        /// What had no room.
        source: StackError,
    },
    /// A task, or the main program, panicked, or all of them wait for each other.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl<'m, M: Machine> Pool<'m, M> {
    /// A pool with a worker on each SPE of a machine.
    pub fn new(machine: &'m M) -> Self {
        Self {
            machine,
            workers: None,
            staging: Staging::Automatic,
            dicing: Some(DICING_THRESHOLD),
        }
    }

    /// With this number of workers, on the first SPEs.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// How many tasks are staged ahead, in place of [`Staging::Automatic`].
    #[must_use]
    pub fn staging(mut self, staging: Staging) -> Self {
        self.staging = staging;
        self
    }

    /// Below how many tasks for each worker tasks are diced that [may be](crate::Task::diced), in
    /// place of [`DICING_THRESHOLD`]; `None` for never.
    #[must_use]
    pub fn dicing(mut self, threshold: Option<usize>) -> Self {
        self.dicing = threshold;
        self
    }

    /// Starts the workers, runs `main` on the PPE, and returns what it returns when the workers
    /// have ended.
    ///
    /// ```no_run
    /// # fn example<M: cellworks_machine::Machine>(machine: &M) -> Result<(), cellworks_tasks::PoolError> {
    /// use cellworks_tasks::Pool;
    ///
    /// let (a, b) = Pool::new(machine).run(|main| {
    ///     main.install(|worker| worker.join(|_| "both", |_| "at once"))
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`PoolError`] if the number of workers is wrong or they have no room, and if `main` or a
    /// task panics where nothing catches it, or all wait for each other.
    pub fn run<R>(&self, main: impl FnOnce(&Main<'_, M>) -> R) -> Result<R, PoolError> {
        self.run_counted(main).map(|(result, _)| result)
    }

    /// As [`run`](Self::run); says also what the workers have done.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_counted<R>(
        &self,
        main: impl FnOnce(&Main<'_, M>) -> R,
    ) -> Result<(R, Counters), PoolError> {
        let spes: Vec<SpeId> = self.machine.topology().spes().collect();
        let workers = self.workers.unwrap_or(spes.len());
        let machine = || self.machine.topology().name().to_owned();
        if workers == 0 {
            return Err(PoolError::NoWorkers {
                machine: machine(),
                spes: spes.len(),
            });
        }
        let Some(chosen) = spes.get(..workers) else {
            return Err(PoolError::TooManyWorkers {
                machine: machine(),
                spes: spes.len(),
                asked: workers,
            });
        };
        let (shared, queues) = Shared::new(chosen, self.staging, self.dicing);
        let no_room = Mutex::new(None);
        let counters = Mutex::new(vec![WorkerCounters::default(); workers]);
        let result = self.machine.run(|ppe: &Ppe<'_, '_, M>| {
            for (worker, queue) in queues.into_iter().enumerate() {
                let (shared, no_room, counters) = (&shared, &no_room, &counters);
                let program = move |spe: &M::Spe| {
                    let core = Core::new(spe, shared, worker, queue);
                    if let Err(source) = core.serve() {
                        locked(no_room).get_or_insert(PoolError::NoRoom { worker, source });
                    }
                    locked(counters)[worker] = core.counters.read();
                };
                drop(ppe.spawn(shared.workers[worker].spe, program));
            }
            let main_of = Main {
                core: ppe.core(),
                shared: &shared,
            };
            let result = catch_unwind(AssertUnwindSafe(|| main(&main_of)));
            shared.close(|processor| ppe.core().notify(processor));
            result.unwrap_or_else(|panic| resume_unwind(panic))
        });
        if let Some(error) = locked(&no_room).take() {
            return Err(error);
        }
        let workers = std::mem::take(&mut *locked(&counters));
        Ok((result?, Counters { workers }))
    }
}

/// The main program of a pool, on the PPE: it starts tasks and waits for them.
pub struct Main<'p, M: Machine> {
    core: &'p M::Core,
    shared: &'p Shared<M::Spe>,
}

impl<M: Machine> Main<'_, M> {
    /// The PPE that runs the main program: to compute, wait and know the time.
    pub fn ppe(&self) -> &M::Core {
        self.core
    }

    /// Runs `work` on a worker, and returns what it returns.
    ///
    /// # Panics
    ///
    /// With the panic of `work`.
    pub fn install<R: Send>(&self, work: impl FnOnce(&Worker<'_, M::Spe>) -> R + Send) -> R {
        let mut result = None;
        self.scope(|scope| scope.spawn(self, |worker| result = Some(work(worker))));
        result.expect("the scope has waited for it")
    }

    /// As [`Worker::scope`], for the main program.
    ///
    /// # Panics
    ///
    /// As [`Worker::scope`].
    pub fn scope<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, M::Spe>) -> R,
    ) -> R {
        scope::run(self, f)
    }

    /// Calls `f` with a phase, to which tasks can be submitted, and returns when all of them have
    /// ended. Tasks may borrow what lives longer than this call.
    ///
    /// # Errors
    ///
    /// The first failure of a task, else that of `f`. When a task has failed, those that have not
    /// begun do not run.
    ///
    /// # Panics
    ///
    /// With the panic of `f`.
    pub fn phase<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&'scope Phase<'scope, 'env, M::Spe>) -> Result<R, TaskError>,
    ) -> Result<R, TaskError> {
        phase::run(self, f)
    }
}

impl<M: Machine> Sealed<M::Spe> for Main<'_, M> {
    fn processor(&self) -> Processor {
        Processor::Ppe
    }

    fn pool(&self) -> usize {
        self.shared.id()
    }

    fn push(&self, job: Job<M::Spe>) {
        self.shared.push_fresh(job);
        self.shared
            .announce(0..self.shared.workers.len(), |processor| {
                self.core.notify(processor);
            });
    }

    #[inline]
    fn wait_for_room(&self) -> Result<(), Payload> {
        if self.shared.fresh.len() < MOST_QUEUED {
            return Ok(());
        }
        self.shared.wait_for_room(self)
    }

    fn notify(&self, to: Processor) {
        self.core.notify(to);
    }

    fn current_task(&self) -> Option<Arc<Node<M::Spe>>> {
        None
    }

    fn waits(&self) -> &Waits<M::Spe> {
        &self.shared.waits
    }

    #[track_caller]
    fn wait_for(
        &self,
        why: &dyn fmt::Display,
        done: &mut dyn FnMut() -> bool,
    ) -> Result<(), Payload> {
        place::wait_for(self.core, self.shared, why, done)
    }
}
