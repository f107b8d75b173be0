//! Checks a request against a machine, and makes a plan with every SPE, size and address offset.
//! All mistakes in a request are found before the machine runs anything.

pub(crate) mod atomic;
pub(crate) mod chase;
pub(crate) mod copy;
pub(crate) mod layout;
pub(crate) mod memory;
mod order;
pub(crate) mod pairs;
mod place;
pub(crate) mod transfer;
mod unused;

use cellworks_machine::mfc::Direction;
use cellworks_machine::{Capabilities, CellId, ModuleId, Span, SpeId, Topology};

use crate::error::RequestError;
use crate::function::{Channel, Function};
use crate::report::{Between, Buffers, Parameters};
use crate::request::{Count, Iterations, Limits, Request};
use crate::sample::{Rate, Visited};
use crate::settings::{Setting, Settings};
use atomic::AtomicTask;
use chase::ChaseTask;
use copy::CopyTask;
use memory::MemoryTask;
use pairs::PairsTask;
use place::Placed;
use transfer::TransferTask;

/// A request that was checked against a machine, and that this machine can measure.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) function: Function,
    pub(crate) pace: Pace,
    pub(crate) task: Task,
    /// The memory module of the control blocks, and of buffers in main memory.
    pub(crate) module: ModuleId,
    pub(crate) keep_samples: bool,
    pub(crate) bandwidth_bytes_per_s_max: Option<u64>,
    capabilities: Capabilities,
    /// The SPEs that share a CPU with the processor that times the operation.
    pub(crate) shared_cpu: Vec<usize>,
    parameters: Parameters,
}

/// The number and length of the rounds (timed loops) of one visit (run of the measurement).
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    pub warm_up: Option<u32>,
    pub timed: Timed,
    /// For each earlier visit, the medians of its rounds.
    pub earlier: Visited,
    pub more_visits: bool,
    /// The rate of the last round of an earlier visit. `None` in the first visit.
    pub rate: Option<Rate>,
    /// Whether another measurement ended just before, so that the cores run at their clock rate.
    pub is_warm: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Timed {
    /// One round with this number of iterations.
    Exactly(u32),
    /// Rounds until the interval of the median is narrow, or this time is over.
    Within(Span),
    /// Rounds with this number of iterations, until the medians of two successive rounds agree.
    Steady(u32),
}

#[derive(Clone, Debug)]
pub(crate) enum Task {
    Threads {
        spes: Vec<SpeId>,
    },
    /// The PPE, or SPE 0 if `between_spes`, exchanges words with each of `partners` in turn.
    Exchange {
        channel: Channel,
        between_spes: bool,
        partners: Vec<SpeId>,
    },
    Transfer(TransferTask),
    Atomic(AtomicTask),
    /// The PPE, or SPE 0 if `between_spes`, wakes each of `partners` after a wait of `idle`.
    WakeUp {
        between_spes: bool,
        partners: Vec<SpeId>,
        idle: Span,
    },
    Copy(CopyTask),
    Chase(ChaseTask),
    OsThread,
    Pairs(PairsTask),
    Memory(MemoryTask<Plan>),
}

/// The time that an SPE waits before `wakeup` wakes it, on a machine on which SPEs sleep. A thread
/// falls asleep earlier, because it spins for at most the time of a wake-up, some ten microseconds.
const IDLE_WHERE_SPES_SLEEP: Span = Span::from_nanoseconds(1_000_000);

/// The time that an SPE waits before `wakeup` sends a word, on a machine on which no SPE sleeps. An
/// SPE of a Cell waits in hardware, so the time only has to let the SPE start to wait.
const IDLE_WHERE_NO_SPE_SLEEPS: Span = Span::from_nanoseconds(2_000);

/// The number of warm-up iterations on a steady machine (one with times that repeat), if the number
/// of timed iterations is given. After these iterations, the caches have reached a steady state.
const STEADY_WARM_UP: u32 = 16;

impl Request {
    /// Checks the request against a machine, and chooses the values that the request left open.
    ///
    /// # Errors
    ///
    /// Returns [`RequestError`] if the machine lacks anything that the request names, if the
    /// architecture refuses a size, or if the function does not use a field that the request sets.
    pub fn plan(&self, topology: &Topology, limits: &Limits) -> Result<Plan, RequestError> {
        unused::check(self, topology)?;
        self.check_alone(topology)?;
        self.check_operating_system(topology)?;
        self.check_pages(topology)?;
        self.check_numbers()?;
        let placed = if self.function.is_matrix() {
            Placed::nowhere()
        } else {
            Placed::choose(self, topology)?
        };
        self.plan_on(placed, topology, limits)
    }

    /// Plans the measurement on chosen SPEs: checks the numbers of the function, and chooses those
    /// that the request left open. The SPEs of a matrix are chosen in its task.
    fn plan_on(
        &self,
        placed: Placed,
        topology: &Topology,
        limits: &Limits,
    ) -> Result<Plan, RequestError> {
        let Placed {
            cell,
            module,
            first,
            spes,
        } = placed;
        let exchange = |channel, partners| Task::Exchange {
            channel,
            between_spes: self.between_spes,
            partners,
        };
        let transfer = |direction, is_list, spes| {
            let moves = (direction, is_list);
            TransferTask::plan(self, limits, moves, spes, first).map(Task::Transfer)
        };
        let task = match self.function {
            Function::MkThread => Task::Threads { spes },
            Function::Mailbox => exchange(Channel::Mailbox, spes),
            Function::Signal => exchange(Channel::Signal, spes),
            Function::DmaGet => transfer(Direction::Get, false, spes)?,
            Function::DmaPut => transfer(Direction::Put, false, spes)?,
            Function::DmaListGet => transfer(Direction::Get, true, spes)?,
            Function::DmaListPut => transfer(Direction::Put, true, spes)?,
            Function::FetchAdd
            | Function::FetchSub
            | Function::FetchInc
            | Function::FetchDec
            | Function::FetchSet => Task::Atomic(AtomicTask::plan(self, limits, spes)?),
            Function::WakeUp => Task::WakeUp {
                between_spes: self.between_spes,
                partners: spes,
                idle: if topology.capabilities().sleeps {
                    IDLE_WHERE_SPES_SLEEP
                } else {
                    IDLE_WHERE_NO_SPE_SLEEPS
                },
            },
            Function::Copy => Task::Copy(CopyTask::plan(self, limits, spes)?),
            Function::Chase => Task::Chase(ChaseTask::plan(self, limits, &spes)?),
            Function::OsThread => Task::OsThread,
            Function::Matrix(primitive) => {
                Task::Pairs(PairsTask::plan(self, primitive, topology, limits)?)
            }
            Function::Memory => {
                let planned = |request: &Self, placed, limits: &Limits| {
                    request.plan_on(placed, topology, limits)
                };
                Task::Memory(MemoryTask::plan(self, topology, limits, planned)?)
            }
        };
        Ok(Plan::of(self, task, (cell, module), topology, limits))
    }

    fn check_operating_system(&self, topology: &Topology) -> Result<(), RequestError> {
        match self.function {
            Function::OsThread if topology.capabilities().repeats => Err(RequestError::new(
                "-f",
                "-f mkthread",
                format!(
                    "osthread creates threads of an operating system, and {} is simulated without one; measure \
                     mkthread, or this computer",
                    topology.name()
                ),
            )),
            _ => Ok(()),
        }
    }

    fn check_pages(&self, topology: &Topology) -> Result<(), RequestError> {
        if self.settings.page_bytes.is_none() {
            return Ok(());
        }
        let why = if topology.capabilities().repeats {
            format!("{} is simulated without pages", topology.name())
        } else if self.between_spes {
            "between SPEs the buffers lie in a local store".to_owned()
        } else {
            return Ok(());
        };
        let message = format!("{why}; leave it out");
        Err(RequestError::new(Setting::PAGE_BYTES.flag, "", message))
    }

    fn check_alone(&self, topology: &Topology) -> Result<(), RequestError> {
        match (self.function, self.spes) {
            (Function::Copy, Count::Shared(spes)) if spes > 1 => Err(RequestError::new(
                "-n",
                format!("-N {}", topology.spes().len().min(spes)),
                format!(
                    "{spes} SPEs on one buffer: each SPE of copy writes a block of its own; ask for \
                     private buffers (-N), or use 1"
                ),
            )),
            (Function::OsThread, spes) if spes.number() > 1 => Err(RequestError::new(
                spes.flag(),
                "-n 1",
                format!(
                    "{} SPEs: no SPE takes part in osthread, whose threads the PPE creates one after the other; \
                     leave it out",
                    spes.number()
                ),
            )),
            (Function::Chase, spes) if spes.number() > 1 => Err(RequestError::new(
                spes.flag(),
                "-n 1",
                format!(
                    "{} SPEs: one SPE follows the pointers of chase; use 1, and have others load the \
                     memory meanwhile (--load)",
                    spes.number()
                ),
            )),
            _ => Ok(()),
        }
    }

    fn check_numbers(&self) -> Result<(), RequestError> {
        let max = u32::MAX;
        let is_too_large = |asked: u64| u32::try_from(asked).is_err();
        if let Iterations::Exactly(asked) = self.iterations
            && (asked == 0 || is_too_large(asked))
        {
            let why = format!("{asked} iterations: a measurement takes 1 to {max}; use 1000");
            return Err(RequestError::new("-i", "-i 1000", why));
        }
        if let Some(asked) = self.warm_up.filter(|asked| is_too_large(*asked)) {
            let why =
                format!("{asked} iterations of warm-up: a measurement takes 0 to {max}; use 1000");
            return Err(RequestError::new("-w", "-w 1000", why));
        }
        for setting in &Setting::ALL {
            let refusal = (setting.get)(&self.settings).and_then(setting.refusal);
            if let Some(why) = refusal {
                return Err(RequestError::new(setting.flag, setting.instead, why));
            }
        }
        Ok(())
    }
}

impl Pace {
    /// Returns the pace for measuring the plan's operation without the library. A given number of
    /// iterations stays the same. A given time is divided by four, and only the rounds of a visit
    /// that is not the last are made.
    pub(crate) fn for_bare_operation(&self) -> Self {
        Self {
            warm_up: self.warm_up,
            timed: match self.timed {
                Timed::Within(span) => {
                    Timed::Within(Span::from_femtoseconds(span.as_femtoseconds() / 4))
                }
                other => other,
            },
            earlier: Vec::new(),
            more_visits: true,
            // The bare operation takes no longer than the operation of the library.
            rate: self.rate,
            // The operation of the library was measured just before.
            is_warm: true,
        }
    }
}

impl Plan {
    /// Plans a task of a request, with its pace. The SPEs were taken from the Cell first, and the
    /// data is in the module.
    fn of(
        request: &Request,
        task: Task,
        (cell, module): (CellId, ModuleId),
        topology: &Topology,
        limits: &Limits,
    ) -> Self {
        let capabilities = topology.capabilities();
        let checked = |number| u32::try_from(number).expect("the numbers were checked");
        let timed = match request.iterations {
            Iterations::Exactly(iterations) => Timed::Exactly(checked(iterations)),
            Iterations::Within(_) if capabilities.is_steady => {
                Timed::Steady(task.steady_iterations())
            }
            Iterations::Within(span) => Timed::Within(span),
        };
        let warm_up = match timed {
            Timed::Exactly(iterations) if capabilities.is_steady => {
                Some(STEADY_WARM_UP.min(iterations))
            }
            _ => None,
        };
        Self {
            function: request.function,
            pace: Pace {
                warm_up: request.warm_up.map(checked).or(warm_up),
                timed,
                earlier: Vec::new(),
                more_visits: false,
                rate: None,
                is_warm: false,
            },
            module,
            keep_samples: request.keep_samples,
            bandwidth_bytes_per_s_max: limits.bandwidth_bytes_per_s_max,
            capabilities,
            shared_cpu: task.shared_cpu(topology),
            parameters: Parameters {
                spes: match &task {
                    Task::Pairs(task) => task.spes,
                    _ => request.spes.number(),
                },
                cell: cell.index(),
                module: task.is_in_module().then_some(module.index()),
                between: match &task {
                    _ if task.is_in_memory() => Between::MemorySpe,
                    Task::Pairs(_) => Between::SpeSpe,
                    _ if request.between_spes => Between::SpeSpe,
                    _ => Between::PpeSpe,
                },
                buffers: task.buffers(request.spes),
                settings: Settings {
                    page_bytes: request.settings.page_bytes,
                    ..task.settings(request.spes)
                },
            },
            task,
        }
    }

    /// Returns the circumstances of the measurement.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the function that is measured.
    pub fn function(&self) -> Function {
        self.function
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Changes the time for all timed rounds. Has an effect only if the request set `iterations` to
    /// [`Iterations::Within`], and if the machine is not steady. A caller with many plans can
    /// divide a budget by calling this function before each measurement.
    ///
    /// ```
    /// use cellworks_machine::{CellId, ModuleId, Span, SpeSite, Topology};
    /// use cellworks_stats::{Function, Limits, Request};
    ///
    /// let site = SpeSite { cell: CellId::new(0), core: None, place: String::new() };
    /// let topology = Topology::new("one SPE", vec![ModuleId::new(0)], vec![site]);
    /// let limits = Limits { block_bytes_max: 16 << 10, local_store_bytes: 256 << 10, memory_bytes_max: 1 << 28, staging_bytes_max: None, bandwidth_bytes_per_s_max: None };
    ///
    /// let mut plan = Request::new(Function::Mailbox).plan(&topology, &limits)?;
    /// plan.set_span(Span::from_nanoseconds(20_000_000));
    /// # Ok::<_, cellworks_stats::RequestError>(())
    /// ```
    pub fn set_span(&mut self, span: Span) {
        if let Timed::Within(before) = &mut self.pace.timed {
            *before = span;
        }
    }

    /// Returns the pairs of SPEs of a matrix, in the order of measuring. Empty for other functions.
    pub fn pairs(&self) -> &[(SpeId, SpeId)] {
        match &self.task {
            Task::Pairs(task) => &task.pairs,
            _ => &[],
        }
    }

    /// Estimates the time to measure a matrix between SPEs. Returns `None` for any other function.
    /// The estimate includes 0.2 ms for each pair, in which the PPE wakes the SPEs of the pair and
    /// sends them commands. If SPEs share an OS thread, the matrix takes longer. On a simulated
    /// machine, the estimate is simulated time, without wake-ups.
    pub fn estimated_time(&self) -> Option<Span> {
        match &self.task {
            Task::Pairs(task) => Some(task.estimated_time()),
            _ => None,
        }
    }

    /// Returns the SPEs that run the measured operation. In an exchange or a wake-up, these are the
    /// SPEs that answer the PPE (or SPE 0). Empty for a matrix (see [`pairs`](Self::pairs)) and for
    /// `osthread`.
    pub fn active_spes(&self) -> &[SpeId] {
        match &self.task {
            Task::Threads { spes }
            | Task::Exchange { partners: spes, .. }
            | Task::Transfer(TransferTask { spes, .. })
            | Task::Atomic(AtomicTask { spes, .. })
            | Task::WakeUp { partners: spes, .. }
            | Task::Copy(CopyTask { spes, .. }) => spes,
            Task::Chase(ChaseTask { spes, .. }) => spes,
            Task::OsThread | Task::Pairs(_) | Task::Memory(_) => &[],
        }
    }
}

impl Task {
    fn is_in_memory(&self) -> bool {
        match self {
            Self::Transfer(task) => task.lender.is_none(),
            Self::Atomic(_) | Self::Copy(_) | Self::Chase(_) | Self::Memory(_) => true,
            Self::Threads { .. }
            | Self::Exchange { .. }
            | Self::WakeUp { .. }
            | Self::OsThread
            | Self::Pairs(_) => false,
        }
    }

    fn shared_cpu(&self, topology: &Topology) -> Vec<usize> {
        let (between_spes, partners) = match self {
            Self::Exchange {
                between_spes,
                partners,
                ..
            }
            | Self::WakeUp {
                between_spes,
                partners,
                ..
            } => (*between_spes, partners),
            _ => return Vec::new(),
        };
        let other_end = if between_spes {
            Some(topology.place_of(SpeId::new(0)))
        } else {
            topology.place_of_ppe()
        };
        let has_it = |spe: &&SpeId| {
            let place = topology.place_of(**spe);
            !place.is_empty() && Some(place) == other_end
        };
        partners
            .iter()
            .filter(has_it)
            .map(|spe| spe.index())
            .collect()
    }

    fn is_in_module(&self) -> bool {
        self.is_in_memory() && matches!(self, Self::Transfer(_) | Self::Atomic(_))
    }

    fn buffers(&self, spes: Count) -> Option<Buffers> {
        match (self, spes) {
            (Self::Transfer(_) | Self::Atomic(_), Count::Shared(_)) => Some(Buffers::Shared),
            (Self::Transfer(_) | Self::Atomic(_), Count::Private(_)) | (Self::Copy(_), _) => {
                Some(Buffers::Private)
            }
            _ => None,
        }
    }

    /// Returns the settings of the task. Fields that the request left open have the chosen values.
    fn settings(&self, spes: Count) -> Settings {
        let with_stride = |settings: Settings, stride| Settings {
            stride_bytes: matches!(spes, Count::Private(_)).then_some(stride),
            ..settings
        };
        match self {
            Self::Transfer(task) => with_stride(task.settings(), task.layout.stride),
            Self::Atomic(task) => with_stride(task.settings(), task.layout.stride),
            Self::Copy(task) => task.settings(),
            Self::Chase(task) => task.settings(),
            Self::Pairs(task) => task.settings(),
            Self::Memory(task) => task.settings(),
            Self::Threads { .. } | Self::Exchange { .. } | Self::WakeUp { .. } | Self::OsThread => {
                Settings::default()
            }
        }
    }

    /// Returns the number of iterations of a round on a machine with times that repeat. A round is
    /// much longer than the times at its start and end in which some SPEs are idle.
    fn steady_iterations(&self) -> u32 {
        /// The number of bytes that each SPE moves in a round.
        const ROUND_BYTES: usize = 256 << 10;
        let moving = |bytes: usize| (ROUND_BYTES / bytes.max(1)).clamp(16, 128) as u32;
        match self {
            // An iteration takes milliseconds, and iterations do not overlap, so a few are enough.
            Self::Threads { .. } | Self::OsThread => 4,
            Self::WakeUp { .. } => 16,
            Self::Exchange { .. } | Self::Atomic(_) => 128,
            Self::Transfer(task) => moving(task.shape.bytes()),
            Self::Copy(task) => (ROUND_BYTES / task.bytes).clamp(2, 128) as u32,
            // An iteration visits 1,024 nodes of every chain, so two iterations are enough.
            Self::Chase(_) => 2,
            // A matrix has no rounds, because each pair is measured for a given time.
            Self::Pairs(_) | Self::Memory(_) => 1,
        }
    }
}
