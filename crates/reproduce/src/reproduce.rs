//! From papers to a report.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cellworks_machine::Machine;
use cellworks_report::reproduction::{
    Curve, CurvePoint, PaperInfo, Published, Reproduced, ReproducedFigure, ReproducedPanel,
    Reproduction, ReproductionSummary, ShapeRange,
};
use cellworks_report::{Envelope, Environment, MachineInfo};
use cellworks_sim::Sim;

use crate::experiment::{Experiment, Lookup, Simulation};
use crate::paper::{Number, Paper, Reading};
use crate::run::{Descriptions, Outcomes, run};

/// What is to be reproduced.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The papers.
    pub papers: &'a [Paper],
    /// Whether the curves of their figures are simulated, too.
    pub figures: bool,
}

/// A paper names a machine that nobody has described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "paper `{paper}` is about the machine `{machine}`, which is not described; describe it, or name another"
)]
pub struct UnknownMachine {
    /// The paper.
    pub paper: String,
    /// The machine.
    pub machine: String,
}

/// Simulates every number of the papers that has an experiment, on all cores of this computer.
/// `progress` is told how many of how many simulations are done, from any thread.
///
/// # Errors
///
/// [`UnknownMachine`] if there is no description of a machine that a paper names. A simulation that fails is
/// no error: the report says so.
///
/// # Panics
///
/// If there are no papers.
pub fn reproduce(
    asked: Asked<'_>,
    descriptions: Descriptions<'_>,
    environment: Environment,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Reproduction, UnknownMachine> {
    let machines = machines(asked.papers, descriptions)?;
    let mut simulations = Vec::new();
    for paper in asked.papers {
        for number in &paper.numbers {
            if let Some(experiment) = &number.experiment {
                experiment.simulations(&paper.machine_of(number).into(), &mut simulations);
            }
        }
        for (machine, experiment) in points(paper, asked.figures) {
            experiment.simulations(&machine, &mut simulations);
        }
    }
    let outcomes = run(simulations, descriptions, progress);
    let outcome = |simulation: &Simulation| outcome(&outcomes, simulation);
    let results: Vec<Reproduced> = asked
        .papers
        .iter()
        .flat_map(|paper| {
            paper
                .numbers
                .iter()
                .map(|number| row(paper, number, &outcome))
        })
        .collect();
    let reasons: Vec<String> = results
        .iter()
        .filter_map(|row| Some(format!("{}: {}", row.name, row.failed.as_ref()?)))
        .collect();
    let is_complete = reasons.is_empty();
    let mut machines = machines.into_iter();
    let machine = machines.next().expect("each paper is about a machine");
    Ok(Reproduction {
        envelope: Envelope::new("reproduce", machine, environment, reasons, is_complete),
        other_machines: machines.collect(),
        papers: asked.papers.iter().map(info).collect(),
        summary: ReproductionSummary::of(&results),
        results,
        figures: figures(asked, &outcomes),
    })
}

fn outcome(
    outcomes: &Outcomes,
    simulation: &Simulation,
) -> Result<crate::experiment::Outcome, String> {
    outcomes
        .get(simulation)
        .cloned()
        .unwrap_or_else(|| Err("it was not simulated".to_owned()))
}

/// The machines that the papers name, each once.
fn machines(
    papers: &[Paper],
    descriptions: Descriptions<'_>,
) -> Result<Vec<MachineInfo>, UnknownMachine> {
    let mut seen = HashSet::new();
    let mut machines = Vec::new();
    for paper in papers {
        let of_numbers = paper.numbers.iter().map(|number| paper.machine_of(number));
        for name in std::iter::once(paper.machine.as_str()).chain(of_numbers) {
            if !seen.insert(name) {
                continue;
            }
            let description = descriptions(name).ok_or_else(|| UnknownMachine {
                paper: paper.name.clone(),
                machine: name.to_owned(),
            })?;
            let simulation = cellworks_report::Simulation {
                description: name.to_owned(),
                seed: 0,
                system_calls: false,
            };
            let sim = Sim::new(description);
            machines.push(MachineInfo::of(sim.topology(), Some(simulation)));
        }
    }
    Ok(machines)
}

fn info(paper: &Paper) -> PaperInfo {
    PaperInfo {
        name: paper.name.clone(),
        title: paper.title.clone(),
        authors: paper.authors.clone(),
    }
}

fn row(paper: &Paper, number: &Number, outcomes: Lookup<'_>) -> Reproduced {
    let machine: Arc<str> = paper.machine_of(number).into();
    let simulated = number
        .experiment
        .as_ref()
        .map(|experiment| simulated(number, experiment, &machine, outcomes));
    let (value, failed) = match simulated {
        None => (None, None),
        Some(Ok(value)) => (Some(value), None),
        Some(Err(why)) => (None, Some(why)),
    };
    // Ranks are compared by eye: twice a rank is not twice as bad.
    let has_error = number.unit != crate::Unit::Rank;
    let error_percent = number
        .value
        .zip(value)
        .filter(|_| has_error)
        .map(|(published, value)| number.reading.error_percent(published, value));
    Reproduced {
        name: number.id.clone(),
        value,
        unit: number.unit.name().to_owned(),
        parameters: BTreeMap::from([
            ("paper".to_owned(), paper.name.clone().into()),
            ("machine".to_owned(), machine.as_ref().into()),
            ("conditions".to_owned(), number.conditions.clone().into()),
        ]),
        quantity: number.quantity.clone(),
        source: number.source.clone(),
        published: number.value,
        reading: match number.reading {
            Reading::Exact => Published::Exact,
            Reading::About => Published::About,
            Reading::AtLeast => Published::AtLeast,
            Reading::AtMost => Published::AtMost,
        },
        kept_back: number.kept_back,
        shape: number.shape.as_ref().map(|shape| ShapeRange {
            rule: shape.rule.clone(),
            at_least: shape.at_least,
            at_most: shape.at_most,
        }),
        holds: number
            .shape
            .as_ref()
            .zip(value)
            .map(|(shape, value)| shape.holds(value)),
        served_for_calibration: number.served_for_calibration,
        error_percent,
        not_simulated: number.not_simulated.clone(),
        failed,
    }
}

/// The value of a number, in its unit.
pub(crate) fn simulated(
    number: &Number,
    experiment: &Experiment,
    machine: &Arc<str>,
    outcomes: Lookup<'_>,
) -> Result<f64, String> {
    let value = experiment.value(machine, outcomes)?;
    let dimension = experiment.dimension()?;
    let in_unit = number.unit.in_it(value, dimension);
    Ok(in_unit.expect("the unit is checked where the paper is read"))
}

/// Every point of the figures of a paper: the machine, and the experiment.
fn points(paper: &Paper, wanted: bool) -> impl Iterator<Item = (Arc<str>, Experiment)> {
    let figures = paper.figures.iter().filter(move |_| wanted);
    let machine: Arc<str> = paper.machine.as_str().into();
    figures.flat_map(move |figure| {
        let machine = Arc::clone(&machine);
        let curves = figure.panels.iter().flat_map(|panel| panel.curves());
        curves.flat_map(move |curve| {
            let machine = Arc::clone(&machine);
            figure.at.iter().filter_map(move |at| {
                let experiment = figure.x.at(&curve.of, *at)?;
                Some((Arc::clone(&machine), experiment))
            })
        })
    })
}

/// The figures with their curves; a point whose simulation failed is left out.
fn figures(asked: Asked<'_>, outcomes: &Outcomes) -> Vec<ReproducedFigure> {
    let papers = asked.papers.iter().filter(|_| asked.figures);
    papers
        .flat_map(|paper| paper.figures.iter().map(move |figure| (paper, figure)))
        .map(|(paper, figure)| {
            let machine: Arc<str> = paper.machine.as_str().into();
            let lookup = |simulation: &Simulation| outcome(outcomes, simulation);
            let point = |experiment: &Experiment, at: u64| {
                let experiment = figure.x.at(experiment, at)?;
                let outcome = experiment.outcome(&machine, &lookup).ok()?;
                let speed_up = match experiment {
                    Experiment::SpeedUp(_) => Some(experiment.value(&machine, &lookup).ok()?),
                    _ => None,
                };
                Some(CurvePoint {
                    x: at,
                    latency_ns: outcome.ns,
                    bandwidth_bytes_per_s: outcome.bytes_per_s,
                    speed_up,
                })
            };
            let panel = |panel: &crate::Panel| ReproducedPanel {
                title: panel.title.clone(),
                curves: panel
                    .curves()
                    .into_iter()
                    .map(|line| Curve {
                        points: figure
                            .at
                            .iter()
                            .filter_map(|at| point(&line.of, *at))
                            .collect(),
                        name: line.name,
                    })
                    .collect(),
            };
            ReproducedFigure {
                paper: paper.name.clone(),
                number: figure.number.clone(),
                title: figure.title.clone(),
                against: figure.x.name().to_owned(),
                panels: figure.panels.iter().map(panel).collect(),
            }
        })
        .collect()
}
