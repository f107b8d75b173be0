use cellworks_machine::{Processor, SpeId};

/// The issuer of an MFC command, which decides the queue of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Issuer {
    /// The program of the SPE, which uses the SPU queue.
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
