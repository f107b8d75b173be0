//! A common start of SPEs: each SPE sleeps until all SPEs have reported to the PPE.
//!
//! ```text
//!   PPE                                          each SPE
//!   spawns its program ────────────────────────► prepares its local store
//!   waits for all     ◄── outbound mailbox ───── reports the effective address of its data
//!   replies to each   ─── inbound mailbox ─────► reads the addresses that it needs
//! ```
//!
//! The SPEs do not poll. Polling until all programs have started would need more simulated events
//! than the experiment itself.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, CellSpe, Handle, Machine, Ppe, SpeId};

/// The address that an SPE reports if its preparation failed. No region has this address.
const NOWHERE: EffectiveAddress = EffectiveAddress(u64::MAX);

/// Reports to the PPE that this SPE is ready, with the address of its data.
pub fn report<S: CellSpe>(spe: &S, address: EffectiveAddress) {
    spe.write_out_mbox(Outbound::Plain, address.eah());
    spe.write_out_mbox(Outbound::Plain, address.eal());
}

/// Waits for an address from the PPE, and returns it.
pub fn address<S: CellSpe>(spe: &S) -> EffectiveAddress {
    let eah = spe.read_in_mbox();
    EffectiveAddress::from_halves(eah, spe.read_in_mbox())
}

/// Reports the address of the data that this SPE has prepared, or that the preparation failed.
///
/// # Errors
///
/// Returns the reason for which the preparation failed.
pub fn prepare<S: CellSpe, T, E: std::fmt::Display>(
    spe: &S,
    prepared: Result<T, E>,
    address_of: impl FnOnce(&T) -> EffectiveAddress,
) -> Result<T, String> {
    report(spe, prepared.as_ref().map_or(NOWHERE, address_of));
    prepared.map_err(failed)
}

/// Returns the addresses that the SPEs have reported, in the order of `spes`. Called by the PPE.
pub fn gather<M: CellMachine>(ppe: &Ppe<'_, '_, M>, spes: &[SpeId]) -> Vec<EffectiveAddress> {
    let report = |spe: &SpeId| {
        let eah = ppe.read_out_mbox(*spe, Outbound::Plain);
        EffectiveAddress::from_halves(eah, ppe.read_out_mbox(*spe, Outbound::Plain))
    };
    spes.iter().map(report).collect()
}

/// Sends an address from the PPE to an SPE.
pub fn send_address<M: CellMachine>(ppe: &Ppe<'_, '_, M>, spe: SpeId, address: EffectiveAddress) {
    ppe.write_in_mbox(spe, address.eah());
    ppe.write_in_mbox(spe, address.eal());
}

/// Waits until all programs have ended, and returns their results.
///
/// # Errors
///
/// Returns the error of the first program that failed.
pub fn join<R, M: CellMachine>(
    programs: Vec<Handle<'_, Result<R, String>, M>>,
) -> Result<Vec<R>, String> {
    programs
        .into_iter()
        .map(|program| {
            let spe = program.spe();
            match program.join() {
                Ok(result) => result.map_err(|why| format!("{spe}: {why}")),
                Err(panic) => std::panic::resume_unwind(panic.into_inner()),
            }
        })
        .collect()
}

/// Returns an error as text. The text is the reason why a run gave no result.
pub fn failed(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Checks that the machine has the needed number of SPEs.
///
/// # Errors
///
/// Returns an error if the machine has too few SPEs.
pub fn check_spes<M: Machine>(machine: &M, needed: usize) -> Result<(), String> {
    let has = machine.topology().spes().len();
    if needed <= has {
        return Ok(());
    }
    Err(format!(
        "it needs {needed} SPEs, and {} has {has}",
        machine.topology().name()
    ))
}
