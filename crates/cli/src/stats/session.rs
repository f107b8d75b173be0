//! What a run has found so far, and how it ends: when all is measured, when something fails, or
//! when somebody presses Ctrl-C. Whatever was finished is printed and saved.
//!
//! ```text
//!   the run:   found, found ... ───── conclude(Done) ──┐
//!                  │                                   ├─► the first takes what was found: report
//!   Ctrl-C:    ask the run to stop ── a second later ──┘
//!              again: the process ends at once
//! ```
//!
//! A measurement cannot be stopped halfway. So Ctrl-C asks the run to end after the present one, and
//! concludes in its place if that takes long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cellworks_machine::Topology;
use cellworks_report::{
    Counters, Envelope, MachineInfo, NotMeasured, Report, Simulation, csv, html, json, table,
};
use cellworks_stats::{Matrix, Measurement, advise, findings, findings_simulated};

use super::work::Work;
use crate::args::{Format, StatsArgs};
use crate::output::{Page, print, warn};
use crate::progress::Progress;
use crate::surroundings::{Surroundings, environment_of_a_simulation};
use crate::{Failure, exit_code};

/// How long Ctrl-C waits for the present measurement to end.
const GRACE: Duration = Duration::from_secs(1);

/// A signal so soon after the first is no second wish: some programs pass SIGINT on to a process that
/// the terminal has sent it too.
const SAME_PRESS: Duration = Duration::from_millis(300);

/// Intervals of medians that are wider than this share of their medians are wide.
const WIDE: f64 = 0.2;

/// From this share of wide intervals on, a run is not trustworthy: the measurement in the middle is
/// wide then. On an idle virtual machine that probably shares its cores with others, 18 to 28 % were.
const WIDE_SHARE_MAX: f64 = 0.5;

/// Why a run ends.
pub(super) enum Conclusion {
    /// There is nothing left to do, or no time for it.
    Done,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// The numbers cannot be trusted any more, whatever comes.
    Spoiled(String),
    /// A measurement failed.
    Failed(String),
}

/// A run.
pub(super) struct Session {
    /// `None` once the run was concluded.
    found: Mutex<Option<Found>>,
    /// When Ctrl-C was pressed first.
    interrupted: OnceLock<Instant>,
    topology: Topology,
    surroundings: Around,
    progress: Progress,
    format: Format,
    page: Option<Page>,
    quiet: bool,
}

/// What is around the machine that is measured.
pub(super) enum Around {
    /// The computer that it is.
    Computer(Box<Surroundings>),
    /// Nothing that could disturb it: it is simulated.
    Nothing {
        /// What people call it.
        title: String,
        how: Simulation,
    },
}

/// What was found, and what is still to come.
struct Found {
    steps: Vec<Step>,
    matrices: Vec<Matrix>,
    not_measured: Vec<NotMeasured>,
    /// Why the numbers cannot be trusted.
    reasons: Vec<String>,
    counters: Option<Counters>,
    warnings: Vec<String>,
}

/// Something that is to be measured.
struct Step {
    title: String,
    state: State,
}

enum State {
    /// Nothing is known of it.
    Waiting,
    /// What all visits so far have found.
    Measured(Box<Measurement>),
    /// It is somewhere else: in the matrices, or in what was not measured.
    Settled,
}

impl Session {
    /// Begins a run that does this work. From here on Ctrl-C ends it.
    pub fn begin(
        topology: &Topology,
        surroundings: Around,
        work: &Work,
        arguments: &StatsArgs,
        page: Option<Page>,
    ) -> Arc<Self> {
        if let (Around::Computer(computer), false) = (&surroundings, arguments.common.quiet) {
            computer.warnings().iter().for_each(|warning| warn(warning));
        }
        let titles = work.titles();
        let step = |title| Step {
            title,
            state: State::Waiting,
        };
        let session = Arc::new(Self {
            progress: Progress::new(titles.len(), arguments.common.quiet),
            found: Mutex::new(Some(Found {
                steps: titles.into_iter().map(step).collect(),
                matrices: Vec::new(),
                not_measured: work.not_measured.clone(),
                reasons: Vec::new(),
                counters: None,
                warnings: Vec::new(),
            })),
            interrupted: OnceLock::new(),
            topology: topology.clone(),
            surroundings,
            format: arguments.common.output.format,
            page,
            quiet: arguments.common.quiet,
        });
        let on_ctrl_c = Arc::clone(&session);
        // Without a handler Ctrl-C still ends the process, only less tidily.
        let _ = ctrlc::set_handler(move || on_ctrl_c.interrupt());
        session
    }

    /// Whether the run should end now.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.get().is_some()
    }

    /// Why the run should end now, if it should. To be asked between measurements.
    pub fn has_to_end(&self) -> Option<Conclusion> {
        if self.is_interrupted() {
            return Some(Conclusion::Interrupted);
        }
        match &self.surroundings {
            Around::Computer(computer) => computer.check().err().map(Conclusion::Spoiled),
            Around::Nothing { .. } => None,
        }
    }

    /// Where progress is shown.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Takes down what all visits of a step have found so far.
    pub fn found(&self, step: usize, measurement: Measurement) {
        self.update(|found| found.steps[step].state = State::Measured(Box::new(measurement)));
    }

    /// Takes down a matrix, or as much of it as there is.
    pub fn found_matrix(&self, step: usize, matrix: Matrix) {
        self.update(|found| {
            found.steps[step].state = State::Settled;
            found.matrices.push(matrix);
        });
    }

    /// Takes down what somebody should know who reads the numbers, and says it.
    pub fn warned(&self, warnings: Vec<String>) {
        if !self.quiet {
            self.progress.clear();
            warnings.iter().for_each(|warning| warn(warning));
        }
        self.update(|found| found.warnings.extend(warnings));
    }

    /// Takes down what the parts of a simulated machine did.
    pub fn counted(&self, counters: Counters) {
        self.update(|found| found.counters = Some(counters));
    }

    /// Takes down that a step gave a result that cannot be true.
    pub fn refuse(&self, step: usize, why: String) {
        self.update(|found| {
            found.steps[step].state = State::Settled;
            let what = found.steps[step].title.clone();
            found.reasons.push(format!("{what}: {why}"));
            found.not_measured.push(NotMeasured { what, why });
        });
    }

    /// Changes what was found, unless the run was concluded meanwhile.
    fn update(&self, change: impl FnOnce(&mut Found)) {
        if let Some(found) = self.lock().as_mut() {
            change(found);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What Ctrl-C does, on a thread of its own that must be free for the next one.
    fn interrupt(self: &Arc<Self>) {
        if let Some(first) = self.interrupted.get() {
            if first.elapsed() > SAME_PRESS {
                self.progress.clear();
                std::process::exit(exit_code(Err(Failure::Interrupted)).into());
            }
            return;
        }
        let _ = self.interrupted.set(Instant::now());
        let session = Arc::clone(self);
        std::thread::spawn(move || session.conclude_for_the_run());
    }

    /// Concludes the run, unless it does so itself in time.
    fn conclude_for_the_run(&self) {
        std::thread::sleep(GRACE);
        // Nothing may be left waiting for a thread that has gone.
        let end = catch_unwind(AssertUnwindSafe(|| {
            self.take(Conclusion::Interrupted, true).map(exit_code)
        }));
        match end {
            Ok(None) => {}
            Ok(Some(code)) => std::process::exit(code.into()),
            Err(_) => std::process::exit(exit_code(Err(Failure::Interrupted)).into()),
        }
    }

    /// Ends the run: prints and saves what was found.
    ///
    /// If Ctrl-C was faster, does not return: the process is about to end.
    pub fn conclude(&self, conclusion: Conclusion) -> Result<(), Failure> {
        match self.take(conclusion, false) {
            Some(end) => end,
            None => loop {
                std::thread::park();
            },
        }
    }

    /// Prints and saves what was found, if nobody has done so; `running` if a measurement goes on
    /// meanwhile.
    fn take(&self, conclusion: Conclusion, running: bool) -> Option<Result<(), Failure>> {
        // Not held while printing, which may take for ever if nobody reads.
        let found = self.lock().take()?;
        self.progress.clear();
        Some(self.finish(found, conclusion, running))
    }

    /// Prints and saves what was found, and says how the run ends.
    fn finish(&self, found: Found, conclusion: Conclusion, running: bool) -> Result<(), Failure> {
        let planned = found.steps.len();
        let report = self.report(found, &conclusion, running);
        let done = report.measurements.len() + report.matrices.len();
        let reasons = report.envelope.trust.reasons.clone();
        let is_done = matches!(conclusion, Conclusion::Done);
        if is_done && done == 0 && reasons.is_empty() {
            return Err(Failure::Usage(
                "--budget: there was no time to measure anything; give more, such as 30s"
                    .to_owned(),
            ));
        }
        if matches!(conclusion, Conclusion::Interrupted) && !self.quiet {
            warn(&format!(
                "interrupted: {done} of {planned} measurements were finished"
            ));
        }
        let text = match self.format {
            Format::Table => table::render(&report),
            Format::Json => json::render(&report),
            Format::Csv => csv::render(&report),
        };
        let printed = print(&text);
        let saved = match &self.page {
            Some(page) => page.write(&html::render(&report)),
            None => Ok(()),
        };
        let end = match conclusion {
            Conclusion::Interrupted => Err(Failure::Interrupted),
            Conclusion::Failed(message) => Err(Failure::Run(message)),
            Conclusion::Done | Conclusion::Spoiled(_) if reasons.is_empty() => Ok(()),
            Conclusion::Done | Conclusion::Spoiled(_) => Err(Failure::Untrusted(reasons)),
        };
        both(both(saved, printed), end)
    }

    /// What was found, and whether it can be trusted.
    fn report(&self, mut found: Found, conclusion: &Conclusion, running: bool) -> Report {
        let why = match conclusion {
            Conclusion::Done => "the budget was spent before; give more with --budget",
            Conclusion::Interrupted => "interrupted",
            Conclusion::Spoiled(_) | Conclusion::Failed(_) => "the run ended before",
        };
        let planned = found.steps.len();
        let mut measurements = Vec::new();
        for Step { title, state } in found.steps {
            match state {
                State::Measured(measurement) => measurements.push(*measurement),
                State::Waiting => found.not_measured.push(NotMeasured {
                    what: title,
                    why: why.to_owned(),
                }),
                State::Settled => {}
            }
        }
        let done = measurements.len() + found.matrices.len();
        let mut reasons = found.reasons;
        if let Conclusion::Spoiled(why) = conclusion {
            reasons.push(why.clone());
        }
        let of_topology = |simulation| MachineInfo::of(&self.topology, simulation);
        let (mut environment, machine) = match &self.surroundings {
            Around::Computer(computer) if running => (computer.meanwhile(), of_topology(None)),
            Around::Computer(computer) => {
                let (environment, disturbances) = computer.after();
                // Where nothing was measured, nothing was disturbed.
                if done > 0 {
                    reasons.extend(disturbances);
                }
                (environment, of_topology(None))
            }
            Around::Nothing { title, how } => {
                let machine = MachineInfo {
                    name: title.clone(),
                    ..of_topology(Some(how.clone()))
                };
                (environment_of_a_simulation(), machine)
            }
        };
        environment.warnings.extend(found.warnings);
        // An interrupted run has fewer visits than an interval takes, and what is simulated comes out
        // the same next time.
        if !matches!(conclusion, Conclusion::Interrupted) && machine.simulation.is_none() {
            reasons.extend(too_wide(&measurements));
        }
        reasons.extend(found.matrices.iter().filter_map(misplaced));
        let results = match &machine.simulation {
            None => findings(&measurements),
            Some(_) => findings_simulated(&measurements),
        };
        let advice = advise(&self.topology, &measurements, &results, &found.matrices);
        let is_complete = done == planned && matches!(conclusion, Conclusion::Done);
        Report {
            envelope: Envelope::new("stats", machine, environment, reasons, is_complete),
            not_measured: found.not_measured,
            measurements,
            matrices: found.matrices,
            results,
            advice,
            counters: found.counters,
        }
    }
}

/// How a run ends of which one part ended so and the other so. Nobody may miss why it failed, so what
/// cannot be the end of the process is said here.
fn both(first: Result<(), Failure>, second: Result<(), Failure>) -> Result<(), Failure> {
    match (first, second) {
        (Ok(()), end) | (end, Ok(()) | Err(Failure::ClosedPipe)) => end,
        (Err(Failure::ClosedPipe), end) => end,
        (first, second) => {
            exit_code(second);
            first
        }
    }
}

/// Why the times of a matrix cannot be trusted whose data did not lie where they should.
fn misplaced(matrix: &Matrix) -> Option<String> {
    let home = matrix.home?;
    let module = match home.module {
        Some(module) => format!("memory module {module}"),
        None => "the memory module nearest to the SPE that sends".to_owned(),
    };
    (home.verified == Some(false)).then(|| {
        format!(
            "the data of a matrix should have been in {module}, and the system has put them \
             elsewhere; make room there, or choose another module with -m"
        )
    })
}

/// Why the numbers cannot be trusted if too many of them would come out differently next time. Where
/// a number of iterations was asked for there is one round, and nothing to tell it by.
fn too_wide(measurements: &[Measurement]) -> Option<String> {
    let repeated = || measurements.iter().filter(|one| one.rounds > 1);
    let is_wide = |one: &&Measurement| {
        one.median_interval_ns
            .is_none_or(|interval| (interval.high - interval.low) / one.latency_ns.p50 > WIDE)
    };
    let (all, wide) = (repeated().count(), repeated().filter(is_wide).count());
    let medians = match all {
        1 => "the median is".to_owned(),
        _ => format!("{wide} of {all} medians are"),
    };
    (wide as f64 > WIDE_SHARE_MAX * all as f64).then(|| {
        format!(
            "{medians} known only to {:.0} % or worse; give them more time with \
             --budget, or stop what disturbs them",
            WIDE * 100.0
        )
    })
}
