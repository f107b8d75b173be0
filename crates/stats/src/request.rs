//! A request for a measurement, before it is checked.

use cellworks_machine::{CellId, ModuleId, Span, Topology};

use crate::function::{Function, Polling};
use crate::settings::Settings;

/// A request for a measurement, in the terms of CellStats' flags (section 3.1 of the paper). If a
/// field is `None`, [`plan`](Self::plan) chooses a value.
///
/// A request for a [`Function::Matrix`] may set only `budget` and, for some primitives, further
/// fields: `settings.block_bytes` for a copy, and `module` and `polling` for an atomic variable. A
/// request for a [`Function::Memory`] may set only `budget`, `settings.block_bytes` and
/// `settings.page_bytes`.
///
/// If a computer has fewer CPUs than SPEs, several SPEs take turns on one CPU, and most functions
/// take longer. [`Function::WakeUp`], and [`Function::Chase`] with loading SPEs, then have no
/// meaningful result, because these functions need SPEs that run at the same time.
///
/// ```
/// use cellworks_machine::{CellId, ModuleId, SpeSite, Topology};
/// use cellworks_stats::{Count, Function, Limits, Request, Settings};
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
/// let settings = Settings { block_bytes: Some(24), ..Settings::default() };
/// let request = Request { spes: Count::Shared(2), settings, ..Request::new(Function::DmaGet) };
/// assert_eq!(
///     request.plan(&blade, &limits).unwrap_err().to_string(),
///     "a block of 24 bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes; use 16 or 32",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The function to measure (`-f`).
    pub function: Function,
    /// The number of SPEs, and whether each has its own buffer (`-n`, `-N`).
    pub spes: Count,
    /// The number of timed iterations (`-i`). An iteration of [`Function::Chase`] follows 1,024
    /// nodes of every chain, and the result is the time of one node.
    pub iterations: Iterations,
    /// The number of warm-up iterations, which are not timed (`-w`). If `None`, the warm-up takes
    /// 10 ms. On a machine that [is steady](cellworks_machine::Capabilities::is_steady), the
    /// default is a quarter of the iterations of a round. If `iterations` is an exact number, the
    /// default on such a machine is the same number, but at most 16.
    pub warm_up: Option<u64>,
    /// Further numbers for the function. The flag of each is
    /// [`Setting::flag`](crate::Setting::flag). If a field is `None`, the function uses the default
    /// in the help of the flag. The block of a copy must be a multiple of 16 bytes, and the table
    /// of a chase a multiple of 64 bytes.
    pub settings: Settings,
    /// The Cell from which SPEs are taken first (`-c`). If `None`, the first Cell that has an SPE.
    /// With `between_spes`, the Cell must have an SPE other than SPE 0.
    pub cell: Option<CellId>,
    /// The memory module that holds the data (`-m`). If `None`, the module nearest to the Cell. In
    /// a transfer between SPEs, the module holds only the control blocks of the SPEs.
    pub module: Option<ModuleId>,
    /// Whether SPE 0 takes the place of the PPE in an exchange, and the local store of SPE 0 takes
    /// the place of main memory in a transfer (`-s`).
    pub between_spes: bool,
    /// Whether the result contains all samples.
    pub keep_samples: bool,
    /// How the receiver of a [`Function::Matrix`] of an atomic variable waits (`--polling`). If
    /// `None`, the receiver reads the variable.
    pub polling: Option<Polling>,
    /// The time for all pairs of a matrix (`--budget`), in simulated time on a simulated machine.
    /// If `None`, every pair gets the time that it needs. On a machine that [is
    /// steady](cellworks_machine::Capabilities::is_steady), each pair is measured for 10 us, and
    /// the budget limits the number of pairs.
    pub budget: Option<Span>,
}

/// A number of SPEs, and whether the SPEs share a buffer. For a function without buffers, use
/// [`Shared`](Self::Shared).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// This number of SPEs, which all use one buffer (`-n`).
    Shared(usize),
    /// This number of SPEs, each with its own buffer (`-N`).
    Private(usize),
}

/// The number of timed iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Iterations {
    /// This number of iterations on each SPE.
    Exactly(u64),
    /// At least six rounds of iterations. The measurement ends when the interval of the median is
    /// narrow, or when this time is over.
    ///
    /// A machine that [is steady](cellworks_machine::Capabilities::is_steady) ignores the time, and
    /// needs only one visit (run of the measurement). The visit ends after eight rounds, or when
    /// two successive medians differ by at most a thousandth. A round has 128 iterations if an
    /// iteration is short, and down to 2 if an iteration is long.
    Within(Span),
}

/// Limits of a machine that its topology does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of the largest block. Several DMA commands move a block of more than 16 KB.
    pub block_bytes_max: usize,
    /// The bytes of each local store.
    pub local_store_bytes: usize,
    /// The maximum bytes of main memory for all buffers of a measurement together.
    pub memory_bytes_max: usize,
    /// The maximum number of bytes a second that one SPE can move, or `None` if unknown.
    /// [`measure`](crate::measure) refuses a result above this limit. On a computer, the limit is
    /// the bandwidth of the widest instructions, 64 bytes a cycle at the highest clock rate.
    pub bandwidth_bytes_per_s_max: Option<u64>,
    /// The maximum number of bytes that a program stages at once, such as 16 KB. The local store
    /// has room for several parts of this size. `None` on a machine without local stores.
    pub staging_bytes_max: Option<usize>,
}

impl Request {
    /// Makes a request with one SPE, about 0.2 s of timed rounds, and defaults for everything else.
    pub fn new(function: Function) -> Self {
        Self {
            function,
            spes: Count::Shared(1),
            iterations: Iterations::Within(Span::from_nanoseconds(200_000_000)),
            warm_up: None,
            settings: Settings::default(),
            cell: None,
            module: None,
            between_spes: false,
            keep_samples: false,
            polling: None,
            budget: None,
        }
    }

    /// Returns the same request with blocks of this size (`-b`).
    #[must_use]
    pub fn with_block(&self, bytes: usize) -> Self {
        Self {
            settings: Settings {
                block_bytes: Some(bytes),
                ..self.settings
            },
            ..self.clone()
        }
    }

    /// Returns the flag for the smallest number of SPEs that this function accepts on a machine.
    pub(crate) fn fewest_flag(&self, topology: &Topology) -> String {
        let is_pair = self.between_spes && topology.spes().len() > 1;
        format!("{} {}", self.spes.flag(), if is_pair { 2 } else { 1 })
    }
}

impl Count {
    /// Returns the number of SPEs.
    pub const fn number(self) -> usize {
        match self {
            Self::Shared(number) | Self::Private(number) => number,
        }
    }

    pub(crate) const fn flag(self) -> &'static str {
        match self {
            Self::Shared(_) => "-n",
            Self::Private(_) => "-N",
        }
    }
}
