//! Runs simulations on all cores. Each core has a thread with its own machines, because a simulated
//! machine belongs to one OS thread. A free thread takes the next simulation.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use cellworks_apps::exchange::ExchangeRun;
use cellworks_runner::simulated;
use cellworks_sim::{Description, HazardWatch, PpeAccess, Sim, Window};
use serde::{Deserialize, Serialize};

use crate::experiment::{Program, Simulation, SimulationResults};

/// A function that returns the description of a machine by its name.
pub type Descriptions<'a> = &'a (dyn Fn(&str) -> Option<Description> + Sync);

/// Returns the built-in description of this name, if there is one.
pub fn built_in(name: &str) -> Option<Description> {
    Description::built_in(name)
}

pub(crate) type Outcomes = HashMap<Simulation, Result<SimulationResults, String>>;

/// The outcome of a simulation, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Simulated(pub(crate) Result<SimulationResults, String>);

pub(crate) fn different(simulations: Vec<Simulation>) -> Vec<Simulation> {
    let mut seen = HashSet::new();
    let is_new = |simulation: &Simulation| seen.insert(simulation.clone());
    simulations.into_iter().filter(is_new).collect()
}

/// Simulates groups of rings (tasks that exchange packets in a ring), on all cores of this
/// computer. There are `number` groups, and `runs` returns the rings of the group with a given
/// index, from 0 on. Skips groups for which `wanted` returns false.
///
/// Calls `found` on any thread, with the index of a group and the time of a round of each ring in
/// nanoseconds, or an error. After `found` has returned a break, no group begins.
pub fn simulate_rings(
    machine: &str,
    number: usize,
    runs: &(dyn Fn(usize) -> Vec<ExchangeRun> + Sync),
    descriptions: Descriptions<'_>,
    wanted: &(dyn Fn(usize) -> bool + Sync),
    found: &(dyn Fn(usize, Result<Vec<f64>, String>) -> ControlFlow<()> + Sync),
) {
    let machine: Arc<str> = machine.into();
    side_by_side(number, descriptions, wanted, &|machines, step| {
        let time = |run| {
            let simulation = Simulation {
                machine: Arc::clone(&machine),
                access: PpeAccess::Direct,
                program: Program::Ring(run),
            };
            machines.run(&simulation).map(|outcome| outcome.ns)
        };
        found(step, runs(step).into_iter().map(time).collect())
    });
}

/// Does the work of [`Plan::simulate`](crate::Plan::simulate).
pub(crate) fn run_each(
    simulations: &[Simulation],
    descriptions: Descriptions<'_>,
    wanted: &(dyn Fn(usize) -> bool + Sync),
    found: &(dyn Fn(usize, Simulated) -> ControlFlow<()> + Sync),
) {
    side_by_side(
        simulations.len(),
        descriptions,
        wanted,
        &|machines, step| found(step, Simulated(machines.run(&simulations[step]))),
    );
}

/// Calls `step` with the `wanted` indices below `number`, on all cores of this computer, until a
/// call returns a break. Each call is given the machines of its thread.
fn side_by_side(
    number: usize,
    descriptions: Descriptions<'_>,
    wanted: &(dyn Fn(usize) -> bool + Sync),
    step: &(dyn Fn(&mut Machines<'_>, usize) -> ControlFlow<()> + Sync),
) {
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let work = || {
        let mut machines = Machines::new(descriptions);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= number {
                return;
            }
            if wanted(at) && step(&mut machines, at).is_break() {
                next.store(number, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..cores.min(number) {
            // If this thread cannot be started, the other threads do all steps.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

/// Runs each simulation of the list once.
pub(crate) fn run(simulations: Vec<Simulation>, descriptions: Descriptions<'_>) -> Outcomes {
    let outcomes = Mutex::new(Outcomes::new());
    let simulations = different(simulations);
    run_each(&simulations, descriptions, &|_| true, &|step, simulated| {
        let mut outcomes = outcomes
            .lock()
            .expect("no thread panics while it has the lock");
        outcomes.insert(simulations[step].clone(), simulated.0);
        ControlFlow::Continue(())
    });
    outcomes
        .into_inner()
        .expect("no thread panics while it has the lock")
}

/// The machines of one OS thread, which are used again to save the allocation of local stores.
struct Machines<'a> {
    descriptions: Descriptions<'a>,
    made: HashMap<(Arc<str>, PpeAccess), Result<Made, String>>,
}

struct Made {
    sim: Sim,
    timebase_hz: u64,
}

impl<'a> Machines<'a> {
    fn new(descriptions: Descriptions<'a>) -> Self {
        Self {
            descriptions,
            made: HashMap::new(),
        }
    }

    fn run(&mut self, simulation: &Simulation) -> Result<SimulationResults, String> {
        let key = (simulation.machine.clone(), simulation.access);
        let made = self
            .made
            .entry(key.clone())
            .or_insert_with(|| make(&simulation.machine, simulation.access, self.descriptions));
        let Made { sim, timebase_hz } = made.as_ref().map_err(String::clone)?;
        let run = || simulation.program.run(sim, simulated(sim), *timebase_hz);
        let outcome = catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|panic| Err(format!("a program panicked: {}", message(&*panic))));
        if outcome.is_err() {
            // The machine of a failed run may still have words in its mailboxes.
            self.made.remove(&key);
        }
        outcome
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

fn make(name: &str, access: PpeAccess, descriptions: Descriptions<'_>) -> Result<Made, String> {
    let description =
        descriptions(name).ok_or_else(|| format!("there is no machine called `{name}`"))?;
    let timebase_hz = description.clock.timebase_hz.value;
    // The watch for hazards changes no result, but takes time for every element of a list. Windows of
    // the programs would leave out parts of the counters.
    let sim = Sim::builder(description)
        .window(Window::WholeRun)
        .ppe_access(access)
        .hazards(HazardWatch::Off)
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Made { sim, timebase_hz })
}
