//! The results of the steps of a run. The run ends when all steps are done, a step fails, or the
//! user presses Ctrl-C. In each case, the results of finished steps are printed and saved once.
//!
//! ```text
//!   the run:   update, update ... ───── conclude(Done) ──┐
//!                  │                                     ├─► report the results, only once
//!   Ctrl-C:    ask the run to stop ── a second later ────┘
//!   Ctrl-C again: end the process at once
//! ```
//!
//! A step cannot be stopped halfway, so Ctrl-C asks the run to end after the present step. If the
//! step takes longer than a second, the thread that handles Ctrl-C prints the results.

// Rejected: checking for Ctrl-C inside a measurement: each measured loop would need such a check.

use std::collections::HashSet;
use std::mem;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use cellworks_host::Watch;
use cellworks_report::{
    Counters, Envelope, Environment, MachineInfo, Reason, ReasonKind, Trust, Views, Words,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, exit_code};
use crate::interrupt::{GRACE, Interrupt, Press};
use crate::message::{note, warn};
use crate::output::Format;
use crate::output::{Printed, ResultFiles, combine, show};
use crate::progress::Progress;
use crate::surroundings::{Surroundings, environment_of_a_simulation};
use crate::sweep::{Step, Sweep};

pub(crate) enum End {
    /// All steps are done, or the time is over.
    Done,
    Interrupted,
    /// The computer changed during the run, so the numbers are not reliable.
    Spoiled(String),
    /// The machine cannot do the work at all, or cannot do the work in the given time.
    Refused(String),
    Failed(String),
}

impl End {
    /// Returns the reason why a step has no result. Reports contain this text.
    pub fn why_missing(&self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            // All steps are done, so this is a merge of files that lack the result.
            Self::Done => "no file has it",
            _ => "the run ended before",
        }
    }

    fn into_result(self) -> Result<(), Failure> {
        match self {
            Self::Done | Self::Spoiled(_) => Ok(()),
            Self::Interrupted => Err(Failure::Interrupted),
            Self::Refused(message) => Err(Failure::Usage(message)),
            Self::Failed(message) => Err(Failure::Run(message)),
        }
    }
}

/// Returns whether a call that asks between its steps goes on, which it does unless `is_over`.
pub(crate) fn go_on_unless(is_over: bool) -> ControlFlow<()> {
    if is_over {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// The results of a command, step by step. A step is, for example, a measurement.
pub(crate) trait Steps: Send + 'static {
    type Report: Serialize + Views + AsRef<Envelope>;

    /// A plural noun for the steps, such as `measurements`.
    const NAME: &'static str;

    fn planned(&self) -> usize;

    /// Returns the number of steps that have a result.
    fn done(&self) -> usize;

    /// Returns the report of all results. `end` is the reason why the run ends.
    fn report(self, circumstances: Circumstances, end: &End) -> Self::Report;

    /// Returns whether the results are reliable, which decides the exit code.
    fn trust(report: &Self::Report) -> &Trust {
        &report.as_ref().trust
    }
}

/// The parts of a report besides the results of the steps.
pub(crate) struct Circumstances {
    pub machine: MachineInfo,
    pub environment: Environment,
    /// The reasons why the numbers are not reliable.
    pub reasons: Vec<Reason>,
    /// The counters of a simulated machine, if the user asked for them.
    pub counters: Option<Counters>,
}

impl Circumstances {
    pub fn envelope(self, command: &str, is_complete: bool) -> Envelope {
        Envelope::new(
            command,
            self.machine,
            self.environment,
            self.reasons,
            is_complete,
        )
    }
}

/// The output of a session: its format, its files, and whether progress is shown.
pub(crate) struct SessionOptions {
    pub format: Format,
    pub printed: Printed,
    pub files: ResultFiles,
    /// True if progress and warnings are not shown.
    pub quiet: bool,
    /// The steps that this process does, and the file for their results.
    pub sweep: Sweep,
}

impl SessionOptions {
    pub fn of(format: Format, quiet: bool, files: ResultFiles) -> Self {
        Self {
            format,
            printed: Printed::ToStandardOutput,
            files,
            quiet,
            sweep: Sweep::default(),
        }
    }

    /// Adds to the options which part of a sweep this process does.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if `sweep` is a share and there are files for the result. A share has no
    /// result of its own.
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
    /// `None` after the results were reported.
    so_far: Mutex<Option<SoFar<S>>>,
    interrupted: Interrupt,
    machine: MachineInfo,
    /// The state of this computer. `None` for a simulated machine.
    surroundings: Option<Surroundings>,
    progress: Progress,
    /// The output, without its files, which are in `so_far`.
    options: SessionOptions,
    /// The message of a step that has failed beside others.
    failed: OnceLock<String>,
}

/// What a run has so far.
struct SoFar<S> {
    steps: S,
    warnings: Vec<String>,
    counters: Option<Counters>,
    files: ResultFiles,
}

impl<S: Steps> Session<S> {
    /// Begins a run of the given steps. From now on Ctrl-C ends the run.
    pub fn begin(
        machine: MachineInfo,
        surroundings: Option<Surroundings>,
        steps: S,
        mut options: SessionOptions,
    ) -> Arc<Self> {
        if let (Some(computer), false) = (&surroundings, options.quiet) {
            let words = Words::of(&machine);
            let warnings = computer.warnings();
            warnings
                .iter()
                .for_each(|warning| warn(&words.say(warning)));
        }
        let session = Arc::new(Self {
            progress: Progress::new(steps.planned(), options.quiet),
            so_far: Mutex::new(Some(SoFar {
                steps,
                warnings: Vec::new(),
                counters: None,
                files: mem::take(&mut options.files),
            })),
            interrupted: Interrupt::default(),
            machine,
            surroundings,
            options,
            failed: OnceLock::new(),
        });
        let on_ctrl_c = Arc::clone(&session);
        // If the handler cannot be set, Ctrl-C still ends the process, but saves nothing.
        let _ = ctrlc::set_handler(move || on_ctrl_c.interrupt());
        session
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.is_pressed()
    }

    /// Returns the reason why the run has to end now, if there is one.
    pub fn end_reason(&self) -> Option<End> {
        if let Some(message) = self.failed.get() {
            return Some(End::Failed(message.clone()));
        }
        if self.is_interrupted() {
            return Some(End::Interrupted);
        }
        let computer = self.surroundings.as_ref()?;
        computer.check().err().map(End::Spoiled)
    }

    /// Begins a watch of the CPUs of this computer. `None` for a simulated machine.
    pub fn watch(&self) -> Option<Watch<'static>> {
        self.surroundings.as_ref()?.watch()
    }

    pub fn sweep(&self) -> &Sweep {
        &self.options.sweep
    }

    /// Returns the steps that this process has to do. If a file has the result of one of the other
    /// steps, `read` converts the value in the file, and `known` records the result.
    ///
    /// # Errors
    ///
    /// The end of the run, if a value in a file is not a result.
    pub fn to_do<T: DeserializeOwned, R>(
        &self,
        planned: usize,
        read: impl Fn(T) -> Result<R, String>,
        known: impl Fn(&mut S, usize, R),
    ) -> Result<HashSet<usize>, End> {
        // All values are read before a result is recorded, so that nothing is printed if a value is
        // wrong.
        let (mut results, mut to_do) = (Vec::new(), HashSet::new());
        for step in 0..planned {
            match self.options.sweep.step(step, &read).map_err(End::Refused)? {
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

    pub fn say(&self, text: &str) -> String {
        Words::of(&self.machine).say(text)
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Changes the results, unless they were already reported.
    pub fn update(&self, change: impl FnOnce(&mut S)) {
        if let Some(so_far) = self.lock().as_mut() {
            change(&mut so_far.steps);
        }
    }

    /// Keeps and records the result of a step that ran beside others, and returns whether to go on.
    pub fn record<R: Serialize>(
        &self,
        step: usize,
        result: Result<R, String>,
        known: impl Fn(&mut S, usize, R),
    ) -> ControlFlow<()> {
        let kept = result.and_then(|result| {
            self.sweep().keep(step, &result)?;
            self.update(|steps| {
                known(steps, step, result);
                self.progress.at(steps.done(), steps.planned());
            });
            Ok(())
        });
        if let Err(message) = kept {
            let _ = self.failed.set(message);
        }
        go_on_unless(self.end_reason().is_some())
    }

    /// Prints warnings, unless the result begins with them.
    pub fn tell(&self, warnings: &[String]) {
        if !self.options.format.begins_with_warnings() {
            self.print(warnings);
        }
    }

    fn print(&self, warnings: &[String]) {
        if !self.options.quiet {
            self.progress.clear();
            warnings.iter().for_each(|warning| warn(warning));
        }
    }

    pub fn record_warnings(&self, warnings: Vec<String>) {
        self.tell(&warnings);
        self.keep_warnings(warnings);
    }

    /// Records warnings of a run that did not end well, and prints them, because its result may not
    /// be shown.
    pub fn record_warnings_of_failure(&self, warnings: Vec<String>) {
        self.print(&warnings);
        self.keep_warnings(warnings);
    }

    fn keep_warnings(&self, warnings: Vec<String>) {
        if let Some(so_far) = self.lock().as_mut() {
            so_far.warnings.extend(warnings);
        }
    }

    pub fn record_counters(&self, counters: Counters) {
        if let Some(so_far) = self.lock().as_mut() {
            so_far.counters = Some(counters);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<SoFar<S>>> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles Ctrl-C. A new thread does the work, so that the thread of the handler can receive
    /// the next Ctrl-C.
    fn interrupt(self: &Arc<Self>) {
        match self.interrupted.record() {
            Press::First => {
                let session = Arc::clone(self);
                thread::spawn(move || session.conclude_after_grace());
            }
            Press::Same => {}
            Press::Again => {
                self.progress.clear();
                exit(exit_code(Err(Failure::Interrupted)).into());
            }
        }
    }

    /// Waits for [`GRACE`], and reports the results if the run has not reported them by then.
    fn conclude_after_grace(&self) {
        thread::sleep(GRACE);
        // If a panic ended only this thread, the run could wait in `conclude` forever.
        let end = catch_unwind(AssertUnwindSafe(|| {
            let so_far = self.lock().take();
            so_far.map(|so_far| exit_code(self.finish(so_far, End::Interrupted, true)))
        }));
        match end {
            Ok(None) => {}
            Ok(Some(code)) => exit(code.into()),
            Err(_) => exit(exit_code(Err(Failure::Interrupted)).into()),
        }
    }

    /// Ends the run: prints and saves the results.
    ///
    /// If Ctrl-C has already reported the results, this function blocks until the process ends.
    pub fn conclude(&self, end: End) -> Result<(), Failure> {
        let so_far = self.lock().take();
        match so_far {
            Some(so_far) => self.finish(so_far, end, false),
            None => loop {
                thread::park();
            },
        }
    }

    /// Prints and saves the results, which the caller has taken: the lock is not held, because
    /// printing can block forever. `running` is true if a step has not ended.
    fn finish(&self, so_far: SoFar<S>, end: End, running: bool) -> Result<(), Failure> {
        self.progress.clear();
        let SoFar {
            steps,
            warnings,
            counters,
            mut files,
        } = so_far;
        let (done, planned) = (steps.done(), steps.planned());
        match end {
            End::Refused(message) if done == 0 => return Err(Failure::Usage(message)),
            End::Interrupted if !self.options.quiet => {
                warn(&format!(
                    "interrupted: {done} of {planned} {} were finished",
                    S::NAME
                ));
            }
            _ => {}
        }
        if self.options.sweep.is_a_share() {
            if !self.options.quiet {
                note(&self.options.sweep.share_note());
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
        // If no step has a result, there are no numbers that a disturbance could make doubtful.
        if done > 0 {
            disturbed.extend(disturbances);
        }
        let reason = |text| ReasonKind::Disturbed.reason(text);
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
        let shown = show(&report, self.options.format, self.options.printed, files);
        let trust = S::trust(&report);
        let end = match end {
            End::Done if self.options.sweep.is_merged() && done < planned => {
                Err(Failure::Run(format!(
                    "{} of {planned} {} are in none of the files, as the result says; name the files of all shares, or \
                 simulate these again",
                    planned - done,
                    S::NAME
                )))
            }
            End::Done | End::Spoiled(_) if !trust.trustworthy => {
                Err(Failure::Untrusted(trust.clone()))
            }
            end => end.into_result(),
        };
        combine(shown, end)
    }
}
