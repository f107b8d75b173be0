//! Makes simulated machines from flags, with their traces, hazards and counters.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cellworks_machine::{Machine, Topology};
use cellworks_report::{
    Bottleneck, Counters, FreePart, MachineInfo, PartCounters, ResourceCounters, Simulation,
    SpeCounters, counters_table,
};
use cellworks_sim::{
    Description, HazardWatch, LoadError, Part, PpeAccess, Sim, SimBuilder, Window,
};
use cellworks_stats::Limits;

use crate::args::{SimulationArgs, span};
use crate::failure::Failure;
use crate::message::warn;
use crate::output::{Printed, ResultFiles, combine, print_to, width};
use crate::output_file::OutputFile;
use crate::session::{End, Session, SessionOptions, Steps};
use crate::surroundings;

/// The largest size of a staging buffer, which is the largest size of a DMA command. To copy data,
/// an SPE moves them through staging buffers in its local store.
const STAGING_BYTES_MAX: usize = 16 << 10;

/// The smallest ratio of the size of a local store to that of a staging buffer. A copy uses four
/// staging buffers at once, and the local store contains other data, too.
const VIEWS: usize = 8;

pub(crate) struct Simulated {
    pub sim: Sim,
    /// The title of the machine in reports.
    title: String,
    how: Simulation,
    trace: Option<Trace>,
    counters: bool,
    /// The machine and the limit for the runs with a free part, if the bottleneck is wanted.
    again: Option<(Description, Option<Duration>)>,
}

/// The number by which runs are compared to find the bottleneck.
pub(crate) struct Sample {
    /// The name of the number, such as `latency_ns`.
    pub name: String,
    pub value: f64,
    /// The unit. A smaller number is better, except in bytes a second.
    pub unit: String,
}

impl Sample {
    /// Returns a number of which less is better.
    fn cost(&self) -> f64 {
        if self.unit == "bytes/s" {
            1.0 / self.value
        } else {
            self.value
        }
    }
}

/// Loads the description of a machine from its name or file.
pub(crate) fn load(machine: &str) -> Result<Description, Failure> {
    described(machine).map_err(|why| Failure::Usage(format!("--machine: {why}")))
}

/// Like [`load`], but the error is only the reason, without the name of the flag.
pub(crate) fn described(machine: &str) -> Result<Description, String> {
    const WRITE_ONE: &str = "write one: cellworks machines qs20 > mine.toml";
    let path = Path::new(machine);
    let is_named_so = path
        .extension()
        .is_some_and(|end| end == "toml" || end == "csv");
    Description::load(machine).map_err(|error| match error {
        LoadError::Unknown { .. } if machine == "-" => {
            "a machine is read more than once, so it cannot be standard input; write it to a file"
                .to_owned()
        }
        LoadError::Unknown { .. } if path.exists() => {
            format!("{machine} is no file, and so no description of a machine; {WRITE_ONE}")
        }
        LoadError::Invalid(why) if !is_named_so => {
            format!("{machine} is no description of a machine ({why}); {WRITE_ONE}")
        }
        error => error.to_string(),
    })
}

/// Returns the description and flags of a machine as text. Equal texts mean equal results.
pub(crate) fn identity(description: &Description, flags: &SimulationArgs) -> String {
    let SimulationArgs {
        limit,
        seed,
        hazards,
        system_calls,
        // These flags do not change results.
        trace: _,
        counters: _,
        after_start: _,
        bottleneck: _,
    } = flags;
    let seed = seed.unwrap_or(0);
    format!(
        "{}\n# seed {seed}, system calls {system_calls}, limit {limit:?}, hazards {hazards:?}\n",
        description.to_toml()
    )
}

pub(crate) fn limits_of(description: &Description) -> Limits {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let local_store_bytes = size(description.local_store.bytes.value);
    let module_bytes = description.modules.iter().map(|one| one.bytes.value).min();
    Limits {
        local_store_bytes,
        // A sixteenth of the memory is left for everything besides the buffers.
        memory_bytes_max: size(module_bytes.unwrap_or(0) / 16 * 15),
        staging_bytes_max: Some(STAGING_BYTES_MAX.min(local_store_bytes / VIEWS)),
        bandwidth_bytes_per_s_max: Some(
            description
                .interconnect
                .port_bytes_per_s(&description.clock),
        ),
        ..surroundings::LIMITS
    }
}

impl Simulated {
    /// Plans the work, makes the machine and opens the file of its trace. `usual` is the reaction
    /// to hazards if no flag sets it, and `set` adds further settings. Fails if `plan` fails, or if
    /// a result would replace the file `machine`.
    pub fn build<P>(
        machine: &Path,
        description: Description,
        flags: &SimulationArgs,
        usual: HazardWatch,
        files: &ResultFiles,
        plan: impl FnOnce(&Topology) -> Result<P, Failure>,
        set: impl FnOnce(SimBuilder) -> SimBuilder,
    ) -> Result<(Self, P), Failure> {
        files.refuse_to_replace(machine)?;
        // A machine that cannot do the work is refused before a file is written.
        let checked = Sim::new(description.clone()).map_err(Failure::run)?;
        let plan = plan(checked.topology())?;
        drop(checked);
        let title = description.title.clone();
        let how = Simulation {
            description: description.name.clone(),
            seed: flags.seed.unwrap_or(0),
            system_calls: flags.system_calls,
        };
        let again = flags.bottleneck.then(|| (description.clone(), flags.limit));
        let hazards = flags.hazards.unwrap_or(usual);
        let mut builder = builder(description, &how, flags.limit).hazards(hazards);
        builder = builder.window(if flags.after_start || flags.bottleneck {
            Window::AfterStart
        } else {
            Window::WholeRun
        });
        let mut trace = None;
        if let Some(path) = &flags.trace {
            let file = OutputFile::open("--trace", path)?;
            files.refuse(&file)?;
            file.refuse_to_replace(machine)?;
            let trace = trace.insert(Trace::to(file));
            builder = builder.trace(Box::new(trace.clone()));
        }
        let simulated = Self {
            sim: set(builder).build().map_err(Failure::run)?,
            title,
            how,
            trace,
            counters: flags.counters_flag().is_some(),
            again,
        };
        Ok((simulated, plan))
    }

    pub fn info(&self) -> MachineInfo {
        MachineInfo {
            name: self.title.clone(),
            ..MachineInfo::of(self.sim.topology(), Some(self.how.clone()))
        }
    }

    pub fn session<S: Steps>(&self, steps: S, options: SessionOptions) -> Arc<Session<S>> {
        let is_taken = self.trace.as_ref().is_some_and(Trace::is_standard_output);
        let options = SessionOptions {
            printed: if is_taken {
                Printed::ToStandardError
            } else {
                options.printed
            },
            ..options
        };
        Session::begin(self.info(), None, steps, options)
    }

    /// Runs `work` on the machine, and ends the session. The argument of `work` is a function that
    /// `work` calls after each run, with the title of the run. `sample` runs the work again on
    /// another machine, to find the bottleneck.
    pub fn run<S: Steps>(
        &self,
        session: &Session<S>,
        work: impl FnOnce(&mut dyn FnMut(&str)) -> End,
        sample: impl Fn(&Sim) -> Result<Sample, String>,
    ) -> Result<(), Failure> {
        let mut hazards = HazardsSeen::default();
        let mut end = work(&mut |title| hazards.look(Some(title), &self.sim));
        let is_done = matches!(end, End::Done);
        if is_done {
            session.record_warnings(hazards.warnings());
        } else {
            session.record_warnings_of_failure(hazards.warnings());
            let not_kept = self.trace.as_ref().and_then(Trace::not_kept);
            session.record_warnings_of_failure(not_kept.into_iter().collect());
        }
        if let (true, Some(counters)) = (self.counters, self.sim.counters()) {
            let mut counters = to_report(&counters);
            if is_done {
                match self.bottleneck(session, sample) {
                    Ok(bottleneck) => counters.bottleneck = bottleneck,
                    Err(without) => end = without,
                }
            }
            session.record_counters(counters);
        }
        let end = session.conclude(end);
        match &self.trace {
            Some(trace) if is_done => combine(trace.complete(), end),
            _ => end,
        }
    }

    /// Runs work that has no report. Afterwards warns about its hazards, prints its counters to
    /// standard error, and keeps its trace if the run has ended well.
    pub fn run_without_report<T>(
        &self,
        quiet: bool,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let end = work();
        let mut hazards = HazardsSeen::default();
        hazards.look(None, &self.sim);
        let mut warnings = hazards.warnings();
        if let (Some(trace), Err(_)) = (&self.trace, &end) {
            warnings.extend(trace.not_kept());
        }
        if !quiet {
            warnings.iter().for_each(|warning| warn(warning));
        }
        if let (true, Some(counters)) = (self.counters, self.sim.counters()) {
            let table = counters_table(&to_report(&counters), width());
            print_to(&table, Printed::ToStandardError)?;
        }
        match (&self.trace, end) {
            (Some(trace), Ok(value)) => trace.complete().map(|()| value),
            (_, end) => end,
        }
    }
}

impl Simulated {
    /// Runs the work on the machine, and on a machine for each part with this part free. Returns
    /// `None` if the bottleneck is not wanted.
    ///
    /// # Errors
    ///
    /// Returns the end of the session if the user has pressed Ctrl-C, or if the run of the machine
    /// itself failed.
    fn bottleneck<S: Steps>(
        &self,
        session: &Session<S>,
        sample: impl Fn(&Sim) -> Result<Sample, String>,
    ) -> Result<Option<Bottleneck>, End> {
        let Some((description, limit)) = &self.again else {
            return Ok(None);
        };
        let builder = || {
            let builder = builder(description.clone(), &self.how, *limit);
            builder.window(Window::AfterStart)
        };
        let all: Vec<Part> = Part::of(description).collect();
        let (mut named, mut values) = (None, BTreeMap::new());
        let found = cellworks_sim::Bottleneck::find_by(builder, |free, sim| {
            if let Some(part) = free {
                if session.end_reason().is_some() {
                    return Err("the user has ended the run".into());
                }
                let at = all.iter().position(|one| *one == part).unwrap_or(0);
                session.progress().at(at, all.len());
                session.progress().about(format!("without {part}"));
            }
            let sample = sample(sim)?;
            values.insert(free, sample.value);
            let cost = sample.cost();
            named.get_or_insert(sample);
            Ok::<_, Box<dyn Error>>(cost)
        });
        let found = found.map_err(|why| End::Failed(why.to_string()))?;
        if let Some(end) = session.end_reason() {
            return Err(end);
        }
        session.record_warnings(found.unknown);
        let whole = named.expect("the first run has a result");
        let part = |one: cellworks_sim::FreePart| {
            let (busiest, busy) = one.busiest.unzip();
            let (next, next_busy) = one.next.unzip();
            FreePart {
                kind: one.part.to_string(),
                busiest,
                busy,
                value: values[&Some(one.part)],
                saved: one.saved,
                next,
                next_busy,
                advice: one.advice,
            }
        };
        Ok(Some(Bottleneck {
            part: found.limit.map(|limit| limit.to_string()),
            verdict: found.verdict,
            result: whole.name,
            unit: whole.unit,
            value: whole.value,
            parts: found.parts.into_iter().map(part).collect(),
        }))
    }
}

/// Returns the settings of a machine that its first run and the runs with a free part share.
fn builder(description: Description, how: &Simulation, limit: Option<Duration>) -> SimBuilder {
    let builder = Sim::builder(description)
        .seed(how.seed)
        .ppe_access(if how.system_calls {
            PpeAccess::SystemCalls
        } else {
            PpeAccess::Direct
        });
    match limit {
        Some(limit) => builder.limit(span(limit)),
        None => builder,
    }
}

/// Returns the kinds of parts that are not busy while they wait for others.
fn working() -> impl Iterator<Item = Part> {
    let all = Part::ALL.into_iter();
    all.filter(|kind| !kind.is_busy_waiting())
}

/// The trace of a run. The simulation writes it to a file, which is kept if the run ends well.
#[derive(Clone)]
struct Trace(Arc<Mutex<TraceFile>>);

struct TraceFile {
    /// The file. `None` after the trace is complete.
    file: Option<BufWriter<OutputFile>>,
    /// The first error while writing. Nothing is written after an error.
    lost: Option<io::Error>,
}

impl Trace {
    fn to(file: OutputFile) -> Self {
        Self(Arc::new(Mutex::new(TraceFile {
            file: Some(BufWriter::new(file)),
            lost: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, TraceFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_standard_output(&self) -> bool {
        let trace = self.lock();
        let mut file = trace.file.iter();
        file.any(|file| file.get_ref().is_standard_output())
    }

    /// Calls `write`. An error is recorded and not returned, so that the simulation continues.
    fn write_or_record_error(
        &self,
        write: impl FnOnce(&mut BufWriter<OutputFile>) -> io::Result<()>,
    ) {
        let TraceFile { file, lost } = &mut *self.lock();
        if let (Some(file), None) = (file, &lost) {
            *lost = write(file).err();
        }
    }

    /// Returns a warning if the trace of a failed run is not kept.
    fn not_kept(&self) -> Option<String> {
        let trace = self.lock();
        let file = trace.file.as_ref()?.get_ref();
        file.is_replaced().then(|| {
            format!(
                "{file} was not written, because the run did not end well; --trace - writes to standard output \
                 while the run goes on, and shows how far it came"
            )
        })
    }

    /// Moves the file of the trace to its path if the whole trace was written.
    fn complete(&self) -> Result<(), Failure> {
        self.write_or_record_error(BufWriter::flush);
        let (file, lost) = {
            let mut trace = self.lock();
            (trace.file.take(), trace.lost.take())
        };
        let Some(file) = file else { return Ok(()) };
        // The buffer was flushed. If flushing failed, the content of the buffer is dropped.
        let (file, _) = file.into_parts();
        match lost {
            None => file.complete(),
            Some(error) => Err(file.failed(&error)),
        }
    }
}

impl Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_or_record_error(|file| file.write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_or_record_error(BufWriter::flush);
        Ok(())
    }
}

/// The hazards of all runs so far.
#[derive(Default)]
struct HazardsSeen {
    /// The first hazards, each with the measurement in which it happened.
    first: Vec<String>,
    all: u64,
}

impl HazardsSeen {
    /// The number of hazards that are shown. Further hazards are often the same for other SPEs.
    const SHOWN: usize = 1;

    fn look(&mut self, title: Option<&str>, sim: &Sim) {
        let Some(counters) = sim.counters() else {
            return;
        };
        self.all += counters.hazards_seen;
        let room = Self::SHOWN - self.first.len();
        let titled = |hazard: &String| match title {
            Some(title) => format!("{title}: {hazard}"),
            None => hazard.clone(),
        };
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

fn to_report(counters: &cellworks_sim::Counters) -> Counters {
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
    let of_part = |part: &cellworks_sim::PartCounters| PartCounters {
        kind: part.part.to_string(),
        name: part.name.clone(),
        busy_ns: part.busy.as_nanoseconds_f64(),
    };
    let busiest = working().filter_map(|kind| counters.busiest(kind));
    Counters {
        began_ns: counters.began.as_nanoseconds_f64(),
        elapsed_ns: counters.elapsed.as_nanoseconds_f64(),
        spes: counters.spes.iter().map(of_spe).collect(),
        resources: counters.resources.iter().map(of_resource).collect(),
        busiest: busiest.map(of_part).collect(),
        events: counters.events,
        bottleneck: None,
    }
}
