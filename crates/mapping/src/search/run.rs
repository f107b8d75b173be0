//! What a search has found so far, and whether it is to go on.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::Placement;
use crate::slots::Slots;

/// How many iterations pass between two looks at the clock.
const BETWEEN_LOOKS: u64 = 64;

/// How long the search goes on without calling the caller, if 64 iterations take less than this.
const BETWEEN_CALLS: Duration = Duration::from_millis(10);

/// Costs that differ by less than this part of them are the same: sums of fractions are rounded.
const ROUNDING: f64 = 1e-12;

/// When a search ends, unless it has looked at all placements before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this time, give or take some milliseconds.
    Time(Duration),
    /// After this number of iterations: an iteration exchanges two tasks, or moves a task to free
    /// room. Then the problem and the seed decide what is found.
    Iterations(u64),
}

/// What a search has found so far.
#[derive(Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The best placement so far.
    pub placement: &'a Placement,
    /// What it costs.
    pub cost: f64,
    /// How many iterations have begun.
    pub iterations: u64,
    /// For how long the search has run.
    pub elapsed: Duration,
}

pub(super) struct Run<'a> {
    limit: Limit,
    started: Instant,
    called: Instant,
    iterations: u64,
    best: Option<(Placement, f64)>,
    progress: &'a mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    stopped: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        limit: Limit,
        progress: &'a mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> Self {
        let started = Instant::now();
        let (called, iterations, best, stopped) = (started, 0, None, false);
        Self {
            limit,
            started,
            called,
            iterations,
            best,
            progress,
            stopped,
        }
    }

    /// Counts an iteration that is about to begin, and says whether it may.
    pub(super) fn go_on(&mut self) -> bool {
        self.stopped |= matches!(self.limit, Limit::Iterations(limit) if self.iterations >= limit);
        if self.iterations.is_multiple_of(BETWEEN_LOOKS) {
            self.look();
        }
        self.iterations += u64::from(!self.stopped);
        !self.stopped
    }

    /// Looks at the clock, and tells the caller where the search is if the last call was a while
    /// ago.
    pub(super) fn look(&mut self) {
        self.stopped |= matches!(self.limit, Limit::Time(limit) if self.started.elapsed() >= limit);
        if self.called.elapsed() >= BETWEEN_CALLS {
            self.call();
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Below this a cost is better than another, and not only rounded otherwise.
    pub(super) fn better_than(&self, cost: f64) -> f64 {
        cost - cost.abs() * ROUNDING
    }

    /// Keeps an assignment if it is the best so far, and tells the caller.
    pub(super) fn offer(&mut self, slots: &Slots, slot_of: &[usize], cost: f64) {
        if self
            .best
            .as_ref()
            .is_none_or(|(_, best)| cost < self.better_than(*best))
        {
            self.best = Some((slots.placement(slot_of), cost));
            self.call();
        }
    }

    fn call(&mut self) {
        self.called = Instant::now();
        if let Some((placement, cost)) = &self.best {
            let (iterations, elapsed) = (self.iterations, self.started.elapsed());
            let progress = Progress {
                placement,
                cost: *cost,
                iterations,
                elapsed,
            };
            self.stopped |= (self.progress)(&progress).is_break();
        }
    }

    /// The best placement, and the number of iterations.
    pub(super) fn end(self) -> (Placement, u64) {
        (
            self.best.expect("a search begins with an assignment").0,
            self.iterations,
        )
    }
}
