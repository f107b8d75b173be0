//! A common start of SPEs: each SPE sleeps until the PPE has heard from all of them.
//!
//! ```text
//!   PPE                                          each SPE
//!   spawns its program ────────────────────────► prepares its local store
//!   waits for all     ◄── outbound mailbox ───── two words: an effective address
//!   tells each        ─── inbound mailbox ─────► how many words it asked for
//! ```
//!
//! An SPE that polled until the last one was there would cost more simulated events than the
//! experiment: starting a program takes milliseconds.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, CellSpe, Handle, Machine, Ppe, SpeId};

/// The address that an SPE reports when it failed to prepare. No region of a machine has this
/// address.
const NOWHERE: EffectiveAddress = EffectiveAddress(u64::MAX);

/// The SPE's side: says that it is ready, and where others find what they need of it.
pub fn report<S: CellSpe>(spe: &S, address: EffectiveAddress) {
    spe.write_out_mbox(Outbound::Plain, address.eah());
    spe.write_out_mbox(Outbound::Plain, address.eal());
}

/// The SPE's side: waits for an address.
pub fn address<S: CellSpe>(spe: &S) -> EffectiveAddress {
    let eah = spe.read_in_mbox();
    EffectiveAddress::from_halves(eah, spe.read_in_mbox())
}

/// The SPE's side, for a program that has to prepare first: reports where what it prepared is, or
/// that there is nothing.
///
/// # Errors
///
/// Why it could not prepare.
pub fn prepare<S: CellSpe, T, E: std::fmt::Display>(
    spe: &S,
    prepared: Result<T, E>,
    address_of: impl FnOnce(&T) -> EffectiveAddress,
) -> Result<T, String> {
    report(spe, prepared.as_ref().map_or(NOWHERE, address_of));
    prepared.map_err(failed)
}

/// The PPE's side: what each SPE reported, in the order of `spes`.
pub fn gather<M: CellMachine>(ppe: &Ppe<'_, '_, M>, spes: &[SpeId]) -> Vec<EffectiveAddress> {
    let report = |spe: &SpeId| {
        let eah = ppe.read_out_mbox(*spe, Outbound::Plain);
        EffectiveAddress::from_halves(eah, ppe.read_out_mbox(*spe, Outbound::Plain))
    };
    spes.iter().map(report).collect()
}

/// The PPE's side: tells an SPE an address.
pub fn send_address<M: CellMachine>(ppe: &Ppe<'_, '_, M>, spe: SpeId, address: EffectiveAddress) {
    ppe.write_in_mbox(spe, address.eah());
    ppe.write_in_mbox(spe, address.eal());
}

/// The PPE's side: the results of all programs.
///
/// # Errors
///
/// Why the first program that failed did.
pub fn join<R, M: CellMachine>(
    programs: Vec<Handle<'_, Result<R, String>, M>>,
) -> Result<Vec<R>, String> {
    programs
        .into_iter()
        .map(|program| {
            let spe = program.spe();
            match program.join() {
                Ok(result) => result.map_err(|why| format!("{spe}: {why}")),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
        .collect()
}

/// Why a run of a machine gave no number.
pub fn failed(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Checks that the machine has as many SPEs as are needed.
///
/// # Errors
///
/// That it has too few.
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
