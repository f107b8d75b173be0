//! Makes a report from papers and the results of their simulations.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use cellworks_machine::Machine;
use cellworks_report::reproduction::{
    Curve, CurvePoint, PaperInfo, Published, Reproduced, ReproducedFigure, ReproducedPanel,
    Reproduction, ReproductionSummary, ShapeRange,
};
use cellworks_report::{Envelope, Environment, MachineInfo, Reason, ReasonKind};
use cellworks_sim::Sim;

use crate::experiment::{Experiment, Lookup, Simulation};
use crate::figure::Panel;
use crate::paper::{Number, Paper, Reading, Relation, Unit};
use crate::run::{Descriptions, Outcomes, Simulated, different, run_each};

/// Papers, and the results of their simulations so far.
///
/// ```text
///   Reproducing::of(papers) ──► plan: simulate ──► each result: record ──► report, at any time
/// ```
///
/// ```
/// use cellworks_reproduce::{Extent, Paper, Reproducing, built_in};
///
/// # fn example(environment: cellworks_report::Environment) -> Result<(), cellworks_reproduce::UnknownMachine> {
/// let mut paper = Paper::built_in("cellmt").unwrap();
/// paper.numbers.truncate(3);
/// let mut reproducing = Reproducing::of(vec![paper], Extent::default(), &built_in)?;
/// reproducing.simulate(&built_in);
/// let found = reproducing.report(environment);
/// assert_eq!(found.results.len(), 3);
/// # Ok(())
/// # }
/// # example(cellworks_report::Environment {
/// #     cellworks_version: String::new(), build: String::new(), operating_system: String::new(), kernel: None,
/// #     architecture: String::new(), finished_unix_s: 0, warnings: Vec::new(), host: None,
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Reproducing {
    papers: Vec<Paper>,
    figures: bool,
    machine: MachineInfo,
    other_machines: Vec<MachineInfo>,
    plan: Plan,
    outcomes: Outcomes,
}

/// The parts of papers that are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Whether the curves of figures are simulated.
    pub figures: bool,
    /// Whether numbers with long simulations are simulated.
    pub takes_long: bool,
}

/// The simulations of a reproduction, in order.
#[derive(Clone, Debug)]
pub struct Plan(Arc<[Simulation]>);

impl Plan {
    /// Returns a text for each simulation, with everything on which its result depends.
    pub fn steps(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|simulation| format!("{simulation:?}"))
    }

    /// Runs each simulation if `wanted` returns true for its index, on all cores of this computer.
    /// Calls `found` with each index and result, on any thread, until `found` returns a break.
    pub fn simulate(
        &self,
        descriptions: Descriptions<'_>,
        wanted: &(dyn Fn(usize) -> bool + Sync),
        found: &(dyn Fn(usize, Simulated) -> ControlFlow<()> + Sync),
    ) {
        run_each(&self.0, descriptions, wanted, found);
    }
}

/// The error of a paper that names a machine without a description.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "paper `{paper}` is about the machine `{machine}`, which is not described; describe it, or name another"
)]
pub struct UnknownMachine {
    /// The paper.
    pub paper: String,
    /// The machine.
    pub machine: String,
}

cellworks_machine::debug_by_display!(UnknownMachine);

impl Reproducing {
    /// Prepares the simulations of those parts of `papers` that `extent` includes.
    ///
    /// # Errors
    ///
    /// Returns [`UnknownMachine`] if a paper names a machine that has no description.
    ///
    /// # Panics
    ///
    /// Panics if there are no papers.
    pub fn of(
        mut papers: Vec<Paper>,
        extent: Extent,
        descriptions: Descriptions<'_>,
    ) -> Result<Self, UnknownMachine> {
        if !extent.takes_long {
            papers.iter_mut().for_each(Paper::leave_out_what_takes_long);
        }
        let figures = extent.figures;
        let mut machines = machines(&papers, descriptions)?.into_iter();
        let machine = machines.next();
        let mut simulations = Vec::new();
        for paper in &papers {
            for number in &paper.numbers {
                simulations.extend(simulations_of(paper, number));
            }
            for (machine, experiment) in points(paper, figures) {
                experiment.simulations(&machine, &mut simulations);
            }
        }
        Ok(Self {
            papers,
            figures,
            machine: machine.expect("there are papers, and each is about a machine"),
            other_machines: machines.collect(),
            plan: Plan(different(simulations).into()),
            outcomes: Outcomes::new(),
        })
    }

    /// Returns the simulations of the reproduction.
    pub fn plan(&self) -> Plan {
        self.plan.clone()
    }

    /// Returns the machine of the first paper.
    pub fn machine(&self) -> &MachineInfo {
        &self.machine
    }

    /// Returns the number of simulations.
    pub fn planned(&self) -> usize {
        self.plan.0.len()
    }

    /// Returns the number of simulations with a recorded result.
    pub fn done(&self) -> usize {
        self.outcomes.len()
    }

    /// Runs all simulations on all cores of this computer.
    pub fn simulate(&mut self, descriptions: Descriptions<'_>) {
        let plan = self.plan();
        let this = Mutex::new(self);
        plan.simulate(descriptions, &|_| true, &|step, simulated| {
            let mut this = this.lock().unwrap_or_else(PoisonError::into_inner);
            this.record(step, simulated);
            ControlFlow::Continue(())
        });
    }

    /// Records the result of the simulation with index `step` in the [plan](Self::plan).
    ///
    /// # Panics
    ///
    /// Panics if the plan has no simulation with this index.
    pub fn record(&mut self, step: usize, simulated: Simulated) {
        let simulation = self.plan.0[step].clone();
        self.outcomes.insert(simulation, simulated.0);
    }

    /// Compares the simulated numbers with the published ones. The report contains the reasons of
    /// failed simulations, and is incomplete if simulations are missing.
    pub fn report(self, environment: Environment) -> Reproduction {
        let outcomes = &self.outcomes;
        let outcome = |simulation: &Simulation| outcome(outcomes, simulation);
        let numbers = self
            .papers
            .iter()
            .flat_map(|paper| paper.numbers.iter().map(move |number| (paper, number)));
        let results: Vec<Reproduced> = numbers
            .map(|(paper, number)| {
                let mut simulations = simulations_of(paper, number).into_iter();
                let is_missing = simulations.any(|one| !outcomes.contains_key(&one));
                row(paper, number, &outcome, is_missing)
            })
            .collect();
        let reasons: Vec<Reason> = results
            .iter()
            .filter_map(|row| {
                Some(Reason {
                    kind: ReasonKind::Failed,
                    text: format!("{}: {}", row.name, row.failed.as_ref()?),
                })
            })
            .collect();
        let is_complete = reasons.is_empty() && self.done() == self.planned();
        let figures = figures(&self.papers, self.figures, outcomes);
        Reproduction {
            envelope: Envelope::new("reproduce", self.machine, environment, reasons, is_complete),
            other_machines: self.other_machines,
            papers: self.papers.iter().map(info).collect(),
            summary: ReproductionSummary::of(&results),
            results,
            figures,
        }
    }
}

/// Returns the simulations of a number. Returns no simulations if the number has no experiment.
fn simulations_of(paper: &Paper, number: &Number) -> Vec<Simulation> {
    let mut simulations = Vec::new();
    if let Some(experiment) = &number.experiment {
        experiment.simulations(&paper.machine_of(number).into(), &mut simulations);
    }
    simulations
}

fn outcome(
    outcomes: &Outcomes,
    simulation: &Simulation,
) -> Result<crate::experiment::SimulationResults, String> {
    outcomes
        .get(simulation)
        .cloned()
        .unwrap_or_else(|| Err("it was not simulated".to_owned()))
}

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
            let sim = Sim::new(description).unwrap_or_else(|error| panic!("{error}"));
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

fn row(paper: &Paper, number: &Number, outcomes: Lookup<'_>, is_missing: bool) -> Reproduced {
    let machine: Arc<str> = paper.machine_of(number).into();
    let simulated = number
        .experiment
        .as_ref()
        .filter(|_| !is_missing)
        .map(|experiment| simulated(number, experiment, &machine, outcomes));
    let (value, failed) = match simulated {
        None => (None, None),
        Some(Ok(value)) => (Some(value), None),
        Some(Err(why)) => (None, Some(why)),
    };
    // A rank has no error, because rank 2 is not twice as bad as rank 1.
    let has_error = number.unit != Unit::Rank;
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
        served_for_calibration: matches!(number.relation, Some(Relation::Fitted(_))),
        error_percent,
        not_simulated: if is_missing {
            Some("the run ended before".to_owned())
        } else {
            number.not_simulated.clone()
        },
        failed,
        relation: number.relation.as_ref().map(|relation| match relation {
            Relation::Fitted(_) => cellworks_report::reproduction::Relation::Fitted,
            Relation::Derived(_) => cellworks_report::reproduction::Relation::Derived,
            Relation::Independent => cellworks_report::reproduction::Relation::Independent,
        }),
        follows_from: match &number.relation {
            Some(Relation::Fitted(from) | Relation::Derived(from)) => Some(from.clone()),
            _ => None,
        },
    }
}

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

/// Returns the machine and the experiment of each point in the figures of a paper.
fn points(paper: &Paper, wanted: bool) -> impl Iterator<Item = (Arc<str>, Experiment)> {
    let figures = paper.figures.iter().filter(move |_| wanted);
    let machine: Arc<str> = paper.machine.as_str().into();
    figures.flat_map(move |figure| {
        let machine = Arc::clone(&machine);
        let curves = figure.panels.iter().flat_map(|panel| panel.curves());
        curves.flat_map(move |curve| {
            let machine = Arc::clone(&machine);
            figure.at.iter().filter_map(move |at| {
                let experiment = figure.at(&curve.of, *at)?;
                Some((Arc::clone(&machine), experiment))
            })
        })
    })
}

/// Returns the figures, without points of failed or missing simulations.
fn figures(papers: &[Paper], wanted: bool, outcomes: &Outcomes) -> Vec<ReproducedFigure> {
    let papers = papers.iter().filter(|_| wanted);
    papers
        .flat_map(|paper| paper.figures.iter().map(move |figure| (paper, figure)))
        .map(|(paper, figure)| {
            let machine: Arc<str> = paper.machine.as_str().into();
            let lookup = |simulation: &Simulation| outcome(outcomes, simulation);
            let point = |experiment: &Experiment, at: u64| {
                let experiment = figure.at(experiment, at)?;
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
            let panel = |panel: &Panel| ReproducedPanel {
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
                against: figure.x.clone(),
                panels: figure.panels.iter().map(panel).collect(),
            }
        })
        .collect()
}
