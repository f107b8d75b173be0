//! The quality of the clock with which times are measured.

use std::time::{Duration, Instant};

use cellworks_machine::Span;

/// The number of readings in a batch, which is timed as a whole because the clock has steps.
const READINGS: u32 = 1_000;

/// The number of batches. Only the fastest batch counts: disturbances make batches slower.
const BATCHES: u32 = 10;

/// The number of successive readings with the same time after which the clock counts as standing
/// still. These readings take at least 20 ms, so even a clock with ticks of 10 ms advances.
const READINGS_OF_ONE_TIME_MAX: u32 = 1_000_000;

/// The quality of the clock with which times are measured: on this computer `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The smallest step that the clock was seen to take. If the clock's own step is shorter than a
    /// reading takes, this is the time of a reading. If the clock stood still, this is `None`.
    pub step: Option<Span>,
    /// The time of a reading.
    pub reading: Span,
}

impl Clock {
    /// Reads the clock some ten thousand times, which takes about a millisecond.
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

/// Waits for the next step of a clock that did not move during thousands of readings.
fn wait_for_a_step() -> Option<Duration> {
    let start = Instant::now();
    // The time of the first step is not used, because `start` lies between two steps.
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
