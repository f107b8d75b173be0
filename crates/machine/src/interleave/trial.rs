//! Trials, which measure the time of an input with a given number of threads.

// Rejected: trials with 2 and 4 threads first. They take longest if the memory latency is large.
// Rejected: only a trial with 8 threads. Where 64 threads are fastest, 8 can be slower than one.

use crate::time::{Span, Time};

/// The number of measurements in a trial. The shortest is the result.
const TIMES: usize = 3;

/// The number of inputs in a measurement, but at least [`TRIAL_INPUTS_PER_THREAD`] per thread.
const TRIAL_INPUTS: usize = 256;
const TRIAL_INPUTS_PER_THREAD: usize = 4;

/// The least number of inputs in a round. In a round every thread can take an input.
const LEAST_ROUND: usize = 8;

/// The longest duration of a measurement, unless a single round takes longer.
const TRIAL_TURN: Span = Span::from_nanoseconds(200_000);

/// The measurements of the time of an input with one number of threads.
#[derive(Clone, Copy)]
pub(super) struct Trial {
    /// The number of inputs in a round: one for each thread, and at least [`LEAST_ROUND`].
    round: usize,
    /// The number of inputs in a measurement. It is reduced if the second round of the trial
    /// takes long.
    inputs: usize,
    /// The number of remaining measurements.
    pub(super) times: usize,
    /// The number of taken inputs at which the clock is read next.
    pub(super) next: usize,
    begin: Option<Time>,
    is_warm: bool,
    least: Option<Span>,
}

impl Trial {
    /// Returns a trial that begins when `taken` inputs have been taken.
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

    /// Records the time at `taken` inputs. Returns the time since the last call, or 0 in the first
    /// call. The first round is not timed, because the threads start in it. The time of the second
    /// round determines the number of inputs in each later measurement.
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

    pub(super) fn least_time(&self) -> Option<Span> {
        let least = self.least.filter(|_| self.times == 0)?;
        Some(least / self.inputs as u128)
    }
}

/// Returns how many inputs fit into `span`, at least 1, if `inputs` inputs take the time `took`.
pub(super) fn inputs_in(span: Span, inputs: usize, took: Span) -> usize {
    let fit = span * inputs as u128 / took;
    usize::try_from(fit).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a trial that has read the clock once after each of these intervals in nanoseconds.
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
        // The first measurement begins after two rounds of 64 inputs.
        assert_eq!(trial.next, 1_000 + 2 * 64 + 4 * 256);
        assert_eq!(trial.least_time(), Some(Span::from_nanoseconds(5)));
        assert_eq!(trial_of(64, &[9_000, 400, 1_300, 1_280]).least_time(), None);
    }

    #[test]
    fn slow_inputs_are_few() {
        // Each input takes 50 us.
        let trial = trial_of(1, &[400_000, 400_000, 400_000, 400_000, 400_000]);
        assert_eq!(trial.next, 1_000 + 6 * 8);
        assert_eq!(trial.least_time(), Some(Span::from_nanoseconds(50_000)));
    }
}
