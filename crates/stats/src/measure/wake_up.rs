//! `wakeup`: the time of a word to an SPE that sleeps. The paper does not have this function,
//! because SPEs of a Cell wait in hardware. On a computer, a waiting OS thread falls asleep, and a
//! word takes far longer if the kernel has to wake the thread.
//!
//! ```text
//!   sender: the PPE, or SPE 0                      partner
//!   lets 1 ms pass                                 waits for a word, and falls asleep
//!   takes the time: sent
//!   word ─────────── inbound mailbox ───────────►  wakes and has the word
//!                                                  takes the time: woken
//!   compares         ◄─── word, by mailbox ──────  replies
//!   woken - sent     ◄─── woken, two words ──────
//! ```
//!
//! On a machine on which no thread sleeps, the sender waits for only 2 us.
//!
//! A sample is woken - sent, on the common clock of the run. If an SPE shares its CPU with the
//! sender, the sample includes the time until the scheduler replaces the sender by the SPE.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::{CellMachine, CellSpe, Span, SpeId, Time, Wake};

use super::crew::{Crew, READY, conduct, pass, run_rounds, time_of, wait_until, words_of};
use super::exchange::{STOP, next};
use super::outcome::Outcome;
use crate::error::{MeasureError, Untrusted};
use crate::plan::Plan;
use crate::program::{check, join};
use crate::sample::{Round, RoundTimes, TimedLoop};

/// Measures how long the sender takes to wake its partners. An iteration wakes each partner once.
pub(super) fn measure<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    between_spes: bool,
    partners: &[SpeId],
    idle: Span,
) -> Result<Outcome, MeasureError> {
    let sender = between_spes.then_some(SpeId::new(0));
    let name = plan.function().name();
    let loops = machine.run(|ppe| {
        let handles: Vec<_> = partners
            .iter()
            .map(|partner| {
                ppe.spawn_named(*partner, name, move |spe| {
                    sleep(spe, sender);
                    Ok(())
                })
            })
            .collect();
        for partner in partners {
            ppe.read_out_mbox(*partner, Outbound::Plain);
        }
        let loops = match sender {
            None => {
                let mut waker = Waker::new(partners, idle);
                let exchange = |partner, word| {
                    ppe.write_in_mbox(partner, word);
                    [(); 3].map(|()| ppe.read_out_mbox(partner, Outbound::Plain))
                };
                // On a simulated machine, reading an empty mailbox lets time pass. On a computer,
                // `yield_now` lets a partner on the same CPU run until it falls asleep.
                let pass = |_| {
                    ppe.try_read_out_mbox(partners[0], Outbound::Plain);
                    std::thread::yield_now();
                };
                conduct(&plan.pace, |round| {
                    waker.round(round, || ppe.now(), pass, exchange)
                })
                .map(|()| waker.loops)
                .map_err(MeasureError::from)
            }
            Some(sender) => {
                let program = ppe.spawn_named(sender, name, move |spe| {
                    let mut waker = Waker::new(partners, idle);
                    let exchange = |partner, word| {
                        spe.write_in_mbox_of(partner, word);
                        [(); 3].map(|()| spe.read_in_mbox())
                    };
                    run_rounds(spe, |round| {
                        let pass = |left| pass(spe, left);
                        Ok(waker.round(round, || spe.now(), pass, exchange)?)
                    })?;
                    Ok(waker.loops)
                });
                let results = Crew::measure(ppe, &plan.pace, vec![program]);
                results.map(|mut results| results.swap_remove(0))
            }
        };
        for partner in partners {
            ppe.write_in_mbox(*partner, STOP);
        }
        let slept: Vec<_> = handles.into_iter().map(join).collect();
        slept.into_iter().collect::<Result<(), _>>()?;
        loops
    })??;
    Ok(Outcome {
        loops,
        operations_per_iteration: 1,
        ..Outcome::default()
    })
}

/// The sender of the words, which is the PPE or SPE 0.
struct Waker<'a> {
    partners: &'a [SpeId],
    idle: Span,
    word: u32,
    /// For each partner, the rounds without the warm-up.
    loops: Vec<Vec<TimedLoop>>,
}

impl<'a> Waker<'a> {
    fn new(partners: &'a [SpeId], idle: Span) -> Self {
        Self {
            partners,
            idle,
            word: 0,
            loops: partners.iter().map(|_| Vec::new()).collect(),
        }
    }

    /// Wakes each partner once in each iteration. `exchange` sends a word to a partner and returns
    /// the three words of the reply. The result `took` includes the waits before words, and
    /// `median` does not.
    fn round(
        &mut self,
        round: Round,
        now: impl Fn() -> Time,
        pass: impl Fn(Span),
        exchange: impl Fn(SpeId, u32) -> [u32; 3],
    ) -> Result<RoundTimes, Untrusted> {
        let start = now();
        let mut samples = vec![Vec::new(); self.partners.len()];
        for _ in 0..round.iterations {
            for (partner, samples) in self.partners.iter().zip(&mut samples) {
                wait_until(now() + self.idle, &now, &pass);
                self.word = next(self.word);
                let sent = now();
                let [reply, upper, lower] = exchange(*partner, self.word);
                check(*partner, self.word, reply)?;
                samples.push(one_way(*partner, sent, time_of([upper, lower]))?);
            }
        }
        let end = now();
        let timed = samples
            .into_iter()
            .map(|samples| TimedLoop::of_samples(start, end, samples));
        let timed: Vec<_> = timed.collect();
        let times: Vec<_> = timed.iter().map(TimedLoop::times).collect();
        if round.counts {
            for (loops, timed) in self.loops.iter_mut().zip(timed) {
                loops.push(timed);
            }
        }
        Ok(RoundTimes::of_all(&times))
    }
}

fn one_way(partner: SpeId, sent: Time, woken: Time) -> Result<Span, Untrusted> {
    if woken < sent {
        return Err(Untrusted::new(format!(
            "{partner} had a word {} before it was written",
            sent.since(woken)
        )));
    }
    Ok(woken.since(sent))
}

/// Replies to each word with the same word and the time at which the word arrived.
fn sleep<S: CellSpe>(spe: &S, sender: Option<SpeId>) {
    spe.write_out_mbox(Outbound::Plain, READY);
    loop {
        let word = spe.read_in_mbox();
        let [upper, lower] = words_of(spe.now());
        if word == STOP {
            return;
        }
        for reply in [word, upper, lower] {
            match sender {
                None => spe.write_out_mbox(Outbound::Plain, reply),
                Some(sender) => spe.write_in_mbox_of(sender, reply),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::sample::{last_rate, round_medians};

    const SPES: [SpeId; 2] = [SpeId::new(3), SpeId::new(4)];

    fn at(ns: u128) -> Time {
        Time::from_femtoseconds(ns * 1_000_000)
    }

    #[test]
    fn rounds_are_paced_by_what_is_measured_and_by_the_time_that_all_of_it_takes() {
        let clock_ns = Cell::new(0);
        // SPE 3 wakes after 10 us in the first iteration, 20 us in the second, and so on. SPE 4
        // takes 2 us more. A reply takes 300 us.
        let exchange = |partner: SpeId, word: u32| {
            let us = u128::from(word.div_ceil(2)) * 10 + if partner == SPES[1] { 2 } else { 0 };
            let woken = at(clock_ns.get() + us * 1_000);
            clock_ns.set(clock_ns.get() + us * 1_000 + 300_000);
            let [upper, lower] = words_of(woken);
            [word, upper, lower]
        };
        let mut waker = Waker::new(&SPES, Span::from_nanoseconds(1_000_000));
        let mut round = |iterations, counts| {
            let tick = |_| clock_ns.set(clock_ns.get() + 100_000);
            let now = || at(clock_ns.get());
            let round = Round { iterations, counts };
            waker.round(round, now, tick, exchange).unwrap()
        };
        let ns = Span::from_nanoseconds;
        let warm_up = round(1, false);
        assert_eq!(warm_up.took, ns(2 * 1_300_000 + 10_000 + 12_000));
        let medians = [round(3, true), round(1, true)].map(|times| times.median);
        assert_eq!(medians, [ns(31_000), ns(51_000)]);
        // `Visits` takes the interval from `round_medians`, which must return the same medians.
        assert_eq!(round_medians(&waker.loops), medians);
        // The next visit is paced by it: without the waits, its warm-up would be too long.
        let last = last_rate(&waker.loops).unwrap();
        assert_eq!(last.iterations, 1);
        assert_eq!(last.took, ns(2 * 1_300_000 + 50_000 + 52_000));
        let iterations = waker.loops.iter().map(|loops| {
            let iterations = loops.iter().map(|one| one.iterations);
            iterations.collect::<Vec<_>>()
        });
        assert_eq!(iterations.collect::<Vec<_>>(), [[3, 1], [3, 1]]);
    }

    #[test]
    fn a_word_from_the_future_is_an_error() {
        assert_eq!(one_way(SPES[0], at(5), at(5)), Ok(Span::default()));
        assert_eq!(
            one_way(SPES[0], at(7), at(5)).unwrap_err().to_string(),
            "the measurement cannot be trusted: SPE 3 had a word 2.0 ns before it was written; the \
             machine is at fault, please report it"
        );
    }
}
