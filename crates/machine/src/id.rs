//! Identifiers of the parts of a machine, with a type for each kind of part.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $noun:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u16);

        impl $name {
            /// Returns the id with this number. The [`Topology`](crate::Topology) lists all ids.
            pub const fn new(index: u16) -> Self {
                Self(index)
            }

            /// Returns the number, counted from 0.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($noun, " {}"), self.0)
            }
        }
    };
}

id! {
    /// A Synergistic Processing Element: a core with its own local store.
    SpeId, "SPE"
}
id! {
    /// A group of nearby SPEs: a Cell chip, or the host's cores under one last-level cache.
    CellId, "Cell"
}
id! {
    /// A part of main memory: an XDRAM module of a Cell blade, or a NUMA node of the host.
    ModuleId, "memory module"
}

/// The PPE or an SPE, as the sender or receiver in a communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Processor {
    /// The Power Processor Element, which runs the main program.
    Ppe,
    /// An SPE.
    Spe(SpeId),
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ppe => f.write_str("the PPE"),
            Self::Spe(spe) => spe.fmt(f),
        }
    }
}

/// The number of a thread in its scope, from 0: see [`Spe::threads`](crate::Spe::threads).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub usize);
