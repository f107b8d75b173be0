//! The data that the workers of a pool share.
//!
//! ```text
//!   Shared   fresh: jobs of the main program     high, low: tasks with a priority
//!            sleepers: the workers to wake       room: whether the main program waits
//!            workers: a Seat for each of them
//!              queue    its own jobs, from which others steal     inbox  tasks meant for it
//!              jobs     what its threads run, with their halves   for_it_alone  broadcasts
//!              exchange  who asks it for work, and the half that it offers
//! ```
//!
//! Read `job` first (an element of a queue), then this file, `sleepers` (who is woken for a job),
//! and `room` and `fresh_room` (how programs wait while a queue is full).

// Rejected: our own deque. The deque of crossbeam is known, tested and fast enough.
// Rejected: closures that only their own worker can take. With half of the closures private, an
// empty closure took 27 ns instead of 48 ns on two workers, but idle workers could not help others.

pub(crate) mod fresh_room;
pub(crate) mod job;
pub(crate) mod room;
pub(crate) mod sleepers;

use std::collections::VecDeque;
use std::sync::{OnceLock, atomic};
use std::thread::ThreadId;

use cellworks_machine::{Processor, Spe, SpeId, Topology};
use crossbeam_deque::{Injector, Steal, Stealer, Worker as Queue};
use crossbeam_utils::CachePadded;

use crate::join::halves::RunningJob;
use crate::join::offer::Offer;
use crate::join::request::Exchange;
use crate::phase::node::ScopeOf;
use crate::phase::waits::Waits;
use crate::pool::settings::{Priority, Staging};
use crate::shared::fresh_room::FreshRoom;
use crate::shared::job::Job;
use crate::shared::sleepers::Sleepers;
use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::three_level::Queues;

pub(crate) struct Shared<S: Spe> {
    /// A number that no other pool of the process has or has had.
    pub(crate) number: usize,
    pub(crate) workers: Box<[Seat<S>]>,
    /// Jobs that the main program has started.
    pub(crate) fresh: Injector<Job<S>>,
    pub(crate) room: FreshRoom,
    pub(crate) high: Injector<Job<S>>,
    pub(crate) low: Injector<Job<S>>,
    /// Whether a task with high or low priority was ever submitted.
    pub(crate) has_priorities: AtomicBool,
    pub(crate) staging: Staging,
    pub(crate) dicing: Option<usize>,
    /// Whether workers count the bytes of the work that they take, which takes them some time.
    pub(crate) counts_bytes: bool,
    pub(crate) sleepers: Sleepers,
    pub(crate) waits: Waits<S>,
    /// The scope of closures that belong to no other scope. The main program makes it and waits for
    /// it.
    pub(crate) scope: OnceLock<ScopeOf<S>>,
    /// The queues in main memory, if the scheduler has such queues.
    pub(crate) central: Option<Queues<S>>,
    /// Whether the main program has ended.
    closed: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The queue of the place that starts the job.
    Starter,
    High,
    Low,
    Inbox(usize),
}

/// The part of a worker that other workers access.
pub(crate) struct Seat<S: Spe> {
    pub(crate) spe: SpeId,
    /// The OS thread that runs the program of the worker, once the program has begun.
    pub(crate) os_thread: OnceLock<ThreadId>,
    /// The end of the worker's queue at which other workers take jobs.
    pub(crate) queue: Stealer<Job<S>>,
    /// Tasks that should run on this worker.
    pub(crate) inbox: Injector<Job<S>>,
    /// Closures that this worker alone may run.
    pub(crate) for_it_alone: Injector<Job<S>>,
    /// The request of other workers for a half of this worker, and the offer that answers it.
    pub(crate) exchange: CachePadded<Exchange<Offer<S>>>,
    /// The jobs of the worker. Apart from the other fields, which workers that ask read while this
    /// worker locks the list.
    pub(crate) jobs: CachePadded<Mutex<Jobs<S>>>,
    /// Whether waiting jobs occupy all threads, and the local store has no room for another thread.
    pub(crate) is_stuck: AtomicBool,
}

/// The jobs that the threads of a worker run.
pub(crate) struct Jobs<S: Spe> {
    /// All pointers are valid. A long list leaves out jobs that have no half to offer.
    pub(crate) list: VecDeque<JobPointer<S>>,
    /// The number of threads of the worker.
    pub(crate) threads: usize,
}

impl<S: Spe> Default for Jobs<S> {
    fn default() -> Self {
        Self {
            list: VecDeque::new(),
            threads: 0,
        }
    }
}

/// A pointer in the list of a worker's jobs, which other workers use under the lock of the list.
pub(crate) struct JobPointer<S: Spe>(pub(crate) *const RunningJob<S>);

// SAFETY: other workers than the owner use only what `RunningJob` and `Halves` offer to them.
unsafe impl<S: Spe> Send for JobPointer<S> {}

impl<S: Spe> Seat<S> {
    pub(crate) fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }
}

impl<S: Spe> Shared<S> {
    /// Makes the shared data and the queues for workers on `spes`. Workers whose place has the same
    /// name share an OS thread.
    pub(crate) fn new(
        topology: &Topology,
        spes: &[SpeId],
        staging: Staging,
        dicing: Option<usize>,
        central: Option<Queues<S>>,
        counts_bytes: bool,
    ) -> (Self, Vec<Queue<Job<S>>>) {
        let queues: Vec<_> = spes.iter().map(|_| Queue::new_lifo()).collect();
        let seat = |(&spe, queue): (&SpeId, &Queue<Job<S>>)| Seat {
            spe,
            os_thread: OnceLock::new(),
            queue: queue.stealer(),
            inbox: Injector::new(),
            for_it_alone: Injector::new(),
            exchange: CachePadded::new(Exchange::new()),
            jobs: CachePadded::default(),
            is_stuck: AtomicBool::new(false),
        };
        static NEXT: atomic::AtomicUsize = atomic::AtomicUsize::new(0);
        let shared = Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            workers: spes.iter().zip(&queues).map(seat).collect(),
            fresh: Injector::new(),
            room: FreshRoom::new(),
            high: Injector::new(),
            low: Injector::new(),
            has_priorities: AtomicBool::new(false),
            staging,
            dicing,
            counts_bytes,
            sleepers: Sleepers::new(&groups(topology, spes)),
            waits: Waits::new(),
            scope: OnceLock::new(),
            central,
            closed: AtomicBool::new(false),
        };
        (shared, queues)
    }

    /// Returns a number that no other living pool has.
    #[inline]
    pub(crate) fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Makes the workers end, after all jobs of the main program have ended.
    pub(crate) fn close(&self, notify: impl Fn(Processor)) {
        self.closed.store(true, Ordering::Release);
        self.workers
            .iter()
            .for_each(|seat| notify(Processor::Spe(seat.spe)));
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Wakes the first worker in `order` that waits for a job. The caller has queued a job.
    #[inline(always)]
    pub(crate) fn announce(
        &self,
        order: impl IntoIterator<Item = usize>,
        notify: impl Fn(Processor),
    ) {
        if self.sleepers.are_there()
            && let Some(worker) = self.sleepers.one_to_wake(order)
        {
            notify(Processor::Spe(self.workers[worker].spe));
        }
    }

    /// Puts a job into the queue of jobs that a worker alone may run, and wakes this worker.
    pub(crate) fn push_to(&self, worker: usize, job: Job<S>, notify: impl Fn(Processor)) {
        let seat = &self.workers[worker];
        seat.for_it_alone.push(job);
        notify(Processor::Spe(seat.spe));
    }

    /// Puts a job of the main program into a queue, and wakes a worker.
    pub(crate) fn push_fresh(&self, job: Job<S>, notify: impl Fn(Processor)) {
        let first = self.push_to_its_place(job).unwrap_or_else(|job| {
            self.fresh.push(job);
            None
        });
        self.announce(first.into_iter().chain(0..self.workers.len()), notify);
    }

    #[inline(always)]
    pub(crate) fn queue_of(&self, job: &Job<S>) -> Destination {
        let Job::Task(task) = job else {
            return Destination::Starter;
        };
        match task.priority {
            Priority::High => Destination::High,
            Priority::Low => Destination::Low,
            Priority::Normal => task
                .best_worker()
                .map_or(Destination::Starter, Destination::Inbox),
        }
    }

    /// Puts a task into the queue of its priority or worker. Returns the number of this worker, if
    /// any, which is to be woken for it. Returns a job for the queue `Starter`.
    #[inline(always)]
    pub(crate) fn push_to_its_place(&self, job: Job<S>) -> Result<Option<usize>, Job<S>> {
        let queue = match self.queue_of(&job) {
            Destination::Starter => return Err(job),
            Destination::Inbox(worker) => {
                self.workers[worker].inbox.push(job);
                return Ok(Some(worker));
            }
            Destination::High => &self.high,
            Destination::Low => &self.low,
        };
        queue.push(job);
        // The store comes after the push, so a worker that reads the flag as true finds the task.
        self.has_priorities.store(true, Ordering::Release);
        Ok(None)
    }

    /// Returns the number of jobs in a queue. `of_starter` counts the jobs in the queue `Starter`.
    #[inline]
    pub(crate) fn queued_at(
        &self,
        destination: Destination,
        of_starter: impl FnOnce() -> usize,
    ) -> usize {
        match destination {
            Destination::Starter => of_starter(),
            Destination::High => self.high.len(),
            Destination::Low => self.low.len(),
            Destination::Inbox(worker) => self.workers[worker].inbox.len(),
        }
    }

    /// Drops the queued jobs, because the run was cancelled.
    pub(crate) fn discard_jobs(&self) {
        for queue in [&self.high, &self.fresh, &self.low] {
            discard(&mut || queue.steal());
        }
        for seat in &self.workers {
            // The owner of the half withdraws the offer.
            drop(seat.exchange.offer.take());
            discard(&mut || seat.queue.steal());
            discard(&mut || seat.inbox.steal());
            discard(&mut || seat.for_it_alone.steal());
        }
        let central = self.central.iter().flat_map(Queues::take_all);
        central.for_each(|task| Job::Task(task).discard());
    }
}

/// Returns the number of the group of each worker: that of the first worker with the same place.
fn groups(topology: &Topology, spes: &[SpeId]) -> Vec<usize> {
    let place = |spe: &SpeId| topology.place_of(*spe);
    let first_with = |(number, spe)| {
        let mut named = spes.iter().map(place);
        match place(spe) {
            "" => number,
            name => named.position(|other| other == name).unwrap_or(number),
        }
    };
    spes.iter().enumerate().map(first_with).collect()
}

fn discard<S: Spe>(take: &mut dyn FnMut() -> Steal<Job<S>>) {
    loop {
        match take() {
            Steal::Success(job) => job.discard(),
            Steal::Retry => {}
            Steal::Empty => return,
        }
    }
}
