//! How long inputs take with a number of threads.

use crate::time::{Span, Time};

/// How often the time is taken for a number of threads; the least time counts, because disturbances
/// only slow down.
const TIMES: usize = 3;

/// Inputs whose time is taken, at least; with many threads, so many for each.
const TRIAL_INPUTS: usize = 256;
const TRIAL_INPUTS_PER_THREAD: usize = 4;

/// Inputs of a round of a trial, at least.
const LEAST_ROUND: usize = 8;

/// For about how long a time is taken at most, if not of a single round.
const TRIAL_TURN: Span = Span::from_nanoseconds(200_000);

/// What is found out about the time that inputs take: that of so many in a row, several times.
#[derive(Clone, Copy)]
pub(super) struct Trial {
    /// After so many inputs every thread has come back for another one.
    round: usize,
    /// As many as a time is taken of; until the trial is warm, at most.
    inputs: usize,
    /// How often it is still taken.
    pub(super) times: usize,
    /// How many will have been taken when the time is taken next.
    pub(super) next: usize,
    begin: Option<Time>,
    is_warm: bool,
    /// The least time so far.
    least: Option<Span>,
}

impl Trial {
    /// Of inputs from this one on.
    pub(super) fn new(threads: usize, taken: usize) -> Self {
        let round = threads.max(LEAST_ROUND);
        Self {
            round,
            inputs: TRIAL_INPUTS.max(threads * TRIAL_INPUTS_PER_THREAD),
            times: TIMES,
            next: taken + round,
            begin: None,
            is_warm: false,
            least: None,
        }
    }

    /// To be called at `next`; returns how long it is since the last time. In the first round
    /// threads start. In the second one what begins with a thread ends, and it tells how many
    /// inputs there are in a time for which no look outside is needed.
    pub(super) fn take_time(&mut self, taken: usize, now: Time) -> Span {
        let Some(begin) = self.begin.replace(now) else {
            self.next = taken + self.round;
            return Span::from_nanoseconds(0);
        };
        let took = now.since(begin);
        if !self.is_warm {
            self.is_warm = true;
            self.inputs = inputs_in(TRIAL_TURN, self.round, took).clamp(self.round, self.inputs);
        } else {
            self.least = Some(self.least.map_or(took, |least| least.min(took)));
            self.times -= 1;
        }
        self.next = taken + self.inputs;
        took
    }

    /// What an input takes, if there were enough of them.
    pub(super) fn least_time(&self) -> Option<Span> {
        let least = self.least.filter(|_| self.times == 0)?;
        Some(least / self.inputs as u128)
    }
}

/// How many inputs there are in a span of time, at least one, if so many took a time.
pub(super) fn inputs_in(span: Span, inputs: usize, took: Span) -> usize {
    let fit = span * inputs as u128 / took;
    usize::try_from(fit).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of the following times says of a trial, in nanoseconds since the one before.
    fn trial_of(threads: usize, times_ns: &[u64]) -> Trial {
        let mut trial = Trial::new(threads, 1_000);
        let mut now = Time::default();
        for ns in times_ns {
            now = now + Span::from_nanoseconds(*ns);
            trial.take_time(trial.next, now);
        }
        trial
    }

    #[test]
    fn the_least_of_three_times_counts() {
        let trial = trial_of(64, &[9_000, 400, 1_300, 1_280, 5_000]);
        // After two rounds of 64.
        assert_eq!(trial.next, 1_000 + 2 * 64 + 4 * 256);
        assert_eq!(trial.least_time(), Some(Span::from_nanoseconds(5)));
        assert_eq!(trial_of(64, &[9_000, 400, 1_300, 1_280]).least_time(), None);
    }

    #[test]
    fn slow_inputs_are_few() {
        // 50 us each.
        let trial = trial_of(1, &[400_000, 400_000, 400_000, 400_000, 400_000]);
        assert_eq!(trial.next, 1_000 + 6 * 8);
        assert_eq!(trial.least_time(), Some(Span::from_nanoseconds(50_000)));
    }
}
