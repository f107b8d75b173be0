//! `cellworks map solve`: searches for a placement that costs little.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use cellworks_mapping::read::{self, ReadError};
use cellworks_mapping::{
    Binding, Costs, Limit, Place, Placement, Problem, Search, Solution, Task, Volumes,
};
use cellworks_report::{
    CpuBinding, Envelope, FixedTask, PlacementProblem, PlacementReport, Trust, json, placement,
};
use cellworks_stats::Finding;
use clap::Args;
use serde_json::Value;

use super::costs::{Places, name_of};
use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Printed, Views};
use crate::session::{Circumstances, End, Session, Shown, Steps};
use crate::sweep::Sweep;

const AFTER_HELP: &str = "\
Examples:
  cellworks map solve nug30.dat --time 10
      A problem of QAPLIB, with the cost, a bound that no placement is below, and the gap between them.
  cellworks stats --matrix atomic --full --format json > matrix.json
  cellworks map solve graph.txt --costs matrix.json
      A graph of tasks on the CPUs of this computer, with what to type to bind a program like that.
  cellworks map solve graph.txt --costs matrix.json --fix 0=0 --forbid 1 --capacity 2
      Task 0 stays on place 0, place 1 takes no task, every other place up to two.

Exit codes: 0 done, 1 the run failed, 2 the arguments or files make no sense, 130 interrupted: then the
best placement so far is printed.";

/// How long a search that has ended waits for the bound.
const WAIT_FOR_BOUND: Duration = Duration::from_secs(1);

/// Searches for the placement of tasks that costs least.
///
/// What two tasks send to each other costs its volume times what a unit costs between their places.
/// Up to 10! (3,628,800) placements are all looked at, however long that takes. For more of them
/// the search improves placements until the time is over, or until one costs as little as a bound
/// that is proven. The same seed takes the same steps; how far they lead in the time depends on the
/// computer.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SolveArgs {
    /// The problem: a file of QAPLIB; with --costs a graph, with a line for each pair of tasks that
    /// communicates: the sending task, the receiving task and the volume
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// What a unit of volume costs between cores. A file that ends in .json: what `stats --matrix`
    /// printed with --format json; in .xml: distances of hwloc; otherwise a table of latencies with
    /// a line for each CPU and commas between, as core-to-core-latency writes it
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,

    /// For how many seconds to search, such as 10 or 0.5
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "10",
        value_parser = seconds,
        allow_negative_numbers = true
    )]
    pub time: Duration,

    /// Chooses the random numbers of the search
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u64,

    /// How many tasks a place takes
    #[arg(long, value_name = "TASKS", default_value_t = 1)]
    pub capacity: usize,

    /// Tasks that have to be at a place, such as 0=3,1=2
    #[arg(long, value_name = "TASK=PLACE", value_delimiter = ',', value_parser = fixed)]
    pub fix: Vec<(Task, Place)>,

    /// Places that stay empty, such as 0,5
    #[arg(long, value_name = "PLACES", value_delimiter = ',', value_parser = number)]
    pub forbid: Vec<usize>,

    #[command(flatten)]
    pub output: OutputArgs,

    /// No progress and no warnings
    #[arg(long, help_heading = "Options")]
    pub quiet: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    const RULE: &str = "a time is a number of seconds, 0 or more, such as 10 or 0.5";
    let seconds: f64 = text.parse().map_err(|_| RULE.to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| RULE.to_owned())
}

fn number(text: &str) -> Result<usize, String> {
    let number = text.parse();
    number.map_err(|_| "tasks and places are whole numbers, from 0 on".to_owned())
}

fn fixed(text: &str) -> Result<(Task, Place), String> {
    let (task, place) = text
        .split_once('=')
        .ok_or("name a task and its place, such as 0=3")?;
    Ok((Task(number(task)?), Place(number(place)?)))
}

pub(crate) fn run(arguments: &SolveArgs) -> Result<(), Failure> {
    let page = arguments.output.page()?;
    let (volumes, places) = read(arguments)?;
    let Places {
        costs,
        machine,
        cpus,
        warnings,
    } = places;
    let problem = Arc::new(problem(arguments, volumes, costs)?);
    let shown = Shown {
        format: arguments.output.format,
        printed: Printed::ToStandardOutput,
        page,
        quiet: arguments.quiet,
        sweep: Sweep::default(),
    };
    let solving = Solving {
        problem: about(arguments, &problem),
        seed: arguments.seed,
        limit: arguments.time,
        cpus,
        best: None,
        bound: 0.0,
        ended: None,
    };
    let session = Session::begin(machine, None, solving, shown);
    search(arguments, &problem, &session);
    session.warned(warnings);
    session.conclude(session.has_to_end().unwrap_or(End::Done))
}

/// Reads how much tasks communicate, and what that costs.
fn read(arguments: &SolveArgs) -> Result<(Volumes, Places), Failure> {
    let file = &arguments.file;
    let usage = |error: ReadError| Failure::Usage(error.to_string());
    if let Some(costs) = &arguments.costs {
        return Ok((read::edges(file).map_err(usage)?, Places::read(costs)?));
    }
    match read::qaplib(file) {
        Ok(problem) => Ok((
            problem.volumes().clone(),
            Places::of(problem.costs().clone(), None, file),
        )),
        Err(ReadError::Line { .. }) if read::edges(file).is_ok() => Err(Failure::Usage(format!(
            "{}: it is a graph, which says nothing of places; name the costs between them with --costs",
            file.display()
        ))),
        Err(error) => Err(usage(error)),
    }
}

/// The problem, with what flags say besides.
fn problem(arguments: &SolveArgs, volumes: Volumes, costs: Costs) -> Result<Problem, Failure> {
    let mut builder = Problem::builder(volumes, costs).capacity(arguments.capacity);
    for (task, place) in &arguments.fix {
        builder = builder.fix(*task, *place);
    }
    for place in &arguments.forbid {
        builder = builder.forbid(Place(*place));
    }
    builder.build().map_err(|error| {
        let file = arguments.file.display();
        Failure::Usage(match &arguments.costs {
            Some(costs) => format!("{file} on {}: {error}", costs.display()),
            None => format!("{file}: {error}"),
        })
    })
}

/// The problem as reports have it.
fn about(arguments: &SolveArgs, problem: &Problem) -> PlacementProblem {
    let fixed = arguments.fix.iter().map(|(task, place)| FixedTask {
        task: task.0,
        place: place.0,
    });
    let costs = arguments.costs.as_ref();
    PlacementProblem {
        file: arguments.file.display().to_string(),
        costs: costs.map(|costs| costs.display().to_string()),
        tasks: problem.volumes().tasks(),
        places: problem.costs().places(),
        capacity: arguments.capacity,
        fixed: fixed.collect(),
        forbidden: arguments.forbid.clone(),
    }
}

/// Searches, and takes down what is found.
fn search(arguments: &SolveArgs, problem: &Arc<Problem>, session: &Session<Solving>) {
    let begun = Instant::now();
    // On a thread of its own, which is left behind if the search is over long before: the bound of
    // thousands of places takes longer than the search may.
    let (tell, told) = mpsc::channel();
    let bounded = Arc::clone(problem);
    thread::spawn(move || tell.send(bounded.lower_bound()));
    // Costs are not negative.
    let mut bound = 0.0;

    let progress = session.progress();
    progress.at(0, arguments.time.as_secs() as usize);
    let (mut found_cost, mut cost) = (f64::INFINITY, f64::INFINITY);
    let search = Search::new(Limit::Time(arguments.time)).seed(arguments.seed);
    let solution = search.run(problem, |found| {
        progress.at(
            found.elapsed.as_secs() as usize,
            arguments.time.as_secs() as usize,
        );
        if found.cost < found_cost {
            found_cost = found.cost;
            // The search adds up changes, which are rounded.
            cost = problem.cost(found.placement);
            progress.about(format!("cost {cost}"));
            session.update(|solving| {
                solving.best = Some(Best {
                    placement: found.placement.clone(),
                    cost,
                    after: found.elapsed,
                });
            });
        }
        if let Ok(proven) = told.try_recv() {
            bound = proven;
        }
        match cost <= bound || session.is_interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let after = begun.elapsed();
    let has_ended = solution.optimal || session.is_interrupted();
    if let (false, Ok(proven)) = (has_ended, told.recv_timeout(WAIT_FOR_BOUND)) {
        bound = proven;
    }
    session.update(|solving| {
        solving.bound = bound;
        solving.ended = Some(Ended {
            solution,
            after,
            is_interrupted: session.is_interrupted(),
        });
    });
}

/// What a search has found so far.
struct Solving {
    problem: PlacementProblem,
    seed: u64,
    limit: Duration,
    cpus: Option<Vec<usize>>,
    best: Option<Best>,
    /// No placement costs less; 0 as long as nothing else is proven.
    bound: f64,
    ended: Option<Ended>,
}

/// The best placement so far.
struct Best {
    placement: Placement,
    cost: f64,
    /// When it was found.
    after: Duration,
}

/// A search that has ended.
struct Ended {
    solution: Solution,
    after: Duration,
    is_interrupted: bool,
}

impl Solving {
    /// The numbers that are known, with the names on which scripts rely.
    fn results(&self, optimal: bool) -> Vec<Finding> {
        let cost = self.best.as_ref().map(|best| best.cost);
        let bound = if optimal { cost } else { Some(self.bound) };
        let gap = cost.zip(bound).map(|(cost, bound)| match cost {
            0.0 => 0.0,
            cost => (cost - bound) / cost,
        });
        let nanoseconds = |time: Duration| time.as_nanos() as f64;
        let ended = self.ended.as_ref();
        let iterations = ended.map(|ended| ended.solution.iterations as f64);
        let numbers = [
            ("cost", cost, "1"),
            ("bound", bound, "1"),
            ("gap", gap, "1"),
            (
                "time_to_best",
                self.best.as_ref().map(|best| nanoseconds(best.after)),
                "ns",
            ),
            ("time", ended.map(|ended| nanoseconds(ended.after)), "ns"),
            ("iterations", iterations, "1"),
        ];
        let problem = &self.problem;
        let mut parameters: BTreeMap<String, Value> = BTreeMap::from([
            (
                "problem".to_owned(),
                name_of(Path::new(&problem.file)).into(),
            ),
            ("tasks".to_owned(), problem.tasks.into()),
            ("places".to_owned(), problem.places.into()),
        ]);
        if let Some(costs) = &problem.costs {
            parameters.insert("costs".to_owned(), name_of(Path::new(costs)).into());
        }
        let known = numbers.into_iter().filter_map(|(name, value, unit)| {
            Some(Finding {
                name: name.to_owned(),
                value: value?,
                unit: unit.to_owned(),
                parameters: parameters.clone(),
            })
        });
        known.collect()
    }

    /// Whether no placement costs less: all were looked at, or the bound says so.
    fn is_optimal(&self) -> bool {
        let all = self
            .ended
            .as_ref()
            .is_some_and(|ended| ended.solution.optimal);
        let best = self.best.as_ref();
        all || best.is_some_and(|best| best.cost <= self.bound)
    }
}

impl Steps for Solving {
    type Report = PlacementReport;

    const NAME: &'static str = "searches";
    const VIEWS: Views<PlacementReport> = Views {
        table: placement::table,
        csv: placement::csv,
        json: json::render,
        html: placement::html,
    };

    fn planned(&self) -> usize {
        1
    }

    fn done(&self) -> usize {
        let ended = self.ended.as_ref();
        usize::from(ended.is_some_and(|ended| !ended.is_interrupted))
    }

    fn report(self, circumstances: Circumstances, end: &End) -> PlacementReport {
        let Circumstances {
            machine,
            environment,
            reasons,
            ..
        } = circumstances;
        let optimal = self.is_optimal();
        let results = self.results(optimal);
        let is_complete = matches!(end, End::Done);
        let cpus = self.cpus;
        let binding =
            self.best.as_ref().zip(cpus).map(|(best, cpus)| {
                in_reports(&Binding::new(&best.placement, |place| cpus[place.0]))
            });
        let placement = self.best.map(|best| best.placement);
        let places = placement.iter().flat_map(|placement| placement.places());
        PlacementReport {
            envelope: Envelope::new("map solve", machine, environment, reasons, is_complete),
            problem: self.problem,
            seed: self.seed,
            time_limit_s: self.limit.as_secs_f64(),
            results,
            optimal,
            placement: places.map(|place| place.0).collect(),
            binding,
        }
    }

    fn trust(report: &PlacementReport) -> &Trust {
        &report.envelope.trust
    }
}

/// A binding as reports have it.
pub(super) fn in_reports(binding: &Binding) -> CpuBinding {
    CpuBinding {
        cpus: binding.cpus().to_vec(),
        cpu_list: binding.cpu_list(),
        omp_places: binding.openmp(),
        slurm_cpu_bind: binding.slurm(),
        hwloc_cpusets: binding.hwloc(),
    }
}
