//! Local-store addresses and effective addresses.

use std::fmt;
use std::ops::Add;

use super::limits::LOCK_LINE_BYTES;

/// A byte address in one SPE's local store; never an address of main memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LsAddr(pub u32);

impl fmt::Display for LsAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A byte address in the effective address space, which holds main memory and every SPE's local
/// store and registers. The sum `address + bytes` panics past 2^64 as integer addition does. The
/// range of a checked [`Command`](super::Command) never passes 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectiveAddress(pub u64);

impl EffectiveAddress {
    /// Returns the address with these halves, as in the channels `MFC_EAH` and `MFC_EAL`.
    pub const fn from_halves(eah: u32, eal: u32) -> EffectiveAddress {
        EffectiveAddress((eah as u64) << 32 | eal as u64)
    }

    /// The upper 32 bits, which name the 4 GiB area of the address.
    pub const fn eah(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The lower 32 bits.
    pub const fn eal(self) -> u32 {
        self.0 as u32
    }

    /// The lock line that holds this address: the address rounded down to 128 bytes.
    pub const fn lock_line(self) -> EffectiveAddress {
        EffectiveAddress(self.0 & !(LOCK_LINE_BYTES as u64 - 1))
    }
}

impl Add<u64> for EffectiveAddress {
    type Output = EffectiveAddress;
    fn add(self, bytes: u64) -> EffectiveAddress {
        EffectiveAddress(self.0 + bytes)
    }
}

impl fmt::Display for EffectiveAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
