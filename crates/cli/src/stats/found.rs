//! The results of measurements and matrices so far, and whether they are reliable.

use std::collections::BTreeSet;

use cellworks_machine::Topology;
use cellworks_report::{
    Envelope, NotMeasured, Reason, ReasonKind, Report, Trust, csv, html, json, table,
};
use cellworks_stats::{
    Matrix, Measured, Measurement, MemoryMatrix, Reference, advise, classify_storage, findings,
    unsteady,
};

use super::work::Work;
use crate::output::Views;
use crate::session::{Circumstances, End, Steps};

/// The interval of a median is wide if its width is more than this share of the median.
const WIDE: f64 = 0.2;

/// The numbers are not reliable if more than this share of the intervals is wide. On an idle
/// virtual machine that probably shared its cores, 18 to 28 % of the intervals were wide.
const WIDE_SHARE_MAX: f64 = 0.5;

pub(super) struct Found {
    topology: Topology,
    steps: Vec<Step>,
    matrices: Vec<Matrix>,
    memory_matrix: Option<MemoryMatrix>,
    pub reference: Option<Reference>,
    not_measured: Vec<NotMeasured>,
    /// The reasons why the numbers are not reliable.
    reasons: Vec<Reason>,
}

struct Step {
    title: String,
    state: State,
}

enum State {
    /// The step has no result yet.
    Waiting,
    /// The result so far. A measurement consists of several visits.
    Measured(Box<Measurement>),
    /// The result is a matrix in another field of `Found`, or the step is in `not_measured`.
    Settled,
}

impl Found {
    pub fn empty(work: &Work, topology: &Topology) -> Self {
        let step = |title| Step {
            title,
            state: State::Waiting,
        };
        Self {
            topology: topology.clone(),
            steps: work.titles().into_iter().map(step).collect(),
            matrices: Vec::new(),
            memory_matrix: None,
            reference: None,
            not_measured: work.not_measured.clone(),
            reasons: Vec::new(),
        }
    }

    /// Records the result of a step after each visit of the step. A matrix may be incomplete.
    pub fn measured(&mut self, step: usize, measured: Measured) {
        self.steps[step].state = match measured {
            Measured::Operation(measurement) => State::Measured(measurement),
            Measured::Matrix(matrix) => {
                self.matrices.push(matrix);
                State::Settled
            }
            Measured::Memory(matrix) => {
                self.memory_matrix = Some(matrix);
                State::Settled
            }
        };
    }

    /// Records that the result of a step is impossible.
    pub fn refused(&mut self, step: usize, why: String) {
        self.steps[step].state = State::Settled;
        let what = self.steps[step].title.clone();
        self.reasons.push(Reason {
            kind: ReasonKind::Impossible,
            text: format!("{what}: {why}"),
        });
        self.not_measured.push(NotMeasured { what, why });
    }

    /// Returns true if no step has a result yet, and no step was refused.
    pub fn is_empty(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.all(|step| matches!(step.state, State::Waiting))
    }
}

impl Steps for Found {
    type Report = Report;

    const NAME: &'static str = "measurements";
    const VIEWS: Views<Report> = Views {
        table: table::render,
        csv: csv::render,
        json: json::render,
        html: html::render,
    };

    fn planned(&self) -> usize {
        self.steps.len()
    }

    fn done(&self) -> usize {
        let steps = self.steps.iter();
        let measured = steps.filter(|step| matches!(step.state, State::Measured(_)));
        measured.count() + self.matrices.len() + usize::from(self.memory_matrix.is_some())
    }

    fn report(mut self, circumstances: Circumstances, end: &End) -> Report {
        let Circumstances {
            machine,
            environment,
            reasons: disturbances,
            counters,
        } = circumstances;
        let is_complete = self.done() == self.planned() && matches!(end, End::Done);
        let why = match end {
            End::Done => "the budget was spent before; give more with --budget",
            End::Interrupted => "interrupted",
            End::Spoiled(_) | End::Refused(_) | End::Failed(_) => "the run ended before",
        };
        let mut measurements = Vec::new();
        for Step { title, state } in self.steps {
            match state {
                State::Measured(measurement) => measurements.push(*measurement),
                State::Waiting => self.not_measured.push(NotMeasured {
                    what: title,
                    why: why.to_owned(),
                }),
                State::Settled => {}
            }
        }
        let mut reasons = self.reasons;
        reasons.extend(disturbances);
        // Wide intervals are accepted in two cases. An interrupted run has too few visits. If
        // operations of the machine always take the same time, a new run has the same medians.
        let capabilities = self.topology.capabilities();
        if !matches!(end, End::Interrupted) && !capabilities.repeats {
            reasons.extend(too_wide(&measurements).map(|text| Reason {
                kind: ReasonKind::Uncertain,
                text,
            }));
        }
        if !capabilities.repeats {
            let reference = self.reference.as_ref();
            let unsteady = unsteady(&self.topology, &measurements, &self.matrices, reference);
            reasons.extend(unsteady.into_iter().map(|text| Reason {
                kind: ReasonKind::Unsteady,
                text,
            }));
        }
        let misplaced = self.matrices.iter().filter_map(misplaced);
        let of_memory = self.memory_matrix.as_ref().and_then(misplaced_blocks);
        reasons.extend(misplaced.chain(of_memory).map(|text| Reason {
            kind: ReasonKind::Disturbed,
            text,
        }));
        let results = findings(&measurements, capabilities);
        classify_storage(&self.topology, &mut measurements, &results);
        let advice = advise(&self.topology, &measurements, &results, &self.matrices);
        Report {
            envelope: Envelope::new("stats", machine, environment, reasons, is_complete),
            not_measured: self.not_measured,
            measurements,
            matrices: self.matrices,
            memory_matrix: self.memory_matrix,
            reference: self.reference,
            results,
            advice,
            counters,
        }
        .in_words_of_the_machine()
    }

    fn trust(report: &Report) -> &Trust {
        &report.envelope.trust
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
fn too_wide(measurements: &[Measurement]) -> Option<String> {
    let repeated = || measurements.iter().filter(|one| one.rounds > 1);
    let is_wide = |one: &&Measurement| {
        one.median_interval_ns
            .is_none_or(|interval| (interval.high - interval.low) / one.latency_ns.p50 > WIDE)
    };
    let (all, wide) = (repeated().count(), repeated().filter(is_wide).count());
    let medians = match all {
        1 => "the median is".to_owned(),
        _ => format!("{wide} of {all} medians are"),
    };
    (wide as f64 > WIDE_SHARE_MAX * all as f64).then(|| {
        format!(
            "{medians} known only to {:.0} % or worse; give them more time with \
             --budget, or stop what disturbs them",
            WIDE * 100.0
        )
    })
}
