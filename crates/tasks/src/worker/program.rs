//! The program of a worker, which takes jobs for its [threads](crate::worker::threads) to run.
//!
//! ```text
//!   1  tasks with high priority ─────────────────────┐
//!   2  its own queue, and its own offer ─────────────┤
//!   3  halves of waiting threads of this worker ─────┤
//!   4  jobs for it alone, and then its inbox ────────┤
//!   5  jobs of the main program ─────────────────────┼──► take ──► a thread runs it until it waits
//!   6  offers, queues, inboxes of others, nearest ───┤              └──► the next thread takes
//!   7  tasks with low priority ──────────────────────┤                   the next job
//!   8  queues in main memory, with such a scheduler ─┤
//!   9  halves that others have not offered ──────────┘
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cellworks_machine::{Payload, Processor, Spe};
use crossbeam_deque::{Injector, Steal, Worker as Queue};

use crate::discard::forgiving;
use crate::phase::node::ScopeOf;
use crate::place::sealed::Sealed;
use crate::pool::counters::WorkerCells;
use crate::shared::job::Job;
use crate::shared::room::WaitingForRoom;
use crate::shared::{Destination, Seat, Shared};
use crate::sync::Ordering;
use crate::three_level::WorkerDoor;
use crate::worker::ahead::Ahead;
use crate::worker::depth::Depth;
use crate::worker::ended::{Batch, Ended};
use crate::worker::requests::Requests;
use crate::worker::thread_counts::ThreadCounts;

pub(crate) struct WorkerProgram<'w, S: Spe> {
    pub(crate) spe: &'w S,
    pub(crate) shared: &'w Shared<S>,
    pub(crate) number: usize,
    queue: Queue<Job<S>>,
    pub(crate) central: WorkerDoor<'w, S>,
    pub(crate) threads: ThreadCounts,
    pub(crate) requests: Requests<'w, S>,
    pub(crate) ended: Ended<S>,
    pub(crate) ahead: Ahead<S>,
    /// The threads that wait for room in a queue.
    waiting_for_room: WaitingForRoom,
    pub(crate) counters: WorkerCells,
}

impl<'w, S: Spe> WorkerProgram<'w, S> {
    pub(crate) fn new(
        spe: &'w S,
        shared: &'w Shared<S>,
        number: usize,
        queue: Queue<Job<S>>,
        central: WorkerDoor<'w, S>,
    ) -> Self {
        let depth = Depth::new(shared.staging, spe.is_confined_to_local_store());
        Self {
            spe,
            shared,
            number,
            queue,
            central,
            threads: ThreadCounts::new(),
            requests: Requests::new(spe, shared, number),
            ended: Ended::new(),
            ahead: Ahead::new(depth),
            waiting_for_room: WaitingForRoom::default(),
            counters: WorkerCells::new(shared.workers.len()),
        }
    }

    pub(crate) fn seat(&self) -> &'w Seat<S> {
        &self.shared.workers[self.number]
    }

    pub(crate) fn is_idle_no_more(&self) {
        if let Some(idle) = self.threads.is_idle_no_more(self.spe.now()) {
            self.counters.was_idle(idle);
        }
    }

    /// Returns whether one of the sources of [`take`](Self::take), or the data ahead, has a job
    /// that this worker can take now. If none has, asks other workers for work.
    pub(crate) fn has_job_or_asks(&self) -> bool {
        if self.ahead.is_staging() {
            return false;
        }
        let (shared, seat) = (self.shared, self.seat());
        let others = || self.requests.others().map(|other| &shared.workers[other]);
        let of_main = [&shared.fresh, &shared.high, &shared.low];
        let is_there = others().any(|other| !other.exchange.offer.is_empty())
            || !self.queue.is_empty()
            || !seat.exchange.offer.is_empty()
            || !self.ahead.is_empty()
            || !seat.for_it_alone.is_empty()
            || !seat.inbox.is_empty()
            || self.central.may_find()
            || of_main.iter().any(|queue| !queue.is_empty())
            || others().any(|other| !other.queue.is_empty() || !other.inbox.is_empty())
            || self.threads.busy() > 0 && self.requests.has_half(self.number);
        if !is_there {
            self.requests.ask();
        }
        is_there
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
            Self::with_job_in_hand(|| self.spe.notify(Processor::Ppe));
        }
    }

    /// Calls `notify`, which panics if the run is cancelled, while the caller has a job in hand
    /// that is in no queue. The panic would lose the job, whose scope waits for it, so the panic is
    /// dropped: the worker meets the next one when it has begun the job.
    #[inline]
    fn with_job_in_hand(notify: impl FnOnce()) {
        forgiving(notify);
    }

    /// Takes the job that this worker runs next, in the order of the drawing above.
    pub(crate) fn take(&self) -> Option<Job<S>> {
        // Other workers may take jobs during the job that has ended.
        self.spe.catch_up();
        self.waiting_for_room
            .wake(self.spe, |destination| self.queued_at(destination));
        if let Some(job) = self.take_high() {
            return Some(job);
        }
        if let Some(job) = self.take_own() {
            return Some(job);
        }
        // The halves belong to waiting threads, because the calling thread has none.
        if self.offer_oldest()
            && let Some(job) = self.take_own()
        {
            return Some(job);
        }
        let job = self.take_from(&self.seat().for_it_alone);
        let job = job.or_else(|| self.take_from_inbox(self.number));
        let job = job.or_else(|| self.take_fresh());
        let job = job.or_else(|| self.take_from_others());
        let job = job.or_else(|| self.take_low());
        let job = job.or_else(|| self.take_central());
        let job = job.or_else(|| self.offer_for_another())?;
        if !self.queue.is_empty() {
            Self::with_job_in_hand(|| self.announce(None));
        }
        Some(job)
    }

    #[inline]
    fn take_high(&self) -> Option<Job<S>> {
        let shared = self.shared;
        if !shared.has_priorities.load(Ordering::Acquire) {
            return None;
        }
        let job = self.steal(|| shared.high.steal())?;
        self.has_taken_from(Destination::High);
        Some(job)
    }

    /// Takes a job of this worker's queue, or the half that this worker has offered.
    #[inline]
    fn take_own(&self) -> Option<Job<S>> {
        let offer = &self.seat().exchange.offer;
        let job = self.queue.pop();
        job.or_else(|| offer.take().map(Job::Offered))
    }

    #[inline]
    fn take_fresh(&self) -> Option<Job<S>> {
        let fresh = &self.shared.fresh;
        if fresh.is_empty() {
            return None;
        }
        let (job, bytes) = self.steal_batch(|to| fresh.steal_batch_and_pop(to))?;
        self.counters.took_from_main(bytes);
        self.has_taken_from(Destination::Starter);
        Some(job)
    }

    #[inline]
    fn take_from_others(&self) -> Option<Job<S>> {
        let (other, (job, bytes)) = self.requests.others().find_map(|other| {
            let with_bytes = |mut job| {
                let bytes = self.bytes_of([&mut job]);
                (job, bytes)
            };
            let seat = &self.shared.workers[other];
            let offer = seat.exchange.offer.take();
            let taken = offer.map(|offer| with_bytes(Job::Offered(offer)));
            let taken = taken.or_else(|| self.steal_batch(|to| seat.queue.steal_batch_and_pop(to)));
            let taken = taken.or_else(|| self.take_from_inbox(other).map(with_bytes));
            Some((other, taken?))
        })?;
        self.stole_from(other, bytes);
        Some(job)
    }

    #[inline]
    fn take_low(&self) -> Option<Job<S>> {
        let job = self.take_from(&self.shared.low)?;
        self.has_taken_from(Destination::Low);
        Some(job)
    }

    #[inline]
    fn take_central(&self) -> Option<Job<S>> {
        let mut job = Job::Task(self.central.take()?);
        self.counters.took_from_main(job.bytes());
        Some(job)
    }

    /// Offers the oldest half of another worker, and takes it.
    #[inline]
    fn offer_for_another(&self) -> Option<Job<S>> {
        let (other, offer) = self.requests.offer_for_another()?;
        self.stole_from(other, offer.half.bytes());
        Some(Job::Offered(offer))
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

    /// Returns the bytes of jobs, or 0 if the pool keeps no counts.
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

    /// Puts a job into this worker's queue, a priority's queue or an inbox. Then wakes a worker,
    /// which panics if the run is cancelled. The job stays where it is.
    #[inline]
    pub(crate) fn push(&self, job: Job<S>) {
        let first = self.shared.push_to_its_place(job).unwrap_or_else(|job| {
            self.queue.push(job);
            None
        });
        self.wake_idle_thread();
        self.announce(first);
    }

    /// Wakes an idle thread of this worker, which runs a new job if the calling thread waits.
    #[inline]
    pub(crate) fn wake_idle_thread(&self) {
        if self.threads.must_look_again() {
            self.notify_own_threads();
        }
    }

    /// Makes the threads of this worker look again at what they wait for.
    pub(crate) fn notify_own_threads(&self) {
        self.spe.notify(Processor::Spe(self.spe.id()));
    }

    /// Takes the job that this worker would run next, to stage its data ahead.
    pub(crate) fn pop(&self) -> Option<Job<S>> {
        if self.central.is_open() {
            return self
                .central
                .take_ahead(self.ahead.is_empty())
                .map(Job::Task);
        }
        self.queue.pop()
    }

    pub(crate) fn put_back(&self, job: Job<S>) {
        if let Err(job) = self.central.put_back(job) {
            self.queue.push(job);
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
        let of_worker = |seat: &Seat<S>| {
            let offers = usize::from(!seat.exchange.offer.is_empty());
            seat.queue.len() + seat.inbox.len() + offers
        };
        let of_workers = shared.workers.iter().map(of_worker);
        let of_all = [&shared.fresh, &shared.high, &shared.low].map(|queue| queue.len());
        of_workers.chain(of_all).sum::<usize>() + self.ahead.len()
    }

    /// Wakes a worker that sleeps, because there is a job: the worker `first` before others.
    #[inline(always)]
    fn announce(&self, first: Option<usize>) {
        let order = first.into_iter().chain(self.requests.others());
        self.shared.announce(order, |processor| {
            self.spe.notify(processor);
        });
    }

    /// Offers the oldest half of a `join` on this worker that was not offered yet. Returns false if
    /// there is no such half.
    pub(crate) fn offer_oldest(&self) -> bool {
        if self.threads.busy() == 0 {
            return false;
        }
        let Some(offer) = self.requests.offer_half_of(self.number) else {
            return false;
        };
        self.counters.offers.set(self.counters.offers.get() + 1);
        if let Err(offer) = self.seat().exchange.offer.put(offer) {
            self.queue.push(Job::Offered(offer));
        }
        self.wake_idle_thread();
        self.announce(None);
        true
    }

    /// Counts the end of a task of `scope` on this worker.
    pub(crate) fn task_ended(&self, scope: *const ScopeOf<S>) {
        while !self.ended.add(scope) {
            // `hand_in_ended` may wait, and another thread may count an ended task meanwhile.
            let handed_in = catch_unwind(AssertUnwindSafe(|| self.hand_in_ended()));
            if let Err(cancelled) = handed_in {
                Batch::one_of(scope).count(self.spe);
                resume_unwind(cancelled);
            }
        }
    }

    /// Adds the ended tasks in `ended` to the count of their scope.
    pub(crate) fn hand_in_ended(&self) {
        let ended = self.ended.take();
        let mut left = Ok(());
        if !ended.is_empty() && !self.spe.is_cancelled() {
            left = catch_unwind(AssertUnwindSafe(|| {
                if self.ahead.take_puts() {
                    self.spe.departed();
                }
                self.spe.catch_up();
            }));
        }
        // The tasks have ended, even if the wait was cancelled.
        ended.count(self.spe);
        left.unwrap_or_else(|cancelled| resume_unwind(cancelled));
    }
}

/// A guard for the time in which the calling thread's job waits for other jobs of the pool.
pub(crate) struct WaitsForOthers<'a, 'w, S: Spe>(&'a WorkerProgram<'w, S>);

impl<'a, 'w, S: Spe> WaitsForOthers<'a, 'w, S> {
    pub(crate) fn new(program: &'a WorkerProgram<'w, S>) -> Self {
        program.threads.begin_to_wait();
        program.threads.may_be_idle(program.spe.now());
        Self(program)
    }
}

impl<S: Spe> Drop for WaitsForOthers<'_, '_, S> {
    fn drop(&mut self) {
        let program = self.0;
        program.requests.take_back();
        program.is_idle_no_more();
        program.threads.end_to_wait();
    }
}
