//! The computer around a run: its state before, who used its CPUs meanwhile, and whether they are
//! still there.

use std::time::{SystemTime, UNIX_EPOCH};

use cellworks_host::{Conditions, CpusError, Host, HostError, MemoryLeft, Watch};
use cellworks_machine::LOCAL_STORE_BYTES;
use cellworks_machine::sizes::rounded;
use cellworks_report::{CpuLeftOut, Environment, Reason, ReasonKind};
use cellworks_stats::Limits;

use crate::args::Cpus;
use crate::failure::Failure;

/// What this computer allows at the most: DMA blocks of up to 64 MB, so that what does not fit in
/// the caches is seen too, and 4 GB for the buffers of one measurement.
pub(crate) const LIMITS: Limits = Limits {
    block_bytes_max: 64 << 20,
    local_store_bytes: LOCAL_STORE_BYTES,
    memory_bytes_max: 4 << 30,
    staging_bytes_max: None,
    bandwidth_bytes_per_s_max: None,
};

/// The least address space of a run: stacks and local stores of an SPE take half a megabyte, and
/// the heap of each thread reserves up to 128 MB.
const ADDRESS_SPACE_BYTES_MIN: usize = 256 << 20;

/// Refuses a run that the limit on the address space would end in the middle. `what` takes `bytes`
/// beside what every run takes.
pub(crate) fn check_address_space(what: &str, bytes: usize) -> Result<(), Failure> {
    let left = MemoryLeft::by_address_space().map_err(|error| Failure::Run(error.to_string()))?;
    let need = ADDRESS_SPACE_BYTES_MIN.saturating_add(bytes);
    match left {
        Some(left) if left.bytes < need as u64 => Err(Failure::Run(format!(
            "{what} takes {} of address space or more, and has {left}",
            rounded(need)
        ))),
        _ => Ok(()),
    }
}

/// One store a cycle of the widest registers that there are, 512 bits.
const BYTES_PER_CYCLE_MAX: u64 = 64;

/// The clock rate that no processor reaches, where the system does not say what this one does.
const CLOCK_HZ_MAX: u64 = 10_000_000_000;

/// This computer as a machine. It stays to the end of the process, because Ctrl-C asks about it
/// from a thread of its own.
pub(crate) fn this_computer(chosen: Option<&Cpus>) -> Result<&'static Host, Failure> {
    let mut builder = Host::builder();
    if let Some(Cpus(chosen)) = chosen {
        builder = builder.cpus(chosen.iter().copied());
    }
    let host = builder.build().map_err(|error| match error {
        HostError::Chosen { .. } | HostError::ChosenTwice { .. } => {
            Failure::Usage(format!("--cpus: {error}"))
        }
        error => Failure::Run(error.to_string()),
    })?;
    Ok(Box::leak(Box::new(host)))
}

/// What is known of the computer that is measured.
pub(crate) struct Surroundings {
    host: &'static Host,
    before: Conditions,
    watch: Watch<'static>,
}

impl Surroundings {
    /// Looks at the computer, which takes a quarter of a second, and watches it from then on.
    pub fn of(host: &'static Host) -> Result<Self, Failure> {
        let failed = |error: CpusError| Failure::Run(error.to_string());
        Ok(Self {
            host,
            before: host.conditions().map_err(failed)?,
            watch: host.watch().map_err(failed)?,
        })
    }

    /// What may disturb measurements, in sentences.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.host.warnings().to_vec();
        if cfg!(debug_assertions) {
            warnings.push(
                "this is a debug build of cellworks, and its times mean little; build it with \
                 --release"
                    .to_owned(),
            );
        }
        warnings.extend(self.before.warnings());
        warnings
    }

    /// Why times say nothing about the machine that is named, if they do not: it is described in
    /// files, and they are those of this computer.
    pub fn foreign(&self) -> Option<Reason> {
        let folder = self.host.described_in()?.display();
        Some(Reason {
            kind: ReasonKind::Foreign,
            text: format!(
                "the machine is the one described in {folder} (CELLWORKS_FSROOT), and the times are \
                 those of this computer; unset CELLWORKS_FSROOT to measure this computer, or \
                 measure on the other one"
            ),
        })
    }

    /// What this computer allows in its present state.
    pub fn limits(&self) -> Limits {
        let clock_hz = self.before.clock_bound_hz.unwrap_or(CLOCK_HZ_MAX);
        // The other half is for what is measured beside, and for all other programs.
        let memory = self.before.memory_left.as_ref().map(|left| left.bytes / 2);
        let memory = memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        Limits {
            memory_bytes_max: memory.map_or(LIMITS.memory_bytes_max, |bytes| {
                bytes.min(LIMITS.memory_bytes_max)
            }),
            bandwidth_bytes_per_s_max: Some(clock_hz.saturating_mul(BYTES_PER_CYCLE_MAX)),
            ..LIMITS
        }
    }

    /// A message about what [`limits`](Self::limits) do not allow although [`LIMITS`] do, with what
    /// leaves no more memory.
    pub fn with_memory_left(&self, message: String) -> String {
        match &self.before.memory_left {
            Some(left) => format!("{message}\n  buffers may take half of what is left: {left}"),
            None => message,
        }
    }

    /// Why it makes no sense to go on, if it does not. To be asked between measurements.
    pub fn check(&self) -> Result<(), String> {
        self.host.check_cpus().map_err(|error| error.to_string())
    }

    /// The environment of a run that has just ended, and why it was disturbed, in sentences.
    pub fn after(&self) -> (Environment, Vec<String>) {
        let mut environment = self.meanwhile();
        let usage = self.watch.read().ok().and_then(Result::ok);
        if let (Some(usage), Some(host)) = (&usage, &mut environment.host) {
            host.busy_during = Some(usage.by_others);
            host.stolen_during = Some(usage.stolen);
        }
        let disturbances = match usage {
            Some(usage) => usage.disturbances(),
            None => self.before.disturbances(),
        };
        (environment, disturbances)
    }

    /// The environment of a run that may still be under way, of which it is not known yet what its
    /// threads used.
    pub fn meanwhile(&self) -> Environment {
        Environment {
            warnings: self.warnings(),
            host: Some(in_reports(&self.before)),
            ..environment_of_a_simulation()
        }
    }
}

/// What matters of this computer where it simulates another machine: nothing but what simulates.
pub(crate) fn environment_of_a_simulation() -> Environment {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    let build = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    Environment {
        cellworks_version: env!("CARGO_PKG_VERSION").to_owned(),
        build: build.to_owned(),
        operating_system: std::env::consts::OS.to_owned(),
        kernel: kernel.ok().map(|text| text.trim().to_owned()),
        architecture: std::env::consts::ARCH.to_owned(),
        finished_unix_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        warnings: Vec::new(),
        host: None,
    }
}

/// The conditions as reports have them.
fn in_reports(before: &Conditions) -> cellworks_report::Conditions {
    cellworks_report::Conditions {
        load_average: before.load_average,
        busy_before: before.usage.as_ref().ok().map(|usage| usage.by_others),
        busy_during: None,
        stolen_during: None,
        governors: before.governors.keys().cloned().collect(),
        quota_cpus: before.quota.as_ref().map(cellworks_host::Quota::cpus),
        clock_source: before.clock_source.clone(),
        highest_clock_hz: before.highest_clock_hz,
        clock_step_ns: before.clock.step.map(|step| step.as_nanoseconds_f64()),
        clock_reading_ns: before.clock.reading.as_nanoseconds_f64(),
        transparent_huge_pages: before.transparent_huge_pages.clone(),
        memory_available_bytes: before.memory_left.as_ref().map(|left| left.bytes),
        cpus_left_out: before
            .left_out
            .iter()
            .map(|left_out| CpuLeftOut {
                cpu: left_out.os_index,
                why: left_out.why.to_string(),
            })
            .collect(),
    }
}
