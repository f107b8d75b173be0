//! What is to be measured: as it was asked for, and checked.
//!
//! ```text
//!   Request ── plan(topology, limits) ──► Plan ──► measure
//!   what somebody typed      │            every SPE, size and address offset decided
//!                            └─► RequestError
//! ```
//!
//! Everything that can be wrong with a request is found here, before anything runs. A [`Plan`] is
//! the proof, so the measuring code checks nothing twice.

use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::{
    Direction, LIST_ELEMENT_BYTES, MAX_LIST_ELEMENTS, MAX_TRANSFER_BYTES,
};
use cellworks_machine::{Capabilities, CellId, ModuleId, Span, SpeId, Topology};

use crate::Function;
use crate::error::{RequestError, Unused};
use crate::function::{Channel, Kind};
use crate::report::{Between, Buffers, Parameters};
use crate::sample::Visited;

/// A measurement as somebody asks for it, in the terms of CellStats' flags (section 3.1).
///
/// `None` leaves the choice to [`plan`](Self::plan).
///
/// SPEs that share a CPU, as on a computer with fewer CPUs than SPEs, take turns. Most functions then
/// take longer, and two say nothing: a [`Function::Chase`] under load is interrupted by the load instead
/// of competing with it for memory, and a [`Function::WakeUp`] waits until the sender gives up the CPU.
///
/// ```
/// use cellworks_machine::{CellId, ModuleId, SpeSite, Topology};
/// use cellworks_stats::{Count, Function, Limits, Request};
///
/// let site = |cell| SpeSite { cell: CellId::new(cell), core: None, place: String::new() };
/// let blade = Topology::new("a small blade", vec![ModuleId::new(0)], vec![site(0), site(0)]);
/// let limits = Limits {
///     block_bytes_max: 16 << 10,
///     local_store_bytes: 256 << 10,
///     memory_bytes_max: 1 << 28,
///     staging_bytes_max: Some(16 << 10),
///     bandwidth_bytes_per_s_max: None,
/// };
///
/// let request = Request { spes: Count::Shared(2), block_bytes: Some(24), ..Request::new(Function::DmaGet) };
/// assert_eq!(
///     request.plan(&blade, &limits).unwrap_err().to_string(),
///     "a block of 24 bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes; use 16 or 32",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// What to measure (`-f`).
    pub function: Function,
    /// How many SPEs, and whether on buffers of their own (`-n`, `-N`).
    pub spes: Count,
    /// How often (`-i`). An iteration of [`Function::Chase`] is a walk of 1,024 nodes along every
    /// chain, and the measurement says what a node takes.
    pub iterations: Iterations,
    /// How often before that, untimed (`-w`); `None` until 10 ms have passed. On a machine that
    /// [is steady](cellworks_machine::Capabilities::is_steady), `None` for a quarter of a round, and
    /// before exact iterations 16 times or as many as these, if they are fewer.
    pub warm_up: Option<u64>,
    /// Bytes in a block, in an element of a list, in a variable, or in a table of pointers (`-b`):
    /// 1,024 for a transfer or a copy, 64 for a list, 4 for a variable, 64 MB for a table if `None`.
    /// A copy takes a multiple of 16, a table one of 64.
    pub block_bytes: Option<usize>,
    /// Elements of a list (`-l`): 16 if `None`.
    pub list_elements: Option<u32>,
    /// Bytes from one private buffer to the next (`-t`): the next multiple of 128 that holds a
    /// buffer if `None`.
    pub stride_bytes: Option<usize>,
    /// The Cell whose SPEs are taken first (`-c`): the first that has an SPE to take if `None`, which
    /// is Cell 0 unless SPE 0 is alone there and apart from the others.
    pub cell: Option<CellId>,
    /// The memory module that holds what is accessed (`-m`): the one nearest to the Cell if
    /// `None`. Of a transfer between SPEs it holds only the control blocks.
    pub module: Option<ModuleId>,
    /// SPE 0 takes the place of the PPE in an exchange, and its local store that of main memory in
    /// a transfer (`-s`).
    pub between_spes: bool,
    /// Whether the result has every sample in it.
    pub keep_samples: bool,
    /// How many chains of pointers one SPE follows at once (`-k`), 1 to 64: 1 if `None`.
    pub chains: Option<u32>,
    /// How many other SPEs copy memory while one follows pointers (`--load`): 0 if `None`.
    pub loading_spes: Option<usize>,
}

/// A number of SPEs, and how buffers are spread over them. Functions without buffers take
/// [`Shared`](Self::Shared).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// So many SPEs on one buffer (`-n`).
    Shared(usize),
    /// So many SPEs, each on a buffer of its own (`-N`).
    Private(usize),
}

/// How often the timed loop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Iterations {
    /// So often, on each SPE.
    Exactly(u64),
    /// In rounds, at least six, until the interval of the median is narrow or so much time is spent.
    ///
    /// On a machine that [is steady](cellworks_machine::Capabilities::is_steady), such as a simulated
    /// one, however much time that takes: in rounds of 2 to 128 iterations, until two that follow each
    /// other have the same median to a thousandth, and eight at the most. One visit is enough there. A
    /// round has as many iterations as move 256 KB, between 16 and 128; where an iteration is long, as
    /// the start of a program is, it has fewer.
    Within(Span),
}

/// What a machine allows beyond its topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest block. Above 16 KB, which is the most that a DMA command moves, a block is
    /// moved by several commands.
    pub block_bytes_max: usize,
    /// Bytes of each local store.
    pub local_store_bytes: usize,
    /// The most that all buffers of a measurement together may take in main memory.
    pub memory_bytes_max: usize,
    /// What one SPE can move at the very most, in bytes a second; [`measure`](crate::measure) refuses
    /// a result above it. On a computer this is what its widest instructions move: 64 bytes a cycle
    /// at the highest clock rate. `None` if it is not known.
    pub bandwidth_bytes_per_s_max: Option<u64>,
    /// The largest typed view that a program stages, such as 16 KB, so that a few fit into a local
    /// store; `None` where views are the memory itself and take no room.
    pub staging_bytes_max: Option<usize>,
}

/// A request that a machine can fulfil; holding one is the proof.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) function: Function,
    pub(crate) pace: Pace,
    pub(crate) task: Task,
    /// Where control blocks go, and buffers unless they are in a local store.
    pub(crate) module: ModuleId,
    pub(crate) keep_samples: bool,
    /// What one SPE can move at the very most.
    pub(crate) bandwidth_bytes_per_s_max: Option<u64>,
    parameters: Parameters,
}

/// How often, checked.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    pub warm_up: Option<u32>,
    pub timed: Timed,
    /// What was measured in earlier visits.
    pub earlier: Visited,
    /// Whether there will be another visit.
    pub more_visits: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Timed {
    Exactly(u32),
    Within(Span),
    /// In rounds of so many iterations.
    Steady(u32),
}

/// What is to be done, and by whom.
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
    /// The PPE, or SPE 0 if `between_spes`, wakes each of `partners` in turn, after leaving it alone for so
    /// long.
    WakeUp {
        between_spes: bool,
        partners: Vec<SpeId>,
        alone: Span,
    },
    Copy(CopyTask),
    Chase(ChaseTask),
}

/// Each of `spes` copies a block of its own.
#[derive(Clone, Debug)]
pub(crate) struct CopyTask {
    pub bytes: usize,
    /// How many at a time, at most.
    pub tile_bytes: usize,
    pub spes: Vec<SpeId>,
}

/// An SPE follows pointers while others copy.
#[derive(Clone, Debug)]
pub(crate) struct ChaseTask {
    pub table_bytes: usize,
    pub chains: u32,
    /// Whether a view of the whole table is the table itself.
    pub in_one_view: bool,
    /// The one that follows pointers.
    pub spes: [SpeId; 1],
    pub load: CopyTask,
}

/// Each of `spes` moves its buffer; the buffers lie in the local store of `lender`, or in main
/// memory.
#[derive(Clone, Debug)]
pub(crate) struct TransferTask {
    pub direction: Direction,
    pub shape: Shape,
    pub spes: Vec<SpeId>,
    pub lender: Option<SpeId>,
    pub layout: Layout,
}

/// Each of `spes` changes its variable.
#[derive(Clone, Debug)]
pub(crate) struct AtomicTask {
    pub words: usize,
    pub spes: Vec<SpeId>,
    pub layout: Layout,
}

/// What one transfer operation moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Block { bytes: usize },
    List { elements: u32, element_bytes: u32 },
}

/// Where the buffers of the SPEs lie, relative to the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// 1 if all SPEs share a buffer.
    pub buffers: usize,
    pub bytes: usize,
    pub stride: usize,
}

/// What SPEs keep in their local stores beside data: the control block, and room to align.
const LOCAL_STORE_OVERHEAD_BYTES: usize = 256;

/// The window through which blocks of more than 16 KB move.
pub(crate) const WINDOW_BYTES: usize = 64 * 1024;

/// All elements of a list lie between two multiples of 4 GiB, because they share the upper half of
/// their effective addresses; memory of less than 4 GiB is allocated so.
const LIST_BUFFERS_BYTES_MAX: usize = u32::MAX as usize;

/// How long a partner is left alone that sleeps when it waits for long. It is asleep by then: no
/// thread spins for longer than being woken takes, which is some ten microseconds.
const ASLEEP: Span = Span::from_nanoseconds(1_000_000);

/// How long a partner is left alone that never sleeps, as an SPE of a Cell: it waits in hardware, so
/// it only has to have begun.
const WAITING: Span = Span::from_nanoseconds(2_000);

/// How often an operation is done on a machine that is steady before it is done a given number of
/// times: until its lines are where they stay.
const STEADY_WARM_UP: u32 = 16;

const DEFAULT_BLOCK_BYTES: usize = 1024;
const DEFAULT_ELEMENT_BYTES: usize = 64;
const DEFAULT_LIST_ELEMENTS: u32 = 16;
const DEFAULT_VARIABLE_BYTES: usize = 4;
const DEFAULT_TABLE_BYTES: usize = 64 << 20;

/// What a copy is a multiple of: a quadword.
const COPY_UNIT_BYTES: usize = 16;

/// A node of a table of pointers: a cache line of most computers, so that each node is a miss.
pub(crate) const NODE_BYTES: usize = 64;

/// More misses than any core has under way at once.
pub(crate) const CHAINS_MAX: u32 = 64;

/// What an SPE that loads the memory copies, if there is room: far more than fits into a cache.
const LOAD_BLOCK_BYTES: usize = 64 << 20;

/// How much it copies before it looks whether it shall stop: some ten microseconds.
const LOAD_TILE_BYTES: usize = 256 << 10;

impl Request {
    /// One SPE, everything else as it comes, for up to about 0.2 s.
    pub fn new(function: Function) -> Self {
        Self {
            function,
            spes: Count::Shared(1),
            iterations: Iterations::Within(Span::from_nanoseconds(200_000_000)),
            warm_up: None,
            block_bytes: None,
            list_elements: None,
            stride_bytes: None,
            cell: None,
            module: None,
            between_spes: false,
            keep_samples: false,
            chains: None,
            loading_spes: None,
        }
    }

    /// Checks the request against a machine, and decides what it left open.
    ///
    /// # Errors
    ///
    /// [`RequestError`] if the machine lacks a part that the request names, a size is one that the
    /// architecture refuses, or the function has no use for something that was asked for.
    pub fn plan(&self, topology: &Topology, limits: &Limits) -> Result<Plan, RequestError> {
        self.check_unused()?;
        self.check_alone()?;
        self.check_iterations()?;
        let placed = self.place(topology)?;
        let function = self.function;
        let capabilities = topology.capabilities();
        let mut parameters = Parameters {
            spes: self.spes.number(),
            cell: placed.cell.index(),
            module: None,
            between: if self.between_spes {
                Between::SpeSpe
            } else {
                Between::PpeSpe
            },
            buffers: None,
            block_bytes: None,
            list_elements: None,
            stride_bytes: None,
            chains: None,
            loading_spes: None,
        };
        let (spes, first) = (placed.spes, placed.first);
        let task = match function.kind() {
            Kind::Threads => Task::Threads { spes },
            Kind::Exchange(channel) => Task::Exchange {
                channel,
                between_spes: self.between_spes,
                partners: spes,
            },
            Kind::Transfer { direction, list } => {
                let shape = if list {
                    self.list()?
                } else {
                    self.block(limits)?
                };
                check_local_store(shape, limits)?;
                let layout = self.layout(shape.bytes(), spes.len())?;
                check_stride(&layout, 16)?;
                match first {
                    Some(spe) => layout.check_fits(
                        limits
                            .local_store_bytes
                            .saturating_sub(LOCAL_STORE_OVERHEAD_BYTES),
                        &format!("the local store of {spe}"),
                    )?,
                    None if list => layout.check_fits(
                        limits.memory_bytes_max.min(LIST_BUFFERS_BYTES_MAX),
                        "main memory",
                    )?,
                    None => layout.check_fits(limits.memory_bytes_max, "main memory")?,
                }
                self.describe(&mut parameters, &layout, shape.block_bytes());
                if let Shape::List { elements, .. } = shape {
                    parameters.list_elements = Some(elements);
                }
                Task::Transfer(TransferTask {
                    direction,
                    shape,
                    spes,
                    lender: first,
                    layout,
                })
            }
            Kind::Atomic => {
                let bytes = self.variable()?;
                let layout = self.layout(bytes, spes.len())?;
                check_stride(&layout, 4)?;
                layout.check_lines()?;
                layout.check_fits(limits.memory_bytes_max, "main memory")?;
                self.describe(&mut parameters, &layout, bytes);
                Task::Atomic(AtomicTask {
                    words: bytes / 4,
                    spes,
                    layout,
                })
            }
            Kind::WakeUp => Task::WakeUp {
                between_spes: self.between_spes,
                partners: spes,
                alone: match capabilities.sleeps {
                    true => ASLEEP,
                    false => WAITING,
                },
            },
            Kind::Copy => {
                let bytes = self.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES);
                check_multiple(function, bytes, COPY_UNIT_BYTES)?;
                let copies = Layout {
                    // What is copied, and where to.
                    buffers: 2 * spes.len(),
                    bytes,
                    stride: bytes,
                };
                copies.check_fits(limits.memory_bytes_max, "main memory")?;
                parameters.block_bytes = Some(bytes);
                parameters.buffers = Some(Buffers::Private);
                Task::Copy(CopyTask {
                    bytes,
                    tile_bytes: tile_bytes(limits, bytes),
                    spes,
                })
            }
            Kind::Chase => {
                let task = self.chase(limits, spes)?;
                parameters.block_bytes = Some(task.table_bytes);
                parameters.chains = Some(task.chains);
                parameters.loading_spes = Some(task.load.spes.len());
                Task::Chase(task)
            }
        };
        if let Task::Atomic(_) | Task::Transfer(TransferTask { lender: None, .. }) = task {
            parameters.module = Some(placed.module.index());
            parameters.between = Between::MemorySpe;
        }
        if let Task::Copy(_) | Task::Chase(_) = task {
            parameters.between = Between::MemorySpe;
        }
        Ok(Plan {
            function,
            pace: self.pace(&task, capabilities),
            task,
            module: placed.module,
            keep_samples: self.keep_samples,
            bandwidth_bytes_per_s_max: limits.bandwidth_bytes_per_s_max,
            parameters,
        })
    }

    /// Refuses what the function has no use for.
    fn check_unused(&self) -> Result<(), RequestError> {
        let private = matches!(self.spes, Count::Private(_));
        let given = [
            (self.between_spes, Unused::BetweenSpes),
            (self.list_elements.is_some(), Unused::ListElements),
            (self.block_bytes.is_some(), Unused::Block),
            (private, Unused::PrivateBuffers),
            (self.stride_bytes.is_some(), Unused::Stride),
            (self.module.is_some(), Unused::Module),
            (self.chains.is_some(), Unused::Chains),
            (self.loading_spes.is_some(), Unused::LoadingSpes),
        ];
        let kind = self.function.kind();
        match given
            .into_iter()
            .find(|(is_given, what)| *is_given && !kind.uses(*what))
        {
            Some((_, what)) => Err(RequestError::Unused {
                function: self.function,
                what,
            }),
            None => Ok(()),
        }
    }

    /// Refuses several SPEs where only one can take part.
    fn check_alone(&self) -> Result<(), RequestError> {
        match (self.function.kind(), self.spes) {
            (Kind::Copy, Count::Shared(spes)) if spes > 1 => Err(RequestError::SharedCopy { spes }),
            (Kind::Chase, spes) if spes.number() > 1 => Err(RequestError::OneChases {
                asked: spes.number(),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses numbers of iterations, before anything else is looked at.
    fn check_iterations(&self) -> Result<(), RequestError> {
        match self.iterations {
            Iterations::Exactly(asked) if asked == 0 || u32::try_from(asked).is_err() => {
                Err(RequestError::Iterations { asked })
            }
            _ => match self.warm_up {
                Some(asked) if u32::try_from(asked).is_err() => Err(RequestError::WarmUp { asked }),
                _ => Ok(()),
            },
        }
    }

    fn pace(&self, task: &Task, capabilities: Capabilities) -> Pace {
        let checked = |number| u32::try_from(number).expect("the numbers were checked");
        let timed = match self.iterations {
            Iterations::Exactly(iterations) => Timed::Exactly(checked(iterations)),
            Iterations::Within(_) if capabilities.is_steady => {
                Timed::Steady(task.steady_iterations())
            }
            Iterations::Within(span) => Timed::Within(span),
        };
        Pace {
            warm_up: self.warm_up.map(checked).or(match timed {
                Timed::Exactly(iterations) if capabilities.is_steady => {
                    Some(STEADY_WARM_UP.min(iterations))
                }
                _ => None,
            }),
            timed,
            earlier: Vec::new(),
            more_visits: false,
        }
    }

    /// Chooses SPEs as the paper does: those of the Cell first, then the others in order. Between
    /// SPEs, SPE 0 is one of them and apart from the others.
    fn place(&self, topology: &Topology) -> Result<Placed, RequestError> {
        let machine = topology.name().to_owned();
        let (asked, has) = (self.spes.number(), topology.spes().len());
        let fewest = if self.between_spes { 2 } else { 1 };
        if asked > has || has < fewest {
            return Err(RequestError::TooManySpes {
                asked: asked.max(fewest),
                has,
                machine,
            });
        }
        if asked == 0 {
            return Err(RequestError::NoSpes { has });
        }
        if asked < fewest {
            return Err(RequestError::NoPartner {
                function: self.function,
            });
        }
        let loading = self.loading_spes.unwrap_or(0);
        if loading > has - asked {
            return Err(RequestError::TooManyLoading {
                asked: loading,
                has,
                machine,
            });
        }
        let first = self.between_spes.then_some(SpeId::new(0));
        let has_some = |cell: &CellId| topology.spes_of(*cell).any(|spe| Some(spe) != first);
        let cell = self
            .cell
            .or_else(|| topology.cells().find(has_some))
            .expect("there are as many SPEs as are needed, and each is in a Cell");
        let cells = topology.cells().len();
        if cell.index() >= cells {
            return Err(RequestError::NoSuchCell {
                asked: cell,
                has: cells,
                machine,
            });
        }
        let module = self.module.unwrap_or_else(|| topology.nearest_module(cell));
        let modules = topology.modules().len();
        if module.index() >= modules {
            return Err(RequestError::NoSuchModule {
                asked: module,
                has: modules,
                machine,
            });
        }
        let here = topology.spes_of(cell);
        let elsewhere = topology.spes().filter(|spe| topology.cell_of(*spe) != cell);
        let spes: Vec<SpeId> = here
            .chain(elsewhere)
            .filter(|spe| Some(*spe) != first)
            .take(asked + loading - usize::from(first.is_some()))
            .collect();
        if topology.cell_of(spes[0]) != cell {
            return Err(RequestError::EmptyCell {
                cell,
                besides: first,
                machine,
            });
        }
        Ok(Placed {
            cell,
            module,
            first,
            spes,
        })
    }

    fn block(&self, limits: &Limits) -> Result<Shape, RequestError> {
        let bytes = self.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES);
        check_dma_size(
            bytes,
            limits.block_bytes_max.min(limits.local_block_bytes_max()),
        )?;
        Ok(Shape::Block { bytes })
    }

    fn list(&self) -> Result<Shape, RequestError> {
        let bytes = self.block_bytes.unwrap_or(DEFAULT_ELEMENT_BYTES);
        check_dma_size(bytes, MAX_TRANSFER_BYTES as usize)?;
        let elements = self.list_elements.unwrap_or(DEFAULT_LIST_ELEMENTS);
        if !(1..=MAX_LIST_ELEMENTS).contains(&elements) {
            return Err(RequestError::ListElements { elements });
        }
        Ok(Shape::List {
            elements,
            element_bytes: bytes as u32,
        })
    }

    /// Bytes of a variable.
    fn variable(&self) -> Result<usize, RequestError> {
        let bytes = self.block_bytes.unwrap_or(DEFAULT_VARIABLE_BYTES);
        if bytes == 0 || !bytes.is_multiple_of(4) || bytes > LINE_BYTES {
            return Err(RequestError::Variable { bytes });
        }
        Ok(bytes)
    }

    /// What the first of `spes` chases through, and what the others copy.
    fn chase(&self, limits: &Limits, spes: Vec<SpeId>) -> Result<ChaseTask, RequestError> {
        let bytes = self.block_bytes.unwrap_or(DEFAULT_TABLE_BYTES);
        check_multiple(self.function, bytes, NODE_BYTES)?;
        let chains = self.chains.unwrap_or(1);
        if !(1..=CHAINS_MAX).contains(&chains) {
            return Err(RequestError::Chains { asked: chains });
        }
        if bytes / NODE_BYTES < chains as usize {
            return Err(RequestError::ChainsOfTable {
                chains,
                bytes,
                node: NODE_BYTES,
            });
        }
        let loading = spes[1..].to_vec();
        let table = Layout {
            buffers: 1,
            bytes,
            stride: bytes,
        };
        table.check_fits(limits.memory_bytes_max, "main memory")?;
        // The others share what the table leaves.
        let room = (limits.memory_bytes_max - bytes) / (2 * loading.len()).max(1);
        let tile_bytes = tile_bytes(limits, LOAD_TILE_BYTES);
        let load_bytes = room.min(LOAD_BLOCK_BYTES) / tile_bytes * tile_bytes;
        if load_bytes == 0 && !loading.is_empty() {
            return Err(RequestError::Room {
                buffers: 2 * loading.len(),
                bytes: tile_bytes,
                stride: tile_bytes,
                room: limits.memory_bytes_max - bytes,
                where_to: "main memory beside the table".to_owned(),
            });
        }
        Ok(ChaseTask {
            table_bytes: bytes,
            chains,
            in_one_view: limits.staging_bytes_max.is_none(),
            spes: [spes[0]],
            load: CopyTask {
                bytes: load_bytes,
                tile_bytes,
                spes: loading,
            },
        })
    }

    fn layout(&self, bytes: usize, spes: usize) -> Result<Layout, RequestError> {
        let buffers = match (self.spes, self.stride_bytes) {
            (Count::Shared(_), Some(stride)) => {
                return Err(RequestError::StrideOfShared { stride });
            }
            (Count::Shared(_), None) => 1,
            (Count::Private(_), _) => spes,
        };
        let stride = self
            .stride_bytes
            .unwrap_or(bytes.next_multiple_of(LINE_BYTES));
        if stride < bytes {
            return Err(RequestError::StrideTooSmall { stride, bytes });
        }
        Ok(Layout {
            buffers,
            bytes,
            stride,
        })
    }

    fn describe(&self, parameters: &mut Parameters, layout: &Layout, block_bytes: usize) {
        parameters.block_bytes = Some(block_bytes);
        parameters.buffers = Some(match self.spes {
            Count::Shared(_) => Buffers::Shared,
            Count::Private(_) => {
                parameters.stride_bytes = Some(layout.stride);
                Buffers::Private
            }
        });
    }
}

struct Placed {
    cell: CellId,
    module: ModuleId,
    first: Option<SpeId>,
    spes: Vec<SpeId>,
}

impl Kind {
    /// Whether the function has a use for this.
    const fn uses(self, what: Unused) -> bool {
        match what {
            Unused::ListElements => matches!(self, Self::Transfer { list: true, .. }),
            Unused::Block => !matches!(self, Self::Threads | Self::Exchange(_) | Self::WakeUp),
            Unused::PrivateBuffers => {
                matches!(self, Self::Transfer { .. } | Self::Atomic | Self::Copy)
            }
            Unused::Stride | Unused::Module => matches!(self, Self::Transfer { .. } | Self::Atomic),
            Unused::BetweenSpes => {
                matches!(
                    self,
                    Self::Exchange(_) | Self::Transfer { .. } | Self::WakeUp
                )
            }
            Unused::Chains | Unused::LoadingSpes => matches!(self, Self::Chase),
        }
    }
}

impl Count {
    /// How many SPEs.
    pub const fn number(self) -> usize {
        match self {
            Self::Shared(number) | Self::Private(number) => number,
        }
    }
}

impl Plan {
    /// What the measurement will say about its circumstances.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// What is measured.
    pub fn function(&self) -> Function {
        self.function
    }

    /// Gives the rounds that count another time, if the request gave them one
    /// ([`Iterations::Within`]); exact iterations stay. So a caller with many plans can share out
    /// what is left of a budget before each. A warm-up of the usual length comes on top.
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

    /// The SPEs that run the measured operation, or answer it.
    pub fn active_spes(&self) -> &[SpeId] {
        match &self.task {
            Task::Threads { spes }
            | Task::Exchange { partners: spes, .. }
            | Task::Transfer(TransferTask { spes, .. })
            | Task::Atomic(AtomicTask { spes, .. })
            | Task::WakeUp { partners: spes, .. }
            | Task::Copy(CopyTask { spes, .. }) => spes,
            Task::Chase(ChaseTask { spes, .. }) => spes,
        }
    }
}

impl Limits {
    /// The largest block that a local store has room for: any where the window fits through which
    /// large blocks move, otherwise what is left beside the control block.
    fn local_block_bytes_max(&self) -> usize {
        let room = self
            .local_store_bytes
            .saturating_sub(LOCAL_STORE_OVERHEAD_BYTES);
        if room >= WINDOW_BYTES {
            usize::MAX
        } else {
            room / LINE_BYTES * LINE_BYTES
        }
    }
}

impl Task {
    /// How many iterations a round has on a machine where the same always takes the same time. The ends
    /// of a round, where not all SPEs are busy, must be a small part of it; beyond that more iterations
    /// only take longer to simulate.
    fn steady_iterations(&self) -> u32 {
        /// What a round moves, to and from each SPE.
        const ROUND_BYTES: usize = 256 << 10;
        let moving = |bytes: usize| (ROUND_BYTES / bytes.max(1)).clamp(16, 128) as u32;
        match self {
            // One takes milliseconds, and nothing of it overlaps with the next.
            Self::Threads { .. } => 4,
            Self::WakeUp { .. } => 16,
            Self::Exchange { .. } | Self::Atomic(_) => 128,
            Self::Transfer(task) => moving(task.shape.bytes()),
            Self::Copy(task) => (ROUND_BYTES / task.bytes).clamp(2, 128) as u32,
            // An iteration is 1,024 steps of every chain.
            Self::Chase(_) => 2,
        }
    }
}

impl Shape {
    /// Bytes that one operation moves.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Block { bytes } => bytes,
            Self::List {
                elements,
                element_bytes,
            } => elements as usize * element_bytes as usize,
        }
    }

    const fn block_bytes(self) -> usize {
        match self {
            Self::Block { bytes } => bytes,
            Self::List { element_bytes, .. } => element_bytes as usize,
        }
    }

    /// Bytes of data that the SPE has in its local store at a time.
    pub fn local_bytes(self) -> usize {
        match self {
            Self::Block { bytes } => bytes.min(WINDOW_BYTES),
            // Each element starts at a multiple of 16 of its own (CBEA section 7.4).
            Self::List {
                elements,
                element_bytes,
            } => elements as usize * element_bytes.max(16) as usize,
        }
    }

    /// Bytes of the list itself, which is in the local store too.
    pub const fn list_bytes(self) -> usize {
        match self {
            Self::Block { .. } => 0,
            Self::List { elements, .. } => elements as usize * LIST_ELEMENT_BYTES as usize,
        }
    }
}

impl Layout {
    /// Where the buffer of the SPE at `position` starts.
    pub const fn offset(&self, position: usize) -> usize {
        self.stride * self.buffer_of(position)
    }

    /// Which buffer the SPE at `position` uses.
    pub const fn buffer_of(&self, position: usize) -> usize {
        if self.buffers == 1 { 0 } else { position }
    }

    /// Bytes from the start of the first buffer to the end of the last.
    pub const fn span_bytes(&self) -> usize {
        self.stride * (self.buffers - 1) + self.bytes
    }

    fn check_fits(&self, room: usize, where_to: &str) -> Result<(), RequestError> {
        let need = self
            .stride
            .checked_mul(self.buffers - 1)
            .and_then(|before| before.checked_add(self.bytes));
        if self.bytes > room {
            return Err(RequestError::BufferTooLarge {
                bytes: self.bytes,
                room,
                where_to: where_to.to_owned(),
            });
        }
        if need.is_none_or(|need| need > room) {
            return Err(RequestError::Room {
                buffers: self.buffers,
                bytes: self.bytes,
                stride: self.stride,
                room,
                where_to: where_to.to_owned(),
            });
        }
        Ok(())
    }

    /// A variable must not cross a line, because a reservation covers one.
    fn check_lines(&self) -> Result<(), RequestError> {
        // Offsets within a line repeat after at most 32 variables, as strides are multiples of 4.
        let crossing = (0..self.buffers.min(LINE_BYTES / 4))
            .map(|index| self.stride.wrapping_mul(index))
            .find(|start| start % LINE_BYTES + self.bytes > LINE_BYTES);
        match crossing {
            Some(start) => Err(RequestError::CrossesLine {
                stride: self.stride,
                bytes: self.bytes,
                variable: start / self.stride,
            }),
            None => Ok(()),
        }
    }
}

fn check_dma_size(bytes: usize, max: usize) -> Result<(), RequestError> {
    if bytes > max {
        Err(RequestError::BlockTooLarge { bytes, max })
    } else if !matches!(bytes, 1 | 2 | 4 | 8) && (bytes == 0 || !bytes.is_multiple_of(16)) {
        Err(RequestError::BlockSize { bytes, max })
    } else {
        Ok(())
    }
}

fn check_multiple(function: Function, bytes: usize, unit: usize) -> Result<(), RequestError> {
    if bytes == 0 || !bytes.is_multiple_of(unit) {
        return Err(RequestError::Multiple {
            function,
            bytes,
            unit,
        });
    }
    Ok(())
}

/// How much an SPE stages at a time: as much as it may, and at most `max`.
fn tile_bytes(limits: &Limits, max: usize) -> usize {
    let most = limits.staging_bytes_max.unwrap_or(max).min(max);
    (most / COPY_UNIT_BYTES).max(1) * COPY_UNIT_BYTES
}

fn check_local_store(shape: Shape, limits: &Limits) -> Result<(), RequestError> {
    let need = shape.local_bytes() + shape.list_bytes() + LOCAL_STORE_OVERHEAD_BYTES;
    match shape {
        Shape::List {
            elements,
            element_bytes,
        } if need > limits.local_store_bytes => Err(RequestError::ListTooLarge {
            elements,
            element_bytes,
            need,
            has: limits.local_store_bytes,
        }),
        _ => Ok(()),
    }
}

fn check_stride(layout: &Layout, multiple_of: usize) -> Result<(), RequestError> {
    if layout.stride.is_multiple_of(multiple_of) {
        Ok(())
    } else {
        Err(RequestError::StrideAlignment {
            stride: layout.stride,
            multiple_of,
        })
    }
}
