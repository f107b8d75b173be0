//! Running a job on a worker.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;

use cellworks_machine::{Payload, Processor, Span, Spe, StageError};

use crate::discard::discard;
use crate::error::TaskError;
use crate::phase::current::Current;
use crate::phase::node::{End, Node, TakenLock};
use crate::phase::work::Begun;
use crate::place::sealed::Sealed;
use crate::shared::job::{Job, Spawned, Ticket};
use crate::worker::Worker;
use crate::worker::program::WorkerProgram;

impl<S: Spe> Job<S> {
    /// Runs the job. If the job panics and the run of the pool is cancelled, returns the panic,
    /// which the caller must resume.
    pub(crate) fn run(self, worker: &Worker<'_, S>) -> Result<(), Payload> {
        match self {
            Self::Task(task) => worker.program().run_task(task, None, worker),
            Self::Offered(ticket) => ticket.run(worker),
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

impl<S: Spe> Ticket<S> {
    /// Runs the half, unless the owner has withdrawn the offer. If the half panics and the run of
    /// the pool is cancelled, returns the panic, which the caller must resume.
    fn run(&self, worker: &Worker<'_, S>) -> Result<(), Payload> {
        if !self.offer.take() {
            return Ok(());
        }
        // SAFETY: the owner waits for the end of the offer, so the half still exists.
        let run = || unsafe { self.half.run(worker) };
        let outcome = worker.with_current(self.current, run);
        self.offer.end();
        worker.spe().notify(self.owner);
        outcome
    }
}

/// What has become of a task that a worker took out of a queue.
enum Attempt {
    /// Another task holds its lock and will pass it on, or parts have replaced the task.
    Left,
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
        task: Arc<Node<S>>,
        begun: Option<Box<dyn Begun<S>>>,
        worker: &Worker<'_, S>,
    ) -> Result<(), Payload> {
        // All code of the user runs in this call, so that each panic of it ends the task.
        let attempt = worker.guarded(|| self.attempt(&task, begun, worker));
        let (end, cancelled) = match attempt {
            Ok(Attempt::Left) => return Ok(()),
            Ok(Attempt::Done) => (End::Done, None),
            Ok(Attempt::DidNotRun) => (End::Failed, None),
            Ok(Attempt::Failed(failure)) => {
                // SAFETY: the task has not been counted as ended yet, so its phase exists.
                unsafe { &*task.phase }.fail(failure);
                (End::Failed, None)
            }
            Err(panic) if worker.is_cancelled() => (End::Failed, Some(panic)),
            Err(payload) => {
                task.panicked(payload);
                (End::Failed, None)
            }
        };
        self.end_task(&task, end, worker);
        cancelled.map_or(Ok(()), Err)
    }

    /// Does the same as [`run_task`](Self::run_task), but does not end the task. Panics if the task
    /// panics.
    fn attempt(
        &self,
        task: &Arc<Node<S>>,
        begun: Option<Box<dyn Begun<S>>>,
        worker: &Worker<'_, S>,
    ) -> Attempt {
        // SAFETY: the task has not been counted as ended yet, so its phase exists.
        let phase = unsafe { &*task.phase };
        if task.is_dropped() || phase.has_failed() {
            drop(begun);
            return Attempt::DidNotRun;
        }
        match task.take_lock() {
            TakenLock::Yes => {}
            TakenLock::Deferred => {
                self.counters.deferred.set(self.counters.deferred.get() + 1);
                return Attempt::Left;
            }
            TakenLock::Dropped => {
                drop(begun);
                return Attempt::DidNotRun;
            }
        }
        if begun.is_none() && task.dices && !self.central.is_open() && self.dice(task, worker) {
            return Attempt::Left;
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
            Ok(Ok(Ok(()))) => Attempt::Done,
            Ok(Err(failure)) => Attempt::Failed(failure),
            Err(panic) | Ok(Ok(Err(panic))) => resume_unwind(panic),
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
    fn run_staged(
        &self,
        task: &Arc<Node<S>>,
        begun: Option<Box<dyn Begun<S>>>,
        worker: &Worker<'_, S>,
    ) -> Result<Result<(), Payload>, TaskError> {
        // No other task begins on this worker until the data has arrived. Otherwise that task would
        // be staged in addition to the tasks that `depth` allows.
        self.ahead.begin_to_stage();
        let staging = Cell::new(Some(self.spe.activity("staging")));
        if !self.ahead.is_on() {
            // SAFETY: this worker has taken the task. The phase keeps other tasks from the data.
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
            return outcome;
        }
        let begun = match begun {
            Some(begun) => Ok(begun),
            // SAFETY: this worker took the task out of a queue and began no transfer of it.
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
        Ok(outcome)
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
        task: &Arc<Node<S>>,
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
            let why = format_args!("room in the local store for the data of task {task}");
            self.ahead.want_room();
            self.spe
                .wait_until(&why, &mut || self.counters.tasks.get() != tasks);
        }
    }

    /// Begins to stage a task's data. Returns [`StageError`] if the local store has no room.
    ///
    /// # Safety
    ///
    /// This worker has taken the task out of a queue. Earlier results of this call were dropped.
    unsafe fn begin_to_stage(
        &self,
        task: &Arc<Node<S>>,
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
            let may_be_diced = !is_central && task.dices && self.parts_asked_for() > 1;
            let may_begin = task.lock.is_none() && !may_be_diced && !task.is_dropped();
            // SAFETY: this worker has taken the task out of a queue.
            let work = unsafe { task.work() };
            if !may_begin || work.bytes() == 0 {
                return self.put_back(Job::Task(task));
            }
            // SAFETY: as above.
            match unsafe { self.begin_to_stage(&task) } {
                Ok(begun) => {
                    self.counters
                        .staged_ahead
                        .set(self.counters.staged_ahead.get() + 1);
                    self.ahead.push((task, begun));
                }
                Err(_) => return self.put_back(Job::Task(task)),
            }
        }
    }

    /// Puts the tasks that were staged ahead back into the queue.
    pub(crate) fn give_up_ahead(&self) {
        for (task, begun) in self.ahead.take_all().into_iter().rev() {
            drop(begun);
            self.counters.wasted.set(self.counters.wasted.get() + 1);
            self.put_back(Job::Task(task));
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

    /// Splits a task if the queues hold too few tasks. Returns true if the parts have replaced the
    /// task, or if its dice (the function that splits it) has failed and the task has ended.
    fn dice(&self, task: &Arc<Node<S>>, worker: &Worker<'_, S>) -> bool {
        let asked = self.parts_asked_for();
        if asked <= 1 {
            return false;
        }
        let _dicing = self.spe.activity("dicing");
        // SAFETY: this worker has taken the task out of a queue.
        let parts = match unsafe { task.work().dice(asked) } {
            Ok(None) => return false,
            Ok(Some(parts)) => parts,
            Err(error) => {
                // SAFETY: the task is counted as ended below.
                unsafe { &*task.phase }.fail(error.of(task.to_string()));
                self.end_task(task, End::Failed, worker);
                return true;
            }
        };
        self.counters.diced.set(self.counters.diced.get() + 1);
        let counters = &self.counters;
        counters
            .parts
            .set(counters.parts.get() + parts.len() as u64);
        // A part that is split again no longer counts as a part.
        let more = parts.len() - usize::from(task.is_part());
        task.whole().wait_for_parts(more);
        // SAFETY: as above. The data of the task now belongs to its parts. No part has ended yet,
        // so the body and the values that it owns are not dropped here.
        unsafe { task.drop_work() };
        for part in parts.into_iter().rev() {
            self.push(Job::Task(Arc::new(task.part(part))));
        }
        true
    }

    /// Ends a task, or a part of a task, that this worker took out of a queue.
    fn end_task(&self, task: &Arc<Node<S>>, mut end: End, worker: &Worker<'_, S>) {
        // SAFETY: this worker has taken the task out of a queue.
        if let Err(panic) = worker.guarded(|| unsafe { task.drop_work() }) {
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
        // SAFETY: the task has not been counted as ended.
        let is_job = unsafe { (*whole.phase).scope.owner } == Processor::Ppe;
        let job_ended = || {
            if is_job {
                self.central.job_ended();
            }
        };
        if task.is_part() && !whole.release() {
            return job_ended();
        }
        let end = if whole.is_dropped() { End::Failed } else { end };
        let push = |task| worker.push(Job::Task(task));
        whole.end_with(end, push, |waiting| self.spe.wake(waiting));
        job_ended();
        // SAFETY: the task has not been counted as ended: the next call counts it.
        self.task_ended(unsafe { &raw const (*whole.phase).scope });
    }
}

fn no_room<S: Spe>(task: &Arc<Node<S>>, source: StageError) -> TaskError {
    TaskError::NoRoom {
        task: task.to_string(),
        // SAFETY: this worker has taken the task out of a queue.
        bytes: unsafe { task.work() }.bytes(),
        source,
    }
}
