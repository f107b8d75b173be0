//! What is known of how long inputs take with a number of threads, and which number to try next.

use std::collections::BTreeMap;

use crate::time::{Span, Time};

/// The numbers of threads that are tried.
pub(super) const WIDTHS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

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
    /// As many as a time is taken of, and at most.
    inputs: usize,
    most: usize,
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
    pub(super) fn new(threads: usize, times: usize, taken: usize) -> Self {
        let round = threads.max(LEAST_ROUND);
        let inputs = TRIAL_INPUTS.max(threads * TRIAL_INPUTS_PER_THREAD);
        Self {
            round,
            inputs,
            most: inputs,
            times,
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
        let fit = |inputs| inputs_in(TRIAL_TURN, inputs, took).clamp(self.round, self.most);
        if !self.is_warm {
            self.is_warm = true;
            self.inputs = fit(self.round);
        } else if fit(self.inputs) / 2 > self.inputs {
            // Something else took the time before.
            self.inputs = fit(self.inputs);
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

/// Which number of threads to try next, by its place, if it is known what an input takes with some:
/// one beside the fastest of them, up to where all beside it are slower. `None` stands for a number
/// that there was no room for.
pub(super) fn next_width(times: &BTreeMap<usize, Option<Span>>) -> Option<usize> {
    let fastest = times
        .iter()
        .filter_map(|(width, time)| Some(((*time)?, *width)))
        .min();
    let beside = match fastest {
        Some((_, width)) => [width + 1, width - 1],
        None => [0, *times.first_key_value()?.0 - 1],
    };
    let mut places = beside
        .into_iter()
        .filter(|width| (1..WIDTHS.len()).contains(width));
    places.find(|width| !times.contains_key(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of the following times says of a trial, in nanoseconds since the one before.
    fn trial_of(threads: usize, times_ns: &[u64]) -> Trial {
        let mut trial = Trial::new(threads, 3, 1_000);
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

    #[test]
    fn a_disturbed_round_does_not_make_all_times_short() {
        let trial = trial_of(8, &[100, 1_000_000, 80, 2_560, 2_570, 2_580]);
        assert_eq!(trial.next, 1_000 + 3 * 8 + 4 * 256);
        assert_eq!(trial.least_time(), Some(Span::from_nanoseconds(10)));
    }

    #[test]
    fn the_next_number_is_beside_the_fastest() {
        let next = |times: &[(usize, Option<u64>)]| {
            let time = |time: Option<u64>| time.map(Span::from_nanoseconds);
            let times = times.iter().map(|&(width, ns)| (width, time(ns)));
            next_width(&times.collect())
        };
        assert_eq!(next(&[(3, Some(30)), (5, Some(20))]), Some(6));
        assert_eq!(
            next(&[(3, Some(30)), (5, Some(20)), (6, Some(25))]),
            Some(4)
        );
        let all_slower = [(4, Some(21)), (5, Some(20)), (6, Some(25))];
        assert_eq!(next(&all_slower), None);
        assert_eq!(next(&[(6, Some(20)), (7, Some(19))]), None);
        assert_eq!(next(&[(1, Some(20)), (2, Some(21))]), None);
        // There was no room for so many.
        assert_eq!(next(&[(3, None)]), Some(2));
        assert_eq!(next(&[(1, None)]), None);
        assert_eq!(next(&[(2, Some(20)), (3, None)]), Some(1));
    }
}
