//! What is wrong: a hazard before it is put into words, and after.

use cellworks_machine::mfc::LsAddr;
use cellworks_machine::{Processor, SpeId};

use super::transfer::InFlight;
use crate::issuer::Issuer;

/// A hazard that a program ran into. Printed, it says which processor, when, with which addresses,
/// and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Hazard(String);

impl Hazard {
    /// A hazard in these words.
    pub(super) fn new(message: String) -> Self {
        Self(message)
    }
}

/// What is wrong, still without a text.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    Overlap {
        new: &'a InFlight,
        old: &'a InFlight,
        start: u64,
        end: u64,
    },
    Local {
        what: Use,
        spe: SpeId,
        lsa: LsAddr,
        bytes: u32,
        old: &'a InFlight,
    },
    MailboxFull {
        from: Processor,
        to: SpeId,
    },
}

/// What happens to local store while a transfer is in flight there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
    Reserve,
    Release,
}

/// Hazards of the same kind are told once: what happened, and which SPEs and commands took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Overlap([(SpeId, Issuer, &'static str); 2]),
    Local(Use, SpeId, Issuer, &'static str),
    MailboxFull(Processor, SpeId),
}

impl Found<'_> {
    /// What makes it different from others.
    pub fn kind(self) -> Kind {
        match self {
            Found::Overlap { new, old, .. } => {
                Kind::Overlap([new, old].map(|one| (one.spe, one.issuer(), one.transfer.name)))
            }
            Found::Local { what, spe, old, .. } => {
                Kind::Local(what, spe, old.issuer(), old.transfer.name)
            }
            Found::MailboxFull { from, to } => Kind::MailboxFull(from, to),
        }
    }
}
