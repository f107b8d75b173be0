//! The plan of a matrix between SPEs: the measured pairs, their order, and the time for each pair.

// Rejected: measuring every pair of a large machine. Good medians of all 165,600 pairs of 576 CPUs
// together take hours, so pairs are sampled until the budget is spent.

use std::collections::BTreeMap;

use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::MAX_TRANSFER_BYTES;
use cellworks_machine::sizes::{in_flags, in_words};
use cellworks_machine::{Distance, ModuleId, Span, SpeId, Topology};

use super::order::{Ordered, ordered};
use super::place::check_module;
use crate::error::RequestError;
use crate::function::{Polling, Primitive};
use crate::request::{Limits, Request};
use crate::settings::Settings;

/// The minimum time that is planned for a pair if the request has no budget.
const PAIR_SPAN: Span = Span::from_nanoseconds(15_000_000);

/// The maximum time that is planned for a pair if the request has no budget. On two virtual CPUs of
/// a Xeon, successive runs differed as much with twice this time, except in the matrix `atomic`.
const PAIR_SPAN_LONG: Span = Span::from_nanoseconds(100_000_000);

/// The time for all pairs if the request has no budget. Each pair has an equal share of this time,
/// but at least `PAIR_SPAN` and at most `PAIR_SPAN_LONG`.
const ALL_PAIRS_SPAN: Span = Span::from_nanoseconds(2_000_000_000);

/// The time for a pair if the budget is too small for all pairs. In this time, two sleeping SPEs
/// can wake and time some dozens of rounds.
const PAIR_SPAN_SHORT: Span = Span::from_nanoseconds(2_000_000);

/// The minimum time for a pair in any case. In less time, two sleeping SPEs would hardly wake. A
/// budget is refused if even the first pairs at each distance would have less time than this.
pub(crate) const PAIR_SPAN_MIN: Span = Span::from_nanoseconds(400_000);

/// The time for a pair on a machine with times that repeat, such as a simulated Cell: some dozens
/// of exchanges, or about ten copies of 16 KB.
const STEADY_PAIR_SPAN: Span = Span::from_nanoseconds(10_000);

/// The time between the measurements of two pairs. For each of the two directions, the PPE wakes
/// both SPEs, and both SPEs wake the PPE. Each of these wake-ups takes some 10 to 50 us.
pub(crate) const HAND_OVER: Span = Span::from_nanoseconds(200_000);

#[derive(Clone, Debug)]
pub(crate) struct PairsTask {
    pub(crate) carrier: Carrier,
    pub(crate) pair_span: Span,
    /// The number of the machine's pairs at each distance.
    pub(crate) classes: BTreeMap<Distance, usize>,
    pub(crate) spes: usize,
    /// The measured pairs, in the order of measuring, each once.
    pub pairs: Vec<(SpeId, SpeId)>,
    /// The memory module of the variables, if the request sets a memory module.
    module: Option<ModuleId>,
    /// Whether every pair is measured for the same time, even if earlier pairs took longer.
    pub(crate) steady: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Mailbox,
    Signal,
    Atomic(Polling),
    Copy { bytes: u32 },
}

impl PairsTask {
    /// Plans the pairs. If the budget is too small for all pairs, only the first pairs of
    /// [`ordered`] are measured. The same request on the same topology gives the same plan.
    pub fn plan(
        request: &Request,
        primitive: Primitive,
        topology: &Topology,
        limits: &Limits,
    ) -> Result<Self, RequestError> {
        let spes = topology.spes().len();
        if spes < 2 {
            return Err(RequestError::new(
                "--matrix",
                "",
                format!(
                    "a matrix needs two SPEs, and {} has {spes}; use a machine that has more, or allow \
                     the process more CPUs",
                    topology.name()
                ),
            ));
        }
        let carrier = Carrier::of(request, primitive, limits)?;
        if let Some(module) = request.module {
            check_module(module, topology)?;
        }
        let Ordered {
            mut pairs,
            first,
            classes,
        } = ordered(topology);
        let unhurried = divided(ALL_PAIRS_SPAN, pairs.len()).clamp(PAIR_SPAN, PAIR_SPAN_LONG);
        let steady = topology.capabilities().is_steady;
        let pair_span = match request.budget {
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
                    let least = times(handed_over(PAIR_SPAN_MIN), first);
                    return Err(RequestError::new(
                        "--budget",
                        "",
                        format!(
                            "a budget of {budget}: measuring some pairs at each distance takes {least}; \
                             use that or more"
                        ),
                    ));
                }
                span
            }
        };
        Ok(Self {
            carrier,
            pair_span,
            classes,
            spes,
            pairs,
            module: request.module,
            steady,
        })
    }

    pub fn of_one(carrier: Carrier, pair: (SpeId, SpeId), span: Span, topology: &Topology) -> Self {
        Self {
            carrier,
            pair_span: span,
            classes: BTreeMap::new(),
            spes: topology.spes().len(),
            pairs: vec![pair],
            module: None,
            steady: false,
        }
    }

    pub fn settings(&self) -> Settings {
        Settings {
            block_bytes: self.carrier.block_bytes(),
            ..Settings::default()
        }
    }

    pub fn estimated_time(&self) -> Span {
        let each = if self.steady {
            self.pair_span
        } else {
            handed_over(self.pair_span)
        };
        times(each, self.pairs.len())
    }

    /// Returns the directions in which a pair is measured. Copies are measured in both directions.
    /// Atomic variables are too, if the two directions have variables in different memory modules.
    /// Otherwise one exchange is enough, because half of its time counts for each direction.
    pub(crate) fn directions(
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

    /// Returns the module of the variable, if there is one, for exchanges that `sender` begins.
    pub(crate) fn home(&self, topology: &Topology, sender: SpeId) -> Option<ModuleId> {
        let nearest = || topology.module_of(sender);
        match self.carrier {
            Carrier::Atomic(_) => Some(self.module.unwrap_or_else(nearest)),
            Carrier::Mailbox | Carrier::Signal | Carrier::Copy { .. } => None,
        }
    }
}

impl Carrier {
    /// Returns the name of the matrix.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mailbox => Primitive::Mailbox.name(),
            Self::Signal => Primitive::Signal.name(),
            Self::Atomic(_) => Primitive::Atomic.name(),
            Self::Copy { .. } => Primitive::Copy.name(),
        }
    }

    fn of(request: &Request, primitive: Primitive, limits: &Limits) -> Result<Self, RequestError> {
        Ok(match primitive {
            Primitive::Mailbox => Self::Mailbox,
            Primitive::Signal => Self::Signal,
            Primitive::Atomic => Self::Atomic(request.polling.unwrap_or(Polling::Reads)),
            Primitive::Copy => Self::Copy {
                bytes: block_bytes(request, limits)? as u32,
            },
        })
    }

    /// Returns the SPE that times a transfer from `from` to `to`, and the other SPE. The sender
    /// times an exchange, and the receiver times a copy. The function is its own inverse, so
    /// callers also use it to find the sender and the receiver from the timing SPE and its partner.
    pub(crate) const fn timer(self, from: SpeId, to: SpeId) -> (SpeId, SpeId) {
        match self {
            Self::Mailbox | Self::Signal | Self::Atomic(_) => (from, to),
            Self::Copy { .. } => (to, from),
        }
    }

    pub(crate) const fn primitive(self) -> Primitive {
        match self {
            Self::Mailbox => Primitive::Mailbox,
            Self::Signal => Primitive::Signal,
            Self::Atomic(_) => Primitive::Atomic,
            Self::Copy { .. } => Primitive::Copy,
        }
    }

    pub(crate) const fn polling(self) -> Option<Polling> {
        match self {
            Self::Atomic(polling) => Some(polling),
            _ => None,
        }
    }

    pub(crate) const fn block_bytes(self) -> Option<usize> {
        match self {
            Self::Copy { bytes } => Some(bytes as usize),
            _ => None,
        }
    }
}

/// Returns the size of the block that a copy moves by one DMA command. The default is 16 KB, but at
/// most a quarter of the local store, rounded down to a power of two.
fn block_bytes(request: &Request, limits: &Limits) -> Result<usize, RequestError> {
    let (max, has) = (MAX_TRANSFER_BYTES as usize, limits.local_store_bytes);
    let bytes = request.settings.block_bytes.unwrap_or_else(|| {
        let fitting = (has / 4).checked_ilog2();
        max.min(1 << fitting.unwrap_or(0))
    });
    let is_size = matches!(bytes, 1 | 2 | 4 | 8) || bytes.is_multiple_of(16);
    if bytes == 0 || bytes > max || !is_size {
        let legal = match bytes {
            0 => 1,
            1..16 => 1 << bytes.ilog2(),
            _ => (bytes - bytes % 16).min(max),
        };
        return Err(RequestError::block(format!(
            "a block of {}: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes up to {}; use {}",
            in_words(bytes),
            in_words(max),
            in_flags(legal)
        )));
    }
    if 2 * bytes.next_multiple_of(LINE_BYTES) > has {
        return Err(RequestError::block(format!(
            "a block of {}: a local store of {} has no room for the one that is sent and the one that is received; \
             use a smaller block",
            in_words(bytes),
            in_words(has)
        )));
    }
    Ok(bytes)
}

fn handed_over(mut span: Span) -> Span {
    span += HAND_OVER;
    span
}

pub(crate) fn divided(span: Span, parts: usize) -> Span {
    Span::from_femtoseconds(span.as_femtoseconds() / parts.max(1) as u128)
}

fn times(span: Span, count: usize) -> Span {
    Span::from_femtoseconds(span.as_femtoseconds() * count as u128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Function;
    use crate::test_data::{LIMITS, site};

    #[test]
    fn a_pair_is_measured_both_ways_where_the_ways_differ() {
        // SPEs 0 and 1 are in one Cell. SPE 2 is in another Cell with a separate memory module.
        let [first, second] = [0, 1].map(ModuleId::new);
        let sites = [0, 0, 1].map(site).into();
        let blade = Topology::new("a blade", vec![first, second], sites);
        let [zero, one, two] = [0, 1, 2].map(SpeId::new);
        let planned = |request: Request, primitive| {
            PairsTask::plan(&request, primitive, &blade, &LIMITS).unwrap()
        };
        let of = |primitive| Request::new(Function::Matrix(primitive));

        let nearest = planned(of(Primitive::Atomic), Primitive::Atomic);
        assert_eq!(nearest.home(&blade, one), Some(first));
        assert_eq!(nearest.home(&blade, two), Some(second));
        assert_eq!(nearest.directions(&blade, zero, one), [(zero, one)]);
        let both = [(one, two), (two, one)];
        assert_eq!(nearest.directions(&blade, one, two), both);

        let placed = planned(
            Request {
                module: Some(second),
                ..of(Primitive::Atomic)
            },
            Primitive::Atomic,
        );
        assert_eq!(placed.home(&blade, one), Some(second));
        assert_eq!(placed.directions(&blade, one, two), [(one, two)]);

        let copy = planned(of(Primitive::Copy), Primitive::Copy);
        assert_eq!(copy.directions(&blade, one, two), both);
        let mailbox = planned(of(Primitive::Mailbox), Primitive::Mailbox);
        assert_eq!(mailbox.directions(&blade, one, two), [(one, two)]);
    }
}
