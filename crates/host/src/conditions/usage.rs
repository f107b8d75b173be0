//! Usage of a host's CPUs by its own threads, by other programs, and by other virtual machines.
//!
//! ```text
//!   a CPU of the host, from one reading to the next
//!   ├── own threads ──┬── other programs ──┬─ interrupts ─┬─ stolen ─┬──────── idle ────────┤
//!     counted here      the remaining time   /proc/stat     /proc/stat  /proc/stat
//! ```
//!
//! The time of other programs is the elapsed time less all other parts. The kernel also reports the
//! time of programs, but most kernels sample this time only 100 to 1000 times a second.
//!
//! The host's own threads are pinned, so their CPU time can be counted for each CPU. This time is
//! added when a run ends. The time of the process's other threads is subtracted from every CPU,
//! because their CPUs are not known.
//!
//! A reading covers the CPUs on which own threads ran (before a run, all CPUs of the host), and the
//! SMT siblings of these CPUs. A busy sibling takes about half of the core's performance.
//!
//! In containers, lxcfs provides another `/proc/stat`, which has only the CPUs of the cpuset, with
//! new numbers from 0 on. The lines of this file may be about other CPUs than their numbers state.
//! Therefore a file that lacks an existing CPU is not used.

// Rejected: involuntary context switches (`ru_nivcsw`) as a sign of other programs. Each
// `sched_yield` of SPEs that share a CPU counts as such a switch.

use std::collections::{BTreeMap, BTreeSet};

use cellworks_machine::Span;
use rustix::time::ClockId;

use crate::cpu_time::{NS_PER_S, read_clock};
use crate::cpus::list::name_cpus;
use crate::cpus::{self, CpusError, Quota, Source, files};
use crate::host::Host;

/// The largest share of a CPU that other programs may use without disturbing measurements. In a
/// virtual machine of two cores, this share was 0 to 4 % without other programs, and 52 to 54 % on
/// a core with an endless loop of another program (in one second).
const BY_OTHERS_MAX: f64 = 0.10;

/// The largest share of a CPU that the hypervisor may take without disturbing measurements.
const STOLEN_MAX: f64 = 0.05;

/// The largest share of a quota's periods that may be throttled without disturbing measurements.
const THROTTLED_MAX: f64 = 0.05;

/// The shortest time of other programs that is reported: five steps of `/proc/stat`.
const NOTICEABLE_NS: u64 = 50_000_000;

/// The shortest time for which shares are computed: ten steps of `/proc/stat`.
const SHORTEST_NS: u64 = 100_000_000;

/// The use of a host's CPUs during some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// The time that passed.
    pub elapsed: Span,
    /// The share of the time of all `cpus` that other programs used, 0 to 1.
    pub by_others: f64,
    /// The share of the time of all `cpus` that other virtual machines used, 0 to 1.
    pub stolen: f64,
    /// The share of the quota's periods in which all threads of the process were stopped, 0 to 1.
    /// `None` without a quota.
    pub throttled: Option<f64>,
    /// The CPUs on which the PPE or SPEs ran during this time, or all CPUs of the host if none ran.
    /// CPUs that the system does not report are left out.
    pub cpus: Vec<CpuUsage>,
    /// The hardware threads outside of `cpus` that share cores with `cpus`, in ascending order.
    pub siblings: Vec<SiblingUsage>,
}

/// The use of one CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuUsage {
    /// The operating system's number of the CPU.
    pub cpu: u32,
    /// The share of the CPU's time that other programs used, 0 to 1. The real share may be higher.
    pub by_others: f64,
    /// The share of the CPU's time that other virtual machines used, 0 to 1.
    pub stolen: f64,
}

/// The use of a CPU that was not measured but shares a core with a measured CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiblingUsage {
    /// The operating system's number of the CPU.
    pub cpu: u32,
    /// The measured CPU that shares the core, or the first of several such CPUs.
    pub shares_core_with: u32,
    /// The share of the CPU's time that other programs used, 0 to 1. The real share may be higher.
    pub by_others: f64,
}

/// The reason why the usage of the CPUs is not known.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageUnknown {
    /// Less than 100 ms were watched, which is too short for times in steps of 10 ms.
    #[error("less than 100 ms were watched")]
    TooShort,
    /// The system does not report the times of CPUs.
    #[error("/proc/stat cannot be read, as in some containers")]
    Hidden,
    /// `/proc/stat` lacks these existing CPUs, so its CPU numbers may mean other CPUs.
    #[error(
        "/proc/stat lacks {}, so it may number the CPUs in its own way, as lxcfs has it in \
         containers",
        name_cpus(.0)
    )]
    Lacks(BTreeSet<u32>),
    /// The times of CPUs did not change.
    #[error("the times in /proc/stat stand still, as in some sandboxes")]
    StandsStill,
}

cellworks_machine::debug_by_display!(UsageUnknown);

impl Usage {
    /// Returns the reasons why measurements during this time are not reliable, in sentences with
    /// advice. A reason is that other programs used more than 10 % of the time, or the hypervisor
    /// or a quota more than 5 %. Times below 50 ms are ignored.
    pub fn disturbances(&self) -> Vec<String> {
        self.disturbances_in("during the measurement")
    }

    pub(super) fn disturbances_in(&self, when: &str) -> Vec<String> {
        let mut reasons = Vec::new();
        if let Some(taken) = self.taken(BY_OTHERS_MAX, self.by_others, |cpu| cpu.by_others) {
            reasons.push(format!(
                "other programs used {taken} {when}; stop them, or choose other CPUs with \
                 `taskset`"
            ));
        }
        if let Some(taken) = self.taken_from_siblings() {
            reasons.push(format!(
                "other programs used {taken}, {when}; stop them, or choose other CPUs with \
                 `taskset`"
            ));
        }
        if let Some(taken) = self.taken(STOLEN_MAX, self.stolen, |cpu| cpu.stolen) {
            reasons.push(format!(
                "the hypervisor gave {taken} to others {when}; measure while its other virtual \
                 machines are quiet, or on one that has its CPUs for itself"
            ));
        }
        if let Some(throttled) = self.throttled
            && throttled > THROTTLED_MAX
        {
            reasons.push(format!(
                "the quota of CPU time was used up in {} of its periods {when}, and all threads \
                 stopped; raise it, or measure outside of the container",
                percent(throttled)
            ));
        }
        reasons
    }

    /// Names the CPUs for which `of`, a share of the CPU's time, is above `most`. If there is no
    /// such CPU, but `of_all`, the share of the time of all CPUs, is above `most`, names all CPUs.
    /// Otherwise returns `None`.
    fn taken(&self, most: f64, of_all: f64, of: impl Fn(&CpuUsage) -> f64) -> Option<String> {
        let most = self.noticeable(most);
        let taken = || self.cpus.iter().filter(|cpu| of(cpu) > most);
        let cpus: BTreeSet<u32> = taken().map(|cpu| cpu.cpu).collect();
        if cpus.is_empty() {
            let all = self.cpus.iter().map(|cpu| cpu.cpu).collect();
            return (of_all > most)
                .then(|| format!("{} of the time of {}", percent(of_all), name_cpus(&all)));
        }
        Some(highest_of(taken().map(&of), &cpus))
    }

    fn taken_from_siblings(&self) -> Option<String> {
        let most = self.noticeable(BY_OTHERS_MAX);
        let busy = || self.siblings.iter().filter(|cpu| cpu.by_others > most);
        let cpus: BTreeSet<u32> = busy().map(|cpu| cpu.cpu).collect();
        let beside: BTreeSet<u32> = busy().map(|cpu| cpu.shares_core_with).collect();
        let shares = match cpus.len() {
            0 => return None,
            1 => "shares a core",
            _ => "share cores",
        };
        Some(format!(
            "{}, which {shares} with {}",
            highest_of(busy().map(|cpu| cpu.by_others), &cpus),
            name_cpus(&beside)
        ))
    }

    /// Returns `share`, or the share of [`NOTICEABLE_NS`] in the elapsed time if that is larger.
    fn noticeable(&self, share: f64) -> f64 {
        share.max(NOTICEABLE_NS as f64 / self.elapsed.as_nanoseconds_f64())
    }
}

fn highest_of(shares: impl Iterator<Item = f64>, cpus: &BTreeSet<u32>) -> String {
    let up_to = if cpus.len() == 1 { "" } else { "up to " };
    let highest = percent(shares.fold(0.0, f64::max));
    format!("{up_to}{highest} of the time of {}", name_cpus(cpus))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A watch of the usage of a host's CPUs, which begins with the call of [`Host::watch`].
pub struct Watch<'h> {
    host: &'h Host,
    pub(super) start: Reading,
}

impl<'h> Watch<'h> {
    pub(super) fn new(host: &'h Host) -> Result<Self, CpusError> {
        Ok(Self {
            host,
            start: Reading::at(host)?,
        })
    }

    /// Returns the usage of the CPUs since the watch began, or the reason why the usage is unknown.
    /// Call this method between runs, because the times of threads are counted when a run ends.
    ///
    /// # Errors
    ///
    /// Returns [`CpusError`] if a file of the system has content that makes no sense.
    pub fn read(&self) -> Result<Result<Usage, UsageUnknown>, CpusError> {
        Ok(self.start.usage_until(&Reading::at(self.host)?))
    }
}

/// The counters at some time. Only differences of two readings have a meaning.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) at_ns: u64,
    pub(super) cpus: Result<BTreeMap<u32, Spent>, UsageUnknown>,
    /// For each CPU that the host uses, all hardware threads of its core.
    pub(super) cores: BTreeMap<u32, BTreeSet<u32>>,
    pub(super) own_ns: BTreeMap<u32, u64>,
    /// The CPU time of all threads of the process, in nanoseconds.
    pub(super) process_ns: u64,
    pub(super) periods: Option<Periods>,
}

/// The times that a CPU has spent in each state since the computer started, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// The idle time, including waits of programs for a disk.
    pub(super) idle_ns: u64,
    /// The time of interrupts and of the work that interrupts caused.
    pub(super) interrupts_ns: u64,
    pub(super) stolen_ns: u64,
    /// The sum of all times, including the time of programs.
    pub(super) all_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Periods {
    pub(super) all: u64,
    pub(super) throttled: u64,
}

impl Reading {
    fn at(host: &Host) -> Result<Self, CpusError> {
        let used = host.used_cpus();
        let mut own_ns = BTreeMap::new();
        let workers = host.layout.workers.iter().map(|worker| worker.cpu);
        for (seat, cpu) in [host.layout.ppe_cpu].into_iter().chain(workers).enumerate() {
            *own_ns.entry(cpu).or_default() += host.cpu_time.of_seat(seat);
        }
        let mut there = cpus::online(&host.source)?.unwrap_or_default();
        there.extend(host.cpus.cpus.iter().map(|cpu| cpu.os_index));
        let cpus = host.cpus.cpus.iter();
        Ok(Self {
            cpus: read_stat(&host.source, &there)?,
            cores: cpus
                .filter(|cpu| used.contains(&cpu.os_index))
                .map(|cpu| (cpu.os_index, cpu.core_cpus.clone()))
                .collect(),
            own_ns,
            periods: match &host.cpus.quota {
                Some(quota) => read_periods(quota)?,
                None => None,
            },
            process_ns: cpu_time_of_this_process(),
            at_ns: now_ns(),
        })
    }

    pub(super) fn usage_until(&self, end: &Self) -> Result<Usage, UsageUnknown> {
        let before = self.cpus.as_ref().map_err(Clone::clone)?;
        let after = end.cpus.as_ref().map_err(Clone::clone)?;
        let elapsed_ns = end.at_ns.saturating_sub(self.at_ns);
        if elapsed_ns < SHORTEST_NS {
            return Err(UsageUnknown::TooShort);
        }
        let share = |ns: u64, of: u64| (ns as f64 / of as f64).clamp(0.0, 1.0);
        let own_of = |cpu| {
            let own_ns = |look: &Self| look.own_ns.get(&cpu).copied().unwrap_or(0);
            own_ns(end).saturating_sub(own_ns(self))
        };
        let process_ns = end.process_ns.saturating_sub(self.process_ns);
        let placed_ns: u64 = self.own_ns.keys().map(|&cpu| own_of(cpu)).sum();
        let anywhere_ns = process_ns.saturating_sub(placed_ns);

        let did = |cpu: u32| {
            let did = after.get(&cpu)?.since(before.get(&cpu)?);
            // In some sandboxes `/proc/stat` never changes. Therefore a CPU is left out if its
            // times there have grown by less than half of the elapsed time.
            (did.all_ns >= elapsed_ns / 2).then_some(did)
        };
        let programs_ns = |did: &Spent| {
            elapsed_ns.saturating_sub(did.idle_ns + did.interrupts_ns + did.stolen_ns)
        };

        let is_measured = |cpu: u32| placed_ns == 0 || own_of(cpu) > 0;
        let measured = || self.cores.keys().copied().filter(|&cpu| is_measured(cpu));
        let mut cpus = Vec::new();
        let (mut programs_all_ns, mut stolen_all_ns) = (0, 0);
        for cpu in measured() {
            let Some(did) = did(cpu) else {
                continue;
            };
            programs_all_ns += programs_ns(&did);
            stolen_all_ns += did.stolen_ns;
            let by_others_ns = programs_ns(&did).saturating_sub(own_of(cpu) + anywhere_ns);
            cpus.push(CpuUsage {
                cpu,
                by_others: share(by_others_ns, elapsed_ns),
                stolen: share(did.stolen_ns, elapsed_ns),
            });
        }
        if cpus.is_empty() {
            return Err(UsageUnknown::StandsStill);
        }
        let mut beside = BTreeMap::new();
        for cpu in measured() {
            for &sibling in &self.cores[&cpu] {
                beside.entry(sibling).or_insert(cpu);
            }
        }
        for cpu in measured() {
            beside.remove(&cpu);
        }
        let sibling = |(cpu, shares_core_with)| {
            let by_others_ns = programs_ns(&did(cpu)?).saturating_sub(anywhere_ns);
            Some(SiblingUsage {
                cpu,
                shares_core_with,
                by_others: share(by_others_ns, elapsed_ns),
            })
        };
        let all_ns = elapsed_ns * cpus.len() as u64;
        let periods = self.periods.zip(end.periods).map(|(before, after)| {
            let all = after.all.saturating_sub(before.all);
            let throttled = after.throttled.saturating_sub(before.throttled);
            share(throttled, all.max(1))
        });
        Ok(Usage {
            elapsed: Span::from_nanoseconds(elapsed_ns),
            by_others: share(programs_all_ns.saturating_sub(process_ns), all_ns),
            stolen: share(stolen_all_ns, all_ns),
            throttled: periods,
            cpus,
            siblings: beside.into_iter().filter_map(sibling).collect(),
        })
    }
}

impl Spent {
    /// Returns the times since `before`. The kernel may decrease a time (`proc_stat(5)`).
    fn since(&self, before: &Self) -> Self {
        Self {
            idle_ns: self.idle_ns.saturating_sub(before.idle_ns),
            interrupts_ns: self.interrupts_ns.saturating_sub(before.interrupts_ns),
            stolen_ns: self.stolen_ns.saturating_sub(before.stolen_ns),
            all_ns: self.all_ns.saturating_sub(before.all_ns),
        }
    }
}

/// Reads lines of `proc/stat` such as `cpu3 user nice system idle iowait irq softirq steal guest
/// guest_nice`, in ticks. Old kernels leave out the last columns.
pub(super) fn read_stat(
    source: &Source,
    there: &BTreeSet<u32>,
) -> Result<Result<BTreeMap<u32, Spent>, UsageUnknown>, CpusError> {
    let path = source.path("proc/stat");
    let ns_per_tick = NS_PER_S / rustix::param::clock_ticks_per_second();
    let Some(text) = files::text(&path)? else {
        return Ok(Err(UsageUnknown::Hidden));
    };
    let mut cpus = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let cpu = words
            .next()
            .and_then(|name| name.strip_prefix("cpu")?.parse().ok());
        let Some(cpu) = cpu else {
            continue;
        };
        let ticks: Option<Vec<u64>> = words.take(8).map(|ticks| ticks.parse().ok()).collect();
        let Some(ticks) = ticks.filter(|ticks| ticks.len() >= 4) else {
            return Err(files::malformed(
                &path,
                line,
                "ticks in at least four columns such as \"cpu0 1520 0 848 91317\"",
            ));
        };
        // The limit of each column prevents an overflow of the sum.
        let ns = |column: usize| {
            let ticks = ticks.get(column).copied().unwrap_or(0);
            ticks.saturating_mul(ns_per_tick).min(u64::MAX / 8)
        };
        cpus.insert(
            cpu,
            Spent {
                idle_ns: ns(3) + ns(4),
                interrupts_ns: ns(5) + ns(6),
                stolen_ns: ns(7),
                all_ns: (0..8).map(ns).sum(),
            },
        );
    }
    let lacking = there.iter().filter(|&cpu| !cpus.contains_key(cpu));
    let lacking: BTreeSet<u32> = lacking.copied().collect();
    Ok(if lacking.is_empty() {
        Ok(cpus)
    } else {
        Err(UsageUnknown::Lacks(lacking))
    })
}

pub(super) fn read_periods(quota: &Quota) -> Result<Option<Periods>, CpusError> {
    let path = quota.set_in.with_file_name("cpu.stat");
    let Some(text) = files::text(&path)? else {
        return Ok(None);
    };
    let all = files::figure(&path, &text, "nr_periods")?;
    let throttled = files::figure(&path, &text, "nr_throttled")?;
    Ok(all
        .zip(throttled)
        .map(|(all, throttled)| Periods { all, throttled }))
}

/// Returns the CPU time of all threads of the process, also of threads that have ended.
fn cpu_time_of_this_process() -> u64 {
    read_clock(ClockId::ProcessCPUTime)
}

fn now_ns() -> u64 {
    read_clock(ClockId::Monotonic)
}
