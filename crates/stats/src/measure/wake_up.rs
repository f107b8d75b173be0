//! `wakeup`: how long a word takes to an SPE that sleeps. The paper does not have it: its SPEs wait
//! for a channel in hardware and never sleep. An OS thread that waits for long does, and is then
//! woken by the kernel, which takes far longer than a word between two that are awake.
//!
//! ```text
//!   sender: the PPE, or SPE 0                      partner
//!   lets 1 ms pass                                 waits for a word, and falls asleep
//!   takes the time: sent
//!   word ─────────── inbound mailbox ───────────►  wakes and has the word
//!                                                  takes the time: woken
//!   compares         ◄─── word, by mailbox ──────  replies
//! ```
//!
//! A sample is woken - sent, both on the clock that a run has in common. The rest of an iteration is
//! not part of it.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::{Machine, Ppe, Span, Spe, SpeId, Time};

use super::crew::{Crew, READY, Work, conduct, join, work};
use super::exchange::{STOP, check, next};
use super::{ControlBlock, Outcome, control_blocks};
use crate::error::{MeasureError, SpeError, Untrusted};
use crate::request::Plan;
use crate::sample::{Round, RoundTimes, TimedLoop, median};

/// How long a partner is left alone. It is asleep by then: nobody spins for longer than being woken
/// takes, which is some ten microseconds.
const SLEEP: Span = Span::from_nanoseconds(1_000_000);

/// The sender wakes partners one after the other: an iteration wakes each once.
pub(super) fn measure<M: Machine>(
    machine: &M,
    plan: &Plan,
    between_spes: bool,
    partners: &[SpeId],
) -> Result<Outcome, MeasureError> {
    let sender = between_spes.then_some(SpeId::new(0));
    let region = control_blocks(machine, plan.module, [ControlBlock::default()].into_iter())?;
    let (sent, woken) = machine.run(|ppe| {
        let handles: Vec<_> = partners
            .iter()
            .map(|partner| ppe.spawn(*partner, move |spe| Ok(sleep(spe, sender))))
            .collect();
        for partner in partners {
            ppe.read_out_mbox(*partner, Outbound::Plain);
        }
        let sent = match sender {
            None => by_ppe(ppe, plan, partners),
            Some(sender) => {
                let block = region.at(0);
                let program = ppe.spawn(sender, move |spe| {
                    work(spe, block, |_, _| Ok(Sender::new(partners)))
                });
                let mut crew = Crew::gather(ppe, vec![program]);
                // Whoever stopped the crew is named by `dismiss`.
                let _ = conduct(&plan.pace, |round| crew.round(round));
                crew.dismiss().map(|mut results| {
                    let (rounds, times) = results.swap_remove(0);
                    let rounds = rounds.iter().map(|round| round.iterations).collect();
                    Sent { times, rounds }
                })
            }
        };
        for partner in partners {
            ppe.write_in_mbox(*partner, STOP);
        }
        let woken: Vec<_> = handles.into_iter().map(join).collect();
        let woken = woken.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok::<_, MeasureError>((sent?, woken))
    })??;
    Ok(Outcome {
        loops: pair(&sent, &woken, partners)?,
        operations_per_iteration: 1,
        bytes_per_iteration: 0,
    })
}

/// When words were sent, in turn to each partner, and how many iterations each round had that counts:
/// these were the last.
struct Sent {
    times: Vec<Time>,
    rounds: Vec<u32>,
}

/// The rounds of each partner that count.
fn pair(
    sent: &Sent,
    woken: &[Vec<Time>],
    partners: &[SpeId],
) -> Result<Vec<Vec<TimedLoop>>, Untrusted> {
    let counted: u32 = sent.rounds.iter().sum();
    let rounds_of = |(position, partner): (usize, &SpeId)| {
        let sent_to = sent.times[position..].iter().step_by(partners.len());
        let warm_up = woken[position].len() - counted as usize;
        let mut pairs = sent_to.zip(&woken[position]).skip(warm_up);
        let one_round = |iterations: &u32| {
            let pairs: Vec<_> = pairs.by_ref().take(*iterations as usize).collect();
            let start = pairs.first().map_or(Time::default(), |(sent, _)| **sent);
            let samples = pairs
                .into_iter()
                .map(|(sent, woken)| one_way(*partner, *sent, *woken))
                .collect::<Result<_, _>>()?;
            Ok(TimedLoop::of_samples(start, samples))
        };
        sent.rounds.iter().map(one_round).collect()
    };
    partners.iter().enumerate().map(rounds_of).collect()
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

fn by_ppe<M: Machine>(
    ppe: &Ppe<'_, '_, M>,
    plan: &Plan,
    partners: &[SpeId],
) -> Result<Sent, MeasureError> {
    let mut sent = Sent {
        times: Vec::new(),
        rounds: Vec::new(),
    };
    let mut word = 0;
    conduct(&plan.pace, |Round { iterations, counts }| {
        let start = ppe.now();
        let mut answered = Vec::new();
        for partner in (0..iterations).flat_map(|_| partners) {
            let alone = ppe.now();
            while ppe.now().since(alone) < SLEEP {
                // The partner may have to share the PPE's CPU until it sleeps.
                std::thread::yield_now();
            }
            word = next(word);
            let before = ppe.now();
            ppe.write_in_mbox(*partner, word);
            check(*partner, word, ppe.read_out_mbox(*partner, Outbound::Plain))?;
            answered.push(ppe.now().since(before));
            sent.times.push(before);
        }
        if counts {
            sent.rounds.push(iterations);
        }
        Ok::<_, Untrusted>(RoundTimes {
            took: ppe.now().since(start),
            // The answer comes so soon after the wake-up that one is as steady as the other.
            median: median(&mut answered).unwrap_or_default(),
        })
    })?;
    Ok(sent)
}

/// SPE 0 in the place of the PPE.
struct Sender<'a> {
    partners: &'a [SpeId],
    word: u32,
    sent: Vec<Time>,
}

impl<'a> Sender<'a> {
    fn new(partners: &'a [SpeId]) -> Self {
        Self {
            partners,
            word: 0,
            sent: Vec::new(),
        }
    }
}

impl<S: Spe> Work<S> for Sender<'_> {
    type Left = Vec<Time>;

    fn operate(&mut self, spe: &S) -> Result<(), SpeError> {
        for partner in self.partners {
            let alone = spe.now();
            while spe.now().since(alone) < SLEEP {
                spe.yield_now();
            }
            self.word = next(self.word);
            self.sent.push(spe.now());
            spe.write_in_mbox_of(*partner, self.word);
            check(*partner, self.word, spe.read_in_mbox())?;
        }
        Ok(())
    }

    fn finish(self, _: &S) -> Result<Vec<Time>, SpeError> {
        Ok(self.sent)
    }
}

/// The program of a partner: returns when it had each word, all of which it sends back.
fn sleep<S: Spe>(spe: &S, sender: Option<SpeId>) -> Vec<Time> {
    let mut woken = Vec::new();
    spe.write_out_mbox(Outbound::Plain, READY);
    loop {
        let word = spe.read_in_mbox();
        let now = spe.now();
        if word == STOP {
            return woken;
        }
        woken.push(now);
        match sender {
            None => spe.write_out_mbox(Outbound::Plain, word),
            Some(sender) => spe.write_in_mbox_of(sender, word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPES: [SpeId; 2] = [SpeId::new(3), SpeId::new(4)];

    fn at(ns: u128) -> Time {
        Time::from_femtoseconds(ns * 1_000_000)
    }

    #[test]
    fn each_partner_has_rounds_of_its_own_without_the_warm_up() {
        let sent = Sent {
            times: [100, 200, 300, 400, 500, 600, 700, 800].map(at).to_vec(),
            rounds: vec![1, 2],
        };
        let woken = [
            [199, 307, 509, 711].map(at).to_vec(),
            [299, 411, 613, 820].map(at).to_vec(),
        ];
        let rounds = pair(&sent, &woken, &SPES).unwrap();
        let seen: Vec<Vec<_>> = rounds
            .iter()
            .map(|rounds| {
                let seen = |one: &TimedLoop| (one.start, one.iterations, one.end.since(one.start));
                rounds.iter().map(seen).collect()
            })
            .collect();
        let ns = Span::from_nanoseconds;
        assert_eq!(
            seen,
            [
                vec![(at(300), 1, ns(7)), (at(500), 2, ns(20))],
                vec![(at(400), 1, ns(11)), (at(600), 2, ns(33))],
            ]
        );
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
