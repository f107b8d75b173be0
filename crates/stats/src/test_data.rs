//! Machines, limits and measurements for the tests of this crate.

use cellworks_machine::{CellId, ModuleId, SpeSite, Topology};

use crate::function::Function;
use crate::report::{Between, Latency, Measurement, Parameters};
use crate::request::Limits;
use crate::settings::Settings;

/// The limits of a Cell, without an upper limit of the bandwidth.
pub(crate) const LIMITS: Limits = Limits {
    block_bytes_max: 16 << 10,
    local_store_bytes: 256 << 10,
    memory_bytes_max: 1 << 28,
    staging_bytes_max: None,
    bandwidth_bytes_per_s_max: None,
};

pub(crate) fn site(cell: u16) -> SpeSite {
    SpeSite {
        cell: CellId::new(cell),
        core: None,
        place: String::new(),
    }
}

pub(crate) fn single(spes: usize) -> Topology {
    Topology::new("a machine", vec![ModuleId::new(0)], vec![site(0); spes])
}

/// Makes a machine with two Cells of two SPEs, which share a memory module.
pub(crate) fn two_pairs() -> Topology {
    let modules = vec![ModuleId::new(0); 2];
    Topology::new("two pairs", modules, [0, 0, 1, 1].map(site).into())
}

/// Makes the parameters of a function without buffers and settings, with SPEs of Cell 0.
pub(crate) fn parameters(spes: usize, between: Between) -> Parameters {
    Parameters {
        spes,
        cell: 0,
        module: None,
        between,
        buffers: None,
        settings: Settings::default(),
    }
}

pub(crate) fn measurement(function: Function, parameters: Parameters, ns: f64) -> Measurement {
    Measurement {
        function,
        parameters,
        iterations: 100,
        rounds: 6,
        samples: 100,
        outliers: 0,
        latency_ns: Latency {
            mean: ns,
            min: ns,
            p50: ns,
            p99: ns,
            max: ns,
        },
        median_interval_ns: None,
        bandwidth_bytes_per_s: None,
        samples_ns: None,
        states: Vec::new(),
        shared_cpu: Vec::new(),
        lies_in: None,
        bare_ns: None,
        huge_page_share: None,
        doubts: Vec::new(),
    }
}
