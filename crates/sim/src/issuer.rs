use cellworks_machine::{Processor, SpeId};

/// The issuer of a command to an MFC. The issuer decides which queue of the MFC the command enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Issuer {
    /// The program of the MFC's own SPE, which uses the queue of the SPU.
    Spu,
    /// The PPE, which uses the proxy queue.
    Ppe,
}

impl Issuer {
    pub fn processor(self, spe: SpeId) -> Processor {
        match self {
            Self::Spu => Processor::Spe(spe),
            Self::Ppe => Processor::Ppe,
        }
    }
}
