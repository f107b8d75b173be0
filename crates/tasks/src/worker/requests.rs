//! What a worker asks of others, and offers to them: the halves of `join` calls.
//!
//! ```text
//!   this worker has no job:  ask ──► look_after_others ──► offer_for_another: offers, and takes
//!               has a job:   take_back
//!   another worker asks:     offer_half_of
//! ```

use std::cell::Cell;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use cellworks_machine::{Processor, Spe};

use crate::join::halves::{Halves, RunningJob};
use crate::join::offer::Offer;
use crate::shared::{JobPointer, Seat, Shared};
use crate::sync::{barrier, locked};

/// The number of jobs of a worker below which the list of jobs leaves out none, and all threads
/// wait for halves by notification.
const FEW_JOBS: usize = 16;

/// The requests of one worker, and its halves.
pub(crate) struct Requests<'w, S: Spe> {
    shared: &'w Shared<S>,
    number: usize,
    os_thread: ThreadId,
    /// The numbers of the other workers, nearest first.
    others: Box<[usize]>,
    /// Whether this worker has asked others for work since it last had a job.
    asks: Cell<bool>,
    /// Whether the next search for a job offers halves for their owners, which have not answered a
    /// request.
    offers_for_others: Cell<bool>,
    /// The number of jobs in the list at which jobs without a private half are left out.
    many_jobs: Cell<usize>,
}

impl<'w, S: Spe> Requests<'w, S> {
    pub(crate) fn new(spe: &S, shared: &'w Shared<S>, number: usize) -> Self {
        let topology = spe.topology();
        let workers = shared.workers.len();
        let mut others: Vec<usize> = (1..workers).map(|by| (number + by) % workers).collect();
        // The list begins at `number + 1`, so that workers at equal distance are in a different
        // order on each worker.
        others.sort_by_key(|&other| topology.distance(spe.id(), shared.workers[other].spe));
        let os_thread = *shared.workers[number]
            .os_thread
            .get_or_init(|| thread::current().id());
        Self {
            shared,
            number,
            os_thread,
            others: others.into(),
            asks: Cell::new(false),
            offers_for_others: Cell::new(false),
            many_jobs: Cell::new(FEW_JOBS),
        }
    }

    /// Returns the numbers of the other workers, nearest first.
    #[inline(always)]
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> {
        self.others.iter().copied()
    }

    fn seat(&self) -> &'w Seat<S> {
        &self.shared.workers[self.number]
    }

    /// Asks the other workers for work.
    pub(crate) fn ask(&self) {
        for other in self.others() {
            self.shared.workers[other].exchange.request.ask(self.number);
        }
        self.asks.set(true);
    }

    /// Takes back the requests of this worker, which has a job again.
    pub(crate) fn take_back(&self) {
        if !self.asks.replace(false) {
            return;
        }
        for other in self.others() {
            let request = &self.shared.workers[other].exchange.request;
            let does_another_sleep = || self.shared.sleepers.are_among(self.others());
            request.take_back(self.number, does_another_sleep);
        }
    }

    /// Puts a job of this worker into the list of its jobs.
    pub(crate) fn list(&self, job: &RunningJob<S>) {
        let mut jobs = locked(&self.seat().jobs);
        if jobs.list.len() >= self.many_jobs.get() {
            drop(jobs);
            self.shorten();
            jobs = locked(&self.seat().jobs);
        }
        jobs.list.push_back(JobPointer(job));
    }

    /// Takes the jobs of this worker without a private half out of the list of its jobs, because
    /// each search for a half goes through the list.
    fn shorten(&self) {
        let mut jobs = locked(&self.seat().jobs);
        // SAFETY: a job is taken out of the list before it ends, so the pointers are valid while
        // the list is locked. The list is that of this worker, whose OS thread alone uses the cells
        // of its jobs, and this value stays on that thread, because it has cells, too.
        jobs.list
            .retain(|job| !unsafe { &*job.0 }.halves.leave_out());
        // Half of the jobs that the next call looks at were listed after this call.
        self.many_jobs.set(FEW_JOBS.max(2 * jobs.list.len()));
    }

    /// Returns whether a job of a worker has a half that was not offered.
    pub(crate) fn has_half(&self, owner: usize) -> bool {
        let jobs = locked(&self.shared.workers[owner].jobs);
        let mut list = jobs.list.iter();
        // SAFETY: pointers in the list are valid, and the list is locked.
        list.any(|job| unsafe { Halves::has_private_of(&raw const (*job.0).halves) })
    }

    /// Offers the oldest half of a worker that was not offered yet, if any: of this worker, or of
    /// another one in its place.
    pub(crate) fn offer_half_of(&self, owner: usize) -> Option<Arc<Offer<S>>> {
        let seat = &self.shared.workers[owner];
        let is_here = self.is_here(seat);
        let mut jobs = locked(&seat.jobs);
        // If many threads waited for a notification, each of them would look at each one.
        let by_name = jobs.threads > FEW_JOBS;
        let offer = |job: &JobPointer<S>| {
            // SAFETY: pointers in the list are valid, and the list is locked. `is_here` is true
            // only if the program of the owner, which alone adds and removes halves, runs on the
            // OS thread of this call.
            unsafe { RunningJob::offer_oldest(job.0, is_here, Processor::Spe(seat.spe), by_name) }
        };
        let mut offers = jobs.list.iter().map(offer).enumerate();
        let found = offers.find_map(|(place, offer)| Some((place, offer?)));
        match found {
            // The next search begins here: many jobs before this one have no half.
            Some((place, _)) if place >= FEW_JOBS => jobs.list.rotate_left(place),
            None if owner == self.number && jobs.list.len() >= FEW_JOBS => {
                drop(jobs);
                self.shorten();
            }
            _ => {}
        }
        found.map(|(_, offer)| offer)
    }

    /// Returns whether another worker has a half that was not offered and that this worker can
    /// offer for it. If so, determines whether the next search for a job does it: not for a worker
    /// that has declined a request, because then it looks for requests and may decline again. Until
    /// it answers, or does not look any more, this worker must not sleep.
    pub(crate) fn look_after_others(&self) -> bool {
        let mut has_half = false;
        let mut offers = false;
        for other in self.others() {
            let seat = &self.shared.workers[other];
            if (self.is_here(seat) || barrier::is_asymmetric()) && self.has_half(other) {
                has_half = true;
                offers |= !seat.exchange.request.was_declined();
            }
        }
        self.offers_for_others.set(offers);
        has_half
    }

    /// Offers the oldest half of another worker, which has not answered a request, and takes it.
    /// Returns the number of the other worker, and the offer.
    #[inline]
    pub(crate) fn offer_for_another(&self) -> Option<(usize, Arc<Offer<S>>)> {
        if !self.offers_for_others.replace(false) {
            return None;
        }
        self.others()
            .find_map(|other| Some((other, self.offer_half_of(other)?)))
    }

    /// Returns whether a worker runs on the OS thread of this one, as all workers of a simulated
    /// machine do.
    fn is_here(&self, worker: &Seat<S>) -> bool {
        worker.os_thread.get() == Some(&self.os_thread)
    }
}
