//! The simulated machine, and the settings of its simulation.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellworks_machine::memory::{
    AddressSpace, AllocateError, Backing, MakeLocalStore, Region, of_size,
};
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{
    Capabilities, CellId, CellMachine, Machine, ModuleId, OnCell, Ppe, RunError, Span, SpeId,
    SpeSite, Topology,
};
use cellworks_threads as threads;

use crate::description::{Description, MemoryModule};
use crate::hazard::HazardWatch;
use crate::memory::{PAGE_BYTES, Used, Zeroed};
use crate::mfc::{LOCAL_STORE_STRIDE, LOCAL_STORES_AT};
use crate::observe::Counters;
use crate::part::Part;
use crate::ppe::SimPpe;
use crate::run::{Main, run};
use crate::setup::{Options, PpeAccess, Setup, Window};
use crate::spe::SimSpe;

/// The lowest effective address of allocated regions.
const REGIONS_AT: u64 = 1 << 32;

/// The size in bytes of a window of main memory. A list command of an MFC cannot cross the border
/// between windows, so no region smaller than a window is allocated across a border.
const LIST_WINDOW: u64 = 1 << 32;

/// The longest run: five hours. 64 bits of femtoseconds overflow seven minutes later, so the sum of
/// a time and a short span does not overflow.
const LIMIT_MAX: Span = Span::from_femtoseconds(5 * 3_600 * 1_000_000_000_000_000);

/// A simulated machine, which has one run at a time.
///
/// Allocated memory and the bytes of local stores persist between runs. Each run begins at time 0
/// with empty mailboxes. To simulate on several OS threads at once, make a `Sim` for each thread.
pub struct Sim {
    setup: Setup,
    /// The number of used bytes of each memory module.
    used: Vec<Used>,
    next_region: Mutex<u64>,
    /// Whether no region has the addresses below [`REGIONS_AT`] yet.
    is_low_free: AtomicBool,
    trace: Mutex<Option<Box<dyn io::Write + Send>>>,
    last_run: Mutex<Option<Counters>>,
    trace_error: Mutex<Option<io::Error>>,
    is_running: AtomicBool,
}

/// The operating system did not allocate the memory of a local store.
#[derive(thiserror::Error)]
#[error(
    "the system gives no memory for the local store of {spe} ({bytes} bytes): {source}; describe fewer or smaller ones"
)]
pub struct SimError {
    /// The SPE of the local store.
    pub spe: SpeId,
    /// The size of the local store in bytes.
    pub bytes: usize,
    /// The error of the operating system.
    pub source: io::Error,
}

cellworks_machine::debug_by_display!(SimError);

/// A guard that marks the machine as running until the guard is dropped.
struct Running<'a>(&'a AtomicBool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The settings of a [`Sim`], made by [`Sim::builder`].
#[must_use = "a machine is made by `build`"]
pub struct SimBuilder {
    description: Description,
    local_stores: Option<Box<MakeLocalStore>>,
    options: Options,
    trace: Option<Box<dyn io::Write + Send>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimBuilder {
    /// Sets the seed that orders events of the same simulated time. With the default seed 0, such
    /// events happen in the order in which they were queued.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// Ends a run at this time with [`RunError::TimeLimit`]. The default and the maximum are 5 h.
    pub fn limit(mut self, limit: Span) -> Self {
        self.options.limit = self.options.limit.min(limit);
        self
    }

    /// Writes a trace of the next run, in the format of ui.perfetto.dev.
    ///
    /// ```
    /// use std::fs::File;
    ///
    /// use cellworks_machine::{Cycles, Machine, Spe, SpeId};
    /// use cellworks_sim::{Description, Sim};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let path = "run.pftrace";
    /// # let path = folder.path().join(path);
    /// let file = File::create(&path)?;
    /// let sim = Sim::builder(Description::load("qs20")?).trace(Box::new(file)).build()?;
    /// sim.run(|ppe| drop(ppe.spawn(SpeId::new(0), |spe| spe.compute(Cycles(1_000)))))?;
    /// if let Some(error) = sim.take_trace_error() {
    ///     return Err(error.into());
    /// }
    /// # assert!(std::fs::metadata(&path)?.len() > 0);
    /// // Open the file at ui.perfetto.dev.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace(mut self, to: Box<dyn io::Write + Send>) -> Self {
        self.trace = Some(to);
        self
    }

    /// Sets the reaction of the machine to hazards, such as races between two transfers.
    pub fn hazards(mut self, watch: HazardWatch) -> Self {
        self.options.hazards = watch;
        self
    }

    /// Sets how the PPE reaches the registers of SPEs.
    pub fn ppe_access(mut self, access: PpeAccess) -> Self {
        self.options.ppe_access = access;
        self
    }

    /// Sets the memory of the local stores, for instance memories that WebAssembly programs share.
    /// `make` is called once for each SPE, in the order of their numbers, with the size in bytes.
    /// The memory must have that size.
    pub fn local_stores(
        mut self,
        make: impl Fn(SpeId, usize) -> io::Result<Box<dyn Backing>> + Send + Sync + 'static,
    ) -> Self {
        self.local_stores = Some(Box::new(make));
        self
    }

    /// Sets the size in bytes of the stack of each SPE program and cooperative thread on this
    /// computer. The default is 256 KiB.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.options.stack_bytes = bytes;
        self
    }

    /// Makes a part of the machine free: its work takes no time, or the shortest time that a
    /// description allows. The difference to a run without this setting is what the part costs.
    ///
    /// ```
    /// use cellworks_machine::{Cycles, Machine, Spe, SpeId};
    /// use cellworks_sim::{Description, Part, Sim};
    ///
    /// let ps3 = || Sim::builder(Description::built_in("ps3").unwrap());
    /// let took = |sim: Sim| {
    ///     sim.run(|ppe| drop(ppe.spawn(SpeId::new(0), |spe| spe.compute(Cycles(3_200)))))?;
    ///     Ok::<_, Box<dyn std::error::Error>>(sim.counters().expect("it has run").elapsed)
    /// };
    /// // Nearly all of the time is the start of the program.
    /// let whole = took(ps3().build()?)?;
    /// assert!(took(ps3().free(Part::Programs).build()?)? < whole / 100);
    /// assert!(took(ps3().free(Part::MemoryPins).build()?)? == whole);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn free(mut self, part: Part) -> Self {
        self.options.free = Some(part);
        self
    }

    /// Sets the part of each run to which its counters refer.
    pub fn window(mut self, window: Window) -> Self {
        self.options.window = window;
        self
    }

    /// Builds the machine.
    ///
    /// # Errors
    ///
    /// Returns [`SimError`] if this computer has not enough memory for the local stores.
    pub fn build(self) -> Result<Sim, SimError> {
        let mut description = self.description;
        if let Some(part) = self.options.free {
            part.free_in(&mut description);
        }
        let topology = topology_of(&description);
        let space = AddressSpace::new();
        let bytes = description.local_store.bytes.value as usize;
        let local_store = |spe: SpeId| {
            let capacity = bytes.next_multiple_of(PAGE_BYTES);
            let made = match &self.local_stores {
                Some(make) => make(spe, bytes).and_then(|memory| of_size(memory, bytes)),
                None => Zeroed::new(bytes, capacity, &Used::default())
                    .map(|memory| Box::new(memory) as _),
            };
            let memory: Box<dyn Backing> =
                made.map_err(|source| SimError { spe, bytes, source })?;
            let at = LOCAL_STORES_AT + spe.index() as u64 * LOCAL_STORE_STRIDE;
            let home = topology.nearest_module(topology.cell_of(spe));
            Ok(space.map_local_store(EffectiveAddress(at), memory, home))
        };
        let local_stores = topology.spes().map(local_store);
        let local_stores = local_stores.collect::<Result<_, SimError>>()?;
        Ok(Sim {
            used: description
                .modules
                .iter()
                .map(|_| Used::default())
                .collect(),
            next_region: Mutex::new(REGIONS_AT),
            is_low_free: AtomicBool::new(true),
            trace: Mutex::new(self.trace),
            last_run: Mutex::default(),
            trace_error: Mutex::default(),
            is_running: AtomicBool::new(false),
            setup: Setup {
                description,
                topology,
                options: self.options,
                space,
                local_stores,
            },
        })
    }
}

fn topology_of(description: &Description) -> Topology {
    let cells = description.cells.iter();
    let nearest = cells
        .map(|cell| ModuleId::new(cell.nearest_module))
        .collect();
    let site = |cell: usize, physical: u16| SpeSite {
        cell: CellId::new(cell as u16),
        core: None,
        place: format!("SPE {physical} of Cell {cell}"),
    };
    let cells = description.cells.iter().enumerate();
    let sites = cells.flat_map(|(index, cell)| cell.spes.iter().map(move |spe| site(index, *spe)));
    Topology::new(description.name.clone(), nearest, sites.collect())
        .with_modules(description.modules.len() as u16)
        .with_capabilities(Sim::CAPABILITIES)
}

impl Sim {
    /// The capabilities of every simulated machine: SPEs reach main memory only by DMA and wait in
    /// hardware, and every run of a program takes the same simulated time.
    pub const CAPABILITIES: Capabilities = Capabilities {
        has_caches: false,
        sleeps: false,
        repeats: true,
        is_steady: true,
    };

    /// Makes a machine with this description and the default settings.
    ///
    /// # Errors
    ///
    /// Returns [`SimError`] if this computer has not enough memory for the local stores.
    pub fn new(description: Description) -> Result<Self, SimError> {
        Self::builder(description).build()
    }

    /// Returns a builder of a machine with this description, with the default settings.
    pub fn builder(description: Description) -> SimBuilder {
        SimBuilder {
            description,
            local_stores: None,
            options: Options {
                seed: 0,
                limit: LIMIT_MAX,
                ppe_access: PpeAccess::default(),
                hazards: HazardWatch::default(),
                stack_bytes: 256 * 1024,
                free: None,
                window: Window::default(),
            },
            trace: None,
        }
    }

    /// Returns the description of the machine.
    pub fn description(&self) -> &Description {
        &self.setup.description
    }

    /// Returns the counters of the last run. Returns `None` before the first run, or if the trace
    /// of the last run could not be written.
    ///
    /// ```
    /// use cellworks_machine::{Cycles, Machine, Spe, SpeId};
    /// use cellworks_sim::{Description, Sim};
    ///
    /// let sim = Sim::new(Description::load("qs20")?)?;
    /// sim.run(|ppe| drop(ppe.spawn(SpeId::new(0), |spe| spe.compute(Cycles(3_200)))))?;
    /// let counters = sim.counters().expect("it has run");
    /// // The clock has 3.2 GHz.
    /// assert_eq!(format!("{:?}", counters.spes[0].computing), "1 us");
    /// // A table of the times of each SPE, and one of the use of each ring and memory module.
    /// println!("{counters}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn counters(&self) -> Option<Counters> {
        lock(&self.last_run).clone()
    }

    /// Takes the error of writing the trace of the last run. Later calls return `None`.
    pub fn take_trace_error(&self) -> Option<io::Error> {
        lock(&self.trace_error).take()
    }

    /// Returns the description of a memory module.
    fn module(&self, module: ModuleId) -> Result<&MemoryModule, AllocateError> {
        let modules = &self.setup.description.modules;
        modules
            .get(module.index())
            .ok_or_else(|| AllocateError::NoSuchModule {
                module,
                machine: self.setup.topology.name().to_owned(),
                modules: self.setup.topology.modules().collect(),
            })
    }

    /// Begins a run. Panics if this machine or this OS thread has a run already: two runs of a
    /// machine would use the same local stores.
    #[track_caller]
    fn begin_run(&self) -> Running<'_> {
        assert!(
            !self.is_running.swap(true, Ordering::Acquire),
            "{} runs a program already, which this one was started in or beside; make a machine for each run",
            self.setup.topology.name()
        );
        let running = Running(&self.is_running);
        assert!(
            !threads::is_running(),
            "{} cannot run a program inside of a program of another machine: an OS thread runs one machine at a \
             time; run it before or after the other, or on an OS thread of its own (`std::thread::scope`)",
            self.setup.topology.name()
        );
        running
    }

    #[track_caller]
    fn run_alone<'env>(&'env self, main: Main<'_, 'env, Self>) -> Result<(), RunError> {
        let _running = self.begin_run();
        let trace = lock(&self.trace).take();
        let (result, counters) = run(&self.setup, trace, main);
        let (counters, trace_error) = match counters {
            Ok(counters) => (Some(counters), None),
            Err(error) => (None, Some(error)),
        };
        *lock(&self.last_run) = counters;
        *lock(&self.trace_error) = trace_error;
        result
    }
}

// SAFETY: `run` ends all cooperative threads and drops all queued programs before it returns.
unsafe impl Machine for Sim {
    type Spe = SimSpe;
    type Core = SimPpe;

    fn topology(&self) -> &Topology {
        &self.setup.topology
    }

    /// # Panics
    ///
    /// Panics if this machine runs already, or if the caller is a program of another simulated
    /// machine or of the crate `host`.
    #[track_caller]
    fn run<'env, R>(
        &'env self,
        main: impl for<'scope> FnOnce(&'scope Ppe<'scope, 'env, Self>) -> R,
    ) -> Result<R, RunError> {
        let mut result = None;
        self.run_alone(Box::new(|ppe| result = Some(main(ppe))))?;
        Ok(result.expect("the main program has returned"))
    }

    fn on_cell<W: OnCell<Self>>(&self, work: W) -> Option<W::Output> {
        Some(work.run(self))
    }
}

impl CellMachine for Sim {
    fn adopt(&self, module: ModuleId, memory: Box<dyn Backing>) -> Result<Region, AllocateError> {
        self.module(module)?;
        let bytes = memory.bytes() as u64;
        if bytes == 0 {
            return Err(AllocateError::Empty);
        }
        // The first memory of a program with null pointers of its own is at 0, so what this machine
        // says of an address has the number that the program knows.
        let is_low = memory.null_bytes() > 0
            && bytes <= REGIONS_AT
            && self.is_low_free.swap(false, Ordering::Relaxed);
        let at = if is_low {
            0
        } else {
            let mut next = lock(&self.next_region);
            let at = next.next_multiple_of(LIST_WINDOW);
            *next = at + bytes.next_multiple_of(PAGE_BYTES as u64);
            at
        };
        Ok(self
            .setup
            .space
            .map_lent(EffectiveAddress(at), memory, module))
    }

    fn local_store(&self, spe: SpeId) -> &Region {
        // Panics if there is no such SPE.
        self.topology().place_of(spe);
        &self.setup.local_stores[spe.index()]
    }

    fn allocate(&self, module: ModuleId, bytes: usize) -> Result<Region, AllocateError> {
        let description = self.module(module)?;
        let used = &self.used[module.index()];
        if bytes == 0 {
            return Err(AllocateError::Empty);
        }
        let capacity = usize::try_from(description.bytes.value).unwrap_or(usize::MAX);
        let is_first = self
            .used
            .iter()
            .all(|used| used.load(Ordering::Relaxed) == 0);
        let memory =
            Zeroed::new(bytes, capacity, used).map_err(|source| AllocateError::Refused {
                bytes,
                module,
                source,
            })?;
        let whole = bytes.next_multiple_of(PAGE_BYTES) as u64;
        let mut next = lock(&self.next_region);
        if is_first {
            // The first region begins at a window, so that freed regions do not change its memory
            // banks: these depend on the address within the window.
            *next = next.next_multiple_of(LIST_WINDOW);
        }
        let to_window = LIST_WINDOW - *next % LIST_WINDOW;
        if whole > to_window && whole < LIST_WINDOW {
            *next += to_window;
        }
        let at = *next;
        *next += whole;
        Ok(self
            .setup
            .space
            .map(EffectiveAddress(at), Box::new(memory), module))
    }

    fn home_of(&self, ea: EffectiveAddress) -> Option<ModuleId> {
        let translation =
            cellworks_machine::memory::Translation::new(Arc::clone(&self.setup.space));
        translation.with(ea, 1, |block, _, _| block.home())
    }
}
