//! The issuer of a command of an MFC.

use cellworks_machine::{Processor, SpeId};

/// The issuer of a command of an MFC, which decides in which of the MFC's queues the command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Issuer {
    /// The program of the MFC's own SPE.
    Spu,
    /// The PPE, in the proxy queue.
    Ppe,
}

impl Issuer {
    /// The processor that issued a command to the MFC of this SPE.
    pub fn processor(self, spe: SpeId) -> Processor {
        match self {
            Self::Spu => Processor::Spe(spe),
            Self::Ppe => Processor::Ppe,
        }
    }
}
