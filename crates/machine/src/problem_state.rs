//! The problem-state areas: the main-memory addresses of SPEs' mailbox and signal registers.
//!
//! An SPE writes to another SPE's register by a `put` or `sndsig` of 4 bytes to the register's
//! effective address (CBEA pages 99 to 103; IBM's programming tutorial, "SPE to SPE").

use crate::id::SpeId;
use crate::mfc::EffectiveAddress;

const AREA_BYTES: u64 = 0x2_0000;

/// The first address of the areas, above the addresses of host processes and simulated memory.
const BASE: u64 = 1 << 63;

/// A register that other processors can write by DMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemStateRegister {
    /// The inbound mailbox.
    InMbox,
    /// Signal register 1.
    SigNotify1,
    /// Signal register 2.
    SigNotify2,
}

impl ProblemStateRegister {
    const fn offset(self) -> u64 {
        match self {
            Self::InMbox => 0x0_400c,
            Self::SigNotify1 => 0x1_400c,
            Self::SigNotify2 => 0x1_c00c,
        }
    }

    /// Returns the effective address of the register in `spe`. A word to send must be at offset 12
    /// of a quadword of the local store, to match the low four bits of this address.
    ///
    /// ```
    /// use cellworks_machine::{ProblemStateRegister, SpeId};
    /// let ea = ProblemStateRegister::InMbox.of(SpeId::new(2));
    /// assert_eq!(ProblemStateRegister::at(ea), Some((SpeId::new(2), ProblemStateRegister::InMbox)));
    /// ```
    pub const fn of(self, spe: SpeId) -> EffectiveAddress {
        EffectiveAddress(BASE + spe.index() as u64 * AREA_BYTES + self.offset())
    }

    /// Returns the SPE and register at this address, or `None` if no register has this address.
    pub fn at(ea: EffectiveAddress) -> Option<(SpeId, Self)> {
        let within = ea.0.checked_sub(BASE)?;
        let spe = SpeId::new(u16::try_from(within / AREA_BYTES).ok()?);
        [Self::InMbox, Self::SigNotify1, Self::SigNotify2]
            .into_iter()
            .find(|register| register.offset() == within % AREA_BYTES)
            .map(|register| (spe, register))
    }
}
