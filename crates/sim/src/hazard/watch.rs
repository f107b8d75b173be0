use std::ops::Range;

use cellworks_machine::mfc::{Direction, LsAddr, Order, Tag};
use cellworks_machine::{ProblemStateRegister, Processor, SpeId};

use super::blocks::Blocks;
use super::found::{FoundHazard, Hazard, HazardKind, Use};
use super::issue::{Issue, Issued};
use super::text::Text;
use super::transfer::{InFlight, Piece, Transfer};
use crate::issuer::Issuer;
use crate::time::Moment;

/// The maximum number of hazards that a run with [`HazardWatch::Warn`] reports.
pub const MAX_HAZARDS: usize = 100;

/// The reaction of a simulated machine to hazards, which are:
///
/// - transfers in flight that overlap, if one of them writes and no fence or barrier orders them,
/// - local store that is used, freed or allocated during a transfer to or from it,
/// - a word that is written to a full mailbox.
///
/// The detection takes no simulated time and does not change the result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HazardWatch {
    /// Does not detect hazards.
    Off,
    /// Collects hazards in [`Counters::hazards`](crate::Counters::hazards), one for each
    /// combination of kind, SPEs and commands.
    #[default]
    Warn,
    /// Ends the run at the first hazard, with the hazard as the error.
    Error,
}

/// The hazards of a run, and the transfers in flight that may become hazards.
#[derive(Debug)]
pub(crate) struct Hazards {
    watch: HazardWatch,
    /// The effective addresses of each local store.
    local_stores: Vec<Range<u64>>,
    pub(super) in_flight: Vec<Vec<InFlight>>,
    pub(super) blocks: Blocks,
    /// For each SPE, the issued commands of its program and of its proxy queue.
    issued: Vec<[Issued; 2]>,
    /// The kind of each hazard in `messages`.
    kinds: Vec<HazardKind>,
    messages: Vec<String>,
    seen: u64,
}

impl Hazards {
    pub fn new(watch: HazardWatch, local_stores: Vec<Range<u64>>) -> Self {
        Self {
            watch,
            issued: vec![<[Issued; 2]>::default(); local_stores.len()],
            in_flight: vec![Vec::new(); local_stores.len()],
            blocks: Blocks::new(),
            local_stores,
            kinds: Vec::new(),
            messages: Vec::new(),
            seen: 0,
        }
    }

    /// Records that a command with a transfer is issued. A typed transfer has no tag.
    #[inline]
    pub fn issue(&mut self, spe: SpeId, issuer: Issuer, tag: Option<Tag>, order: Order) -> Issue {
        self.issued[spe.index()][issuer as usize].issue(issuer, tag, order)
    }

    /// Records that `barrier` is issued to a queue: all later commands come after all earlier ones.
    pub fn order_all(&mut self, spe: SpeId, issuer: Issuer) {
        self.issued[spe.index()][issuer as usize].order_all();
    }

    /// Records that `mfcsync`, `mfceieio` or a storage-control command is issued to a queue: all
    /// later commands of the tag group come after all earlier ones.
    pub fn order_group(&mut self, spe: SpeId, issuer: Issuer, tag: Tag) {
        self.issued[spe.index()][issuer as usize].order_group(tag);
    }

    /// Records that a transfer or list element begins, with an `id` until [`end`](Self::end).
    /// Returns a hazard only with [`HazardWatch::Error`].
    ///
    /// A transfer is recorded when it is issued, even if its MFC starts it later. So two transfers
    /// are a hazard if the architecture permits that they overlap in time, even if they do not in
    /// this run. Atomic commands must not be recorded, because they may race.
    #[must_use = "a hazard ends the run"]
    pub fn begin(
        &mut self,
        now: Moment,
        spe: SpeId,
        id: u64,
        transfer: &Transfer,
    ) -> Option<Hazard> {
        if self.watch == HazardWatch::Off {
            return None;
        }
        let new = self.in_flight(now, spe, id, transfer);
        let may_conflict = self.blocks.add(new.local) | self.blocks.add(new.remote);
        let error = if may_conflict {
            self.compare(now, &new)
        } else {
            None
        };
        self.in_flight[spe.index()].push(new);
        error
    }

    fn compare(&mut self, now: Moment, new: &InFlight) -> Option<Hazard> {
        let mut error = None;
        for other in 0..self.in_flight.len() {
            for number in 0..self.in_flight[other].len() {
                if let Some(common) = new.conflict(&self.in_flight[other][number]) {
                    let old = self.in_flight[other][number];
                    let found = FoundHazard::Overlap {
                        new,
                        old: &old,
                        start: common.start,
                        end: common.end,
                    };
                    error = error.or_else(|| self.found(now, found));
                }
            }
        }
        error
    }

    pub fn end(&mut self, spe: SpeId, id: u64) {
        if self.watch == HazardWatch::Off {
            return;
        }
        let of_spe = &mut self.in_flight[spe.index()];
        let at = of_spe.iter().position(|transfer| transfer.id == id);
        let ended = of_spe.swap_remove(at.expect("a transfer ends once, after it began"));
        self.blocks.remove(ended.local);
        self.blocks.remove(ended.remote);
    }

    #[must_use = "a hazard ends the run"]
    pub fn local_access(
        &mut self,
        now: Moment,
        spe: SpeId,
        lsa: LsAddr,
        bytes: u32,
        is_write: bool,
    ) -> Option<Hazard> {
        let what = if is_write { Use::Write } else { Use::Read };
        self.local(now, what, spe, lsa, bytes)
    }

    #[must_use = "a hazard ends the run"]
    pub fn buffer_reserved(
        &mut self,
        now: Moment,
        spe: SpeId,
        lsa: LsAddr,
        bytes: u32,
    ) -> Option<Hazard> {
        self.local(now, Use::Reserve, spe, lsa, bytes)
    }

    #[must_use = "a hazard ends the run"]
    pub fn buffer_released(
        &mut self,
        now: Moment,
        spe: SpeId,
        lsa: LsAddr,
        bytes: u32,
    ) -> Option<Hazard> {
        self.local(now, Use::Release, spe, lsa, bytes)
    }

    /// Records the first attempt to write a word to a full inbound mailbox. On the hardware the
    /// word replaces the newest one (IBM's programming tutorial, "Mailboxes"), but here the writer
    /// waits.
    #[must_use = "a hazard ends the run"]
    pub fn mailbox_full(&mut self, now: Moment, from: Processor, to: SpeId) -> Option<Hazard> {
        match self.watch {
            HazardWatch::Off => None,
            HazardWatch::Warn | HazardWatch::Error => {
                self.found(now, FoundHazard::MailboxFull { from, to })
            }
        }
    }

    /// Returns the texts for [`Counters::hazards`](crate::Counters::hazards), and the number of all
    /// hazards for [`Counters::hazards_seen`](crate::Counters::hazards_seen).
    pub fn finish(self) -> (Vec<String>, u64) {
        (self.messages, self.seen)
    }

    fn local(
        &mut self,
        now: Moment,
        what: Use,
        spe: SpeId,
        lsa: LsAddr,
        bytes: u32,
    ) -> Option<Hazard> {
        let used = self.local_piece(spe, lsa, bytes, what != Use::Read);
        let mut in_flight = self.in_flight.iter().flatten().copied();
        let old = in_flight.find(|old| {
            used.conflict(old.local).is_some() || used.conflict(old.remote).is_some()
        })?;
        let found = FoundHazard::Local {
            what,
            spe,
            lsa,
            bytes,
            old: &old,
        };
        self.found(now, found)
    }

    fn in_flight(&self, now: Moment, spe: SpeId, id: u64, transfer: &Transfer) -> InFlight {
        let get = transfer.direction == Direction::Get;
        // A register accepts the words of two writers one after the other, so there is no conflict.
        let bytes_there = match ProblemStateRegister::at(transfer.ea) {
            Some(_) => 0,
            None => u64::from(transfer.bytes),
        };
        InFlight {
            spe,
            id,
            transfer: *transfer,
            issued_at: now,
            local: self.local_piece(spe, transfer.lsa, transfer.bytes, get),
            remote: Piece {
                start: transfer.ea.0,
                end: transfer.ea.0 + bytes_there,
                writes: !get,
            },
        }
    }

    fn local_piece(&self, spe: SpeId, lsa: LsAddr, bytes: u32, writes: bool) -> Piece {
        let start = self.local_stores[spe.index()].start + u64::from(lsa.0);
        let end = start + u64::from(bytes);
        Piece { start, end, writes }
    }

    #[cold]
    fn found(&mut self, now: Moment, found: FoundHazard<'_>) -> Option<Hazard> {
        self.seen += 1;
        let kind = found.kind();
        if self.watch == HazardWatch::Warn
            && (self.messages.len() == MAX_HAZARDS || self.kinds.contains(&kind))
        {
            return None;
        }
        let at = now;
        let text = Text::new(found, &self.local_stores);
        let message = format!("hazard at {at}: {text}");
        if self.watch == HazardWatch::Error {
            return Some(Hazard::new(message));
        }
        self.kinds.push(kind);
        self.messages.push(message);
        None
    }
}
