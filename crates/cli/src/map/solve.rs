//! `cellworks map solve`: searches for a placement with a low cost.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use cellworks_mapping::{
    Binding, Costs, JobBinding, Limit, Pattern, Place, Placement, Problem, ProblemError, Search,
    Solution, Task, Volumes, read,
};
use cellworks_report::{
    FixedTask, PairVolume, PlaceCpu, PlacementProblem, PlacementReport, PlacementTrial,
    PlacementTrials, Quality, Reason, ToolCommand, Trust,
};
use cellworks_stats::Finding;
use clap::Args;

use super::bind::commands;
use super::binding::to_report;
use super::costs::{Cpus, Places, ROOM_MAX_OF_LEVELS};
use super::measure::{MeasuredCommand, ROUNDS};
use super::picture::{Drawn, Scene};
use super::problem::{ProblemArgs, findings};
use crate::args::{
    OutputArgs, input, kept, number_list, refuse_standard_input_twice, seed, such_as,
};
use crate::failure::Failure;
use crate::session::{Circumstances, End, Session, SessionOptions, Steps, go_on_unless};

const AFTER_HELP: &str = "\
Examples:
  cellworks map solve nug30.dat --time 10
      A problem of QAPLIB, with the cost, a bound that no placement is below, and the gap between them.
  cellworks map solve --pattern stencil --costs matrix.json
      Tasks on a grid that send to their neighbours, one for each CPU, without a file.
  cellworks stats --matrix atomic --full --format json > matrix.json
  cellworks map solve graph.txt --costs matrix.json
      A graph of tasks on the CPUs of this computer, with what to type to bind a program like that.
  cellworks map solve graph.txt --costs matrix.json -- ./program
      The same, and the program is run with the best placements: the one that it is fastest with is kept.
  cellworks map solve graph.txt --costs matrix.json --fix 0=0 --forbid 1 --capacity 2
      Task 0 stays on place 0, place 1 takes no task, every other place up to two.

Exit codes: 0 done, 1 the run failed, 2 the arguments or files make no sense, 130 interrupted: then the \
best placement so far is printed.";

/// The number of placements with which a command is run.
const TRIALS: usize = 3;

/// The largest number of pairs of tasks whose volumes are shown.
const HEAVIEST: usize = 10;

/// The largest room for tasks. A search takes up to 64 bytes for each pair, so 17 GB.
const ROOM_MAX: usize = 16_384;

/// The part of `--time` that a search for the worst placement takes, after the one for the best.
const PART_OF_WORST: u32 = 10;

/// A placement is as good as known methods get if its gap is at most this.
const SMALL_GAP: f64 = 0.01;

/// It also is, if the search took this many times as long as until it found the placement, and at
/// least this number of exchanges for each place without a better one, in a problem of the size for
/// which the search reaches the best known costs.
const TIMES_AS_LONG: u32 = 10;
const EXCHANGES: usize = 2_000;
const PLACES_MAX: usize = 256;

/// The longest time that finished searches wait for the lower bound.
const WAIT_FOR_BOUND: Duration = Duration::from_secs(1);

/// Searches for the placement of tasks with the lowest cost.
///
/// The cost of two tasks is the volume that they send to each other, times the cost of a unit
/// between their places. Both directions are added up, and with latencies the sum is in ns: two
/// tasks that send 1 to each other, at places 154 ns apart, cost 308. If there are at most 10!
/// (3,628,800) placements, and no machine of levels with more than 256 places, all are evaluated,
/// however long that takes. If there are more, the
/// search improves placements until the time is over, or until one costs no more than a proven
/// bound. With the same seed the search takes the same steps, but the number of steps within --time
/// depends on the computer.
#[derive(Args)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub(crate) struct SolveArgs {
    /// The problem: a file of QAPLIB, or with --costs the volumes between tasks. Those are lines
    /// with a sending task, a receiving task and the volume between them; a matrix, also of Matrix
    /// Market; a graph of METIS or Scotch; or the name of the files that Open MPI's monitoring has
    /// written. `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "pattern", value_parser = input())]
    pub file: Option<PathBuf>,

    /// More files of ranks, as a shell puts them in place of NAME.*.prof
    #[arg(value_name = "FILES", hide = true)]
    pub more: Vec<PathBuf>,

    #[command(flatten)]
    pub problem: ProblemArgs,

    /// The time of all that is searched, in seconds, such as 10 or 0.5: the best placement, in the
    /// last tenth the worst one, and meanwhile the bound. Reading, writing and the runs of a command
    /// come on top. With less than a second, the command waits for the bound until a second is over
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub time: Duration,

    /// Chooses the random numbers of the search
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        value_parser = seed,
        allow_hyphen_values = true
    )]
    pub seed: u64,

    /// The number of tasks for which a place has room
    #[arg(long, value_name = "TASKS", default_value_t = 1, value_parser = such_as("1", kept))]
    pub capacity: usize,

    /// Tasks that have to be at a place, such as 0=3,1=2
    #[arg(
        long,
        value_name = "TASK=PLACE",
        value_delimiter = ',',
        value_parser = fixed,
        allow_hyphen_values = true
    )]
    pub fix: Vec<(Task, Place)>,

    /// Places that stay empty, such as 0,5 or 96-191
    #[arg(long, value_name = "PLACES", value_parser = forbidden)]
    pub forbid: Vec<Forbidden>,

    /// One CPU of each core takes tasks, and its other hardware threads stay empty. The costs have
    /// to name cores: the JSON of `stats --matrix`, or a machine in one line with core and pu
    #[arg(long)]
    pub one_per_core: bool,

    /// Each node takes at most this number of tasks, as with --ntasks-per-node of srun and
    /// ppr:2:node of mpirun. They are on the CPUs of the node that are nearest to each other, and
    /// the other CPUs stay empty
    #[arg(
        long,
        value_name = "TASKS",
        value_parser = such_as("2", kept),
        conflicts_with = "capacity"
    )]
    pub per_node: Option<usize>,

    #[command(flatten)]
    pub output: OutputArgs,

    /// No progress, and no warnings on standard error; the result keeps them
    #[arg(long, help_heading = "Options")]
    pub quiet: bool,

    /// Sets no variable of OpenMP in the runs of the command, as `map exec --no-openmp`
    #[arg(long, requires = "command", help_heading = "Options")]
    pub no_openmp: bool,

    /// A command to run on the CPUs of the best three placements, and without a binding, ten times
    /// each in turn. The fastest placement is kept. The standard output of the command is dropped
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

#[derive(Clone)]
pub(crate) struct Forbidden(BTreeSet<u32>);

impl SolveArgs {
    /// Returns the places that stay empty.
    fn forbidden(&self, costs: &Costs, cpus: Option<&Cpus>) -> Result<BTreeSet<usize>, Failure> {
        let places = self.forbid.iter().flat_map(|Forbidden(places)| places);
        let mut places: BTreeSet<usize> = places.map(|place| *place as usize).collect();
        let fixed: BTreeSet<usize> = self.fix.iter().map(|(_, place)| place.0).collect();
        if self.one_per_core {
            let others = cpus.and_then(|cpus| cpus.others_of_cores(&fixed, &places));
            places.extend(others.ok_or_else(|| {
                Failure::usage(
                    "--one-per-core: the costs name no cores of CPUs; measure them with this version of `cellworks \
                     stats --matrix`, or name the places that stay empty with --forbid",
                )
            })?);
        }
        if let Some(tasks) = self.per_node {
            let wrong = |why: String| Failure::Usage(format!("--per-node: {why}"));
            let others = cpus.map(|cpus| cpus.others_of_nodes(tasks, costs, &fixed, &places));
            let others = others.transpose().map_err(|(node, fixed)| {
                wrong(format!(
                    "--fix has {fixed} places on {node}, which takes at most {tasks}; fix fewer tasks there, or allow \
                     more"
                ))
            })?;
            places.extend(others.flatten().ok_or_else(|| {
                wrong(
                    "the places of --costs are not on several nodes; add --nodes and --network, or `node` in --costs, \
                     or use fewer tasks"
                        .to_owned(),
                )
            })?);
        }
        Ok(places)
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    const RULE: &str = "a time is a number of seconds, 0 or more, such as 10 or 0.5";
    let seconds: f64 = text.parse().map_err(|_| RULE.to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| RULE.to_owned())
}

fn fixed(text: &str) -> Result<(Task, Place), String> {
    let parts = text.split_once('=');
    let numbers = parts.and_then(|(task, place)| Some((task.parse().ok()?, place.parse().ok()?)));
    let (task, place) = numbers.ok_or(
        "it is a task, = and its place, both whole numbers from 0 on, with commas between several, such as 0=3,1=2",
    )?;
    Ok((Task(task), Place(place)))
}

fn forbidden(text: &str) -> Result<Forbidden, String> {
    number_list(text).map(Forbidden).ok_or_else(|| {
        "places are numbers and ranges with commas between, such as 0,5 or 96-191".to_owned()
    })
}

pub(crate) fn run(arguments: &SolveArgs) -> Result<(), Failure> {
    let files = arguments.output.files()?;
    if let Some(file) = &arguments.file
        && let Some(other) = (arguments.more.iter()).find(|more| !read::is_of_one_run(file, more))
    {
        return Err(Failure::Usage(format!(
            "{}: one file has all tasks, here {}; only the files that the ranks of one run of Open MPI's monitoring have \
             written can be several, such as NAME.0.prof and NAME.1.prof",
            other.display(),
            file.display()
        )));
    }
    let inputs = [&arguments.file, &arguments.problem.costs];
    files.refuse_to_replace_any(inputs)?;
    for file in &arguments.more {
        files.refuse_to_replace(file)?;
    }
    refuse_standard_input_twice(inputs.into_iter().flatten())?;
    let (volumes, places) =
        arguments
            .problem
            .read(arguments.file.as_deref(), |volumes, places| {
                let forbidden = arguments.forbidden(&places.costs, places.cpus.as_ref())?;
                problem(arguments, volumes, places.costs.clone(), &forbidden).map(drop)
            })?;
    let forbidden = arguments.forbidden(&places.costs, places.cpus.as_ref())?;
    let scene = Scene::of(&places);
    let Places {
        costs,
        unit,
        machine,
        cpus,
        doubts,
        mut warnings,
        ..
    } = places;
    let problem = Arc::new(problem(arguments, volumes, costs, &forbidden)?);
    warnings.extend(problem.ignored_products().map(ignored));
    let measured = measured(
        arguments,
        problem.volumes().tasks(),
        cpus.as_ref(),
        &forbidden,
    )?;
    let doubted: Vec<String> = doubts.iter().map(|doubt| doubt.text.clone()).collect();
    let options = SessionOptions::of(arguments.output.format, arguments.quiet, files);
    let assumed = cpus.as_ref().zip(arguments.problem.costs.as_ref());
    let assumed = assumed.and_then(|(cpus, costs)| cpus.assumed(costs));
    let solving = Solving {
        problem: about(arguments, &problem, unit, forbidden, assumed),
        seed: arguments.seed,
        limit: arguments.time,
        cpus,
        average: problem.average_cost(),
        doubts,
        best: Vec::new(),
        trials: None,
        bound: 0.0,
        worst: None,
        is_pattern: arguments.problem.pattern.is_some(),
        drawn: Drawn {
            scene,
            problem: Arc::clone(&problem),
        },
        room: room(&problem),
        ended: None,
    };
    let session = Session::begin(machine, None, solving, options);
    let end = solve(arguments, &problem, measured.as_ref(), &session);
    session.tell(&doubted);
    session.record_warnings(warnings);
    session.record_warnings(measured.map_or_else(Vec::new, |measured| measured.warnings()));
    session.conclude(session.end_reason().unwrap_or(end))
}

/// Returns a warning about products of volumes and costs that the search ignores.
fn ignored([least, most]: [f64; 2]) -> String {
    format!(
        "the products of a volume and a cost reach from {least:.0e} to {most:.0e}: the search ignores products below \
         a 10^12th of the cost; use numbers that are nearer to each other"
    )
}

/// Returns the command to measure, if the user has given one.
fn measured<'a>(
    arguments: &'a SolveArgs,
    tasks: usize,
    cpus: Option<&Cpus>,
    forbidden: &BTreeSet<usize>,
) -> Result<Option<MeasuredCommand<'a>>, Failure> {
    if arguments.command.is_empty() {
        return Ok(None);
    }
    let Some(cpus) = cpus.map(Cpus::on_one) else {
        return Err(Failure::usage(
            "a command is run on CPUs, and the places of this problem are none; name costs between CPUs with \
             --costs, or leave the command out",
        ));
    };
    let cpus = cpus.ok_or_else(|| {
        Failure::usage(
            "a command is run on this computer, and the places of this problem are CPUs of several; leave the \
             command out",
        )
    })?;
    let places = cpus.iter().enumerate();
    let open: Vec<usize> = places
        .filter(|(place, _)| !forbidden.contains(place))
        .map(|(_, cpu)| *cpu)
        .collect();
    let threads = (!arguments.no_openmp).then_some(tasks);
    MeasuredCommand::new(&arguments.command, &open, threads).map(Some)
}

/// Searches for placements. If the user has given a command, runs it with the best placements.
fn solve(
    arguments: &SolveArgs,
    problem: &Arc<Problem>,
    measured: Option<&MeasuredCommand<'_>>,
    session: &Session<Solving>,
) -> End {
    let Some(measured) = measured else {
        return search(arguments, problem, session)
            .err()
            .unwrap_or(End::Done);
    };
    let begun = measured.begin();
    if let Err(end) = begun.and_then(|()| search(arguments, problem, session)) {
        return end;
    }
    let mut trials = Vec::new();
    session.update(|solving| {
        trials = solving
            .best
            .iter()
            .map(|best| solving.trial(best))
            .collect()
    });
    let progress = session.progress();
    let all = ROUNDS * (1 + trials.len());
    progress.about("runs of the command".to_owned());
    let tried = measured.run(trials, &|done| {
        progress.at(done, all);
        !session.is_interrupted()
    });
    match tried {
        Ok(Some(trials)) => {
            session.update(|solving| solving.trials = Some(trials));
            End::Done
        }
        Ok(None) => End::Interrupted,
        Err(message) => End::Failed(message),
    }
}

/// Makes the problem with the constraints of the flags.
fn problem(
    arguments: &SolveArgs,
    volumes: Volumes,
    costs: Costs,
    forbidden: &BTreeSet<usize>,
) -> Result<Problem, Failure> {
    let mut builder = Problem::builder(volumes, costs).capacity(arguments.capacity);
    for (task, place) in &arguments.fix {
        builder = builder.fix(*task, *place);
    }
    for place in forbidden {
        builder = builder.forbid(Place(*place));
    }
    let wrong = |why: String| {
        let files = arguments.problem.files(arguments.file.as_deref());
        Failure::Usage(format!("{files}: {why}"))
    };
    // Errors of the library name its own words, such as the method `capacity`.
    let of_a_place = "a place (`capacity`)";
    let of_a_flag = match arguments.per_node {
        Some(_) => "a node (--per-node)",
        None => "a place (--capacity)",
    };
    let as_flag = |error: ProblemError| wrong(error.to_string().replace(of_a_place, of_a_flag));
    let problem = builder.build().map_err(as_flag)?;
    let has_pairs = arguments.problem.pattern == Some(Pattern::AllToAll);
    let (most, why) = if problem.costs().levels().is_empty() || has_pairs {
        (ROOM_MAX, "a search takes memory for each pair: ")
    } else {
        (ROOM_MAX_OF_LEVELS, "")
    };
    match room(&problem) {
        room if room > most => Err(wrong(format!(
            "its places have room for {room} tasks, and {why}{most} are allowed; lower --capacity, or forbid places"
        ))),
        _ => Ok(problem),
    }
}

/// Returns the number of tasks for which all places have room.
fn room(problem: &Problem) -> usize {
    let tasks = problem.volumes().tasks();
    let places = (0..problem.costs().places()).map(Place);
    places.fold(0, |room: usize, place| {
        room.saturating_add(problem.capacity(place).min(tasks))
    })
}

fn about(
    arguments: &SolveArgs,
    problem: &Problem,
    unit: Option<&str>,
    forbidden: BTreeSet<usize>,
    assumed: Option<String>,
) -> PlacementProblem {
    let fixed = arguments.fix.iter().map(|(task, place)| FixedTask {
        task: task.0,
        place: place.0,
    });
    let costs = arguments.problem.costs.as_ref();
    PlacementProblem {
        file: arguments.problem.name(arguments.file.as_deref()),
        costs: costs.map(|costs| costs.display().to_string()),
        unit: unit.map(str::to_owned),
        tasks: problem.volumes().tasks(),
        places: problem.costs().places(),
        capacity: arguments.capacity,
        fixed: fixed.collect(),
        forbidden: forbidden.into_iter().collect(),
        assumed,
    }
}

/// The lower bound, or nothing if the thread that computes it has ended by a panic.
type Bound = Result<f64, ThreadLost>;

#[derive(Debug, PartialEq)]
struct ThreadLost;

/// Computes a bound in a thread, because this can take longer than the search.
fn in_a_thread(bound: impl FnOnce() -> f64 + Send + 'static) -> mpsc::Receiver<Bound> {
    let (sender, receiver) = mpsc::channel();
    // If the thread cannot be started, the placement has no bound.
    let _ = thread::Builder::new()
        .spawn(move || sender.send(catch_unwind(AssertUnwindSafe(bound)).map_err(|_| ThreadLost)));
    receiver
}

/// How `--time` is divided.
#[derive(Clone, Copy)]
struct Budget {
    all: Duration,
}

impl Budget {
    /// Returns the time of the search for the best placement.
    fn of_best(self) -> Duration {
        self.all - self.all / PART_OF_WORST
    }

    /// Returns the time of the search for the worst placement, if it begins when `passed` is over.
    fn of_worst(self, passed: Duration) -> Duration {
        let left = self.all.saturating_sub(passed);
        left.min(self.all / PART_OF_WORST)
    }

    /// Returns how long to wait for the bound, from when `passed` is over. Of less than a second the
    /// bound may need more than what is left, so it gets what is missing to a second.
    fn of_bound(self, passed: Duration) -> Duration {
        let left = self.all.saturating_sub(passed);
        let missing = WAIT_FOR_BOUND.saturating_sub(self.all);
        left.max(missing).min(WAIT_FOR_BOUND)
    }
}

/// Searches, and records the best placements. The error is the reason why this has failed.
fn search(
    arguments: &SolveArgs,
    problem: &Arc<Problem>,
    session: &Session<Solving>,
) -> Result<(), End> {
    let begun = Instant::now();
    let budget = Budget {
        all: arguments.time,
    };
    let bounded = Arc::clone(problem);
    let receiver = in_a_thread(move || bounded.lower_bound());
    // Costs are not negative, so 0 is a valid bound.
    let mut bound: Bound = Ok(0.0);

    let progress = session.progress();
    progress.at(0, arguments.time.as_secs() as usize);
    let mut found_cost = None;
    let mut cost = f64::INFINITY;
    let search = Search::new(Limit::Time(budget.of_best())).seed(arguments.seed);
    let solution = search.run(problem, |found| {
        progress.at(
            found.elapsed.as_secs() as usize,
            arguments.time.as_secs() as usize,
        );
        if found_cost.is_none_or(|best| found.cost < best) {
            found_cost = Some(found.cost);
            // The search adds up rounding errors, so the cost is computed again.
            cost = problem.cost(found.placement);
            progress.about(format!("cost {cost}"));
            session.update(|solving| {
                let best = Best {
                    placement: found.placement.clone(),
                    cost,
                    after: found.elapsed,
                };
                solving.best.insert(0, best);
                solving.best.truncate(TRIALS);
            });
        }
        if let Ok(proven) = receiver.try_recv() {
            bound = proven;
        }
        let is_enough = bound.as_ref().map_or(true, |bound| cost <= *bound);
        go_on_unless(is_enough || session.is_interrupted())
    });
    let after = begun.elapsed();
    let worst = (!session.is_interrupted()).then(|| {
        let limit = Limit::Time(budget.of_worst(begun.elapsed()));
        let search = Search::new(limit).seed(arguments.seed);
        search.worst(problem, || go_on_unless(session.is_interrupted()))
    });
    let wait = budget.of_bound(begun.elapsed());
    let has_ended = solution.optimal || session.is_interrupted();
    if let (false, Ok(proven)) = (has_ended, receiver.recv_timeout(wait)) {
        bound = proven;
    }
    let bound = bound.map_err(|ThreadLost| {
        End::Failed(
            "the thread that computes the lower bound has ended by a panic, which is printed above; report it with \
             the files of the problem"
                .to_owned(),
        )
    })?;
    session.update(|solving| {
        solving.bound = bound;
        solving.worst = worst.flatten();
        // A search with hardly any time may have found a worse one on its way to the best.
        let dearest = (solving.best.iter()).max_by(|one, other| one.cost.total_cmp(&other.cost));
        if let (Some(worst), Some(dearest)) = (&mut solving.worst, dearest)
            && worst.cost < dearest.cost
        {
            worst.placement = dearest.placement.clone();
            worst.cost = dearest.cost;
        }
        solving.ended = Some(Ended {
            solution,
            after,
            is_interrupted: session.is_interrupted(),
        });
    });
    Ok(())
}

struct Solving {
    problem: PlacementProblem,
    seed: u64,
    limit: Duration,
    cpus: Option<Cpus>,
    /// The average cost of a random placement.
    average: f64,
    /// The reasons why the costs are not reliable.
    doubts: Vec<Reason>,
    /// The best placements so far, the cheapest first.
    best: Vec<Best>,
    /// The times of a command with each of the best placements, if a command was run.
    trials: Option<PlacementTrials>,
    /// A proven lower bound of the cost. It is 0 until a better bound is known.
    bound: f64,
    /// The worst placement that was found.
    worst: Option<Solution>,
    /// Whether the tasks are those of a pattern.
    is_pattern: bool,
    drawn: Drawn,
    /// The number of tasks for which all places have room.
    room: usize,
    ended: Option<Ended>,
}

/// A placement that was the best one when the search found it.
struct Best {
    placement: Placement,
    cost: f64,
    /// The time from the start of the search until the search found the placement.
    after: Duration,
}

struct Ended {
    solution: Solution,
    after: Duration,
    is_interrupted: bool,
}

impl Solving {
    /// Returns the placement with which the command was fastest, or the cheapest without a command.
    fn kept(&self) -> Option<&Best> {
        let trials = self.trials.as_ref();
        self.best.get(trials.map_or(0, PlacementTrials::fastest))
    }

    /// Returns the CPUs of the tasks, if the places are CPUs of one computer.
    fn binding(&self, best: &Best) -> Option<Binding> {
        let cpus = self.cpus.as_ref()?.on_one()?;
        Some(Binding::new(&best.placement, |place| cpus[place.0]))
    }

    /// Returns the CPU of each task, if the places are CPUs.
    fn cpus_of_tasks(&self, best: &Best) -> Vec<PlaceCpu> {
        let places = best.placement.places().iter();
        let cpus = self.cpus.iter();
        cpus.flat_map(|cpus| places.clone().map(|place| cpus.of_places[place.0]))
            .collect()
    }

    /// Returns the commands that apply a placement, if the places are CPUs. They name the file with
    /// the placement as the examples of the guide do.
    fn commands(&self, best: &Best) -> Vec<ToolCommand> {
        let Some(cpus) = &self.cpus else {
            return Vec::new();
        };
        let tasks = self.cpus_of_tasks(best).into_iter();
        let tasks = tasks.map(|task| (task.node, task.cpu)).collect();
        let job = JobBinding::new(cpus.nodes.clone(), tasks);
        commands(&job, Path::new("placement.json"), false)
    }

    /// Returns a trial of a placement, without times.
    fn trial(&self, best: &Best) -> PlacementTrial {
        let binding = self.binding(best);
        PlacementTrial {
            placement: numbers(&best.placement),
            cpus: binding.map_or_else(Vec::new, |binding| binding.cpus().to_vec()),
            cost: best.cost,
            ns: Vec::new(),
        }
    }

    /// Returns the known results. Scripts rely on the names of the results.
    fn results(&self) -> Vec<Finding> {
        let cost = self.kept().map(|best| best.cost);
        let bound = if self.is_exhaustive() || self.is_optimal() {
            self.best.first().map(|best| best.cost)
        } else {
            Some(self.bound)
        };
        let gap = cost.zip(bound).map(|(cost, bound)| match cost {
            0.0 => 0.0,
            cost => (cost - bound) / cost,
        });
        let nanoseconds = |time: Duration| time.as_nanos() as f64;
        let ended = self.ended.as_ref();
        let iterations = ended.map(|ended| ended.solution.iterations as f64);
        let trials = self.trials.as_ref();
        let gain = trials.and_then(PlacementTrials::gain);
        let medians = trials.and_then(PlacementTrials::medians_ns);
        let numbers = [
            ("cost", cost, "1"),
            ("bound", bound, "1"),
            ("gap", gap, "1"),
            ("average", Some(self.average), "1"),
            ("in_order", Some(self.drawn.cost_in_order()), "1"),
            ("worst", self.worst.as_ref().map(|worst| worst.cost), "1"),
            (
                "time_to_best",
                self.kept().map(|best| nanoseconds(best.after)),
                "ns",
            ),
            ("time", ended.map(|ended| nanoseconds(ended.after)), "ns"),
            ("iterations", iterations, "1"),
            ("time_unbound", medians.map(|[unbound, _]| unbound), "ns"),
            ("time_bound", medians.map(|[_, bound]| bound), "ns"),
            ("gain", gain.map(|[_, gain, _]| gain), "1"),
            ("gain_at_least", gain.map(|[least, ..]| least), "1"),
            ("gain_at_most", gain.map(|[.., most]| most), "1"),
        ];
        let problem = &self.problem;
        let costs = problem.costs.as_deref().map(Path::new);
        let sizes = [problem.tasks, problem.places];
        findings(&problem.file, costs, sizes, numbers)
    }

    /// Returns what is known about the quality of the kept placement.
    fn quality(&self) -> Quality {
        let (Some(kept), Some(ended)) = (self.kept(), &self.ended) else {
            return Quality::NotKnown;
        };
        if self.is_optimal() {
            return Quality::Proven;
        }
        let is_cheapest = self.best.first().is_some_and(|best| kept.cost <= best.cost);
        let is_small = has_small_gap(kept.cost, self.bound);
        let is_stable = is_stable(
            self.room,
            [kept.after, ended.after],
            ended.solution.iterations,
        );
        if is_cheapest && (is_small || is_stable) {
            Quality::AsGoodAsKnown
        } else {
            Quality::NotKnown
        }
    }

    /// Returns true if the search has evaluated all placements.
    fn is_exhaustive(&self) -> bool {
        let ended = self.ended.as_ref();
        ended.is_some_and(|ended| ended.solution.optimal)
    }

    /// Returns true if the kept placement is proven to be the cheapest: the search has evaluated
    /// all placements, or the cost equals the bound.
    fn is_optimal(&self) -> bool {
        let (Some(kept), Some(cheapest)) = (self.kept(), self.best.first()) else {
            return false;
        };
        kept.cost <= self.bound || (self.is_exhaustive() && kept.cost <= cheapest.cost)
    }
}

/// Returns the number of pairs of tasks of which one sends to the other, and those with the largest
/// volumes.
fn heaviest(problem: &Problem, placement: &Placement) -> (usize, Vec<PairVolume>) {
    let mut all = 0;
    let mut heaviest: Vec<PairVolume> = Vec::new();
    for (from, to, volume) in problem.volumes().pairs() {
        all += 1;
        // Of equal volumes the first stays first.
        let at = heaviest.partition_point(|other| other.volume >= volume);
        if at < HEAVIEST {
            let [one, other] = [from, to].map(|task| placement.place_of(task));
            let pair = PairVolume {
                from: from.0,
                to: to.0,
                volume,
                cost: volume * problem.costs().between(one, other),
            };
            heaviest.insert(at, pair);
            heaviest.truncate(HEAVIEST);
        }
    }
    (all, heaviest)
}

impl Steps for Solving {
    type Report = PlacementReport;

    const NAME: &'static str = "searches";

    fn planned(&self) -> usize {
        1
    }

    fn done(&self) -> usize {
        let ended = self.ended.as_ref();
        usize::from(ended.is_some_and(|ended| !ended.is_interrupted))
    }

    fn report(self, mut circumstances: Circumstances, end: &End) -> PlacementReport {
        circumstances.reasons.extend(self.doubts.iter().cloned());
        let kept = self.kept();
        let binding = kept.and_then(|best| self.binding(best));
        let worst = self.worst.as_ref();
        let of_best = |best: &Best| heaviest(&self.drawn.problem, &best.placement);
        let (pairs, mut heaviest) = kept.map(of_best).unwrap_or_default();
        // The volumes of a pattern are known.
        if self.is_pattern {
            heaviest.clear();
        }
        let is_complete = matches!(end, End::Done);
        PlacementReport {
            envelope: circumstances.envelope("map solve", is_complete),
            seed: self.seed,
            time_limit_s: self.limit.as_secs_f64(),
            results: self.results(),
            optimal: self.is_optimal(),
            quality: self.quality(),
            placement: kept.map_or_else(Vec::new, |best| numbers(&best.placement)),
            pairs,
            heaviest,
            worst_placement: worst.map_or_else(Vec::new, |worst| numbers(&worst.placement)),
            worst_proven: worst.is_some_and(|worst| worst.optimal),
            cpus: kept.map_or_else(Vec::new, |best| self.cpus_of_tasks(best)),
            nodes: self
                .cpus
                .as_ref()
                .map_or_else(Vec::new, |cpus| cpus.nodes.clone()),
            binding: binding.as_ref().map(to_report),
            picture: kept.map(|best| self.drawn.picture(&best.placement)),
            commands: kept.map_or_else(Vec::new, |best| self.commands(best)),
            trials: self.trials,
            problem: self.problem,
        }
    }

    // The reasons are those of the costs. The search itself has not failed, so its exit code is 0.
    fn trust(_: &PlacementReport) -> &Trust {
        static OF_A_SEARCH: Trust = Trust {
            trustworthy: true,
            reasons: Vec::new(),
            kinds: Vec::new(),
        };
        &OF_A_SEARCH
    }
}

/// Returns true if the gap is so small that a placement is as good as known methods get.
fn has_small_gap(cost: f64, bound: f64) -> bool {
    cost - bound <= SMALL_GAP * cost
}

/// Returns true if a search has gone on for so long without a better placement that the placement is
/// as good as known methods get. `room` is the number of tasks for which the places have room. The
/// search found the placement after the first time, and ended after the second one.
///
/// With more room nothing is said. Searches that agree are no sign there: before stencils were
/// divided by planes, four searches for one of 128 x 128 tasks came within 3.4 % of each other, and
/// squares cost 3.4 % less than the best of them (`docs/mapping.md`).
fn is_stable(room: usize, [found, ended]: [Duration; 2], exchanges: u64) -> bool {
    room <= PLACES_MAX
        && found * TIMES_AS_LONG <= ended
        && exchanges as usize / room.max(1) >= EXCHANGES
}

fn numbers(placement: &Placement) -> Vec<usize> {
    placement.places().iter().map(|place| place.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_divided_so_that_all_ends_with_it() {
        let ms = Duration::from_millis;
        let budget = |all| Budget { all: ms(all) };
        assert_eq!(budget(20_000).of_best(), ms(18_000));
        assert_eq!(budget(20_000).of_worst(ms(18_000)), ms(2_000));
        // A search that ended early, or late.
        assert_eq!(budget(20_000).of_worst(ms(5)), ms(2_000));
        assert_eq!(budget(20_000).of_worst(ms(19_200)), ms(800));
        assert_eq!(budget(20_000).of_worst(ms(21_000)), ms(0));
        assert_eq!(budget(20_000).of_bound(ms(19_900)), ms(100));
        assert_eq!(budget(20_000).of_bound(ms(5)), ms(1_000));
        assert_eq!(budget(20_000).of_bound(ms(20_000)), ms(0));
        // With less than a second, the bound has what is missing to a second.
        assert_eq!(budget(50).of_best(), ms(45));
        assert_eq!(budget(50).of_worst(ms(46)), ms(4));
        assert_eq!(budget(50).of_bound(ms(50)), ms(950));
        assert_eq!(budget(0).of_best(), ms(0));
        assert_eq!(budget(0).of_worst(ms(30)), ms(0));
        assert_eq!(budget(0).of_bound(ms(30)), ms(1_000));
    }

    #[test]
    fn a_placement_is_as_good_as_known_methods_get_by_its_gap_or_by_its_search() {
        assert!(has_small_gap(1000.0, 990.0));
        assert!(!has_small_gap(1000.0, 989.0));
        assert!(has_small_gap(0.0, 0.0));
        let seconds = Duration::from_secs;
        let enough = 30 * 2_000;
        assert!(is_stable(30, [seconds(1), seconds(10)], enough));
        assert!(!is_stable(30, [seconds(2), seconds(10)], enough));
        assert!(!is_stable(30, [seconds(1), seconds(10)], enough - 1));
        // A large problem, however long it is searched.
        let hour = [seconds(1), seconds(3_600)];
        assert!(is_stable(256, hour, u64::from(u32::MAX)));
        assert!(!is_stable(257, hour, u64::from(u32::MAX)));
        // A search in which nothing can be exchanged.
        assert!(!is_stable(0, [seconds(0); 2], 0));
    }

    #[test]
    fn a_thread_that_is_lost_is_no_bound() {
        assert_eq!(in_a_thread(|| 3.0).recv(), Ok(Ok(3.0)));
        assert_eq!(
            in_a_thread(|| panic!("a fault")).recv(),
            Ok(Err(ThreadLost))
        );
    }
}
