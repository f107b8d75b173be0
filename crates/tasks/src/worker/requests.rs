//! What a worker asks of others, and offers to them: the halves of `join` calls.
//!
//! ```text
//!   this worker has no job:  ask ──► look_after_others ──► offer_for_another: offers, and takes
//!               has a job:   take_back
//!   another worker asks:     offer_oldest
//! ```

use std::cell::Cell;
use std::sync::Arc;

use cellworks_machine::{Processor, Spe};

use crate::join::halves::{Halves, RunningJob};
use crate::join::offer::{Offer, State};
use crate::phase::node::CurrentTask;
use crate::scope::closure::Half;
use crate::shared::{Seat, Shared};
use crate::sync::{barrier, locked};

/// The requests of one worker, and its halves.
pub(crate) struct Requests<'w, S: Spe> {
    shared: &'w Shared<S>,
    number: usize,
    /// The numbers of the other workers, nearest first.
    others: Box<[usize]>,
    /// Whether this worker has asked others for work since it last had a job.
    asks: Cell<bool>,
    /// Whether the next search for a job offers halves for their owners, which have not answered a
    /// request.
    offers_for_others: Cell<bool>,
}

impl<'w, S: Spe> Requests<'w, S> {
    pub(crate) fn new(spe: &S, shared: &'w Shared<S>, number: usize) -> Self {
        let topology = spe.topology();
        let workers = shared.workers.len();
        let mut others: Vec<usize> = (1..workers).map(|by| (number + by) % workers).collect();
        // The list begins at `number + 1`, so that workers at equal distance are in a different
        // order on each worker.
        others.sort_by_key(|&other| topology.distance(spe.id(), shared.workers[other].spe));
        Self {
            shared,
            number,
            others: others.into(),
            asks: Cell::new(false),
            offers_for_others: Cell::new(false),
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
            request.take_back(self.number, || self.does_another_sleep());
        }
    }

    /// Returns whether a worker sleeps that could take a half of this worker.
    pub(crate) fn does_another_sleep(&self) -> bool {
        self.shared.sleepers.are_among(self.others())
    }

    /// Returns whether a waiting job of this worker has a half that was not offered.
    pub(crate) fn has_private_half(&self) -> bool {
        has_private_half(self.seat())
    }

    /// Offers the oldest half of this worker that was not offered yet, if any.
    pub(crate) fn offer_oldest(&self) -> Option<Arc<Offer<S>>> {
        locked(&self.seat().jobs).iter().find_map(|job| {
            // SAFETY: pointers in the list are valid, and the jobs are those of this worker.
            let job = unsafe { &*job.0 };
            let offer = |half| self.offer(self.number, half, job.current.get());
            job.halves.offer_oldest(offer)
        })
    }

    /// Returns whether another worker has a half that was not offered and that this worker can
    /// offer for it. If so, determines whether the next search for a job does it: not for a worker
    /// that has declined a request, because then it looks for requests and may decline again. Until
    /// it answers, or does not look any more, this worker must not sleep.
    pub(crate) fn look_after_others(&self) -> bool {
        let mut has_half = false;
        let mut offers = false;
        if barrier::is_asymmetric() {
            for other in self.others().map(|other| &self.shared.workers[other]) {
                if has_private_half(other) {
                    has_half = true;
                    offers |= !other.exchange.request.was_declined();
                }
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
        self.others().find_map(|other| {
            let jobs = locked(&self.shared.workers[other].jobs);
            let offer = jobs.iter().find_map(|job| {
                let offer = |half, current| self.offer(other, half, current);
                // SAFETY: pointers in the list are valid, and the list is locked.
                unsafe { RunningJob::offer_for_owner(job.0, offer) }
            });
            Some((other, offer?))
        })
    }

    /// Makes an offer of a half of the worker `owner`.
    fn offer(&self, owner: usize, half: Half<S>, current: CurrentTask<S>) -> Arc<Offer<S>> {
        Arc::new(Offer {
            state: State::new(),
            half,
            owner: Processor::Spe(self.shared.workers[owner].spe),
            current,
        })
    }
}

/// Returns whether a job of a worker has a half that was not offered.
fn has_private_half<S: Spe>(seat: &Seat<S>) -> bool {
    let jobs = locked(&seat.jobs);
    // SAFETY: pointers in the list are valid, and the list is locked.
    jobs.iter()
        .any(|job| unsafe { Halves::has_private_of(&raw const (*job.0).halves) })
}
