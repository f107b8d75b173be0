//! Says which program keeps a simulation from going on, because it runs for long without a call.
//!
//! All programs of a simulated machine take turns on one OS thread, and the program that runs gives
//! its turn up only by a call. A loop that waits for another program without one never ends, and
//! neither the event loop nor a limit of simulated time gets to see it. An OS thread of the
//! process, which sleeps while nothing is simulated, looks once a second whether time has moved in
//! each run. It only warns: a program may as well compute for long.
//!
//! What it looks at are two numbers, stored without order where a program goes on anyway, and have
//! no part in any result. The condition of a wait that never returns is laid to the program that
//! ran before it was asked.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use cellworks_machine::SpeId;

use crate::index::{PPE, ProcessorIndex};
use crate::time::Moment;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How many looks in a row must show the same. Looks are counted and not time, as a process that
/// was stopped and continued has done nothing wrong.
const LOOKS: u32 = 10;

static RUNS: Mutex<Vec<Watched>> = Mutex::new(Vec::new());
static SOME_RUN: Condvar = Condvar::new();
static STARTED: Once = Once::new();

/// What a run shows of itself.
pub(crate) struct Pulse {
    machine: String,
    /// The simulated time when a program last went on.
    now: AtomicU64,
    /// Who that was: the processor, and the number of its thread in the lower half.
    turn: AtomicU64,
    /// What runs on each SPE.
    programs: Mutex<Vec<Option<Program>>>,
}

struct Program {
    name: &'static str,
    spawned_at: &'static Location<'static>,
}

/// A run, as the watchdog remembers it.
struct Watched {
    pulse: Arc<Pulse>,
    before: (Moment, u64),
    /// Looks since then that showed the same.
    looks: u32,
    has_warned: bool,
}

impl Pulse {
    /// That of a machine that has not begun to run.
    pub fn new(machine: &str, spes: usize) -> Arc<Self> {
        Arc::new(Self {
            machine: machine.to_owned(),
            now: AtomicU64::new(0),
            turn: AtomicU64::new(PPE as u64),
            programs: Mutex::new((0..spes).map(|_| None).collect()),
        })
    }

    /// The program whose turn it is goes on.
    #[inline]
    pub fn beat(&self, now: Moment) {
        self.now.store(now.as_femtoseconds(), Ordering::Relaxed);
    }

    /// A thread of a processor goes on in the place of another one: number 0 is the program itself.
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

    /// What runs now: a line for each program.
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

/// A run is watched as long as this lives.
pub(crate) struct Watching(Arc<Pulse>);

impl Drop for Watching {
    fn drop(&mut self) {
        lock(&RUNS).retain(|run| !Arc::ptr_eq(&run.pulse, &self.0));
    }
}

/// Watches a run.
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
        // Without a thread for it, nobody warns; nothing else is missing.
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
    /// Looks once more; what to say, if it is time to say something.
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
