//! A pool of workers, and the main program that uses the pool.
//!
//! ```text
//!   Pool ── run ──► Shared: what the workers share
//!                     ├── on each SPE: WorkerProgram, which counts what it does
//!                     └── on the PPE: Main, the main program
//! ```
//!
//! `settings` is what a program may choose, `counters` what [`Pool::run_counted`] returns, and
//! `panicked` a panic of a closure with the call that started it.

pub(crate) mod counters;
pub(crate) mod panicked;
pub(crate) mod settings;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::{fmt, ptr};

use cellworks_machine::memory::AllocateError;
use cellworks_machine::{
    Cancelled, Flows, Machine, PanicPayload, Payload, Ppe, PpeCore, Processor, RunError, Sleeper,
    SpeId, StackError, StageError, Wait, Wake,
};

use crate::discard::discard;
use crate::elsewhere::UsableElsewhere;
use crate::error::TaskError;
use crate::phase::node::{CurrentTask, ScopeOf};
use crate::phase::waits::Waits;
use crate::phase::{self, Phase};
use crate::place::WokenBy;
use crate::place::sealed::Sealed;
use crate::pool::counters::{Counters, WorkerCounters, parties};
use crate::pool::panicked::Panicked;
use crate::pool::settings::{DICING_THRESHOLD, Scheduler, Staging};
use crate::scope::{self, Scope};
use crate::shared::job::Job;
use crate::shared::room::MOST_QUEUED;
use crate::shared::{Destination, Shared};
use crate::sync::{Mutex, locked};
use crate::three_level::{
    BUFFER_TASKS, Filter, MainDoor, PendingTask, Queues, Sides, SidesOfCell, WorkerDoor,
};
use crate::worker::Worker;
use crate::worker::program::WorkerProgram;

/// A pool of workers on the SPEs of a machine. [`run`](Self::run) starts and ends the workers.
pub struct Pool<'m, M: Machine> {
    machine: &'m M,
    workers: Option<usize>,
    places: Option<Vec<SpeId>>,
    scheduler: Scheduler,
    staging: Staging,
    dicing: Option<usize>,
    /// Whether the program has called `dicing`.
    dices_as_asked: bool,
    filters: Vec<Filter<'m>>,
}

/// The error of [`Pool::run`].
#[derive(thiserror::Error)]
pub enum PoolError {
    /// A pool needs at least one worker.
    #[error("a pool has at least 1 worker: ask for 1 to {spes}, as {machine} has {spes} SPEs")]
    NoWorkers {
        /// The name of the machine.
        machine: String,
        /// The number of SPEs of the machine.
        spes: usize,
    },
    /// The program asked for more workers than the machine has SPEs.
    #[error(
        "{asked} workers were asked for, but {machine} has {spes} SPEs: ask for 1 to {spes} workers"
    )]
    TooManyWorkers {
        /// The name of the machine.
        machine: String,
        /// The number of SPEs of the machine.
        spes: usize,
        /// The number of workers that the program asked for.
        asked: usize,
    },
    /// The placement has another number of SPEs than the pool has workers.
    #[error(
        "the placement has an SPE for {spes} workers, but the pool has {workers}: give one SPE for each of them"
    )]
    Placed {
        /// The number of SPEs in the placement.
        spes: usize,
        /// The number of workers.
        workers: usize,
    },
    /// The placement has an SPE for two workers.
    #[error(
        "the placement has worker {first} and worker {second} on {spe}: each worker has an SPE of its own"
    )]
    SharedSpe {
        /// The SPE.
        spe: SpeId,
        /// The number of the first worker on the SPE.
        first: usize,
        /// The number of the second worker on the SPE.
        second: usize,
    },
    /// A worker's local store has no room for its threads.
    #[error("worker {worker} on {} cannot start: {source}", source.spe())]
    NoRoom {
        /// The number of the worker.
        worker: usize,
        /// The stack for which the local store has no room.
        source: StackError,
    },
    /// The scheduler needs features that only a Cell has.
    #[error(
        "the scheduler {scheduler:?} needs the MFCs of a Cell, and {machine} is no Cell: use `Scheduler::Stealing`"
    )]
    NotACell {
        /// The name of the machine.
        machine: String,
        /// The scheduler that the program chose.
        scheduler: Scheduler,
    },
    /// The scheduler lacks a feature that the program has chosen.
    #[error(
        "the scheduler {scheduler:?} has no {what}: use `Scheduler::{instead:?}`, or do without"
    )]
    NotOffered {
        /// The scheduler that the program chose.
        scheduler: Scheduler,
        /// The missing feature.
        what: &'static str,
        /// A scheduler that offers the feature.
        instead: Scheduler,
    },
    /// Threads outside the machine cannot use a pool on this machine.
    #[error(
        "other threads cannot use a pool on {machine}, whose tasks have their own time or data in local stores: use \
         `Pool::run`"
    )]
    NoOutside {
        /// The name of the machine.
        machine: String,
    },
    /// Main memory has no room for the queues of the scheduler.
    #[error("the queues of tasks cannot be allocated: {0}")]
    NoMemory(#[from] AllocateError),
    /// A local store has no room for copies of the queues and for the code of a task.
    #[error(
        "worker {worker} on {} cannot start: the scheduler needs room for its queues and for the code of a task, \
         which `Scheduler::Stealing` does not: {source}",
        source.spe()
    )]
    NoRoomForQueues {
        /// The number of the worker.
        worker: usize,
        /// The error of the local store.
        source: StageError,
    },
    /// A closure that was given to the pool panicked, and the program did not catch the panic.
    #[error("a closure given to `{call}` at {at} panicked: {payload}")]
    Panicked {
        /// The method that was given the closure, such as `SharedPool::spawn`.
        call: &'static str,
        /// The line of the call.
        at: &'static Location<'static>,
        /// The payload of the panic.
        payload: PanicPayload,
    },
    /// A task or the main program panicked, or all programs wait for each other.
    #[error(transparent)]
    Run(#[from] RunError),
}

cellworks_machine::debug_by_display!(PoolError);

impl<'m, M: Machine> Pool<'m, M> {
    /// Returns a pool with a worker on each SPE of a machine.
    pub fn new(machine: &'m M) -> Self {
        Self {
            machine,
            workers: None,
            places: None,
            scheduler: Scheduler::Stealing,
            staging: Staging::Automatic,
            dicing: Some(DICING_THRESHOLD),
            dices_as_asked: false,
            filters: Vec::new(),
        }
    }

    /// Sets the number of workers, which run on the first SPEs of the machine.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the SPE of each worker: that of worker 0, of worker 1 and so on. Without
    /// [`workers`](Self::workers), there are as many workers as SPEs in `spes`.
    ///
    /// ```
    /// use cellworks_machine::{Machine, Spe, SpeId};
    /// use cellworks_tasks::Pool;
    ///
    /// fn on_the_last<M: Machine>(machine: &M) -> SpeId {
    ///     let last = machine.topology().spes().last().expect("a machine has an SPE");
    ///     let pool = Pool::new(machine).place([last]);
    ///     pool.run(|main| main.install(|worker| worker.spe().id())).unwrap()
    /// }
    /// # let host = cellworks_host::Host::builder().spes(2).build().unwrap();
    /// # assert_eq!(on_the_last(&host), SpeId::new(1));
    /// ```
    ///
    /// # Panics
    ///
    /// [`run`](Self::run) panics if the machine does not have one of the SPEs.
    #[must_use]
    pub fn place(mut self, spes: impl IntoIterator<Item = SpeId>) -> Self {
        self.places = Some(spes.into_iter().collect());
        self
    }

    /// Sets the scheduler for the tasks of phases. The default is [`Scheduler::Stealing`].
    #[must_use]
    pub fn scheduler(mut self, scheduler: Scheduler) -> Self {
        self.scheduler = scheduler;
        self
    }

    /// Adds a filter, a function that may reorder or drop waiting tasks. Only
    /// [`Scheduler::ThreeLevel`] supports filters. Whenever tasks have come to the reorder buffer,
    /// the PPE calls each filter with all tasks of the buffer, ordered by priority.
    ///
    /// A dropped task does not run. If another task comes after it, or a program waits for it, the
    /// phase ends with [`TaskError::DroppedByFilter`]. If a filter panics, filters are not called
    /// again, and the phase panics at its end.
    ///
    /// ```
    /// use cellworks_machine::Machine;
    /// use cellworks_tasks::{Pool, Scheduler};
    ///
    /// /// A pool that runs drawing before anything else, and no debug output at all.
    /// fn pool<M: Machine>(machine: &M) -> Pool<'_, M> {
    ///     Pool::new(machine).scheduler(Scheduler::ThreeLevel).filter(|pending| {
    ///         pending.retain(|task| task.name() != "debug");
    ///         pending.sort_by_key(|task| task.name() != "draw");
    ///     })
    /// }
    /// ```
    #[must_use]
    pub fn filter(mut self, filter: impl Fn(&mut Vec<PendingTask<'_>>) + 'm) -> Self {
        self.filters.push(Box::new(filter));
        self
    }

    /// Sets how many tasks are staged ahead. The default is [`Staging::Automatic`].
    #[must_use]
    pub fn staging(mut self, staging: Staging) -> Self {
        self.staging = staging;
        self
    }

    /// Sets the threshold for dicing, or disables dicing with `None`. If the number of waiting
    /// tasks per worker is less than `threshold`, tasks that [may be diced](crate::Task::diced) are
    /// split into parts. The default is [`DICING_THRESHOLD`].
    ///
    /// A part with less than 1/65,536 of the pieces of its task is not split again, because with
    /// a high threshold the pool would otherwise split a long range into single numbers.
    /// [`Scheduler::ThreeLevel`] does not split tasks while 1,024 tasks wait, because its reorder
    /// buffer holds no more.
    #[must_use]
    pub fn dicing(mut self, threshold: Option<usize>) -> Self {
        self.dicing = threshold;
        self.dices_as_asked = true;
        self
    }

    /// Starts the workers, runs `main` on the PPE, ends the workers, and returns the result of
    /// `main`.
    ///
    /// ```
    /// use cellworks_machine::Machine;
    /// use cellworks_tasks::{Pool, PoolError};
    ///
    /// fn greet<M: Machine>(machine: &M) -> Result<(&str, &str), PoolError> {
    ///     Pool::new(machine).run(|main| {
    ///         main.install(|worker| worker.join(|_| "both", |_| "at once"))
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`PoolError`] in these cases:
    ///
    /// - The number of workers or their placement is wrong, or the local store or main memory has
    ///   no room.
    /// - The scheduler needs a Cell, and the machine is not a Cell.
    /// - The scheduler does not offer a chosen feature.
    /// - A closure that was given to the pool panics, and the program does not catch the panic.
    /// - `main` panics.
    /// - `main` and all tasks wait for each other.
    pub fn run<R>(&self, main: impl FnOnce(&Main<'_, M>) -> R) -> Result<R, PoolError> {
        self.run_and_count(false, main).map(|(result, _)| result)
    }

    /// Does the same as [`run`](Self::run), and also returns counts of the workers' actions.
    ///
    /// # Errors
    ///
    /// See [`run`](Self::run).
    pub fn run_counted<R>(
        &self,
        main: impl FnOnce(&Main<'_, M>) -> R,
    ) -> Result<(R, Counters), PoolError> {
        self.run_and_count(true, main)
    }

    fn run_and_count<R>(
        &self,
        counts_bytes: bool,
        main: impl FnOnce(&Main<'_, M>) -> R,
    ) -> Result<(R, Counters), PoolError> {
        let spes: Vec<SpeId> = self.machine.topology().spes().collect();
        let places = self.places.as_ref().unwrap_or(&spes);
        let workers = self.workers.unwrap_or(places.len());
        let machine = || self.machine.topology().name().to_owned();
        if workers == 0 {
            return Err(PoolError::NoWorkers {
                machine: machine(),
                spes: spes.len(),
            });
        }
        if workers > spes.len() {
            return Err(PoolError::TooManyWorkers {
                machine: machine(),
                spes: spes.len(),
                asked: workers,
            });
        }
        self.check_places(workers)?;
        let chosen = &places[..workers];
        self.check_offer()?;
        let (sides, central) = self.central(chosen)?.unzip();
        let is_mars = self.scheduler == Scheduler::Mars;
        let staging = if is_mars { Staging::Off } else { self.staging };
        let (shared, queues) = Shared::new(
            self.machine.topology(),
            chosen,
            staging,
            self.dicing,
            central,
            counts_bytes,
        );
        let enough = self
            .dicing
            .map(|threshold| threshold.saturating_mul(workers).min(BUFFER_TASKS));
        let no_room = Mutex::new(None);
        let counters = Mutex::new((vec![WorkerCounters::default(); workers], Vec::new()));
        let result = self.machine.run(|ppe: &Ppe<'_, '_, M>| {
            for (worker, queue) in queues.into_iter().enumerate() {
                let (shared, no_room, counters) = (&shared, &no_room, &counters);
                let of_worker = sides.as_ref().map(|sides| sides.of_worker);
                let program = move |spe: &M::Spe| {
                    let central = of_worker.zip(shared.central.as_ref());
                    let central = central.map(|(of_worker, queues)| of_worker(spe, queues));
                    let central = match central.transpose() {
                        Ok(central) => WorkerDoor::new(central),
                        Err(source) => {
                            let error = PoolError::NoRoomForQueues { worker, source };
                            locked(no_room).get_or_insert(error);
                            return;
                        }
                    };
                    let program = WorkerProgram::new(spe, shared, worker, queue, central);
                    if let Err(source) = program.serve() {
                        locked(no_room).get_or_insert(PoolError::NoRoom { worker, source });
                    }
                    let (of_workers, flows) = &mut *locked(counters);
                    of_workers[worker] = program.counters.read();
                    flows.extend(program.counters.flows(worker));
                };
                let spe = shared.workers[worker].spe;
                drop(ppe.spawn_named(spe, "a worker of the pool", program));
            }
            let main_of = Main {
                core: ppe.core(),
                shared: &shared,
                started: Cell::new(0),
                installed: Cell::new(None),
                central: MainDoor::new(sides.as_ref().zip(shared.central.as_ref()).map(
                    |(sides, queues)| (sides.of_main)(ppe.core(), queues, enough, &self.filters),
                )),
            };
            let scope = shared.scope.get_or_init(|| ScopeOf::new(&main_of));
            let result = catch_unwind(AssertUnwindSafe(|| main(&main_of)));
            let result = scope::end(&main_of, scope, result);
            shared.close(|processor| ppe.core().notify(processor));
            result.or_else(|panic| {
                main_of
                    .named(panic)
                    .map(Err)
                    .unwrap_or_else(|p| resume_unwind(p))
            })
        });
        if let Some(error) = locked(&no_room).take() {
            return Err(error);
        }
        let (workers, flows) = std::mem::take(&mut *locked(&counters));
        let scheduler = shared.central.as_ref().map(Queues::counters);
        let counters = Counters {
            workers,
            scheduler: scheduler.unwrap_or_default(),
            flows: Flows::new(parties(shared.workers.iter().map(|seat| seat.spe)), flows),
        };
        let result = result?.map_err(|Panicked { call, at, payload }| {
            let payload = payload.into();
            PoolError::Panicked { call, at, payload }
        });
        Ok((result?, counters))
    }

    fn check_places(&self, workers: usize) -> Result<(), PoolError> {
        let Some(places) = &self.places else {
            return Ok(());
        };
        if places.len() != workers {
            return Err(PoolError::Placed {
                spes: places.len(),
                workers,
            });
        }
        let has = self.machine.topology().spes().len();
        for (second, spe) in places.iter().enumerate() {
            assert!(spe.index() < has, "{spe} of {has} SPEs");
            if let Some(first) = places[..second].iter().position(|other| other == spe) {
                let spe = *spe;
                return Err(PoolError::SharedSpe { spe, first, second });
            }
        }
        Ok(())
    }

    fn check_offer(&self) -> Result<(), PoolError> {
        let scheduler = self.scheduler;
        let no = |what, instead| {
            Err(PoolError::NotOffered {
                scheduler,
                what,
                instead,
            })
        };
        let is_mars = scheduler == Scheduler::Mars;
        if is_mars && self.dices_as_asked && self.dicing.is_some() {
            return no("dicing", Scheduler::ThreeLevel);
        }
        if is_mars && matches!(self.staging, Staging::Ahead(1..)) {
            return no("staging ahead", Scheduler::ThreeLevel);
        }
        if scheduler != Scheduler::ThreeLevel && !self.filters.is_empty() {
            return no("filters", Scheduler::ThreeLevel);
        }
        Ok(())
    }

    /// Makes the queues in main memory, or returns `None` if the scheduler has none.
    fn central(&self, workers: &[SpeId]) -> Result<Option<Central<M>>, PoolError> {
        if self.scheduler == Scheduler::Stealing {
            return Ok(None);
        }
        let not_a_cell = || PoolError::NotACell {
            machine: self.machine.topology().name().to_owned(),
            scheduler: self.scheduler,
        };
        let sides = self.machine.on_cell(SidesOfCell).ok_or_else(not_a_cell)?;
        let queues = (sides.queues)(self.machine, self.scheduler, workers)?;
        Ok(Some((sides, queues)))
    }
}

/// The number of started closures or tasks after which the main program checks for room.
const STARTS_PER_LOOK: usize = 64;

/// The queues in main memory, and the constructors of the types that access them.
type Central<M> = (Sides<M>, Queues<<M as Machine>::Spe>);

/// The main program of a pool. It runs on the PPE and starts tasks. A value of this type cannot
/// leave its thread:
///
/// ```compile_fail,E0277
/// use cellworks_machine::Machine;
/// use cellworks_tasks::Main;
///
/// fn program<M: Machine<Core: Sync>>(main: &Main<'_, M>) {
///     main.scope(|scope| {
///         scope.spawn(main, |_| main.install(|_| ()));
///     });
/// }
/// ```
pub struct Main<'p, M: Machine> {
    core: &'p M::Core,
    shared: &'p Shared<M::Spe>,
    /// The number of closures that the main program has started.
    started: Cell<usize>,
    /// The last panic with a text that `install` has passed on: the call, and the panic.
    installed: Cell<Option<(&'static Location<'static>, Passed)>>,
    central: MainDoor<'p, M::Spe>,
}

// Scopes count tasks of the PPE without atomic operations.
//
// SAFETY: no type implements `UsableElsewhere`, so no `Main` is `Sync`.
unsafe impl<M: Machine> Sync for Main<'_, M> where Self: UsableElsewhere {}

/// What identifies a [marked](marked) panic: its address, and its text. A panic that the program
/// has caught and dropped may have had the address of a later one.
type Passed = (*const (), String);

/// Returns the payload of a panic in a form that no other panic has, if the payload is a text.
fn marked(payload: Payload) -> Payload {
    match payload.downcast::<String>() {
        Ok(text) => {
            let mut copy = String::with_capacity(marked_capacity(&text));
            copy.push_str(&text);
            Box::new(copy)
        }
        Err(payload) => match payload.downcast::<&'static str>() {
            Ok(text) => Box::new(marked_text(&text)),
            Err(payload) => payload,
        },
    }
}

/// The capacity of a marked text. A text that a panic has formatted has less, because a `String`
/// that grows has at most the double capacity, and 8 at least.
fn marked_capacity(text: &str) -> usize {
    3 * text.len() + 16
}

/// Copies of constant texts, which live for ever: a program has few constant texts of panics. A
/// mutex of std, because that of models cannot be a constant.
static TEXTS: std::sync::Mutex<BTreeSet<&'static str>> = std::sync::Mutex::new(BTreeSet::new());

fn marked_text(text: &'static str) -> &'static str {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(copy) = texts.get(text) {
        return copy;
    }
    let copy: &'static str = String::leak(text.to_owned());
    texts.insert(copy);
    copy
}

fn is_marked_text(text: &'static str) -> bool {
    let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.get(text).is_some_and(|copy| ptr::eq(*copy, text))
}

/// Returns what identifies a marked panic. Returns `None` for another one.
fn passed(payload: &Payload) -> Option<Passed> {
    let formatted = payload.downcast_ref::<String>();
    let formatted = formatted.filter(|text| text.capacity() == marked_capacity(text));
    let constant = payload.downcast_ref::<&'static str>();
    let constant = constant.filter(|text| is_marked_text(text));
    let text = formatted.cloned().or(constant.map(ToString::to_string))?;
    Some((ptr::from_ref(&**payload).cast(), text))
}

impl<M: Machine> Main<'_, M> {
    /// Returns the PPE, with which the main program computes, waits and reads the clock.
    ///
    /// With [`Scheduler::ThreeLevel`] the main program brings tasks to the workers while it waits
    /// in a method of this crate. So it must not wait for a task by a method of the PPE.
    pub fn ppe(&self) -> &M::Core {
        self.core
    }

    /// Returns the call of the closure from which a panic of the main program comes, or the panic
    /// if it is the main program's own.
    fn named(&self, panic: Payload) -> Result<Panicked, Payload> {
        let payload = match panic.downcast::<Panicked>() {
            Ok(panicked) => return Ok(*panicked),
            Err(payload) => payload,
        };
        match self.installed.take() {
            Some((at, installed)) if passed(&payload).is_some_and(|it| it == installed) => {
                let call = "Main::install";
                Ok(Panicked { call, at, payload })
            }
            _ => Err(payload),
        }
    }

    pub(crate) fn shared(&self) -> &Shared<M::Spe> {
        self.shared
    }

    /// Runs `work` on a worker, and returns its result.
    ///
    /// # Panics
    ///
    /// Passes on the panic of `work`. If the main program does not catch it, the run of the pool
    /// returns [`PoolError::Panicked`], or [`PoolError::Run`] if the payload of the panic is no
    /// text.
    #[track_caller]
    pub fn install<R: Send>(&self, work: impl FnOnce(&Worker<'_, M::Spe>) -> R + Send) -> R {
        let mut result = None;
        let at = Location::caller();
        let install =
            || self.scope(|scope| scope.spawn(self, |worker| result = Some(work(worker))));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(install)) {
            let panic = marked(panic);
            self.installed.set(passed(&panic).map(|panic| (at, panic)));
            discard(result);
            resume_unwind(panic);
        }
        // Only a cancelled run drops a closure, and then it unwinds its programs.
        result.unwrap_or_else(|| resume_unwind(Box::new(Cancelled)))
    }

    /// Starts `body` on any worker, in no scope: see [`Worker::spawn`].
    ///
    /// # Panics
    ///
    /// See [`Worker::spawn`].
    #[track_caller]
    pub fn spawn(&self, body: impl FnOnce(&Worker<'_, M::Spe>) + Send + 'static) {
        self.shared.spawn(self, "Main::spawn", body);
    }

    /// Does the same as [`Worker::scope`], for the main program.
    ///
    /// # Panics
    ///
    /// See [`Worker::scope`].
    pub fn scope<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, M::Spe>) -> R,
    ) -> R {
        scope::run(self, f)
    }

    /// Calls `f` with a phase, and returns when all tasks that were submitted to the phase have
    /// ended. Tasks may borrow values that outlive this call.
    ///
    /// # Errors
    ///
    /// Returns the first failure of a task, after which no task began. If no task failed, returns
    /// the error of `f`.
    ///
    /// # Panics
    ///
    /// Passes on the panic of `f`.
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

    fn sleeper(&self) -> Sleeper {
        self.core.sleeper()
    }

    fn pool(&self) -> usize {
        self.shared.id()
    }

    #[inline]
    fn catch_up(&self) -> Result<(), Payload> {
        catch_unwind(AssertUnwindSafe(|| self.core.catch_up()))
    }

    fn push(&self, job: Job<M::Spe>) {
        let Err(job) = self.central.post(job) else {
            return;
        };
        self.shared
            .push_fresh(job, |processor| self.core.notify(processor));
    }

    fn push_to(&self, worker: usize, job: Job<M::Spe>) {
        self.shared
            .push_to(worker, job, |processor| self.core.notify(processor));
    }

    #[inline]
    fn wait_for_room(&self) -> Result<(), Payload> {
        let started = self.started.get() + 1;
        self.started.set(started);
        // The length is read rarely, because each read takes a cache line from a worker's cache.
        if !started.is_multiple_of(STARTS_PER_LOOK) || self.shared.fresh.len() < MOST_QUEUED {
            return Ok(());
        }
        self.shared.wait_for_room(self, Destination::Starter)
    }

    fn wait_for_room_at(&self, destination: Destination, number: usize) -> Result<(), Payload> {
        let looks = number.is_multiple_of(STARTS_PER_LOOK);
        if !looks || self.shared.queued_from_main(destination) < MOST_QUEUED {
            return Ok(());
        }
        self.shared.wait_for_room(self, destination)
    }

    fn queue_of(&self, job: &Job<M::Spe>) -> Destination {
        self.shared.queue_of(job)
    }

    fn notify(&self, to: Processor) {
        self.core.notify(to);
    }

    fn phase_begins(&self) {
        self.central.phase_begins();
    }

    fn all_submitted(&self) {
        self.central.all_submitted();
    }

    fn phase_ends(&self) -> Result<(), Payload> {
        self.central.phase_ends()
    }

    fn current(&self) -> CurrentTask<M::Spe> {
        CurrentTask::none()
    }

    fn waits(&self) -> &Waits<M::Spe> {
        &self.shared.waits
    }

    #[track_caller]
    fn wait(&self, why: &dyn fmt::Display, _: WokenBy, done: &mut dyn FnMut() -> bool) -> bool {
        let mut is_done = false;
        while !is_done {
            self.central.serve();
            let waited = self.core.wait_until(why, &mut || {
                is_done = done();
                is_done || self.central.is_wanted()
            });
            if !waited {
                return false;
            }
        }
        true
    }

    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        self.core.outlast(&mut || {
            self.shared.discard_jobs();
            done()
        });
    }
}
