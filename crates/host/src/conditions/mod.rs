//! Checks, before and during a run, for conditions on this computer that make measurements worse.
//!
//! ```text
//!   before   Host::conditions   load, governors, quota, clock ──► warnings
//!   during   Host::watch        CPU time that others took     ──► disturbances
//!   between  Host::check_cpus   CPUs that are gone            ──► an error
//! ```
//!
//! Values that the computer does not report are `None`. The clock and the memory are those of this
//! computer, even if `CELLWORKS_FSROOT` is set.

mod clock;
mod memory;
mod usage;

#[cfg(all(test, not(loom)))]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crate::cpus::SPES_MAX;
use crate::cpus::list::name_cpus;
use crate::cpus::{self, CpusError, LeftOut, Quota, Source, WhyLeftOut, files};
use crate::host::Host;
pub use clock::Clock;
pub(crate) use memory::no_huge_pages;
pub use memory::{MemoryBound, MemoryLeft};
pub use usage::{CpuUsage, SiblingUsage, Usage, UsageUnknown, Watch};

/// The time for which other programs are watched before a run: 20 steps of `/proc/stat`.
const WATCH_BEFORE_RUN: Duration = Duration::from_millis(200);

/// The longest clock step that causes no warning. Two cores exchange words in about this time.
const COARSE_STEP_NS: f64 = 100.0;

/// The longest clock reading that causes no warning. Readings of good clocks take 20 to 60 ns.
const SLOW_READING_NS: f64 = 200.0;

/// The state of a computer just before a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// The CPUs that the host uses, by their numbers in the operating system.
    pub cpus: BTreeSet<u32>,
    /// The number of CPUs of the computer that are online.
    pub cpus_online: usize,
    /// The CPUs that the host does not use although the computer has them, in ascending order.
    pub left_out: Vec<LeftOut>,
    /// The limit on CPU time that a control group sets, if there is one.
    pub quota: Option<Quota>,
    /// The number of threads that wanted to run on the computer, averaged over the last minute.
    pub load_average: Option<f64>,
    /// The usage of the host's CPUs before the run, or the reason why the usage is unknown.
    pub usage: Result<Usage, UsageUnknown>,
    /// The frequency governors, each with its CPUs. If Linux does not choose the clock frequency,
    /// as in most virtual machines, this map is empty.
    pub governors: BTreeMap<String, BTreeSet<u32>>,
    /// The highest clock frequency of the CPUs of the host, in hertz.
    pub highest_clock_hz: Option<u64>,
    /// A clock frequency in hertz that no CPU of the host exceeds: twice the highest frequency that
    /// the system reports, because drivers round frequencies, and some drivers ignore the boost.
    ///
    /// This bound is `None` if a CPU has no reported frequency or the driver is `acpi-cpufreq`,
    /// which may report the frequency without turbo. (A Core i7-10710U has 1.1 GHz without turbo,
    /// and 4.7 GHz with turbo.) The bound is also `None` if `CELLWORKS_FSROOT` is set.
    pub clock_bound_hz: Option<u64>,
    /// The clock source of Linux, such as `tsc`.
    pub clock_source: Option<String>,
    /// The clock with which times are measured.
    pub clock: Clock,
    /// The setting for transparent huge pages: `always`, `madvise` (only on request) or `never`. A
    /// step in a chain of pointers through 128 MB took 206 ns without huge pages, 162 ns with them.
    pub transparent_huge_pages: Option<String>,
    /// The memory that programs can allocate before the system swaps: the kernel's estimate
    /// `MemAvailable`, or less if a control group or the limit on the address space leaves less.
    pub memory_left: Option<MemoryLeft>,
}

impl Conditions {
    fn read(host: &Host) -> Result<Self, CpusError> {
        let source = &host.source;
        let usage = {
            let watch = Watch::new(host)?;
            std::thread::sleep(WATCH_BEFORE_RUN);
            watch.read()?
        };
        let used = host.used_cpus();
        let mut governors = BTreeMap::<_, BTreeSet<u32>>::new();
        let mut clocks_hz = Vec::new();
        for &cpu in &used {
            let folder = source.path(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"));
            if let Some(governor) = word(&folder.join("scaling_governor"))? {
                governors.entry(governor).or_default().insert(cpu);
            }
            let khz: Option<u64> =
                files::number(&folder.join("cpuinfo_max_freq"), "a clock frequency in kHz")?;
            clocks_hz.push(NamedClock {
                // The file contains 0 if the driver does not report the frequency.
                hz: khz
                    .filter(|&khz| khz > 0)
                    .map(|khz| khz.saturating_mul(1_000)),
                driver: word(&folder.join("scaling_driver"))?,
            });
        }
        let online = cpus::online(source)?;
        let clock_source =
            source.path("sys/devices/system/clocksource/clocksource0/current_clocksource");
        Ok(Self {
            cpus_online: online.map_or(host.cpus.cpus.len(), |online| online.len()),
            left_out: left_out(host),
            quota: host.cpus.quota.clone(),
            load_average: load_average(source)?,
            usage,
            governors,
            highest_clock_hz: clocks_hz.iter().filter_map(|clock| clock.hz).max(),
            clock_bound_hz: bound(&clocks_hz).filter(|_| source.is_this_computer()),
            clock_source: word(&clock_source)?,
            clock: Clock::measure_quality(),
            transparent_huge_pages: memory::transparent_huge_pages(&Source::this_computer())?,
            memory_left: memory::left_to_this_process()?,
            cpus: used,
        })
    }

    /// Returns the conditions that are likely to make measurements worse, in sentences with advice.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        warnings.extend(self.disturbances());
        if let Err(why) = &self.usage {
            warnings.push(format!(
                "it cannot be told whether other programs use the CPUs: {why}; see to it that they \
                 do not, or measure outside of the container"
            ));
        }
        if let Some(load) = self.load_average
            && load > self.cpus_online as f64
        {
            warnings.push(format!(
                "{load:.2} threads on average wanted to run in the last minute, on {}; wait until \
                 other programs have ended",
                count_of_cpus(self.cpus_online)
            ));
        }
        for (governor, cpus) in &self.governors {
            if governor != "performance" {
                warnings.push(format!(
                    "the frequency governor of {} is `{governor}`, so the clock frequency changes \
                     with the load; choose `performance`, for example with `cpupower frequency-set \
                     -g performance`",
                    name_cpus(cpus)
                ));
            }
        }
        if let Some(quota) = &self.quota {
            let usable = self.cpus.len()
                + self
                    .left_out
                    .iter()
                    .filter(|left_out| left_out.why == WhyLeftOut::Quota)
                    .count();
            if quota.cpus() < usable as f64 {
                warnings.push(format!(
                    "a quota leaves {quota} of {}, and when it is used up, all threads stop until \
                     the period ends; raise it, or measure outside of the container",
                    count_of_cpus(usable)
                ));
            }
        }
        warnings.extend(self.warning_about_the_clock());
        warnings
    }

    /// Returns the disturbances just before the run, in sentences. They are useful for runs that
    /// are too short for a [`Watch`].
    pub fn disturbances(&self) -> Vec<String> {
        let usage = self.usage.as_ref();
        usage.map_or_else(
            |_| Vec::new(),
            |usage| usage.disturbances_in("just before the measurement"),
        )
    }

    fn warning_about_the_clock(&self) -> Option<String> {
        let Clock { step, reading } = self.clock;
        let flaw = match step {
            None => "stood still while it was read".to_owned(),
            Some(step) if step.as_nanoseconds_f64() > COARSE_STEP_NS => {
                format!("goes in steps of {step}")
            }
            _ if reading.as_nanoseconds_f64() > SLOW_READING_NS => {
                format!("takes {reading} to read")
            }
            _ => return None,
        };
        let by = match &self.clock_source {
            Some(name) => format!(" (clock source `{name}`)"),
            None => String::new(),
        };
        let remedy = match self.clock_source.as_deref() {
            Some("tsc" | "arch_sys_counter") => {
                "it is the counter of the processor, and Linux has no better one: measure on \
                 another computer, or without the emulator or virtual machine"
            }
            _ => {
                "choose a better one of \
                 /sys/devices/system/clocksource/clocksource0/available_clocksource, such as \
                 `tsc`, by writing its name to current_clocksource beside it"
            }
        };
        Some(format!(
            "the clock{by} {flaw}, so latencies of single operations are not known; {remedy}"
        ))
    }
}

impl Host {
    /// Reads the state of the computer before a run, in about a quarter of a second.
    ///
    /// # Errors
    ///
    /// Returns [`CpusError`] if a file of the system has content that makes no sense.
    ///
    /// ```
    /// let conditions = cellworks_host::Host::new()?.conditions()?;
    /// for warning in conditions.warnings() {
    ///     eprintln!("warning: {warning}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn conditions(&self) -> Result<Conditions, CpusError> {
        Conditions::read(self)
    }

    /// Starts to watch the usage of the CPUs of this host.
    ///
    /// # Errors
    ///
    /// Returns [`CpusError`] if a file of the system has content that makes no sense.
    ///
    /// ```
    /// use cellworks_host::{Host, UsageUnknown};
    /// use cellworks_machine::{Machine, SpeId};
    ///
    /// let host = Host::new()?;
    /// let watch = host.watch()?;
    /// host.run(|ppe| ppe.spawn(SpeId::new(0), |_| ()).join().unwrap())?;
    /// match watch.read()? {
    ///     Ok(usage) => println!("disturbed by {:?}", usage.disturbances()),
    ///     Err(UsageUnknown::TooShort) => println!("too short to tell"),
    ///     Err(why) => println!("not known: {why}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watch(&self) -> Result<Watch<'_>, CpusError> {
        Watch::new(self)
    }

    /// Checks that the CPUs of this host still exist and may be used. The check takes microseconds.
    /// If CPUs are gone, a run still ends normally, on other CPUs.
    ///
    /// Call this method between runs, from a thread that may use the same CPUs as the thread that
    /// built the host. During a run, the thread that called `run` is pinned to one CPU.
    ///
    /// # Errors
    ///
    /// Returns [`CpusError::Gone`] if CPUs were switched off or taken from the process, and other
    /// [`CpusError`]s if the system does not report its CPUs.
    pub fn check_cpus(&self) -> Result<(), CpusError> {
        cpus::check(&self.source, &self.used_cpus())
    }

    /// Returns the reasons why this host has fewer CPUs than the computer, in sentences. Empty if
    /// the host has all CPUs that its builder was given.
    pub fn reasons_for_fewer_cpus(&self) -> Vec<String> {
        let mut by_reason: Vec<(WhyLeftOut, BTreeSet<u32>)> = Vec::new();
        for LeftOut { os_index, why } in left_out(self) {
            if why == WhyLeftOut::NotChosen {
                continue;
            }
            match by_reason.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, cpus)) => drop(cpus.insert(os_index)),
                None => by_reason.push((why, BTreeSet::from([os_index]))),
            }
        }
        let quota = self.cpus.quota.as_ref();
        let sentence = |(why, cpus): (WhyLeftOut, BTreeSet<u32>)| {
            let reason = match (why, quota) {
                (WhyLeftOut::Quota, Some(quota)) => format!("a quota leaves {quota}; raise it"),
                (WhyLeftOut::NotAllowed, _) => {
                    format!("{why}; allow this process to use more CPUs")
                }
                (WhyLeftOut::Offline, _) => format!("{why}; switch them on"),
                _ => why.to_string(),
            };
            format!("not used: {} ({reason})", name_cpus(&cpus))
        };
        by_reason.into_iter().map(sentence).collect()
    }

    fn used_cpus(&self) -> BTreeSet<u32> {
        let workers = self.layout.workers.iter().map(|worker| worker.cpu);
        workers.chain([self.layout.ppe_cpu]).collect()
    }
}

pub(crate) fn left_out(host: &Host) -> Vec<LeftOut> {
    let cpus = &host.cpus;
    let paid = cpus.quota.as_ref().map_or(usize::MAX, Quota::cpus_floor);
    let order = cpus.spe_order().into_iter().enumerate();
    let used = host.used_cpus();
    let unused = order.filter(|(_, at)| !used.contains(&cpus.cpus[*at].os_index));
    let last = unused
        .filter(|(place, _)| *place >= paid.min(SPES_MAX))
        .map(|(place, at)| LeftOut {
            os_index: cpus.cpus[at].os_index,
            why: if place < paid {
                WhyLeftOut::TooMany
            } else {
                WhyLeftOut::Quota
            },
        });
    let mut left_out: Vec<LeftOut> = cpus.left_out.iter().copied().chain(last).collect();
    left_out.sort_by_key(|left_out| left_out.os_index);
    left_out
}

/// Returns the content of a file without white space at its ends, or `None` if nothing remains.
fn word(path: &Path) -> Result<Option<String>, CpusError> {
    let word = files::text(path)?.map(|text| text.trim().to_owned());
    Ok(word.filter(|word| !word.is_empty()))
}

struct NamedClock {
    hz: Option<u64>,
    driver: Option<String>,
}

fn bound(clocks: &[NamedClock]) -> Option<u64> {
    let highest = |clock: &NamedClock| {
        let knows_turbo = clock.driver.as_deref() != Some("acpi-cpufreq");
        clock.hz.filter(|_| knows_turbo)
    };
    let each: Option<Vec<u64>> = clocks.iter().map(highest).collect();
    Some(each?.into_iter().max()?.saturating_mul(2))
}

/// Reads the average of the last minute: the first number in `proc/loadavg`.
fn load_average(source: &Source) -> Result<Option<f64>, CpusError> {
    let path = source.path("proc/loadavg");
    let Some(text) = files::text(&path)? else {
        return Ok(None);
    };
    let first = text.split_whitespace().next();
    let load: Option<f64> = first.and_then(|load| load.parse().ok());
    match load.filter(|load| load.is_finite() && *load >= 0.0) {
        Some(load) => Ok(Some(load)),
        None => Err(files::malformed(
            &path,
            &text,
            "load averages such as \"0.32 0.22 0.36 4/98 4553\"",
        )),
    }
}

fn count_of_cpus(cpus: usize) -> String {
    let noun = if cpus == 1 { "CPU" } else { "CPUs" };
    format!("{cpus} {noun}")
}
