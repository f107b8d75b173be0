//! Transfers in flight, and their ranges of effective addresses.

use std::ops::Range;

use cellworks_machine::mfc::{Direction, EffectiveAddress, LsAddr};
use cellworks_machine::{Processor, SpeId};

use super::issue::Issue;
use crate::issuer::Issuer;
use crate::time::Moment;

/// A transfer of a command or of a list element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub name: &'static str,
    pub direction: Direction,
    pub lsa: LsAddr,
    pub ea: EffectiveAddress,
    pub bytes: u32,
    pub issue: Issue,
}

/// A transfer in flight, with all data for comparisons.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub spe: SpeId,
    pub id: u64,
    pub transfer: Transfer,
    pub issued_at: Moment,
    pub local: Piece,
    pub remote: Piece,
}

/// A range of effective addresses that a transfer reads or writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub start: u64,
    pub end: u64,
    pub writes: bool,
}

impl Piece {
    /// Returns the overlap of two ranges, or `None` if neither is written.
    #[inline]
    pub fn conflict(self, other: Self) -> Option<Range<u64>> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (start < end && (self.writes || other.writes)).then_some(start..end)
    }
}

impl InFlight {
    pub fn issuer(&self) -> Issuer {
        self.transfer.issue.issuer
    }

    pub fn processor(&self) -> Processor {
        self.issuer().processor(self.spe)
    }

    /// Returns the overlap that makes this transfer and the earlier transfer `old` a hazard.
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
