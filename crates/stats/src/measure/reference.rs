//! The reference of a run: two times of a pair of SPEs (a mailbox exchange, and a cache line that
//! moves to the other SPE). A change of these times shows a change in the state of the computer.

use std::time::{Duration, Instant};

use cellworks_machine::{CellMachine, Span, SpeId, Topology};

use super::matrix::one_way;
use crate::error::MeasureError;
use crate::function::Polling;
use crate::plan::pairs::{Carrier, PairsTask};
use crate::report::Reference;
use crate::state::{STATES_RATIO_MIN, are_main, states};

/// The time for each half of a reading: first mailbox exchanges, then moves of the cache line.
/// About twenty rounds fit into this time, so one interrupted round does not move the median.
const EACH: Span = Span::from_nanoseconds(1_000_000);

/// The minimum time between two readings.
const BETWEEN: Duration = Duration::from_millis(100);

/// A second minimum time between two readings, in multiples of the time of the last reading. The
/// longer minimum holds. A reading takes about 3 ms on an idle computer.
const BETWEEN_PER_READING: u32 = 20;

/// The readings of a run: the times of two SPEs for a mailbox exchange and for a cache line.
///
/// ```
/// use cellworks_host::Host;
/// use cellworks_machine::Machine;
/// use cellworks_stats::Readings;
///
/// let host = Host::new()?;
/// if let Some(mut readings) = Readings::of(host.topology()) {
///     readings.read(&host)?;
///     assert_eq!(readings.summary().unwrap().readings, 1);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Readings {
    pair: (SpeId, SpeId),
    exchange: Times,
    line: Times,
    /// The end of the last reading, and the time that this reading took.
    last: Option<(Instant, Duration)>,
}

/// The times of the exchange or of the cache line, one time for each reading.
#[derive(Debug)]
struct Times {
    task: PairsTask,
    all_ns: Vec<f64>,
}

impl Readings {
    /// Prepares readings of the first two SPEs. Returns `None` if there is only one SPE, or if the
    /// machine [is steady](cellworks_machine::Capabilities::is_steady).
    pub fn of(topology: &Topology) -> Option<Self> {
        if topology.spes().len() < 2 || topology.capabilities().is_steady {
            return None;
        }
        let pair = (SpeId::new(0), SpeId::new(1));
        let times = |carrier| Times {
            task: PairsTask::of_one(carrier, pair, EACH, topology),
            all_ns: Vec::new(),
        };
        Some(Self {
            pair,
            exchange: times(Carrier::Mailbox),
            line: times(Carrier::Atomic(Polling::Reads)),
            last: None,
        })
    }

    /// Returns whether the next reading is due.
    pub fn is_due(&self) -> bool {
        self.last.is_none_or(|(end, took)| {
            end.elapsed() >= BETWEEN.max(took.saturating_mul(BETWEEN_PER_READING))
        })
    }

    /// Takes a reading on `machine`, which must have the topology that was passed to
    /// [`of`](Self::of). If a time is far from the last reading, perhaps because of an interrupt,
    /// measures this time two more times, and keeps the median of the three times.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`measure`](crate::measure()).
    pub fn read<M: CellMachine>(&mut self, machine: &M) -> Result<(), MeasureError> {
        let begin = Instant::now();
        self.exchange.read(machine)?;
        self.line.read(machine)?;
        self.last = Some((Instant::now(), begin.elapsed()));
        Ok(())
    }

    /// Returns the number of readings so far.
    pub fn count(&self) -> usize {
        self.exchange.all_ns.len().max(self.line.all_ns.len())
    }

    /// Returns for each reading whether the computer was in its main state: the state of most
    /// readings of the exchange, and of most readings of the cache line.
    pub fn are_of_the_main_state(&self) -> Vec<bool> {
        let main = [&self.exchange, &self.line].map(|times| are_main(&times.all_ns));
        let is_main = |at| {
            main.iter()
                .all(|of| of.get(at).is_none_or(|is_main| *is_main))
        };
        (0..self.count()).map(is_main).collect()
    }

    /// Returns a summary of all readings, or `None` if the clock did not advance in any reading.
    pub fn summary(&self) -> Option<Reference> {
        let of = |times: &Times, ways: f64| {
            let mut states = states(&times.all_ns);
            for state in &mut states {
                state.ns *= ways;
            }
            states
        };
        let readings = self.count();
        let (a, b) = self.pair;
        (readings > 0).then(|| Reference {
            spes: [a.index(), b.index()],
            readings,
            exchange: of(&self.exchange, 2.0),
            line: of(&self.line, 1.0),
        })
    }
}

impl Times {
    fn read<M: CellMachine>(&mut self, machine: &M) -> Result<(), MeasureError> {
        let once = || -> Result<Option<f64>, MeasureError> {
            Ok(one_way(machine, &self.task)?.map(|span| span.as_nanoseconds_f64()))
        };
        let Some(mut ns) = once()? else {
            return Ok(());
        };
        if self.all_ns.last().is_some_and(|last| is_far(*last, ns)) {
            let again = [once()?, once()?].into_iter().flatten();
            let mut three: Vec<f64> = again.chain([ns]).collect();
            three.sort_unstable_by(f64::total_cmp);
            ns = three[three.len() / 2];
        }
        self.all_ns.push(ns);
        Ok(())
    }
}

fn is_far(a: f64, b: f64) -> bool {
    a > b * STATES_RATIO_MIN || b > a * STATES_RATIO_MIN
}
