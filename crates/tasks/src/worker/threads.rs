//! The cooperative threads of a worker, which run its jobs on an SPE.
//!
//! One thread runs jobs until a job waits, and then another thread takes the next job. Therefore a
//! job may wait for any event. When all threads have a job, the program starts another thread.

// Rejected: a waiting task runs other tasks on its own stack. The wait could not end before these
// tasks end, and would never end if one of them waits for the waiting task.

use std::panic::resume_unwind;

use cellworks_machine::{Processor, Spe, StackError};

use crate::discard::discard;
use crate::join::halves::RunningJob;
use crate::phase::node::ScopeOf;
use crate::shared::job::Job;
use crate::shared_pool::here;
use crate::sync::{Ordering, locked};
use crate::worker::Worker;
use crate::worker::ahead::OnItsWay;
use crate::worker::program::WorkerProgram;

/// The number of threads at the start: one runs jobs, and one takes over when a job waits.
const THREADS: usize = 2;

/// The number of threads without a job that a worker keeps.
const SPARE_THREADS: usize = 8;

enum Next<S: Spe> {
    Job(Job<S>),
    OnItsWay(OnItsWay<S>),
}

impl<S: Spe> Next<S> {
    fn discard(self) {
        match self {
            Self::Job(job) => job.discard(),
            Self::OnItsWay((task, begun)) => {
                discard(begun);
                Job::Task(task.give_up()).discard();
            }
        }
    }

    fn scope(&self) -> Option<*const ScopeOf<S>> {
        match self {
            Self::Job(job) => job.scope(),
            Self::OnItsWay((task, _)) => Some(&raw const task.phase().scope),
        }
    }
}

impl<S: Spe> WorkerProgram<'_, S> {
    /// Runs jobs until the pool is closed. Fails if the local store has no room for the first
    /// threads.
    pub(crate) fn serve(&self) -> Result<(), StackError> {
        self.threads.are_started_by(self.spe.sleeper());
        self.spe.thread_scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|_| self.run_jobs())?;
            }
            loop {
                let why = "all its threads to have a task, to start another one";
                let waited = self.spe.wait_until(&why, &mut || {
                    self.threads.is_one_needed() || self.shared.is_closed()
                });
                // In a cancelled run, this thread may not unwind while another one of the core
                // does.
                if !waited || self.shared.is_closed() {
                    return Ok(());
                }
                self.threads.is_to_start();
                // Without room for another thread, the next job runs when a waiting job has ended.
                if scope.spawn(|_| self.run_jobs()).is_err() && self.threads.idle() == 0 {
                    self.set_stuck(true);
                    self.notify_own_threads();
                    self.spe.notify(Processor::Ppe);
                }
            }
        })
    }

    fn run_jobs(&self) {
        let worker = Worker::new(self);
        let _listed = Listed::new(self, worker.job());
        // SAFETY: this value is dropped before `worker`, on this thread.
        let _here = unsafe { here::Listed::with(&worker) };
        self.threads.start();
        while let Some(next) = self.next() {
            let outcome = match worker.guarded(|| self.begin(&next)) {
                Ok(()) => match next {
                    Next::Job(job) => job.run(&worker),
                    Next::OnItsWay((task, begun)) => self.run_task(task, Some(begun), &worker),
                },
                Err(cancelled) => {
                    next.discard();
                    Err(cancelled)
                }
            };
            self.threads.end_job();
            self.set_stuck(false);
            if let Err(cancelled) = outcome {
                self.hand_in_ended();
                resume_unwind(cancelled);
            }
            if self.threads.busy() > 0 {
                // Continues threads of this worker that waited for an event that has happened.
                self.spe.yield_ready();
                if self.threads.idle() > SPARE_THREADS {
                    break;
                }
            }
        }
        self.threads.end();
    }

    /// Records whether waiting jobs occupy all threads, with no room for another thread.
    #[inline]
    fn set_stuck(&self, is_stuck: bool) {
        if self.seat().is_stuck() == is_stuck {
            return;
        }
        self.seat().is_stuck.store(is_stuck, Ordering::Relaxed);
        if is_stuck {
            self.shared.sleepers.rests(self.number)
        } else {
            self.shared.sleepers.works(self.number)
        }
    }

    fn begin(&self, next: &Next<S>) {
        self.threads.begin_job();
        self.requests.take_back();
        // Another thread may have begun the idle time since this thread ran its last job.
        if self.threads.is_idle() {
            self.is_idle_no_more();
        }
        if let Some(starter) = self.threads.starter_to_wake() {
            self.spe.wake(starter);
        }
        // This job may wait for the scope of the tasks in `ended`. These tasks are counted first,
        // because otherwise the wait would not end.
        if next.scope() != Some(self.ended.scope()) {
            self.hand_in_ended();
        }
    }

    /// Waits for the next job and returns it. Returns `None` when the pool is closed.
    fn next(&self) -> Option<Next<S>> {
        loop {
            if !self.ahead.is_staging() {
                if let Some(ahead) = self.ahead.next() {
                    return Some(Next::OnItsWay(ahead));
                }
                if let Some(job) = self.take() {
                    return Some(Next::Job(job));
                }
            }
            self.hand_in_ended();
            let mut is_closed = false;
            self.threads.may_be_idle(self.spe.now());
            let waited = self.spe.wait_until(&"a task", &mut || {
                is_closed = self.shared.is_closed();
                if is_closed || self.has_job_or_asks() {
                    return true;
                }
                self.threads.has_looked();
                // A worker that still checks the queues need not be woken. While a task waits for
                // its data, this worker takes no job. When the data has arrived, `data_is_there`
                // notifies this worker.
                let is_last_check = self.spe.is_last_check();
                if is_last_check == Some(false) || self.ahead.is_staging() {
                    return false;
                }
                // By now the workers that could answer a request have not done so. On a machine
                // that does not say which check is the last one, this worker does not wait for
                // them.
                let stays_awake = || self.requests.look_after_others();
                // A half that another worker adds from here on is offered by this worker, or by the
                // other one, which finds that this worker sleeps.
                stays_awake()
                    || self.shared.sleepers.lie_down(self.number)
                        && (self.has_job_or_asks() || stays_awake())
            });
            self.shared.sleepers.get_up(self.number);
            self.is_idle_no_more();
            if is_closed || !waited {
                return None;
            }
        }
    }
}

/// A guard that keeps the state of a thread's job in the list of its worker.
struct Listed<'a, 'w, S: Spe>(&'a WorkerProgram<'w, S>, *const RunningJob<S>);

impl<'a, 'w, S: Spe> Listed<'a, 'w, S> {
    fn new(program: &'a WorkerProgram<'w, S>, job: &RunningJob<S>) -> Self {
        locked(&program.seat().jobs).threads += 1;
        program.requests.list(job);
        Self(program, job)
    }
}

impl<S: Spe> Drop for Listed<'_, '_, S> {
    fn drop(&mut self) {
        // Last, and even if what is dropped before panics.
        let _unlists = Unlists(self.0, self.1);
        // Staged tasks go back to the queue, from which a cancelled run drops them.
        self.0.give_up_ahead();
        // Even if this thread was cancelled, other threads may wait for the tasks that have ended.
        self.0.hand_in_ended();
    }
}

/// Takes a job out of the list of its worker when it is dropped.
struct Unlists<'a, 'w, S: Spe>(&'a WorkerProgram<'w, S>, *const RunningJob<S>);

impl<S: Spe> Drop for Unlists<'_, '_, S> {
    fn drop(&mut self) {
        let mut jobs = locked(&self.0.seat().jobs);
        jobs.threads -= 1;
        jobs.list.retain(|job| job.0 != self.1);
    }
}
