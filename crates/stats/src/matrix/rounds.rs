//! Rounds: what an SPE times, often enough for a median.

use cellworks_machine::{Span, Spe};

use super::request::divided;
use crate::error::{SpeError, Untrusted};

/// A round lasts at least this many times as long as reading the clock, which is then under 2 % of
/// it.
const ROUND_PER_CLOCK_READING: u128 = 50;

/// How long a round lasts when there is time: so short that few are hit when the operating system
/// takes the CPU away.
const ROUND: Span = Span::from_nanoseconds(50_000);

/// How many rounds a pair has at least, however little time there is.
const ROUNDS_MIN: usize = 5;

/// How many rounds there should be room for in a span.
const ROUNDS: usize = 16;

/// Takes the time of one pair.
pub(super) struct Rounds {
    clock_reading: Span,
    /// How many exchanges a round has.
    count: u32,
    /// The time of one way, in each round.
    one_way: Vec<Span>,
}

impl Rounds {
    /// Finds out what reading the clock costs: in the fastest of several loops, so that none which
    /// was interrupted is taken for the clock's.
    pub fn new<S: Spe>(spe: &S) -> Self {
        const LOOPS: usize = 8;
        const READINGS: usize = 16;
        let reading = || {
            let start = spe.now();
            let end = (0..READINGS).fold(start, |_, _| spe.now());
            divided(end.since(start), READINGS)
        };
        let readings = (0..LOOPS).map(|_| reading());
        Self {
            clock_reading: readings.min().unwrap_or_default(),
            count: 1,
            one_way: Vec::new(),
        }
    }

    /// Does rounds of exchanges for as long as `span`. One way is half an exchange.
    pub fn exchanges<S: Spe>(
        &mut self,
        spe: &S,
        span: Span,
        mut exchange: impl FnMut() -> Result<(), SpeError>,
    ) -> Result<(), SpeError> {
        let least = self.clock_reading.as_femtoseconds() * ROUND_PER_CLOCK_READING;
        // Twice the least, so that a round that is faster than the one before counts as well.
        let round = divided(span, ROUNDS).min(ROUND).as_femtoseconds();
        let round = round.max(2 * least).max(1);
        self.repeat(spe, span, |rounds| {
            let count = rounds.count;
            let start = spe.now();
            for _ in 0..count {
                exchange()?;
            }
            let took = (spe.now().since(start) - rounds.clock_reading).as_femtoseconds();
            let fitting = u128::from(count) * round / took.max(1);
            // A round that was interrupted says little about the next.
            let fitting = u32::try_from(fitting).unwrap_or(u32::MAX);
            rounds.count = fitting.clamp((count / 2).max(1), count.saturating_mul(2));
            let one_way = Span::from_femtoseconds(took / u128::from(count) / 2);
            Ok((took >= least && took > 0).then_some(one_way))
        })
    }

    /// Times `operate` alone, again and again for as long as `span`; `before` and `after` each are
    /// not timed.
    pub fn operations<S: Spe>(
        &mut self,
        spe: &S,
        span: Span,
        mut before: impl FnMut() -> Result<(), SpeError>,
        mut operate: impl FnMut() -> Result<(), SpeError>,
        mut after: impl FnMut() -> Result<(), SpeError>,
    ) -> Result<(), SpeError> {
        self.repeat(spe, span, |rounds| {
            before()?;
            let start = spe.now();
            operate()?;
            let took = spe.now().since(start);
            after()?;
            Ok(Some(took - rounds.clock_reading))
        })
    }

    /// Repeats a round, which says what one way took if it counts, at least once. The first eighth of
    /// the time is for warming up.
    fn repeat<S: Spe>(
        &mut self,
        spe: &S,
        span: Span,
        mut round: impl FnMut(&mut Self) -> Result<Option<Span>, SpeError>,
    ) -> Result<(), SpeError> {
        let start = spe.now();
        let warm = start + divided(span, 8);
        let end = start + span;
        loop {
            let is_warm = spe.now() >= warm;
            if let Some(one_way) = round(self)?
                && is_warm
            {
                self.one_way.push(one_way);
            }
            if spe.now() >= end && self.one_way.len() >= ROUNDS_MIN {
                return Ok(());
            }
        }
    }

    /// The median of all rounds.
    pub fn median(mut self) -> Result<Span, Untrusted> {
        self.one_way.sort_unstable();
        let median = self.one_way[self.one_way.len() / 2];
        if median == Span::default() {
            return Err(Untrusted::new(format!(
                "half of {} transfers took no longer than reading the clock",
                self.one_way.len()
            )));
        }
        Ok(median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_ns(one_way: &[u64]) -> Rounds {
        Rounds {
            clock_reading: Span::from_nanoseconds(20),
            count: 1,
            one_way: one_way
                .iter()
                .map(|&ns| Span::from_nanoseconds(ns))
                .collect(),
        }
    }

    #[test]
    fn one_interrupted_round_does_not_move_the_median() {
        let rounds = of_ns(&[51, 4_000_000, 50, 52, 49]);
        assert_eq!(rounds.median(), Ok(Span::from_nanoseconds(51)));
    }

    #[test]
    fn what_takes_no_time_is_refused() {
        assert_eq!(
            of_ns(&[0, 40, 0]).median().unwrap_err().to_string(),
            "the measurement cannot be trusted: half of 3 transfers took no longer than reading \
             the clock; the machine is at fault, please report it"
        );
    }
}
