//! Measuring simulated machines.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellworks_machine::Machine;
use cellworks_report::{Counters, ResourceCounters, Simulation, SpeCounters};
use cellworks_sim::{Description, HazardWatch, Interconnect, PpeAccess, Sim};
use cellworks_stats::Limits;

use super::session::{Around, Session};
use super::work::Work;
use super::{HOST_LIMITS, measure_all};
use crate::Failure;
use crate::args::{Hazards, StatsArgs, Wanted, span};
use crate::output::Page;

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
    let flags = &arguments.simulation;
    let description = Description::load(&arguments.machine)
        .map_err(|error| Failure::Usage(format!("--machine: {error}")))?;
    let limits = limits_of(&description);
    let title = description.title.clone();
    let simulation = Simulation {
        description: description.name.clone(),
        seed: flags.seed.unwrap_or(0),
        system_calls: flags.system_calls,
    };
    // What cannot be done is said before a file is written.
    Work::of(
        wanted,
        Sim::new(description.clone()).topology(),
        &limits,
        arguments,
    )?;
    let mut builder = Sim::builder(description)
        .seed(simulation.seed)
        .hazards(match (flags.hazards, wanted) {
            // Everything has puts to shared buffers, and they are meant.
            (Some(Hazards::Off), _) | (None, Wanted::Everything) => HazardWatch::Off,
            (Some(Hazards::Warn) | None, _) => HazardWatch::Warn,
            (Some(Hazards::Error), _) => HazardWatch::Error,
        })
        .ppe_access(if flags.system_calls {
            PpeAccess::SystemCalls
        } else {
            PpeAccess::Direct
        });
    if let Some(limit) = flags.limit {
        builder = builder.limit(span(limit));
    }
    let lost = Lost::default();
    if let Some(path) = &flags.trace {
        let file = trace(path, page.as_ref())?;
        builder = builder.trace(Box::new(TraceFile {
            file: BufWriter::new(file),
            lost: Arc::clone(&lost),
        }));
    }
    let sim = builder.build();
    let work = Work::of(wanted, sim.topology(), &limits, arguments)?;
    let around = Around::Nothing {
        title,
        how: simulation,
    };
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
    match (&flags.trace, lock(&lost).take()) {
        (Some(path), Some(error)) => Err(Failure::Run(format!(
            "--trace: {} could not be written: {error}; write it to a disk that has room",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Why a trace is not complete.
type Lost = Arc<Mutex<Option<io::Error>>>;

fn lock(lost: &Lost) -> MutexGuard<'_, Option<io::Error>> {
    lost.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A trace that says after the run whether all of it was written.
struct TraceFile {
    file: BufWriter<File>,
    lost: Lost,
}

impl TraceFile {
    /// Takes down why something was lost. Measuring goes on.
    fn write_or_lose(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if lock(&self.lost).is_none()
            && let Err(error) = write(&mut self.file)
        {
            lock(&self.lost).get_or_insert(error);
        }
    }
}

impl Write for TraceFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_or_lose(|file| file.write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_or_lose(BufWriter::flush);
        Ok(())
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        self.write_or_lose(BufWriter::flush);
    }
}

/// What the watch has seen in all runs so far.
#[derive(Default)]
struct HazardsSeen {
    /// The first ones, with what was measured.
    first: Vec<String>,
    all: u64,
}

impl HazardsSeen {
    /// How many are shown: more would say the same of other SPEs.
    const SHOWN: usize = 1;

    /// Takes down what was seen in the last run.
    fn look(&mut self, title: &str, sim: &Sim) {
        let Some(counters) = sim.counters() else {
            return;
        };
        self.all += counters.hazards_seen;
        let room = Self::SHOWN - self.first.len();
        let titled = |hazard: &String| format!("{title}: {hazard}");
        self.first
            .extend(counters.hazards.iter().take(room).map(titled));
    }

    fn warnings(self) -> Vec<String> {
        let Self { mut first, all } = self;
        if all > first.len() as u64 {
            first.push(format!(
                "{all} hazards were seen in all; --hazards error ends the run at the first, and --hazards off \
                 does not look for them"
            ));
        }
        first
    }
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

/// A file for the trace, so that nobody waits to be told that it cannot be written.
fn trace(path: &Path, page: Option<&Page>) -> Result<File, Failure> {
    let refused = |why: &dyn std::fmt::Display| {
        Failure::Usage(format!(
            "--trace: {} cannot be written: {why}; name a file in a folder where you may write",
            path.display()
        ))
    };
    if page.is_some_and(|page| page.is(path)) {
        return Err(refused(&"--html is written there"));
    }
    File::create(path).map_err(|error| refused(&error))
}

/// The counters as reports have them.
fn in_reports(counters: &cellworks_sim::Counters) -> Counters {
    let of_spe = |spe: &cellworks_sim::SpeCounters| SpeCounters {
        computing_ns: spe.computing.as_nanoseconds_f64(),
        waiting_for_dma_ns: spe.waiting_for_dma.as_nanoseconds_f64(),
        waiting_for_mailbox_ns: spe.waiting_for_mailbox.as_nanoseconds_f64(),
        waiting_for_signal_ns: spe.waiting_for_signal.as_nanoseconds_f64(),
        waiting_for_lock_ns: spe.waiting_for_lock.as_nanoseconds_f64(),
        waiting_for_other_ns: spe.waiting_for_other.as_nanoseconds_f64(),
        idle_ns: spe.idle.as_nanoseconds_f64(),
        commands: spe.commands,
        bytes: spe.bytes,
    };
    let of_resource = |resource: &cellworks_sim::ResourceCounters| ResourceCounters {
        name: resource.name.clone(),
        packets: resource.packets,
        bytes: resource.bytes,
        busy_ns: resource.busy.as_nanoseconds_f64(),
    };
    Counters {
        elapsed_ns: counters.elapsed.as_nanoseconds_f64(),
        spes: counters.spes.iter().map(of_spe).collect(),
        resources: counters.resources.iter().map(of_resource).collect(),
        events: counters.events,
    }
}
