use super::*;
use crate::report::Parameters;
use crate::test_data::{measurement, parameters, two_pairs};

fn exchange_of(function: Function, cell: usize, ns: f64) -> Measurement {
    let parameters = Parameters {
        cell,
        ..parameters(2, Between::SpeSpe)
    };
    measurement(function, parameters, ns)
}

fn matrix(primitive: Primitive, ns: f64) -> Matrix {
    let row = |from| (0..4).map(|to| (from != to).then_some(ns)).collect();
    Matrix {
        primitive,
        polling: (primitive == Primitive::Atomic).then_some(Polling::Reads),
        block_bytes: None,
        one_way_ns: (0..4).map(row).collect(),
        pairs: 6,
        pairs_measured: 6,
        classes: Vec::new(),
        home: None,
        choice: None,
        doubts: Vec::new(),
    }
}

fn states(times: &[(f64, f64)]) -> Vec<State> {
    let state = |&(ns, share): &(f64, f64)| State { ns, share };
    times.iter().map(state).collect()
}

fn reference(exchange: &[(f64, f64)], line: &[(f64, f64)]) -> Reference {
    Reference {
        spes: [0, 1],
        readings: 13,
        exchange: states(exchange),
        line: states(line),
    }
}

fn said(
    measurements: &[Measurement],
    matrices: &[Matrix],
    reference: Option<&Reference>,
) -> Vec<String> {
    let said = unsteady(&two_pairs(), measurements, matrices, reference);
    let end = format!("; {WHAT_TO_DO}");
    said.iter()
        .map(|one| {
            one.strip_suffix(&end)
                .expect("it says what to do")
                .to_owned()
        })
        .collect()
}

#[test]
fn one_state_gives_no_reason() {
    let measurements = [
        exchange_of(Function::Mailbox, 0, 136.0),
        exchange_of(Function::Signal, 1, 86.0),
    ];
    let matrices = [
        matrix(Primitive::Mailbox, 70.0),
        matrix(Primitive::Signal, 60.0),
        matrix(Primitive::Atomic, 36.0),
        matrix(Primitive::Copy, 900.0),
    ];
    let steady = reference(&[(140.0, 1.0)], &[(37.0, 1.0)]);
    assert_eq!(said(&measurements, &matrices, Some(&steady)), [""; 0]);
    assert_eq!(said(&[], &[], None), [""; 0]);
}

#[test]
fn a_reference_that_changes_has_both_states() {
    let both = reference(
        &[(136.0, 0.62), (495.0, 0.38)],
        &[(66.9, 0.7), (251.0, 0.3)],
    );
    assert_eq!(
        said(&[], &[], Some(&both)),
        [
            "the computer was in two states during the run: a reference exchange between SPE 0 and SPE 1 took 136 ns \
             in 62 % and 495 ns in 38 % of 13 readings, and a reference cache line between SPE 0 and SPE 1 took 66.9 \
             ns in 70 % and 251 ns in 30 % of 13 readings"
        ]
    );
    let one = reference(&[(136.0, 0.62), (495.0, 0.38)], &[(66.9, 1.0)]);
    let said = said(&[], &[], Some(&one));
    assert!(
        said[0].ends_with("and 495 ns in 38 % of 13 readings"),
        "{said:?}"
    );
}

#[test]
fn an_exchange_with_two_peaks_has_both_states() {
    let mut mailbox = exchange_of(Function::Mailbox, 0, 136.0);
    mailbox.states = states(&[(136.0, 0.75), (495.0, 0.25)]);
    let mut chase = exchange_of(Function::Chase, 0, 136.0);
    chase.states = mailbox.states.clone();
    assert_eq!(
        said(&[mailbox, chase], &[matrix(Primitive::Mailbox, 70.0)], None),
        [
            "the computer was in two states: an exchange by mailbox between SPEs, there and back, took 136 ns in 75 % \
             and 495 ns in 25 % of the samples"
        ]
    );
}

#[test]
fn an_exchange_that_disagrees_with_the_matrix_has_both_times() {
    let measurements = [
        exchange_of(Function::Mailbox, 0, 150.0),
        exchange_of(Function::Mailbox, 1, 512.0),
        exchange_of(Function::Signal, 1, 512.0),
    ];
    assert_eq!(
        said(&measurements, &[matrix(Primitive::Mailbox, 66.9)], None),
        [
            "the computer was in two states during the run: one way by mailbox between SPE 0 and SPE 2 took 66.9 ns \
             by the matrix and 256 ns by an exchange"
        ]
    );
}

#[test]
fn a_matrix_that_disagrees_with_the_reference_has_both_times() {
    let steady = reference(&[(140.0, 1.0)], &[(37.0, 1.0)]);
    let atomic = matrix(Primitive::Atomic, 120.0);
    assert_eq!(
        said(&[], std::slice::from_ref(&atomic), Some(&steady)),
        [
            "the computer was in two states during the run: one way by atomic between SPE 0 and SPE 1 took 37.0 ns by \
             the reference and 120 ns by the matrix"
        ]
    );
    let swapped = Matrix {
        polling: Some(Polling::CompareAndSwap),
        ..atomic
    };
    assert_eq!(said(&[], &[swapped], Some(&steady)), [""; 0]);
}
