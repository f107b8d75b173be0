//! One worker of a pool: the jobs that it has, and the threads that run them.
//!
//! A worker is a program on an SPE. Its jobs run on cooperative threads: one runs them until a job
//! waits, and then another one takes the next job. So a job may wait for anything, and none runs
//! on the stack of another one. The program itself starts another thread whenever all of them have
//! a job.
//!
//! ```text
//!   own queue ──┐
//!   frames of threads that wait ──► take ──► thread: run ──► thread: run (waits) ...
//!   fresh jobs of the main program ──┤
//!   queues of others, near ones first ┘
//! ```

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::ptr;
use std::sync::Arc;

use cellworks_machine::{Processor, Sleeper, Spe, StackError};
use crossbeam_deque::{Steal, Worker as Queue};

use crate::frames::Frames;
use crate::job::{Job, Ticket};
use crate::offer::Offer;
use crate::scope::ScopeState;
use crate::shared::{Seat, Shared};
use crate::sync::Ordering;
use crate::worker::Worker;

/// Threads that a worker starts with: one that runs jobs, and one that takes over when a job waits.
const THREADS: usize = 2;

/// Threads without a job that a worker keeps.
const SPARE_THREADS: usize = 8;

/// One worker of a pool.
pub(crate) struct Core<'w, S: Spe> {
    pub(crate) spe: &'w S,
    pub(crate) shared: &'w Shared<S>,
    number: usize,
    queue: Queue<Job<S>>,
    /// The other workers, near ones first.
    others: Box<[usize]>,
    /// What its threads have put aside. Valid as long as it is listed.
    frames: RefCell<Vec<*const Frames<S>>>,
    /// Threads that have no job.
    idle_threads: Cell<usize>,
    /// Threads that have one.
    busy_threads: Cell<usize>,
    /// A thread without a job has looked in vain since the last job was put into the queue.
    has_looked: Cell<bool>,
    /// Every thread has a job: another one is needed when one of the jobs waits.
    needs_thread: Cell<bool>,
    /// The thread of the program itself, which starts the others.
    starter: Cell<Option<Sleeper>>,
    /// Tasks of one scope that have ended and are not counted there yet.
    ended: Cell<(*const ScopeState, isize)>,
}

impl<'w, S: Spe> Core<'w, S> {
    pub(crate) fn new(
        spe: &'w S,
        shared: &'w Shared<S>,
        number: usize,
        queue: Queue<Job<S>>,
    ) -> Self {
        let topology = spe.topology();
        let workers = shared.workers.len();
        let mut others: Vec<usize> = (1..workers).map(|by| (number + by) % workers).collect();
        // Workers at one distance differ in whom they ask first.
        others.sort_by_key(|&other| topology.distance(spe.id(), shared.workers[other].spe));
        Self {
            spe,
            shared,
            number,
            queue,
            others: others.into(),
            frames: RefCell::default(),
            idle_threads: Cell::new(0),
            busy_threads: Cell::new(0),
            has_looked: Cell::new(false),
            needs_thread: Cell::new(false),
            starter: Cell::new(None),
            ended: Cell::new((ptr::null(), 0)),
        }
    }

    pub(crate) fn seat(&self) -> &'w Seat<S> {
        &self.shared.workers[self.number]
    }

    /// Runs jobs until the pool is closed: the program of the worker.
    ///
    /// # Errors
    ///
    /// [`StackError`] if the local store has no room for the threads that a worker starts with.
    pub(crate) fn serve(&self) -> Result<(), StackError> {
        self.starter.set(Some(self.spe.sleeper()));
        self.spe.thread_scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|_| self.run_jobs())?;
            }
            loop {
                let why = "all its threads to have a task, to start another one";
                self.spe.wait_until(&why, &mut || {
                    self.needs_thread.get() || self.shared.is_closed()
                });
                if self.shared.is_closed() {
                    return Ok(());
                }
                self.needs_thread.set(false);
                // Where stacks take local store there may be no room. Then tasks that wait keep the
                // threads that there are, and the other tasks go on when those do.
                let _: Result<_, StackError> = scope.spawn(|_| self.run_jobs());
            }
        })
    }

    /// Runs jobs on one thread.
    fn run_jobs(&self) {
        let worker = Worker::new(self);
        let _listed = Listed::new(self, worker.frames());
        self.idle_threads.set(self.idle_threads.get() + 1);
        while let Some(job) = self.next() {
            self.begin(&job);
            let outcome = job.run(&worker);
            self.busy_threads.set(self.busy_threads.get() - 1);
            self.idle_threads.set(self.idle_threads.get() + 1);
            if let Err(cancelled) = outcome {
                self.hand_in_ended();
                resume_unwind(cancelled);
            }
            if self.busy_threads.get() > 0 {
                // Their waits may be over.
                self.spe.yield_ready();
                if self.idle_threads.get() > SPARE_THREADS {
                    break;
                }
            }
        }
        self.idle_threads.set(self.idle_threads.get() - 1);
    }

    fn begin(&self, job: &Job<S>) {
        self.idle_threads.set(self.idle_threads.get() - 1);
        self.busy_threads.set(self.busy_threads.get() + 1);
        if self.idle_threads.get() == 0 && !self.needs_thread.replace(true) {
            let starter = self.starter.get().expect("the program has begun");
            self.spe.wake(starter);
        }
        // What has ended of another scope must be known before this job may wait for it.
        if job.scope() != Some(self.ended.get().0) {
            self.hand_in_ended();
        }
    }

    /// The next job to run; waits for one. `None` once the pool is closed.
    fn next(&self) -> Option<Job<S>> {
        loop {
            if let Some(job) = self.take() {
                return Some(job);
            }
            self.hand_in_ended();
            let mut is_closed = false;
            self.spe.wait_until(&"a task", &mut || {
                is_closed = self.shared.is_closed();
                if is_closed || self.is_there_a_job() {
                    return true;
                }
                self.has_looked.set(true);
                self.shared.sleepers.lie_down(self.number) && self.is_there_a_job()
            });
            self.shared.sleepers.get_up(self.number);
            if is_closed {
                return None;
            }
        }
    }

    /// Whether there is a job to take. If there is none, the others are asked for part of what they
    /// have put aside.
    fn is_there_a_job(&self) -> bool {
        let shared = self.shared;
        if !self.queue.is_empty() || !shared.fresh.is_empty() || self.oldest_thread().is_some() {
            return true;
        }
        let others = || self.others.iter().map(|&other| &shared.workers[other]);
        if others().any(|other| !other.queue.is_empty()) {
            return true;
        }
        for other in others() {
            if !other.wanted.load(Ordering::Relaxed) {
                other.wanted.store(true, Ordering::Relaxed);
            }
        }
        false
    }

    /// A job of this worker, or of another one.
    fn take(&self) -> Option<Job<S>> {
        if let Some(job) = self.queue.pop() {
            return Some(job);
        }
        // Frames of threads that wait: the calling thread has none.
        if self.offer_oldest()
            && let Some(job) = self.queue.pop()
        {
            return Some(job);
        }
        let job = self.steal(|| self.shared.fresh.steal_batch_and_pop(&self.queue));
        let job = job.or_else(|| {
            self.others.iter().find_map(|&other| {
                let queue = &self.shared.workers[other].queue;
                self.steal(|| queue.steal_batch_and_pop(&self.queue))
            })
        })?;
        if !self.queue.is_empty() {
            self.announce();
        }
        Some(job)
    }

    fn steal(&self, attempt: impl Fn() -> Steal<Job<S>>) -> Option<Job<S>> {
        loop {
            match attempt() {
                Steal::Success(job) => return Some(job),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    /// Puts a job into the queue of this worker, and wakes one to take it.
    #[inline]
    pub(crate) fn push(&self, job: Job<S>) {
        self.queue.push(job);
        if self.has_looked.get() {
            // A thread of this worker that has no job takes over if the calling one waits.
            self.has_looked.set(false);
            self.spe.notify(Processor::Spe(self.spe.id()));
        }
        self.announce();
    }

    #[inline(always)]
    fn announce(&self) {
        let others = self.others.iter().copied();
        self.shared
            .announce(others, |processor| self.spe.notify(processor));
    }

    /// Another worker has asked for work.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer(&self) {
        if self.offer_oldest() {
            self.seat().wanted.store(false, Ordering::Relaxed);
        }
    }

    fn oldest_thread(&self) -> Option<*const Frames<S>> {
        let threads = self.frames.borrow();
        // SAFETY: what is listed is there.
        let has_private = |frames: &&*const Frames<S>| unsafe { (***frames).has_private() };
        threads.iter().find(has_private).copied()
    }

    /// Offers the oldest half of a `join` that was put aside, if there is one.
    fn offer_oldest(&self) -> bool {
        let Some(thread) = self.oldest_thread() else {
            return false;
        };
        // SAFETY: what is listed is there.
        let Some(frame) = (unsafe { (*thread).oldest() }) else {
            return false;
        };
        let ticket = Arc::new(Ticket {
            offer: Offer::new(),
            frame,
            owner: Processor::Spe(self.spe.id()),
        });
        // SAFETY: a frame is there until its thread has popped it, which is a thread of this core.
        unsafe { (*frame).ticket.set(Some(Arc::clone(&ticket))) };
        self.push(Job::Offered(ticket));
        true
    }

    /// A task of a scope has ended.
    pub(crate) fn task_ended(&self, scope: *const ScopeState) {
        let (of, tasks) = self.ended.get();
        if of == scope {
            return self.ended.set((scope, tasks + 1));
        }
        self.hand_in_ended();
        self.ended.set((scope, 1));
    }

    /// Counts the tasks that have ended, where they belong.
    pub(crate) fn hand_in_ended(&self) {
        let (scope, tasks) = self.ended.replace((ptr::null(), 0));
        // SAFETY: null, or a scope that waits for these tasks.
        let Some(scope) = (unsafe { scope.as_ref() }) else {
            return;
        };
        let owner = scope.owner;
        if scope.count.end(tasks) {
            self.spe.notify(owner);
        }
    }
}

/// The frames of a thread are listed as long as this lives.
struct Listed<'a, 'w, S: Spe>(&'a Core<'w, S>, *const Frames<S>);

impl<'a, 'w, S: Spe> Listed<'a, 'w, S> {
    fn new(core: &'a Core<'w, S>, frames: &Frames<S>) -> Self {
        core.frames.borrow_mut().push(frames);
        Self(core, frames)
    }
}

impl<S: Spe> Drop for Listed<'_, '_, S> {
    fn drop(&mut self) {
        self.0.frames.borrow_mut().retain(|&of| of != self.1);
    }
}
