//! The computer on which a run measures: its state before the run, and disturbances during the run.

use std::time::{SystemTime, UNIX_EPOCH};

use cellworks_host::{Conditions, Host, HostBuilder, HostError, MemoryLeft, Watch};
use cellworks_machine::LOCAL_STORE_BYTES;
use cellworks_machine::sizes::rounded;
use cellworks_report::{CpuLeftOut, Environment, Reason, ReasonKind};
use cellworks_stats::Limits;

use crate::args::Cpus;
use crate::failure::Failure;

/// The limits of this computer. DMA blocks have up to 64 MB, so that blocks larger than the caches
/// can be measured. The buffers of one measurement have up to 4 GB.
pub(crate) const LIMITS: Limits = Limits {
    block_bytes_max: 64 << 20,
    local_store_bytes: LOCAL_STORE_BYTES,
    memory_bytes_max: 4 << 30,
    staging_bytes_max: None,
    bandwidth_bytes_per_s_max: None,
};

/// The smallest address space of a run. An SPE needs half a megabyte for its stacks and its local
/// store. In addition, the heap of each thread reserves up to 128 MB of address space.
const ADDRESS_SPACE_BYTES_MIN: usize = 256 << 20;

/// Fails if a run would exceed the limit of the address space. The run needs `bytes` in addition to
/// [`ADDRESS_SPACE_BYTES_MIN`]. `what` is the name of the run in the message.
pub(crate) fn check_address_space(what: &str, bytes: usize) -> Result<(), Failure> {
    let left = MemoryLeft::by_address_space().map_err(Failure::run)?;
    let need = ADDRESS_SPACE_BYTES_MIN.saturating_add(bytes);
    match left {
        Some(left) if left.bytes < need as u64 => Err(Failure::Run(format!(
            "{what} takes {} of address space or more, and has {left}",
            rounded(need)
        ))),
        _ => Ok(()),
    }
}

/// The number of bytes that a core can store per cycle: the widest registers have 512 bits.
const BYTES_PER_CYCLE_MAX: u64 = 64;

/// A clock rate that no processor reaches, for systems that do not report the clock rate.
const CLOCK_HZ_MAX: u64 = 10_000_000_000;

/// Makes a machine from this computer. The machine is never dropped, because the thread that
/// handles Ctrl-C may use it until the process ends.
pub(crate) fn this_computer(chosen: Option<&Cpus>) -> Result<&'static Host, Failure> {
    this_computer_with(chosen, |builder| builder)
}

/// Like [`this_computer`], with the settings that `set` adds.
pub(crate) fn this_computer_with(
    chosen: Option<&Cpus>,
    set: impl FnOnce(HostBuilder) -> HostBuilder,
) -> Result<&'static Host, Failure> {
    let mut builder = set(Host::builder());
    if let Some(Cpus(chosen)) = chosen {
        builder = builder.cpus(chosen.iter().copied());
    }
    let host = builder.build().map_err(|error| match error {
        HostError::Chosen { .. } | HostError::ChosenTwice { .. } => {
            Failure::Usage(format!("--cpus: {error}"))
        }
        error => Failure::run(error),
    })?;
    Ok(Box::leak(Box::new(host)))
}

pub(crate) struct Surroundings {
    host: &'static Host,
    before: Conditions,
    watch: Watch<'static>,
}

impl Surroundings {
    /// Reads the state of the computer, which takes 0.25 s, and begins to watch its CPUs.
    pub fn of(host: &'static Host) -> Result<Self, Failure> {
        Ok(Self {
            host,
            before: host.conditions().map_err(Failure::run)?,
            watch: host.watch().map_err(Failure::run)?,
        })
    }

    /// Returns sentences about possible disturbances of the measurements.
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

    /// Returns a reason to doubt the numbers if the parts of the machine were read from files of
    /// another computer. The measured times are those of this computer.
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

    /// Returns the limits of this computer in its present state.
    pub fn limits(&self) -> Limits {
        let clock_hz = self.before.clock_bound_hz.unwrap_or(CLOCK_HZ_MAX);
        // Half of the available memory is left for other measurements and other programs.
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

    /// Adds the available memory to a message about a size that needs too much memory.
    pub fn with_memory_left(&self, message: String) -> String {
        match &self.before.memory_left {
            Some(left) => format!("{message}\n  buffers may take half of what is left: {left}"),
            None => message,
        }
    }

    /// Fails if CPUs of the machine were switched off or taken from this process.
    pub fn check(&self) -> Result<(), String> {
        self.host.check_cpus().map_err(|error| error.to_string())
    }

    /// Begins a watch of the CPUs, besides that of the whole run. `None` if they cannot be read.
    pub fn watch(&self) -> Option<Watch<'static>> {
        self.host.watch().ok()
    }

    /// Returns the environment of a run that has ended, and sentences about its disturbances.
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

    /// Returns the environment of a run, without the CPU time that others used during the run.
    pub fn meanwhile(&self) -> Environment {
        Environment {
            warnings: self.warnings(),
            host: Some(to_report(&self.before)),
            ..environment_of_a_simulation()
        }
    }
}

/// Returns the environment of a simulation, which does not depend on the state of this computer.
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

fn to_report(before: &Conditions) -> cellworks_report::Conditions {
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
