//! The results of measurements and matrices so far, and whether they are reliable.

use std::collections::BTreeSet;
use std::mem;
use std::time::Duration;

use cellworks_machine::Topology;
use cellworks_report::{NotMeasured, Reason, ReasonKind, Report, time};
use cellworks_stats::{
    Doubt, Matrix, Measured, Measurement, MemoryMatrix, Reference, advise, classify_storage,
    findings, unsteady,
};

use super::doubts::Doubts;
use super::work::Work;
use crate::session::{Circumstances, End, Steps};

/// The interval of a median is wide if its width is more than this share of the median.
const WIDE: f64 = 0.2;

/// The numbers are not reliable if more than this share of the intervals is wide. On an idle
/// virtual machine that probably shared its cores, 18 to 28 % of the intervals were wide.
const WIDE_SHARE_MAX: f64 = 0.5;

pub(super) struct MeasurementSteps {
    topology: Topology,
    steps: Vec<Step>,
    memory_matrix: Option<MemoryMatrix>,
    pub reference: Option<Reference>,
    not_measured: Vec<NotMeasured>,
    /// The reasons why the numbers are not reliable.
    reasons: Vec<Reason>,
    /// The time in which what was disturbed is measured again.
    until_trusted: Option<Duration>,
}

struct Step {
    title: String,
    state: State,
    doubts: Vec<Doubt>,
}

enum State {
    /// The step has no result yet.
    Waiting,
    /// The result so far. A measurement consists of several visits.
    Measured(Box<Measurement>),
    /// The result of a matrix.
    Matrix(Box<Matrix>),
    /// The result is the matrix of memory, or the step is in `not_measured`.
    Settled,
}

/// A step that is measured again, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// The earlier visits are dropped.
    Anew(usize),
    /// A visit is added to the earlier visits.
    Longer(usize),
}

impl Again {
    pub fn step(self) -> usize {
        match self {
            Self::Anew(step) | Self::Longer(step) => step,
        }
    }
}

impl MeasurementSteps {
    pub fn empty(work: &Work, topology: &Topology) -> Self {
        let step = |title| Step {
            title,
            state: State::Waiting,
            doubts: Vec::new(),
        };
        Self {
            topology: topology.clone(),
            steps: work.titles().into_iter().map(step).collect(),
            memory_matrix: None,
            reference: None,
            not_measured: work.not_measured.clone(),
            reasons: Vec::new(),
            until_trusted: work.until_trusted,
        }
    }

    /// Records the result of a step after each visit of the step. A matrix may be incomplete. If it
    /// is the first result of a function, returns a line that shows it before the run has ended.
    pub fn measured(&mut self, step: usize, measured: Measured) -> Option<String> {
        let line = self.first_line(step, &measured);
        self.steps[step].state = match measured {
            Measured::Operation(measurement) => State::Measured(measurement),
            Measured::Matrix(matrix) => State::Matrix(Box::new(matrix)),
            Measured::Memory(matrix) => {
                self.memory_matrix = Some(matrix);
                State::Settled
            }
        };
        line
    }

    fn first_line(&self, step: usize, measured: &Measured) -> Option<String> {
        let Measured::Operation(first) = measured else {
            return None;
        };
        let is_new = !self
            .measurements()
            .any(|one| one.function == first.function);
        (is_new && self.steps.len() > 1).then(|| {
            let median = time(first.latency_ns.p50);
            let until = if self.topology.capabilities().repeats {
                ""
            } else {
                " so far"
            };
            format!("{}: {median}{until}", self.steps[step].title)
        })
    }

    /// Records that the result of a step is impossible.
    pub fn refused(&mut self, step: usize, why: String) {
        self.steps[step].state = State::Settled;
        let what = self.steps[step].title.clone();
        let text = format!("{what}: {why}");
        self.reasons.push(ReasonKind::Impossible.reason(text));
        self.not_measured.push(NotMeasured { what, why });
    }

    /// Finds the doubts of each step from the conditions of its visits and from its result.
    /// `are_main` tells for each reading of the reference whether it found the main state.
    pub fn judge(&mut self, conditions: &Doubts, are_main: &[bool]) {
        if self.topology.capabilities().repeats {
            return;
        }
        for (at, step) in self.steps.iter_mut().enumerate() {
            let (depends_on_state, has_states, is_wide) = match &step.state {
                State::Measured(one) => (
                    one.is_between_processors(),
                    !one.states.is_empty(),
                    one.rounds > 1 && is_wide(one),
                ),
                State::Matrix(_) => (true, false, false),
                State::Waiting | State::Settled => (false, false, false),
            };
            let is_unsteady =
                depends_on_state && (has_states || conditions.is_unsteady(at, are_main));
            step.doubts = [
                (conditions.is_disturbed(at), Doubt::Disturbed),
                (is_unsteady, Doubt::Unsteady),
                (is_wide, Doubt::Uncertain),
            ]
            .into_iter()
            .filter_map(|(is_it, doubt)| is_it.then_some(doubt))
            .collect();
        }
    }

    /// Returns the steps that have doubts.
    pub fn to_measure_again(&self) -> Vec<Again> {
        let steps = self.steps.iter().enumerate();
        let again = steps.filter_map(|(at, step)| match step.doubts[..] {
            [] => None,
            [Doubt::Uncertain] => Some(Again::Longer(at)),
            _ => Some(Again::Anew(at)),
        });
        again.collect()
    }

    fn measurements(&self) -> impl Iterator<Item = &Measurement> + Clone {
        self.steps.iter().filter_map(|step| match &step.state {
            State::Measured(one) => Some(&**one),
            _ => None,
        })
    }

    /// Returns the reasons to doubt a run that was to measure until nothing has doubts.
    fn still_doubted(&self, limit: Duration) -> Vec<Reason> {
        let of = |doubt: Doubt| {
            let steps = self.steps.iter();
            steps.filter(|step| step.doubts.contains(&doubt)).count()
        };
        let all = self.steps.len();
        let limit = humantime::format_duration(limit);
        [
            (
                Doubt::Disturbed,
                ReasonKind::Disturbed,
                "were disturbed each time, until the time of --until-trusted",
                "stop other programs",
            ),
            (
                Doubt::Unsteady,
                ReasonKind::Unsteady,
                "were never made in one state of the computer, until the time of --until-trusted",
                "measure on a computer without virtual CPUs",
            ),
        ]
        .into_iter()
        .filter(|(doubt, ..)| of(*doubt) > 0)
        .map(|(doubt, kind, what, what_to_do)| Reason {
            kind,
            text: format!(
                "{} of {all} measurements {what} ({limit}) was over; {what_to_do}, or give more time",
                of(doubt)
            ),
        })
        .collect()
    }

    /// Returns true if no step has a result yet, and no step was refused.
    pub fn is_empty(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.all(|step| matches!(step.state, State::Waiting))
    }
}

impl Steps for MeasurementSteps {
    type Report = Report;

    const NAME: &'static str = "measurements";

    fn planned(&self) -> usize {
        self.steps.len()
    }

    fn done(&self) -> usize {
        let steps = self.steps.iter();
        let is_measured =
            |step: &&Step| matches!(step.state, State::Measured(_) | State::Matrix(_));
        steps.filter(is_measured).count() + usize::from(self.memory_matrix.is_some())
    }

    fn report(mut self, mut circumstances: Circumstances, end: &End) -> Report {
        let disturbances = mem::replace(&mut circumstances.reasons, mem::take(&mut self.reasons));
        let reasons = &mut circumstances.reasons;
        let is_complete = self.done() == self.planned() && matches!(end, End::Done);
        let why = match end {
            End::Done => "the budget was spent before; give more with --budget",
            End::Interrupted => "interrupted",
            End::Spoiled(_) | End::Refused(_) | End::Failed(_) => "the run ended before",
        };
        let capabilities = self.topology.capabilities();
        let is_spoiled = matches!(end, End::Spoiled(_));
        let repeated = self.until_trusted.filter(|_| matches!(end, End::Done));
        match repeated {
            // Disturbances at other times do not matter, because what they disturbed was measured
            // again.
            Some(limit) => {
                let of_run = |reason: &Reason| reason.kind != ReasonKind::Disturbed;
                reasons.extend(disturbances.into_iter().filter(of_run));
                reasons.extend(self.still_doubted(limit));
            }
            None => {
                let is_disturbed = |reason: &Reason| reason.kind == ReasonKind::Disturbed;
                let is_known = |step: &Step| step.doubts.contains(&Doubt::Disturbed);
                let is_of_all = !self.steps.iter().any(is_known) || is_spoiled;
                if disturbances.iter().any(is_disturbed) && is_of_all {
                    let steps = self.steps.iter_mut();
                    steps.for_each(|step| step.doubts = vec![Doubt::Disturbed]);
                }
                reasons.extend(disturbances);
            }
        }
        let (mut measurements, mut matrices) = (Vec::new(), Vec::new());
        for step in self.steps {
            match step.state {
                State::Measured(measurement) => measurements.push(Measurement {
                    doubts: step.doubts,
                    ..*measurement
                }),
                State::Matrix(matrix) => matrices.push(Matrix {
                    doubts: step.doubts,
                    ..*matrix
                }),
                State::Waiting => self.not_measured.push(NotMeasured {
                    what: step.title,
                    why: why.to_owned(),
                }),
                State::Settled => {}
            }
        }
        // Wide intervals are accepted in two cases. An interrupted run has too few visits. If
        // operations of the machine always take the same time, a new run has the same medians.
        if !matches!(end, End::Interrupted) && !capabilities.repeats {
            let too_wide = too_wide(measurements.iter());
            reasons.extend(too_wide.map(|text| ReasonKind::Uncertain.reason(text)));
        }
        // After repetitions, readings of the reference may be of visits that were dropped.
        if !capabilities.repeats {
            let reference = self.reference.as_ref().filter(|_| repeated.is_none());
            let unsteady = unsteady(&self.topology, &measurements, &matrices, reference);
            let unsteady = unsteady.into_iter();
            reasons.extend(unsteady.map(|text| ReasonKind::Unsteady.reason(text)));
        }
        for matrix in &mut matrices {
            if let Some(text) = misplaced(matrix) {
                matrix.doubts.insert(0, Doubt::Disturbed);
                matrix.doubts.dedup();
                reasons.push(ReasonKind::Disturbed.reason(text));
            }
        }
        let of_memory = self.memory_matrix.as_ref().and_then(misplaced_blocks);
        reasons.extend(of_memory.map(|text| ReasonKind::Disturbed.reason(text)));
        let results = findings(&measurements, &self.topology);
        classify_storage(&self.topology, &mut measurements, &results);
        let mut advice = advise(&self.topology, &measurements, &results, &matrices);
        // Nothing in a run of another computer is about the machine that is named.
        if reasons
            .iter()
            .any(|reason| reason.kind == ReasonKind::Foreign)
        {
            advice.iter_mut().for_each(|one| one.doubtful = true);
        }
        Report {
            counters: circumstances.counters.take(),
            envelope: circumstances.envelope("stats", is_complete),
            not_measured: self.not_measured,
            measurements,
            matrices,
            memory_matrix: self.memory_matrix,
            reference: self.reference,
            results,
            advice,
        }
        .in_words_of_the_machine()
    }
}

/// Returns the reason to doubt a matrix, if its data was in the wrong memory module.
fn misplaced(matrix: &Matrix) -> Option<String> {
    let home = matrix.home?;
    let module = match home.module {
        Some(module) => format!("memory module {module}"),
        None => "the memory module nearest to the SPE that sends".to_owned(),
    };
    (home.verified == Some(false)).then(|| {
        format!(
            "the data of a matrix should have been in {module}, and the system has put them \
             elsewhere; make room there, or choose another module with -m"
        )
    })
}

/// Returns the reason to doubt a memory matrix, if a block was in the wrong memory module.
fn misplaced_blocks(matrix: &MemoryMatrix) -> Option<String> {
    let mut modules = BTreeSet::new();
    for cells in &matrix.cells {
        let cells = cells.iter().enumerate();
        modules.extend(cells.filter_map(|(module, cell)| {
            (cell.as_ref()?.verified == Some(false)).then_some(module.to_string())
        }));
    }
    let modules: Vec<String> = modules.into_iter().collect();
    let noun = if modules.len() == 1 {
        "module"
    } else {
        "modules"
    };
    (!modules.is_empty()).then(|| {
        format!(
            "the blocks that should have been in memory {noun} {} lay elsewhere at least in part; make room \
             there, or take a smaller block with -b",
            modules.join(", ")
        )
    })
}

/// Returns a reason to doubt the numbers, if too many medians have a wide interval. Measurements
/// with one round are ignored, because one round does not show how much the medians of several
/// rounds differ from each other.
fn too_wide<'m>(measurements: impl Iterator<Item = &'m Measurement> + Clone) -> Option<String> {
    let repeated = || measurements.clone().filter(|one| one.rounds > 1);
    let (all, wide) = (
        repeated().count(),
        repeated().filter(|one| is_wide(one)).count(),
    );
    let medians = match all {
        1 => "the median has".to_owned(),
        _ => format!("{wide} of {all} medians have"),
    };
    (wide as f64 > WIDE_SHARE_MAX * all as f64).then(|| {
        format!(
            "{medians} a ± of more than {:.0} %, or none; give them more time with --budget, or stop what disturbs \
             them",
            WIDE / 2.0 * 100.0
        )
    })
}

fn is_wide(measurement: &Measurement) -> bool {
    measurement
        .median_interval_ns
        .is_none_or(|interval| (interval.high - interval.low) / measurement.latency_ns.p50 > WIDE)
}

#[cfg(test)]
mod tests {
    use cellworks_machine::{CellId, ModuleId, SpeSite};
    use serde_json::json;

    use super::*;

    /// A measurement with a median of 100 ns and an interval of `width` ns around it.
    fn measured(width: Option<f64>, rounds: u32) -> Box<Measurement> {
        let interval = width.map(|width| {
            let (low, high) = (100.0 - width / 2.0, 100.0 + width / 2.0);
            json!({"low": low, "high": high})
        });
        let measurement = json!({
            "function": "fetchadd",
            "parameters": {"spes": 1, "cell": 0, "between": "memory-spe"},
            "iterations": 1_000, "rounds": rounds, "samples": 1_000, "outliers": 0,
            "latency_ns": {"mean": 100.0, "min": 90.0, "p50": 100.0, "p99": 110.0, "max": 120.0},
            "median_interval_ns": interval,
        });
        Box::new(serde_json::from_value(measurement).expect("a measurement"))
    }

    #[test]
    fn a_wide_interval_is_said_in_its_row_even_if_most_are_narrow() {
        let site = SpeSite {
            cell: CellId::new(0),
            core: None,
            place: String::new(),
        };
        let states = [
            (Some(1.0), 24),
            (Some(65.0), 24),
            (Some(19.0), 24),
            (None, 24),
            (None, 1),
        ];
        let steps = states.map(|(width, rounds)| Step {
            title: String::new(),
            state: State::Measured(measured(width, rounds)),
            doubts: Vec::new(),
        });
        let mut found = MeasurementSteps {
            topology: Topology::new("a computer", vec![ModuleId::new(0)], vec![site]),
            steps: steps.into(),
            memory_matrix: None,
            reference: None,
            not_measured: Vec::new(),
            reasons: Vec::new(),
            until_trusted: None,
        };
        found.judge(&Doubts::undisturbed(5), &[]);
        let doubts: Vec<&[Doubt]> = found.steps.iter().map(|step| &step.doubts[..]).collect();
        let wide = &[Doubt::Uncertain][..];
        assert_eq!(doubts, [&[], wide, &[], wide, &[]]);
        assert_eq!(too_wide(found.measurements()), None);
        assert_eq!(
            found.to_measure_again(),
            [Again::Longer(1), Again::Longer(3)]
        );
    }
}
