//! Measuring simulated machines.

use cellworks_machine::Machine;
use cellworks_sim::{Description, HazardWatch, Interconnect, Sim};
use cellworks_stats::Limits;

use super::session::{Around, Session};
use super::work::Work;
use super::{HOST_LIMITS, measure_all};
use crate::Failure;
use crate::args::{StatsArgs, Wanted};
use crate::output::Page;
use crate::simulated::{HazardsSeen, Simulated, in_reports, load};

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
    page: Option<Page>,
) -> Result<(), Failure> {
    let flags = &arguments.common.simulation;
    let description = load(&arguments.common.machine)?;
    let limits = limits_of(&description);
    let title = description.title.clone();
    // What cannot be done is said before a file is written.
    Work::of(
        wanted,
        Sim::new(description.clone()).topology(),
        &limits,
        arguments,
    )?;
    // Everything has puts to shared buffers, and they are meant.
    let usual = match wanted {
        Wanted::Everything => HazardWatch::Off,
        Wanted::One(_) | Wanted::Matrix(_) => HazardWatch::Warn,
    };
    let Simulated { sim, how, trace } = Simulated::build(description, flags, usual, page.as_ref())?;
    let work = Work::of(wanted, sim.topology(), &limits, arguments)?;
    let around = Around::Nothing { title, how };
    let session = Session::begin(sim.topology(), around, &work, arguments, page);
    let mut hazards = HazardsSeen::default();
    let end = measure_all(&sim, work, &session, &mut |title| {
        hazards.look(title, &sim);
    });
    session.warned(hazards.warnings());
    if let (true, Some(counters)) = (flags.counters, sim.counters()) {
        session.counted(in_reports(&counters));
    }
    session.conclude(end)?;
    trace.finish()
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
