//! Programs that poll a status until it changes, on simulated machines.
//!
//! A loop such as `while (spu_stat_in_mbox() == 0);` asks the machine millions of times in a second
//! of simulated time. After some equal answers in a row, at equal distances, the machine waits for
//! the change instead, for as long as many turns of the loop would take. So a loop that gives up
//! after a number of turns takes up to [`TURNS`] times as long as on a Cell, and the turns after
//! many of them up to [`TURNS_LATER`] times.

use cellworks_machine::{Span, Time};

/// The equal answers after which a loop is taken for one that polls.
const EQUAL: u32 = 16;

/// The turns of the loop that one wait takes the place of.
const TURNS: u128 = 32;

/// The equal answers after which one wait takes the place of more turns.
const MANY: u32 = 4_096;

/// The turns that one wait takes the place of then.
const TURNS_LATER: u128 = 512;

/// The instructions of the largest loop that polls.
const INSTRUCTIONS: u64 = 256;

/// The last answers to the questions of a program.
#[derive(Default)]
pub(super) struct Spin {
    last: Option<Polled>,
    equal: u32,
    /// Where in its source the program polls, once that was found out.
    pub(super) place: Option<&'static str>,
}

#[derive(Clone, Copy)]
struct Polled {
    /// What was asked, and what was answered.
    question: (u32, u32),
    answer: u32,
    instructions: u64,
    at: Time,
    /// The instructions of the last turn of the loop.
    turn: u64,
}

impl Spin {
    /// Notes an answer. Returns how long to wait for another one, if the program polls.
    pub(super) fn polled(
        &mut self,
        question: (u32, u32),
        answer: u32,
        instructions: u64,
        at: Time,
    ) -> Option<Span> {
        let turn = self.last.map_or(0, |last| instructions - last.instructions);
        let last = self.last.replace(Polled {
            question,
            answer,
            instructions,
            at,
            turn,
        })?;
        // A call costs an eighth of an instruction more than what it executes.
        let is_as_long = last.turn.abs_diff(turn) <= 1;
        let is_same = last.question == question && last.answer == answer && is_as_long;
        if is_same && turn <= INSTRUCTIONS {
            self.equal += 1;
        } else {
            (self.equal, self.place) = (0, None);
        }
        let turns = match self.equal {
            MANY.. => TURNS_LATER,
            EQUAL.. => TURNS,
            _ => return None,
        };
        Some(at.since(last.at) * turns)
    }

    /// Notes the end of a wait, which is no turn of the loop.
    pub(super) fn waited(&mut self, until: Time) {
        if let Some(last) = &mut self.last {
            last.at = until;
        }
    }

    /// Forgets the answers: the program has asked something else.
    pub(super) fn other(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanoseconds: u64) -> Time {
        Time::default() + Span::from_nanoseconds(nanoseconds)
    }

    #[test]
    fn a_loop_that_polls_is_known_by_equal_answers_at_equal_distances() {
        let mut spin = Spin::default();
        let mut waits = (0..40).map(|turn| spin.polled((29, 0), 0, 5 * turn, at(10 * turn)));
        let first = waits.position(|wait| wait.is_some()).unwrap();
        assert_eq!(first as u32, EQUAL + 1);
        assert_eq!(waits.next(), Some(Some(Span::from_nanoseconds(10) * TURNS)));
    }

    #[test]
    fn a_loop_that_polls_for_long_waits_longer() {
        let mut spin = Spin::default();
        let turn = Span::from_nanoseconds(10);
        let waits = (0..5_000).map(|turn| spin.polled((29, 0), 0, 5 * turn, at(10 * turn)));
        let waits: Vec<_> = waits.flatten().collect();
        let short = (MANY - EQUAL) as usize;
        assert!(waits[..short].iter().all(|wait| *wait == turn * TURNS));
        assert!(
            waits[short..]
                .iter()
                .all(|wait| *wait == turn * TURNS_LATER)
        );
    }

    #[test]
    fn a_turn_may_be_an_instruction_longer_than_the_last_one() {
        let mut spin = Spin::default();
        let turn = |turn: u64| spin.polled((29, 0), 0, 5 * turn + turn / 8, at(10 * turn));
        assert!((0..40).map(turn).last().unwrap().is_some());
    }

    #[test]
    fn what_does_not_poll_is_not_taken_for_it() {
        let mut spin = Spin::default();
        // Other work in each turn, another answer now and then, or a long way between.
        let work = |turn: u64| spin.polled((29, 0), 0, 5 * turn * turn, at(10 * turn));
        assert!((0..100).map(work).all(|wait| wait.is_none()));
        let mut spin = Spin::default();
        let answers = |turn: u64| spin.polled((29, 0), (turn / 8) as u32, 5 * turn, at(10 * turn));
        assert!((0..100).map(answers).all(|wait| wait.is_none()));
        let mut spin = Spin::default();
        let far = |turn: u64| spin.polled((29, 0), 0, 1_000 * turn, at(10 * turn));
        assert!((0..100).map(far).all(|wait| wait.is_none()));
        let mut spin = Spin::default();
        let others = |turn: u64| {
            spin.other();
            spin.polled((29, 0), 0, 5 * turn, at(10 * turn))
        };
        assert!((0..100).map(others).all(|wait| wait.is_none()));
    }
}
