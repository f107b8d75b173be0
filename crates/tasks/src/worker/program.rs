//! The program of a worker, which takes jobs for its [threads](crate::worker::threads) to run.
//!
//! ```text
//!   its own queue ────────────────────┐
//!   second closures of `join` ────────┤
//!   jobs of the main program ─────────┼──► take ──► a thread runs it, until it waits
//!   queues of others, near ones first ┘              └──► the next thread takes the next job
//! ```

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::Arc;

use cellworks_machine::{Payload, Processor, Sleeper, Spe, Time};
use crossbeam_deque::{Injector, Steal, Worker as Queue};

use crate::join::halves::{Halves, RunningJob};
use crate::join::offer::Offer;
use crate::phase::node::{CurrentTask, Node, ScopeOf};
use crate::phase::work::Begun;
use crate::place::sealed::Sealed;
use crate::pool::counters::WorkerCells;
use crate::scope::closure::Half;
use crate::shared::job::{Job, Ticket};
use crate::shared::room::WaitingForRoom;
use crate::shared::{Destination, Seat, Shared};
use crate::sync::{Ordering, barrier, locked};
use crate::three_level::WorkerSide;
use crate::worker::depth::Depth;

/// A task that a worker has taken, and its data on the way to the local store.
pub(crate) type OnItsWay<S> = (Arc<Node<S>>, Box<dyn Begun<S>>);

pub(crate) struct WorkerProgram<'w, S: Spe> {
    pub(crate) spe: &'w S,
    pub(crate) shared: &'w Shared<S>,
    pub(crate) number: usize,
    queue: Queue<Job<S>>,
    /// The worker's access to the queues in main memory, if the scheduler has such queues.
    pub(crate) central: Option<Box<dyn WorkerSide<S> + 'w>>,
    /// The numbers of the other workers, nearest first.
    others: Box<[usize]>,
    pub(crate) idle_threads: Cell<usize>,
    pub(crate) busy_threads: Cell<usize>,
    /// Whether the next search for a job offers halves for their owners, which have not answered a
    /// request.
    pub(crate) offers_for_others: Cell<bool>,
    /// Whether this worker has asked others for work since it last had a job.
    asks: Cell<bool>,
    /// Whether an idle thread has found no job since this worker last put a job into its queue.
    pub(crate) has_looked: Cell<bool>,
    /// The number of threads with a job that waits for other jobs of the pool.
    waiting_threads: Cell<usize>,
    /// The time since which no thread runs a job. `None` while a thread runs a job.
    pub(crate) idle_since: Cell<Option<Time>>,
    /// Whether all threads have a job, so that another thread must be started.
    pub(crate) needs_thread: Cell<bool>,
    /// The thread of the program itself, which starts the other threads.
    pub(crate) starter: Cell<Option<Sleeper>>,
    /// A scope, and the number of its tasks that have ended on this worker and are not counted yet.
    pub(crate) ended: Cell<(*const ScopeOf<S>, isize)>,
    /// The threads that wait for room in a queue.
    waiting_for_room: WaitingForRoom,
    /// The next tasks, with data on the way to the local store.
    pub(crate) ahead: RefCell<VecDeque<OnItsWay<S>>>,
    pub(crate) depth: RefCell<Depth>,
    /// Whether written data of ended tasks may still be in the local store.
    pub(crate) has_puts: Cell<bool>,
    /// Whether a task waits for its data. Meanwhile no other task begins.
    pub(crate) is_staging: Cell<bool>,
    /// Whether a task waits for local store that other tasks use.
    pub(crate) wants_room: Cell<bool>,
    pub(crate) counters: WorkerCells,
}

impl<'w, S: Spe> WorkerProgram<'w, S> {
    pub(crate) fn new(
        spe: &'w S,
        shared: &'w Shared<S>,
        number: usize,
        queue: Queue<Job<S>>,
        central: Option<Box<dyn WorkerSide<S> + 'w>>,
    ) -> Self {
        let topology = spe.topology();
        let workers = shared.workers.len();
        let mut others: Vec<usize> = (1..workers).map(|by| (number + by) % workers).collect();
        // The list begins at `number + 1`, so that workers at equal distance are in a different
        // order on each worker.
        others.sort_by_key(|&other| topology.distance(spe.id(), shared.workers[other].spe));
        Self {
            spe,
            shared,
            number,
            queue,
            central,
            others: others.into(),
            idle_threads: Cell::new(0),
            busy_threads: Cell::new(0),
            offers_for_others: Cell::new(false),
            asks: Cell::new(false),
            has_looked: Cell::new(false),
            waiting_threads: Cell::new(0),
            idle_since: Cell::new(None),
            needs_thread: Cell::new(false),
            starter: Cell::new(None),
            ended: Cell::new((ptr::null(), 0)),
            waiting_for_room: WaitingForRoom::default(),
            ahead: RefCell::default(),
            depth: RefCell::new(Depth::new(shared.staging, spe.is_confined_to_local_store())),
            has_puts: Cell::new(false),
            is_staging: Cell::new(false),
            wants_room: Cell::new(false),
            counters: WorkerCells::new(workers),
        }
    }

    pub(crate) fn seat(&self) -> &'w Seat<S> {
        &self.shared.workers[self.number]
    }

    /// Begins the idle time if no other thread runs a job. Called before the calling thread waits.
    pub(crate) fn may_be_idle(&self, now: Time) {
        if self.busy_threads.get() == self.waiting_threads.get() {
            let since = self.idle_since.get();
            self.idle_since.set(since.or(Some(now)));
        }
    }

    pub(crate) fn is_idle_no_more(&self, now: Time) {
        if let Some(since) = self.idle_since.take() {
            self.counters.was_idle(now.since(since));
        }
    }

    /// Returns whether this worker can take a job. If not, asks other workers for work.
    pub(crate) fn is_there_a_job(&self) -> bool {
        if self.is_staging.get() {
            return false;
        }
        let shared = self.shared;
        let is_here = !self.queue.is_empty() || !self.ahead.borrow().is_empty();
        let is_alone = || !self.seat().for_it_alone.is_empty();
        if is_here || is_alone() || !self.seat().inbox.is_empty() {
            return true;
        }
        if self
            .central
            .as_ref()
            .is_some_and(|central| central.may_find())
        {
            return true;
        }
        let mut queues = [&shared.fresh, &shared.high, &shared.low].into_iter();
        if queues.any(|queue| !queue.is_empty()) {
            return true;
        }
        let others = || self.others.iter().map(|&other| &shared.workers[other]);
        if others().any(|other| !other.queue.is_empty() || !other.inbox.is_empty()) {
            return true;
        }
        if self.has_private_half() {
            return true;
        }
        others().for_each(|other| other.request.ask(self.number));
        self.asks.set(true);
        false
    }

    /// Takes back the requests of this worker, which has a job again.
    pub(crate) fn asks_no_more(&self) {
        if !self.asks.replace(false) {
            return;
        }
        let others = || self.others.iter().copied();
        for other in others() {
            let request = &self.shared.workers[other].request;
            request.take_back(self.number, || self.shared.sleepers.are_among(others()));
        }
    }

    /// Waits until few jobs are left in a queue into which this worker puts jobs. If the run was
    /// cancelled, fails with the panic that the caller must resume.
    pub(crate) fn wait_for_room(
        &self,
        worker: &impl Sealed<S>,
        destination: Destination,
    ) -> Result<(), Payload> {
        self.waiting_for_room.wait(
            worker,
            (self.spe.sleeper(), destination),
            || self.queued_at(destination),
            || self.seat().is_stuck(),
        )
    }

    /// Wakes the main program if it waits for room in a queue and few jobs are left in the queue.
    /// This worker has just taken a job from the queue.
    #[inline]
    fn has_taken_from(&self, destination: Destination) {
        if self.shared.has_made_room(destination) {
            self.spe.notify(Processor::Ppe);
        }
    }

    pub(crate) fn take(&self) -> Option<Job<S>> {
        self.waiting_for_room
            .wake(self.spe, |destination| self.queued_at(destination));
        let shared = self.shared;
        let has_priorities = shared.has_priorities.load(Ordering::Acquire);
        if has_priorities && let Some(job) = self.steal(|| shared.high.steal()) {
            self.has_taken_from(Destination::High);
            return Some(job);
        }
        if let Some(job) = self.queue.pop() {
            return Some(job);
        }
        // The halves belong to waiting threads, because the calling thread has none.
        if self.offer_oldest()
            && let Some(job) = self.queue.pop()
        {
            return Some(job);
        }
        let job = self.take_from(&self.seat().for_it_alone);
        let job = job.or_else(|| self.take_from_inbox(self.number));
        let job = job.or_else(|| {
            if shared.fresh.is_empty() {
                return None;
            }
            let (job, bytes) = self.steal_batch(|to| shared.fresh.steal_batch_and_pop(to))?;
            self.counters.took_from_main(bytes);
            self.has_taken_from(Destination::Starter);
            Some(job)
        });
        let job = job.or_else(|| {
            let (other, (job, bytes)) = self.others.iter().find_map(|&other| {
                let queue = &shared.workers[other].queue;
                let taken = self.steal_batch(|to| queue.steal_batch_and_pop(to));
                let taken = taken.or_else(|| {
                    let mut job = self.take_from_inbox(other)?;
                    let bytes = self.bytes_of([&mut job]);
                    Some((job, bytes))
                });
                Some((other, taken?))
            })?;
            self.stole_from(other, bytes);
            Some(job)
        });
        let job = job.or_else(|| {
            let job = self.take_from(&shared.low)?;
            self.has_taken_from(Destination::Low);
            Some(job)
        });
        let job = job.or_else(|| {
            let mut job = Job::Task(self.central.as_ref()?.take()?);
            self.counters.took_from_main(job.bytes());
            Some(job)
        });
        let job = job.or_else(|| self.offer_for_others())?;
        if !self.queue.is_empty() {
            self.announce();
        }
        Some(job)
    }

    /// Takes the oldest jobs of another queue. Returns one of them, and the bytes of all; the
    /// others are in the queue of this worker then.
    fn steal_batch(
        &self,
        steal: impl Fn(&Queue<Job<S>>) -> Steal<Job<S>>,
    ) -> Option<(Job<S>, usize)> {
        if !self.shared.counts_bytes {
            return Some((self.steal(|| steal(&self.queue))?, 0));
        }
        // Other workers may take jobs from the queue of this one before they are measured.
        let batch = Queue::new_lifo();
        let mut job = self.steal(|| steal(&batch))?;
        let mut others: Vec<Job<S>> = std::iter::from_fn(|| batch.pop()).collect();
        let bytes = self.bytes_of(others.iter_mut().chain([&mut job]));
        // The last job that was popped is the oldest.
        others
            .into_iter()
            .rev()
            .for_each(|other| self.queue.push(other));
        Some((job, bytes))
    }

    fn stole_from(&self, other: usize, bytes: usize) {
        self.counters.stole_from(other, bytes);
        if self.shared.counts_bytes {
            // A slice without length in the trace.
            drop(
                self.spe
                    .activity(&format!("stole {bytes} bytes from worker {other}")),
            );
        }
    }

    /// Returns the bytes of jobs, or 0 if nobody asks for the counts.
    fn bytes_of<'j>(&self, jobs: impl IntoIterator<Item = &'j mut Job<S>>) -> usize
    where
        S: 'j,
    {
        if self.shared.counts_bytes {
            jobs.into_iter().map(Job::bytes).sum()
        } else {
            0
        }
    }

    fn take_from_inbox(&self, worker: usize) -> Option<Job<S>> {
        let job = self.take_from(&self.shared.workers[worker].inbox)?;
        self.has_taken_from(Destination::Inbox(worker));
        Some(job)
    }

    /// Takes a job of a queue that is usually empty. To find out takes less time than to steal,
    /// which needs a fence.
    fn take_from(&self, queue: &Injector<Job<S>>) -> Option<Job<S>> {
        if queue.is_empty() {
            None
        } else {
            self.steal(|| queue.steal())
        }
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

    /// Puts a job into this worker's queue, a priority's queue or an inbox. Wakes a worker.
    #[inline]
    pub(crate) fn push(&self, job: Job<S>) {
        if let Err(job) = self.shared.push_to_its_place(job) {
            self.queue.push(job);
        }
        self.wake_idle_thread();
        self.announce();
    }

    /// Wakes an idle thread of this worker, which runs a new job if the calling thread waits.
    #[inline]
    pub(crate) fn wake_idle_thread(&self) {
        if self.has_looked.get() {
            self.has_looked.set(false);
            self.spe.notify(Processor::Spe(self.spe.id()));
        }
    }

    /// Takes the job that this worker would run next, to stage its data ahead.
    pub(crate) fn pop(&self) -> Option<Job<S>> {
        match &self.central {
            None => self.queue.pop(),
            Some(central) => {
                let is_first = self.ahead.borrow().is_empty();
                central.take_ahead(is_first).map(Job::Task)
            }
        }
    }

    pub(crate) fn put_back(&self, job: Job<S>) {
        match (job, &self.central) {
            (Job::Task(task), Some(central)) => central.put_back(task),
            (job, _) => self.queue.push(job),
        }
    }

    #[inline]
    pub(crate) fn queued_here(&self) -> usize {
        self.queue.len()
    }

    #[inline]
    pub(crate) fn queued_at(&self, destination: Destination) -> usize {
        self.shared.queued_at(destination, || self.queued_here())
    }

    /// Returns the approximate number of jobs in all queues.
    pub(crate) fn queued(&self) -> usize {
        let shared = self.shared;
        let of_worker = |seat: &Seat<S>| seat.queue.len() + seat.inbox.len();
        let of_workers = shared.workers.iter().map(of_worker);
        let of_all = [&shared.fresh, &shared.high, &shared.low].map(|queue| queue.len());
        of_workers.chain(of_all).sum::<usize>() + self.ahead.borrow().len()
    }

    #[inline(always)]
    fn announce(&self) {
        let others = self.others.iter().copied();
        self.shared
            .announce(others, |processor| self.spe.notify(processor));
    }

    /// Offers a half of a `join`, because another worker has asked for work.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer(&self) {
        let others = || self.others.iter().copied();
        self.seat().request.answer(
            || self.offer_oldest(),
            || self.shared.sleepers.are_among(others()),
        );
    }

    /// Returns whether a waiting job of this worker has a half that was not offered.
    fn has_private_half(&self) -> bool {
        self.busy_threads.get() > 0 && has_private_half(self.seat())
    }

    /// Offers the oldest half that was not offered yet. Returns false if there is no such half.
    fn offer_oldest(&self) -> bool {
        if self.busy_threads.get() == 0 {
            return false;
        }
        let offered = locked(&self.seat().jobs).iter().find_map(|job| {
            // SAFETY: pointers in the list are valid, and the jobs are those of this worker.
            unsafe { &*job.0 }.offer_oldest(|half, current| self.ticket(self.number, half, current))
        });
        let Some(ticket) = offered else {
            return false;
        };
        self.counters.offers.set(self.counters.offers.get() + 1);
        self.push(Job::Offered(ticket));
        true
    }

    /// Returns whether another worker has a half that was not offered and that this worker can
    /// offer for it. If so, determines whether the next search for a job does it: not for a worker
    /// that has declined a request, because then it looks for requests and may decline again. Until
    /// it answers, or does not look any more, this worker must not sleep.
    pub(crate) fn looks_after_others(&self) -> bool {
        let mut has_half = false;
        let mut offers = false;
        if barrier::is_asymmetric() {
            for other in self.others.iter().map(|&other| &self.shared.workers[other]) {
                if has_private_half(other) {
                    has_half = true;
                    offers |= !other.request.was_declined();
                }
            }
        }
        self.offers_for_others.set(offers);
        has_half
    }

    /// Offers the oldest half of another worker, which has not answered a request, and takes it.
    #[inline]
    fn offer_for_others(&self) -> Option<Job<S>> {
        if !self.offers_for_others.replace(false) {
            return None;
        }
        let offer_for = |&other: &usize| {
            let jobs = locked(&self.shared.workers[other].jobs);
            let ticket = jobs.iter().find_map(|job| {
                let ticket = |half, current| self.ticket(other, half, current);
                // SAFETY: pointers in the list are valid, and the list is locked.
                unsafe { RunningJob::offer_for_owner(job.0, ticket) }
            });
            Some((other, ticket?))
        };
        let (other, ticket) = self.others.iter().find_map(offer_for)?;
        self.stole_from(other, ticket.half.bytes());
        Some(Job::Offered(ticket))
    }

    /// Returns the ticket for a half of the worker `owner`.
    fn ticket(&self, owner: usize, half: Half<S>, current: CurrentTask<S>) -> Ticket<S> {
        Ticket {
            offer: Offer::new(),
            half,
            owner: Processor::Spe(self.shared.workers[owner].spe),
            current,
        }
    }

    /// Counts the end of a task of `scope` on this worker.
    pub(crate) fn task_ended(&self, scope: *const ScopeOf<S>) {
        loop {
            let (of, tasks) = self.ended.get();
            if of == scope || of.is_null() {
                return self.ended.set((scope, tasks + 1));
            }
            // `hand_in_ended` may wait, and another thread may count an ended task meanwhile.
            let handed_in = catch_unwind(AssertUnwindSafe(|| self.hand_in_ended()));
            if let Err(cancelled) = handed_in {
                self.count((scope, 1));
                resume_unwind(cancelled);
            }
        }
    }

    /// Adds the ended tasks in `ended` to the count of their scope.
    pub(crate) fn hand_in_ended(&self) {
        let ended = self.ended.replace((ptr::null(), 0));
        let mut left = Ok(());
        if !ended.0.is_null() && self.has_puts.replace(false) && !self.spe.is_cancelled() {
            left = catch_unwind(AssertUnwindSafe(|| self.spe.departed()));
        }
        // The tasks have ended, even if the wait was cancelled.
        self.count(ended);
        left.unwrap_or_else(|cancelled| resume_unwind(cancelled));
    }

    fn count(&self, (scope, tasks): (*const ScopeOf<S>, isize)) {
        // SAFETY: the pointer is null, or a scope that waits for these tasks.
        let Some(scope) = (unsafe { scope.as_ref() }) else {
            return;
        };
        // The owner may free the scope when the last task is counted.
        let waiter = scope.waiter;
        if scope.count.end(tasks) {
            self.spe.wake(waiter);
        }
    }
}

/// Returns whether a job of a worker has a half that was not offered.
fn has_private_half<S: Spe>(seat: &Seat<S>) -> bool {
    let jobs = locked(&seat.jobs);
    // SAFETY: pointers in the list are valid, and the list is locked.
    jobs.iter()
        .any(|job| unsafe { Halves::has_private_of(&raw const (*job.0).halves) })
}

/// A guard for the time in which the calling thread's job waits for other jobs of the pool.
pub(crate) struct WaitsForOthers<'a, 'w, S: Spe>(&'a WorkerProgram<'w, S>);

impl<'a, 'w, S: Spe> WaitsForOthers<'a, 'w, S> {
    pub(crate) fn new(program: &'a WorkerProgram<'w, S>) -> Self {
        let waiting = &program.waiting_threads;
        waiting.set(waiting.get() + 1);
        program.may_be_idle(program.spe.now());
        Self(program)
    }
}

impl<S: Spe> Drop for WaitsForOthers<'_, '_, S> {
    fn drop(&mut self) {
        let program = self.0;
        program.asks_no_more();
        program.is_idle_no_more(program.spe.now());
        let waiting = &program.waiting_threads;
        waiting.set(waiting.get() - 1);
    }
}
