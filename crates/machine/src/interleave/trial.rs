//! How long inputs take with a number of threads.

// Rejected: trials with 2 and 4 threads first. They take longest where there is most to wait for.
// Rejected: a trial with 8 threads alone. Eight may be slower than one where 64 are not.

use crate::time::{Span, Time};

/// How many times are taken for a number of threads. The least one counts, because disturbances can
/// only make a time longer.
const TIMES: usize = 3;

/// A time is taken of this many inputs, or of this many for each thread if that is more.
const TRIAL_INPUTS: usize = 256;
const TRIAL_INPUTS_PER_THREAD: usize = 4;

/// The least number of inputs in a round of a trial.
const LEAST_ROUND: usize = 8;

/// The inputs of a time take about this long at most, unless a single round takes longer.
const TRIAL_TURN: Span = Span::from_nanoseconds(200_000);

/// Measures how long inputs take with a number of threads: the time of several inputs in a row,
/// several times.
#[derive(Clone, Copy)]
pub(super) struct Trial {
    /// The inputs of a round: after a round every thread has come back for another input.
    round: usize,
    /// The number of inputs of which a time is taken. Until the trial is warm, this is an upper
    /// limit.
    inputs: usize,
    /// How many times are still to be taken.
    pub(super) times: usize,
    /// The clock is read next when this many inputs have been taken.
    pub(super) next: usize,
    begin: Option<Time>,
    is_warm: bool,
    /// The least time so far.
    least: Option<Span>,
}

impl Trial {
    /// A trial of the inputs after the first `taken`.
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

    /// Reads the clock. It is called when `next` inputs have been taken, and returns how long it is
    /// since the last call. In the first round threads start. In the second round their first
    /// inputs end. From the time of the second round follows how many inputs a time may have, so
    /// that it needs no look outside.
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

    /// The time of one input, if there were enough inputs.
    pub(super) fn least_time(&self) -> Option<Span> {
        let least = self.least.filter(|_| self.times == 0)?;
        Some(least / self.inputs as u128)
    }
}

/// How many inputs fit into `span`, at least 1, if `inputs` of them took `took`.
pub(super) fn inputs_in(span: Span, inputs: usize, took: Span) -> usize {
    let fit = span * inputs as u128 / took;
    usize::try_from(fit).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trial that reads the clock after each of these times, in nanoseconds.
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
