//! Takes measurements as section 3.2 of the paper describes, with the same code for all machines.
//!
//! ```text
//!   PPE                                         each SPE
//!   writes a control block for each SPE
//!   spawns its program ───────────────────────► gets its control block by DMA
//!   waits for all     ◄── outbound mailbox ──── READY
//!
//!   a round:
//!   WARM_UP or COUNTS ─── inbound mailbox ────► learns whether the round counts
//!   n                 ─── inbound mailbox ────► the number of iterations
//!   start, two words  ─── inbound mailbox ────► waits until this time
//!                                               runs a timed loop of n iterations
//!   waits for all     ◄── outbound mailbox ──── DONE, time of the loop, its median sample
//!     ... again until warm, then until the interval of the median is narrow or the time is over
//!
//!   END               ─── inbound mailbox ────► verifies, returns the rounds that count
//!   joins, verifies; refuses results that cannot be true
//! ```
//!
//! The warm-up runs the same code as the rounds that count. All loops of a round start at the same
//! time on the clock of the run, late enough for every SPE to have its words. If an SPE receives
//! its words after this time, its loop starts at once. If each loop started at the arrival of its
//! words, the first of hundreds of SPEs would run alone until the last SPE was woken.
//!
//! The measurement differs from the paper in two points. Times are on the clock that all SPEs of a
//! run share, because the bandwidth of all SPEs needs their first start and last end. Each program
//! returns its samples as its result, because mailbox words cannot hold the samples.

mod atomic;
mod chase;
mod control_block;
mod copy;
mod crew;
mod exchange;
mod matrix;
mod memory;
mod os_thread;
mod outcome;
mod pattern;
mod reference;
mod region;
mod summary;
mod threads;
mod transfer;
mod wake_up;

use std::ops::ControlFlow;

use cellworks_machine::{CellMachine, Span};

use crate::error::MeasureError;
use crate::plan::{Plan, Task};
use crate::report::{Measured, Measurement};
use crate::sample::{last_rate, round_medians};
use outcome::Outcome;
use summary::summarize;

pub use reference::Readings;

/// Runs a measurement on the machine for which it was planned, in one visit (see [`Visits`]).
///
/// # Errors
///
/// Returns [`MeasureError`] if memory or local store is exhausted, if the run failed, if an
/// operation moved wrong data, or if the result is impossible.
///
/// # Panics
///
/// Panics if the plan names an SPE that the machine does not have, and for the plan of a matrix
/// ([`Function::is_matrix`](crate::Function::is_matrix)), which [`Visits::visit`] measures.
pub fn measure<M: CellMachine>(machine: &M, plan: &Plan) -> Result<Measurement, MeasureError> {
    let mut visits = Visits::of(plan.clone());
    let go_on = &mut |_, _| ControlFlow::Continue(());
    match visits.visit(machine, false, go_on)? {
        Measured::Operation(measurement) => Ok(*measurement),
        Measured::Matrix(_) | Measured::Memory(_) => {
            panic!("{} has no single time; visit it", plan.function())
        }
    }
}

/// A measurement that is taken in several visits. Each visit is a separate run with its own memory.
///
/// All rounds of one visit have the same conditions, such as the other programs on the computer and
/// the addresses of memory. Only several visits show the effect of these conditions. A caller with
/// many plans should visit each plan once before the second visit of any plan.
///
/// The interval of the median comes from the rounds of all visits, and contains the median of each
/// visit. If all rounds were independent, the interval would contain the true median with a
/// probability of 95 %. The interval does not show the effect of a condition that is the same in
/// all visits, such as SPEs that share a CPU ([`Request`](crate::Request)).
///
/// ```
/// use cellworks_host::Host;
/// use cellworks_machine::{LOCAL_STORE_BYTES, Machine};
/// use cellworks_stats::{Function, Limits, Measured, Request, Visits};
///
/// let host = Host::new()?;
/// let limits = Limits { block_bytes_max: 64 << 20, local_store_bytes: LOCAL_STORE_BYTES, memory_bytes_max: 1 << 30, staging_bytes_max: None, bandwidth_bytes_per_s_max: None };
/// let plan = Request::new(Function::FetchAdd).plan(host.topology(), &limits)?;
/// let mut visits = Visits::of(plan);
/// let go_on = &mut |_, _| std::ops::ControlFlow::Continue(());
/// visits.visit(&host, true, go_on)?;
/// visits.visit(&host, true, go_on)?;
/// let Measured::Operation(measurement) = visits.visit(&host, false, go_on)? else { unreachable!() };
/// assert!(measurement.rounds >= 6 && measurement.median_interval_ns.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Visits {
    plan: Plan,
    outcome: Option<Outcome>,
}

impl Visits {
    /// Makes a measurement of this plan, with no visit so far.
    pub fn of(plan: Plan) -> Self {
        Self {
            plan,
            outcome: None,
        }
    }

    /// Returns the plan of the measurement.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Changes the time of the next visits, as [`Plan::set_span`] does.
    pub fn set_span(&mut self, span: Span) {
        self.plan.set_span(span);
    }

    /// Says that another measurement ended just before. If the request gave no number of
    /// iterations, the warm-up of the first visit is then as short as that of later visits.
    pub fn set_warm(&mut self) {
        self.plan.pace.is_warm = true;
    }

    /// Runs one visit on the machine for which the measurement was planned, and returns the result
    /// of all visits so far. If `more` visits follow, this visit has four rounds. The last visit has
    /// rounds until there are 12 in all, and if their interval of the median is not narrow, but may
    /// become so, until there are 24. Each visit ends earlier if its time is over. If the plan has a
    /// given number of iterations, each visit has one round of this number.
    ///
    /// A matrix is measured anew in each visit, so one visit is enough. After each pair of SPEs or,
    /// in a [`Function::Memory`](crate::Function::Memory), after each pair of an SPE and a module,
    /// calls `progress` with the number of measured pairs and the number of all pairs. If
    /// `progress` returns a break, the matrix has only the measured pairs. A pair of SPEs has no
    /// time if the clock is too coarse for its transfers.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`measure`].
    ///
    /// # Panics
    ///
    /// Panics in the same cases as [`measure`], but not for the plan of a matrix.
    pub fn visit<M: CellMachine>(
        &mut self,
        machine: &M,
        more: bool,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Measured, MeasureError> {
        self.plan.pace.more_visits = more;
        let plan = &self.plan;
        let visit = match &plan.task {
            Task::Threads { spes } => threads::measure(machine, plan, spes),
            Task::Exchange {
                channel,
                between_spes,
                partners,
            } => exchange::measure(machine, plan, *channel, *between_spes, partners),
            Task::Transfer(task) => transfer::measure(machine, plan, task),
            Task::Atomic(task) => atomic::measure(machine, plan, task),
            Task::WakeUp {
                between_spes,
                partners,
                idle,
            } => wake_up::measure(machine, plan, *between_spes, partners, *idle),
            Task::Copy(task) => copy::measure(machine, plan, task),
            Task::Chase(task) => chase::measure(machine, plan, task),
            Task::OsThread => os_thread::measure(machine, plan),
            Task::Pairs(task) => {
                return Ok(Measured::Matrix(matrix::measure(machine, task, progress)?));
            }
            Task::Memory(task) => {
                return Ok(Measured::Memory(memory::measure(machine, task, progress)?));
            }
        }?;
        self.add(visit)
    }

    /// Returns whether [`visit_together`](Self::visit_together) takes both measurements: chases
    /// without load by the same SPE, in memory whose pages nobody chose.
    pub fn can_be_visited_with(&self, other: &Self) -> bool {
        let chase = |visits: &Self| match &visits.plan.task {
            Task::Chase(task) if visits.plan.parameters().settings.page_bytes.is_none() => {
                let is_alone = task.load.spes.is_empty() && task.in_one_view;
                is_alone.then_some(task.spes[0])
            }
            _ => None,
        };
        chase(self).is_some_and(|spe| chase(other) == Some(spe))
    }

    /// Runs one visit of each of several measurements in one run, in which they share memory. Each
    /// result is that of all visits of its measurement so far, as [`visit`](Self::visit) returns it.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`measure`]. The error of an impossible result is in place of this
    /// result.
    ///
    /// # Panics
    ///
    /// Panics in the same cases as [`measure`], and if a measurement
    /// [cannot be visited](Self::can_be_visited_with) with the first.
    pub fn visit_together<M: CellMachine>(
        together: &mut [Self],
        machine: &M,
        more: bool,
    ) -> Result<Vec<Result<Measured, MeasureError>>, MeasureError> {
        for at in 0..together.len() {
            assert!(together[at].can_be_visited_with(&together[0]));
            together[at].plan.pace.more_visits = more;
        }
        let plans = together.iter().map(|visits| match &visits.plan.task {
            Task::Chase(task) => (&visits.plan, task),
            _ => unreachable!("only chases are visited together"),
        });
        let outcomes = chase::measure_together(machine, &plans.collect::<Vec<_>>())?;
        let results = together.iter_mut().zip(outcomes);
        Ok(results
            .map(|(visits, outcome)| visits.add(outcome))
            .collect())
    }

    /// Adds the loops of a visit, and returns the result of all visits so far.
    fn add(&mut self, visit: Outcome) -> Result<Measured, MeasureError> {
        self.plan.pace.earlier.push(round_medians(&visit.loops));
        self.plan.pace.rate = last_rate(&visit.loops);
        let all = match &mut self.outcome {
            none @ None => none.insert(visit),
            Some(all) => {
                let bare = all.bare.iter_mut().zip(visit.bare);
                for (rounds, more) in all.loops.iter_mut().zip(visit.loops).chain(bare) {
                    rounds.extend(more);
                }
                all
            }
        };
        let measurement = summarize(&self.plan, all)?;
        Ok(Measured::Operation(Box::new(measurement)))
    }
}

#[cfg(test)]
mod tests {
    use cellworks_machine::Capabilities;

    use super::*;
    use crate::function::Function;
    use crate::plan::Timed;
    use crate::request::{Count, Iterations, Limits, Request};
    use crate::sample::TimedLoop;
    use crate::test_data::{LIMITS, single};
    use summary::check_times;

    /// Plans operations of 1,024 bytes on two SPEs, each with a limit of 10 GB/s.
    fn plan(function: Function, keep_samples: bool) -> Plan {
        let limits = Limits {
            bandwidth_bytes_per_s_max: Some(10_000_000_000),
            ..LIMITS
        };
        let request = Request {
            spes: Count::Shared(2),
            keep_samples,
            ..Request::new(function)
        };
        request.plan(&single(2), &limits).unwrap()
    }

    #[test]
    fn the_warm_up_the_rounds_and_the_idle_time_follow_from_the_capabilities() {
        let plan = |iterations, is_steady, sleeps| {
            let topology = single(1).with_capabilities(Capabilities {
                is_steady,
                sleeps,
                ..Capabilities::default()
            });
            let request = Request {
                iterations,
                ..Request::new(Function::WakeUp)
            };
            request.plan(&topology, &LIMITS).unwrap()
        };
        let span = Span::from_nanoseconds(7_000);
        for (iterations, is_steady, warm_up, steady) in [
            (Iterations::Within(span), false, None, None),
            (Iterations::Within(span), true, None, Some(16)),
            (Iterations::Exactly(5), false, None, None),
            (Iterations::Exactly(5), true, Some(5), None),
            (Iterations::Exactly(100), true, Some(16), None),
        ] {
            let pace = plan(iterations, is_steady, true).pace;
            assert_eq!(pace.warm_up, warm_up, "{iterations:?} {is_steady}");
            let rounds_of = match pace.timed {
                Timed::Steady(iterations) => Some(iterations),
                Timed::Exactly(_) | Timed::Within(_) => None,
            };
            assert_eq!(rounds_of, steady, "{iterations:?} {is_steady}");
        }
        let idle = |sleeps| match plan(Iterations::Exactly(5), false, sleeps).task {
            Task::WakeUp { idle, .. } => idle,
            other => panic!("{other:?}"),
        };
        assert!(idle(true) > idle(false));
    }

    /// Makes the outcome of two SPEs that both had these samples in each round.
    fn outcome(rounds_ns: &[&[u64]]) -> Outcome {
        let rounds = |delay_ns: u64| {
            let at = |(index, samples): (usize, &&[u64])| {
                TimedLoop::made_up(1_000_000 * index as u64 + delay_ns, samples)
            };
            rounds_ns.iter().enumerate().map(at).collect()
        };
        Outcome {
            loops: vec![rounds(0), rounds(1)],
            operations_per_iteration: 1,
            bytes_per_iteration: 1_024,
            ..Outcome::default()
        }
    }

    fn summary(mut plan: Plan, rounds_ns: &[&[u64]]) -> Result<Measurement, MeasureError> {
        let outcome = outcome(rounds_ns);
        plan.pace.earlier = vec![round_medians(&outcome.loops)];
        summarize(&plan, &outcome)
    }

    fn refusal(function: Function, rounds_ns: &[&[u64]]) -> String {
        let refused = summary(plan(function, false), rounds_ns).unwrap_err();
        assert!(matches!(refused, MeasureError::Impossible(_)), "{refused}");
        refused.to_string()
    }

    #[test]
    fn all_rounds_are_summarized_and_samples_are_there_on_request() {
        let rounds: [&[u64]; 6] = [&[200, 300], &[250], &[251], &[252], &[253], &[254]];
        let summary = |keep| summary(plan(Function::DmaGet, keep), &rounds).unwrap();
        let measurement = summary(true);
        assert_eq!((measurement.iterations, measurement.rounds), (7, 6));
        assert_eq!((measurement.samples, measurement.outliers), (14, 4));
        let interval = measurement.median_interval_ns.unwrap();
        assert_eq!((interval.low, interval.high), (200.0, 254.0));
        let kept = measurement.samples_ns.clone().unwrap();
        let of_one = [200.0, 300.0, 250.0, 251.0, 252.0, 253.0, 254.0];
        assert_eq!(kept, [of_one, of_one].concat());
        // Each SPE moves 7 blocks in 1,760 ns (the sum of `rounds`). In each of the 6 rounds, one
        // SPE starts 1 ns after the other.
        let bandwidth = 14.0 * 1_024.0 / (1_760.0 + 6.0) * 1e9;
        assert_eq!(measurement.bandwidth_bytes_per_s, Some(bandwidth as u64));

        let without = summary(false);
        assert_eq!(without.samples_ns, None);
        assert_eq!(without.latency_ns, measurement.latency_ns);
    }

    #[test]
    fn the_interval_of_steady_rounds_is_from_the_lowest_to_the_highest() {
        let mut steady = plan(Function::DmaGet, false);
        steady.pace.timed = Timed::Steady(3);
        let measurement = summary(steady, &[&[208, 210, 220], &[200], &[200, 200]]).unwrap();
        let interval = measurement.median_interval_ns.unwrap();
        assert_eq!((interval.low, interval.high), (200.0, 210.0));
    }

    #[test]
    fn a_time_of_zero_is_refused() {
        assert_eq!(
            refusal(Function::FetchAdd, &[&[0, 0]]),
            "the result cannot be true: the mean time of fetchadd is 0 ns, and an operation takes \
             more than 0 ns; repeat it with more iterations, and if it stays look at the clock source \
             of the machine, and at its hypervisor if it has one; if they are right, please report this"
        );
        let median = refusal(Function::FetchAdd, &[&[0, 0, 5]]);
        assert!(
            median.starts_with("the result cannot be true: the median time of fetchadd is 0 ns, "),
            "{median}"
        );
    }

    #[test]
    fn more_bandwidth_than_the_spes_can_have_is_refused() {
        // 2 * 1,024 bytes in 102 ns are more than 20 GB/s, and in 103 ns less than 20 GB/s.
        let fast = &[&[101][..]];
        assert_eq!(
            refusal(Function::DmaPut, fast),
            "the result cannot be true: dmaput moved 20078431372 bytes a second with 2 SPEs, which \
             can move 20000000000 at the very most; look at the clock source of the machine, and at \
             its hypervisor if it has one; if they are right, please report this"
        );
        let fitting = summary(plan(Function::DmaPut, false), &[&[102]]).unwrap();
        assert_eq!(fitting.bandwidth_bytes_per_s, Some(19_883_495_145));
        let mut unlimited = plan(Function::DmaPut, false);
        unlimited.bandwidth_bytes_per_s_max = None;
        assert!(summary(unlimited, fast).is_ok());
    }

    #[test]
    fn times_out_of_order_and_times_that_are_no_numbers_are_refused() {
        let possible = summary(plan(Function::Mailbox, false), &[&[500, 600]]).unwrap();
        assert_eq!(check_times(&possible), Ok(()));

        let mut out_of_order = possible.clone();
        out_of_order.latency_ns.p99 = 499.5;
        assert_eq!(
            check_times(&out_of_order).unwrap_err().to_string(),
            "the result cannot be true: of the times of mailbox the minimum is 500 ns, the median 500 ns, \
             the 99th percentile 499.5 ns and the maximum 600 ns, and none can be below the one before; \
             look at the clock source of the machine, and at its hypervisor if it has one; if they are \
             right, please report this"
        );
        for ns in [f64::NAN, f64::INFINITY, -1.0] {
            let mut wrong = possible.clone();
            wrong.latency_ns.mean = ns;
            let refused = check_times(&wrong).unwrap_err().to_string();
            let start = format!("the result cannot be true: the mean time of mailbox is {ns} ns, ");
            assert!(refused.starts_with(&start), "{refused}");
        }
    }
}
