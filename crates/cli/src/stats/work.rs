//! Checked plans, made from the arguments of the command line.

use std::mem;
use std::time::Duration;

use cellworks_machine::Topology;
use cellworks_report::{NotMeasured, title};
use cellworks_stats::{Function, Limits, Plan, Primitive, Readings, Request, characterize};

use super::args::StatsArgs;
use crate::args::span;
use crate::output::Format;

/// The number of visits of each plan. A visit measures a part of the plan. Visits at different
/// times show changes of the computer's state.
pub(super) const VISITS: u32 = 3;

/// The longest time for each matrix if `stats` measures everything.
const MATRIX_TIME_MAX: Duration = Duration::from_secs(2);

/// The longest simulated time for each matrix. It is enough to measure all pairs of 64 SPEs. The
/// simulation of this time takes some seconds of real time.
const REPEATING_MATRIX_TIME_MAX: Duration = Duration::from_millis(21);

/// A matrix may take at most the time of the whole run divided by this number.
const MATRIX_PER_BUDGET: u32 = 20;

pub(super) struct Work {
    /// The plans in the order of their measurement.
    pub plans: Vec<Plan>,
    /// The number of visits of each plan. A matrix is visited once.
    pub visits: u32,
    /// The time of the whole run. `None` if each plan has its own time.
    pub budget: Option<Duration>,
    /// The time after which a matrix ends, even if pairs are left. If several SPEs share a CPU, a
    /// matrix takes longer than planned.
    pub budget_of_a_matrix: Option<Duration>,
    /// The times of one pair of SPEs, which are read between measurements to detect changes of the
    /// computer. `None` if the user gives a number of iterations.
    pub reference: Option<Readings>,
    /// The time in which what was disturbed is measured again. `None` if it is measured once.
    pub until_trusted: Option<Duration>,
    /// The titles of the matrices for which the time is too short.
    pub no_time: Vec<String>,
    pub not_measured: Vec<NotMeasured>,
}

impl Work {
    pub fn everything(topology: &Topology, limits: &Limits, arguments: &StatsArgs) -> Self {
        // A machine on which operations always take the same time needs only one visit. With a
        // limit of real time, its results would depend on the speed of the simulation.
        let repeats = topology.capabilities().repeats;
        let budget = (!repeats).then(|| arguments.budget_of_everything());
        let each_matrix = budget.map(|all| MATRIX_TIME_MAX.min(all / MATRIX_PER_BUDGET));
        let (mut plans, mut no_time) = (Vec::new(), Vec::new());
        for &primitive in primitives_of(arguments) {
            let request = Request {
                budget: Some(span(each_matrix.unwrap_or(REPEATING_MATRIX_TIME_MAX))),
                ..Request::new(Function::Matrix(primitive))
            };
            match request.plan(topology, limits) {
                Ok(plan) => plans.push(plan),
                Err(error) if error.flag == "--budget" => {
                    no_time.push(request.function.to_string())
                }
                // This matrix is already in the list of impossible measurements.
                Err(error) if error.flag == "--matrix" => {}
                Err(error) => unreachable!("what leaves everything open can be planned: {error}"),
            }
        }
        let requests = characterize(topology, limits);
        // One short measurement is before the matrices, so that a result is there at once.
        let matrices = mem::replace(&mut plans, plans_of(requests, topology, limits, arguments));
        let first = plans.len().min(1);
        plans.splice(first..first, matrices);
        let mut not_measured = impossible(topology);
        not_measured.extend(too_large(topology, limits));
        Self {
            plans,
            visits: if repeats { 1 } else { VISITS },
            budget,
            budget_of_a_matrix: each_matrix,
            reference: Readings::of(topology),
            until_trusted: arguments.until_trusted,
            no_time,
            not_measured,
        }
    }

    /// Returns the titles of the plans, and then of the matrices without enough time.
    pub fn titles(&self) -> Vec<String> {
        let plans = self.plans.iter().map(title_of);
        plans.chain(self.no_time.clone()).collect()
    }
}

/// Returns the matrices that `stats` measures if it measures everything. Returns no matrices if the
/// only output is CSV, because CSV with measurements does not contain matrices.
fn primitives_of(arguments: &StatsArgs) -> &'static [Primitive] {
    let output = &arguments.common.output;
    if matches!(output.format, Format::Csv) && output.html.is_none() && output.json.is_none() {
        &[]
    } else {
        &Primitive::ALL
    }
}

fn plans_of(
    requests: Vec<Request>,
    topology: &Topology,
    limits: &Limits,
    arguments: &StatsArgs,
) -> Vec<Plan> {
    let plan = |request| {
        let request = Request {
            keep_samples: arguments.samples,
            ..request
        };
        let plan = request.plan(topology, limits);
        plan.expect("what describes a machine can be measured on it")
    };
    requests.into_iter().map(plan).collect()
}

/// Returns the measurements for which the local stores are too small.
fn too_large(topology: &Topology, limits: &Limits) -> Vec<NotMeasured> {
    let block = Request::new(Function::DmaGet).with_block(16 << 10);
    let list = Request::new(Function::DmaListGet).with_block(1 << 10);
    [("blocks of 16 KB", block), ("lists of 16 KB", list)]
        .into_iter()
        .filter_map(|(what, request)| {
            let why = request.plan(topology, limits).err()?.to_string();
            let what = what.to_owned();
            Some(NotMeasured { what, why })
        })
        .collect()
}

pub(super) fn title_of(plan: &Plan) -> String {
    match plan.function() {
        matrix if matrix.is_matrix() => matrix.to_string(),
        function => title(function, plan.parameters()),
    }
}

/// Returns the measurements for which the machine has too few SPEs.
fn impossible(topology: &Topology) -> Vec<NotMeasured> {
    if topology.spes().len() > 1 {
        return Vec::new();
    }
    let why = format!("{} has one SPE, and it takes two", topology.name());
    [
        "messages, signals, transfers and matrices between SPEs",
        "shared and private buffers and variables of several SPEs",
        "memory latency under load",
    ]
    .map(|what| NotMeasured {
        what: what.to_owned(),
        why: why.clone(),
    })
    .into()
}
