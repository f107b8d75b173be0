//! The all-to-one barriers of CellStats section 5.2.
//!
//! ```text
//!   one root                        one root in each Cell
//!   SPE 1 ..15 ──► SPE 0            SPE 1 ..7 ──► SPE 0 ◄──► SPE 8 ◄── SPE 9 ..15
//!   SPE 1 ..15 ◄── SPE 0            SPE 1 ..7 ◄── SPE 0      SPE 8 ──► SPE 9 ..15
//! ```
//!
//! Members of a group send their bit to signal register 1 of their root, which adds bits up; roots send
//! each other a signal in register 2.

use cellworks_machine::{CellId, Machine, SignalMode, SignalRegister, Spe, SpeId};
use serde::Deserialize;

use super::gather::{gather, join, report};
use super::{Outcome, check_spes, failed};
use cellworks_machine::mfc::EffectiveAddress;

/// A barrier of SPEs by signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// How many SPEs, from SPE 0 on; at most 32, because each has a bit of a signal.
    pub spes: u16,
    /// Who gathers: SPE 0, or the first SPE of each Cell.
    pub root_per_cell: bool,
}

/// Barriers before those that are timed, and timed barriers.
const WARM_UP: u32 = 4;
const TIMED: u32 = 32;

/// What an SPE does in a barrier.
#[derive(Clone, Debug)]
struct Role {
    root: SpeId,
    /// Those of whom a root gathers, without itself.
    members: Vec<SpeId>,
    /// The other roots, if it is one.
    peers: Vec<SpeId>,
    bit: u32,
}

impl Barrier {
    pub(super) fn run<M: Machine>(&self, machine: &M) -> Result<Outcome, String> {
        let topology = machine.topology();
        check_spes(machine, usize::from(self.spes))?;
        if !(2..=32).contains(&self.spes) {
            return Err(format!(
                "a barrier of {} SPEs: it takes 2 to 32, because each has a bit of a signal",
                self.spes
            ));
        }
        let spes: Vec<SpeId> = topology.spes().take(usize::from(self.spes)).collect();
        let group = |spe: SpeId| match self.root_per_cell {
            true => topology.cell_of(spe),
            false => CellId::new(0),
        };
        let root_of = |spe| {
            *spes
                .iter()
                .find(|root| group(**root) == group(spe))
                .expect("itself")
        };
        let mut roots: Vec<SpeId> = spes.iter().map(|spe| root_of(*spe)).collect();
        roots.dedup();
        let others = |of: &[SpeId], spe| of.iter().copied().filter(|other| *other != spe).collect();
        let role = |spe: SpeId| Role {
            root: root_of(spe),
            members: spes
                .iter()
                .copied()
                .filter(|m| root_of(*m) == spe && *m != spe)
                .collect(),
            peers: others(&roots, spe),
            bit: 1 << spe.index(),
        };
        machine
            .run(|ppe| {
                let programs: Vec<_> = spes
                    .iter()
                    .map(|spe| {
                        ppe.set_signal_mode(*spe, SignalRegister::One, SignalMode::Or);
                        ppe.set_signal_mode(*spe, SignalRegister::Two, SignalMode::Or);
                        let role = role(*spe);
                        ppe.spawn(*spe, move |spe| role.run(spe))
                    })
                    .collect();
                gather(ppe, &spes);
                spes.iter().for_each(|spe| ppe.write_in_mbox(*spe, 1));
                let ns = join(programs)?;
                Ok(Outcome::time(ns[0]))
            })
            .map_err(failed)?
    }
}

impl Role {
    /// The time of one barrier in nanoseconds.
    fn run<S: Spe>(&self, spe: &S) -> Result<f64, String> {
        report(spe, EffectiveAddress(0));
        spe.read_in_mbox();
        for _ in 0..WARM_UP {
            self.barrier(spe);
        }
        let begin = spe.now();
        for _ in 0..TIMED {
            self.barrier(spe);
        }
        Ok(spe.now().since(begin).as_nanoseconds_f64() / f64::from(TIMED))
    }

    fn barrier<S: Spe>(&self, spe: &S) {
        if spe.id() != self.root {
            spe.send_signal(self.root, SignalRegister::One, self.bit);
            spe.read_signal(SignalRegister::One);
            return;
        }
        self.wait_for(spe, &self.members, SignalRegister::One);
        for peer in &self.peers {
            spe.send_signal(*peer, SignalRegister::Two, self.bit);
        }
        self.wait_for(spe, &self.peers, SignalRegister::Two);
        for member in &self.members {
            spe.send_signal(*member, SignalRegister::One, self.bit);
        }
    }

    /// Waits until all of `senders` have sent their bits.
    fn wait_for<S: Spe>(&self, spe: &S, senders: &[SpeId], register: SignalRegister) {
        let mut missing = senders
            .iter()
            .fold(0, |bits, sender| bits | 1 << sender.index());
        while missing != 0 {
            missing &= !spe.read_signal(register);
        }
    }
}
