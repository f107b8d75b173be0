//! A watch for what the raw level allows and a program cannot mean: what happens then depends on how fast
//! things are.
//!
//! ```text
//!   local store of SPE 0                      main memory
//!   ┌──────────────┐  get, tag 3, in flight   ┌──────────────┐
//!   │      ▓▓▓▓▓▓▓▓│◄─────────────────────────│▓▓▓▓▓▓▓▓      │
//!   │  ░░░░▓▓      │──────────────────────────►      ░░░░░░  │
//!   └──────────────┘  put, issued now          └──────────────┘
//!          └┴─ which bytes are put: hazard
//! ```
//!
//! A transfer touches bytes in two places: in the local store of its SPE and at its effective address.
//! Local stores have effective addresses too, so both are compared by those. Two transfers in flight at
//! once are a hazard if they have bytes in common in any of the places, at least one of them writes
//! there, and nothing orders them.
//!
//! Commands of one queue are ordered as the architecture has it (CBEA section 7.9), and the watch follows
//! that by itself: [`Hazards::issue`] is told the tag and the [`Order`] of each command when it is issued,
//! and gives an [`Issue`] for all of its transfers. It holds the command's number in the order of issue and
//! those of the last barriers before it: a command comes after another if one of these is the other or
//! comes behind it, or if it has a fence or a barrier itself and the same tag. The transfers may begin when
//! their command is issued, or later, as the elements of a list do. Commands of different SPEs are never
//! ordered, nor are those of an SPE's program and of the PPE in the proxy queue of that SPE: a program has to see that
//! one is complete before it lets the other begin.
//!
//! What is kept is as much as commands are in flight, and at most [`MAX_HAZARDS`] messages.

use std::fmt;
use std::ops::Range;

use cellworks_machine::mfc::{Direction, EffectiveAddress, LsAddr, Order, Tag};
use cellworks_machine::{ProblemStateRegister, Processor, SpeId};

use crate::mfc::Issuer;
use crate::time::Moment;

/// How many different hazards a run with [`HazardWatch::Warn`] tells of.
pub const MAX_HAZARDS: usize = 100;

/// What a simulated machine does about hazards: transfers in flight that overlap, one of them writing,
/// without fence or barrier; local store that is used, given back or handed out while a transfer to or
/// from it is in flight; a message written to a full mailbox.
///
/// Watching takes no simulated time and changes no result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HazardWatch {
    /// Nothing.
    Off,
    /// Collects them in [`Counters::hazards`](crate::Counters::hazards): the first of each kind and
    /// place, which is a pair of SPEs and the names of their commands.
    #[default]
    Warn,
    /// Ends the run with the first one as its error.
    Error,
}

/// A hazard that a program ran into. Printed, it says who, when, with which addresses, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Hazard(String);

/// A transfer, or an element of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Such as `getf`.
    pub name: &'static str,
    pub direction: Direction,
    pub lsa: LsAddr,
    pub ea: EffectiveAddress,
    pub bytes: u32,
    /// That of its command.
    pub issue: Issue,
}

/// When a command was issued, and what it comes after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issue {
    issuer: Issuer,
    tag: Option<Tag>,
    /// Counted from 1 among the commands of its queue.
    number: u64,
    /// Whether it comes after everything before it in its tag group.
    comes_after_group: bool,
    /// The numbers of the last barriers before it: of its tag group and of the whole queue. 0 where there
    /// is none.
    group_barrier: u64,
    queue_barrier: u64,
}

impl Issue {
    /// Whether the architecture orders two commands of one MFC.
    fn is_ordered_with(&self, other: &Self) -> bool {
        let (first, second) = match self.number < other.number {
            true => (self, other),
            false => (other, self),
        };
        let same_group = first.tag.is_some() && first.tag == second.tag;
        let after_first = |number: u64| number >= first.number;
        // The elements of one list have one number, and are not ordered with each other.
        first.issuer == second.issuer
            && first.number != second.number
            && (after_first(second.queue_barrier)
                || same_group && (second.comes_after_group || after_first(second.group_barrier)))
    }
}

/// The watch over all transfers of a machine.
#[derive(Debug)]
pub(crate) struct Hazards {
    watch: HazardWatch,
    /// By SPE: the effective addresses of its local store.
    local_stores: Vec<Range<u64>>,
    /// By SPE.
    in_flight: Vec<Vec<InFlight>>,
    blocks: Blocks,
    /// By SPE: what its program has issued, and the PPE in its proxy queue.
    issued: Vec<[Issued; 2]>,
    /// What makes the hazards in `messages` different.
    kinds: Vec<Kind>,
    messages: Vec<String>,
    seen: u64,
}

/// What was issued in one queue.
#[derive(Clone, Copy, Debug)]
struct Issued {
    /// How many commands.
    commands: u64,
    /// The number of the last barrier of the whole queue, or 0.
    queue_barrier: u64,
    /// The same for each tag group.
    group_barriers: [u64; Tag::COUNT as usize],
}

/// A transfer with what is needed to compare it.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    spe: SpeId,
    id: u64,
    transfer: Transfer,
    issued_at: Moment,
    local: Piece,
    remote: Piece,
}

/// Bytes that somebody reads or writes.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    writes: bool,
}

impl Piece {
    /// The bytes in common, where one of the two writes.
    #[inline]
    fn conflict(self, other: Self) -> Option<Range<u64>> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (start < end && (self.writes || other.writes)).then_some(start..end)
    }
}

/// How many pieces in flight touch each block of 1 KB, where blocks share 4,096 counts: two pieces that
/// have bytes in common have a count in common. That spares nearly every transfer a comparison with all
/// others (measured: 0.2 us with 64 in flight).
#[derive(Debug)]
struct Blocks {
    counts: Box<[u32]>,
}

impl Blocks {
    const BLOCK_BITS: u32 = 10;
    const COUNT_BITS: u32 = 12;

    fn new() -> Self {
        Self {
            counts: vec![0; 1 << Self::COUNT_BITS].into(),
        }
    }

    /// Adds a piece, and says whether it may have bytes in common with one that is there.
    #[inline]
    fn add(&mut self, piece: Piece) -> bool {
        let mut shared = 0;
        for at in Self::counts_of(piece) {
            shared |= self.counts[at];
            self.counts[at] += 1;
        }
        shared != 0
    }

    #[inline]
    fn remove(&mut self, piece: Piece) {
        for at in Self::counts_of(piece) {
            self.counts[at] -= 1;
        }
    }

    #[inline]
    fn counts_of(piece: Piece) -> impl Iterator<Item = usize> {
        let blocks = piece.start >> Self::BLOCK_BITS..piece.end.div_ceil(1 << Self::BLOCK_BITS);
        // The upper bits of a product depend on all bits of the block's number.
        let mixed = |block: u64| block.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        blocks.map(move |block| (mixed(block) >> (u64::BITS - Self::COUNT_BITS)) as usize)
    }
}

/// What is wrong, still without a text.
#[derive(Clone, Copy)]
enum Found<'a> {
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
enum Use {
    Read,
    Write,
    Reserve,
    Release,
}

/// Hazards of the same kind are told once: what happened, and which SPEs and commands took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Overlap([(SpeId, Issuer, &'static str); 2]),
    Local(Use, SpeId, Issuer, &'static str),
    MailboxFull(Processor, SpeId),
}

impl Hazards {
    /// A watch of a machine whose local stores have these effective addresses, by SPE.
    pub fn new(watch: HazardWatch, local_stores: Vec<Range<u64>>) -> Self {
        let nothing = Issued {
            commands: 0,
            queue_barrier: 0,
            group_barriers: [0; Tag::COUNT as usize],
        };
        Self {
            watch,
            issued: vec![[nothing; 2]; local_stores.len()],
            in_flight: vec![Vec::new(); local_stores.len()],
            blocks: Blocks::new(),
            local_stores,
            kinds: Vec::new(),
            messages: Vec::new(),
            seen: 0,
        }
    }

    /// A command that transfers is issued to the MFC of an SPE, with its tag, or none for a typed transfer, whose
    /// view is waited for.
    #[inline]
    pub fn issue(&mut self, spe: SpeId, issuer: Issuer, tag: Option<Tag>, order: Order) -> Issue {
        let issued = &mut self.issued[spe.index()][issuer as usize];
        issued.commands += 1;
        let mut issue = Issue {
            issuer,
            tag,
            number: issued.commands,
            comes_after_group: order != Order::None,
            group_barrier: 0,
            queue_barrier: issued.queue_barrier,
        };
        if let Some(tag) = tag {
            let last = &mut issued.group_barriers[tag.number() as usize];
            issue.group_barrier = *last;
            if order == Order::Barrier {
                *last = issue.number;
            }
        }
        issue
    }

    /// `barrier` is issued to the MFC of an SPE: all later commands of that queue come after all earlier ones.
    pub fn order_all(&mut self, spe: SpeId, issuer: Issuer) {
        let issued = &mut self.issued[spe.index()][issuer as usize];
        issued.commands += 1;
        issued.queue_barrier = issued.commands;
    }

    /// `mfcsync`, `mfceieio` or a command of storage control is issued to the MFC of an SPE: all later commands of
    /// that queue's tag group come after all earlier ones.
    pub fn order_group(&mut self, spe: SpeId, issuer: Issuer, tag: Tag) {
        let issued = &mut self.issued[spe.index()][issuer as usize];
        issued.commands += 1;
        issued.group_barriers[tag.number() as usize] = issued.commands;
    }

    /// A transfer or an element of a list begins; `id` names it among those of its SPE until
    /// [`end`](Self::end). To see every order that the architecture allows, and not only the one that this
    /// machine chose, a transfer begins when its command is issued. A write to a register of an SPE only reads local store. Atomic commands are
    /// not to be told: they are made to meet.
    ///
    /// Like all that follow, it returns a hazard only where hazards are errors.
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

    /// Compares a transfer with all that are in flight.
    fn compare(&mut self, now: Moment, new: &InFlight) -> Option<Hazard> {
        let mut error = None;
        for other in 0..self.in_flight.len() {
            for number in 0..self.in_flight[other].len() {
                if let Some(common) = new.conflict(&self.in_flight[other][number]) {
                    let old = self.in_flight[other][number];
                    let found = Found::Overlap {
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

    /// The transfer is complete.
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

    /// The program of an SPE reads or writes its local store.
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

    /// A buffer in local store was handed out.
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

    /// A buffer in local store was given back.
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

    /// A word is written to the inbound mailbox of an SPE, which is full: told once of each put and of each
    /// element of a list, however often it tries. The hardware lets it replace the newest word there (IBM's
    /// programming tutorial, "Mailboxes"); `machine` makes the writer wait.
    #[must_use = "a hazard ends the run"]
    pub fn mailbox_full(&mut self, now: Moment, from: Processor, to: SpeId) -> Option<Hazard> {
        match self.watch {
            HazardWatch::Off => None,
            HazardWatch::Warn | HazardWatch::Error => {
                self.found(now, Found::MailboxFull { from, to })
            }
        }
    }

    /// What was collected: for [`Counters::hazards`](crate::Counters::hazards) and
    /// [`Counters::hazards_seen`](crate::Counters::hazards_seen).
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
        let found = Found::Local {
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
        // Registers take every word that is written to them.
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
    fn found(&mut self, now: Moment, found: Found<'_>) -> Option<Hazard> {
        self.seen += 1;
        let kind = found.kind();
        if self.watch == HazardWatch::Warn
            && (self.messages.len() == MAX_HAZARDS || self.kinds.contains(&kind))
        {
            return None;
        }
        let at = now;
        let text = Text {
            found,
            local_stores: &self.local_stores,
        };
        let message = format!("hazard at {at}: {text}");
        if self.watch == HazardWatch::Error {
            return Some(Hazard(message));
        }
        self.kinds.push(kind);
        self.messages.push(message);
        None
    }
}

impl InFlight {
    fn issuer(&self) -> Issuer {
        self.transfer.issue.issuer
    }

    /// Who has issued it.
    fn processor(&self) -> Processor {
        self.issuer().processor(self.spe)
    }

    /// How its issuer waits for it.
    fn wait(&self) -> String {
        match (self.transfer.issue.tag, self.issuer()) {
            (Some(tag), Issuer::Spu) => format!("wait for tag group {tag}"),
            (Some(tag), Issuer::Ppe) => {
                format!(
                    "wait for tag group {tag} of the proxy queue of {}",
                    self.spe
                )
            }
            (None, _) => "wait for its view".to_owned(),
        }
    }

    /// The bytes over which a new transfer and one that was in flight before are a hazard.
    fn conflict(&self, old: &Self) -> Option<Range<u64>> {
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

impl Found<'_> {
    fn kind(self) -> Kind {
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

impl fmt::Display for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Transfer {
            name,
            bytes,
            lsa,
            ea,
            ..
        } = self.transfer;
        if self.issuer() == Issuer::Ppe {
            f.write_str("proxy ")?;
        }
        write!(
            f,
            "{name} of {bytes} bytes (local store {lsa}, effective address {ea}"
        )?;
        match self.transfer.issue.tag {
            Some(tag) => write!(f, ", tag {tag})"),
            None => f.write_str(", typed)"),
        }
    }
}

/// A hazard in words.
struct Text<'a> {
    found: Found<'a>,
    local_stores: &'a [Range<u64>],
}

impl Text<'_> {
    /// Where bytes with these effective addresses are.
    fn place(&self, start: u64, end: u64) -> String {
        let mut stores = self.local_stores.iter().enumerate();
        match stores.find(|(_, store)| store.contains(&start)) {
            Some((spe, store)) => {
                let base = store.start;
                format!(
                    "local store {:#x} to {:#x} of SPE {spe}",
                    start - base,
                    end - 1 - base
                )
            }
            None => format!("effective addresses {start:#x} to {:#x}", end - 1),
        }
    }
}

/// How a processor is told that it may go on.
fn may_begin_by(processor: Processor) -> &'static str {
    match processor {
        Processor::Ppe => "a mailbox",
        Processor::Spe(_) => "a mailbox or a signal",
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Found::Overlap {
                new,
                old,
                start,
                end,
            } => {
                let since = old.issued_at;
                let (who, other) = (new.processor(), old.processor());
                let whose = match who == other {
                    true => "its own".to_owned(),
                    false => format!("{other}'s"),
                };
                write!(
                    f,
                    "{who} issued {new} while {whose} {old}, issued at {since}, is in flight; both touch {}, \
                     at least one writes there, and nothing orders them: ",
                    self.place(start, end),
                )?;
                let wait = old.wait();
                if who != other {
                    let by = may_begin_by(who);
                    return write!(
                        f,
                        "let {other} {wait} and then tell {who} by {by} that it may begin"
                    );
                }
                if new.spe != old.spe {
                    return write!(f, "{wait} before");
                }
                let name = new.transfer.name;
                let (new, old) = (&new.transfer.issue, &old.transfer.issue);
                match (new.tag, old.tag) {
                    _ if new.number == old.number => {
                        write!(
                            f,
                            "they belong to one list; make two of it, the second with a fence \
                             ({name}f)"
                        )
                    }
                    (Some(one), Some(other)) if one == other => {
                        write!(f, "order them with a fence ({name}f), or {wait} before")
                    }
                    (Some(_), Some(other)) if new.comes_after_group => write!(
                        f,
                        "a fence or barrier orders one tag group, so issue the {name} in tag group \
                         {other}, or {wait} before"
                    ),
                    (Some(_), Some(other)) => write!(
                        f,
                        "order them with a fence ({name}f) in tag group {other}, or {wait} before"
                    ),
                    (None, _) | (_, None) => write!(f, "{wait} before"),
                }
            }
            Found::Local {
                what,
                spe,
                lsa,
                bytes,
                old,
            } => {
                let last = lsa.0 + bytes.max(1) - 1;
                let did = match what {
                    Use::Read => "read",
                    Use::Write => "wrote to",
                    Use::Reserve => "was handed out a buffer at",
                    Use::Release => "gave back the buffer at",
                };
                let since = old.issued_at;
                let other = old.processor();
                let is_own = other == Processor::Spe(spe);
                let whose = match is_own {
                    true => "its".to_owned(),
                    false => format!("{other}'s"),
                };
                let wait = old.wait();
                write!(
                    f,
                    "{spe} {did} local store {lsa} to {last:#x} while {whose} {old}, issued at {since}, \
                     is in flight over it: "
                )?;
                match (is_own, what) {
                    (true, Use::Read | Use::Write) => write!(f, "{wait} before"),
                    (true, Use::Reserve | Use::Release) => {
                        write!(f, "{wait} before the buffer is given back")
                    }
                    (false, _) => write!(
                        f,
                        "let {other} {wait} and then tell {spe} by a mailbox or a signal"
                    ),
                }
            }
            Found::MailboxFull { from, to } => write!(
                f,
                "{from} wrote to the inbound mailbox of {to}, which was full; a Cell loses the newest \
                 word there: let {to} answer before more words are sent than its mailbox holds"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE_BYTES: u64 = 0x4_0000;
    const TAG_3: Option<Tag> = Tag::new(3);
    const TAG_4: Option<Tag> = Tag::new(4);
    /// Main memory, away from all local stores.
    const MEMORY: u64 = 0x10_0000_0000;

    /// Local stores of four SPEs, one after the other.
    fn watch(watch: HazardWatch) -> Hazards {
        let store = |spe: u64| spe * STORE_BYTES..(spe + 1) * STORE_BYTES;
        Hazards::new(watch, (1..=4).map(store).collect())
    }

    /// A point in microseconds after the start of the run.
    fn us(microseconds: u64) -> Moment {
        Moment::from_femtoseconds(microseconds * 1_000_000_000)
    }

    fn spe(index: u16) -> SpeId {
        SpeId::new(index)
    }

    /// What a program issues: a command that is one transfer.
    #[derive(Clone, Copy)]
    struct Command {
        name: &'static str,
        direction: Direction,
        lsa: u32,
        ea: u64,
        bytes: u32,
        tag: Option<Tag>,
        order: Order,
    }

    fn get(lsa: u32, ea: u64, bytes: u32) -> Command {
        Command {
            name: "get",
            direction: Direction::Get,
            lsa,
            ea,
            bytes,
            tag: TAG_3,
            order: Order::None,
        }
    }

    fn put(lsa: u32, ea: u64, bytes: u32) -> Command {
        Command {
            name: "put",
            direction: Direction::Put,
            ..get(lsa, ea, bytes)
        }
    }

    impl Command {
        fn with(self, issue: Issue) -> Transfer {
            Transfer {
                name: self.name,
                direction: self.direction,
                lsa: LsAddr(self.lsa),
                ea: EffectiveAddress(self.ea),
                bytes: self.bytes,
                issue,
            }
        }
    }

    impl Hazards {
        /// Issues a command whose transfer begins at once.
        fn transfer(
            &mut self,
            now: Moment,
            spe: SpeId,
            id: u64,
            command: &Command,
        ) -> Option<Hazard> {
            let issue = self.issue(spe, Issuer::Spu, command.tag, command.order);
            self.begin(now, spe, id, &command.with(issue))
        }
    }

    /// What is said of these transfers of SPEs, issued a microsecond apart, if anything.
    fn said_of(transfers: &[(u16, Command)]) -> Option<String> {
        let mut hazards = watch(HazardWatch::Error);
        let mut said = None;
        for (number, (index, transfer)) in transfers.iter().enumerate() {
            let id = number as u64;
            let hazard = hazards.transfer(us(id + 1), spe(*index), id, transfer);
            said = said.or(hazard.map(|hazard| hazard.to_string()));
        }
        said
    }

    #[test]
    fn a_get_into_what_is_being_put() {
        assert_eq!(
            said_of(&[
                (2, get(0x100, MEMORY, 256)),
                (2, put(0x180, MEMORY + 0x1000, 64))
            ])
            .unwrap(),
            "hazard at 2.000 us: SPE 2 issued put of 64 bytes (local store 0x180, effective address \
             0x1000001000, tag 3) while its own get of 256 bytes (local store 0x100, effective \
             address 0x1000000000, tag 3), issued at 1.000 us, is in flight; both touch local store \
             0x180 to 0x1bf of SPE 2, at least one writes there, and nothing orders them: order them \
             with a fence (putf), or wait for tag group 3 before"
        );
    }

    #[test]
    fn two_gets_into_the_same_local_store() {
        let other = Command {
            tag: TAG_4,
            ..get(0x80, MEMORY + 0x1000, 256)
        };
        let said = said_of(&[(0, get(0x100, MEMORY, 256)), (0, other)]).unwrap();
        let expected = "both touch local store 0x100 to 0x17f of SPE 0, at least one writes there, and \
                        nothing orders them: order them with a fence (getf) in tag group 3, or wait \
                        for tag group 3 before";
        assert!(said.ends_with(expected), "{said}");
    }

    #[test]
    fn two_puts_to_the_same_main_memory() {
        let said =
            said_of(&[(0, put(0, MEMORY, 256)), (0, put(0x1000, MEMORY + 128, 16))]).unwrap();
        let expected = "both touch effective addresses 0x1000000080 to 0x100000008f, at least";
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_put_to_what_another_spe_gets() {
        let said = said_of(&[(0, get(0, MEMORY, 256)), (3, put(0, MEMORY, 128))]).unwrap();
        let expected = "hazard at 2.000 us: SPE 3 issued put of 128 bytes (local store 0x0, effective \
                        address 0x1000000000, tag 3) while SPE 0's get of 256 bytes";
        assert!(said.starts_with(expected), "{said}");
        let expected = "nothing orders them: let SPE 0 wait for tag group 3 and then tell SPE 3 by a \
                        mailbox or a signal that it may begin";
        assert!(said.ends_with(expected), "{said}");
    }

    #[test]
    fn a_put_into_the_local_store_of_another_spe_that_gets() {
        let into_spe_1 = put(0, 2 * STORE_BYTES + 0x200, 128);
        let said = said_of(&[(1, get(0x240, MEMORY, 256)), (0, into_spe_1)]).unwrap();
        assert!(
            said.contains("both touch local store 0x240 to 0x27f of SPE 1"),
            "{said}"
        );
        let said = said_of(&[(0, into_spe_1), (1, get(0x240, MEMORY, 256))]).unwrap();
        assert!(
            said.contains("both touch local store 0x240 to 0x27f of SPE 1"),
            "{said}"
        );
    }

    #[test]
    fn a_typed_transfer_is_waited_for_by_its_view() {
        let typed = Command {
            name: "stage",
            tag: None,
            ..get(0, MEMORY, 64)
        };
        let said = said_of(&[(0, typed), (0, put(0, MEMORY + 0x1000, 64))]).unwrap();
        assert!(
            said.contains("effective address 0x1000000000, typed), issued"),
            "{said}"
        );
        assert!(
            said.ends_with("nothing orders them: wait for its view before"),
            "{said}"
        );
    }

    #[test]
    fn what_only_reads_or_touches_other_bytes_is_none() {
        let none = [
            // Two SPEs, and two commands of one, get the same.
            vec![(0, get(0, MEMORY, 128)), (1, get(0, MEMORY, 128))],
            vec![(0, get(0, MEMORY, 128)), (0, get(128, MEMORY, 128))],
            // The same local store is put to two places.
            vec![(0, put(0, MEMORY, 128)), (0, put(0, MEMORY + 128, 128))],
            // Neighbours.
            vec![(0, get(0, MEMORY, 128)), (0, get(128, MEMORY + 128, 128))],
            vec![(0, put(0, MEMORY, 128)), (1, put(0, MEMORY + 128, 128))],
            // Two SPEs write to the same register.
            vec![
                (0, put(12, ProblemStateRegister::InMbox.of(spe(2)).0, 4)),
                (1, put(12, ProblemStateRegister::InMbox.of(spe(2)).0, 4)),
            ],
        ];
        for transfers in none {
            assert_eq!(said_of(&transfers), None);
        }
    }

    #[test]
    fn fences_and_barriers_order_a_tag_group() {
        let old = get(0, MEMORY, 128);
        let plain = put(0, MEMORY + 0x1000, 128);
        let fenced = Command {
            name: "putf",
            order: Order::Fence,
            ..plain
        };
        let barred = Command {
            name: "putb",
            order: Order::Barrier,
            ..plain
        };
        assert!(said_of(&[(0, old), (0, plain)]).is_some());
        assert_eq!(said_of(&[(0, old), (0, fenced)]), None);
        assert_eq!(said_of(&[(0, old), (0, barred)]), None);
        // A barrier also comes before what is behind it, whatever it touches itself; a fence does not.
        let elsewhere = get(0x800, MEMORY + 0x2000, 16);
        let barrier = Command {
            order: Order::Barrier,
            ..elsewhere
        };
        let fence = Command {
            order: Order::Fence,
            ..elsewhere
        };
        assert_eq!(said_of(&[(0, barred), (0, old)]), None);
        assert!(said_of(&[(0, fenced), (0, old)]).is_some());
        assert_eq!(said_of(&[(0, old), (0, barrier), (0, plain)]), None);
        assert!(said_of(&[(0, old), (0, fence), (0, plain)]).is_some());
    }

    #[test]
    fn neither_another_tag_group_nor_another_spe_is_ordered() {
        let old = get(0, MEMORY, 128);
        let barred = Command {
            order: Order::Barrier,
            ..put(0, MEMORY, 128)
        };
        let other_group = Command {
            tag: TAG_4,
            name: "putb",
            ..barred
        };
        let said = said_of(&[(0, old), (0, other_group)]).unwrap();
        let expected = "nothing orders them: a fence or barrier orders one tag group, so issue the putb in \
                        tag group 3, or wait for tag group 3 before";
        assert!(said.ends_with(expected), "{said}");
        assert!(said_of(&[(0, old), (1, barred)]).is_some());
    }

    #[test]
    fn elements_of_a_list_keep_the_order_of_their_command() {
        let said = |list_order: Order, later: Command| {
            let mut hazards = watch(HazardWatch::Error);
            let element = get(0, MEMORY, 128);
            let list = hazards.issue(spe(0), Issuer::Spu, element.tag, list_order);
            let before = hazards.transfer(us(1), spe(0), 0, &later);
            assert_eq!(before, None, "no element has begun");
            hazards
                .begin(us(2), spe(0), 1, &element.with(list))
                .is_some()
        };
        let plain = put(0, MEMORY + 0x1000, 128);
        let fence = Command {
            order: Order::Fence,
            ..plain
        };
        assert!(said(Order::None, plain));
        assert!(said(Order::Fence, plain));
        assert!(!said(Order::Barrier, plain));
        assert!(!said(Order::None, fence));
        let other_group = Command {
            tag: TAG_4,
            ..fence
        };
        assert!(said(Order::None, other_group));
    }

    #[test]
    fn elements_of_one_list_are_not_ordered_with_each_other() {
        let mut hazards = watch(HazardWatch::Error);
        let list = hazards.issue(spe(0), Issuer::Spu, TAG_3, Order::Barrier);
        let [one, other] = [0, 128].map(|lsa| {
            let element = Command {
                name: "putl",
                ..put(lsa, MEMORY, 128)
            };
            element.with(list)
        });
        assert_eq!(hazards.begin(us(1), spe(0), 0, &one), None);
        let said = hazards.begin(us(1), spe(0), 1, &other).unwrap().to_string();
        let expected = "they belong to one list; make two of it, the second with a fence (putlf)";
        assert!(said.ends_with(expected), "{said}");
    }

    #[test]
    fn a_barrier_behind_two_commands_does_not_order_them() {
        let mut hazards = watch(HazardWatch::Error);
        let element = get(0, MEMORY, 128);
        let list = hazards.issue(spe(0), Issuer::Spu, TAG_3, Order::None);
        assert_eq!(
            hazards.transfer(us(1), spe(0), 0, &put(0, MEMORY + 0x1000, 128)),
            None
        );
        hazards.order_all(spe(0), Issuer::Spu);
        hazards.order_group(spe(0), Issuer::Spu, Tag::of::<3>());
        assert!(
            hazards
                .begin(us(1), spe(0), 1, &element.with(list))
                .is_some()
        );
    }

    #[test]
    fn ordering_commands_order_their_group_or_all() {
        let (old, new) = (get(0, MEMORY, 128), put(0, MEMORY, 128));
        let other_group = Command { tag: TAG_4, ..new };
        let said = |order: fn(&mut Hazards), new: &Command| {
            let mut hazards = watch(HazardWatch::Error);
            assert!(hazards.transfer(us(1), spe(0), 0, &old).is_none());
            order(&mut hazards);
            hazards.transfer(us(2), spe(0), 1, new).is_some()
        };
        let group: fn(&mut Hazards) =
            |hazards| hazards.order_group(spe(0), Issuer::Spu, Tag::of::<3>());
        let all: fn(&mut Hazards) = |hazards| hazards.order_all(spe(0), Issuer::Spu);
        let of_other: fn(&mut Hazards) = |hazards| hazards.order_all(spe(1), Issuer::Spu);
        assert!(!said(group, &new));
        assert!(said(group, &other_group));
        assert!(!said(all, &new));
        assert!(!said(all, &other_group));
        assert!(said(of_other, &new));
    }

    #[test]
    fn what_is_complete_is_none() {
        let mut hazards = watch(HazardWatch::Error);
        for round in 0..1000 {
            // The same ids name other commands on another SPE.
            assert_eq!(
                hazards.transfer(us(1), spe(1), 0, &get(0, MEMORY + 0x8000, 128)),
                None
            );
            assert_eq!(
                hazards.transfer(us(1), spe(0), round, &get(0, MEMORY, 128)),
                None
            );
            hazards.end(spe(1), 0);
            hazards.end(spe(0), round);
            assert_eq!(
                hazards.transfer(us(1), spe(0), round, &put(0, MEMORY, 128)),
                None
            );
            hazards.end(spe(0), round);
        }
        assert!(hazards.in_flight.iter().all(Vec::is_empty));
        assert!(hazards.in_flight[0].capacity() < 10);
        assert!(hazards.blocks.counts.iter().all(|count| *count == 0));
    }

    /// What is said when something is done to local store while a transfer is in flight.
    fn said_during(
        transfer: Command,
        act: impl FnOnce(&mut Hazards) -> Option<Hazard>,
    ) -> Option<String> {
        let mut hazards = watch(HazardWatch::Error);
        assert!(hazards.transfer(us(1), spe(1), 0, &transfer).is_none());
        act(&mut hazards).map(|hazard| hazard.to_string())
    }

    #[test]
    fn a_program_touches_local_store_in_flight() {
        let access = |transfer, is_write, lsa| {
            said_during(transfer, |hazards| {
                hazards.local_access(us(2), spe(1), LsAddr(lsa), 4, is_write)
            })
        };
        assert_eq!(
            access(get(0x80, MEMORY, 128), false, 0xfc).unwrap(),
            "hazard at 2.000 us: SPE 1 read local store 0xfc to 0xff while its get of 128 bytes (local \
             store 0x80, effective address 0x1000000000, tag 3), issued at 1.000 us, is in flight over \
             it: wait for tag group 3 before"
        );
        let said = access(put(0x80, MEMORY, 128), true, 0x80).unwrap();
        assert!(
            said.contains("SPE 1 wrote to local store 0x80 to 0x83 while its put"),
            "{said}"
        );
        // Reading what is put, and touching other bytes.
        assert_eq!(access(put(0x80, MEMORY, 128), false, 0x80), None);
        assert_eq!(access(get(0x80, MEMORY, 128), true, 0x7c), None);
        assert_eq!(access(get(0x80, MEMORY, 128), true, 0x100), None);
    }

    #[test]
    fn a_buffer_is_given_back_or_handed_out_in_flight() {
        let said = said_during(get(0x80, MEMORY, 128), |hazards| {
            hazards.buffer_released(us(2), spe(1), LsAddr(0), 0x400)
        });
        assert_eq!(
            said.unwrap(),
            "hazard at 2.000 us: SPE 1 gave back the buffer at local store 0x0 to 0x3ff while its get of \
             128 bytes (local store 0x80, effective address 0x1000000000, tag 3), issued at 1.000 us, is \
             in flight over it: wait for tag group 3 before the buffer is given back"
        );
        // A put only reads, and yet what is put must not become another's.
        let said = said_during(put(0x80, MEMORY, 128), |hazards| {
            hazards.buffer_reserved(us(2), spe(1), LsAddr(0x80), 16)
        });
        let said = said.unwrap();
        assert!(
            said.contains("SPE 1 was handed out a buffer at local store 0x80 to 0x8f"),
            "{said}"
        );
        for other in [spe(0), spe(1)] {
            let said = said_during(get(0x80, MEMORY, 128), |hazards| {
                hazards.buffer_released(us(2), other, LsAddr(0x100), 0x400)
            });
            assert_eq!(said, None);
        }
    }

    #[test]
    fn another_spe_puts_into_a_buffer_that_is_given_back() {
        let into_spe_0 = put(0, STORE_BYTES + 0x100, 128);
        let said = said_during(into_spe_0, |hazards| {
            hazards.buffer_released(us(2), spe(0), LsAddr(0x100), 128)
        });
        let said = said.unwrap();
        let expected = "is in flight over it: let SPE 1 wait for tag group 3 and then tell SPE 0 by a \
                        mailbox or a signal";
        assert!(said.ends_with(expected), "{said}");
    }

    #[test]
    fn a_word_is_written_to_a_full_mailbox() {
        let mut hazards = watch(HazardWatch::Error);
        let hazard = hazards.mailbox_full(us(3), Processor::Ppe, spe(2)).unwrap();
        assert_eq!(
            hazard.to_string(),
            "hazard at 3.000 us: the PPE wrote to the inbound mailbox of SPE 2, which was full; a Cell \
             loses the newest word there: let SPE 2 answer before more words are sent than its mailbox \
             holds"
        );
    }

    #[test]
    fn warnings_are_collected_once_for_each_kind_and_place() {
        let mut hazards = watch(HazardWatch::Warn);
        for round in 0..10 {
            for sender in [0, 1] {
                let from = Processor::Spe(spe(sender));
                assert_eq!(hazards.mailbox_full(us(round), from, spe(2)), None);
            }
            assert_eq!(
                hazards.transfer(us(round), spe(0), 0, &get(0, MEMORY, 128)),
                None
            );
            let fenced = Command {
                name: "putf",
                ..put(0, MEMORY, 128)
            };
            assert_eq!(
                hazards.transfer(us(round), spe(0), 1, &put(0, MEMORY, 128)),
                None
            );
            assert_eq!(hazards.transfer(us(round), spe(1), 1, &fenced), None);
            hazards.end(spe(0), 0);
            hazards.end(spe(0), 1);
            hazards.end(spe(1), 1);
        }
        let (messages, seen) = hazards.finish();
        // Two mailboxes; put against get; putf of another SPE against get and against put.
        assert_eq!((messages.len(), seen), (5, 50));
        assert!(
            messages
                .iter()
                .all(|message| message.starts_with("hazard at 0.000 us: "))
        );
    }

    #[test]
    fn the_number_of_warnings_is_bounded() {
        let mut hazards = watch(HazardWatch::Warn);
        for sender in 0..MAX_HAZARDS as u16 + 7 {
            let from = Processor::Spe(spe(sender));
            assert_eq!(hazards.mailbox_full(us(1), from, spe(0)), None);
        }
        let (messages, seen) = hazards.finish();
        assert_eq!(
            (messages.len(), seen),
            (MAX_HAZARDS, MAX_HAZARDS as u64 + 7)
        );
    }

    #[test]
    fn nothing_is_watched_when_off() {
        let mut hazards = watch(HazardWatch::Off);
        assert_eq!(
            hazards.transfer(us(1), spe(0), 0, &get(0, MEMORY, 128)),
            None
        );
        assert_eq!(
            hazards.transfer(us(1), spe(0), 1, &get(0, MEMORY, 128)),
            None
        );
        assert_eq!(
            hazards.local_access(us(1), spe(0), LsAddr(0), 16, true),
            None
        );
        assert_eq!(hazards.mailbox_full(us(1), Processor::Ppe, spe(0)), None);
        hazards.end(spe(0), 0);
        assert_eq!(hazards.finish(), (Vec::new(), 0));
    }
}
