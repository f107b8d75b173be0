//! `cellworks map explain`: explains the difference between two placements.

use std::fs;
use std::path::{Path, PathBuf};

use cellworks_apps::exchange::Mapping;
use cellworks_machine::SpeId;
use cellworks_mapping::{Costs, Place, Placement, Problem, Volumes, read};
use cellworks_report::{
    Envelope, Environment, ExplainedPair, ExplainedPlacement, ExplanationReport, LinkLoad,
};
use cellworks_sim::Ways;
use cellworks_stats::Finding;
use clap::Args;

use super::costs::Places;
use super::problem::{ProblemArgs, findings};
use super::solution;
use crate::args::{OutputArgs, input, refuse_standard_input_twice};
use crate::failure::Failure;
use crate::message::warn;
use crate::output::{Printed, show};
use crate::surroundings::environment_of_a_simulation;

const AFTER_HELP: &str = "\
Examples:
  cellworks map explain '[01234567]' '[02467531]' --pattern ring --tasks 8 --costs qs22
      A ring of 8 tasks in two mappings to one Cell of a blade: the links of the rings that they load.
  cellworks map explain 0,1,2,3 best.json --problem graph.txt --costs matrix.json --html why.html
      Tasks in order beside what `map solve` found, on the CPUs of this computer, with a picture.
  cellworks map explain best.json scotch.map --problem mesh.grf --costs cluster.tgt
      What `map solve` found beside what `gmap` of Scotch found, by the files of Scotch.

Exit codes: 0 done, 1 the run failed, 2 the arguments or files make no sense.";

/// Explains how two placements of the same tasks differ: in the costs of pairs of tasks, and in the
/// volumes on links and ports.
///
/// As for `map solve`, the cost of two tasks is the volume that they send to each other, times the
/// cost of a unit between their places. For a simulated machine the command also shows the volume
/// on each link of the rings or mesh. The page has a picture. Placements are taken as they are: the
/// flags --capacity, --fix, --forbid, --one-per-core and --per-node of `map solve` have no effect.
#[derive(Args)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub(crate) struct ExplainArgs {
    /// A placement in one of four forms: the JSON of `map solve`; a mapping of Scotch; the places
    /// of task 0, task 1 and so on, such as 0,2,4,3; or, between brackets, the tasks of place 0,
    /// place 1 and so on, as `map ring` names mappings: [0213]
    #[arg(value_name = "A")]
    pub a: String,

    /// The placement with which A is compared, in the same forms
    #[arg(value_name = "B")]
    pub b: String,

    /// The tasks: a file of QAPLIB, or with --costs the volumes between them, in one of the forms
    /// that `map solve` reads. `-` is standard input
    #[arg(
        id = "file",
        long = "problem",
        value_name = "FILE",
        required_unless_present = "pattern",
        value_parser = input()
    )]
    pub file: Option<PathBuf>,

    #[command(flatten)]
    pub problem: ProblemArgs,

    // The flags of `map solve` that say which placements are allowed. A user who repeats its
    // command with two placements gets no error for them.
    #[arg(long, hide = true)]
    capacity: Option<usize>,

    #[arg(long, hide = true)]
    fix: Option<String>,

    #[arg(long, hide = true)]
    forbid: Vec<String>,

    #[arg(long, hide = true)]
    one_per_core: bool,

    #[arg(long, hide = true)]
    per_node: Option<usize>,

    #[command(flatten)]
    pub output: OutputArgs,

    /// No warnings on standard error; the result keeps them
    #[arg(long, help_heading = "Options")]
    pub quiet: bool,
}

pub(crate) fn run(arguments: &ExplainArgs) -> Result<(), Failure> {
    let files = arguments.output.files()?;
    let inputs = [&arguments.file, &arguments.problem.costs];
    files.refuse_to_replace_any(inputs)?;
    refuse_standard_input_twice(inputs.into_iter().flatten())?;
    for placement in [&arguments.a, &arguments.b] {
        files.refuse_to_replace(Path::new(placement))?;
    }
    let file = arguments.file.as_deref();
    let (a, b) = (&arguments.a, &arguments.b);
    // Here a place may have any number of tasks. Only `map solve` has a limit.
    let problem = |volumes: Volumes, costs: &Costs| {
        let tasks = volumes.tasks();
        let problem = Problem::builder(volumes, costs.clone()).capacity(tasks);
        problem.build().map_err(|error| {
            let files = arguments.problem.files(file);
            Failure::Usage(format!("{files}: {error}"))
        })
    };
    let fits = |volumes: Volumes, places: &Places| {
        let problem = problem(volumes, &places.costs)?;
        placement(a, &problem).and(placement(b, &problem)).map(drop)
    };
    let (volumes, places) = arguments.problem.read(file, fits)?;
    let problem = problem(volumes, &places.costs)?;
    let placements = [placement(a, &problem)?, placement(b, &problem)?];
    let costs = arguments.problem.costs.as_deref();
    let format = arguments.output.format;
    if !arguments.quiet && !format.begins_with_warnings() {
        let doubts = places.doubts.iter().map(|doubt| &doubt.text);
        doubts.chain(&places.warnings).for_each(|text| warn(text));
    }
    let environment = Environment {
        warnings: places.warnings.clone(),
        ..environment_of_a_simulation()
    };
    let explanation = ExplanationReport {
        file: arguments.problem.name(file),
        costs: costs.map(|costs| costs.display().to_string()),
        assumed: (places.cpus.as_ref().zip(costs)).and_then(|(cpus, costs)| cpus.assumed(costs)),
        results: results(
            &problem,
            &placements,
            &places,
            file,
            costs,
            &arguments.problem,
        ),
        pairs: pairs(&problem, &placements),
        links: links(&problem, &placements, &places),
        around: around(&places),
        placements: [(a, &placements[0]), (b, &placements[1])]
            .map(|(name, placement)| ExplainedPlacement {
                name: name.clone(),
                placement: placement.places().iter().map(|place| place.0).collect(),
            })
            .into(),
        envelope: Envelope::new(
            "map explain",
            places.machine,
            environment,
            places.doubts,
            true,
        ),
    };
    show(&explanation, format, Printed::ToStandardOutput, files)
}

fn placement(name: &str, problem: &Problem) -> Result<Placement, Failure> {
    let (tasks, places) = (problem.volumes().tasks(), problem.costs().places());
    let wrong = |why: String| Failure::Usage(format!("{name}: {why}"));
    let of_tasks = if name.trim_start().starts_with('[') {
        // The last places may be omitted if they have no task.
        let bare = name.trim().trim_matches(['[', ']']);
        let named = match bare.split_whitespace().count() {
            1 => bare.chars().count(),
            words => words,
        };
        let mapping = Mapping::parse(name, tasks, if named == tasks { tasks } else { places });
        let mapping = mapping.map_err(Failure::usage)?;
        let spes = mapping.spe_of_each_task();
        spes.iter().map(|spe| spe.index()).collect()
    } else if let Some(places) = listed(name) {
        places
    } else {
        let instead = "no list of places, such as 0,2,4, and no mapping, such as [021]";
        match read::scotch_mapping(name) {
            Ok(places) => places,
            // A mapping begins with a number, and JSON does not.
            Err(error) if begins_with_a_digit(name) => {
                return Err(Failure::usage(error));
            }
            Err(_) if is_no_json(name) => {
                return Err(wrong(
                    "it is no placement; name the JSON of `map solve`, a mapping of Scotch, the places of task 0, task 1 \
                     and so on, such as 0,2,1, or the tasks of place 0, place 1 and so on, such as [021]"
                        .to_owned(),
                ));
            }
            Err(_) => solution::read(Path::new(name), instead)?.placement,
        }
    };
    problem
        .placement(of_tasks)
        .map_err(|error| wrong(error.to_string()))
}

fn begins_with_a_digit(file: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.trim_start()
        .starts_with(|first: char| first.is_ascii_digit())
}

/// Returns true if a file can be read, and has text that is no JSON.
fn is_no_json(file: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| !text.trim_start().starts_with('{'))
}

/// Parses a list such as `0,2,4`. Returns `None` if the text is not such a list.
pub(super) fn listed(text: &str) -> Option<Vec<usize>> {
    let number = |part: &str| part.trim().parse().ok();
    text.split(',').map(number).collect()
}

fn results(
    problem: &Problem,
    placements: &[Placement; 2],
    places: &Places,
    file: Option<&Path>,
    costs: Option<&Path>,
    arguments: &ProblemArgs,
) -> Vec<Finding> {
    let [a, b] = placements.each_ref().map(|one| problem.cost(one));
    let [contended_a, contended_b] = placements
        .each_ref()
        .map(|one| Some(contended(problem, one, places.ways.as_ref()?)));
    let name = arguments.name(file);
    let sizes = [problem.volumes().tasks(), problem.costs().places()];
    let numbers = [
        ("cost_a", Some(a), "1"),
        ("cost_b", Some(b), "1"),
        ("difference", Some(b - a), "1"),
        ("ratio", (a > 0.0).then(|| b / a), "1"),
        ("contended_a", contended_a, "1"),
        ("contended_b", contended_b, "1"),
    ];
    findings(&name, costs, sizes, numbers)
}

/// Returns the contended cost of a placement, that is, with transfers that wait for each other on
/// the links of the machine.
fn contended(problem: &Problem, placement: &Placement, ways: &Ways) -> f64 {
    let kept = |link: usize| ways.kept_by_a_line(link).as_nanoseconds_f64();
    let links: Vec<f64> = (0..ways.links().len()).map(kept).collect();
    problem.contended_cost(placement, &links, |from, to| {
        let [from, to] = [from, to].map(|place| SpeId::new(place.0 as u16));
        ways.links_between(from, to).iter().copied()
    })
}

fn pairs(problem: &Problem, [a, b]: &[Placement; 2]) -> Vec<ExplainedPair> {
    let pairs = problem.compared([a, b]).into_iter();
    pairs
        .map(|pair| ExplainedPair {
            from: pair.from.0,
            to: pair.to.0,
            volume: pair.volume,
            cost_a: pair.costs[0],
            cost_b: pair.costs[1],
        })
        .collect()
}

/// Returns the volume on each link, and the volume that leaves and enters each place.
fn links(problem: &Problem, placements: &[Placement; 2], places: &Places) -> Vec<LinkLoad> {
    let count = problem.costs().places();
    let links = places.ways.as_ref().map_or(&[][..], Ways::links);
    let out_of = |place: usize| links.len() + place;
    let into = |place: usize| links.len() + count + place;
    let way = |from: Place, to: Place| {
        let mut way = Vec::new();
        if from != to {
            if let Some(ways) = &places.ways {
                let [from, to] = [from, to].map(|place| SpeId::new(place.0 as u16));
                way.extend_from_slice(ways.links_between(from, to));
            }
            way.extend([out_of(from.0), into(to.0)]);
        }
        way
    };
    let [a, b] = placements
        .each_ref()
        .map(|placement| problem.loads(placement, links.len() + 2 * count, way));
    let names = links
        .iter()
        .cloned()
        .chain((0..count).map(|place| format!("out of {}", places.name(place))))
        .chain((0..count).map(|place| format!("into {}", places.name(place))));
    let mut loads: Vec<LinkLoad> = names
        .zip(a.into_iter().zip(b))
        .filter(|(_, loads)| *loads != (0.0, 0.0))
        .map(|(name, (load_a, load_b))| LinkLoad {
            name,
            load_a,
            load_b,
        })
        .collect();
    let difference = |link: &LinkLoad| (link.load_b - link.load_a).abs();
    loads.sort_by(|one, other| difference(other).total_cmp(&difference(one)));
    loads
}

/// Returns all places. If the machine has an order in which near places are neighbours, uses this
/// order.
fn around(places: &Places) -> Vec<usize> {
    match &places.ways {
        Some(ways) => ways.around().iter().map(|spe| spe.index()).collect(),
        None => (0..places.costs.places()).collect(),
    }
}
