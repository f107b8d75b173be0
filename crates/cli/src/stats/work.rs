//! What is to be done: the wishes of the command line as checked plans.

use std::time::Duration;

use cellworks_machine::Topology;
use cellworks_report::{MachineInfo, NotMeasured, Words, title};
use cellworks_stats::{
    Function, Iterations, Limits, Plan, Primitive, Readings, Request, characterize,
};

use super::args::{StatsArgs, Wanted};
use super::explain::explain;
use crate::args::span;
use crate::failure::Failure;
use crate::machine::Kind;
use crate::output::Format;

/// How often each measurement is visited: often enough for one visit that met the computer in
/// another state to show.
const VISITS: u32 = 3;

/// How long each matrix may take when everything is measured.
const EACH_MATRIX: Duration = Duration::from_secs(2);

/// The same where the clock counts what the program does, in time of that clock. It is enough for
/// all pairs of 64 SPEs, and it takes some seconds.
const EACH_REPEATING_MATRIX: Duration = Duration::from_millis(21);

/// The part of the time for everything that each matrix may take at the most.
const MATRIX_PER_BUDGET: u32 = 20;

/// What is to be done, in this order.
pub(super) struct Work {
    /// Matrices first.
    pub plans: Vec<Plan>,
    /// How often each plan is visited, but for matrices, which are visited once.
    pub visits: u32,
    /// The time for everything; without, each plan has its own.
    pub budget: Option<Duration>,
    /// A matrix ends after this time, whatever is left to measure. Its plan keeps to it where each
    /// SPE has a CPU; where SPEs take turns on CPUs, pairs take far longer than planned.
    pub budget_of_a_matrix: Option<Duration>,
    /// What is timed between the measurements, to see whether the computer changes. A number of
    /// iterations is for people who want these and nothing else.
    pub reference: Option<Readings>,
    /// What there is no time for.
    pub no_time: Vec<String>,
    /// What the machine does not have.
    pub not_measured: Vec<NotMeasured>,
}

impl Work {
    /// Plans what is wanted on a machine.
    pub fn of(
        wanted: &Wanted,
        topology: &Topology,
        limits: &Limits,
        arguments: &StatsArgs,
    ) -> Result<Self, Failure> {
        match wanted {
            Wanted::These(requests) => Self::these(requests, topology, limits, arguments),
            Wanted::Everything => Ok(Self::everything(topology, limits, arguments)),
        }
    }

    fn these(
        requests: &[Request],
        topology: &Topology,
        limits: &Limits,
        arguments: &StatsArgs,
    ) -> Result<Self, Failure> {
        let plan = |request: &Request| {
            request.plan(topology, limits).map_err(|error| {
                let machine = arguments.machine_flag();
                let message = explain(&error, request, topology, &machine);
                Failure::Usage(match Kind::of(&arguments.common.machine) {
                    Kind::ThisComputer => {
                        let machine = MachineInfo::of(topology, None);
                        Words::of(&machine).say(&message)
                    }
                    Kind::Simulated => message,
                })
            })
        };
        let plans: Result<Vec<Plan>, Failure> = requests.iter().map(plan).collect();
        let has_iterations = |one: &Request| matches!(one.iterations, Iterations::Exactly(_));
        let has_iterations = requests.iter().any(has_iterations);
        let is_visited_once = topology.capabilities().repeats || has_iterations;
        Ok(Self {
            plans: plans?,
            // The flag says how many iterations there are in all, so one visit does them.
            visits: if is_visited_once { 1 } else { VISITS },
            budget: None,
            // How long a simulation takes must not decide what it measures.
            budget_of_a_matrix: arguments.budget_of_a_matrix(),
            reference: (!has_iterations).then(|| Readings::of(topology)).flatten(),
            no_time: Vec::new(),
            not_measured: Vec::new(),
        })
    }

    fn everything(topology: &Topology, limits: &Limits, arguments: &StatsArgs) -> Self {
        // What repeats itself takes as long as it takes whenever it is measured, and is measured
        // once.
        let repeats = topology.capabilities().repeats;
        let budget = (!repeats).then(|| arguments.budget_of_everything());
        let each_matrix = budget.map(|all| EACH_MATRIX.min(all / MATRIX_PER_BUDGET));
        let (mut plans, mut no_time) = (Vec::new(), Vec::new());
        for &primitive in primitives_of(arguments) {
            let request = Request {
                budget: Some(span(each_matrix.unwrap_or(EACH_REPEATING_MATRIX))),
                ..Request::new(Function::Matrix(primitive))
            };
            match request.plan(topology, limits) {
                Ok(plan) => plans.push(plan),
                Err(error) if error.flag == "--budget" => {
                    no_time.push(request.function.to_string())
                }
                // It is among what is impossible.
                Err(error) if error.flag == "--matrix" => {}
                Err(error) => unreachable!("what leaves everything open can be planned: {error}"),
            }
        }
        let requests = characterize(topology, limits);
        plans.extend(plans_of(requests, topology, limits, arguments));
        let mut not_measured = impossible(topology);
        not_measured.extend(too_large(topology, limits));
        Self {
            plans,
            visits: if repeats { 1 } else { VISITS },
            budget,
            budget_of_a_matrix: each_matrix,
            reference: Readings::of(topology),
            no_time,
            not_measured,
        }
    }

    /// What the steps are, in a few words each: first the plans, then what there is no time for.
    pub fn titles(&self) -> Vec<String> {
        let plans = self.plans.iter().map(title_of);
        plans.chain(self.no_time.clone()).collect()
    }
}

/// The matrices that are part of everything. CSV has one header, and that is of measurements.
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

/// What everything would include if local stores were larger.
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

/// One plan in a few words.
pub(super) fn title_of(plan: &Plan) -> String {
    match plan.function() {
        matrix if matrix.is_matrix() => matrix.to_string(),
        function => title(function, plan.parameters()),
    }
}

/// What everything would include if the machine had more parts.
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
