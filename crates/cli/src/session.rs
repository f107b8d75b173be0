//! What a command that measures has found so far, and how it ends: when all is done, when something
//! fails, or when somebody presses Ctrl-C. Whatever was finished is printed and saved.
//!
//! ```text
//!   the run:   update, update ... ───── conclude(Done) ──┐
//!                  │                                     ├─► the first takes what was found: report
//!   Ctrl-C:    ask the run to stop ── a second later ────┘
//!              again: the process ends at once
//! ```
//!
//! A step cannot be stopped halfway. So Ctrl-C asks the run to end after the present one, and
//! concludes in its place if that takes long.

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
use crate::output::{Printed, ResultFiles, Views, both, show};
use crate::progress::Progress;
use crate::surroundings::{Surroundings, environment_of_a_simulation};
use crate::sweep::{Step, Sweep};

/// How long Ctrl-C waits for the present step to end.
const GRACE: Duration = Duration::from_secs(1);

/// A signal so soon after the first is no second wish: some programs pass SIGINT on to a process
/// that the terminal has sent it too.
const SAME_PRESS: Duration = Duration::from_millis(300);

/// Why a run ends.
pub(crate) enum End {
    /// There is nothing left to do, or no time for it.
    Done,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// The numbers cannot be trusted any more, whatever comes.
    Spoiled(String),
    /// What was asked for cannot be done on this machine, or not in this time.
    Refused(String),
    /// A step failed.
    Failed(String),
}

impl End {
    /// Why a step has no result, where the run ends so.
    pub fn why_missing(&self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            // Only a merge ends well without it.
            Self::Done => "no file has it",
            _ => "the run ended before",
        }
    }

    /// The end of the command, where its numbers can be trusted.
    fn of_the_command(self) -> Result<(), Failure> {
        match self {
            Self::Done | Self::Spoiled(_) => Ok(()),
            Self::Interrupted => Err(Failure::Interrupted),
            Self::Refused(message) => Err(Failure::Usage(message)),
            Self::Failed(message) => Err(Failure::Run(message)),
        }
    }
}

/// What a command finds, step by step.
pub(crate) trait Steps: Send + 'static {
    type Report;

    /// What its steps are called, such as `measurements`.
    const NAME: &'static str;
    const VIEWS: Views<Self::Report>;

    fn planned(&self) -> usize;

    /// How many steps have found something.
    fn done(&self) -> usize;

    /// All that was found, when it ends so.
    fn report(self, circumstances: Circumstances, end: &End) -> Self::Report;

    /// Whether its numbers can be trusted.
    fn trust(report: &Self::Report) -> &Trust;
}

/// What is known around that which was found.
pub(crate) struct Circumstances {
    pub machine: MachineInfo,
    pub environment: Environment,
    /// Why the numbers cannot be trusted.
    pub reasons: Vec<Reason>,
    /// What the parts of a simulated machine did, if somebody asked.
    pub counters: Option<Counters>,
}

/// How a run and what it has found are shown.
pub(crate) struct Shown {
    pub format: Format,
    pub printed: Printed,
    pub files: ResultFiles,
    /// Neither progress nor warnings.
    pub quiet: bool,
    /// Which steps are done, and where their results are kept.
    pub sweep: Sweep,
}

impl Shown {
    /// As these flags say, with these files.
    pub fn of(common: &CommonArgs, files: ResultFiles) -> Self {
        Self {
            format: common.output.format,
            printed: Printed::ToStandardOutput,
            files,
            quiet: common.quiet,
            sweep: Sweep::default(),
        }
    }

    /// The same of a part of a sweep.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if there is to be a file, and this is a share, which has no results to
    /// show.
    pub fn with(self, sweep: Sweep) -> Result<Self, Failure> {
        match self.files.flag() {
            Some(flag) if sweep.is_a_share() => Err(Failure::Usage(format!(
                "{flag} of a share of a sweep, which prints nothing; give it to `cellworks merge`"
            ))),
            _ => Ok(Self { sweep, ..self }),
        }
    }
}

/// A run.
pub(crate) struct Session<S> {
    /// `None` once the run was concluded.
    found: Mutex<Option<Found<S>>>,
    /// When Ctrl-C was pressed first.
    interrupted: OnceLock<Instant>,
    machine: MachineInfo,
    /// `None` of a simulated machine: nothing can disturb it.
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
    /// Where the result is going to be, beside what is printed.
    files: ResultFiles,
}

impl<S: Steps> Session<S> {
    /// Begins a run of these steps. From here on Ctrl-C ends it.
    pub fn begin(
        machine: MachineInfo,
        surroundings: Option<Surroundings>,
        steps: S,
        shown: Shown,
    ) -> Arc<Self> {
        let Shown {
            format,
            printed,
            files,
            quiet,
            sweep,
        } = shown;
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
        // Without a handler Ctrl-C still ends the process, only less tidily.
        let _ = ctrlc::set_handler(move || on_ctrl_c.interrupt());
        session
    }

    /// Whether the run should end now.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.get().is_some()
    }

    /// Why the run should end now, if it should. To be asked between steps.
    pub fn has_to_end(&self) -> Option<End> {
        if self.is_interrupted() {
            return Some(End::Interrupted);
        }
        let computer = self.surroundings.as_ref()?;
        computer.check().err().map(End::Spoiled)
    }

    /// Which steps are done, and where their results are kept.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The steps of this many that this process is to do. What files have of the others is made a
    /// result by `read`, and taken down by `known`.
    ///
    /// # Errors
    ///
    /// How the run ends if a file has something else than a result.
    pub fn to_do<T: DeserializeOwned, R>(
        &self,
        planned: usize,
        read: impl Fn(T) -> Result<R, String>,
        known: impl Fn(&mut S, usize, R),
    ) -> Result<HashSet<usize>, End> {
        // Nothing is taken down, and so nothing printed, if one of them is wrong.
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

    /// A text in the words of the machine.
    pub fn say(&self, text: &str) -> String {
        Words::of(&self.machine).say(text)
    }

    /// Where progress is shown.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Changes what was found, unless the run was concluded meanwhile.
    pub fn update(&self, change: impl FnOnce(&mut S)) {
        if let Some(found) = self.lock().as_mut() {
            change(&mut found.steps);
        }
    }

    /// Records what a reader of the numbers should know, and says it.
    pub fn warned(&self, warnings: Vec<String>) {
        if !self.quiet {
            self.progress.clear();
            warnings.iter().for_each(|warning| warn(warning));
        }
        if let Some(found) = self.lock().as_mut() {
            found.warnings.extend(warnings);
        }
    }

    /// Records what the parts of a simulated machine did.
    pub fn counted(&self, counters: Counters) {
        if let Some(found) = self.lock().as_mut() {
            found.counters = Some(counters);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Found<S>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What Ctrl-C does, on a thread of its own that must be free for the next one.
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
        thread::spawn(move || session.conclude_for_the_run());
    }

    /// Concludes the run, unless it does so itself in time.
    fn conclude_for_the_run(&self) {
        thread::sleep(GRACE);
        // Nothing may be left waiting for a thread that has gone.
        let end = catch_unwind(AssertUnwindSafe(|| {
            self.take(End::Interrupted, true).map(exit_code)
        }));
        match end {
            Ok(None) => {}
            Ok(Some(code)) => exit(code.into()),
            Err(_) => exit(exit_code(Err(Failure::Interrupted)).into()),
        }
    }

    /// Ends the run: prints and saves what was found.
    ///
    /// If Ctrl-C was faster, does not return: the process is about to end.
    pub fn conclude(&self, end: End) -> Result<(), Failure> {
        match self.take(end, false) {
            Some(end) => end,
            None => loop {
                thread::park();
            },
        }
    }

    /// Prints and saves what was found, if that was not done before; `running` if a step goes on
    /// meanwhile.
    fn take(&self, end: End, running: bool) -> Option<Result<(), Failure>> {
        // Not held while printing, which may take for ever if nobody reads.
        let found = self.lock().take()?;
        self.progress.clear();
        Some(self.finish(found, end, running))
    }

    /// Prints and saves what was found, and says how the run ends.
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
                note(&self.sweep.of_the_share());
            }
            return end.of_the_command();
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
        // Where nothing was measured, nothing was disturbed.
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
            end => end.of_the_command(),
        };
        both(shown, end)
    }
}
