//! The counters of a run: the times of each SPE, and the use of each resource.

use std::fmt;

use cellworks_machine::Span;

use super::activity::{Activity, Cause};
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
}

impl SpeCounters {
    /// Returns the counters from `earlier` on.
    fn since(&self, earlier: &Self) -> Self {
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
fn less(span: Span, earlier: Span) -> Span {
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
/// The format `{}` prints a table of the times of the SPEs, in per cent of the run, and a table of
/// the packets and bytes of the resources. The format `{:?}` adds the hash of the trace.
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
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "simulated {} in {} events", self.elapsed, self.events)?;
        let head = [
            "",
            "computing",
            "DMA",
            "mailbox",
            "signal",
            "lock",
            "other",
            "idle",
            "commands",
            "bytes",
        ];
        let share = |span| share(span, self.elapsed);
        let spes = self.spes.iter().enumerate().map(|(spe, did)| {
            [
                format!("SPE {spe}"),
                share(did.computing),
                share(did.waiting_for_dma),
                share(did.waiting_for_mailbox),
                share(did.waiting_for_signal),
                share(did.waiting_for_lock),
                share(did.waiting_for_other),
                share(did.idle),
                did.commands.to_string(),
                did.bytes.to_string(),
            ]
        });
        table(f, head, spes)?;
        let head = ["", "busy", "share", "packets", "bytes"];
        let resources = self.resources.iter().map(|resource| {
            [
                resource.name.clone(),
                resource.busy.to_string(),
                share(resource.busy),
                resource.packets.to_string(),
                resource.bytes.to_string(),
            ]
        });
        table(f, head, resources)?;
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
    let (part, whole) = (part.as_femtoseconds(), whole.as_femtoseconds());
    let per_cent = if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    };
    format!("{per_cent:.1} %")
}

/// Writes an empty line and a table with a left-aligned first column. Writes nothing without rows.
fn table<const COLUMNS: usize>(
    f: &mut fmt::Formatter<'_>,
    head: [&str; COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]>,
) -> fmt::Result {
    let rows: Vec<_> = std::iter::once(head.map(String::from))
        .chain(rows)
        .collect();
    if rows.len() == 1 {
        return Ok(());
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    writeln!(f)?;
    for row in &rows {
        write!(f, "{:<width$}", row[0], width = width(0))?;
        for (column, cell) in row.iter().enumerate().skip(1) {
            write!(f, "  {cell:>width$}", width = width(column))?;
        }
        writeln!(f)?;
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

/// The counters of an SPE during a run.
#[derive(Debug)]
pub(super) struct SpeCount {
    /// The present activity, as [`Activity::index`]. `before` is the activity until `since`.
    activity: usize,
    before: usize,
    since: Moment,
    /// The time of each activity, by [`Activity::index`].
    spent: [Femtoseconds; Activity::COUNT],
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

    #[inline]
    pub fn issued(&mut self, id: u64, bytes: u64) {
        self.in_flight.push((id, bytes));
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
        }
    }
}
