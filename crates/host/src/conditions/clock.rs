//! The quality of the clock with which times are measured.

use std::time::{Duration, Instant};

use cellworks_machine::Span;

/// The number of readings in a batch. A reading may take less time than a step of the clock, so
/// only the whole batch is timed.
const READINGS: u32 = 1_000;

/// The number of batches. The fastest batch is used, because disturbances make batches slower.
const BATCHES: u32 = 10;

/// The number of equal successive readings that show that the clock stands still. A million
/// readings take at least 20 ms, longer than 10 ms, the step of a coarse clock.
const READINGS_OF_ONE_TIME_MAX: u32 = 1_000_000;

/// The quality of the clock with which times are measured: on this computer `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The smallest difference between successive readings of the clock, without differences of 0.
    /// `None` if the clock stood still.
    pub step: Option<Span>,
    /// The duration of one reading of the clock.
    pub reading: Span,
}

impl Clock {
    /// Reads the clock about ten thousand times, which takes about a millisecond.
    pub(super) fn measure_quality() -> Self {
        let mut step: Option<Duration> = None;
        let mut fastest = Duration::MAX;
        for _ in 0..BATCHES {
            let start = Instant::now();
            let mut last = start;
            for _ in 0..READINGS {
                let now = Instant::now();
                if now > last {
                    step = Some(step.map_or(now - last, |step| step.min(now - last)));
                }
                last = now;
            }
            fastest = fastest.min(last - start);
        }
        Self {
            step: step.or_else(wait_for_a_step).map(Span::from),
            reading: Span::from_femtoseconds(
                Span::from(fastest).as_femtoseconds() / u128::from(READINGS),
            ),
        }
    }
}

/// Waits for the next step of a clock with long steps.
fn wait_for_a_step() -> Option<Duration> {
    let start = Instant::now();
    // The wait for the first step is not timed, because it begins in the middle of a step.
    let next = |from: Instant| {
        (0..READINGS_OF_ONE_TIME_MAX)
            .map(|_| Instant::now())
            .find(|now| *now > from)
    };
    let first = next(start)?;
    Some(next(first)? - first)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_this_computer_moves_and_takes_time_to_read() {
        let clock = Clock::measure_quality();
        assert!(clock.step > Some(Span::default()), "{clock:?}");
        assert!(clock.reading > Span::default(), "{clock:?}");
    }
}
