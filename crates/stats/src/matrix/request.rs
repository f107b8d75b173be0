//! Which matrix is to be measured: as it was asked for, and checked.

use std::collections::BTreeMap;

use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::MAX_TRANSFER_BYTES;
use cellworks_machine::{Distance, ModuleId, Span, SpeId, Topology};

use super::error::MatrixRequestError;
use super::order::{Ordered, ordered};
use crate::report::{Polling, Primitive};
use crate::request::Limits;

/// How long a pair is measured when there is time.
const PAIR_SPAN: Span = Span::from_nanoseconds(15_000_000);

/// How long a pair is measured where there are so few that nobody has to wait for it.
const PAIR_SPAN_LONG: Span = Span::from_nanoseconds(200_000_000);

/// As long as nobody has to wait.
const ALL_PAIRS_SPAN: Span = Span::from_nanoseconds(2_000_000_000);

/// How short a pair is measured before pairs are left out: enough for some dozens of rounds, and to
/// wake two SPEs that sleep.
const PAIR_SPAN_SHORT: Span = Span::from_nanoseconds(2_000_000);

/// How short a pair is measured if even the pairs of which each distance needs some do not fit. In
/// less, two SPEs that sleep would hardly be awake.
pub(super) const PAIR_SPAN_MIN: Span = Span::from_nanoseconds(400_000);

/// How long a pair is measured where the same always takes the same time: some dozens of exchanges or
/// about ten copies of 16 KB on a Cell.
const STEADY_PAIR_SPAN: Span = Span::from_nanoseconds(10_000);

/// What handing a pair over takes beside measuring it: for each of two directions the PPE wakes two
/// SPEs and is woken by them, and each of these takes some 10 to 50 us.
pub(super) const HAND_OVER: Span = Span::from_nanoseconds(200_000);

/// A matrix as somebody asks for it. `None` leaves the choice to [`plan`](Self::plan).
///
/// ```
/// use cellworks_machine::{CellId, ModuleId, Span, SpeSite, Topology};
/// use cellworks_stats::{Limits, MatrixRequest, Primitive};
///
/// let site = |_| SpeSite { cell: CellId::new(0), core: None, place: String::new() };
/// let chip = Topology::new("a chip", vec![ModuleId::new(0)], (0..8).map(site).collect());
/// let limits = Limits { block_bytes_max: 16 << 10, local_store_bytes: 256 << 10, memory_bytes_max: 1 << 28, staging_bytes_max: None, bandwidth_bytes_per_s_max: None };
///
/// let request = MatrixRequest {
///     budget: Some(Span::from_nanoseconds(1_000_000_000)),
///     ..MatrixRequest::new(Primitive::Mailbox)
/// };
/// let plan = request.plan(&chip, &limits)?;
/// assert_eq!(plan.pairs().len(), 28);
/// assert_eq!(plan.takes().to_string(), "1000.00 ms");
/// # Ok::<(), cellworks_stats::MatrixRequestError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixRequest {
    /// What carries the data.
    pub primitive: Primitive,
    /// How the receiver of an atomic variable waits: by reads if `None`.
    pub polling: Option<Polling>,
    /// The bytes of a copy, as one DMA command moves them: if `None` 16 KB, or the largest power of two that is
    /// at most a quarter of a local store.
    pub block_bytes: Option<usize>,
    /// The memory module that holds the variable: the one nearest to the SPE that sends if `None`.
    pub module: Option<ModuleId>,
    /// How long all of it may take: as long as every pair needs if `None`. On a machine that
    /// [is steady](cellworks_machine::Capabilities::is_steady) each pair is measured for 10 us, and the
    /// budget decides how many pairs there are; on a simulated one it is simulated time.
    pub budget: Option<Span>,
}

/// A matrix that a machine can measure; holding one is the proof.
#[derive(Clone, Debug)]
pub struct MatrixPlan {
    pub(super) carrier: Carrier,
    pub(super) pair_span: Span,
    /// How many pairs the machine has at each distance.
    pub(super) classes: BTreeMap<Distance, usize>,
    /// How many SPEs the machine has.
    pub(super) spes: usize,
    pairs: Vec<(SpeId, SpeId)>,
    /// Where variables are, if that was said.
    module: Option<ModuleId>,
    /// Whether every pair is measured for the same time, however long others took.
    pub(super) steady: bool,
}

/// What carries the data, with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    Mailbox,
    Signal,
    Atomic(Polling),
    Copy { bytes: u32 },
}

impl MatrixRequest {
    /// A request that leaves everything open but the primitive.
    pub const fn new(primitive: Primitive) -> Self {
        Self {
            primitive,
            polling: None,
            block_bytes: None,
            module: None,
            budget: None,
        }
    }

    /// Checks the request, and decides which pairs are measured and in which order.
    ///
    /// If all pairs fit in the budget, all are. If not, it takes some at each distance, then some
    /// of each combination of memory modules and distance, then one for each pair of Cells, then
    /// others all over the machine, until the budget is spent. The same request on the same topology
    /// gives the same plan.
    ///
    /// # Errors
    ///
    /// [`MatrixRequestError`] says what cannot be measured, and what could.
    pub fn plan(
        &self,
        topology: &Topology,
        limits: &Limits,
    ) -> Result<MatrixPlan, MatrixRequestError> {
        let spes = topology.spes().len();
        if spes < 2 {
            return Err(MatrixRequestError::TooFewSpes {
                has: spes,
                machine: topology.name().to_owned(),
            });
        }
        let carrier = self.carrier(limits)?;
        self.check_module(topology)?;
        let Ordered {
            mut pairs,
            first,
            classes,
        } = ordered(topology);
        let unhurried = divided(ALL_PAIRS_SPAN, pairs.len()).clamp(PAIR_SPAN, PAIR_SPAN_LONG);
        let steady = topology.capabilities().is_steady;
        let pair_span = match self.budget {
            None if steady => STEADY_PAIR_SPAN,
            Some(budget) if steady => {
                let fitting = budget.as_femtoseconds() / STEADY_PAIR_SPAN.as_femtoseconds();
                let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
                pairs.truncate(fitting.max(first));
                STEADY_PAIR_SPAN
            }
            None => unhurried,
            Some(budget) => {
                let shortest = handed_over(PAIR_SPAN_SHORT);
                let fitting = budget.as_femtoseconds() / shortest.as_femtoseconds();
                let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
                pairs.truncate(fitting.max(first));
                let span = (divided(budget, pairs.len()) - HAND_OVER).min(unhurried);
                if span < PAIR_SPAN_MIN {
                    return Err(MatrixRequestError::Budget {
                        asked: budget,
                        least: times(handed_over(PAIR_SPAN_MIN), first),
                    });
                }
                span
            }
        };
        Ok(MatrixPlan {
            carrier,
            pair_span,
            classes,
            spes,
            pairs,
            module: self.module,
            steady,
        })
    }

    fn carrier(&self, limits: &Limits) -> Result<Carrier, MatrixRequestError> {
        let primitive = self.primitive;
        if self.polling.is_some() && primitive != Primitive::Atomic {
            return Err(MatrixRequestError::Polling { primitive });
        }
        if self.block_bytes.is_some() && primitive != Primitive::Copy {
            return Err(MatrixRequestError::Block { primitive });
        }
        if self.module.is_some() && primitive != Primitive::Atomic {
            return Err(MatrixRequestError::Module { primitive });
        }
        Ok(match primitive {
            Primitive::Mailbox => Carrier::Mailbox,
            Primitive::Signal => Carrier::Signal,
            Primitive::Atomic => Carrier::Atomic(self.polling.unwrap_or(Polling::Reads)),
            Primitive::Copy => {
                let max = MAX_TRANSFER_BYTES as usize;
                let bytes = self.block_bytes.unwrap_or_else(|| {
                    let fitting = (limits.local_store_bytes / 4).checked_ilog2();
                    max.min(1 << fitting.unwrap_or(0))
                });
                let is_size = matches!(bytes, 1 | 2 | 4 | 8) || bytes.is_multiple_of(16);
                if bytes == 0 || bytes > max || !is_size {
                    return Err(MatrixRequestError::BlockSize { bytes });
                }
                if 2 * bytes.next_multiple_of(LINE_BYTES) > limits.local_store_bytes {
                    return Err(MatrixRequestError::LocalStore {
                        bytes,
                        has: limits.local_store_bytes,
                    });
                }
                Carrier::Copy {
                    bytes: bytes as u32,
                }
            }
        })
    }

    fn check_module(&self, topology: &Topology) -> Result<(), MatrixRequestError> {
        let highest = topology.modules().len() - 1;
        match self.module {
            Some(asked) if asked.index() > highest => Err(MatrixRequestError::NoSuchModule {
                asked,
                highest: highest as u16,
                machine: topology.name().to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

impl MatrixPlan {
    /// The pairs of SPEs that will be measured, in this order; none comes twice.
    pub fn pairs(&self) -> &[(SpeId, SpeId)] {
        &self.pairs
    }

    /// How long measuring will take, about: 0.2 ms for handing each pair over, which wakes its SPEs,
    /// are part of it. On SPEs that share an OS thread it takes longer. On a simulated machine it is
    /// simulated time, and nobody has to be woken.
    pub fn takes(&self) -> Span {
        let each = if self.steady {
            self.pair_span
        } else {
            handed_over(self.pair_span)
        };
        times(each, self.pairs.len())
    }

    /// From whom to whom a pair is measured: half of an exchange is the same both ways, unless the
    /// variable moves with the sender.
    pub(super) fn directions(
        &self,
        topology: &Topology,
        a: SpeId,
        b: SpeId,
    ) -> Vec<(SpeId, SpeId)> {
        let differ = match self.carrier {
            Carrier::Mailbox | Carrier::Signal => false,
            Carrier::Atomic(_) => self.home(topology, a) != self.home(topology, b),
            Carrier::Copy { .. } => true,
        };
        if differ {
            vec![(a, b), (b, a)]
        } else {
            vec![(a, b)]
        }
    }

    /// The memory module of the variable that `sender` sends; `None` if it sends something else.
    pub(super) fn home(&self, topology: &Topology, sender: SpeId) -> Option<ModuleId> {
        let nearest = || topology.nearest_module(topology.cell_of(sender));
        match self.carrier {
            Carrier::Atomic(_) => Some(self.module.unwrap_or_else(nearest)),
            Carrier::Mailbox | Carrier::Signal | Carrier::Copy { .. } => None,
        }
    }
}

impl Carrier {
    /// Who takes the time on the way from one SPE to another, and who else takes part: the sender
    /// sees the end of an exchange, the receiver that of a copy. Or, the other way round, the way of
    /// which the first took the time.
    pub(super) const fn timer(self, from: SpeId, to: SpeId) -> (SpeId, SpeId) {
        match self {
            Self::Mailbox | Self::Signal | Self::Atomic(_) => (from, to),
            Self::Copy { .. } => (to, from),
        }
    }

    pub(super) const fn primitive(self) -> Primitive {
        match self {
            Self::Mailbox => Primitive::Mailbox,
            Self::Signal => Primitive::Signal,
            Self::Atomic(_) => Primitive::Atomic,
            Self::Copy { .. } => Primitive::Copy,
        }
    }

    pub(super) const fn polling(self) -> Option<Polling> {
        match self {
            Self::Atomic(polling) => Some(polling),
            _ => None,
        }
    }

    pub(super) const fn block_bytes(self) -> Option<usize> {
        match self {
            Self::Copy { bytes } => Some(bytes as usize),
            _ => None,
        }
    }
}

/// The time for a pair that is measured for so long.
fn handed_over(mut span: Span) -> Span {
    span += HAND_OVER;
    span
}

/// One of `parts` equal parts of a span.
pub(super) fn divided(span: Span, parts: usize) -> Span {
    Span::from_femtoseconds(span.as_femtoseconds() / parts.max(1) as u128)
}

fn times(span: Span, count: usize) -> Span {
    Span::from_femtoseconds(span.as_femtoseconds() * count as u128)
}

#[cfg(test)]
mod tests {
    use cellworks_machine::{CellId, SpeSite};

    use super::*;

    #[test]
    fn a_pair_is_measured_both_ways_where_the_ways_differ() {
        // SPEs 0 and 1 on one Cell, SPE 2 on another one with a memory module of its own.
        let site = |cell| SpeSite {
            cell: CellId::new(cell),
            core: None,
            place: String::new(),
        };
        let [first, second] = [0, 1].map(ModuleId::new);
        let sites = [0, 0, 1].map(site).into();
        let blade = Topology::new("a blade", vec![first, second], sites);
        let limits = Limits {
            block_bytes_max: 16 << 10,
            local_store_bytes: 256 << 10,
            memory_bytes_max: 1 << 28,
            staging_bytes_max: None,
            bandwidth_bytes_per_s_max: None,
        };
        let [zero, one, two] = [0, 1, 2].map(SpeId::new);
        let planned = |request: MatrixRequest| request.plan(&blade, &limits).unwrap();

        let nearest = planned(MatrixRequest::new(Primitive::Atomic));
        assert_eq!(nearest.home(&blade, one), Some(first));
        assert_eq!(nearest.home(&blade, two), Some(second));
        assert_eq!(nearest.directions(&blade, zero, one), [(zero, one)]);
        let both = [(one, two), (two, one)];
        assert_eq!(nearest.directions(&blade, one, two), both);

        let placed = planned(MatrixRequest {
            module: Some(second),
            ..MatrixRequest::new(Primitive::Atomic)
        });
        assert_eq!(placed.home(&blade, one), Some(second));
        assert_eq!(placed.directions(&blade, one, two), [(one, two)]);

        let copy = planned(MatrixRequest::new(Primitive::Copy));
        assert_eq!(copy.directions(&blade, one, two), both);
        let mailbox = planned(MatrixRequest::new(Primitive::Mailbox));
        assert_eq!(mailbox.directions(&blade, one, two), [(one, two)]);
    }
}
