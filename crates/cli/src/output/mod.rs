//! What was measured, as text: everything below is a view of one [`Report`].

pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod table;

use std::time::{SystemTime, UNIX_EPOCH};

use cellworks_machine::Topology;
use cellworks_stats::{Between, Buffers, Measurement, Parameters, Plan};
use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

/// How errors begin.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// How warnings begin.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Titles in tables.
pub(crate) const TITLE: Style = Style::new().bold();

/// Rises when a field changes its meaning or goes; new fields do not raise it.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The result of a run; docs/json.md describes it.
#[derive(Serialize)]
pub(crate) struct Report {
    pub schema_version: u32,
    pub machine: MachineInfo,
    pub environment: Environment,
    pub command: &'static str,
    pub measurements: Vec<Measurement>,
}

#[derive(Serialize)]
pub(crate) struct MachineInfo {
    pub name: String,
    pub kind: &'static str,
    pub spes: usize,
    pub cells: Vec<CellInfo>,
    pub memory_modules: usize,
    pub spe_places: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct CellInfo {
    pub spes: Vec<usize>,
    pub nearest_memory_module: usize,
}

#[derive(Serialize)]
pub(crate) struct Environment {
    cellworks_version: &'static str,
    build: &'static str,
    operating_system: &'static str,
    kernel: Option<String>,
    architecture: &'static str,
    finished_unix_s: u64,
    warnings: Vec<String>,
}

impl MachineInfo {
    pub fn of(topology: &Topology, kind: &'static str) -> Self {
        let cell = |cell| CellInfo {
            spes: topology.spes_of(cell).map(|spe| spe.index()).collect(),
            nearest_memory_module: topology.nearest_module(cell).index(),
        };
        Self {
            name: topology.name().to_owned(),
            kind,
            spes: topology.spes().len(),
            cells: topology.cells().map(cell).collect(),
            memory_modules: topology.modules().len(),
            spe_places: topology
                .spes()
                .map(|spe| topology.place_of(spe).to_owned())
                .collect(),
        }
    }
}

impl Environment {
    pub fn of_this_process(warnings: &[String]) -> Self {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease");
        Self {
            cellworks_version: env!("CARGO_PKG_VERSION"),
            build: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            },
            operating_system: std::env::consts::OS,
            kernel: kernel.ok().map(|text| text.trim().to_owned()),
            architecture: std::env::consts::ARCH,
            finished_unix_s: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            warnings: warnings.to_vec(),
        }
    }
}

/// One measurement in a few words, for progress and errors.
pub(crate) fn title(plan: &Plan) -> String {
    let Parameters {
        spes, block_bytes, ..
    } = plan.parameters();
    let block = block_bytes
        .map(|bytes| format!(" {}", size(bytes)))
        .unwrap_or_default();
    let noun = if *spes == 1 { "SPE" } else { "SPEs" };
    format!("{}{block}, {spes} {noun}", plan.function())
}

/// The names of enum values, as JSON has them.
pub(crate) const fn between(between: Between) -> &'static str {
    match between {
        Between::PpeSpe => "ppe-spe",
        Between::SpeSpe => "spe-spe",
        Between::MemorySpe => "memory-spe",
    }
}

pub(crate) const fn buffers(buffers: Buffers) -> &'static str {
    match buffers {
        Buffers::Shared => "shared",
        Buffers::Private => "private",
    }
}

/// A size in the largest unit that divides it.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}
