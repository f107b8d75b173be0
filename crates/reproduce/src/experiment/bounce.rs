//! A cache line that two SPEs change in turn (cellmark, section 3.5).

use cellworks_apps::exchange::gather::{gather, join, report};
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, CellSpe, Mfc, ModuleId, SpeId};
use serde::Deserialize;

use super::outcome::{SimulationResults, check_spes, failed};

/// Two SPEs that change a cache line in turn. The result is the time between two changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounce {
    /// The two SPEs.
    pub between: [u16; 2],
}

/// The number of changes by each SPE before the timed changes.
const WARM_UP: u32 = 8;
const TIMED: u32 = 64;

impl Bounce {
    pub(super) fn run<M: CellMachine>(&self, machine: &M) -> Result<SimulationResults, String> {
        let spes = self.between.map(SpeId::new);
        check_spes(
            machine,
            1 + usize::from(self.between[0].max(self.between[1])),
        )?;
        let line = machine.allocate(ModuleId::new(0), 128).map_err(failed)?;
        let ea = line.at(0);
        machine
            .run(|ppe| {
                let programs = [0, 1]
                    .map(|turn| ppe.spawn(spes[turn], move |spe| change(spe, ea, turn as u32)));
                gather(ppe, &spes);
                spes.iter().for_each(|spe| ppe.write_in_mbox(*spe, 1));
                let ns = join(programs.into())?;
                Ok(SimulationResults::time(ns[0]))
            })
            .map_err(failed)?
    }
}

/// Increments the number in the cache line at `ea` whenever this number modulo 2 is `turn`. Returns
/// the nanoseconds between two changes.
fn change<S: CellSpe>(spe: &S, ea: EffectiveAddress, turn: u32) -> Result<f64, String> {
    let buffer = spe.local_store().reserve(128, 128, "the line");
    report(spe, EffectiveAddress(0));
    spe.read_in_mbox();
    let at = buffer.map_err(failed)?;
    let at = at.address();
    let mut begin = spe.now();
    for number in 0..WARM_UP + TIMED {
        if number == WARM_UP {
            begin = spe.now();
        }
        loop {
            spe.mfc().getllar(at, ea).map_err(failed)?;
            let word = spe.local_store().read_word(at);
            if word % 2 != turn {
                spe.yield_now();
                continue;
            }
            spe.local_store().write_word(at, word + 1);
            if spe.mfc().putllc(at, ea).map_err(failed)? {
                break;
            }
        }
    }
    let changes = f64::from(2 * TIMED);
    Ok(spe.now().since(begin).as_nanoseconds_f64() / changes)
}
