//! Atomic variables: the two SPEs of a pair change the word in turn.
//!
//! ```text
//!   by reads                              by compare-and-swap
//!   time              answer              time              answer
//!   sets 1            reads 0, 0, 1       swaps 0 for 1     tries to swap 1 for 2
//!   reads 1, 1, 2     sets 2              tries to swap     until the swap succeeds
//!   sets 3            ...                 2 for 3 ...       ...
//! ```
//!
//! The tool core-to-core-latency also polls by compare-and-swap (its benchmark 1, "CAS latency on a
//! single shared cache line"). Each swap takes the cache line away from the other SPE, even if the
//! swap fails. After a read, both caches have the line, so the next store first removes it from the
//! other cache. Which way takes longer depends on the processor and the distance of the SPEs.
//!
//! The variable is in several cache lines ([`LINES`]), one after the other. When the time for a
//! line is over, the timing SPE writes [`STOP`] to the line.

use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{AtomicOp, CellSpe, Span, SpeId};

use super::command::Command;
use super::rounds::Rounds;
use super::sides::{LINES, STOP, Sides};
use crate::error::SpeError;
use crate::plan::pairs::divided;
use crate::program::check;

pub(super) struct Variable<L>(pub L);

/// Polling by reading the variable.
pub(super) struct Reads;

/// Polling by compare-and-swap.
pub(super) struct Swaps;

/// The number of reads or swaps between two yields: so many that the yields take little time, and
/// so few that another SPE of the same OS thread soon runs.
const POLLS_PER_YIELD: u32 = 16;

/// The two sides of a pair, on one cache line, which holds 0 at the start.
trait Line<S: CellSpe> {
    /// Counts the variable up, in turn with `partner`.
    fn time(
        &self,
        spe: &S,
        partner: SpeId,
        line: EffectiveAddress,
        span: Span,
        rounds: &mut Rounds,
    ) -> Result<(), SpeError>;

    /// Adds 1 whenever the partner has added 1, until the partner writes [`STOP`].
    fn answer(&self, spe: &S, line: EffectiveAddress) -> Result<(), SpeError>;
}

impl<S: CellSpe, L: Line<S>> Sides<S> for Variable<L> {
    fn time(&mut self, spe: &S, command: &Command, rounds: &mut Rounds) -> Result<(), SpeError> {
        let end = spe.now() + command.span;
        let mut outcome = Ok(());
        let lines = lines(command);
        for (left, line) in (1..=lines.len()).rev().zip(lines) {
            // If one line took longer than its share, the other lines get less time.
            let span = divided(end.since(spe.now()), left);
            outcome = outcome.and_then(|()| self.0.time(spe, command.partner, line, span, rounds));
            spe.fetch_update(line, AtomicOp::Set(STOP))?;
        }
        outcome
    }

    fn answer(&mut self, spe: &S, command: &Command) -> Result<(), SpeError> {
        lines(command).try_for_each(|line| self.0.answer(spe, line))
    }
}

/// The minimum time for one line: two wake-ups, because the first line may include a wake-up.
const LINE_SPAN_MIN: Span = Span::from_nanoseconds(100_000);

/// Returns the lines of the variable in order: [`LINES`], or fewer if the command has little time.
fn lines(command: &Command) -> impl ExactSizeIterator<Item = EffectiveAddress> {
    let first = command.variable;
    let fitting = command.span.as_femtoseconds() / LINE_SPAN_MIN.as_femtoseconds();
    let lines = usize::try_from(fitting).unwrap_or(LINES).clamp(1, LINES);
    (0..lines).map(move |line| first + (line * LINE_BYTES) as u64)
}

/// Waits until the word at `ea` differs from `known`, and returns the word.
#[inline]
fn read_change<S: CellSpe>(spe: &S, ea: EffectiveAddress, known: u32) -> Result<u32, SpeError> {
    loop {
        for _ in 0..POLLS_PER_YIELD {
            let word = spe.load_word(ea)?;
            if word != known {
                return Ok(word);
            }
            // Without this hint, the processor executes later loads of the loop in advance, and
            // discards them when the other hardware thread of the core stores. An exchange of two
            // such threads then took 58 ns one way instead of 39 ns (EPYC of family 25).
            std::hint::spin_loop();
        }
        spe.yield_now();
    }
}

impl<S: CellSpe> Line<S> for Reads {
    fn time(
        &self,
        spe: &S,
        partner: SpeId,
        line: EffectiveAddress,
        span: Span,
        rounds: &mut Rounds,
    ) -> Result<(), SpeError> {
        let mut word = 0;
        rounds.exchanges(
            || spe.now(),
            span,
            || {
                word += 1;
                spe.fetch_update(line, AtomicOp::Set(word))?;
                let reply = read_change(spe, line, word)?;
                check(partner, word + 1, reply)?;
                word = reply;
                Ok(())
            },
        )
    }

    fn answer(&self, spe: &S, line: EffectiveAddress) -> Result<(), SpeError> {
        let mut reply = 0;
        loop {
            let word = read_change(spe, line, reply)?;
            if word == STOP {
                return Ok(());
            }
            reply = word + 1;
            spe.fetch_update(line, AtomicOp::Set(reply))?;
        }
    }
}

/// Waits while the word at `ea` is `expected` minus 1, which this SPE has written. Then returns the
/// word. If the word is `expected`, replaces it by `expected` plus 1, and otherwise leaves it
/// unchanged.
#[inline]
fn swap<S: CellSpe>(spe: &S, ea: EffectiveAddress, expected: u32) -> Result<u32, SpeError> {
    let new = expected + 1;
    loop {
        for _ in 0..POLLS_PER_YIELD {
            let found = spe.fetch_update(ea, AtomicOp::CompareAndSwap { expected, new })?;
            if found.wrapping_add(1) != expected {
                return Ok(found);
            }
        }
        spe.yield_now();
    }
}

impl<S: CellSpe> Line<S> for Swaps {
    fn time(
        &self,
        spe: &S,
        partner: SpeId,
        line: EffectiveAddress,
        span: Span,
        rounds: &mut Rounds,
    ) -> Result<(), SpeError> {
        let mut word = 0;
        // A swap that succeeds receives the reply to the previous word, and sends the next word.
        rounds.exchanges(
            || spe.now(),
            span,
            || {
                check(partner, word, swap(spe, line, word)?)?;
                word += 2;
                Ok(())
            },
        )?;
        // The reply to the final word must arrive before the caller writes [`STOP`].
        let reply = read_change(spe, line, word - 1)?;
        Ok(check(partner, word, reply)?)
    }

    fn answer(&self, spe: &S, line: EffectiveAddress) -> Result<(), SpeError> {
        let mut word = 1;
        loop {
            let found = swap(spe, line, word)?;
            if found == STOP {
                return Ok(());
            }
            word = if found == word { word + 2 } else { found };
        }
    }
}

#[cfg(test)]
mod tests {
    use cellworks_machine::SpeId;

    use super::super::command::Role;
    use super::*;

    #[test]
    fn a_short_time_is_shared_by_few_lines() {
        for (us, expected) in [(20, 1), (100, 1), (200, 2), (799, 7), (800, 8), (15_000, 8)] {
            let command = Command {
                role: Role::Time,
                partner: SpeId::new(1),
                variable: EffectiveAddress(0x1000),
                span: Span::from_nanoseconds(us * 1_000),
            };
            let lines: Vec<_> = lines(&command).map(|line| line.0).collect();
            let apart = (0x1000..).step_by(LINE_BYTES).take(expected);
            assert_eq!(lines, apart.collect::<Vec<u64>>(), "{us} us");
        }
    }
}
