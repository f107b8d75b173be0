//! Transfers in flight, and the bytes that they touch.

use std::ops::Range;

use cellworks_machine::mfc::{Direction, EffectiveAddress, LsAddr};
use cellworks_machine::{Processor, SpeId};

use super::issue::Issue;
use crate::issuer::Issuer;
use crate::time::Moment;

/// A transfer, or an element of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// The name of its command, such as `getf`.
    pub name: &'static str,
    pub direction: Direction,
    pub lsa: LsAddr,
    pub ea: EffectiveAddress,
    pub bytes: u32,
    /// The issue of its command.
    pub issue: Issue,
}

/// A transfer with all that is needed to compare it.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub spe: SpeId,
    pub id: u64,
    pub transfer: Transfer,
    pub issued_at: Moment,
    pub local: Piece,
    pub remote: Piece,
}

/// Bytes that are read or written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub start: u64,
    pub end: u64,
    pub writes: bool,
}

impl Piece {
    /// The bytes in common, if at least one of the two writes.
    #[inline]
    pub fn conflict(self, other: Self) -> Option<Range<u64>> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (start < end && (self.writes || other.writes)).then_some(start..end)
    }
}

impl InFlight {
    /// The processor that fills the queue of the command.
    pub fn issuer(&self) -> Issuer {
        self.transfer.issue.issuer
    }

    /// The processor that has issued it.
    pub fn processor(&self) -> Processor {
        self.issuer().processor(self.spe)
    }

    /// The bytes over which a new transfer and one that was in flight before are a hazard.
    pub fn conflict(&self, old: &Self) -> Option<Range<u64>> {
        let common = self
            .local
            .conflict(old.local)
            .or_else(|| self.remote.conflict(old.remote))
            .or_else(|| self.local.conflict(old.remote))
            .or_else(|| self.remote.conflict(old.local))?;
        let is_ordered =
            self.spe == old.spe && self.transfer.issue.is_ordered_with(&old.transfer.issue);
        (!is_ordered).then_some(common)
    }
}
