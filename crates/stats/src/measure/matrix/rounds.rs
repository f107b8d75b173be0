//! The rounds of a pair. A round times some exchanges or one copy. The result is the median round.

use cellworks_machine::{Span, Time};

use crate::error::SpeError;
use crate::plan::pairs::divided;
use crate::sample::{Clock, STANDSTILL_ITERATIONS, median};

/// The usual length of a round, so short that the operating system interrupts few rounds.
const ROUND: Span = Span::from_nanoseconds(50_000);

const ROUNDS_MIN: usize = 5;

/// The number of rounds that should fit into the time for a pair.
const ROUNDS: usize = 16;

pub(super) struct Rounds {
    clock: Clock,
    /// The number of exchanges of the next round.
    count: u32,
    one_way: Vec<Span>,
}

impl Rounds {
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            count: 1,
            one_way: Vec::new(),
        }
    }

    /// Times rounds of exchanges for `span`. The one-way time is half of the time of an exchange.
    pub fn exchanges(
        &mut self,
        now: impl Fn() -> Time,
        span: Span,
        mut exchange: impl FnMut() -> Result<(), SpeError>,
    ) -> Result<(), SpeError> {
        let least = self.clock.shortest_batch().as_femtoseconds();
        // Twice the shortest length that the clock can time, because the number of exchanges fits
        // the speed of the previous round, and exchanges may now be faster.
        let round = divided(span, ROUNDS).min(ROUND).as_femtoseconds();
        let round = round.max(2 * least).max(1);
        self.repeat(&now, span, |rounds| {
            let count = rounds.count;
            let start = now();
            for _ in 0..count {
                exchange()?;
            }
            let took = (now().since(start) - rounds.clock.reading).as_femtoseconds();
            let fitting = u128::from(count) * round / took.max(1);
            // An interrupted round makes `fitting` too small, so `count` at most halves or doubles.
            let fitting = u32::try_from(fitting).unwrap_or(u32::MAX);
            rounds.count = fitting.clamp((count / 2).max(1), count.saturating_mul(2));
            let one_way = Span::from_femtoseconds(took / u128::from(count) / 2);
            Ok((took >= least && took > 0).then_some(one_way))
        })
    }

    /// Times `operate` again and again for `span`. The calls of `before` and `after` are not timed.
    pub fn operations(
        &mut self,
        now: impl Fn() -> Time,
        span: Span,
        mut before: impl FnMut() -> Result<(), SpeError>,
        mut operate: impl FnMut() -> Result<(), SpeError>,
        mut after: impl FnMut() -> Result<(), SpeError>,
    ) -> Result<(), SpeError> {
        self.repeat(&now, span, |rounds| {
            before()?;
            let start = now();
            operate()?;
            let took = now().since(start);
            after()?;
            Ok(Some(took - rounds.clock.reading))
        })
    }

    /// Repeats `round` for `span` and until there are [`ROUNDS_MIN`] results, unless the clock
    /// stands still. `round` returns its one-way time, or `None` if the clock is too coarse for the
    /// round. The first eighth of `span` is a warm-up without results.
    fn repeat(
        &mut self,
        now: impl Fn() -> Time,
        span: Span,
        mut round: impl FnMut(&mut Self) -> Result<Option<Span>, SpeError>,
    ) -> Result<(), SpeError> {
        let start = now();
        let warm = start + divided(span, 8);
        let end = start + span;
        let mut seen = start;
        // The number of operations since the clock last advanced.
        let mut done = 0_u32;
        loop {
            let is_warm = seen >= warm;
            done = done.saturating_add(self.count);
            if let Some(one_way) = round(self)?
                && is_warm
            {
                self.one_way.push(one_way);
            }
            let time = now();
            if time > seen {
                (seen, done) = (time, 0);
            }
            let is_enough = seen >= end && self.one_way.len() >= ROUNDS_MIN;
            if is_enough || done >= STANDSTILL_ITERATIONS {
                return Ok(());
            }
        }
    }

    /// Returns the median of all rounds, or `None` if the clock did not advance in any round.
    pub fn median(mut self) -> Option<Span> {
        median(&mut self.one_way).filter(|median| *median > Span::default())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn ns(ns: u64) -> Span {
        Span::from_nanoseconds(ns)
    }

    fn of_ns(one_way: &[u64]) -> Rounds {
        Rounds {
            one_way: one_way.iter().copied().map(ns).collect(),
            ..Rounds::new(Clock::default())
        }
    }

    #[test]
    fn one_interrupted_round_does_not_move_the_median() {
        let rounds = of_ns(&[51, 4_000_000, 50, 52, 49]);
        assert_eq!(rounds.median(), Some(ns(51)));
    }

    #[test]
    fn an_exchange_without_time_has_no_median() {
        assert_eq!(of_ns(&[0, 40, 0]).median(), None);
        assert_eq!(of_ns(&[]).median(), None);
    }

    /// Returns the median one-way times of exchanges of 200 ns and of transfers of 100 ns. The
    /// clock has steps of `step_ns`, and takes 25 ns to read.
    fn medians(step_ns: u64) -> [Option<Span>; 2] {
        let elapsed = Cell::new(0);
        let pass = |ns| elapsed.set(elapsed.get() + ns);
        let now = || {
            pass(25);
            Time::default() + ns(elapsed.get() / step_ns * step_ns)
        };
        let span = ns(5_000_000);
        let clock = Clock::calibrate(now);
        let mut exchanges = Rounds::new(clock);
        let exchange = || {
            pass(200);
            Ok(())
        };
        exchanges.exchanges(now, span, exchange).unwrap();
        let mut transfers = Rounds::new(clock);
        let transfer = || {
            pass(100);
            Ok(())
        };
        let [before, after] = [|| Ok(()); 2];
        transfers
            .operations(now, span, before, transfer, after)
            .unwrap();
        [exchanges.median(), transfers.median()]
    }

    #[test]
    fn a_coarse_clock_takes_the_time_of_long_rounds_and_refuses_short_transfers() {
        let [exchange, transfer] = medians(1_000);
        let one_way = exchange.unwrap();
        assert!((ns(98)..=ns(102)).contains(&one_way), "{one_way}");
        assert_eq!(transfer, None);
        let fine = medians(1);
        assert_eq!(fine.map(|median| median.is_some()), [true, true]);
    }

    #[test]
    fn a_clock_that_stands_still_is_not_waited_for() {
        assert_eq!(medians(u64::MAX), [None, None]);
    }
}
