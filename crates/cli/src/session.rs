//! A session collects the results of a command, and ends the command: when all steps are done, when
//! a step fails, or when the user presses Ctrl-C. In each case the results of finished steps are
//! printed and saved.
//!
//! ```text
//!   the run:   update, update ... ───── conclude(Done) ──┐
//!                  │                                     ├─► the first call reports the results
//!   Ctrl-C:    ask the run to stop ── a second later ────┘
//!              again: the process ends at once
//! ```
//!
//! A step cannot be stopped halfway. Ctrl-C therefore asks the run to end after the present step.
//! If the step takes longer than a second, the thread of Ctrl-C concludes the run.

// Rejected: checking for Ctrl-C inside a measurement, because every loop would have to check. The
// run is asked to stop between measurements. After a second, it is concluded without waiting.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cellworks_report::{Counters, Environment, MachineInfo, Reason, ReasonKind, Trust, Words};
use serde::de::DeserializeOwned;

use crate::args::CommonArgs;
use crate::failure::{Failure, exit_code};
use crate::message::{note, warn};
use crate::output::Format;
use crate::output::{Printed, ResultFiles, Views, combine, show};
use crate::progress::Progress;
use crate::surroundings::{Surroundings, environment_of_a_simulation};
use crate::sweep::{Step, Sweep};

/// The time that Ctrl-C waits for the end of the present step.
const GRACE: Duration = Duration::from_secs(1);

/// A second signal within this time does not count as another Ctrl-C. The terminal sends SIGINT to
/// all of its processes, and some programs send the signal on to this process.
const SAME_PRESS: Duration = Duration::from_millis(300);

/// The reason why a run ends.
pub(crate) enum End {
    /// All steps are done, or the time is over.
    Done,
    /// The user pressed Ctrl-C.
    Interrupted,
    /// The computer changed during the run, so the numbers are no longer reliable.
    Spoiled(String),
    /// The machine cannot do the work, or not in the given time.
    Refused(String),
    /// A step failed.
    Failed(String),
}

impl End {
    /// The reason, in a report, why a step has no result.
    pub fn why_missing(&self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            // Only a merge ends well when a step has no result.
            Self::Done => "no file has it",
            _ => "the run ended before",
        }
    }

    /// The end of the command if its numbers are reliable.
    fn into_result(self) -> Result<(), Failure> {
        match self {
            Self::Done | Self::Spoiled(_) => Ok(()),
            Self::Interrupted => Err(Failure::Interrupted),
            Self::Refused(message) => Err(Failure::Usage(message)),
            Self::Failed(message) => Err(Failure::Run(message)),
        }
    }
}

/// The results of a command, step by step.
pub(crate) trait Steps: Send + 'static {
    type Report;

    /// The plural noun for the steps, such as `measurements`.
    const NAME: &'static str;
    const VIEWS: Views<Self::Report>;

    fn planned(&self) -> usize;

    /// The number of steps that have a result.
    fn done(&self) -> usize;

    /// The report of all results if the run ends for the reason `end`.
    fn report(self, circumstances: Circumstances, end: &End) -> Self::Report;

    /// Whether the numbers of the report are reliable.
    fn trust(report: &Self::Report) -> &Trust;
}

/// The parts of a report other than the results of the steps.
pub(crate) struct Circumstances {
    pub machine: MachineInfo,
    pub environment: Environment,
    /// The reasons why the numbers are not reliable.
    pub reasons: Vec<Reason>,
    /// The counters of the parts of a simulated machine, if the user asked for them.
    pub counters: Option<Counters>,
}

/// The output of a session: its format, its files, and whether progress is shown.
pub(crate) struct SessionOptions {
    pub format: Format,
    pub printed: Printed,
    pub files: ResultFiles,
    /// Whether progress and warnings are not shown.
    pub quiet: bool,
    /// The steps that this process does, and the file for their results.
    pub sweep: Sweep,
}

impl SessionOptions {
    /// The options from the flags and the files.
    pub fn of(common: &CommonArgs, files: ResultFiles) -> Self {
        Self {
            format: common.output.format,
            printed: Printed::ToStandardOutput,
            files,
            quiet: common.quiet,
            sweep: Sweep::default(),
        }
    }

    /// The options for a part of a sweep.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if there are files for the result although this process does a share. A
    /// share has no result of its own.
    pub fn with(self, sweep: Sweep) -> Result<Self, Failure> {
        match self.files.flag() {
            Some(flag) if sweep.is_a_share() => Err(Failure::Usage(format!(
                "{flag} of a share of a sweep, which prints nothing; give it to `cellworks merge`"
            ))),
            _ => Ok(Self { sweep, ..self }),
        }
    }
}

/// A run with its results so far.
pub(crate) struct Session<S> {
    /// `None` after the run is concluded.
    found: Mutex<Option<Found<S>>>,
    /// The time of the first Ctrl-C.
    interrupted: OnceLock<Instant>,
    machine: MachineInfo,
    /// `None` on a simulated machine, which nothing can disturb.
    surroundings: Option<Surroundings>,
    progress: Progress,
    format: Format,
    printed: Printed,
    quiet: bool,
    sweep: Sweep,
}

struct Found<S> {
    steps: S,
    warnings: Vec<String>,
    counters: Option<Counters>,
    /// The files of the result.
    files: ResultFiles,
}

impl<S: Steps> Session<S> {
    /// Begins a run of the given steps. From here on Ctrl-C ends the run.
    pub fn begin(
        machine: MachineInfo,
        surroundings: Option<Surroundings>,
        steps: S,
        options: SessionOptions,
    ) -> Arc<Self> {
        let SessionOptions {
            format,
            printed,
            files,
            quiet,
            sweep,
        } = options;
        if let (Some(computer), false) = (&surroundings, quiet) {
            let words = Words::of(&machine);
            let warnings = computer.warnings();
            warnings
                .iter()
                .for_each(|warning| warn(&words.say(warning)));
        }
        let session = Arc::new(Self {
            progress: Progress::new(steps.planned(), quiet),
            found: Mutex::new(Some(Found {
                steps,
                warnings: Vec::new(),
                counters: None,
                files,
            })),
            interrupted: OnceLock::new(),
            machine,
            surroundings,
            format,
            printed,
            quiet,
            sweep,
        });
        let on_ctrl_c = Arc::clone(&session);
        // If the handler cannot be set, Ctrl-C still ends the process, but saves nothing.
        let _ = ctrlc::set_handler(move || on_ctrl_c.interrupt());
        session
    }

    /// Whether the run should end now.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.get().is_some()
    }

    /// The reason why the run should end now, if there is one. Called between steps.
    pub fn end_reason(&self) -> Option<End> {
        if self.is_interrupted() {
            return Some(End::Interrupted);
        }
        let computer = self.surroundings.as_ref()?;
        computer.check().err().map(End::Spoiled)
    }

    /// The steps that this process does, and the file for their results.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The steps that this process has to do. Files may contain the results of other steps. For
    /// each of them, `read` converts the value in the file, and `known` records the result.
    ///
    /// # Errors
    ///
    /// The end of the run if a value in a file is not a result.
    pub fn to_do<T: DeserializeOwned, R>(
        &self,
        planned: usize,
        read: impl Fn(T) -> Result<R, String>,
        known: impl Fn(&mut S, usize, R),
    ) -> Result<HashSet<usize>, End> {
        // All values are read before the first is recorded. A wrong value prevents all printing.
        let (mut results, mut to_do) = (Vec::new(), HashSet::new());
        for step in 0..planned {
            match self.sweep.step(step, &read).map_err(End::Refused)? {
                Step::Known(found) => results.push((step, found)),
                Step::ToDo => {
                    to_do.insert(step);
                }
                Step::Elsewhere => {}
            }
        }
        self.update(|steps| {
            for (step, found) in results {
                known(steps, step, found);
            }
        });
        Ok(to_do)
    }

    /// Translates a text into the words of the machine.
    pub fn say(&self, text: &str) -> String {
        Words::of(&self.machine).say(text)
    }

    /// The progress bar.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Changes the results, unless the run has been concluded.
    pub fn update(&self, change: impl FnOnce(&mut S)) {
        if let Some(found) = self.lock().as_mut() {
            change(&mut found.steps);
        }
    }

    /// Prints and records warnings about the numbers.
    pub fn record_warnings(&self, warnings: Vec<String>) {
        if !self.quiet {
            self.progress.clear();
            warnings.iter().for_each(|warning| warn(warning));
        }
        if let Some(found) = self.lock().as_mut() {
            found.warnings.extend(warnings);
        }
    }

    /// Records the counters of a simulated machine.
    pub fn record_counters(&self, counters: Counters) {
        if let Some(found) = self.lock().as_mut() {
            found.counters = Some(counters);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Found<S>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles Ctrl-C. The work is done on a new thread, because the thread of the handler must be
    /// free for the next Ctrl-C.
    fn interrupt(self: &Arc<Self>) {
        if let Some(first) = self.interrupted.get() {
            if first.elapsed() > SAME_PRESS {
                self.progress.clear();
                exit(exit_code(Err(Failure::Interrupted)).into());
            }
            return;
        }
        let _ = self.interrupted.set(Instant::now());
        let session = Arc::clone(self);
        thread::spawn(move || session.conclude_after_grace());
    }

    /// Concludes the run after [`GRACE`], unless the run has concluded by then.
    fn conclude_after_grace(&self) {
        thread::sleep(GRACE);
        // If this thread panicked, the run would wait for it forever.
        let end = catch_unwind(AssertUnwindSafe(|| {
            self.take(End::Interrupted, true).map(exit_code)
        }));
        match end {
            Ok(None) => {}
            Ok(Some(code)) => exit(code.into()),
            Err(_) => exit(exit_code(Err(Failure::Interrupted)).into()),
        }
    }

    /// Ends the run: prints and saves the results.
    ///
    /// If Ctrl-C has concluded the run, this function does not return: the process is about to end.
    pub fn conclude(&self, end: End) -> Result<(), Failure> {
        match self.take(end, false) {
            Some(end) => end,
            None => loop {
                thread::park();
            },
        }
    }

    /// Prints and saves the results, only once. `running` is true if a step is under way.
    fn take(&self, end: End, running: bool) -> Option<Result<(), Failure>> {
        // The lock is released before printing, which takes forever if the output is not read.
        let found = self.lock().take()?;
        self.progress.clear();
        Some(self.finish(found, end, running))
    }

    /// Prints and saves the results, and returns the end of the command.
    fn finish(&self, found: Found<S>, end: End, running: bool) -> Result<(), Failure> {
        let Found {
            steps,
            warnings,
            counters,
            mut files,
        } = found;
        let (done, planned) = (steps.done(), steps.planned());
        match end {
            End::Refused(message) if done == 0 => return Err(Failure::Usage(message)),
            End::Interrupted if !self.quiet => {
                warn(&format!(
                    "interrupted: {done} of {planned} {} were finished",
                    S::NAME
                ));
            }
            _ => {}
        }
        if self.sweep.is_a_share() {
            if !self.quiet {
                note(&self.sweep.share_note());
            }
            return end.into_result();
        }
        let (mut environment, disturbances) = match &self.surroundings {
            None => (environment_of_a_simulation(), Vec::new()),
            Some(computer) if running => (computer.meanwhile(), Vec::new()),
            Some(computer) => computer.after(),
        };
        environment.warnings.extend(warnings);
        let mut disturbed = Vec::new();
        if let End::Spoiled(why) = &end {
            disturbed.push(why.clone());
        }
        // Without a measurement nothing could be disturbed.
        if done > 0 {
            disturbed.extend(disturbances);
        }
        let reason = |text| Reason {
            kind: ReasonKind::Disturbed,
            text,
        };
        let foreign = self.surroundings.as_ref().and_then(Surroundings::foreign);
        let circumstances = Circumstances {
            machine: self.machine.clone(),
            environment,
            reasons: disturbed.into_iter().map(reason).chain(foreign).collect(),
            counters,
        };
        let report = steps.report(circumstances, &end);
        if done == 0 || !matches!(end, End::Done | End::Spoiled(_)) {
            files.keep_what_is_there();
        }
        let shown = show(&report, &S::VIEWS, self.format, self.printed, files);
        let trust = S::trust(&report);
        let end = match end {
            End::Done if self.sweep.is_merged() && done < planned => Err(Failure::Run(format!(
                "{} of {planned} {} are in none of the files, as the result says; name the files of all shares, or \
                 simulate these again",
                planned - done,
                S::NAME
            ))),
            End::Done | End::Spoiled(_) if !trust.trustworthy => {
                Err(Failure::Untrusted(trust.clone()))
            }
            end => end.into_result(),
        };
        combine(shown, end)
    }
}
