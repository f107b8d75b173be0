//! Running a program of C: both sides on a machine.
//!
//! ```text
//!   file ─► Program (PPU) ─► Ppu: threads of the PPE ─┬─ Contexts ─► Run: a program of an SPE
//!                                                     └─ Wasi: files, arguments, time
//! ```

mod address;
mod code;
mod contexts;
mod direct;
mod engine;
mod guest;
mod link;
mod memory;
mod ppu;
mod program;
mod spin;
mod spu;
mod wasi;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cap_std::fs::Dir;
use cellworks_machine::memory::Backing;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, ModuleId, ProgramPanic, RunError, SpeId, Time};
use wasmtime::{Engine, Linker};

use address::Addresses;
use code::Code;
use contexts::Contexts;
use engine::{Pace, engine};
use guest::Guest;
use memory::SharedMemory;
use ppu::Ppu;
use program::{Program, ProgramError, Side};
use wasi::Wasi;

/// Why a program did not run to its end.
#[derive(thiserror::Error)]
pub enum Failure {
    /// The program was wrong.
    #[error("{who} failed at {place}: {why}")]
    Program {
        /// The part of the program.
        who: String,
        /// What was wrong.
        why: String,
        /// The line of C.
        place: &'static str,
    },
    /// The program made more contexts than the machine has SPEs.
    #[error(
        "the program makes more contexts than the machine has SPEs ({spes}), and here each context has an SPE of its \
         own; give the machine more (--spes), or let the program destroy contexts that it needs no more"
    )]
    TooManyContexts {
        /// The number of SPEs.
        spes: usize,
    },
    /// All programs and threads wait for each other, each as a line says.
    #[error("deadlock: every program waits for another{0}")]
    Deadlock(String),
    /// The machine ended the run, for instance at its limit of simulated time.
    #[error(transparent)]
    Run(RunError),
    /// A defect of Cellworks.
    #[error("a program of an SPE panicked: {0}")]
    Panic(ProgramPanic),
    /// The file is no program.
    #[error("{file}: {why}")]
    File {
        /// The name of the file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// The system did not give what a run needs.
    #[error("the memory of the program could not be made: {0}")]
    Memory(String),
}

impl std::fmt::Debug for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// Where the programs of SPEs wait, for the report of a deadlock.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<Mutex<HashMap<SpeId, &'static str>>>);

impl Waiting {
    /// Notes that the program of `spe` waits at a place in its source.
    fn at(&self, spe: SpeId, place: &'static str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(spe, place);
    }

    /// Returns the report of a machine, with places in the source instead of those in Cellworks.
    fn report(&self, waits: &[cellworks_machine::Waiting]) -> String {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let places: Vec<_> = places
            .iter()
            .map(|(spe, place)| (spe.to_string(), *place))
            .collect();
        let lines = waits.iter().map(|wait| {
            let place = places.iter().find(|(who, _)| *who == wait.who);
            let place = place
                .map(|(_, place)| format!(" at {place}"))
                .unwrap_or_default();
            let since = wait
                .since
                .map(|time| format!(", since the time {}", time.since(Time::default())));
            format!(
                "\n  {} waits for {}{place}{}",
                wait.who,
                wait.what,
                since.unwrap_or_default()
            )
        });
        lines.collect()
    }
}

/// What all parts of a run share.
pub(crate) struct Surroundings {
    wasi: Arc<Mutex<Wasi>>,
    addresses: Arc<Addresses>,
    waiting: Waiting,
    /// The addresses of the local stores on the machine.
    local_stores: Vec<EffectiveAddress>,
    engine: Engine,
    spu: Linker<spu::State>,
    pace: Pace,
}

impl Surroundings {
    fn spu_code(&self, image: &[u8]) -> Result<Code<spu::State>, ProgramError> {
        Ok(Code {
            program: Program::new(&self.engine, image, Side::Spu)?,
            linker: self.spu.clone(),
            pace: self.pace,
        })
    }

    /// Tells the user what the program itself may not tell.
    fn say(&self, what: &str) {
        eprintln!("cellworks: {what}");
    }
}

/// The local stores of a machine, made by the machine's builder.
#[derive(Clone, Default)]
pub struct LocalStores(Arc<Mutex<Vec<SharedMemory>>>);

impl LocalStores {
    /// Makes the next local store, for `local_stores` of a machine's builder.
    ///
    /// # Errors
    ///
    /// Returns the error of the system if it gives no memory.
    pub fn make(&self, spe: SpeId, bytes: usize) -> io::Result<Box<dyn Backing>> {
        let memory = SharedMemory::new(bytes)?;
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(
            made.len(),
            spe.index(),
            "machines make local stores in the order of their SPEs"
        );
        made.push(memory.clone());
        Ok(Box::new(memory))
    }
}

/// What a user gives a program.
pub struct Given {
    /// The arguments, with the name of the program first.
    pub arguments: Vec<Vec<u8>>,
    /// The environment, as `NAME=value`.
    pub environment: Vec<Vec<u8>>,
    /// The folders that the program may use, with the names by which it knows them.
    pub folders: Vec<(String, Dir)>,
    /// The time of day at the start, in nanoseconds since 1970.
    pub began: u64,
}

/// A program of C that is ready to run.
pub struct Ready {
    engine: Engine,
    pace: Pace,
    program: Program,
}

/// Whether the time of a machine is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOf {
    /// The time is that of this computer.
    ThisComputer,
    /// The time is simulated, by counted instructions.
    Simulation,
}

impl Ready {
    /// Compiles the program in `bytes`, which were read from `file`.
    ///
    /// # Errors
    ///
    /// Returns [`Failure`] if it is no program.
    pub fn new(file: &str, bytes: &[u8], time: TimeOf) -> Result<Self, Failure> {
        let pace = match time {
            TimeOf::ThisComputer => Pace::Clock,
            TimeOf::Simulation => Pace::Instructions,
        };
        let wrong = |why: String| Failure::File {
            file: file.to_owned(),
            why,
        };
        let engine = engine(pace).map_err(|error| wrong(format!("{error:#}")))?;
        let program =
            Program::new(&engine, bytes, Side::Ppu).map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            engine,
            pace,
            program,
        })
    }

    /// Runs the program on a machine whose local stores are `local_stores`, and returns its exit
    /// code.
    ///
    /// # Errors
    ///
    /// Returns [`Failure`] if the program was wrong, or did not end by itself.
    pub fn run<M: CellMachine>(
        self,
        machine: &M,
        local_stores: &LocalStores,
        given: Given,
    ) -> Result<u32, Failure> {
        let Self {
            engine,
            pace,
            program,
        } = self;
        let cannot = |error: &dyn std::fmt::Display| Failure::Memory(error.to_string());
        let memory = SharedMemory::new(program.memory_bytes()).map_err(|error| cannot(&error))?;
        let region = machine.adopt(ModuleId::new(0), Box::new(memory.clone()));
        let guest = Guest(region.map_err(|error| cannot(&error))?);
        for (at, bytes) in program.data() {
            guest
                .set_bytes(at as u32, bytes)
                .expect("`Program` has checked its data");
        }
        let local_stores = local_stores
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let spes = machine.topology().spes();
        let guests: Vec<_> = spes
            .into_iter()
            .map(|spe| Guest(machine.local_store(spe).clone()))
            .collect();
        let wrong = |error: wasmtime::Error| Failure::Memory(format!("{error:#}"));
        let (mut ppu, mut spu) = (Linker::new(&engine), Linker::new(&engine));
        ppu::add_to(&mut ppu).map_err(wrong)?;
        spu::add_to(&mut spu).map_err(wrong)?;
        let Given {
            arguments,
            environment,
            folders,
            began,
        } = given;
        let surroundings = Surroundings {
            wasi: Arc::new(Mutex::new(Wasi::new(
                arguments,
                environment,
                folders,
                began,
            ))),
            addresses: Arc::new(Addresses::new(guest.0.at(0))),
            waiting: Waiting::default(),
            local_stores: guests.iter().map(|guest| guest.0.at(0)).collect(),
            engine: engine.clone(),
            spu,
            pace,
        };
        let code = Arc::new(Code {
            program,
            linker: ppu,
            pace,
        });
        let _ticks = (pace == Pace::Clock).then(|| Ticks::new(&engine));
        let result = RefCell::new(None);
        let run = machine.run(|ppe| {
            let mut contexts = Contexts::new(&surroundings, &local_stores, guests.clone());
            let ppu = Ppu::new(&code, &surroundings, &memory, &guest);
            let end = ppu.run(ppe, &mut contexts);
            let is_done = end.is_ok() && !contexts.are_running();
            result.replace(Some(end));
            if !is_done {
                // As with the process of a Cell, the programs of the SPEs end with it.
                resume_unwind(Box::new(ProcessEnds));
            }
        });
        match (result.into_inner(), run) {
            (Some(result), _) => result,
            (None, Err(RunError::Deadlock { waits })) => {
                Err(Failure::Deadlock(surroundings.waiting.report(&waits)))
            }
            (None, Err(error)) => Err(Failure::Run(error)),
            (None, Ok(())) => unreachable!("the program has a result"),
        }
    }
}

/// The payload by which the end of the program ends the programs of its SPEs.
struct ProcessEnds;

/// Lets long computations be interrupted, from time to time.
struct Ticks {
    stop: Arc<AtomicBool>,
}

impl Ticks {
    /// How long a program computes before others have their turn.
    const SLICE: Duration = Duration::from_millis(1);

    fn new(engine: &Engine) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (engine, stopped) = (engine.clone(), Arc::clone(&stop));
        std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(Self::SLICE);
                engine.increment_epoch();
            }
        });
        Self { stop }
    }
}

impl Drop for Ticks {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
