//! Running a job on a worker.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use cellworks_machine::{Payload, Span, Spe, StageError};

use crate::discard::discard;
use crate::error::TaskError;
use crate::phase::current::Current;
use crate::phase::node::{End, Node, TakenLock};
use crate::phase::taken::Taken;
use crate::phase::work::Begun;
use crate::place::sealed::Sealed;
use crate::shared::job::{Job, Spawned};
use crate::worker::Worker;
use crate::worker::program::WorkerProgram;

impl<S: Spe> Job<S> {
    /// Runs the job. If the job panics and the run of the pool is cancelled, returns the panic,
    /// which the caller must resume.
    pub(crate) fn run(self, worker: &Worker<'_, S>) -> Result<(), Payload> {
        match self {
            Self::Task(task) => {
                // SAFETY: this worker has taken the job out of a queue.
                let task = unsafe { Taken::new(task) };
                worker.program().run_task(task, None, worker)
            }
            Self::Offered(offer) => {
                // Otherwise the owner has withdrawn the offer.
                if !offer.state.take() {
                    return Ok(());
                }
                // SAFETY: the owner waits for the end of the offer, so the half still exists.
                let run = || unsafe { offer.half.run(worker) };
                let outcome = worker.with_current(offer.current, run);
                let outcome = outcome.and_then(|()| worker.catch_up());
                offer.end(worker.spe());
                outcome
            }
            Self::Spawned(Spawned { scope, body }) => {
                // SAFETY: the closure has not been counted as ended yet.
                let state = unsafe { &*scope };
                let run = || worker.guarded(|| body.run(worker));
                let outcome = worker.with_current(state.parent, run);
                let outcome = outcome.or_else(|panic| state.failed(panic, worker));
                worker.program().task_ended(scope);
                outcome
            }
        }
    }
}

/// What has become of a task that a worker took out of a queue.
enum Attempt {
    /// Another task holds its lock and will pass it on, or parts have replaced the task. With the
    /// panic of a cancelled run, if there was one.
    Left(Result<(), Payload>),
    /// The task was dropped, or another task of its phase has failed.
    DidNotRun,
    Done,
    Failed(TaskError),
}

impl<'w, S: Spe> WorkerProgram<'w, S> {
    /// Runs a task that this worker took out of a queue, or defers the task if its lock is taken.
    /// If the task panics and the run of the pool is cancelled, returns the panic, which the caller
    /// must resume.
    pub(crate) fn run_task(
        &self,
        mut task: Taken<S>,
        begun: Option<Box<dyn Begun<S>>>,
        worker: &Worker<'_, S>,
    ) -> Result<(), Payload> {
        // All code of the user runs in this call, so that each panic of it ends the task.
        let attempt = worker.guarded(|| self.attempt(&mut task, begun, worker));
        let (end, cancelled) = match attempt {
            Ok(Attempt::Left(cancelled)) => return cancelled,
            Ok(Attempt::Done) => (End::Done, None),
            Ok(Attempt::DidNotRun) => (End::Failed, None),
            Ok(Attempt::Failed(failure)) => {
                task.phase().fail(failure);
                (End::Failed, None)
            }
            Err(panic) if worker.is_cancelled() => (End::Failed, Some(panic)),
            Err(payload) => {
                task.panicked(payload);
                (End::Failed, None)
            }
        };
        let ended = self.end_task(task, end, worker);
        cancelled.map_or(ended, Err)
    }

    /// Does the same as [`run_task`](Self::run_task), but does not end the task. Panics if the task
    /// panics.
    fn attempt(
        &self,
        task: &mut Taken<S>,
        begun: Option<Box<dyn Begun<S>>>,
        worker: &Worker<'_, S>,
    ) -> Attempt {
        if task.is_dropped() || task.phase().has_failed() {
            drop(begun);
            return Attempt::DidNotRun;
        }
        match task.take_lock() {
            TakenLock::Yes => {}
            TakenLock::Deferred => {
                self.counters.deferred.set(self.counters.deferred.get() + 1);
                return Attempt::Left(Ok(()));
            }
            TakenLock::Dropped => {
                drop(begun);
                return Attempt::DidNotRun;
            }
        }
        if begun.is_none()
            && task.dices
            && !self.central.is_open()
            && let Some(attempt) = self.dice(task)
        {
            return attempt;
        }
        if !task.begin(self.number) {
            drop(begun);
            return Attempt::DidNotRun;
        }
        let running = self.spe.activity(task.name());
        let run = || {
            worker.guarded(|| {
                self.load(task);
                self.run_staged(task, begun, worker)
            })
        };
        let outcome = worker.with_current(Current::of(task.whole()), run);
        drop(running);
        self.counters.tasks.set(self.counters.tasks.get() + 1);
        if self.ahead.take_wish_for_room() {
            self.notify_own_threads();
        }
        match outcome {
            Ok(Ok(())) => Attempt::Done,
            Ok(Err(failure)) => Attempt::Failed(failure),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Gets the binary of a task, if the scheduler transfers binaries.
    fn load(&self, task: &Node<S>) {
        if self.central.is_open() {
            self.ahead.begin_to_stage();
            self.central.load(task);
        }
    }

    /// Stages the task's data, begins to stage the data of the next tasks, and runs the task.
    /// Panics if the body panics.
    fn run_staged(
        &self,
        task: &Taken<S>,
        begun: Option<Box<dyn Begun<S>>>,
        worker: &Worker<'_, S>,
    ) -> Result<(), TaskError> {
        // No other task begins on this worker until the data has arrived. Otherwise that task would
        // be staged in addition to the tasks that `depth` allows.
        self.ahead.begin_to_stage();
        let staging = Cell::new(Some(self.spe.activity("staging")));
        if !self.ahead.is_on() {
            // SAFETY: this worker has taken the task. A run that had no room has dropped what it
            // began, and the phase keeps other tasks from the data.
            let run = || unsafe {
                task.work().run(worker, &mut || {
                    drop(staging.take());
                    self.data_is_there();
                })
            };
            let outcome = self.with_room(task, worker, run);
            drop(staging.take());
            // The data of another task must not be staged while data is put back.
            self.ahead.begin_to_stage();
            self.puts_leave(worker);
            self.data_is_there();
            return outcome.map(or_resume);
        }
        let begun = match begun {
            Some(begun) => Ok(begun),
            // SAFETY: this worker began no transfer of the data, or a call that had no room has
            // dropped it.
            None => self.with_room(task, worker, || unsafe { self.begin_to_stage(task) }),
        };
        let begun = begun.inspect_err(|_| self.data_is_there())?;
        self.stage_ahead();
        let began = self.spe.now();
        let mut arrived = began;
        let outcome = begun.run(worker, &mut || {
            arrived = self.spe.now();
            drop(staging.take());
            self.data_is_there();
        });
        let (waited, took) = (arrived.since(began), self.spe.now().since(began));
        let femtoseconds = |span: Span| span.as_femtoseconds();
        let (waited, took) = (femtoseconds(waited), femtoseconds(took));
        self.ahead.learn(waited, took);
        self.ahead.has_put();
        if !task.is_alone() {
            // Tasks that come after this task need the data that this task has written.
            self.puts_leave(worker);
        }
        or_resume(outcome);
        Ok(())
    }

    /// Records that the data of the next task has arrived, or will not arrive.
    fn data_is_there(&self) {
        if self.ahead.end_to_stage() {
            self.wake_idle_thread();
        }
    }

    /// Calls `begin`, which stages the next task. If the local store has no room, waits for written
    /// data to leave, then drops the data that is staged ahead, then waits for other tasks to end.
    fn with_room<R>(
        &self,
        task: &Taken<S>,
        worker: &Worker<'_, S>,
        mut begin: impl FnMut() -> Result<R, StageError>,
    ) -> Result<R, TaskError> {
        if let Ok(begun) = begin() {
            return Ok(begun);
        }
        self.puts_leave(worker);
        if let Ok(begun) = begin() {
            return Ok(begun);
        }
        self.give_up_ahead();
        loop {
            let error = match begin() {
                Ok(begun) => return Ok(begun),
                Err(error) => error,
            };
            if self.threads.busy() == 1 {
                return Err(no_room(task, error));
            }
            let tasks = self.counters.tasks.get();
            let why = format_args!("room in the local store for the data of task {}", **task);
            self.ahead.want_room();
            self.spe
                .wait_until(&why, &mut || self.counters.tasks.get() != tasks);
        }
    }

    /// Begins to stage a task's data. Returns [`StageError`] if the local store has no room.
    ///
    /// # Safety
    ///
    /// Earlier results of this call were dropped.
    unsafe fn begin_to_stage(
        &self,
        task: &Taken<S>,
    ) -> Result<Box<dyn Begun<S> + 'static>, StageError> {
        // SAFETY: by the contract of this function. The phase keeps other tasks from the data.
        let begun: Box<dyn Begun<S> + 'w> = unsafe { task.work().begin(self.spe) }?;
        // SAFETY: only the lifetime changes. The SPE outlives this worker, which uses the value.
        Ok(unsafe { std::mem::transmute::<Box<dyn Begun<S> + 'w>, Box<dyn Begun<S>>>(begun) })
    }

    /// Waits until the data that tasks have written has left the local store.
    pub(crate) fn puts_leave(&self, worker: &Worker<'_, S>) {
        self.ahead.take_puts();
        if !worker.is_cancelled() {
            self.spe.departed();
        }
    }

    fn stage_ahead(&self) {
        let depth = self.ahead.depth();
        let is_central = self.central.is_open();
        // The next tasks stay in the queue if other workers need them.
        let are_wanted = || !is_central && self.shared.sleepers.are_there();
        while self.ahead.len() < depth && !are_wanted() {
            let Some(job) = self.pop() else { return };
            let Job::Task(task) = job else {
                return self.put_back(job);
            };
            // SAFETY: this worker has taken the task out of a queue.
            let task = unsafe { Taken::new(task) };
            let may_be_diced = !is_central && task.dices && self.parts_asked_for() > 1;
            let may_begin = task.lock.is_none() && !may_be_diced && !task.is_dropped();
            if !may_begin || task.work().bytes() == 0 {
                return self.put_back(Job::Task(task.give_up()));
            }
            // SAFETY: a worker puts a task back only after it has dropped the data that it staged.
            let begin = || unsafe { self.begin_to_stage(&task) };
            let begun = match catch_unwind(AssertUnwindSafe(begin)) {
                Ok(begun) => begun,
                // The run is cancelled. Its phase waits until the task has been taken out of the
                // queue and dropped.
                Err(cancelled) => {
                    self.put_back(Job::Task(task.give_up()));
                    resume_unwind(cancelled)
                }
            };
            match begun {
                Ok(begun) => {
                    self.counters
                        .staged_ahead
                        .set(self.counters.staged_ahead.get() + 1);
                    self.ahead.push((task, begun));
                }
                Err(_) => return self.put_back(Job::Task(task.give_up())),
            }
        }
    }

    /// Puts the tasks that were staged ahead back into the queue. All of them, even if the end of a
    /// run unwinds a wait for their data, because their phases wait for them.
    pub(crate) fn give_up_ahead(&self) {
        let mut cancelled = None;
        for (task, begun) in self.ahead.take_all().into_iter().rev() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(begun))) {
                cancelled = Some(payload);
            }
            self.counters.wasted.set(self.counters.wasted.get() + 1);
            self.put_back(Job::Task(task.give_up()));
        }
        if let Some(payload) = cancelled {
            resume_unwind(payload);
        }
    }

    /// Returns the number of parts into which to split a task: at most 1 if enough tasks wait.
    fn parts_asked_for(&self) -> usize {
        let workers = self.shared.workers.len();
        let Some(threshold) = self.shared.dicing.filter(|_| workers > 1) else {
            return 1;
        };
        // Figure 4.6 of the Jack Rabbit thesis: the missing tasks, divided by the present tasks.
        let tasks = 1 + self.queued();
        let enough = threshold.saturating_mul(workers);
        enough.saturating_sub(tasks) / tasks
    }

    /// Splits a task by its dice (the function that splits it) if the queues hold too few tasks.
    /// Returns `None` if the task is left as it is.
    fn dice(&self, task: &mut Taken<S>) -> Option<Attempt> {
        let asked = self.parts_asked_for();
        if asked <= 1 {
            return None;
        }
        let _dicing = self.spe.activity("dicing");
        // SAFETY: if the call returns parts, the work is dropped below.
        let parts = match unsafe { task.work().dice(asked) } {
            Ok(parts) => parts?,
            Err(error) => return Some(Attempt::Failed(error.of(task.to_string()))),
        };
        self.counters.diced.set(self.counters.diced.get() + 1);
        let counters = &self.counters;
        counters
            .parts
            .set(counters.parts.get() + parts.len() as u64);
        // A part that is split again no longer counts as a part.
        let more = parts.len() - usize::from(task.is_part());
        task.whole().wait_for_parts(more);
        // The data of the task now belongs to its parts. No part has ended yet, so the body and the
        // values that it owns are not dropped here.
        task.drop_work();
        // All parts come into the queue, also if the run is cancelled meanwhile: each ends the task.
        let mut pushed = Ok(());
        for part in parts.into_iter().rev() {
            let part = Job::Task(Arc::new(task.part(part)));
            pushed = pushed.and(catch_unwind(AssertUnwindSafe(|| self.push(part))));
        }
        Some(Attempt::Left(pushed))
    }

    /// Ends a task, or a part of a task. Returns the panic of a cancelled run that a step met,
    /// after the steps after it, because the phase and others wait for the end of the task.
    fn end_task(
        &self,
        mut task: Taken<S>,
        mut end: End,
        worker: &Worker<'_, S>,
    ) -> Result<(), Payload> {
        if let Err(panic) = worker.guarded(|| task.drop_work()) {
            end = End::Failed;
            if worker.is_cancelled() {
                discard(panic)
            } else {
                task.panicked(panic)
            }
        }
        let whole = task.whole();
        if end == End::Failed {
            whole.drop_it();
        }
        let cancelled = Cell::new(worker.catch_up());
        let step = |step: &dyn Fn()| {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(step)) {
                cancelled.set(Err(payload));
            }
        };
        let is_job = task.phase().is_of_main();
        let job_ended = || {
            if is_job {
                step(&|| self.central.job_ended());
            }
        };
        if task.is_part() && !whole.release() {
            job_ended();
            return cancelled.into_inner();
        }
        let end = if whole.is_dropped() { End::Failed } else { end };
        let push = |task: Arc<Node<S>>| step(&|| worker.push(Job::Task(Arc::clone(&task))));
        let wake = |waiting| step(&|| self.spe.wake(waiting));
        whole.end_with(end, push, wake);
        job_ended();
        self.task_ended(&raw const task.phase().scope);
        cancelled.into_inner()
    }
}

fn no_room<S: Spe>(task: &Taken<S>, source: StageError) -> TaskError {
    TaskError::NoRoom {
        task: task.to_string(),
        bytes: task.work().bytes(),
        source,
    }
}

/// Resumes the panic of a body.
fn or_resume(outcome: Result<(), Payload>) {
    outcome.unwrap_or_else(|panic| resume_unwind(panic));
}
