//! Identifiers of the parts of a machine, with a type for each kind of part.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $noun:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
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
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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
            Self::Spe(spe) => fmt::Display::fmt(spe, f),
        }
    }
}

impl fmt::Debug for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of a thread in its scope, from 0: see [`Spe::threads`](crate::Spe::threads).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_machine_read_the_same_for_people_and_in_failures() {
        let spe = SpeId::new(3);
        assert_eq!(format!("{spe} {spe:?}"), "SPE 3 SPE 3");
        assert_eq!(format!("{:?}", [CellId::new(0)]), "[Cell 0]");
        assert_eq!(format!("{:?}", ModuleId::new(1)), "memory module 1");
        let processors = [Processor::Ppe, Processor::Spe(spe)];
        assert_eq!(format!("{processors:?}"), "[the PPE, SPE 3]");
    }
}
