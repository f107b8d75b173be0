//! Signal notification: two 32-bit registers in each SPE, which the PPE and other SPEs write.
//!
//! A read waits for a word, returns it and empties the register (channels 3 and 4). In overwrite
//! mode a new signal replaces an unread signal. In OR mode the register collects the bits of all
//! unread signals (CBEA sections 8.7 and 9.10; CellStats section 2.2).

use std::fmt;

/// One of an SPE's two signal registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignalRegister {
    /// SPU Signal Notification 1.
    One,
    /// SPU Signal Notification 2.
    Two,
}

impl SignalRegister {
    /// Returns 0 for the first register and 1 for the second.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for SignalRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "signal register {}", self.index() + 1)
    }
}

/// The effect of a signal on an earlier unread signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SignalMode {
    /// The new signal replaces the unread signal.
    #[default]
    Overwrite,
    /// The register combines the bits of both signals.
    Or,
}

impl SignalMode {
    /// Returns the word in the register after the signal `arriving`. `unread` is the old word.
    pub const fn combine(self, unread: Option<u32>, arriving: u32) -> u32 {
        match (self, unread) {
            (Self::Or, Some(unread)) => unread | arriving,
            _ => arriving,
        }
    }
}
