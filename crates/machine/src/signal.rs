//! Signal notification: two 32-bit registers in each SPE that collect what others send.
//!
//! A read takes the word and empties the register; a read of an empty register waits (channels 3
//! and 4). In overwrite mode a second signal replaces the first; in OR mode the bits add up, so
//! that many senders share one register (CBEA sections 8.7 and 9.10; CellStats section 2.2).

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
    /// 0 for the first register, 1 for the second.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for SignalRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "signal register {}", self.index() + 1)
    }
}

/// What a signal does to one that was not read yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SignalMode {
    /// It replaces it.
    #[default]
    Overwrite,
    /// Its bits are added to it.
    Or,
}

impl SignalMode {
    /// What the register holds after `arriving` meets `unread`, the word that was there, if any.
    pub const fn combine(self, unread: Option<u32>, arriving: u32) -> u32 {
        match (self, unread) {
            (Self::Or, Some(unread)) => unread | arriving,
            _ => arriving,
        }
    }
}
