//! Measuring simulated machines.

use cellworks_machine::{Machine, Topology};
use cellworks_sim::{Description, HazardWatch, Interconnect};
use cellworks_stats::Limits;

use super::found::Found;
use super::work::Work;
use super::{HOST_LIMITS, measure_all};
use crate::Failure;
use crate::args::{StatsArgs, Wanted};
use crate::output_file::OutputFile;
use crate::simulated::{Simulated, load};

/// What a packet on a ring carries.
const PACKET_BYTES: u64 = 128;

/// The largest view that is staged, where local stores are large: what one DMA command moves.
const STAGING_BYTES_MAX: usize = 16 << 10;

/// How many views of the largest size a local store has room for; a copy has four at once, and there
/// is more in a local store than views.
const VIEWS: usize = 8;

pub(super) fn run(
    arguments: &StatsArgs,
    wanted: &Wanted,
    page: Option<OutputFile>,
) -> Result<(), Failure> {
    let flags = &arguments.common.simulation;
    let description = load(&arguments.common.machine)?;
    let limits = limits_of(&description);
    let work = |topology: &Topology| Work::of(wanted, topology, &limits, arguments);
    // Everything has puts to shared buffers, and they are meant.
    let usual = match wanted {
        Wanted::Everything => HazardWatch::Off,
        Wanted::One(_) | Wanted::Matrix(_) => HazardWatch::Warn,
    };
    let machine = Simulated::build(description, flags, usual, page.as_ref(), |topology| {
        work(topology).map(drop)
    })?;
    let topology = machine.sim.topology();
    let work = work(topology)?;
    let found = Found::nothing_of(&work, topology);
    let session = machine.session(found, arguments.common.shown(page));
    machine.run(&session, |after| {
        measure_all(&machine.sim, work, &session, after)
    })
}

/// What a simulated machine allows: blocks as large as on this computer, where the local store has room for
/// the window through which they move.
fn limits_of(description: &Description) -> Limits {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let local_store_bytes = size(description.local_store.bytes.value);
    let module_bytes = description.modules.iter().map(|one| one.bytes.value).min();
    Limits {
        local_store_bytes,
        // A sixteenth is for what is there beside buffers.
        memory_bytes_max: size(module_bytes.unwrap_or(0) / 16 * 15),
        staging_bytes_max: Some(STAGING_BYTES_MAX.min(local_store_bytes / VIEWS)),
        bandwidth_bytes_per_s_max: Some(port_bytes_per_s(description)),
        ..HOST_LIMITS
    }
}

/// What the port of an SPE carries at the most, each way.
fn port_bytes_per_s(description: &Description) -> u64 {
    match &description.interconnect {
        Interconnect::Rings(rings) => {
            let packet_cycles = rings.packet_bus_cycles.value.max(1);
            PACKET_BYTES * description.clock.bus_hz.value / packet_cycles
        }
        Interconnect::Mesh(mesh) => mesh.link_bytes_per_s.value,
        Interconnect::Crossbar(crossbar) => crossbar.port_bytes_per_s.value,
        Interconnect::Matrix(matrix) => matrix.port_bytes_per_s.value,
    }
}
