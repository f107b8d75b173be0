//! The flags that describe the tasks and the costs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cellworks_mapping::read::{self, Counted, ReadError, Tasks};
use cellworks_mapping::{Pattern, Volumes};
use cellworks_stats::Finding;
use clap::Args;
use clap::builder::TypedValueParser;
use serde_json::Value;

use super::costs::{CpusOfRows, Nodes, Places, name_of};
use crate::args::{input, kept, one_of, such_as};
use crate::failure::Failure;

/// The volumes between tasks, and the costs between places. A command that reads tasks from a file
/// also has an argument `file`.
#[derive(Args)]
pub(crate) struct ProblemArgs {
    /// Uses tasks that communicate in this pattern with a volume of 1, instead of tasks from a file
    #[arg(
        long,
        value_name = "PATTERN",
        value_parser = pattern_parser(),
        requires = "costs",
        conflicts_with = "file"
    )]
    pub pattern: Option<Pattern>,

    /// The number of tasks of the pattern [default: the number of places]
    #[arg(long, value_name = "TASKS", value_parser = such_as("4", kept), requires = "pattern")]
    pub tasks: Option<usize>,

    /// Of files of Open MPI's monitoring, counts what the program asked for: its own messages, and
    /// what its collectives mean. Without this flag, counts the messages that went from rank to
    /// rank
    #[arg(long, requires = "file", requires = "costs")]
    pub meant: bool,

    /// The cost of a unit of volume between cores: a file, or a machine in one line. The ending of
    /// the name tells the format. A .json file is the JSON of `stats --matrix`, and an .xml file
    /// has distances of hwloc. A .toml file, or a name such as qs22, is a simulated machine, and a
    /// unit is then 128 bytes from one SPE to another. Any other file is a table of latencies with
    /// commas between the values, as core-to-core-latency --csv writes it, or a target of Scotch.
    /// If such a table names no CPUs, its first line is taken for CPU 0, its second line for CPU 1
    /// and so on, unless --cpus-of-rows names others. A machine in one line has its levels, the
    /// outermost first, each with its number of parts and its cost: "node:2@1.8us package:2@120ns
    /// core:16@60ns", or "tleaf 3 2 10 4 5 8 1" as for Scotch
    #[arg(long, value_name = "FILE", value_parser = input())]
    pub costs: Option<PathBuf>,

    /// The CPUs of the rows of a table of latencies, in the order of the rows, such as 4,6 for a
    /// table that was measured with --cores 4,6
    #[arg(long, value_name = "CPUS", requires = "costs")]
    pub cpus_of_rows: Option<CpusOfRows>,

    /// The places are on several nodes with the CPUs of --costs: a number such as 4, or names such
    /// as n01,n02
    #[arg(long, value_name = "NODES", requires_all = ["costs", "network"])]
    pub nodes: Option<Nodes>,

    /// The cost of a unit of volume between CPUs of different nodes, such as 1.8us
    #[arg(long, value_name = "COST", requires = "nodes")]
    pub network: Option<String>,
}

pub(super) fn pattern_parser() -> impl TypedValueParser<Value = Pattern> {
    one_of(Pattern::ALL, |pattern| pattern.name().into())
}

impl ProblemArgs {
    /// Returns the name of the file or of the pattern of the tasks, for messages and reports.
    pub fn name(&self, file: Option<&Path>) -> String {
        match (file, self.pattern) {
            (Some(file), _) => file.display().to_string(),
            (None, Some(pattern)) => format!("the pattern {}", pattern.name()),
            (None, None) => String::new(),
        }
    }

    /// Reads the tasks and the places. `fits` refuses a number of tasks of a pattern that does not
    /// fit. It is called before the pattern takes memory for each pair of tasks.
    pub fn read(
        &self,
        file: Option<&Path>,
        fits: impl FnOnce(Volumes, &Places) -> Result<(), Failure>,
    ) -> Result<(Volumes, Places), Failure> {
        if let (Some(pattern), Some(costs)) = (self.pattern, &self.costs) {
            let places = self.places(costs)?;
            let tasks = self.tasks.unwrap_or(places.costs.places());
            let silent = Volumes::from_edges(tasks, []);
            fits(silent.expect("no volume is wrong"), &places)?;
            let volumes = pattern.volumes(tasks);
            return match volumes {
                Ok(volumes) => Ok((volumes, places)),
                Err(error) => Err(Failure::Usage(format!("{error}; choose it with --tasks"))),
            };
        }
        let file = file.expect("clap asks for one");
        if let Some(costs) = &self.costs {
            let tasks = if self.meant {
                read::monitored(file, Counted::Meant)
            } else {
                read::volumes(file)
            };
            return match (tasks, self.places(costs)) {
                (Err(ReadError::TooManyTasks { .. }), Ok(places)) => Err(Failure::Usage(format!(
                    "{}: 2^{} or more tasks do not fit on {} places: use smaller numbers of tasks",
                    self.files(Some(file)),
                    usize::BITS,
                    places.costs.places()
                ))),
                (tasks, places) => {
                    let Tasks { volumes, notes, .. } = tasks.map_err(Failure::usage)?;
                    let mut places = places?;
                    let notes = notes.iter();
                    let notes = notes.map(|note| format!("{}: {note}", file.display()));
                    places.warnings.extend(notes);
                    Ok((volumes, places))
                }
            };
        }
        match read::qaplib(file) {
            Ok(problem) => Ok((
                problem.volumes().clone(),
                Places::of(problem.costs().clone(), None, file),
            )),
            Err(error) => match read::volumes(file) {
                Ok(_) => Err(Failure::Usage(format!(
                    "{}: it has only volumes, which say nothing of places; name the costs between them with --costs",
                    file.display()
                ))),
                Err(_) => Err(Failure::usage(error)),
            },
        }
    }

    /// Reads the places, and repeats them on the nodes.
    fn places(&self, costs: &Path) -> Result<Places, Failure> {
        let mut places = Places::read(costs)?;
        if let Some(rows) = &self.cpus_of_rows {
            places = places.with_cpus_of_rows(rows)?;
        }
        match (&self.nodes, &self.network) {
            (Some(nodes), Some(network)) => places.on_nodes(nodes, network),
            _ => Ok(places),
        }
    }

    /// Returns the names of the files, for messages.
    pub fn files(&self, file: Option<&Path>) -> String {
        let name = self.name(file);
        match &self.costs {
            Some(costs) => format!("{name} on {}", costs.display()),
            None => name,
        }
    }
}

/// Returns the numbers that are known, with names and units. Their parameters distinguish the
/// results of different problems.
pub(super) fn findings<'n>(
    file: &str,
    costs: Option<&Path>,
    [tasks, places]: [usize; 2],
    numbers: impl IntoIterator<Item = (&'n str, Option<f64>, &'n str)>,
) -> Vec<Finding> {
    let mut parameters: BTreeMap<String, Value> = BTreeMap::from([
        ("problem".to_owned(), name_of(Path::new(file)).into()),
        ("tasks".to_owned(), tasks.into()),
        ("places".to_owned(), places.into()),
    ]);
    if let Some(costs) = costs {
        parameters.insert("costs".to_owned(), name_of(costs).into());
    }
    let known = numbers.into_iter().filter_map(|(name, value, unit)| {
        Some(Finding::new(name, value?, unit, parameters.clone()))
    });
    known.collect()
}
