//! Simulated machines as flags describe them: how they are made, their traces, hazards and counters.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellworks_machine::{Machine, Topology};
use cellworks_report::{Counters, MachineInfo, ResourceCounters, Simulation, SpeCounters};
use cellworks_sim::{Description, HazardWatch, PpeAccess, Sim};

use crate::Failure;
use crate::args::{Hazards, SimulationArgs, span};
use crate::output::Page;
use crate::session::{End, Session, Steps};

/// A simulated machine, ready to run.
pub(crate) struct Simulated {
    pub sim: Sim,
    /// What people call it.
    title: String,
    how: Simulation,
    trace: Trace,
    /// Whether somebody asked for its counters.
    counters: bool,
}

/// The description of a machine by its name or file.
pub(crate) fn load(machine: &str) -> Result<Description, Failure> {
    Description::load(machine).map_err(|error| Failure::Usage(format!("--machine: {error}")))
}

impl Simulated {
    /// Makes the machine, if `check` finds that it can do what is wanted; hazards are watched as `usual`
    /// unless the flags say how. The file of the trace is there from now on.
    pub fn build(
        description: Description,
        flags: &SimulationArgs,
        usual: HazardWatch,
        page: Option<&Page>,
        check: impl FnOnce(&Topology) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        // What cannot be done is said before a file is written.
        check(Sim::new(description.clone()).topology())?;
        let title = description.title.clone();
        let how = Simulation {
            description: description.name.clone(),
            seed: flags.seed.unwrap_or(0),
            system_calls: flags.system_calls,
        };
        let mut builder = Sim::builder(description)
            .seed(how.seed)
            .hazards(match flags.hazards {
                None => usual,
                Some(Hazards::Off) => HazardWatch::Off,
                Some(Hazards::Warn) => HazardWatch::Warn,
                Some(Hazards::Error) => HazardWatch::Error,
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
            let file = trace_at(path, page)?;
            builder = builder.trace(Box::new(TraceFile {
                file: BufWriter::new(file),
                lost: Arc::clone(&lost),
            }));
        }
        Ok(Self {
            sim: builder.build(),
            title,
            how,
            trace: Trace {
                path: flags.trace.clone(),
                lost,
            },
            counters: flags.counters,
        })
    }

    /// The machine as reports have it.
    pub fn info(&self) -> MachineInfo {
        MachineInfo {
            name: self.title.clone(),
            ..MachineInfo::of(self.sim.topology(), Some(self.how.clone()))
        }
    }

    /// Does the work of a session on the machine, and ends the session. `work` tells what it is handed
    /// of each run what was done in it.
    pub fn run<S: Steps>(
        &self,
        session: &Session<S>,
        work: impl FnOnce(&mut dyn FnMut(&str)) -> End,
    ) -> Result<(), Failure> {
        let mut hazards = HazardsSeen::default();
        let end = work(&mut |title| hazards.look(title, &self.sim));
        session.warned(hazards.warnings());
        if let (true, Some(counters)) = (self.counters, self.sim.counters()) {
            session.counted(in_reports(&counters));
        }
        session.conclude(end)?;
        self.trace.finish()
    }
}

/// The trace of a run, if one was asked for.
struct Trace {
    path: Option<PathBuf>,
    lost: Lost,
}

impl Trace {
    /// Says after the run whether all of it was written.
    fn finish(&self) -> Result<(), Failure> {
        match (&self.path, lock(&self.lost).take()) {
            (Some(path), Some(error)) => Err(Failure::Run(format!(
                "--trace: {} could not be written: {error}; write it to a disk that has room",
                path.display()
            ))),
            _ => Ok(()),
        }
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

/// A file for the trace, so that nobody waits to be told that it cannot be written.
fn trace_at(path: &Path, page: Option<&Page>) -> Result<File, Failure> {
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
