//! The all-to-one barriers of the paper CellStats, section 5.2.
//!
//! ```text
//!   one root                        one root in each Cell
//!   SPE 1 ..15 ──► SPE 0            SPE 1 ..7 ──► SPE 0 ◄──► SPE 8 ◄── SPE 9 ..15
//!   SPE 1 ..15 ◄── SPE 0            SPE 1 ..7 ◄── SPE 0      SPE 8 ──► SPE 9 ..15
//! ```
//!
//! SPEs form groups, each with a root SPE. Each member of a group sends its own bit to signal
//! register 1 of the root, and waits for a signal of the root. Roots send each other bits in
//! register 2. Bits of the next barrier may arrive early, so consecutive barriers use different
//! halves of register 2.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::{LsAddr, RawCommand, Tag};
use cellworks_machine::{
    CellId, CellMachine, CellSpe, LocalBuffer, Machine, Mfc, OnCell, ProblemStateRegister,
    SignalMode, SignalRegister, Span, SpeId, Topology,
};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError};
use crate::figure::{Figure, against, axis};
use crate::gang::check_spes;
use crate::picture::Draw;
use crate::{Conclusion, Done, Metric, Parts, Program, Quantity, Repeats, RunResult};

/// Measures a barrier in which SPEs send signals to one root, or to a root in each Cell, as in
/// section 5.2 of CellStats.
///
/// No SPE leaves a barrier before all have come to it. Some barriers run before the timed ones. In
/// these barriers each SPE checks that all others have come.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// How many SPEs meet, from SPE 0 on: 2 to 32, because each has a bit of a signal.
    #[arg(long, default_value = "2")]
    pub spes: usize,

    /// Which SPEs gather the signals.
    #[arg(long, value_enum, default_value = "one,each-cell")]
    pub roots: Roots,

    /// How many barriers are timed.
    #[arg(long)]
    pub barriers: u64,
}

/// Which SPEs gather the signals of a barrier.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Roots {
    /// SPE 0: the naive form
    One,
    /// the first SPE of each Cell: the form in two levels
    EachCell,
}

const TIME: Metric = Metric::new("barrier", "ns");
const GAIN: Metric = Metric::new("gain", "times");

/// The largest number of SPEs. Each SPE has a bit of a signal register.
const SPES_MAX: usize = 32;

/// The largest number of roots, because each root has a bit in each half of a signal register.
const ROOTS_MAX: usize = 16;

const TAG: Tag = Tag::of::<0>();

/// The number of checked barriers before the timed barriers.
const CHECKED: u32 = 4;

impl Program for Barrier {
    const NAME: &'static str = "barrier";
    const EXAMPLE: &'static str = "--roots one,each-cell --spes 2";
    const EXAMPLE_ON_ONE_SPE: Option<&'static str> =
        Some("--roots one,each-cell --spes 2 --machine qs20");
    const METRICS: &'static [Metric] = &[TIME];
    const PARTS: Parts = Parts::None(
        "its SPEs send each other only signals, and it says itself which SPE is a root",
    );
    const REPEATS: Option<Repeats> = Some(Repeats {
        parameter: "barriers",
        on_this_computer: "10k",
        // A few barriers are enough, because all barriers take the same time.
        simulated: "32",
    });

    fn title(&self) -> String {
        let roots = match self.roots {
            Roots::One => "one root",
            Roots::EachCell => "a root in each Cell",
        };
        format!("barrier, {roots}, {} SPEs", self.spes)
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        check_spes(self.spes, topology)?;
        if !(2..=SPES_MAX).contains(&self.spes) {
            return Err(ParameterError::Refused {
                parameter: "spes",
                why: format!(
                    "a barrier takes 2 to {SPES_MAX} SPEs, because each has a bit of a signal, and not {}",
                    self.spes
                ),
            });
        }
        let spes = topology.spes().take(self.spes);
        let cells: BTreeSet<CellId> = spes.map(|spe| topology.cell_of(spe)).collect();
        if self.roots == Roots::EachCell && cells.len() > ROOTS_MAX {
            return Err(ParameterError::Refused {
                parameter: "spes",
                why: format!(
                    "{} SPEs are in {} Cells and have a root in each, but a barrier takes up to {ROOTS_MAX} roots, because each has two \
                     bits of a signal; use fewer SPEs, or one root",
                    self.spes,
                    cells.len()
                ),
            });
        }
        if self.barriers == 0 {
            return Err(ParameterError::Zero {
                parameter: "barriers",
                noun: "barriers",
            });
        }
        Ok(())
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, _: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let no_cell = || ProgramError::NoCell {
            machine: machine.topology().name().to_owned(),
            what: "signals",
        };
        machine.on_cell(self).ok_or_else(no_cell)?
    }

    /// Returns the gain of each run with a root in each Cell over the same run with one root.
    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        let of_one = |each: &Done<Self>| {
            let one = Self {
                roots: Roots::One,
                ..each.program
            };
            let one = done.iter().find(|other| other.program == one)?;
            Some(one.value(TIME.name)? / each.value(TIME.name)?)
        };
        done.iter()
            .filter(|one| one.program.roots == Roots::EachCell)
            .filter_map(|each| {
                Some(Conclusion {
                    quantity: GAIN.measured(of_one(each)?),
                    parameters: each.program.parameters(),
                })
            })
            .collect()
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Time of a barrier", TIME, axis)
    }
}

impl<M: Machine> OnCell<M> for &Barrier {
    type Output = Result<Vec<Quantity>, ProgramError>;

    fn run(self, machine: &M) -> Self::Output
    where
        M: CellMachine,
    {
        let spes: Vec<SpeId> = machine.topology().spes().take(self.spes).collect();
        // The number of barriers that each SPE has reached.
        let come: Vec<AtomicU32> = spes.iter().map(|_| AtomicU32::new(0)).collect();
        let (come, barriers) = (&come, self.barriers);
        let span = machine.run(|ppe| -> Result<Span, ProgramError> {
            let programs: Vec<_> = spes
                .iter()
                .map(|spe| {
                    ppe.set_signal_mode(*spe, SignalRegister::One, SignalMode::Or);
                    ppe.set_signal_mode(*spe, SignalRegister::Two, SignalMode::Or);
                    let role = Role::of(*spe, self.roots, &spes, ppe.topology());
                    ppe.spawn(*spe, move |spe| role.run(spe, barriers, come))
                })
                .collect();
            // Wait until all programs have started, so that no barrier includes their start.
            for spe in &spes {
                ppe.read_out_mbox(*spe, Outbound::Plain);
            }
            for spe in &spes {
                ppe.write_in_mbox(*spe, 0);
            }
            let mut spans = Vec::with_capacity(programs.len());
            for program in programs {
                match program.join() {
                    Ok(span) => spans.push(span?),
                    Err(panic) => std::panic::resume_unwind(panic.into_inner()),
                }
            }
            Ok(spans[0])
        })??;
        Ok(vec![TIME.measured(
            span.as_nanoseconds_f64() / self.barriers as f64,
        )])
    }
}

#[derive(Clone, Debug)]
struct Role {
    root: SpeId,
    /// The bit that this SPE sends to its root. A root sends its bit to the members of its group.
    bit: u32,
    /// The other members of the group, if this SPE is a root.
    members: Vec<SpeId>,
    /// The bit for the other roots, if this SPE is a root: 16 places higher in every second
    /// barrier.
    bit_of_root: u32,
    /// The other roots, if this SPE is a root.
    peers: Vec<SpeId>,
    bits_of_peers: u32,
}

#[derive(Default)]
struct Memory {
    is_odd: bool,
    /// The bits that other roots have already sent for the next barrier.
    early: u32,
}

impl Role {
    fn of(spe: SpeId, roots: Roots, spes: &[SpeId], topology: &Topology) -> Self {
        let group = |spe: SpeId| match roots {
            Roots::EachCell => topology.cell_of(spe),
            Roots::One => CellId::new(0),
        };
        let root_of = |spe: SpeId| {
            let mut of_group = spes.iter().filter(|other| group(**other) == group(spe));
            *of_group.next().expect("each SPE is of its own group")
        };
        let root = root_of(spe);
        let all_roots = spes.iter().copied().filter(|spe| root_of(*spe) == *spe);
        let bits_of_roots = (0..).map(|place| 1 << place);
        let bits: Vec<(SpeId, u32)> = all_roots.zip(bits_of_roots).collect();
        let mut role = Self {
            root,
            bit: 1 << spe.index(),
            members: Vec::new(),
            bit_of_root: 0,
            peers: Vec::new(),
            bits_of_peers: 0,
        };
        if root == spe {
            let members = spes.iter().filter(|other| root_of(**other) == spe);
            role.members = members.copied().filter(|other| *other != spe).collect();
            for (other, bit) in bits {
                if other == spe {
                    role.bit_of_root = bit;
                } else {
                    role.peers.push(other);
                    role.bits_of_peers |= bit;
                }
            }
        }
        role
    }

    fn run<S: CellSpe>(
        &self,
        spe: &S,
        barriers: u64,
        come: &[AtomicU32],
    ) -> Result<Span, ProgramError> {
        spe.write_out_mbox(Outbound::Plain, 0);
        spe.read_in_mbox();
        let word = spe.local_store().reserve(16, 16, "the word of a signal")?;
        let signals = Signals { spe, word };
        let mut memory = Memory::default();
        let mut early = Ok(());
        for barrier in 1..=CHECKED {
            come[spe.id().index()].store(barrier, Ordering::Release);
            self.barrier(&signals, &mut memory);
            early = early.and_then(|()| all_have_come(spe.id(), barrier, come));
        }
        let begin = spe.now();
        for _ in 0..barriers {
            self.barrier(&signals, &mut memory);
        }
        let span = spe.now().since(begin);
        early.map(|()| span)
    }

    fn barrier<S: CellSpe>(&self, signals: &Signals<'_, S>, memory: &mut Memory) {
        let spe = signals.spe;
        if spe.id() != self.root {
            signals.send(self.root, SignalRegister::One, self.bit);
            spe.read_signal(SignalRegister::One);
            return;
        }
        let members = self.members.iter();
        let mut missing = members.fold(0, |bits, member| bits | 1 << member.index());
        while missing != 0 {
            missing &= !spe.read_signal(SignalRegister::One);
        }
        self.meet_peers(signals, memory);
        for member in &self.members {
            signals.send(*member, SignalRegister::One, self.bit);
        }
    }

    /// Sends this root's bit to all other roots, and waits for the bits of all other roots.
    fn meet_peers<S: CellSpe>(&self, signals: &Signals<'_, S>, memory: &mut Memory) {
        let shift = if memory.is_odd { ROOTS_MAX } else { 0 };
        memory.is_odd = !memory.is_odd;
        for peer in &self.peers {
            signals.send(*peer, SignalRegister::Two, self.bit_of_root << shift);
        }
        let expected = self.bits_of_peers << shift;
        while memory.early & expected != expected {
            memory.early |= signals.spe.read_signal(SignalRegister::Two);
        }
        memory.early &= !expected;
    }
}

/// A sender of signals, like `write_signal1` in IBM's "Programming the Cell Broadband Engine
/// Architecture: Examples and Best Practices". All signals are sent from `word`.
struct Signals<'a, S: CellSpe> {
    spe: &'a S,
    word: LocalBuffer,
}

impl<S: CellSpe> Signals<'_, S> {
    fn send(&self, to: SpeId, register: SignalRegister, bits: u32) {
        // The DMA command needs a word that has the same offset in its quadword as the register.
        let word = LsAddr(self.word.address().0 + 12);
        self.spe.local_store().write_word(word, bits);
        let register = match register {
            SignalRegister::One => ProblemStateRegister::SigNotify1,
            SignalRegister::Two => ProblemStateRegister::SigNotify2,
        };
        let command = RawCommand::sndsig(word, register.of(to), TAG);
        let sent = self.spe.mfc().issue(command);
        sent.expect("a register of an SPE of this machine");
        self.spe.mfc().wait_all(TAG.mask());
    }
}

/// Checks that all SPEs have reached the barrier that `spe` has left.
fn all_have_come(spe: SpeId, barrier: u32, come: &[AtomicU32]) -> Result<(), ProgramError> {
    let mut others = come.iter().enumerate();
    let late = others.find_map(|(other, come)| {
        let come = come.load(Ordering::Acquire);
        (come < barrier).then_some((other, come))
    });
    late.map_or(Ok(()), |(other, come)| {
        Err(ProgramError::Differs {
            what: format!(
                "the number of barriers that SPE {other} had come to when {spe} left one"
            ),
            found: come.to_string(),
            expected: barrier.to_string(),
            by: "or more by what a barrier is",
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_spe_that_leaves_early_is_named_with_those_that_it_left_behind() {
        let come = [2, 3, 1].map(AtomicU32::new);
        assert!(all_have_come(SpeId::new(1), 1, &come).is_ok());
        let error = all_have_come(SpeId::new(1), 2, &come)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(
                "the result is wrong: the number of barriers that SPE 2 had come to when SPE 1 left one is 1, and 2 or \
                 more by what a barrier is;"
            ),
            "{error}"
        );
    }
}
