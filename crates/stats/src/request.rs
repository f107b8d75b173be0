//! A request for a measurement, before it is checked.

use cellworks_machine::{CellId, ModuleId, Span, Topology};

use crate::function::{Function, Polling};
use crate::settings::Settings;

/// A request for a measurement, in the terms of CellStats' flags (section 3.1).
///
/// Where a field is `None`, [`plan`](Self::plan) chooses a value.
///
/// A [`Function::Matrix`] measures every pair of SPEs, one at a time. Of the fields below it uses
/// `settings` (a copy has a block), `module` (an atomic variable has one), `polling` and `budget`.
/// A [`Function::Memory`] measures every memory module. It uses the block of `settings`, and
/// `budget`.
///
/// On a computer with fewer CPUs than SPEs, SPEs share a CPU and take turns on it. Most functions
/// then take longer, and the results of two have no meaning. The SPE of a [`Function::Chase`] under
/// load waits for the CPU while the load runs, so the two do not compete for memory. The partner of
/// a [`Function::WakeUp`] has to wait until the sender gives up the CPU.
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
    /// The number of timed iterations (`-i`). An iteration of [`Function::Chase`] is a walk of
    /// 1,024 nodes along every chain, and the result is the time of one node.
    pub iterations: Iterations,
    /// The number of iterations of the warm-up, which is not timed (`-w`). If `None`, the warm-up
    /// takes 10 ms. On a machine that [is steady](cellworks_machine::Capabilities::is_steady) it
    /// is then a quarter of a round; if the number of timed iterations is given, it is that number,
    /// and at most 16.
    pub warm_up: Option<u64>,
    /// Further numbers for the function, each of which has its flag
    /// ([`Setting::flag`](crate::Setting::flag)). A field that is `None` has the default that the
    /// help of its flag names. The block of a copy is a multiple of 16 bytes, and the table of a
    /// chase a multiple of 64.
    pub settings: Settings,
    /// The Cell whose SPEs are taken first (`-c`). If `None`, it is the first Cell that has an SPE
    /// to take. This is Cell 0, unless SPE 0 is its only SPE and has a separate role.
    pub cell: Option<CellId>,
    /// The memory module that holds the data (`-m`). If `None`, it is the one nearest to the Cell.
    /// For a transfer between SPEs it holds only the control blocks.
    pub module: Option<ModuleId>,
    /// Whether SPE 0 takes the place of the PPE in an exchange, and its local store the place of
    /// main memory in a transfer (`-s`).
    pub between_spes: bool,
    /// Whether the result contains every sample.
    pub keep_samples: bool,
    /// How the receiver of a [`Function::Matrix`] of an atomic variable waits (`--polling`). If
    /// `None`, it waits by reads.
    pub polling: Option<Polling>,
    /// The time for all pairs of a matrix (`--budget`). If `None`, every pair gets the time that it
    /// needs. On a machine that [is steady](cellworks_machine::Capabilities::is_steady) each pair
    /// is measured for 10 us, and the budget limits the number of pairs. On a simulated machine it
    /// is simulated time.
    pub budget: Option<Span>,
}

/// A number of SPEs, and whether they share a buffer. A function without buffers takes
/// [`Shared`](Self::Shared).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// This number of SPEs, which all use one buffer (`-n`).
    Shared(usize),
    /// This number of SPEs, each of which has its own buffer (`-N`).
    Private(usize),
}

/// The number of timed iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Iterations {
    /// This number of iterations on each SPE.
    Exactly(u64),
    /// At least six rounds of iterations, until the interval of the median is narrow or this time
    /// is over.
    ///
    /// A machine that [is steady](cellworks_machine::Capabilities::is_steady), such as a simulated
    /// one, ignores the time. It does rounds of 2 to 128 iterations, at most eight of them, until
    /// the medians of two successive rounds differ by at most a thousandth. One visit is enough
    /// there. A round has the number of iterations that move 256 KB, between 16 and 128. It has
    /// fewer iterations if an iteration is long, such as the start of a program.
    Within(Span),
}

/// Limits of a machine that its topology does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of the largest block. A DMA command moves at most 16 KB, so a larger block is
    /// moved by several commands.
    pub block_bytes_max: usize,
    /// The bytes of each local store.
    pub local_store_bytes: usize,
    /// The most bytes of main memory for all buffers of a measurement together.
    pub memory_bytes_max: usize,
    /// The most bytes a second that one SPE can move. [`measure`](crate::measure) refuses a result
    /// above it. On a computer it is the bandwidth of the widest instructions, 64 bytes a cycle at
    /// the highest clock rate. `None` if it is not known.
    pub bandwidth_bytes_per_s_max: Option<u64>,
    /// The bytes of the largest typed view that a program stages, such as 16 KB, so that several
    /// views fit into a local store. `None` on a machine where a view is the memory itself.
    pub staging_bytes_max: Option<usize>,
}

impl Request {
    /// A request with one SPE, up to about 0.2 s, and default values for everything else.
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

    /// The same request with blocks of this size (`-b`).
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

    /// The flag for the fewest SPEs that this function takes on a machine.
    pub(crate) fn fewest_flag(&self, topology: &Topology) -> String {
        let is_pair = self.between_spes && topology.spes().len() > 1;
        format!("{} {}", self.spes.flag(), if is_pair { 2 } else { 1 })
    }
}

impl Count {
    /// The number of SPEs.
    pub const fn number(self) -> usize {
        match self {
            Self::Shared(number) | Self::Private(number) => number,
        }
    }

    /// The flag that requests this count.
    pub(crate) const fn flag(self) -> &'static str {
        match self {
            Self::Shared(_) => "-n",
            Self::Private(_) => "-N",
        }
    }
}
