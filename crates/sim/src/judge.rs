//! Sentences about the part that limits a run: what is true of it on this machine, in this run.

use crate::description::Description;
use crate::observe::{Counters, PartCounters, SpeCounters, share_of};
use crate::part::Part;

/// A part that is busy for a smaller share of the window costs latency, and its rate is no limit.
const RATE_MIN: f64 = 0.5;

/// A part that is busy for at least this share of the window has no time left.
const FULL: f64 = 0.9;

/// Parts of a kind are evenly busy if they are on average at least this share of the busiest.
const EVEN: f64 = 0.8;

/// The requests of full MFCs limit if they cost at least this share of what a latency costs.
const AS_MUCH: f64 = 0.5;

/// What a run says about the parts of its machine.
pub(crate) struct Judge<'a> {
    machine: &'a Description,
    counters: Option<&'a Counters>,
}

impl<'a> Judge<'a> {
    pub fn new(machine: &'a Description, counters: Option<&'a Counters>) -> Self {
        Self { machine, counters }
    }

    /// Returns the busiest part of a kind, and its share of the window.
    pub fn busiest(&self, part: Part) -> Option<(String, f64)> {
        self.counters?.busiest_share(part)
    }

    /// Returns whether a kind of part costs latency only. `false` if nothing is known.
    fn is_latency(&self, part: Part) -> bool {
        match self.busiest(part) {
            Some((_, busy)) => busy < RATE_MIN,
            None => part.has_latency(),
        }
    }

    /// Returns the part that limits, of parts with the share of the time that each saves, with the
    /// largest first.
    pub fn limit(&self, savings: &[(Part, f64)], saved_min: f64) -> Option<Part> {
        let &(first, most) = savings.first().filter(|(_, saved)| *saved >= saved_min)?;
        // While an MFC has all its requests under way, each latency costs as much as it makes the
        // requests longer. More transfers change nothing then.
        let requests = self.busiest(Part::MfcRequests);
        let are_full = requests.is_some_and(|(_, busy)| busy >= FULL);
        let cost = |(part, saved): &(Part, f64)| {
            *part == Part::MfcRequests && *saved >= AS_MUCH * most && *saved >= saved_min
        };
        let cause = are_full && self.is_latency(first) && first.is_in_requests();
        match cause && savings.iter().any(cost) {
            true => Some(Part::MfcRequests),
            false => Some(first),
        }
    }

    /// Returns a sentence about how a part limits.
    pub fn verdict(&self, part: Part) -> String {
        let busy = self.busiest(part);
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        match busy {
            Some((spe, busy)) if part == Part::Spus && busy < FULL => {
                let waits = self
                    .longest_wait()
                    .map(|(wait, share)| format!(" and {wait} for {}", percent(share)));
                let waits = waits.unwrap_or_default();
                format!(
                    "The bottleneck is {part}: {spe} computes for {}{waits}.",
                    percent(busy)
                )
            }
            Some((_, busy)) if part == Part::Ppe && busy < RATE_MIN => format!(
                "The bottleneck is the PPE: not its computation, which takes {}, but the latency of its loads, stores \
                 and calls.",
                percent(busy)
            ),
            Some((name, busy)) if busy < RATE_MIN => format!(
                "The bottleneck is the latency of {part}, not the rate: {name} is busy for {}.",
                percent(busy)
            ),
            Some((name, busy)) => {
                format!(
                    "The bottleneck is {part}: {name} is busy for {}.",
                    percent(busy)
                )
            }
            None if part.has_latency() => format!("The bottleneck is the latency of {part}."),
            None => format!("The bottleneck is {part}."),
        }
    }

    /// Returns what to change in the program, or on the machine, if a part limits.
    pub fn advice(&self, part: Part) -> String {
        if self.is_latency(part)
            && let Some(advice) = latency_advice(part)
        {
            return advice.to_owned();
        }
        match part {
            Part::MemoryPins => self.fewer_bytes(),
            Part::MemoryBanks if self.is_even(part) => {
                "Move fewer bytes: all banks are busy, so other addresses change nothing, and the \
                 machine needs more banks, or faster ones."
                    .to_owned()
            }
            Part::MemoryBanks => "Spread the addresses: SPEs that use the same lines, or lines a \
                 multiple of the banks apart, wait for one bank."
                .to_owned(),
            Part::MemoryControllers | Part::LocalStores => {
                "Keep more transfers under way: two buffers or more for each SPE hide the latency."
                    .to_owned()
            }
            Part::Ways => "Choose other SPEs: partners that are neighbours use fewer segments \
                 (cellworks map solve)."
                .to_owned(),
            Part::Ports => match self.busiest(part) {
                Some((name, _)) if name.ends_with("MIC") || name.contains("memory module") => {
                    self.fewer_bytes()
                }
                _ if self.is_even(part) => {
                    "Move fewer bytes: all elements send or receive as much, so nothing is gained by \
                     another distribution."
                        .to_owned()
                }
                _ => "Spread the data: one element sends or receives most of it, so let others do a \
                     part."
                    .to_owned(),
            },
            Part::CommandBus => "Use larger transfers: each line of 128 bytes is a command, and so \
                 is each shorter piece."
                .to_owned(),
            Part::Link => "Keep data and partners in one Cell; each access to memory waits for the \
                 answer of the other Cell."
                .to_owned(),
            Part::MfcRequests => {
                let lines = self.machine.mfc.outstanding_requests.value;
                let change = match self.unused_spes() {
                    0 => "Get data from nearer memory or from local stores",
                    _ => "Use more SPEs",
                };
                format!(
                    "{change}: one MFC has only {lines} lines under way (mfc.outstanding_requests), so the \
                     latency of a line limits its rate, and more buffers change nothing."
                )
            }
            Part::MfcCommands => {
                "Use fewer and larger commands, and issue the next one before the last one ends."
                    .to_owned()
            }
            Part::AtomicUnits => "Update shared lines less often: a variable for each SPE, added up \
                 at the end."
                .to_owned(),
            Part::Spus => self.less_computation(),
            Part::Ppe => "Do less on the PPE: let SPEs signal each other, or take their work from a \
                 list in memory."
                .to_owned(),
            Part::Programs => {
                "Start programs once, and give them their work by mailbox or from memory.".to_owned()
            }
        }
    }

    fn fewer_bytes(&self) -> String {
        let modules = self.of_kind(Part::MemoryPins);
        let others = match modules.len() > 1 && !self.is_even(Part::MemoryPins) {
            true => ", or use the other memory modules as well",
            false => "",
        };
        let other_spe = match self.spes() {
            1 => "",
            _ => ", get it from another SPE",
        };
        format!("Move fewer bytes: keep data in local stores{other_spe}{others}.")
    }

    fn less_computation(&self) -> String {
        let on_more = match self.unused_spes() {
            0 => "",
            _ => " or on more SPEs",
        };
        let is_full = self
            .busiest(Part::Spus)
            .is_none_or(|(_, busy)| busy >= FULL);
        match self.longest_wait() {
            Some((wait, _)) if !is_full => match wait {
                "waits for DMA" => {
                    "Use two buffers or more, so that transfers go on while the SPE \
                     computes, or compute less."
                        .to_owned()
                }
                "is idle" => {
                    format!("Give each SPE work for the whole time, or compute less{on_more}.")
                }
                _ => format!(
                    "Let each SPE have work to do while it waits, or compute less{on_more}."
                ),
            },
            Some((wait, share)) => format!(
                "Compute less{on_more}: the SPE {wait} for only {:.1} %.",
                share * 100.0
            ),
            None => format!("Compute less{on_more}: the SPE waits for nothing."),
        }
    }

    /// Returns for what the busiest SPE waits for the longest time, and the share of the window.
    fn longest_wait(&self) -> Option<(&'static str, f64)> {
        let counters = self.counters?;
        let did = counters.spes.iter().rev().max_by_key(|one| one.computing)?;
        let waits = [
            ("waits for DMA", did.waiting_for_dma),
            ("waits for mailboxes", did.waiting_for_mailbox),
            ("waits for signals", did.waiting_for_signal),
            ("waits for locks", did.waiting_for_lock),
            ("waits for something else", did.waiting_for_other),
            ("is idle", did.idle),
        ];
        let (wait, longest) = waits.into_iter().rev().max_by_key(|(_, span)| *span)?;
        let share = share_of(longest, counters.elapsed);
        (share >= 0.0005).then_some((wait, share))
    }

    fn of_kind(&self, part: Part) -> Vec<&PartCounters> {
        let parts = self.counters.iter().flat_map(|counters| &counters.parts);
        parts.filter(|one| one.part == part).collect()
    }

    /// Returns whether all parts of a kind are about as busy as the busiest.
    fn is_even(&self, part: Part) -> bool {
        let busy = self.of_kind(part).into_iter();
        let busy: Vec<f64> = busy.map(|one| one.busy.as_seconds_f64()).collect();
        let most = busy.iter().copied().fold(0.0, f64::max);
        busy.iter().sum::<f64>() >= EVEN * most * busy.len() as f64
    }

    fn spes(&self) -> usize {
        self.machine.cells.iter().map(|cell| cell.spes.len()).sum()
    }

    /// Returns the number of SPEs that had no program in the window.
    fn unused_spes(&self) -> usize {
        let Some(counters) = self.counters else {
            return 0;
        };
        let is_unused = |did: &&SpeCounters| did.idle >= counters.elapsed;
        counters.spes.iter().filter(is_unused).count()
    }
}

/// Returns what to change if a part that has little to do costs latency.
fn latency_advice(part: Part) -> Option<&'static str> {
    Some(match part {
        Part::MemoryPins | Part::MemoryBanks | Part::MemoryControllers | Part::LocalStores => {
            "Keep more transfers or messages under way: two buffers or more for each SPE hide the latency."
        }
        Part::Ways | Part::Ports => {
            "Keep more transfers or messages under way, or choose partners that are neighbours \
             (cellworks map solve)."
        }
        Part::CommandBus => {
            "Let several transfers or messages be under way at once: each waits for its own command, \
             whatever its size."
        }
        Part::MfcCommands => {
            "Use fewer commands, atomic ones too: each takes its time to start, whatever its size."
        }
        Part::Link => {
            "Keep data and partners in one Cell: each access to memory waits for the answer of the \
             other Cell."
        }
        _ => return None,
    })
}

impl Part {
    /// Returns whether the part has a latency, and is no work.
    fn has_latency(self) -> bool {
        !matches!(self, Self::Spus | Self::Ppe | Self::Programs)
    }

    /// Returns whether a request of an MFC takes longer by the part.
    fn is_in_requests(self) -> bool {
        !matches!(
            self,
            Self::MfcCommands | Self::AtomicUnits | Self::Spus | Self::Ppe | Self::Programs
        )
    }
}
