//! The results of the runs of a program so far.

use std::collections::BTreeMap;

use cellworks_apps::{Conclusion, Figure, Parameters, Quantity};
use cellworks_report::{FigureAxis, FigureCurve, NotMeasured, ProgramFigure, ProgramReport};
use cellworks_runner::{Choice, Conclusions, ProgramKind, Ran};
use cellworks_stats::Finding;

use crate::session::{Circumstances, End, Steps};

pub(super) struct ProgramSteps {
    kind: ProgramKind,
    titles: Vec<String>,
    done: BTreeMap<usize, Ran>,
}

impl ProgramSteps {
    pub fn empty(kind: ProgramKind, programs: &[Choice]) -> Self {
        Self {
            kind,
            titles: programs.iter().map(|program| program.title()).collect(),
            done: BTreeMap::new(),
        }
    }

    pub fn record_run(&mut self, step: usize, program: Choice, quantities: Vec<Quantity>) {
        self.done.insert(step, (program, quantities));
    }
}

impl Steps for ProgramSteps {
    type Report = ProgramReport;

    const NAME: &'static str = "runs";

    fn planned(&self) -> usize {
        self.titles.len()
    }

    fn done(&self) -> usize {
        self.done.len()
    }

    fn report(self, mut circumstances: Circumstances, end: &End) -> ProgramReport {
        let titles = self.titles.into_iter().enumerate();
        let not_measured: Vec<_> = titles
            .filter(|(step, _)| !self.done.contains_key(step))
            .map(|(_, what)| NotMeasured {
                what,
                why: end.why_missing().to_owned(),
            })
            .collect();
        let done: Vec<Ran> = self.done.into_values().collect();
        let of_runs = done.iter().flat_map(|(program, quantities)| {
            let parameters = program.parameters();
            let quantities = quantities.iter();
            quantities.map(move |quantity| finding(quantity, &parameters))
        });
        let Conclusions {
            conclusions,
            figures,
        } = self.kind.conclude(&done);
        let concluded = conclusions.iter().map(
            |Conclusion {
                 quantity,
                 parameters,
             }| finding(quantity, parameters),
        );
        let is_complete = not_measured.is_empty();
        ProgramReport {
            counters: circumstances.counters.take(),
            envelope: circumstances.envelope("run", is_complete),
            program: self.kind.name.to_owned(),
            not_measured,
            results: of_runs.chain(concluded).collect(),
            figures: figures.into_iter().map(drawn).collect(),
        }
    }
}

fn finding(quantity: &Quantity, parameters: &Parameters) -> Finding {
    let Quantity { name, value, unit } = quantity;
    Finding::new(name, *value, unit, parameters.iter().cloned())
}

// The crates `apps` and `report` do not use each other, so each has a type for figures.
fn drawn(figure: Figure) -> ProgramFigure {
    let axis = |axis: cellworks_apps::Axis| FigureAxis {
        label: axis.label.to_owned(),
        unit: axis.unit.to_owned(),
    };
    let curves = figure.curves.into_iter().map(|curve| FigureCurve {
        name: curve.name,
        points: curve.points,
    });
    ProgramFigure {
        title: figure.title,
        x: axis(figure.x),
        y: axis(figure.y),
        curves: curves.collect(),
    }
}
