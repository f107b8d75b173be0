//! Local-store addresses and effective addresses.

use std::fmt;
use std::ops::Add;

use super::limits::LOCK_LINE_BYTES;

/// A byte address in one SPE's local store, never in main memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LsAddr(pub u32);

impl fmt::Display for LsAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The address of a byte of main memory, or of an SPE's mapped local store or registers. A sum of
/// 2^64 or more is an integer overflow, which panics if overflow checks are enabled and otherwise
/// wraps around. The range of a [`Command`](super::Command) never overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectiveAddress(pub u64);

impl EffectiveAddress {
    /// Returns the address with these halves, as in the channels `MFC_EAH` and `MFC_EAL`.
    pub const fn from_halves(eah: u32, eal: u32) -> EffectiveAddress {
        EffectiveAddress((eah as u64) << 32 | eal as u64)
    }

    /// Returns the upper 32 bits, which are the same within a 4 GiB area.
    pub const fn eah(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the lower 32 bits.
    pub const fn eal(self) -> u32 {
        self.0 as u32
    }

    /// Returns the address of the lock line, rounded down to a multiple of 128 bytes.
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
