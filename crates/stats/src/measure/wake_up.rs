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
use crate::sample::TimedLoop;

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
                let _ = conduct(plan.pace, |iterations| crew.round(iterations));
                crew.dismiss().map(|mut results| {
                    let (timed, sent) = results.swap_remove(0);
                    Sent {
                        times: sent,
                        iterations: timed.iterations,
                    }
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

/// When words were sent, in turn to each partner, and how many iterations of that count: the last.
struct Sent {
    times: Vec<Time>,
    iterations: u32,
}

/// The loop of each partner, from the iterations that count.
fn pair(sent: &Sent, woken: &[Vec<Time>], partners: &[SpeId]) -> Result<Vec<TimedLoop>, Untrusted> {
    let one_loop = |(position, partner): (usize, &SpeId)| {
        let sent_to = sent.times[position..].iter().step_by(partners.len());
        let warm_up = woken[position].len() - sent.iterations as usize;
        let counted = sent_to.zip(&woken[position]).skip(warm_up);
        let start = counted
            .clone()
            .next()
            .map_or(Time::default(), |(sent, _)| *sent);
        let samples = counted
            .map(|(sent, woken)| one_way(*partner, *sent, *woken))
            .collect::<Result<_, _>>()?;
        Ok(TimedLoop::of_samples(start, samples))
    };
    partners.iter().enumerate().map(one_loop).collect()
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
        iterations: 0,
    };
    let mut word = 0;
    conduct(plan.pace, |iterations| {
        let start = ppe.now();
        for partner in (0..iterations).flat_map(|_| partners) {
            let alone = ppe.now();
            while ppe.now().since(alone) < SLEEP {
                // The partner may have to share the PPE's CPU until it sleeps.
                std::thread::yield_now();
            }
            word = next(word);
            sent.times.push(ppe.now());
            ppe.write_in_mbox(*partner, word);
            check(*partner, word, ppe.read_out_mbox(*partner, Outbound::Plain))?;
        }
        sent.iterations = iterations;
        Ok::<_, Untrusted>(ppe.now().since(start))
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
    fn each_partner_has_a_loop_of_its_own_without_the_warm_up() {
        let sent = Sent {
            times: [100, 200, 300, 400, 500, 600].map(at).to_vec(),
            iterations: 2,
        };
        let woken = [
            [199, 307, 509].map(at).to_vec(),
            [299, 411, 613].map(at).to_vec(),
        ];
        let loops = pair(&sent, &woken, &SPES).unwrap();
        let seen: Vec<_> = loops
            .iter()
            .map(|one| (one.start, one.iterations, one.elapsed()))
            .collect();
        let ns = Span::from_nanoseconds;
        assert_eq!(seen, [(at(300), 2, ns(16)), (at(400), 2, ns(24))]);
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
