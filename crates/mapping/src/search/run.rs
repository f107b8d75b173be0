//! A run of a search, with its limit and the best placement so far.

// Rejected: a search on each CPU. The result with a seed would depend on the number of CPUs, and
// one search needs only 0.3 s for the best known costs of instances that may take 10 s.
// Rejected: a search that waits for the lower bound. For 4,096 places the bound takes longer than
// the default time of the search. The command computes the bound in a second thread.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::placement::Placement;

const BETWEEN_LOOKS: u64 = 64;

/// The shortest time between two calls of `progress` without a better placement.
const BETWEEN_CALLS: Duration = Duration::from_millis(10);

/// Costs within this fraction of each other count as equal, because sums are rounded.
const ROUNDING: f64 = 1e-12;

/// The limit of a search. A search that has evaluated all placements ends earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The search ends after this time, with an error of some milliseconds.
    Time(Duration),
    /// The search ends after this number of iterations. An iteration exchanges two tasks, or moves
    /// a task to free room. With this limit the result depends only on the problem and the seed.
    Iterations(u64),
}

/// The progress of a search.
#[derive(Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The best placement so far.
    pub placement: &'a Placement,
    /// The cost of `placement`.
    pub cost: f64,
    /// The number of iterations that have begun.
    pub iterations: u64,
    /// The time since the search began.
    pub elapsed: Duration,
}

pub(super) struct SearchRun<'a> {
    limit: Limit,
    started: Instant,
    called: Instant,
    iterations: u64,
    best: Option<(Placement, f64)>,
    progress: &'a mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    stopped: bool,
}

impl<'a> SearchRun<'a> {
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

    /// Counts an iteration that is about to begin. Returns whether the iteration may begin.
    pub(super) fn go_on(&mut self) -> bool {
        self.stopped |= matches!(self.limit, Limit::Iterations(limit) if self.iterations >= limit);
        if self.iterations.is_multiple_of(BETWEEN_LOOKS) {
            self.look();
        }
        self.iterations += u64::from(!self.stopped);
        !self.stopped
    }

    /// Reads the clock, and calls `progress` if the last call is at least [`BETWEEN_CALLS`] ago.
    pub(super) fn look(&mut self) {
        self.stopped |= matches!(self.limit, Limit::Time(limit) if self.started.elapsed() >= limit);
        if self.is_due() {
            self.call();
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Returns a limit just below `cost`. A smaller difference to `cost` may be due to rounding.
    pub(super) fn better_than(&self, cost: f64) -> f64 {
        cost - cost.abs() * ROUNDING
    }

    /// Returns true if the last call of `progress` is at least [`BETWEEN_CALLS`] ago.
    pub(super) fn is_due(&self) -> bool {
        self.called.elapsed() >= BETWEEN_CALLS
    }

    /// Keeps a placement if it is the best so far, and then calls `progress`.
    pub(super) fn offer(&mut self, cost: f64, placement: impl FnOnce() -> Placement) {
        if self
            .best
            .as_ref()
            .is_none_or(|(_, best)| cost < self.better_than(*best))
        {
            self.best = Some((placement(), cost));
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

    pub(super) fn end(self) -> (Placement, u64) {
        (
            self.best.expect("a search begins with an assignment").0,
            self.iterations,
        )
    }
}
