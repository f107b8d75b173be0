//! The hazards that were found, and their texts.

use cellworks_machine::mfc::LsAddr;
use cellworks_machine::{Processor, SpeId};

use super::transfer::InFlight;
use crate::issuer::Issuer;

/// The text of a hazard: the processor, the time, the addresses, and advice.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Hazard(String);

cellworks_machine::debug_by_display!(Hazard);

impl Hazard {
    pub(super) fn new(message: String) -> Self {
        Self(message)
    }
}

/// A hazard that was found, before its text is made.
#[derive(Clone, Copy)]
pub(super) enum FoundHazard<'a> {
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

/// The use of local store during a transfer to or from the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
    Reserve,
    Release,
}

/// The kind of a hazard, with its SPEs and commands. One hazard of each kind is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HazardKind {
    Overlap([(SpeId, Issuer, &'static str); 2]),
    Local(Use, SpeId, Issuer, &'static str),
    MailboxFull(Processor, SpeId),
}

impl FoundHazard<'_> {
    pub fn kind(self) -> HazardKind {
        match self {
            FoundHazard::Overlap { new, old, .. } => HazardKind::Overlap(
                [new, old].map(|one| (one.spe, one.issuer(), one.transfer.name)),
            ),
            FoundHazard::Local { what, spe, old, .. } => {
                HazardKind::Local(what, spe, old.issuer(), old.transfer.name)
            }
            FoundHazard::MailboxFull { from, to } => HazardKind::MailboxFull(from, to),
        }
    }
}
