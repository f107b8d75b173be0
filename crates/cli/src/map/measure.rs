//! Runs a command on the CPUs of several placements to find the fastest placement.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Instant;

use cellworks_mapping::Binding;
use cellworks_report::{PlacementTrial, PlacementTrials};

use super::binding::{allowed, confine, contradicting, refuse, set_openmp, to_report};
use crate::failure::Failure;
use crate::session::End;

/// The number of runs with each placement, and of runs without a binding.
pub(super) const ROUNDS: usize = 10;

pub(super) struct MeasuredCommand<'a> {
    command: &'a [OsString],
    /// The CPUs on which this process may run. The command inherits them.
    allowed: BTreeSet<usize>,
    /// The number of tasks, which is the number of threads of an OpenMP program in all runs. `None`
    /// if the command gets no variable of OpenMP.
    threads: Option<usize>,
}

impl<'a> MeasuredCommand<'a> {
    /// Prepares to run the command on the given CPUs. Fails if this process may not use one of the
    /// CPUs.
    pub fn new(
        command: &'a [OsString],
        cpus: &[usize],
        threads: Option<usize>,
    ) -> Result<Self, Failure> {
        let allowed = allowed()?;
        refuse(
            cpus,
            &allowed,
            "forbid their places (--forbid), or start it where it may use more",
        )?;
        Ok(Self {
            command,
            allowed,
            threads,
        })
    }

    /// Runs the command once without a binding, to check that it works. An error ends the session.
    pub fn begin(&self) -> Result<(), End> {
        let ended = self.unbound().status().map_err(|error| {
            End::Refused(format!(
                "{}: {error}; name a program that can be started",
                self.command[0].display()
            ))
        })?;
        if ended.success() {
            Ok(())
        } else {
            Err(End::Failed(self.failed(&ended.to_string())))
        }
    }

    /// Runs the command without a binding and with each placement, [`ROUNDS`] times in turn.
    /// Between runs, `go_on` is called with the number of finished runs. If `go_on` returns false,
    /// the result is `None`. The error is the reason why a run failed.
    pub fn run(
        &self,
        placements: Vec<PlacementTrial>,
        go_on: &dyn Fn(usize) -> bool,
    ) -> Result<Option<PlacementTrials>, String> {
        let words = self.command.iter();
        let mut trials = PlacementTrials {
            command: words
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            unbound_ns: Vec::with_capacity(ROUNDS),
            placements,
        };
        let ways = 1 + trials.placements.len();
        for run in 0..ROUNDS * ways {
            if !go_on(run) {
                return Ok(None);
            }
            // A run may affect the next run, so the first binding changes from round to round.
            let (round, way) = (run / ways, run % ways);
            match ((way + round) % ways).checked_sub(1) {
                None => trials.unbound_ns.push(self.time(self.unbound())?),
                Some(number) => {
                    let trial = &mut trials.placements[number];
                    trial.ns.push(self.bound(&trial.cpus)?);
                }
            }
        }
        Ok(go_on(ROUNDS * ways).then_some(trials))
    }

    /// Returns a warning for each variable that binds threads in the environment of this process.
    pub fn warnings(&self) -> Vec<String> {
        let unbound = self.openmp_of_unbound();
        let warning = |(name, here, then): (&str, OsString, Option<&str>)| {
            let here = here.display();
            match then {
                Some(then) => format!(
                    "{name}={here} is not that of {then} tasks, so the command gets {name}={then} in every run"
                ),
                None => format!(
                    "{name}={here} binds threads, so the command does not get it in any run"
                ),
            }
        };
        contradicting(&unbound).map(warning).collect()
    }

    fn openmp_of_unbound(&self) -> Vec<(&'static str, String)> {
        let threads = self.threads.iter();
        threads
            .map(|threads| ("OMP_NUM_THREADS", threads.to_string()))
            .collect()
    }

    fn unbound(&self) -> Command {
        self.with_openmp(&self.openmp_of_unbound())
    }

    fn with_openmp(&self, variables: &[(&'static str, String)]) -> Command {
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        set_openmp(&mut command, variables);
        command
    }

    fn bound(&self, cpus: &[usize]) -> Result<f64, String> {
        let command = match self.threads {
            None => self.with_openmp(&[]),
            Some(_) => self.with_openmp(&to_report(&Binding::to(cpus.to_vec())).openmp()),
        };
        // The command inherits the CPUs of this thread.
        confine(cpus.iter().copied())?;
        let time = self.time(command);
        confine(self.allowed.iter().copied())?;
        time
    }

    /// Returns the time of the command in nanoseconds.
    fn time(&self, mut command: Command) -> Result<f64, String> {
        let begun = Instant::now();
        let ended = command
            .status()
            .map_err(|error| self.failed(&error.to_string()))?;
        let time = begun.elapsed();
        if ended.success() {
            Ok(time.as_nanos() as f64)
        } else {
            Err(self.failed(&ended.to_string()))
        }
    }

    fn failed(&self, why: &str) -> String {
        let words: Vec<_> = self
            .command
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        format!(
            "`{}` has failed ({why}), so it cannot be measured; run it by itself to see why",
            words.join(" ")
        )
    }
}
