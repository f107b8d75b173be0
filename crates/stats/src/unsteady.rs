//! Finds out whether the computer was in one state during a whole run.

use cellworks_machine::{CellId, SpeId, Topology};

use crate::figures::time;
use crate::function::{Function, Polling, Primitive};
use crate::report::{Between, Matrix, Measurement, Reference, State};

/// The minimum ratio of two one-way times of a pair of SPEs that shows two states of the computer.
/// In one state, the fastest times of exchanges and of matrices differed by only a tenth.
const DISAGREE: f64 = 2.0;

const WHAT_TO_DO: &str = "this run mixes numbers of both states; measure again, and if the message comes again, measure \
                          on a computer without virtual CPUs, or on virtual CPUs that are pinned to cores";

/// Returns the reasons why the numbers of a run belong to more than one state of the computer, with
/// advice: the times of the reference changed, the samples of an exchange have two peaks, or two
/// measurements of a pair of SPEs disagree.
pub fn unsteady(
    topology: &Topology,
    measurements: &[Measurement],
    matrices: &[Matrix],
    reference: Option<&Reference>,
) -> Vec<String> {
    let changed = reference.into_iter().flat_map(changed);
    let peaks = measurements.iter().filter_map(two_peaks);
    let ways = ways(topology, measurements, matrices, reference);
    let disagree = [Primitive::Mailbox, Primitive::Signal, Primitive::Atomic]
        .into_iter()
        .filter_map(|primitive| disagreement(primitive, &ways));
    changed.chain(peaks).chain(disagree).collect()
}

fn changed(reference: &Reference) -> Option<String> {
    let [a, b] = reference.spes;
    let of = |what: &str, states: &[State]| {
        two(states).map(|both| {
            format!(
                "{what} between SPE {a} and SPE {b} took {both} of {} readings",
                reference.readings
            )
        })
    };
    let exchange = of("a reference exchange", &reference.exchange);
    let line = of("a reference cache line", &reference.line);
    let states: Vec<String> = exchange.into_iter().chain(line).collect();
    (!states.is_empty()).then(|| {
        format!(
            "the computer was in two states during the run: {}; {WHAT_TO_DO}",
            states.join(", and ")
        )
    })
}

fn two_peaks(measurement: &Measurement) -> Option<String> {
    let function = measurement.function;
    if !matches!(function, Function::Mailbox | Function::Signal) {
        return None;
    }
    let both = two(&measurement.states)?;
    let between = match measurement.parameters.between {
        Between::SpeSpe => "between SPEs",
        _ => "between the PPE and SPEs",
    };
    Some(format!(
        "the computer was in two states: an exchange by {function} {between}, there and back, took {both} of the \
         samples; {WHAT_TO_DO}"
    ))
}

/// Returns a text such as `136 ns in 62 % and 495 ns in 38 %`, or `None` if there is one state.
fn two(states: &[State]) -> Option<String> {
    match states {
        [fast, slow] => Some(format!("{} and {}", in_share(fast), in_share(slow))),
        _ => None,
    }
}

fn in_share(state: &State) -> String {
    format!("{} in {:.0} %", time(state.ns), state.share * 100.0)
}

struct Way {
    primitive: Primitive,
    pair: [usize; 2],
    ns: f64,
    source: &'static str,
}

fn ways(
    topology: &Topology,
    measurements: &[Measurement],
    matrices: &[Matrix],
    reference: Option<&Reference>,
) -> Vec<Way> {
    let mut ways: Vec<Way> = measurements
        .iter()
        .filter_map(|measurement| exchange(topology, measurement))
        .collect();
    if let Some(reference) = reference {
        let of = |primitive, states: &[State], ways: f64| match states {
            [only] => Some(Way {
                primitive,
                pair: reference.spes,
                ns: only.ns / ways,
                source: "the reference",
            }),
            _ => None,
        };
        ways.extend(of(Primitive::Mailbox, &reference.exchange, 2.0));
        ways.extend(of(Primitive::Atomic, &reference.line, 1.0));
    }
    let pairs: Vec<[usize; 2]> = ways.iter().map(|way| way.pair).collect();
    for matrix in matrices {
        // With compare-and-swap, each poll takes the cache line away from the sender. This makes
        // the times different in any state, so they are not compared with others.
        if matrix.polling == Some(Polling::CompareAndSwap) {
            continue;
        }
        for pair in &pairs {
            let row = matrix.one_way_ns.get(pair[0]);
            if let Some(ns) = row.and_then(|row| *row.get(pair[1])?) {
                ways.push(Way {
                    primitive: matrix.primitive,
                    pair: *pair,
                    ns,
                    source: "the matrix",
                });
            }
        }
    }
    ways
}

/// Returns the one-way time of an exchange between SPE 0 and one other SPE, or `None` for another
/// measurement or an exchange with two states.
fn exchange(topology: &Topology, measurement: &Measurement) -> Option<Way> {
    let primitive = match measurement.function {
        Function::Mailbox => Primitive::Mailbox,
        Function::Signal => Primitive::Signal,
        _ => return None,
    };
    let p = &measurement.parameters;
    let is_of_a_pair = p.between == Between::SpeSpe && p.spes == 2 && measurement.states.is_empty();
    let cell = CellId::new(u16::try_from(p.cell).ok()?);
    let partner = topology.spes_of(cell).find(|spe| *spe != SpeId::new(0))?;
    is_of_a_pair.then(|| Way {
        primitive,
        pair: [0, partner.index()],
        ns: measurement.latency_ns.p50 / 2.0,
        source: "an exchange",
    })
}

/// Returns a message about the two times of one pair that differ most, if the difference is too
/// large for one state.
fn disagreement(primitive: Primitive, ways: &[Way]) -> Option<String> {
    let of_primitive = || ways.iter().filter(|way| way.primitive == primitive);
    let furthest = of_primitive()
        .flat_map(|a| of_primitive().map(move |b| (a, b)))
        .filter(|(a, b)| a.pair == b.pair && b.ns > a.ns * DISAGREE)
        .max_by(|(a, b), (c, d)| (b.ns / a.ns).total_cmp(&(d.ns / c.ns)))?;
    let (fast, slow) = furthest;
    let [a, b] = fast.pair;
    Some(format!(
        "the computer was in two states during the run: one way by {} between SPE {a} and SPE {b} took {} by {} and {} \
         by {}; {WHAT_TO_DO}",
        primitive.name(),
        time(fast.ns),
        fast.source,
        time(slow.ns),
        slow.source
    ))
}

#[cfg(test)]
mod tests;
