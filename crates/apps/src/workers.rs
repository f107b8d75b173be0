//! The flags of the pool of workers for the programs `lu`, `barnes-hut` and `mandelbrot`.

use cellworks_machine::{Cycles, Machine, Span, Spe, Topology, Wake};
use cellworks_tasks::{
    Counters, DICING_THRESHOLD, Main, Pool, Scheduler, Staging, TaskError, WorkerCounters,
};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError};
use crate::figure::counted;
use crate::{Conclusion, Done, Metric, Program, Quantity, speedup};

/// Whether something is done.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum OnOff {
    /// it is done
    On,
    /// it is not done
    Off,
}

/// A pool of workers.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Workers {
    /// How many workers, each on an SPE, from SPE 0 on.
    #[arg(long, default_value = "1")]
    pub workers: usize,

    /// Whether the data of the next task is transferred while a task runs. On this computer data is
    /// used where it is, and the flag has no effect.
    #[arg(long, value_enum, default_value = "on")]
    pub buffering: OnOff,

    /// Whether tasks may be split. They are split only while the number of waiting tasks is less
    /// than 16 times the number of workers.
    #[arg(long, value_enum, default_value = "on")]
    pub dicing: OnOff,

    /// How tasks get to workers.
    #[arg(long, value_enum, default_value = "stealing")]
    pub scheduler: Scheduler,
}

/// The time that a task on a simulated machine waits in addition to its transfers, if buffering is
/// off. The time is fitted to the run times of one worker in tables 5.1 and 5.2 of Jack Rabbit. In
/// these tables a task waits 12 to 14 us, for any size of its data. The cause is not known.
const WAIT_FOR_TRANSFERS: Cycles = Cycles(39_000);

pub(crate) const RUN_TIME: Metric = Metric::new("run_time", "s");
pub(crate) const WAIT_COST: Metric = Metric::new("wait_cost", "cycles");
pub(crate) const TASKS_RUN: Metric = Metric::new("tasks_run", "tasks");
pub(crate) const DICED: Metric = Metric::new("diced", "tasks");
pub(crate) const STOLEN: Metric = Metric::new("stolen", "times");

impl Workers {
    pub(crate) fn title(self) -> String {
        let of = |setting| match setting {
            OnOff::On => "on",
            OnOff::Off => "off",
        };
        format!(
            "{}, buffering {}, dicing {}",
            counted(self.workers, "worker"),
            of(self.buffering),
            of(self.dicing)
        )
    }

    pub(crate) fn check(self, topology: &Topology) -> Result<(), ParameterError> {
        self.check_scheduler(topology)?;
        let has = topology.spes().len();
        match self.workers {
            0 => Err(ParameterError::Zero {
                parameter: "workers",
                noun: "workers",
            }),
            workers if workers > has => Err(ParameterError::Refused {
                parameter: "workers",
                why: format!(
                    "each worker has an SPE, and {} has {has}, not {workers}; use at most {has}",
                    topology.name()
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that the scheduler is available on the machine, and that it supports the other flags.
    fn check_scheduler(self, topology: &Topology) -> Result<(), ParameterError> {
        let refused = |parameter, why| Err(ParameterError::Refused { parameter, why });
        match self.scheduler {
            Scheduler::Mars if !topology.capabilities().repeats => refused(
                "scheduler",
                format!(
                    "mars is of simulated machines, and {} is none; use stealing or three-level",
                    topology.name()
                ),
            ),
            Scheduler::Mars if self.dicing == OnOff::On => refused(
                "dicing",
                "mars does not split tasks; use --dicing off, or another scheduler".to_owned(),
            ),
            Scheduler::Mars if self.buffering == OnOff::On => refused(
                "buffering",
                "mars stages nothing ahead; use --buffering off, or another scheduler".to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Runs `main` on the PPE, with a pool of these workers, which `deployment` places. Also
    /// returns the pool's counters.
    pub(crate) fn run<M: Machine, R>(
        self,
        machine: &M,
        deployment: &mut Deployment,
        main: impl FnOnce(&Main<'_, M>) -> Result<R, TaskError>,
    ) -> Result<(R, Counters), ProgramError> {
        let mut pool = Pool::new(machine)
            .workers(self.workers)
            .scheduler(self.scheduler)
            .staging(match self.buffering {
                OnOff::On => Staging::Ahead(1),
                OnOff::Off => Staging::Off,
            })
            .dicing((self.dicing == OnOff::On).then_some(DICING_THRESHOLD));
        if let Some(placement) = &deployment.placement {
            pool = pool.place(placement.iter().copied());
        }
        let (result, counters) = pool.run_counted(main)?;
        deployment.flows = deployment.counts.then(|| counters.flows.clone());
        Ok((result?, counters))
    }

    /// Adds [`WAIT_FOR_TRANSFERS`] to the time of a task, if buffering is off.
    pub(crate) fn wait_for_transfers<S: Spe>(self, spe: &S) {
        if self.buffering == OnOff::Off {
            spe.compute(WAIT_FOR_TRANSFERS);
        }
    }

    /// Returns the time that [`wait_for_transfers`](Self::wait_for_transfers) adds to each task.
    pub(crate) fn wait_cost(self) -> Quantity {
        WAIT_COST.measured(match self.buffering {
            OnOff::Off => WAIT_FOR_TRANSFERS.0 as f64,
            OnOff::On => 0.0,
        })
    }

    fn alone(self) -> Self {
        Self { workers: 1, ..self }
    }
}

/// Calls `of` on the PPE. Returns the time of the call, and the result of `of`.
pub(crate) fn timed<M: Machine, R>(main: &Main<'_, M>, of: impl FnOnce() -> R) -> (Span, R) {
    let begin = main.ppe().now();
    let result = of();
    (main.ppe().now().since(begin), result)
}

/// Returns the numbers of tasks run, tasks diced and steals, summed over all workers.
pub(crate) fn counts(counters: &Counters) -> [Quantity; 3] {
    let sum = |of: fn(&WorkerCounters) -> u64| counters.workers.iter().map(of).sum::<u64>() as f64;
    [
        TASKS_RUN.measured(sum(|worker| worker.tasks)),
        DICED.measured(sum(|worker| worker.diced) + counters.scheduler.diced as f64),
        STOLEN.measured(sum(|worker| worker.steals)),
    ]
}

/// Returns the speed-up of each run over the same run with one worker, if that run is in `done`.
pub(crate) fn speedups<P: Program>(
    done: &[Done<P>],
    workers: fn(&mut P) -> &mut Workers,
) -> Vec<Conclusion> {
    let alone = |program: &P| {
        let mut program = program.clone();
        let of = workers(&mut program);
        *of = of.alone();
        program
    };
    speedup::conclusions(done, alone, RUN_TIME)
}
