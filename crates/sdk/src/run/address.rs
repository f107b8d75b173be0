//! Addresses: from those of a C program, which have 32 bits, to those of the machine.

use std::sync::{PoisonError, RwLock};

use cellworks_machine::mfc::{EffectiveAddress, MfcFault, Opcode, RawCommand};
use cellworks_machine::{ProblemStateRegister, SpeId};

use super::memory::PAGE_BYTES;

/// What a range of the PPU's addresses shows instead of main memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shown {
    /// A local store, at this address of the machine.
    LocalStore(EffectiveAddress),
    /// The registers of an SPE that others may use.
    ProblemState(SpeId),
    /// Nothing: no SPE has the context whose registers are shown there.
    Nothing,
}

struct Window {
    at: u32,
    bytes: u32,
    shown: Shown,
}

/// The bytes of an SPE's problem-state area (CBEA s.8, Problem State Memory-Mapped Registers).
pub(super) const PROBLEM_STATE_BYTES: u32 = 2 * PAGE_BYTES as u32;

/// The addresses of a run.
pub(crate) struct Addresses {
    /// Where the PPU's memory begins on the machine: a multiple of 4 GiB.
    base: EffectiveAddress,
    windows: RwLock<Vec<Window>>,
}

/// The bytes at the start of the PPU's memory that DMA must not use, so that a null pointer is
/// found.
const NULL_BYTES: u64 = 1_024;

impl Addresses {
    pub(super) fn new(base: EffectiveAddress) -> Self {
        Self {
            base,
            windows: RwLock::default(),
        }
    }

    /// Makes `bytes` bytes at `at` show something else than main memory.
    pub(super) fn show(&self, at: u32, bytes: u32, shown: Shown) {
        let mut windows = self.windows.write().unwrap_or_else(PoisonError::into_inner);
        windows.retain(|window| window.at != at);
        windows.push(Window { at, bytes, shown });
    }

    /// Ends what [`show`](Self::show) has begun at `at`.
    pub(super) fn hide(&self, at: u32) {
        let mut windows = self.windows.write().unwrap_or_else(PoisonError::into_inner);
        windows.retain(|window| window.at != at);
    }

    /// Returns the machine's address of the program's address `ea`. An address that the program
    /// does not have becomes one that the machine does not have.
    pub(super) fn translate(&self, ea: u64) -> EffectiveAddress {
        let Ok(at) = u32::try_from(ea) else {
            return EffectiveAddress(NOWHERE | ea & (NOWHERE - 1));
        };
        if ea < NULL_BYTES {
            return EffectiveAddress(NOWHERE | ea);
        }
        let windows = self.windows.read().unwrap_or_else(PoisonError::into_inner);
        let window = windows
            .iter()
            .find(|window| at.wrapping_sub(window.at) < window.bytes);
        let Some(window) = window else {
            return EffectiveAddress(self.base.0 + ea);
        };
        let within = u64::from(at - window.at);
        match window.shown {
            Shown::Nothing => EffectiveAddress(NOWHERE | ea),
            Shown::LocalStore(local_store) => EffectiveAddress(local_store.0 + within),
            Shown::ProblemState(spe) => {
                let first = ProblemStateRegister::InMbox.of(spe).0 & !0x1_ffff;
                EffectiveAddress(first + within)
            }
        }
    }

    /// Returns the address of a list command: the area of the elements, and the list's own address
    /// in the local store.
    fn of_list(&self, ea: u64) -> EffectiveAddress {
        match ea >> 32 {
            0 => EffectiveAddress(self.base.0 | ea),
            _ => EffectiveAddress(NOWHERE | ea & 0xffff_ffff),
        }
    }

    /// Returns a command with the machine's address.
    pub(super) fn of_command(&self, command: RawCommand) -> RawCommand {
        let is_list = Opcode::from_number(command.opcode as u16).is_some_and(Opcode::is_list);
        let ea = match is_list {
            true => self.of_list(command.ea),
            false => self.translate(command.ea),
        };
        RawCommand {
            ea: ea.0,
            ..command
        }
    }

    /// Returns the fault with the program's own address.
    pub(super) fn in_program(&self, fault: MfcFault) -> MfcFault {
        let own = |ea: EffectiveAddress| match ea.0.checked_sub(self.base.0) {
            Some(within) if within < 1 << 32 => EffectiveAddress(within),
            _ if ea.0 & NOWHERE == NOWHERE => EffectiveAddress(ea.0 & !NOWHERE),
            _ => ea,
        };
        match fault {
            MfcFault::DataSegment { operation, ea } => MfcFault::DataSegment {
                operation,
                ea: own(ea),
            },
            MfcFault::DataStorage { operation, ea } => MfcFault::DataStorage {
                operation,
                ea: own(ea),
            },
            MfcFault::ListCrosses4GiB { operation, ea } => MfcFault::ListCrosses4GiB {
                operation,
                ea: own(ea),
            },
            other => other,
        }
    }
}

/// The high bits of addresses that no machine has.
const NOWHERE: u64 = 1 << 61;
