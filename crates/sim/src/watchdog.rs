//! A watchdog that warns of a program that stops the simulation by a loop without calls.
//!
//! All programs of a simulated machine run on one OS thread and switch only in calls. The watchdog,
//! another OS thread, checks once a second whether simulated time has moved in each run. It only
//! warns, because a program may compute for long. It blocks while nothing is simulated.
//!
//! The watchdog reads two numbers of a [`Pulse`], which the run writes with relaxed ordering. No
//! result depends on these numbers. A `ready` closure that never returns is not named: the warning
//! names the program that continued last.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use cellworks_machine::SpeId;

use crate::index::{PPE, ProcessorIndex};
use crate::time::Moment;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The number of checks without a change before a warning. Time is not used, because the process
/// may have been stopped.
const LOOKS: u32 = 10;

static RUNS: Mutex<Vec<Watched>> = Mutex::new(Vec::new());
static SOME_RUN: Condvar = Condvar::new();
static STARTED: Once = Once::new();

/// The state of a run that the watchdog reads.
pub(crate) struct Pulse {
    machine: String,
    /// The simulated time at which a thread last continued.
    now: AtomicU64,
    /// The thread that last continued: its processor (upper half) and its number (lower half).
    turn: AtomicU64,
    /// The call that began the run.
    began_at: &'static Location<'static>,
    /// The running program of each SPE.
    programs: Mutex<Vec<Option<Program>>>,
}

struct Program {
    name: &'static str,
    spawned_at: &'static Location<'static>,
}

struct Watched {
    pulse: Arc<Pulse>,
    before: (Moment, u64),
    /// The number of successive checks that have found `before` unchanged.
    looks: u32,
    has_warned: bool,
}

impl Pulse {
    pub fn new(machine: &str, spes: usize, began_at: &'static Location<'static>) -> Arc<Self> {
        Arc::new(Self {
            began_at,
            machine: machine.to_owned(),
            now: AtomicU64::new(0),
            turn: AtomicU64::new(PPE as u64),
            programs: Mutex::new((0..spes).map(|_| None).collect()),
        })
    }

    /// Records that the thread that ran last continues.
    #[inline]
    pub fn beat(&self, now: Moment) {
        self.now.store(now.as_femtoseconds(), Ordering::Relaxed);
    }

    /// Records that a thread continues. The main thread of a program has `number` 0.
    #[inline]
    pub fn turn_of(&self, now: Moment, processor: ProcessorIndex, number: u32) {
        let turn = (processor as u64) << 32 | u64::from(number);
        self.turn.store(turn, Ordering::Relaxed);
        self.beat(now);
    }

    pub fn program_began(
        &self,
        at: SpeId,
        name: &'static str,
        spawned_at: &'static Location<'static>,
    ) {
        lock(&self.programs)[at.index()] = Some(Program { name, spawned_at });
    }

    pub fn program_ended(&self, at: SpeId) {
        lock(&self.programs)[at.index()] = None;
    }

    /// Returns the name of the program that runs on a processor, and the call that began it.
    pub fn program_of(
        &self,
        processor: ProcessorIndex,
    ) -> Option<(&'static str, &'static Location<'static>)> {
        let Some(spe) = processor.checked_sub(PPE + 1) else {
            return Some(("the main program", self.began_at));
        };
        let programs = lock(&self.programs);
        let program = programs[spe].as_ref()?;
        Some((program.name, program.spawned_at))
    }

    /// Returns a line about each running program.
    pub fn programs(&self) -> Vec<String> {
        let of = |(spe, program): (u16, &Option<Program>)| {
            let Program { name, spawned_at } = program.as_ref()?;
            Some(format!(
                "{name} on {}, spawned at {spawned_at}",
                SpeId::new(spe)
            ))
        };
        (0..).zip(&*lock(&self.programs)).filter_map(of).collect()
    }

    fn look(&self) -> (Moment, u64) {
        (
            Moment::from_femtoseconds(self.now.load(Ordering::Relaxed)),
            self.turn.load(Ordering::Relaxed),
        )
    }

    fn warning(&self, (now, turn): (Moment, u64)) -> String {
        let seconds = LOOK_EVERY.as_secs() * u64::from(LOOKS);
        let (processor, number) = ((turn >> 32) as ProcessorIndex, turn as u32);
        let who = match processor.checked_sub(1) {
            None => "the main program on the PPE".to_owned(),
            Some(spe) => {
                let thread = match number.checked_sub(1) {
                    None => String::new(),
                    Some(thread) => format!("thread {thread} of "),
                };
                let program = match &lock(&self.programs)[spe] {
                    Some(Program { name, spawned_at }) => {
                        format!("the program {name}, spawned at {spawned_at},")
                    }
                    None => "what has no program yet".to_owned(),
                };
                format!("{thread}{program} on {}", SpeId::new(spe as u16))
            }
        };
        format!(
            "cellworks: warning: {who} has run for {seconds} s without a call that takes simulated time, so the \
             simulated {} stands still at {now}. If it waits for another program, which cannot run \
             meanwhile, have it call `yield_now` in its loop, or `wait_until`. If it computes, it may go on; \
             `compute` tells the simulation how long that takes.",
            self.machine
        )
    }
}

/// A guard that ends the checks of a run when dropped.
pub(crate) struct Watching(Arc<Pulse>);

impl Drop for Watching {
    fn drop(&mut self) {
        lock(&RUNS).retain(|run| !Arc::ptr_eq(&run.pulse, &self.0));
    }
}

/// Makes the watchdog check a run until the returned guard is dropped.
#[must_use = "a run is watched as long as this lives"]
pub(crate) fn watch(pulse: &Arc<Pulse>) -> Watching {
    lock(&RUNS).push(Watched {
        pulse: Arc::clone(pulse),
        before: pulse.look(),
        looks: 0,
        has_warned: false,
    });
    STARTED.call_once(|| {
        let thread = std::thread::Builder::new().name("sim watchdog".to_owned());
        // If the OS thread cannot be started, there are no warnings.
        drop(thread.spawn(look_for_ever));
    });
    SOME_RUN.notify_one();
    Watching(Arc::clone(pulse))
}

fn look_for_ever() {
    loop {
        let runs = SOME_RUN.wait_while(lock(&RUNS), |runs| runs.is_empty());
        drop(runs);
        std::thread::sleep(LOOK_EVERY);
        let warnings: Vec<String> = lock(&RUNS).iter_mut().filter_map(Watched::look).collect();
        for warning in warnings {
            eprintln!("{warning}");
        }
    }
}

impl Watched {
    /// Checks a run. Returns a warning if one is due.
    fn look(&mut self) -> Option<String> {
        let now = self.pulse.look();
        if now != self.before {
            self.before = now;
            self.looks = 0;
            return None;
        }
        self.looks += 1;
        if self.looks < LOOKS || self.has_warned {
            return None;
        }
        self.has_warned = true;
        Some(self.pulse.warning(now))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
