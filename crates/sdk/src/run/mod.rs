//! Running a program of C: both sides on a machine.
//!
//! ```text
//!   file ─► Program (PPU) ─► Ppu: threads of the PPE ─┬─ Contexts ─► Run: a program of an SPE
//!                                                     └─ Wasi: files, arguments, time
//! ```

mod address;
mod code;
mod contexts;
mod costs;
mod direct;
mod engine;
mod event;
mod failure;
mod guest;
mod imports;
mod jump;
mod link;
mod memory;
mod null;
mod patience;
mod ppu;
mod program;
mod shared;
mod slice;
mod spin;
mod spu;
mod stack;
mod surroundings;
mod turns;
mod waiting;
mod wasi;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cellworks_machine::memory::Backing;
use cellworks_machine::{CellMachine, ModuleId, RunError, SpeId};
use wasmtime::{Engine, Linker};

use address::Addresses;
use code::Code;
use contexts::Contexts;
use engine::{Pace, engine};
use guest::Guest;
use memory::{MainMemory, SharedMemory};
use ppu::Ppu;
use program::{Program, Side};
use shared::Shared;
use slice::Slices;
use surroundings::Surroundings;
use wasi::Wasi;

pub(crate) use failure::Failure;
pub(crate) use program::is_for_spu;
pub(crate) use wasi::Given;

/// The local stores of a machine, made by the machine's builder.
#[derive(Clone, Default)]
pub(crate) struct LocalStores(Arc<Mutex<Vec<SharedMemory>>>);

impl LocalStores {
    /// Makes the next local store, for `local_stores` of a machine's builder.
    ///
    /// # Errors
    ///
    /// Returns the error of the system if it gives no memory.
    ///
    /// # Panics
    ///
    /// Panics if the calls are not in the order of the SPEs.
    pub(crate) fn make(&self, spe: SpeId, bytes: usize) -> io::Result<Box<dyn Backing>> {
        if bytes != LOCAL_STORE_BYTES {
            return Err(io::Error::other(format!(
                "a program of an SPU needs a local store of {LOCAL_STORE_BYTES} bytes, and {spe} has {bytes}; choose a \
                 machine of Cells, such as ps3"
            )));
        }
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

/// The size of the local store for which programs of SPUs are linked.
const LOCAL_STORE_BYTES: usize = 256 << 10;

/// A program of C that is ready to run.
pub(crate) struct Ready {
    engine: Engine,
    pace: Pace,
    program: Program,
}

/// A program that has run to its end.
pub(crate) struct Ran {
    pub(crate) code: u32,
    /// The SPEs on which it has run programs.
    pub(crate) spes: BTreeSet<SpeId>,
}

/// Whether the time of a machine is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeOf {
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
    pub(crate) fn new(file: &str, bytes: &[u8], time: TimeOf) -> Result<Self, Failure> {
        let pace = match time {
            TimeOf::ThisComputer => Pace::Clock,
            TimeOf::Simulation => Pace::Instructions,
        };
        let wrong = |why: String| Failure::File {
            file: file.to_owned(),
            why,
        };
        let engine = engine(pace).map_err(|error| wrong(format!("{error:#}")))?;
        let program = Program::new(&engine, bytes, Side::Ppu, pace)
            .map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            engine,
            pace,
            program,
        })
    }

    /// Runs the program on a machine whose local stores are `local_stores`.
    ///
    /// # Errors
    ///
    /// Returns [`Failure`] if the program was wrong, or did not end by itself.
    ///
    /// # Panics
    ///
    /// Panics if `local_stores` are not those of the machine.
    pub(crate) fn run<M: CellMachine>(
        self,
        machine: &M,
        local_stores: &LocalStores,
        given: Given,
    ) -> Result<Ran, Failure> {
        let Self {
            engine,
            pace,
            program,
        } = self;
        let cannot = |error: &dyn std::fmt::Display| Failure::Memory(error.to_string());
        let main = MainMemory::new(program.memory_bytes()).map_err(|error| cannot(&error))?;
        let memory = main.shared().clone();
        let region = machine.adopt(ModuleId::new(0), Box::new(main));
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
        imports::add_to(&mut ppu).map_err(wrong)?;
        jump::add_to(&mut ppu, &program.module).map_err(wrong)?;
        spu::add_to(&mut spu).map_err(wrong)?;
        let slices = Slices::default();
        let surroundings = Surroundings {
            shared: Shared {
                wasi: Arc::new(Mutex::new(Wasi::new(given))),
                addresses: Arc::new(Addresses::new(guest.0.at(0))),
                deeds: Arc::default(),
                slices: slices.clone(),
                line_waits: Arc::default(),
            },
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
        let _ticks = (pace == Pace::Clock).then(|| Ticks::new(slices));
        let result = RefCell::new(None);
        let run = machine.run(|ppe| {
            let mut contexts = Contexts::new(&surroundings, &local_stores, guests.clone());
            let ppu = Ppu::new(&code, &surroundings, &memory, &guest);
            let end = ppu.run(ppe, &mut contexts);
            let is_done = end.is_ok() && !contexts.are_running();
            let spes = contexts.into_used();
            result.replace(Some(end.map(|code| Ran { code, spes })));
            if !is_done {
                // As with the process of a Cell, the programs of the SPEs end with it.
                resume_unwind(Box::new(ProcessEnds));
            }
        });
        match (result.into_inner(), run) {
            (Some(result), _) => result,
            (None, Err(RunError::Deadlock { waits })) => {
                Err(Failure::Deadlock(waiting::report(&waits)))
            }
            (
                None,
                Err(RunError::TimeLimit {
                    limit,
                    running,
                    programs,
                }),
            ) => Err(Failure::TimeLimit {
                limit,
                programs: waiting::computing(&running) + &waiting::report(&programs),
            }),
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

    fn new(slices: Slices) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(Self::SLICE);
                slices.next();
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
