//! Timed loops and what is read off them.
//!
//! A loop is timed in batches: the clock is read after each batch, and the time of a batch divided
//! by its operations is one sample. Batches touch, so that they add up to the whole loop.

use cellworks_machine::{Span, Time};

use crate::report::Latency;

/// The most samples that a loop gives.
const SAMPLES_MAX: u32 = 1_000;

/// A batch lasts this many times as long as reading the clock, which is then under 2 % of it.
const BATCH_PER_CLOCK_READING: u128 = 50;

/// What is known before a loop starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    clock_reading: Span,
    iteration: Option<Span>,
}

/// A loop that was timed.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimedLoop {
    pub start: Time,
    pub end: Time,
    pub iterations: u32,
    /// The time of one iteration, in each batch.
    samples: Vec<Span>,
}

impl Known {
    /// Finds out what reading the clock costs.
    pub fn about(now: impl Fn() -> Time) -> Self {
        const READINGS: u128 = 32;
        let start = now();
        let mut end = start;
        for _ in 0..READINGS {
            end = now();
        }
        let each = end.since(start).as_femtoseconds() / READINGS;
        Self {
            clock_reading: Span::from_femtoseconds(each),
            iteration: None,
        }
    }

    /// How many iterations a batch has in a loop of `iterations`.
    fn batch(&self, iterations: u32) -> u32 {
        let by_count = iterations.div_ceil(SAMPLES_MAX).max(1);
        let Some(iteration) = self.iteration else {
            return by_count;
        };
        let by_clock = (self.clock_reading.as_femtoseconds() * BATCH_PER_CLOCK_READING)
            .div_ceil(iteration.as_femtoseconds().max(1));
        u32::try_from(by_clock).unwrap_or(u32::MAX).max(by_count)
    }

    /// Does `operate` `iterations` times, and remembers how long one took for the next loop.
    pub fn timed_loop<E>(
        &mut self,
        iterations: u32,
        now: impl Fn() -> Time,
        mut operate: impl FnMut() -> Result<(), E>,
    ) -> Result<TimedLoop, E> {
        let batch = self.batch(iterations);
        let mut samples = Vec::with_capacity((iterations / batch) as usize + 1);
        let start = now();
        let mut before = start;
        let mut left = iterations;
        while left > 0 {
            // What would be less than a batch at the end joins the last one.
            let count = if left / 2 < batch { left } else { batch };
            for _ in 0..count {
                operate()?;
            }
            let after = now();
            samples.push(after.since(before).per(count));
            before = after;
            left -= count;
        }
        let whole = TimedLoop {
            start,
            end: before,
            iterations,
            samples,
        };
        self.iteration = Some(whole.elapsed().per(iterations.max(1)));
        Ok(whole)
    }
}

impl TimedLoop {
    /// A loop whose iterations were timed one by one: it lasts as long as all of them.
    pub fn of_samples(start: Time, samples: Vec<Span>) -> Self {
        let elapsed: u128 = samples.iter().map(|sample| sample.as_femtoseconds()).sum();
        Self {
            start,
            end: start + Span::from_femtoseconds(elapsed),
            iterations: u32::try_from(samples.len()).unwrap_or(u32::MAX),
            samples,
        }
    }

    /// From the first operation to the last.
    pub fn elapsed(&self) -> Span {
        self.end.since(self.start)
    }
}

trait Per {
    /// The span divided by a count.
    fn per(self, count: u32) -> Self;
}

impl Per for Span {
    fn per(self, count: u32) -> Self {
        Self::from_femtoseconds(self.as_femtoseconds() / u128::from(count))
    }
}

/// The time of one operation, the number of samples and of outliers among them, from the loops of
/// all SPEs. An iteration of a loop is `operations` operations.
pub(crate) fn latency(loops: &[TimedLoop], operations: usize) -> (Latency, usize, usize) {
    let mut samples: Vec<Span> = loops
        .iter()
        .flat_map(|one| one.samples.iter().copied())
        .collect();
    samples.sort_unstable();
    let iterations: u64 = loops.iter().map(|one| u64::from(one.iterations)).sum();
    let elapsed_ns: f64 = loops
        .iter()
        .map(|one| one.elapsed().as_nanoseconds_f64())
        .sum();
    // Nearest rank: the smallest sample that `percent` percent of the samples do not exceed.
    let at_percent = |percent: usize| {
        let rank = (samples.len() * percent).div_ceil(100).max(1);
        samples[rank - 1].as_nanoseconds_f64() / operations as f64
    };
    let (lower, upper) = (at_percent(25), at_percent(75));
    let far = 3.0 * (upper - lower);
    let is_outlier = |sample: &&Span| {
        let ns = sample.as_nanoseconds_f64() / operations as f64;
        ns < lower - far || ns > upper + far
    };
    let outliers = samples.iter().filter(is_outlier).count();
    let latency = Latency {
        mean: elapsed_ns / iterations as f64 / operations as f64,
        min: at_percent(0),
        p50: at_percent(50),
        p99: at_percent(99),
        max: at_percent(100),
    };
    (latency, samples.len(), outliers)
}

/// From the first start to the last end.
pub(crate) fn from_first_to_last(loops: &[TimedLoop]) -> Span {
    let start = loops.iter().map(|one| one.start).min().unwrap_or_default();
    let end = loops.iter().map(|one| one.end).max().unwrap_or_default();
    end.since(start)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    const NS: u128 = 1_000_000;

    fn loop_of(start_ns: u128, samples_ns: &[u64]) -> TimedLoop {
        let elapsed: u64 = samples_ns.iter().sum();
        TimedLoop {
            start: Time::from_femtoseconds(start_ns * NS),
            end: Time::from_femtoseconds((start_ns + u128::from(elapsed)) * NS),
            iterations: samples_ns.len() as u32,
            samples: samples_ns
                .iter()
                .map(|ns| Span::from_nanoseconds(*ns))
                .collect(),
        }
    }

    #[test]
    fn percentiles_are_samples_by_nearest_rank() {
        let descending: Vec<u64> = (1..=200).rev().collect();
        let (latency, samples, _) = latency(&[loop_of(0, &descending)], 1);
        assert_eq!(samples, 200);
        let expected = Latency {
            mean: 100.5,
            min: 1.0,
            p50: 100.0,
            p99: 198.0,
            max: 200.0,
        };
        assert_eq!(latency, expected);
    }

    #[test]
    fn one_sample_is_all_there_is() {
        let (latency, samples, _) = latency(&[loop_of(5, &[40])], 4);
        assert_eq!(samples, 1);
        assert_eq!(
            latency,
            Latency {
                mean: 10.0,
                min: 10.0,
                p50: 10.0,
                p99: 10.0,
                max: 10.0
            }
        );
    }

    #[test]
    fn loops_of_several_spes_are_taken_together() {
        let loops = [loop_of(100, &[10, 20]), loop_of(115, &[30, 40])];
        let (latency, samples, _) = latency(&loops, 1);
        assert_eq!((samples, latency.mean, latency.p50), (4, 25.0, 20.0));
        assert_eq!(from_first_to_last(&loops), Span::from_nanoseconds(85));
    }

    /// A clock that goes on by 10 ns with each reading, and by what an operation takes.
    struct Clock(Cell<u128>);

    impl Clock {
        fn read(&self) -> Time {
            self.0.set(self.0.get() + 10);
            Time::from_femtoseconds(self.0.get() * NS)
        }

        fn operate(&self, ns: u128) -> Result<(), Infallible> {
            self.0.set(self.0.get() + ns);
            Ok(())
        }
    }

    #[test]
    fn batches_keep_clock_readings_under_a_fiftieth() {
        let clock = Clock(Cell::new(0));
        let mut known = Known::about(|| clock.read());
        assert_eq!(known.clock_reading, Span::from_nanoseconds(10));
        let Ok(_) = known.timed_loop(1_000, || clock.read(), || clock.operate(5));
        // The first loop read the clock after each operation of 5 ns: it saw 15 ns.
        assert_eq!(known.iteration, Some(Span::from_nanoseconds(15)));
        assert_eq!(known.batch(10_000), 34, "500 ns of 15 ns each");
        let Ok(timed) = known.timed_loop(10_000, || clock.read(), || clock.operate(5));
        assert_eq!(timed.samples.len(), 10_000 / 34);
        assert_eq!(
            timed.elapsed(),
            Span::from_nanoseconds(10_000 * 5 + 10 * (10_000 / 34))
        );
    }

    #[test]
    fn there_are_at_most_a_thousand_samples() {
        let slow = Known {
            clock_reading: Span::default(),
            iteration: Some(Span::from_nanoseconds(1_000_000)),
        };
        for iterations in [1, 2, 999, 1_000, 1_001, 1_999, 123_456, u32::MAX] {
            assert!(
                iterations.div_ceil(slow.batch(iterations)) <= 1_000,
                "{iterations}"
            );
        }
        assert_eq!(slow.batch(1_000), 1);
    }
}
