//! The SPEs that work, and the start gate that the PPE opens for them.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{Handle, Machine, Ppe, Span, Spe};

use super::{ControlBlock, receive};
use crate::error::{MeasureError, SpeError};
use crate::request::{Pace, Timed};
use crate::sample::{Known, TimedLoop};

/// In the outbound mailbox: the SPE has its control block and waits for what comes next.
pub(super) const READY: u32 = 1;
/// In the outbound mailbox: the SPE's program has failed, and its result says why.
pub(super) const FAILED: u32 = u32::MAX;
/// In the inbound mailbox, in place of a number of iterations: there are no more.
const END: u32 = 0;

/// How long a warm-up lasts of which nobody said how long it should be.
const WARM_UP: Span = Span::from_nanoseconds(10_000_000);

/// The fewest iterations when a time and not a number was asked for.
const ITERATIONS_MIN: u128 = 5;

/// The operation that an SPE repeats.
pub(super) trait Work<S: Spe> {
    /// What is left when all loops are done, for the PPE to verify.
    type Left: Send;

    /// Does the operation once.
    fn operate(&mut self, spe: &S) -> Result<(), SpeError>;

    /// Verifies what the SPE can see itself.
    fn finish(self, spe: &S) -> Result<Self::Left, SpeError>;
}

/// What the program of an SPE returns: its last loop, and what its work left.
pub(super) type WorkResult<L> = Result<(TimedLoop, L), SpeError>;

/// The program of an SPE that works: timed loops, as the PPE asks for them.
pub(super) fn work<S: Spe, W: Work<S>>(
    spe: &S,
    control_block: EffectiveAddress,
    set_up: impl FnOnce(&S, ControlBlock) -> Result<W, SpeError>,
) -> WorkResult<W::Left> {
    // Whoever fails says so, or the PPE would wait for its report for ever.
    let or_report = |failure| {
        spe.write_out_mbox(Outbound::Plain, FAILED);
        failure
    };
    let mut work = receive(spe, control_block)
        .and_then(|block| set_up(spe, block))
        .map_err(or_report)?;
    let mut known = Known::about(|| spe.now());
    let mut last = TimedLoop::default();
    spe.write_out_mbox(Outbound::Plain, READY);
    loop {
        match spe.read_in_mbox() {
            END => return Ok((last, work.finish(spe)?)),
            iterations => {
                last = known
                    .timed_loop(iterations, || spe.now(), || work.operate(spe))
                    .map_err(or_report)?;
                spe.write_out_mbox(Outbound::Plain, microseconds(last.elapsed()));
            }
        }
    }
}

/// The microseconds of a span, rounded up, as a mailbox word that is not [`FAILED`]: enough for 71
/// minutes, and fine enough for pacing, where a warm-up is milliseconds long.
fn microseconds(span: Span) -> u32 {
    let us = span.as_femtoseconds().div_ceil(1_000_000_000);
    u32::try_from(us).map_or(FAILED - 1, |us| us.min(FAILED - 1))
}

/// The SPEs that work, seen from the PPE.
pub(super) struct Crew<'scope, 'env, M: Machine, L> {
    ppe: &'scope Ppe<'scope, 'env, M>,
    members: Vec<Member<'scope, M, L>>,
}

struct Member<'scope, M: Machine, L> {
    handle: Handle<'scope, WorkResult<L>, M>,
    failed: bool,
}

/// Some SPE has failed; [`Crew::dismiss`] says which, and why.
#[derive(Debug)]
pub(super) struct Stopped;

impl<'scope, 'env, M: Machine, L> Crew<'scope, 'env, M, L> {
    /// Waits until every program has its control block, or has failed.
    pub fn gather(
        ppe: &'scope Ppe<'scope, 'env, M>,
        programs: Vec<Handle<'scope, WorkResult<L>, M>>,
    ) -> Self {
        let members = programs
            .into_iter()
            .map(|handle| {
                let failed = ppe.read_out_mbox(handle.spe(), Outbound::Plain) == FAILED;
                Member { handle, failed }
            })
            .collect();
        Self { ppe, members }
    }

    /// Has each SPE do a loop, and returns how long the longest took.
    pub fn round(&mut self, iterations: u32) -> Result<Span, Stopped> {
        if self.members.iter().any(|member| member.failed) {
            return Err(Stopped);
        }
        for member in &self.members {
            self.ppe.write_in_mbox(member.handle.spe(), iterations);
        }
        let mut longest_us = 0;
        for member in &mut self.members {
            let word = self.ppe.read_out_mbox(member.handle.spe(), Outbound::Plain);
            member.failed = word == FAILED;
            longest_us = longest_us.max(word);
        }
        if longest_us == FAILED {
            return Err(Stopped);
        }
        Ok(Span::from_nanoseconds(u64::from(longest_us) * 1_000))
    }

    /// Ends the programs, and returns the last loop of each and what its work left.
    pub fn dismiss(self) -> Result<Vec<(TimedLoop, L)>, MeasureError> {
        for member in self.members.iter().filter(|member| !member.failed) {
            self.ppe.write_in_mbox(member.handle.spe(), END);
        }
        // All are joined, also after one that failed.
        let results: Vec<_> = self
            .members
            .into_iter()
            .map(|member| join(member.handle))
            .collect();
        results.into_iter().collect()
    }
}

/// Waits for a program; its panic goes on here.
pub(super) fn join<T, M: Machine>(
    handle: Handle<'_, Result<T, SpeError>, M>,
) -> Result<T, MeasureError> {
    let spe = handle.spe();
    match handle.join() {
        Ok(result) => result.map_err(|source| MeasureError::OnSpe { spe, source }),
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// Warms up, and then runs the round that counts.
pub(super) fn conduct<E>(
    pace: Pace,
    mut round: impl FnMut(u32) -> Result<Span, E>,
) -> Result<(), E> {
    let mut warm_up = |iterations: u32| {
        let took = round(iterations)?;
        Ok((took, took.as_femtoseconds() / u128::from(iterations)))
    };
    let iteration_fs = match pace.warm_up {
        Some(0) => None,
        Some(iterations) => Some(warm_up(iterations)?.1),
        None => {
            let mut iterations = 1_u32;
            loop {
                let (took, each) = warm_up(iterations)?;
                // The first round is cold, and says nothing about the others: an OS thread may
                // have to be started for it.
                if took >= WARM_UP && iterations > 1 {
                    break Some(each);
                }
                iterations = iterations.saturating_mul(4);
            }
        }
    };
    let iterations = match pace.timed {
        Timed::Exactly(iterations) => iterations,
        Timed::Within(span) => {
            let each = match iteration_fs {
                Some(each) => each,
                None => warm_up(1)?.1,
            };
            let fitting = span.as_femtoseconds() / each.max(1);
            u32::try_from(fitting.max(ITERATIONS_MIN)).unwrap_or(u32::MAX)
        }
    };
    round(iterations)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_of_minutes_are_reported_and_short_ones_are_not_0() {
        let second = 1_000_000_000;
        for (ns, us) in [
            (0, 0),
            (1, 1),
            (1_001, 2),
            (10 * second, 10_000_000),
            (3_600 * second, 3_600_000_000),
            (u64::MAX, FAILED - 1),
        ] {
            assert_eq!(microseconds(Span::from_nanoseconds(ns)), us, "{ns} ns");
        }
    }
}
