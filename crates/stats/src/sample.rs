//! Timed loops, and the results that follow from them.
//!
//! ```text
//!   warm-up loops      rounds, each a timed loop of about the same length
//!   ├──┼─────┼──────┤  ├───────────────┼───────────────┼───────────────┼ ...
//!   not kept           └ batch ┴ batch ┴ batch ...
//! ```
//!
//! A timed loop is divided into batches, and the clock is read after each batch. A sample is the
//! time of a batch, less the time of reading the clock, divided by the number of operations of the
//! batch. There is no gap between batches, so the batches add up to the whole loop.
//!
//! A round is one timed loop on each SPE. A visit is one run of a measurement, with several rounds.
//! All samples of a loop have the same clock rate, so only the medians of several rounds show how
//! much the median varies. All rounds of a visit have the same addresses of memory and the same
//! load by other programs, so the interval must contain the median of each visit.

use cellworks_machine::{Span, Time};

use crate::report::{Interval, Latency};

/// The maximum number of samples of all loops of a round together, which limits the memory with
/// hundreds of SPEs. Each loop may have [`SAMPLES_MIN`] in any case.
const SAMPLES_MAX: u32 = 1_000;

const SAMPLES_MIN: u32 = 20;

/// The minimum length of a batch, in multiples of the time of reading the clock, and of the clock's
/// smallest step. With this length, a reading and a step are each at most 2 % of a batch.
const BATCH_PER_CLOCK: u128 = 50;

/// The number of iterations after which a clock that has not moved counts as standing still.
pub(crate) const STANDSTILL_ITERATIONS: u32 = 1 << 20;

/// The minimum number of rounds for an interval. If the medians of all rounds are on one side of
/// the true median, the interval does not contain it. For six rounds, the probability of this is
/// 3.1 %. For five rounds, the probability is 6.3 %, which is more than [`MISS_MAX`].
pub(crate) const ROUNDS_MIN: usize = 6;

/// The number of rounds after which a measurement ends if its interval is narrow. It is looked at
/// only then and at the end: with a look after each round, rounds that agree by chance would end it.
pub(crate) const LOOK_ROUNDS: usize = 2 * ROUNDS_MIN;

/// The maximum number of rounds of a measurement.
pub(crate) const ROUNDS_MAX: usize = 2 * LOOK_ROUNDS;

/// The maximum probability that the interval does not contain the median.
const MISS_MAX: f64 = 0.05;

/// Returns the maximum probability that the interval of `n` rounds does not contain the median. The
/// interval of [`LOOK_ROUNDS`] or more rounds is one of two that may be reported, so each may miss
/// with half of the probability. Then one of the two misses with at most the whole of it, whatever
/// decides which one is reported (the inequality of Bonferroni).
fn miss_max(n: usize) -> f64 {
    if n < LOOK_ROUNDS {
        MISS_MAX
    } else {
        MISS_MAX / 2.0
    }
}

/// An interval is narrow if its width is at most the median divided by this number. Clock rates
/// usually vary by more than a hundredth, so a smaller width would rarely be reached.
const NARROW_PER_MEDIAN: u128 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub iterations: u32,
    /// Whether the samples are kept. The samples of a warm-up are not kept.
    pub counts: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundTimes {
    /// The time from the start to the end of the loop. For several SPEs, the longest time.
    pub took: Span,
    /// The median of the loop's samples. For several SPEs, the median of their medians.
    pub median: Span,
}

/// A number of iterations, and the time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    pub iterations: u64,
    pub took: Span,
}

impl Rate {
    /// Returns the number of iterations that take `span`, at least 1.
    pub fn fitting(self, span: Span) -> u32 {
        let iterations = u128::from(self.iterations);
        let fitting = (span.as_femtoseconds() * iterations)
            .checked_div(self.took.as_femtoseconds())
            .unwrap_or(iterations);
        u32::try_from(fitting).unwrap_or(u32::MAX).max(1)
    }
}

/// A stopwatch that times the loops of one processor, and keeps the loops of rounds that count.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    clock: Clock,
    samples_max: u32,
    /// The time of an iteration in the last loop.
    iteration: Option<Span>,
    kept: Vec<TimedLoop>,
}

/// The properties of the clock, all 0 if the clock did not move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    pub reading: Span,
    /// The smallest difference between two readings that is not 0.
    step: Span,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TimedLoop {
    pub start: Time,
    pub end: Time,
    pub iterations: u32,
    /// The time of the iterations, without the time of reading the clock and of waits between them.
    operating: Span,
    /// The time of one iteration in each batch.
    samples: Vec<Span>,
    median: Span,
}

impl RoundTimes {
    /// Combines the times of several SPEs. The result has the median of the medians of the SPEs.
    /// For an even number of SPEs, this is the mean of the two values in the middle.
    ///
    /// Rejected: the median of all samples, because the PPE does not have the samples.
    pub fn of_all(times: &[Self]) -> Self {
        let mut medians: Vec<Span> = times.iter().map(|times| times.median).collect();
        medians.sort_unstable();
        let mut middle = medians[(medians.len() - 1) / 2];
        middle += medians[medians.len() / 2];
        Self {
            took: times
                .iter()
                .map(|times| times.took)
                .max()
                .unwrap_or_default(),
            median: middle.per(2),
        }
    }
}

impl Clock {
    /// Measures the time of a reading and the smallest step of the clock. The time of a reading is
    /// the median of many measurements, because an interrupt makes single measurements too long.
    pub fn calibrate(now: impl Fn() -> Time) -> Self {
        /// The number of measured steps, odd so that one step is the median.
        const STEPS: usize = 101;
        /// The maximum number of readings, for a clock that stands still.
        const READINGS_MAX: u32 = 10_000;

        let mut steps = Vec::with_capacity(STEPS);
        let mut costs = Vec::with_capacity(STEPS);
        let mut seen = now();
        let mut readings = 0;
        for _ in 0..READINGS_MAX {
            let time = now();
            readings += 1;
            let step = time.since(seen);
            if step > Span::default() {
                steps.push(step);
                costs.push(step.per(readings));
                (seen, readings) = (time, 0);
                if steps.len() == STEPS {
                    break;
                }
            }
        }
        Self {
            reading: median(&mut costs).unwrap_or_default(),
            step: steps.into_iter().min().unwrap_or_default(),
        }
    }

    pub fn shortest_batch(self) -> Span {
        self.reading.max(self.step).times(BATCH_PER_CLOCK)
    }
}

impl Stopwatch {
    /// Makes one of the `stopwatches` stopwatches of a round. `now` reads the clock.
    pub fn new(stopwatches: u32, now: impl Fn() -> Time) -> Self {
        Self {
            clock: Clock::calibrate(now),
            samples_max: (SAMPLES_MAX / stopwatches.max(1)).max(SAMPLES_MIN),
            iteration: None,
            kept: Vec::new(),
        }
    }

    pub fn into_rounds(self) -> Vec<TimedLoop> {
        self.kept
    }

    /// Returns the number of iterations of a batch in a loop of `iterations`.
    fn batch(&self, iterations: u32) -> u32 {
        let by_count = iterations.div_ceil(self.samples_max).max(1);
        let Some(iteration) = self.iteration else {
            return by_count;
        };
        // Twice the shortest batch, because this loop may be faster than the previous loop.
        let by_clock = self
            .clock
            .shortest_batch()
            .times(2)
            .as_femtoseconds()
            .div_ceil(iteration.as_femtoseconds().max(1));
        u32::try_from(by_clock).unwrap_or(u32::MAX).max(by_count)
    }

    /// Times the iterations of a round, each a call of `operate`. Keeps the loop if the round
    /// counts. Returns the first error of `operate`, which ends the loop.
    pub fn time<E>(
        &mut self,
        Round { iterations, counts }: Round,
        now: impl Fn() -> Time,
        mut operate: impl FnMut() -> Result<(), E>,
    ) -> Result<RoundTimes, E> {
        let shortest = self.clock.shortest_batch();
        let mut batch = self.batch(iterations);
        let mut samples = Vec::with_capacity((iterations / batch) as usize + 1);
        let mut operating = Span::default();
        let start = now();
        let mut before = start;
        let mut left = iterations;
        let (mut done, mut readings) = (0, 0);
        while left > 0 {
            // The last batch includes the remaining iterations if they would not fill a batch.
            let count = if left / 2 < batch { left } else { batch };
            for _ in 0..count {
                operate()?;
            }
            let after = now();
            left -= count;
            done += count;
            readings += 1;
            let took = after.since(before);
            if took < shortest && left > 0 {
                // The batch is too short for the clock, so it continues with more operations.
                batch = batch.saturating_mul(2);
                continue;
            }
            let without_readings = took - self.clock.reading.times(readings);
            samples.push(without_readings.per(done));
            operating += without_readings;
            before = after;
            (done, readings) = (0, 0);
        }
        self.iteration = Some(operating.per(iterations.max(1)));
        let timed = TimedLoop {
            start,
            end: before,
            iterations,
            operating,
            median: median(&mut samples.clone()).unwrap_or_default(),
            samples,
        };
        let times = timed.times();
        if counts {
            self.kept.push(timed);
        }
        Ok(times)
    }
}

impl TimedLoop {
    /// Makes a loop from the times of its iterations. It may have waited between them.
    pub fn of_samples(start: Time, end: Time, samples: Vec<Span>) -> Self {
        let mut operating = Span::default();
        for sample in &samples {
            operating += *sample;
        }
        Self {
            start,
            end,
            iterations: u32::try_from(samples.len()).unwrap_or(u32::MAX),
            operating,
            median: median(&mut samples.clone()).unwrap_or_default(),
            samples,
        }
    }

    pub fn times(&self) -> RoundTimes {
        RoundTimes {
            took: self.end.since(self.start),
            median: self.median,
        }
    }
}

trait Scale {
    fn per(self, count: u32) -> Self;
    fn times(self, count: u128) -> Self;
}

impl Scale for Span {
    fn per(self, count: u32) -> Self {
        Self::from_femtoseconds(self.as_femtoseconds() / u128::from(count))
    }

    fn times(self, count: u128) -> Self {
        Self::from_femtoseconds(self.as_femtoseconds() * count)
    }
}

/// Sorts the spans, and returns the median. With an even number of spans, the median is the shorter
/// of the two in the middle. Returns `None` if there are no spans.
pub(crate) fn median(spans: &mut [Span]) -> Option<Span> {
    spans.sort_unstable();
    Some(*spans.get(spans.len().checked_sub(1)? / 2)?)
}

/// Returns two ranks, counted from 1. Of `n` sorted independent values, the values at these ranks
/// enclose the median of the distribution with a probability of at least 95 %. Returns `None` if
/// `n` is less than [`ROUNDS_MIN`].
///
/// The number of values below the median is binomial with probability 1/2. The values at ranks `k`
/// and `n + 1 - k` do not enclose the median only if fewer than `k` values are on one side of it.
fn median_ranks(n: usize) -> Option<(usize, usize)> {
    if n < ROUNDS_MIN {
        return None;
    }
    let n_f64 = n as f64;
    // The logarithm of the probability that exactly `below` values are below the median, because the
    // probability itself is 0 as a float from 1,075 values on, and the probability of at most these.
    let mut exactly = n_f64 * 0.5_f64.ln();
    let mut at_most = exactly.exp();
    let mut below = 0;
    while 2.0 * at_most <= miss_max(n) {
        exactly += ((n_f64 - below as f64) / (below as f64 + 1.0)).ln();
        at_most += exactly.exp();
        below += 1;
    }
    Some((below, n + 1 - below))
}

/// The medians of the rounds of each visit, in order.
pub(crate) type Visited = Vec<Vec<Span>>;

/// Returns the median of each round of one visit. All processors must have equally many rounds.
pub(crate) fn round_medians(loops: &[Vec<TimedLoop>]) -> Vec<Span> {
    let of_round = |round: usize| {
        let times: Vec<_> = loops.iter().map(|all| all[round].times()).collect();
        RoundTimes::of_all(&times).median
    };
    (0..loops[0].len()).map(of_round).collect()
}

/// Returns the interval of the median, or `None` if there are too few rounds. The interval contains
/// the median of each visit, because the state of the computer differs between visits, and a visit
/// with many rounds would otherwise determine the interval alone.
pub(crate) fn interval(visited: &[Vec<Span>]) -> Option<(Span, Span)> {
    let mut rounds = visited.concat();
    let (low, high) = median_ranks(rounds.len())?;
    rounds.sort_unstable();
    let visits = visited
        .iter()
        .filter_map(|visit| median(&mut visit.clone()));
    Some(
        visits.fold((rounds[low - 1], rounds[high - 1]), |(low, high), visit| {
            (low.min(visit), high.max(visit))
        }),
    )
}

/// Returns whether more rounds cannot improve the interval: it is narrow, or it ends at the medians
/// of two visits, which more rounds of the last visit hardly change.
pub(crate) fn is_settled(visited: &[Vec<Span>]) -> bool {
    let (Some((low, high)), Some(middle)) = (interval(visited), median(&mut visited.concat()))
    else {
        return false;
    };
    let is_narrow = (high - low).times(NARROW_PER_MEDIAN) <= middle;
    let of_visit = |visit: &Vec<Span>| median(&mut visit.clone());
    let visits = || visited.iter().filter_map(of_visit);
    is_narrow || visits().min() == Some(low) && visits().max() == Some(high)
}

/// Returns the rate of the last round, in which the slowest processor counts.
pub(crate) fn last_rate(loops: &[Vec<TimedLoop>]) -> Option<Rate> {
    let last = loops.iter().filter_map(|all| all.last());
    let slowest = last.max_by_key(|one| one.times().took)?;
    Some(Rate {
        iterations: slowest.iterations.into(),
        took: slowest.times().took,
    })
}

/// The rounds of all processors. An iteration of a loop has `operations` operations.
pub(crate) struct Samples<'a> {
    loops: &'a [Vec<TimedLoop>],
    operations: usize,
}

impl<'a> Samples<'a> {
    pub fn of(loops: &'a [Vec<TimedLoop>], operations: usize) -> Self {
        Self { loops, operations }
    }

    /// Returns the time of one operation, and the number of outliers among the samples.
    pub fn latency(&self) -> (Latency, usize) {
        let mut samples: Vec<Span> = self.in_order().collect();
        samples.sort_unstable();
        // Nearest rank: at least `percent` percent of the samples are not above this sample.
        let at_percent = |percent: usize| {
            let rank = (samples.len() * percent).div_ceil(100).max(1);
            self.operation_ns(samples[rank - 1])
        };
        let (lower, upper) = (at_percent(25), at_percent(75));
        let far = 3.0 * (upper - lower);
        let is_outlier = |sample: &&Span| {
            let ns = self.operation_ns(**sample);
            ns < lower - far || ns > upper + far
        };
        let outliers = samples.iter().filter(is_outlier).count();
        let every = || self.loops.iter().flatten();
        let iterations: u64 = every().map(|one| u64::from(one.iterations)).sum();
        let operating_ns: f64 = every().map(|one| one.operating.as_nanoseconds_f64()).sum();
        let latency = Latency {
            mean: operating_ns / iterations as f64 / self.operations as f64,
            min: at_percent(0),
            p50: at_percent(50),
            p99: at_percent(99),
            max: at_percent(100),
        };
        (latency, outliers)
    }

    /// Returns the interval of the median, from the medians of the rounds of each visit. The
    /// interval is widened to contain `p50`, the median of all samples.
    pub fn median_interval(&self, visited: &[Vec<Span>], p50: f64) -> Option<Interval> {
        let (low, high) = interval(visited)?;
        Some(Interval {
            low: self.operation_ns(low).min(p50),
            high: self.operation_ns(high).max(p50),
        })
    }

    /// Returns the range of the medians of all rounds, widened to contain `p50`. On a machine with
    /// times that repeat, this range is the interval of the median.
    pub fn range_of_rounds(&self, visited: &[Vec<Span>], p50: f64) -> Option<Interval> {
        let medians = || visited.iter().flatten();
        Some(Interval {
            low: self.operation_ns(*medians().min()?).min(p50),
            high: self.operation_ns(*medians().max()?).max(p50),
        })
    }

    pub fn rounds(&self) -> usize {
        self.loops[0].len()
    }

    /// Returns the number of iterations in all rounds, which is the same for each processor.
    pub fn iterations(&self) -> u64 {
        self.loops[0]
            .iter()
            .map(|one| u64::from(one.iterations))
            .sum()
    }

    pub fn count(&self) -> usize {
        self.in_order().count()
    }

    pub fn all_ns(&self) -> Vec<f64> {
        self.in_order()
            .map(|sample| self.operation_ns(sample))
            .collect()
    }

    /// Returns the bytes moved in a second if each iteration moves `bytes`. A round lasts from the
    /// first start to the last end. Returns `None` if nothing moves, or if the clock does not move.
    ///
    /// Rejected: adding up the rates of the SPEs. For SPEs that share a CPU, the sum is too high.
    pub fn bandwidth_bytes_per_s(&self, bytes: usize) -> Option<u64> {
        let mut elapsed = Span::default();
        for round in 0..self.rounds() {
            let of_round = || self.loops.iter().map(|all| &all[round]);
            let start = of_round().map(|one| one.start).min()?;
            let end = of_round().map(|one| one.end).max()?;
            elapsed += end.since(start);
        }
        let every = self.loops.iter().flatten();
        let moved: u128 = every
            .map(|one| u128::from(one.iterations) * bytes as u128)
            .sum();
        let seconds = elapsed.as_seconds_f64();
        (moved > 0 && seconds > 0.0).then_some((moved as f64 / seconds) as u64)
    }

    fn in_order(&self) -> impl Iterator<Item = Span> {
        self.loops
            .iter()
            .flatten()
            .flat_map(|one| one.samples.iter().copied())
    }

    fn operation_ns(&self, iteration: Span) -> f64 {
        iteration.as_nanoseconds_f64() / self.operations as f64
    }
}

#[cfg(test)]
impl TimedLoop {
    pub fn made_up(start_ns: u64, samples_ns: &[u64]) -> Self {
        let start = Time::default() + Span::from_nanoseconds(start_ns);
        let samples = samples_ns.iter().copied().map(Span::from_nanoseconds);
        let end = start + Span::from_nanoseconds(samples_ns.iter().sum());
        Self::of_samples(start, end, samples.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    fn ns(ns: u64) -> Span {
        Span::from_nanoseconds(ns)
    }

    fn latency(loops: &[Vec<TimedLoop>], operations: usize) -> Latency {
        Samples::of(loops, operations).latency().0
    }

    #[test]
    fn percentiles_are_samples_by_nearest_rank() {
        let descending: Vec<u64> = (1..=200).rev().collect();
        let loops = [vec![TimedLoop::made_up(0, &descending)]];
        assert_eq!(Samples::of(&loops, 1).count(), 200);
        let expected = Latency {
            mean: 100.5,
            min: 1.0,
            p50: 100.0,
            p99: 198.0,
            max: 200.0,
        };
        assert_eq!(latency(&loops, 1), expected);
    }

    #[test]
    fn a_single_sample_is_every_percentile() {
        let loops = [vec![TimedLoop::made_up(5, &[40])]];
        assert_eq!(
            latency(&loops, 4),
            Latency {
                mean: 10.0,
                min: 10.0,
                p50: 10.0,
                p99: 10.0,
                max: 10.0
            }
        );
        let visited = [round_medians(&loops)];
        assert_eq!(Samples::of(&loops, 4).median_interval(&visited, 10.0), None);
    }

    #[test]
    fn rounds_of_several_spes_are_taken_together() {
        let loops = [
            vec![
                TimedLoop::made_up(100, &[10, 20]),
                TimedLoop::made_up(1_000, &[50]),
            ],
            vec![
                TimedLoop::made_up(115, &[30, 40]),
                TimedLoop::made_up(1_010, &[60]),
            ],
        ];
        let samples = Samples::of(&loops, 1);
        assert_eq!((samples.rounds(), samples.iterations()), (2, 3));
        let latency = latency(&loops, 1);
        assert_eq!((latency.mean, latency.p50), (35.0, 30.0));
        assert_eq!(samples.all_ns(), [10.0, 20.0, 50.0, 30.0, 40.0, 60.0]);
        // The rounds take 85 ns and 70 ns, without the time between them.
        assert_eq!(samples.bandwidth_bytes_per_s(155), Some(6_000_000_000));
        assert_eq!(samples.bandwidth_bytes_per_s(0), None);
    }

    #[test]
    fn outliers_lie_beyond_three_times_the_distance_of_the_quartiles() {
        // The quartiles are 20 and 30. An outlier is below 20 - 3 * 10 or above 30 + 3 * 10.
        for (last, outliers) in [(60, 0), (61, 1)] {
            let loops = [vec![TimedLoop::made_up(
                0,
                &[10, 20, 20, 25, 25, 30, 30, last],
            )]];
            let (latency, found) = Samples::of(&loops, 1).latency();
            assert_eq!((latency.max, found), (last as f64, outliers));
        }
    }

    #[test]
    fn the_medians_interval_has_the_ranks_of_the_binomial() {
        // The first rank is the largest k with 2 P(X < k) <= 0.05, for X heads in n coin tosses.
        for (n, ranks) in [
            (0, None),
            (1, None),
            (5, None),
            (6, Some((1, 6))),
            (8, Some((1, 8))),
            (9, Some((2, 8))),
            (10, Some((2, 9))),
            // From 12 rounds on, it is the largest k with 2 P(X < k) <= 0.025.
            (11, Some((2, 10))),
            (12, Some((2, 11))),
            (20, Some((5, 16))),
            (24, Some((7, 18))),
            (100, Some((39, 62))),
            // The ranks of these are by whole numbers of any size.
            (1_074, Some((500, 575))),
            (1_075, Some((501, 575))),
            (2_000, Some((950, 1_051))),
            (100_000, Some((49_646, 50_355))),
        ] {
            assert_eq!(median_ranks(n), ranks, "of {n}");
        }
    }

    #[test]
    fn the_interval_comes_from_rounds_and_holds_the_median_of_all_samples() {
        let round = |index: u64, median: u64| {
            TimedLoop::made_up(1_000 * index, &[median - 4, median, median + 60])
        };
        let medians = [22, 20, 28, 24, 26, 30];
        let loops = [medians.map(|median| round(median, median)).to_vec()];
        let interval = |loops: &[Vec<TimedLoop>], operations, p50| {
            Samples::of(loops, operations)
                .median_interval(&[round_medians(loops)], p50)
                .map(|interval| (interval.low, interval.high))
        };
        assert_eq!(interval(&loops, 1, 26.0), Some((20.0, 30.0)));
        assert_eq!(interval(&loops, 2, 13.0), Some((10.0, 15.0)));
        assert_eq!(interval(&loops, 1, 33.0), Some((20.0, 33.0)));
        assert_eq!(interval(&[loops[0][..5].to_vec()], 1, 26.0), None);
        // The median of a round of two SPEs is the mean of their medians: 21, 23, and so on.
        let slower = medians.map(|median| round(median, median + 2)).to_vec();
        let both = [slower, loops[0].clone()];
        assert_eq!(interval(&both, 1, 26.0), Some((21.0, 31.0)));
    }

    #[test]
    fn the_interval_holds_the_median_of_each_visit() {
        let visited = |visits: &[&[u64]]| -> Visited {
            let spans = |rounds: &&[u64]| rounds.iter().copied().map(ns).collect();
            visits.iter().map(spans).collect()
        };
        let last = [1_010; 13];
        // Sorted, rounds 5 to 13 of the 17 rounds are rounds of the last visit. Without a wider
        // interval, the medians of the other visits would be outside.
        let disagreeing = visited(&[&[1_400, 1_400], &[1_400, 1_400], &last]);
        assert_eq!(interval(&disagreeing), Some((ns(1_010), ns(1_400))));
        // More rounds of the last visit would not make it narrower.
        assert!(is_settled(&disagreeing));
        let agreeing = visited(&[&[1_000, 1_400], &[1_005, 1_005], &last]);
        assert_eq!(interval(&agreeing), Some((ns(1_000), ns(1_010))));
        assert!(is_settled(&agreeing));
    }

    #[test]
    fn times_of_several_spes_are_the_longest_and_the_middle() {
        let times = [(7, 10), (9, 30), (8, 20), (3, 50)].map(|(took, median)| RoundTimes {
            took: ns(took),
            median: ns(median),
        });
        let of_all = |number: usize| {
            let all = RoundTimes::of_all(&times[..number]);
            (all.took, all.median)
        };
        assert_eq!(of_all(1), (ns(7), ns(10)));
        assert_eq!(of_all(2), (ns(9), ns(20)));
        assert_eq!(of_all(3), (ns(9), ns(20)));
        assert_eq!(of_all(4), (ns(9), ns(25)));
    }

    #[test]
    fn narrow_is_a_hundredth_of_the_median() {
        let rounds = |last| [1_000, 1_000, 1_000, 1_000, 1_000, last].map(ns).to_vec();
        assert!(is_settled(&[rounds(1_010)]));
        assert!(!is_settled(&[rounds(1_011)]));
        assert!(!is_settled(&[rounds(1_000)[..5].to_vec()]));
    }

    /// A clock that advances with each reading and each operation, in steps of `step`.
    struct MadeUp {
        ns: Cell<u64>,
        reading_ns: u64,
        step_ns: u64,
    }

    impl MadeUp {
        fn new(reading_ns: u64, step_ns: u64) -> Self {
            Self {
                ns: Cell::new(0),
                reading_ns,
                step_ns,
            }
        }

        fn read(&self) -> Time {
            self.ns.set(self.ns.get() + self.reading_ns);
            Time::default() + ns(self.ns.get() / self.step_ns * self.step_ns)
        }

        fn operate(&self, ns: u64) -> Result<(), Infallible> {
            self.ns.set(self.ns.get() + ns);
            Ok(())
        }

        fn timed_loop(&self, stopwatch: &mut Stopwatch, iterations: u32, ns: u64) -> TimedLoop {
            let counts = true;
            let round = Round { iterations, counts };
            let Ok(_) = stopwatch.time(round, || self.read(), || self.operate(ns));
            stopwatch.kept.pop().unwrap()
        }
    }

    #[test]
    fn the_cost_of_a_reading_is_not_spoiled_by_interrupts() {
        let clock = MadeUp::new(10, 1);
        let readings = Cell::new(0);
        let calibrated = Clock::calibrate(|| {
            readings.set(readings.get() + 1);
            if readings.get() % 7 == 0 {
                let Ok(()) = clock.operate(50_000);
            }
            clock.read()
        });
        let ten = ns(10);
        assert_eq!((calibrated.reading, calibrated.step), (ten, ten));
    }

    #[test]
    fn a_coarse_clock_is_read_until_it_steps_and_batches_last_fifty_steps() {
        let clock = MadeUp::new(25, 1_000);
        let mut stopwatch = Stopwatch::new(1, || clock.read());
        let calibrated = stopwatch.clock;
        assert_eq!((calibrated.reading, calibrated.step), (ns(25), ns(1_000)));
        // The time of an operation is not known yet, so batches grow.
        let first = clock.timed_loop(&mut stopwatch, 10_000, 100);
        assert!(first.samples.len() > 1, "{first:?}");
        for timed in [first, clock.timed_loop(&mut stopwatch, 10_000, 100)] {
            let longest =
                timed.end.since(timed.start).as_femtoseconds() / ns(50_000).as_femtoseconds();
            assert!(timed.samples.len() as u128 <= longest, "{timed:?}");
            for sample in timed.samples {
                assert!((ns(98)..=ns(102)).contains(&sample), "{sample}");
            }
        }
    }

    #[test]
    fn a_clock_that_costs_nothing_is_not_waited_for() {
        let clock = MadeUp::new(0, 1);
        let mut stopwatch = Stopwatch::new(1, || clock.read());
        assert_eq!(stopwatch.clock, Clock::default());
        let timed = clock.timed_loop(&mut stopwatch, 500, 7);
        assert_eq!(timed.samples, vec![ns(7); 500]);
    }

    #[test]
    fn samples_are_without_readings_of_the_clock() {
        let clock = MadeUp::new(10, 1);
        let mut stopwatch = Stopwatch::new(1, || clock.read());
        for iterations in [1_000, 10_000, 10_000] {
            let timed = clock.timed_loop(&mut stopwatch, iterations, 5);
            assert!(timed.samples.iter().all(|sample| *sample == ns(5)));
            assert_eq!(timed.operating, ns(5 * u64::from(iterations)));
            // A batch lasts at least 500 ns, the time of 50 readings: 98 operations of 5 ns and one
            // reading of 10 ns.
            assert!(timed.samples.len() as u32 <= iterations / 98, "{timed:?}");
        }
    }

    #[test]
    fn an_operation_shorter_than_a_reading_varies_is_0_and_not_below() {
        let clock = MadeUp::new(10, 1);
        let mut stopwatch = Stopwatch::new(1, || clock.read());
        let fast = MadeUp::new(4, 1);
        let timed = fast.timed_loop(&mut stopwatch, 1, 5);
        assert_eq!(timed.samples, [Span::default()]);
    }

    #[test]
    fn only_rounds_that_count_are_kept() {
        let clock = MadeUp::new(10, 1);
        let mut stopwatch = Stopwatch::new(1, || clock.read());
        for (iterations, counts) in [(3, false), (200, true), (4, false), (300, true)] {
            let round = Round { iterations, counts };
            let Ok(times) = stopwatch.time(round, || clock.read(), || clock.operate(5));
            assert_eq!(times.median, ns(5));
            assert!(times.took > ns(5 * u64::from(iterations)));
        }
        let kept = stopwatch.into_rounds();
        let iterations: Vec<u32> = kept.iter().map(|one| one.iterations).collect();
        assert_eq!(iterations, [200, 300]);
    }

    #[test]
    fn all_loops_of_a_round_give_about_a_thousand_samples() {
        let clock = MadeUp::new(0, 1);
        for (stopwatches, most) in [(1, 1_000), (2, 500), (32, 31), (576, 20)] {
            for iterations in [1, 2, 19, 20, 21, 999, 1_000, 1_001, 1_999, 123_456] {
                let mut stopwatch = Stopwatch::new(stopwatches, || clock.read());
                let samples = clock
                    .timed_loop(&mut stopwatch, iterations, 1)
                    .samples
                    .len() as u32;
                assert!(samples <= most, "{samples} of {iterations}");
                assert!(
                    samples >= iterations.min(most / 2),
                    "{samples} of {iterations}"
                );
            }
        }
    }
}
