//! Sentences about the part that limits a run: what is true of it on this machine, in this run.

use cellworks_machine::Processor;

use crate::description::Description;
use crate::observe::{Cause, Counters, PartCounters, SpeCounters, share_of};
use crate::part::Part;

/// A part that is busy for a smaller share of the window costs latency, and its rate is no limit.
const RATE_MIN: f64 = 0.5;

/// A part that is busy for at least this share of the window has no time left.
const FULL: f64 = 0.9;

/// Parts of a kind are evenly busy if they are on average at least this share of the busiest.
const EVEN: f64 = 0.8;

/// A part is used if it is busy for at least this share of the busiest. Otherwise a single message
/// to an element would count as much as the data of another.
const USED: f64 = 0.01;

/// The requests of full MFCs limit if they cost at least this share of what a latency costs.
const AS_MUCH: f64 = 0.5;

/// What a run says about the parts of its machine.
pub(crate) struct Judge<'a> {
    machine: &'a Description,
    counters: Option<&'a Counters>,
}

/// The wait of an SPE that takes longest.
struct LongestWait {
    wait: &'static str,
    /// The share of the window.
    share: f64,
    /// The processor for which the SPE waits longest, with the share of the window, if processors
    /// end these waits.
    partner: Option<(Processor, f64)>,
}

impl<'a> Judge<'a> {
    pub fn new(machine: &'a Description, counters: Option<&'a Counters>) -> Self {
        Self { machine, counters }
    }

    /// Returns the busiest part of a kind, and its share of the window.
    pub fn busiest(&self, part: Part) -> Option<(String, f64)> {
        self.counters?.busiest_share(part)
    }

    /// Returns whether a kind of part costs latency only. If nothing is known, returns whether the
    /// kind has a latency.
    fn is_latency(&self, part: Part) -> bool {
        match self.busiest(part) {
            // Requests that are under way for a part of the time are no latency: there are too few.
            // The start of a program is no latency either: the PPE is busy with it.
            Some((_, busy)) => {
                busy < RATE_MIN && !matches!(part, Part::MfcRequests | Part::Programs)
            }
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
        if cause && savings.iter().any(cost) {
            Some(Part::MfcRequests)
        } else {
            Some(first)
        }
    }

    /// Returns a sentence about how a part limits.
    pub fn verdict(&self, part: Part) -> String {
        let busy = self.busiest(part);
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        match busy {
            Some((spe, busy)) if part == Part::Spus && busy < FULL => {
                let waits = self.longest_wait().map(|longest| {
                    let most = longest.partner.map(|(who, share)| {
                        format!(", most of all for {who} ({})", percent(share))
                    });
                    let (wait, share) = (longest.wait, percent(longest.share));
                    format!(" and {wait} for {share}{}", most.unwrap_or_default())
                });
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
            Some((name, busy)) if self.is_latency(part) => format!(
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
            Part::MemoryBanks if is_even(&self.banks_of_busiest(), 0.0) => {
                let advice = if self.are_modules_uneven() {
                    "Use the other memory modules as well, or move fewer bytes: all banks of one \
                     module are busy, so other addresses in this module change nothing."
                } else {
                    "Move fewer bytes: all banks are busy, so other addresses change nothing, and \
                     the machine needs more banks, or faster ones."
                };
                advice.to_owned()
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
                _ if is_even(&self.of_kind(part), USED) => match self.unused_spes() {
                    0 => "Move fewer bytes: all elements in use send or receive as much, so nothing \
                         is gained by another distribution."
                        .to_owned(),
                    _ => "Move fewer bytes, or use more SPEs: all elements in use send or receive as \
                         much."
                        .to_owned(),
                },
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
            Part::MfcRequests if self.busiest(part).is_some_and(|(_, busy)| busy < FULL) => {
                "Keep more transfers under way: with two buffers or more, the MFC of an SPE has \
                 requests under way while the SPE computes."
                    .to_owned()
            }
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
        let others = if self.are_modules_uneven() {
            ", or use the other memory modules as well"
        } else {
            ""
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
            Some(longest) if !is_full => match longest.wait {
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
            Some(LongestWait { wait, share, .. }) => format!(
                "Compute less{on_more}: the SPE {wait} for only {:.1} %.",
                share * 100.0
            ),
            None => format!("Compute less{on_more}: the SPE waits for nothing."),
        }
    }

    /// Returns for what the busiest SPE waits for the longest time.
    fn longest_wait(&self) -> Option<LongestWait> {
        let counters = self.counters?;
        let did = counters.spes.iter().rev().max_by_key(|one| one.computing)?;
        let waits = [
            ("waits for DMA", did.waiting_for_dma, Some(Cause::Dma)),
            (
                "waits for mailboxes",
                did.waiting_for_mailbox,
                Some(Cause::Mailbox),
            ),
            (
                "waits for signals",
                did.waiting_for_signal,
                Some(Cause::Signal),
            ),
            ("waits for locks", did.waiting_for_lock, Some(Cause::Lock)),
            (
                "waits for something else",
                did.waiting_for_other,
                Some(Cause::Other),
            ),
            ("is idle", did.idle, None),
        ];
        let (wait, longest, cause) = waits.into_iter().rev().max_by_key(|(_, span, _)| *span)?;
        let share = share_of(longest, counters.elapsed);
        let partner = cause.and_then(|cause| did.longest_waited_for(cause));
        let partner = partner.map(|(who, span)| (who, share_of(span, counters.elapsed)));
        (share >= 0.0005).then_some(LongestWait {
            wait,
            share,
            partner,
        })
    }

    fn of_kind(&self, part: Part) -> Vec<&PartCounters> {
        let parts = self.counters.iter().flat_map(|counters| &counters.parts);
        parts.filter(|one| one.part == part).collect()
    }

    /// Returns whether some memory modules have much less to do than the busiest.
    fn are_modules_uneven(&self) -> bool {
        !is_even(&self.of_kind(Part::MemoryPins), 0.0)
    }

    /// Returns all banks of the memory module that has the busiest bank.
    fn banks_of_busiest(&self) -> Vec<&PartCounters> {
        let mut banks = self.of_kind(Part::MemoryBanks);
        if let Some((busiest, _)) = self.busiest(Part::MemoryBanks) {
            let module = |bank: &str| bank.split(',').next().map(str::to_owned);
            banks.retain(|bank| module(&bank.name) == module(&busiest));
        }
        banks
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

/// Returns whether parts are on average about as busy as the busiest. Parts that are busy for less
/// than the share `used` of the busiest do not count.
fn is_even(parts: &[&PartCounters], used: f64) -> bool {
    let busy = parts.iter().map(|one| one.busy.as_seconds_f64());
    let most = busy.clone().fold(0.0, f64::max);
    let busy: Vec<f64> = busy.filter(|busy| *busy >= used * most).collect();
    busy.iter().sum::<f64>() >= EVEN * most * busy.len() as f64
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

#[cfg(test)]
mod tests {
    use cellworks_machine::Span;

    use super::*;

    /// Returns the advice about a kind of part after a run of 100 ns on a PlayStation 3, in which
    /// its parts were busy for these times. `unused` of its six SPEs had no program.
    fn advice(part: Part, unused: usize, busy: &[(Part, &str, u64)]) -> String {
        judged(unused, busy, |judge| judge.advice(part))
    }

    fn judged<R>(
        unused: usize,
        busy: &[(Part, &str, u64)],
        ask: impl FnOnce(&Judge<'_>) -> R,
    ) -> R {
        let elapsed = Span::from_nanoseconds(100);
        let part = |&(part, name, busy): &(Part, &str, u64)| PartCounters {
            part,
            name: name.to_owned(),
            busy: Span::from_nanoseconds(busy),
        };
        let mut spes = vec![SpeCounters::default(); 6];
        spes[..unused].iter_mut().for_each(|spe| spe.idle = elapsed);
        let counters = Counters {
            began: Span::default(),
            elapsed,
            spes,
            resources: Vec::new(),
            parts: busy.iter().map(part).collect(),
            events: 0,
            trace_hash: 0,
            hazards: Vec::new(),
            hazards_seen: 0,
        };
        let machine = Description::built_in("ps3").unwrap();
        ask(&Judge::new(&machine, Some(&counters)))
    }

    #[test]
    fn ports_that_nothing_uses_do_not_make_an_exchange_uneven() {
        let even = [
            (Part::Ports, "out of SPE 0", 95),
            (Part::Ports, "out of SPE 1", 94),
            (Part::Ports, "out of PPE", 0),
            (Part::Ports, "out of BIF0", 0),
            (Part::Ports, "out of MIC", 0),
        ];
        let all = advice(Part::Ports, 0, &even);
        assert!(all.contains("all elements in use send or receive"), "{all}");
        let some = advice(Part::Ports, 4, &even);
        assert!(
            some.starts_with("Move fewer bytes, or use more SPEs"),
            "{some}"
        );
        let mut uneven = even;
        uneven[1].2 = 20;
        let one = advice(Part::Ports, 0, &uneven);
        assert!(one.starts_with("Spread the data: one element"), "{one}");
    }

    #[test]
    fn banks_are_judged_within_their_module() {
        let one_module = [
            (Part::MemoryPins, "memory module 0", 90),
            (Part::MemoryPins, "memory module 1", 0),
            (Part::MemoryBanks, "memory module 0, bank 0", 95),
            (Part::MemoryBanks, "memory module 0, bank 1", 94),
            (Part::MemoryBanks, "memory module 1, bank 0", 0),
            (Part::MemoryBanks, "memory module 1, bank 1", 0),
        ];
        let other = advice(Part::MemoryBanks, 0, &one_module);
        assert!(
            other.starts_with("Use the other memory modules as well"),
            "{other}"
        );
        let mut one_bank = one_module;
        one_bank[3].2 = 0;
        let spread = advice(Part::MemoryBanks, 0, &one_bank);
        assert!(spread.starts_with("Spread the addresses: "), "{spread}");
        let mut both = one_module;
        (both[1].2, both[4].2, both[5].2) = (90, 95, 95);
        let full = advice(Part::MemoryBanks, 0, &both);
        assert!(
            full.starts_with("Move fewer bytes: all banks are busy"),
            "{full}"
        );
    }

    #[test]
    fn requests_that_do_not_fill_an_mfc_need_overlap() {
        for (busy, begin) in [
            (30, "Keep more transfers under way: "),
            (80, "Keep more transfers under way: "),
            (95, "Get data from nearer memory"),
        ] {
            let parts = [(Part::MfcRequests, "the MFC of SPE 0", busy)];
            let (verdict, advice) = judged(0, &parts, |judge| {
                let part = Part::MfcRequests;
                (judge.verdict(part), judge.advice(part))
            });
            let expected = format!(
                "The bottleneck is the MFCs' requests under way: the MFC of SPE 0 is busy for {busy}.0 %."
            );
            assert_eq!(verdict, expected);
            assert!(advice.starts_with(begin), "{advice}");
        }
    }
}
