//! A sweep consists of many independent simulations, the steps. The steps can be divided among
//! processes and computers. Each process writes its results to a file, and the files can be merged.
//!
//! ```text
//!   share 1/2:  step 0   step 2   step 4 ──► lu.1-of-2.jsonl ──┐
//!   share 2/2:  step 1   step 3          ──► lu.2-of-2.jsonl ──┴─► cellworks merge ──► the whole
//! ```
//!
//! The command of a sweep takes the results of steps from files, and simulates the steps without a
//! result. If files have the results of all steps, the command only prints. `merge` therefore runs
//! the command of the shares again, with their files.

mod file;
mod share;

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use file::{Header, ResultFile};
pub(crate) use share::Share;

use crate::failure::Failure;
use file::Appended;

/// Flags of commands that simulate many steps.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Options of sweeps on simulated machines")]
pub(crate) struct SweepArgs {
    /// Simulates only every N-th step of the sweep, from step I on, such as 3/64, and keeps the
    /// results in a file for `cellworks merge` [default: the share of this task, if Slurm or MPI
    /// has started several tasks]
    #[arg(long, value_name = "I/N")]
    pub share: Option<Share>,

    /// Keeps the result of each step in this file, and skips the steps that the file already has
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,

    /// The files of a merge, which simulates no steps itself.
    #[arg(skip)]
    pub merged: Vec<ResultFile>,
}

impl SweepArgs {
    /// Returns the first of these flags that the user has given.
    pub fn first_given(&self) -> Option<&'static str> {
        let share = self.share.map(|_| "--share");
        share.or(self.results.as_ref().map(|_| "--results"))
    }

    /// Returns the number of steps of the merged sweep, or `None` without a merge.
    pub fn merged_steps(&self) -> Option<usize> {
        self.merged.first().map(|file| file.header.steps.len())
    }

    /// Begins a sweep: reads earlier results from files, and opens the file for new results. If no
    /// flag names the file for new results, its name is made from `name`.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if a file has results of another sweep, or cannot be read or written.
    pub fn begin(&self, name: &str, header: Header) -> Result<Sweep, Failure> {
        let mut sweep = Sweep {
            steps: header.steps.len(),
            part: Part::All,
            known: BTreeMap::new(),
            file: None,
        };
        if !self.merged.is_empty() {
            sweep.part = Part::None;
            for file in &self.merged {
                file.check(&header)?;
                sweep.know(file)?;
            }
            return Ok(sweep);
        }
        let share = match self.share {
            Some(share) => Some(share),
            None if sweep.steps > 1 => Share::of_environment(&|name| env::var(name).ok())?,
            None => None,
        };
        let path = match (&self.results, share) {
            (None, None) => return Ok(sweep),
            (Some(path), None) => path.clone(),
            (None, Some(share)) => share.file(&PathBuf::from(format!("{name}.jsonl"))),
            (Some(path), Some(share)) => share.file(path),
        };
        sweep.part = share.map_or(Part::All, Part::Share);
        let (file, before) = Appended::open(&path, &header)?;
        if let Some(before) = &before {
            sweep.know(before)?;
        }
        sweep.file = Some(Mutex::new(file));
        Ok(sweep)
    }
}

/// The part of a sweep that this process does, and the results from files.
#[derive(Default)]
pub(crate) struct Sweep {
    steps: usize,
    part: Part,
    /// The results from files: for each step its value, and the file and line of the value.
    known: BTreeMap<usize, (Value, String)>,
    /// The file for the results of this process, if there is one.
    file: Option<Mutex<Appended>>,
}

/// The steps that a process simulates.
#[derive(Clone, Copy, Default)]
enum Part {
    #[default]
    All,
    Share(Share),
    None,
}

/// The source of the result of a step: a file, this process or another process.
pub(crate) enum Step<T> {
    /// A file has the result.
    Known(T),
    /// This process simulates the step.
    ToDo,
    /// Another process simulates the step, or the files of a merge do not have its result.
    Elsewhere,
}

impl Sweep {
    /// Returns the origin of the result of a step. `read` converts a value from a file to a result.
    /// The error is a message that the value is not a result.
    pub fn step<T: DeserializeOwned, R>(
        &self,
        step: usize,
        read: impl FnOnce(T) -> Result<R, String>,
    ) -> Result<Step<R>, String> {
        if let Some((found, place)) = self.known.get(&step) {
            let found = serde_json::from_value(found.clone())
                .map_err(|error| format!("this is no result of step {step}: {error}"));
            return match found.and_then(read) {
                Ok(found) => Ok(Step::Known(found)),
                Err(why) => Err(format!(
                    "{place}: {why}; remove the line, and simulate the step again"
                )),
            };
        }
        let is_ours = match self.part {
            Part::All => true,
            Part::Share(share) => share.has(step),
            Part::None => false,
        };
        Ok(if is_ours { Step::ToDo } else { Step::Elsewhere })
    }

    /// Appends the result of a step to the file, if there is one. The error is a message that the
    /// file cannot be written.
    pub fn keep(&self, step: usize, found: &impl Serialize) -> Result<(), String> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.append(step, found)
    }

    /// Returns true if all results come from files.
    pub fn is_merged(&self) -> bool {
        matches!(self.part, Part::None)
    }

    /// Returns true if this process does a share. A share prints no result.
    pub fn is_a_share(&self) -> bool {
        matches!(self.part, Part::Share(_))
    }

    /// Returns a sentence about the file of the share, or an empty text without a share.
    pub fn share_note(&self) -> String {
        let (Part::Share(share), Some(file)) = (self.part, &self.file) else {
            return String::new();
        };
        let file = file.lock().unwrap_or_else(PoisonError::into_inner);
        format!(
            "share {share}: {} of {} steps are in {}; `cellworks merge` with the files of all shares prints the \
             whole",
            file.steps(),
            self.steps,
            file.path().display(),
        )
    }

    fn know(&mut self, file: &ResultFile) -> Result<(), Failure> {
        for (step, found, line) in &file.found {
            let place = file.place(*line);
            if let Some((known, before)) = self.known.get(step) {
                if known != found {
                    return Err(Failure::Usage(format!(
                        "{place}: step {step} has found something else than {before} says, but a simulation \
                         repeats exactly; simulate the step again, and leave out the wrong file"
                    )));
                }
                continue;
            }
            self.known.insert(*step, (found.clone(), place));
        }
        Ok(())
    }
}
