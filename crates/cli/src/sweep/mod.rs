//! Sweeps: many simulations that do not depend on each other. They can be divided over processes
//! and computers, their results are kept in files, and files are put together again.
//!
//! ```text
//!   share 1/2:  step 0   step 2   step 4 ──► lu.1-of-2.jsonl ──┐
//!   share 2/2:  step 1   step 3          ──► lu.2-of-2.jsonl ──┴─► cellworks merge ──► the whole
//! ```
//!
//! A file says which sweep it belongs to, and has a line for each step that is done. Whatever
//! prints a sweep takes the results of steps from files where they are there, and simulates the
//! others: so `merge` prints by the same code as the command that was divided.

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

/// What commands that simulate in many steps have besides.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Options of sweeps on simulated machines")]
pub(crate) struct SweepArgs {
    /// Simulates only every N-th step of the sweep, from step I on, such as 3/64, and keeps the
    /// results in a file for `cellworks merge` [default: as Slurm or MPI say, if one of them has
    /// started several tasks]
    #[arg(long, value_name = "I/N")]
    pub share: Option<Share>,

    /// Keeps the result of each step in this file, and does not simulate again what the file has
    /// already
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,

    /// Files whose results are all that there is.
    #[arg(skip)]
    pub merged: Vec<ResultFile>,
}

impl SweepArgs {
    /// The first of the flags that was given.
    pub fn given(&self) -> Option<&'static str> {
        let share = self.share.map(|_| "--share");
        share.or(self.results.as_ref().map(|_| "--results"))
    }

    /// How many steps the sweep has whose files are merged; `None` if none are.
    pub fn merged_steps(&self) -> Option<usize> {
        self.merged.first().map(|file| file.header.steps.len())
    }

    /// What is done of a sweep of these steps, and where it is kept. `name` is what its files are
    /// called where no flag says it.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if a file has results of another sweep or cannot be read or written.
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

/// What a process does of a sweep, and what is known of it.
#[derive(Default)]
pub(crate) struct Sweep {
    steps: usize,
    part: Part,
    /// What each step has found, as files say, and which one says it.
    known: BTreeMap<usize, (Value, String)>,
    /// Where the results of steps are kept, if they are.
    file: Option<Mutex<Appended>>,
}

/// Which steps a process simulates.
#[derive(Clone, Copy, Default)]
enum Part {
    #[default]
    All,
    Share(Share),
    None,
}

/// What is to be done about a step.
pub(crate) enum Step<T> {
    /// It has found this already.
    Known(T),
    /// This process is to simulate it.
    ToDo,
    /// Another process simulates it, or its result is missing.
    Elsewhere,
}

impl Sweep {
    /// What is to be done about a step, where `read` makes its result of what a file has. The
    /// message says that a file has no such result.
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
        Ok(match is_ours {
            true => Step::ToDo,
            false => Step::Elsewhere,
        })
    }

    /// Keeps what a step has found, if there is a file for it. The message says that the file
    /// cannot be written.
    pub fn keep(&self, step: usize, found: &impl Serialize) -> Result<(), String> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.append(step, found)
    }

    /// Whether files have all the results that there are.
    pub fn is_merged(&self) -> bool {
        matches!(self.part, Part::None)
    }

    /// Whether this process does a share, which prints nothing.
    pub fn is_a_share(&self) -> bool {
        matches!(self.part, Part::Share(_))
    }

    /// Where the results of the share are, in a sentence. Empty if this is no share.
    pub fn of_the_share(&self) -> String {
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

    /// Takes what a file has.
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
