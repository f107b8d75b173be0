//! The counters of a run: the times of each SPE, and the use of each resource.

use std::{fmt, iter};

use cellworks_machine::{Processor, Span, SpeId};

use super::activity::{Activity, Cause};
use crate::index::{PPE, ProcessorIndex};
use crate::issuer::Issuer;
use crate::part::Part;
use crate::time::{Femtoseconds, Moment};

/// The times of an SPE, which add up to [`Counters::elapsed`], and the use of its MFC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeCounters {
    /// The time in which at least one thread of the program did not wait.
    pub computing: Span,
    /// The time in which all threads waited, and the latest wait was for a transfer.
    pub waiting_for_dma: Span,
    /// The time in which all threads waited, and the latest wait was for a mailbox.
    pub waiting_for_mailbox: Span,
    /// The time in which all threads waited, and the latest wait was for a signal.
    pub waiting_for_signal: Span,
    /// The time in which all threads waited, and the latest wait was for a reservation or an atomic
    /// operation.
    pub waiting_for_lock: Span,
    /// The time in which all threads waited, and the latest wait was for something else, such as
    /// another thread, a process that is to start, or a point in time.
    pub waiting_for_other: Span,
    /// The time in which the SPE had no program.
    pub idle: Span,
    /// The number of completed MFC commands, including typed transfers and proxy commands.
    pub commands: u64,
    /// The number of bytes that these commands have moved.
    pub bytes: u64,
    /// The time of the waits that a processor has ended, by the processor's index and the cause.
    pub(crate) waited_for: Vec<[Span; Cause::COUNT]>,
}

impl SpeCounters {
    /// Returns the processor that ended the waits of a cause that took longest, and their time. It
    /// sent the word, made room in the mailbox, or woke the SPE. `None` for waits that no processor
    /// ended, such as those for transfers.
    pub fn longest_waited_for(&self, cause: Cause) -> Option<(Processor, Span)> {
        let times = self.waited_for.iter().map(|times| times[cause as usize]);
        // Of several equal ones, the first.
        let (index, longest) = times.enumerate().rev().max_by_key(|(_, time)| *time)?;
        let processor = match index {
            PPE => Processor::Ppe,
            index => Processor::Spe(SpeId::new(index as u16 - 1)),
        };
        (longest > Span::default()).then_some((processor, longest))
    }

    /// Returns the counters from `earlier` on.
    fn since(&self, earlier: &Self) -> Self {
        let none = [Span::default(); Cause::COUNT];
        let before = earlier.waited_for.iter().chain(iter::repeat(&none));
        let waited_for = self.waited_for.iter().zip(before);
        let waited_for = waited_for
            .map(|(times, before)| std::array::from_fn(|cause| less(times[cause], before[cause])));
        Self {
            computing: less(self.computing, earlier.computing),
            waiting_for_dma: less(self.waiting_for_dma, earlier.waiting_for_dma),
            waiting_for_mailbox: less(self.waiting_for_mailbox, earlier.waiting_for_mailbox),
            waiting_for_signal: less(self.waiting_for_signal, earlier.waiting_for_signal),
            waiting_for_lock: less(self.waiting_for_lock, earlier.waiting_for_lock),
            waiting_for_other: less(self.waiting_for_other, earlier.waiting_for_other),
            idle: less(self.idle, earlier.idle),
            commands: self.commands - earlier.commands,
            bytes: self.bytes - earlier.bytes,
            waited_for: waited_for.collect(),
        }
    }
}

/// The use of a ring, a memory module or a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceCounters {
    /// The name, such as `Cell 0, ring 2`, `memory module 1` or `link from Cell 0 to Cell 1`.
    pub name: String,
    /// The number of packets, or of lines for a memory module.
    pub packets: u64,
    /// The number of bytes of data.
    pub bytes: u64,
    /// The time in which at least one packet occupied the resource. On a link, commands and
    /// responses, which are no packets, count as well.
    pub busy: Span,
}

impl ResourceCounters {
    /// Returns the counters from `earlier` on.
    fn since(self, earlier: &Self) -> Self {
        Self {
            packets: self.packets - earlier.packets,
            bytes: self.bytes - earlier.bytes,
            busy: less(self.busy, earlier.busy),
            name: self.name,
        }
    }
}

/// Subtracts spans. A part is busy from the start of a packet on, which may lie in the future of a
/// window's beginning, so the result is at least 0.
pub(super) fn less(span: Span, earlier: Span) -> Span {
    let (span, earlier) = (span.as_femtoseconds(), earlier.as_femtoseconds());
    Span::from_femtoseconds(span.saturating_sub(earlier))
}

/// All counters from the start of a run until a point in time.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub at: Moment,
    pub spes: Vec<SpeCounters>,
    pub resources: Vec<ResourceCounters>,
    pub parts: Vec<PartCounters>,
}

impl Snapshot {
    /// Returns the counters of the window from `begin`, or from the start of the run if it is
    /// `None`, to this point.
    pub fn window(self, begin: Option<Self>) -> Self {
        let Some(begin) = begin else { return self };
        let spes = self.spes.iter().zip(&begin.spes);
        let resources = self.resources.into_iter().zip(&begin.resources);
        let parts = self.parts.into_iter().zip(&begin.parts);
        Self {
            at: self.at,
            spes: spes.map(|(end, begin)| end.since(begin)).collect(),
            resources: resources.map(|(end, begin)| end.since(begin)).collect(),
            parts: parts
                .map(|(end, begin)| PartCounters {
                    busy: less(end.busy, begin.busy),
                    ..end
                })
                .collect(),
        }
    }
}

/// The time of one of the parts of a machine, such as a memory bank, a port or the MFC of an SPE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartCounters {
    /// The kind of the part.
    pub part: Part,
    /// The name, such as `memory module 0, bank 3` or `Cell 0, the port out of MIC`.
    pub name: String,
    /// The time in which the part worked. The requests of an MFC count with the share of those that
    /// may be under way at once, the commands of an MFC while it has at least one command.
    pub busy: Span,
}

impl PartCounters {
    pub(crate) fn new(part: Part, name: String, busy: Femtoseconds) -> Self {
        let busy = busy.into();
        Self { part, name, busy }
    }
}

/// The counters of a run, or of its window: see
/// [`Ppe::begin_window`](cellworks_machine::Ppe::begin_window).
///
/// The format `{}` prints the tables of `cellworks stats --counters`: the times of the SPEs that
/// had a program, in per cent of the window, the use of the resources, and the hazards. The format
/// `{:?}` adds the hash of the trace.
#[derive(Clone, PartialEq, Eq)]
pub struct Counters {
    /// The time from the start of the run to the beginning of the window, 0 without a window.
    pub began: Span,
    /// The length of the window, or of the run without a window, in simulated time.
    pub elapsed: Span,
    /// The counters of each SPE.
    pub spes: Vec<SpeCounters>,
    /// The counters of the rings, memory modules and links.
    pub resources: Vec<ResourceCounters>,
    /// The times of all parts that have times, in the order of [`Part::ALL`] within a kind.
    pub parts: Vec<PartCounters>,
    /// The number of simulated events of the whole run.
    pub events: u64,
    /// A hash of all observed actions of the whole run and their times. Equal runs have equal hashes on every
    /// computer, in every build profile, and with or without a trace.
    pub trace_hash: u64,
    /// The hazards that [`HazardWatch::Warn`](crate::HazardWatch::Warn) collects, at most
    /// [`MAX_HAZARDS`](crate::MAX_HAZARDS). Addresses in the texts may differ from run to run.
    pub hazards: Vec<String>,
    /// The number of all hazards, including those that are not in `hazards`.
    pub hazards_seen: u64,
}

impl Counters {
    /// Returns the part of a kind that was busy for the longest time, or `None` if no part of this
    /// kind has a time, as for latencies.
    pub fn busiest(&self, part: Part) -> Option<&PartCounters> {
        let of_kind = self.parts.iter().filter(|one| one.part == part);
        // Of several equal ones, the first.
        of_kind.reduce(|most, one| if one.busy > most.busy { one } else { most })
    }

    /// Returns the name of [`busiest`](Self::busiest), and its share of the window.
    pub(crate) fn busiest_share(&self, part: Part) -> Option<(String, f64)> {
        let most = self.busiest(part)?;
        Some((most.name.clone(), share_of(most.busy, self.elapsed)))
    }

    /// Returns the busiest part of all kinds that are not busy while they wait for others, and its
    /// share of the window.
    pub(crate) fn busiest_of_all(&self) -> Option<(String, f64)> {
        let kinds = Part::ALL.into_iter();
        let working = kinds.filter(|kind| !kind.is_busy_waiting());
        let all = working.filter_map(|kind| self.busiest_share(kind));
        all.reduce(|most, one| if one.1 > most.1 { one } else { most })
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "simulated {} in {} events", self.elapsed, self.events)?;
        type Column = (&'static str, fn(&SpeCounters) -> Span);
        let columns: [Column; 7] = [
            ("computing", |did| did.computing),
            ("DMA", |did| did.waiting_for_dma),
            ("mailbox", |did| did.waiting_for_mailbox),
            ("signal", |did| did.waiting_for_signal),
            ("lock", |did| did.waiting_for_lock),
            ("other", |did| did.waiting_for_other),
            ("idle", |did| did.idle),
        ];
        let nothing = Span::default();
        let is_used = |(_, of): &Column| self.spes.iter().any(|did| of(did) > nothing);
        let columns: Vec<Column> = columns.into_iter().filter(is_used).collect();
        let names = columns.iter().map(|(name, _)| *name);
        let head: Vec<&str> = iter::once("SPE")
            .chain(names)
            .chain(["commands", "moved"])
            .collect();
        let share = |span| share(span, self.elapsed);
        let has_run = |(_, did): &(usize, &SpeCounters)| did.idle < self.elapsed;
        let spes = self.spes.iter().enumerate().filter(has_run);
        let spes = spes.map(|(spe, did)| {
            let times = columns.iter().map(|(_, of)| share(of(did)));
            let work = [did.commands.to_string(), moved(did.bytes)];
            iter::once(spe.to_string()).chain(times).chain(work)
        });
        table(f, head, &[0], spes)?;
        let used = self.resources.iter().filter(|one| one.packets > 0);
        let resources = used.map(|resource| {
            [
                resource.name.clone(),
                share(resource.busy),
                resource.packets.to_string(),
                moved(resource.bytes),
            ]
        });
        table(f, ["part", "busy", "packets", "moved"], &[0], resources)?;
        if let Some((name, busy)) = self.busiest_of_all()
            && busy > 0.0
        {
            writeln!(f, "\nbusiest: {name}, {:.1} %", busy * 100.0)?;
        }
        if self.hazards_seen > 0 {
            writeln!(f, "\nhazards: {}, of which these differ", self.hazards_seen)?;
        }
        self.hazards
            .iter()
            .try_for_each(|hazard| writeln!(f, "{hazard}"))
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}trace hash {:016x}", self.trace_hash)
    }
}

fn share(part: Span, whole: Span) -> String {
    format!("{:.1} %", share_of(part, whole) * 100.0)
}

/// Returns the share of `whole` that `part` is, 0 to 1.
pub(crate) fn share_of(part: Span, whole: Span) -> f64 {
    match whole.as_femtoseconds() {
        0 => 0.0,
        whole => part.as_femtoseconds() as f64 / whole as f64,
    }
}

/// Returns a number of bytes with three digits and a unit, such as `1.50 MB`.
fn moved(bytes: u64) -> String {
    let (log2, unit) = match bytes {
        0..0x400 => return format!("{bytes} B"),
        0x400..0x10_0000 => (10, "KB"),
        0x10_0000..0x4000_0000 => (20, "MB"),
        _ => (30, "GB"),
    };
    let scaled = bytes as f64 / f64::from(1 << log2);
    let decimals = match scaled {
        _ if scaled < 9.995 => 2,
        _ if scaled < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$} {unit}")
}

/// Writes an empty line and a table, of which the columns in `texts` are aligned to the left.
/// Writes nothing without rows.
pub(crate) fn table<'a>(
    f: &mut fmt::Formatter<'_>,
    head: impl IntoIterator<Item = &'a str>,
    texts: &[usize],
    rows: impl Iterator<Item = impl IntoIterator<Item = String>>,
) -> fmt::Result {
    let rows = rows.map(|row| row.into_iter().collect());
    let head = head.into_iter().map(String::from).collect();
    let rows: Vec<Vec<String>> = iter::once(head).chain(rows).collect();
    if rows.len() == 1 {
        return Ok(());
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    writeln!(f)?;
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            let cell = if texts.contains(&column) {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            };
            line += if column == 0 { "" } else { "  " };
            line += &cell;
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// The time in which an MFC has at least one command.
#[derive(Debug, Default)]
pub(super) struct MfcCount {
    /// The number of commands in each queue, by issuer.
    depths: [usize; 2],
    since: Moment,
    busy: Femtoseconds,
}

impl MfcCount {
    #[inline]
    pub fn depth(&mut self, now: Moment, issuer: Issuer, entries: usize) {
        self.busy = self.until(now);
        self.since = now;
        self.depths[issuer as usize] = entries;
    }

    /// Returns the time until `now`.
    #[inline]
    pub fn until(&self, now: Moment) -> Femtoseconds {
        match self.depths {
            [0, 0] => self.busy,
            _ => self.busy + now.saturating_since(self.since),
        }
    }
}

/// The time in which the PPE starts programs of SPEs.
#[derive(Debug, Default)]
pub(super) struct StartCount {
    /// The SPE whose program is being started, and since when.
    present: Option<(SpeId, Moment)>,
    spent: Femtoseconds,
}

impl StartCount {
    pub fn begin(&mut self, now: Moment, spe: SpeId) {
        self.present = Some((spe, now));
    }

    pub fn end(&mut self, now: Moment) {
        self.spent = self.until(now);
        self.present = None;
    }

    /// Returns the SPE whose program is being started.
    pub fn present(&self) -> Option<SpeId> {
        self.present.map(|(spe, _)| spe)
    }

    /// Returns the time until `now`.
    pub fn until(&self, now: Moment) -> Femtoseconds {
        let present = self.present.map(|(_, since)| now.saturating_since(since));
        self.spent + present.unwrap_or(Femtoseconds::ZERO)
    }
}

/// The counters of an SPE during a run.
#[derive(Debug)]
pub(super) struct SpeCount {
    /// The present activity, as [`Activity::index`]. `before` is the activity until `since`.
    activity: usize,
    before: usize,
    since: Moment,
    /// The time of each activity, by [`Activity::index`].
    spent: [Femtoseconds; Activity::COUNT],
    /// The time of the waits that each processor has ended, from `counted_from` on, by cause.
    waited_for: Vec<[Femtoseconds; Cause::COUNT]>,
    counted_from: Moment,
    commands: u64,
    bytes: u64,
    /// The ids and bytes of the incomplete commands.
    in_flight: Vec<(u64, u64)>,
}

impl SpeCount {
    pub fn new(activity: Activity) -> Self {
        Self {
            activity: activity.index(),
            before: activity.index(),
            since: Moment::START,
            spent: [Femtoseconds::ZERO; Activity::COUNT],
            waited_for: Vec::new(),
            counted_from: Moment::START,
            commands: 0,
            bytes: 0,
            in_flight: Vec::with_capacity(32),
        }
    }

    #[inline]
    pub fn activity(&mut self, now: Moment, activity: Activity) {
        debug_assert!(now >= self.since, "the time of one SPE never goes back");
        self.spent[self.activity] += now - self.since;
        self.since = now;
        self.before = self.activity;
        self.activity = activity.index();
    }

    /// Adds the present wait, if there is one, to the time that the SPE has waited for a processor.
    #[inline]
    pub fn is_woken(&mut self, now: Moment, by: ProcessorIndex) {
        let Some(cause) = Activity::cause_of(self.activity) else {
            return;
        };
        if self.waited_for.len() <= by {
            let none = [Femtoseconds::ZERO; Cause::COUNT];
            self.waited_for.resize(by + 1, none);
        }
        let waited = now.saturating_since(self.since.max(self.counted_from));
        self.waited_for[by][cause] += waited;
    }

    /// Leaves out what a present wait took until now.
    pub fn begin_window(&mut self, now: Moment) {
        self.counted_from = now;
    }

    #[inline]
    pub fn issued(&mut self, id: u64, bytes: u64) {
        self.in_flight.push((id, bytes));
    }

    /// Adds the bytes of a list element to its command.
    pub fn element(&mut self, id: u64, bytes: u64) {
        let command = self.in_flight.iter_mut().find(|(other, _)| *other == id);
        let (_, sum) = command.expect("a list is not complete before its elements");
        *sum += bytes;
    }

    #[inline]
    pub fn complete(&mut self, id: u64) {
        let at = self.in_flight.iter().position(|&(other, _)| other == id);
        let at = at.expect("a command is complete once, after it was issued");
        let (_, bytes) = self.in_flight.swap_remove(at);
        self.commands += 1;
        self.bytes += bytes;
    }

    /// Returns the counters until `now`.
    pub fn until(&self, now: Moment) -> SpeCounters {
        let mut times = self.spent;
        times[self.activity] += now.saturating_since(self.since);
        // The times of an SPE may be ahead of the clock by the lag of its program.
        let ahead = self.since.saturating_since(now);
        times[self.before] = times[self.before].saturating_sub(ahead);
        let spent = |activity: Activity| Span::from(times[activity.index()]);
        let waited_for = self.waited_for.iter().map(|times| times.map(Span::from));
        SpeCounters {
            computing: spent(Activity::Computing),
            waiting_for_dma: spent(Activity::Waiting(Cause::Dma)),
            waiting_for_mailbox: spent(Activity::Waiting(Cause::Mailbox)),
            waiting_for_signal: spent(Activity::Waiting(Cause::Signal)),
            waiting_for_lock: spent(Activity::Waiting(Cause::Lock)),
            waiting_for_other: spent(Activity::Waiting(Cause::Other)),
            idle: spent(Activity::Idle),
            commands: self.commands,
            bytes: self.bytes,
            waited_for: waited_for.collect(),
        }
    }
}
