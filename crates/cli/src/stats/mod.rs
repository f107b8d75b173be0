//! `cellworks stats`: measures, and prints what was measured.

mod explain;
mod session;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use cellworks_host::Host;
use cellworks_machine::{LOCAL_STORE_BYTES, Machine, Topology};
use cellworks_report::{NotMeasured, title};
use cellworks_stats::{
    Iterations, Limits, MatrixPlan, MeasureError, Plan, Request, Visits, characterize,
    measure_matrix,
};

use crate::Failure;
use crate::args::{MachineName, StatsArgs, Wanted, name_of, span};
use crate::output::Page;
use crate::surroundings::Surroundings;
use explain::{explain, explain_matrix};
use session::{Conclusion, Session};

/// On this computer blocks go on to 64 MB, well out of its caches.
const HOST_LIMITS: Limits = Limits {
    block_bytes_max: 64 << 20,
    local_store_bytes: LOCAL_STORE_BYTES,
    memory_bytes_max: 4 << 30,
    staging_bytes_max: None,
    bandwidth_bytes_per_s_max: None,
};

/// The widest store instructions move so many bytes a cycle.
const BYTES_PER_CYCLE: u64 = 64;

/// The clock rate that no processor reaches, where the system does not say what this one does.
const CLOCK_HZ_MAX: u64 = 10_000_000_000;

/// How long one measurement may take when everything is measured, if there is time for it.
const EACH: Duration = Duration::from_millis(100);

/// How often each measurement is visited: often enough for one visit that met the computer in
/// another state to show.
const VISITS: u32 = 3;

/// What is to be done.
enum Work {
    Measurements {
        plans: Vec<Plan>,
        visits: u32,
        /// The time for all of them; without, each has its own.
        budget: Option<Duration>,
    },
    Matrix {
        plan: MatrixPlan,
        title: String,
    },
}

pub(crate) fn run(arguments: &StatsArgs) -> Result<(), Failure> {
    let wanted = arguments.wanted().map_err(Failure::Usage)?;
    let page = arguments.output.html.as_deref().map(Page::at).transpose()?;
    match arguments.machine {
        MachineName::Host => {
            let run_failed = |error: &dyn std::error::Error| Failure::Run(error.to_string());
            // Ctrl-C asks about it from a thread of its own, as long as the process lives.
            let host: &'static Host = Box::leak(Box::new(Host::new().map_err(|e| run_failed(&e))?));
            // What cannot be done is said before anybody waits.
            plan(&wanted, host.topology(), &HOST_LIMITS, arguments)?;
            let surroundings = Surroundings::of(host).map_err(|e| run_failed(&e))?;
            let clock_hz = surroundings.highest_clock_hz().unwrap_or(CLOCK_HZ_MAX);
            let limits = Limits {
                bandwidth_bytes_per_s_max: Some(clock_hz * BYTES_PER_CYCLE),
                ..HOST_LIMITS
            };
            let work = plan(&wanted, host.topology(), &limits, arguments)?;
            let session = Session::begin(
                host.topology(),
                "host",
                surroundings,
                work.titles(),
                work.impossible(host.topology()),
                arguments,
                page,
            );
            carry_out(host, work, &session)
        }
    }
}

fn plan(
    wanted: &Wanted,
    topology: &Topology,
    limits: &Limits,
    arguments: &StatsArgs,
) -> Result<Work, Failure> {
    match wanted {
        Wanted::One(request) => {
            let plan = request
                .plan(topology, limits)
                .map_err(|error| Failure::Usage(explain(&error, request, topology)))?;
            Ok(Work::Measurements {
                plans: vec![plan],
                // So many iterations were asked for, not three times as many.
                visits: match request.iterations {
                    Iterations::Exactly(_) => 1,
                    Iterations::Within(_) => VISITS,
                },
                budget: None,
            })
        }
        Wanted::Everything => {
            let plans = characterize(topology, limits)
                .iter()
                .map(|request| {
                    let request = Request {
                        keep_samples: arguments.samples,
                        ..request.clone()
                    };
                    let plan = request.plan(topology, limits);
                    plan.expect("what describes a machine can be measured on it")
                })
                .collect();
            Ok(Work::Measurements {
                plans,
                visits: VISITS,
                budget: Some(arguments.budget_of_everything()),
            })
        }
        Wanted::Matrix(request) => {
            let plan = request.plan(topology, limits).map_err(|error| {
                Failure::Usage(explain_matrix(&error, request, name_of(request.primitive)))
            })?;
            let title = format!("{} matrix", name_of(request.primitive));
            Ok(Work::Matrix { plan, title })
        }
    }
}

impl Work {
    /// What the steps are, in a few words each.
    fn titles(&self) -> Vec<String> {
        match self {
            Self::Measurements { plans, .. } => plans.iter().map(title_of).collect(),
            Self::Matrix { title, .. } => vec![title.clone()],
        }
    }

    /// What everything would include if the machine had more parts.
    fn impossible(&self, topology: &Topology) -> Vec<NotMeasured> {
        let everything = matches!(
            self,
            Self::Measurements {
                budget: Some(_),
                ..
            }
        );
        if !everything || topology.spes().len() > 1 {
            return Vec::new();
        }
        let why = format!("{} has one SPE, and it takes two", topology.name());
        [
            "messages, signals and transfers between SPEs",
            "shared and private buffers and variables of several SPEs",
            "memory latency under load",
        ]
        .map(|what| NotMeasured {
            what: what.to_owned(),
            why: why.clone(),
        })
        .into()
    }
}

fn carry_out<M: Machine>(machine: &M, work: Work, session: &Session) -> Result<(), Failure> {
    let conclusion = match work {
        Work::Measurements {
            plans,
            visits,
            budget,
        } => measure_each(machine, plans, visits, budget, session),
        Work::Matrix { plan, title } => measure_pairs(machine, &plan, &title, session),
    };
    session.conclude(conclusion)
}

/// Visits each plan in turn, and all of them again: so each is measured at several times, and its
/// interval says whether the computer was the same then.
fn measure_each<M: Machine>(
    machine: &M,
    plans: Vec<Plan>,
    visits: u32,
    budget: Option<Duration>,
    session: &Session,
) -> Conclusion {
    let begin = Instant::now();
    let mut all: Vec<_> = plans
        .into_iter()
        .map(|plan| Some(Visits::of(plan)))
        .collect();
    let of_all = visits * all.len() as u32;
    let mut left = of_all;
    for visit in 1..=visits {
        for (step, slot) in all.iter_mut().enumerate() {
            session
                .progress()
                .at((of_all - left) as usize, of_all as usize);
            let this = left;
            left -= 1;
            let Some(measurement) = slot else {
                continue;
            };
            if session.is_interrupted() {
                return Conclusion::Interrupted;
            }
            if let Err(why) = session.surroundings().check() {
                return Conclusion::Spoiled(why);
            }
            if let Some(budget) = budget {
                let Some(time) = budget.checked_sub(begin.elapsed()) else {
                    return Conclusion::Done;
                };
                measurement.set_span(span((time / this * visits).min(EACH)));
            }
            let title = title_of(measurement.plan());
            session.progress().about(title.clone());
            match measurement.visit(machine, visit < visits) {
                Ok(found) => session.found(step, found),
                Err(error @ MeasureError::Impossible(_)) => {
                    session.refuse(step, error.to_string());
                    *slot = None;
                }
                Err(error) => return Conclusion::Failed(format!("{title}: {error}")),
            }
        }
    }
    Conclusion::Done
}

fn title_of(plan: &Plan) -> String {
    title(plan.function(), plan.parameters())
}

fn measure_pairs<M: Machine>(
    machine: &M,
    plan: &MatrixPlan,
    title: &str,
    session: &Session,
) -> Conclusion {
    session.progress().about(title.to_owned());
    let measured = measure_matrix(machine, plan, &mut |done, all| {
        session.progress().at(done, all);
        if session.is_interrupted() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let matrix = match measured {
        Ok(matrix) => matrix,
        Err(error) => return Conclusion::Failed(format!("{title}: {error}")),
    };
    session.found_matrix(0, matrix);
    match session.surroundings().check() {
        _ if session.is_interrupted() => Conclusion::Interrupted,
        Err(why) => Conclusion::Spoiled(why),
        Ok(()) => Conclusion::Done,
    }
}
