//! Flags that several commands share, the flags of small commands, and the parsers of numbers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellworks_machine::Span;
use cellworks_reproduce::Paper;
use cellworks_sim::{Description, HazardWatch};
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::output::{Format, ResultFiles};
use crate::output_file::OutputFile;
use crate::sweep::SweepArgs;

/// The name of this computer as a value of `--machine`.
pub(crate) const HOST: &str = "host";

const MACHINES_AFTER_HELP: &str = "\
Examples:
  cellworks machines
      The machines that are built in.
  cellworks machines qs20 > my.toml
      A description to edit.
  cellworks machines new --spes 12 > my.toml
      A description of a Cell with 12 SPEs.
  cellworks machines my.toml
      Whether it still describes a machine.
  cellworks machines diff qs20 my.toml
      What is different about it, and what it changes.";

const MACHINE_AFTER_HELP: &str = "\
Examples:
  cellworks machine
      This computer, as the other commands use it.
  cellworks machine --html machine.html
      The same as a drawing.
  cellworks machine scc --html scc.html
      The mesh of a simulated machine with its elements.";

/// Shows the parts of a machine. For this computer these are packages, L3 groups, cores, hardware
/// threads, NUMA nodes with their distances, caches, clocks and limits.
///
/// An L3 group is the CPUs under one last-level cache. A NUMA node is the memory beside some CPUs.
/// A simulated machine has elements on rings or a mesh.
#[derive(Args)]
#[command(after_help = MACHINE_AFTER_HELP)]
pub(crate) struct MachineArgs {
    #[arg(value_name = "MACHINE", default_value = HOST, help = machine_help())]
    pub machine: String,

    /// The CPUs of this computer to use, such as 2,5 or 0-3 [default: all that this process may
    /// use]
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    pub cpus: Option<Cpus>,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl MachineArgs {
    /// Returns the arguments that show a machine in the given format.
    pub fn of(machine: &str, format: Format) -> Self {
        Self {
            machine: machine.to_owned(),
            cpus: None,
            output: OutputArgs {
                format,
                html: None,
                json: None,
                csv: None,
            },
        }
    }
}

/// Flags of all commands that work on a machine.
#[derive(Args)]
pub(crate) struct CommonArgs {
    #[arg(long, value_name = "MACHINE", default_value = HOST, help = machine_help())]
    pub machine: String,

    /// The CPUs of this computer to use, such as 2,5 or 0-3 [default: all that this process may
    /// use]
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    pub cpus: Option<Cpus>,

    #[command(flatten)]
    pub simulation: SimulationArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    /// No progress and no warnings
    #[arg(long, help_heading = "Options")]
    pub quiet: bool,
}

/// Flags by which a command of another binary chooses a machine: see
/// [`with_machine`](crate::with_machine).
#[derive(Args)]
pub struct MachineFlags {
    #[arg(long, value_name = "MACHINE", default_value = HOST, help = machine_help())]
    pub(crate) machine: String,

    /// The CPUs of this computer to use, such as 2,5 or 0-3 [default: all that this process may
    /// use]
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    pub(crate) cpus: Option<Cpus>,

    #[command(flatten)]
    pub(crate) simulation: SimulationArgs,

    /// No progress and no warnings
    #[arg(long, help_heading = "Options")]
    pub(crate) quiet: bool,
}

impl MachineFlags {
    /// Returns the name of the machine, or the file that describes it.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Returns true if the user wants no progress and no warnings.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }
}

/// Returns the help text of a machine, with the names of all built-in machines.
pub(crate) fn machine_help() -> String {
    let names: Vec<&str> = Description::built_in_names().collect();
    let (last, others) = names.split_last().expect("machines are built in");
    format!(
        "The machine: `{HOST}` (this computer), a simulated machine ({} or {last}), or a file that describes a \
         simulated machine",
        others.join(", ")
    )
}

/// CPUs, by their numbers in the operating system.
#[derive(Clone)]
pub(crate) struct Cpus(pub BTreeSet<u32>);

/// Flags of simulated machines.
#[derive(Args, Default)]
#[command(next_help_heading = "Options of simulated machines")]
pub(crate) struct SimulationArgs {
    /// Writes a trace of the run of one function or program for Perfetto (ui.perfetto.dev). An
    /// existing file is replaced when the run has ended well. With `-`, the trace goes to standard
    /// output during the run, and the result to standard error
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Ends a run that takes more simulated time than this, such as 10ms or 2s, and says what was
    /// running
    #[arg(long, value_name = "SIMULATED_TIME", value_parser = limit, allow_hyphen_values = true)]
    pub limit: Option<Duration>,

    /// Permutes events of the same instant, to see other schedules [default: 0, the plain order]
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,

    /// What to do about hazards: transfers that overlap, buffers that are used or released during a
    /// transfer, and words for full mailboxes. In `stats`, puts of several SPEs to a shared buffer
    /// are hazards, and so are gets of more than 16 KB [default: warn, but off if `stats` measures
    /// everything or --matrix memory]
    #[arg(long, value_name = "HOW", value_parser = hazards_parser())]
    pub hazards: Option<HazardWatch>,

    /// Counters of SPEs, rings, memory modules and links in the run of one function or program
    #[arg(long)]
    pub counters: bool,

    /// Counts only the work, after all programs have started: --counters are of the last timed loop
    /// of `stats`, or of the program's own part of the run. Without this flag they are of the whole
    /// run. In the trace, the slice `window` shows this time
    #[arg(long)]
    pub after_start: bool,

    /// Names the part that limits the result, and the result without this part. The run is
    /// simulated again for each part, with this part taking no time. Includes --counters and
    /// --after-start
    #[arg(long)]
    pub bottleneck: bool,

    /// The PPE reaches mailboxes and signals by library calls that enter the kernel, not by stores
    /// and loads. These are Mailbox-sc and Signal-sc in table 1 of the CellStats paper
    #[arg(long)]
    pub system_calls: bool,
}

impl SimulationArgs {
    /// Returns all of these flags, and whether the user has given each. The first four are for a
    /// single run, and of these the second and the third give the result counters.
    fn all(&self) -> [(bool, &'static str); 8] {
        [
            (self.trace.is_some(), "--trace"),
            (self.bottleneck, "--bottleneck"),
            (self.counters, "--counters"),
            (self.after_start, "--after-start"),
            (self.limit.is_some(), "--limit"),
            (self.seed.is_some(), "--seed"),
            (self.hazards.is_some(), "--hazards"),
            (self.system_calls, "--system-calls"),
        ]
    }

    /// Returns the first of these flags that the user has given.
    pub fn first_given(&self) -> Option<&'static str> {
        first_given(&self.all())
    }

    /// Returns the first of the flags by which the result has counters.
    pub fn counters_flag(&self) -> Option<&'static str> {
        first_given(&self.all()[1..3])
    }

    /// Fails if the window is chosen, but nothing shows it. `flags` are those that would show it.
    pub fn check_window(&self, flags: &str) -> Result<(), String> {
        match self.counters_flag() {
            None if self.after_start && self.trace.is_none() => Err(format!(
                "--after-start shows nothing by itself; add {flags}"
            )),
            _ => Ok(()),
        }
    }

    /// Returns the first of the flags for a single run that the user has given, or `None`.
    pub fn single_run_flag(&self) -> Option<&'static str> {
        first_given(&self.all()[..4])
    }
}

fn hazards_parser() -> impl TypedValueParser<Value = HazardWatch> {
    let all = [HazardWatch::Off, HazardWatch::Warn, HazardWatch::Error];
    one_of(all, |reaction| match reaction {
        HazardWatch::Off => PossibleValue::new("off").help("nothing: they are not looked for"),
        HazardWatch::Warn => PossibleValue::new("warn").help("say so, and go on"),
        HazardWatch::Error => PossibleValue::new("error").help("end the run"),
    })
}

/// Compares two results of `stats`, or two results of the same program of `run`, for example of two
/// machines or two days. Each of the two sides may have several runs. A file may be `-`, which is
/// standard input.
///
/// For each figure that both sides have, it prints the figure of the second side divided by that of
/// the first. For `stats` it also prints the interval of this ratio.
#[derive(Args)]
#[command(after_help = COMPARE_AFTER_HELP, override_usage = COMPARE_USAGE)]
pub(crate) struct CompareArgs {
    /// The JSON of the first run and the JSON of the second run. With --with: the JSON of all runs
    /// of the first side
    #[arg(value_name = "FILE", required = true, value_parser = input())]
    pub files: Vec<PathBuf>,

    /// The JSON of all runs of the second side, if a side has several. The medians of the runs are
    /// compared, and the interval shows how far apart the runs are
    #[arg(long, value_name = "FILE", num_args = 1.., value_parser = input())]
    pub with: Vec<PathBuf>,

    /// Ends with exit code 4 if a time or a rate of the second side is worse by more than this,
    /// such as 5%. A difference counts only if the intervals of both sides do not overlap, and if
    /// there are enough runs to tell it from what varies from run to run: three of each side, or
    /// five and two. A simulated machine needs one of each
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true)]
    pub threshold: Option<f64>,

    /// Also compares runs that are not reliable, because they were disturbed or are uncertain
    #[arg(long)]
    pub untrusted: bool,

    /// Writes the comparison also as Markdown, for a comment on a pull request: what is slower
    /// first, and the rest folded
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Prints the times and rates of a result for a service that watches for regressions, or the page
/// of a result.
///
/// Reads what `stats`, `run` or `map solve` has written with --json. Several files are several runs
/// of one command on one machine: a value is the median of the files that have it, with an interval
/// that covers these files. Export the results of each program by themselves; their names begin
/// with the name of the program. A page is that of one file, and has all that is in it.
#[derive(Args)]
#[command(after_help = EXPORT_AFTER_HELP)]
pub(crate) struct ExportArgs {
    /// The service, and for github-action-benchmark the kind of values; or a page for a browser
    #[arg(value_name = "FORMAT", value_enum)]
    pub target: ExportTarget,

    /// The JSON of each run
    #[arg(value_name = "FILE", required = true, value_parser = input())]
    pub files: Vec<PathBuf>,

    /// Also exports what is not reliable, because it was disturbed or is uncertain
    #[arg(long)]
    pub untrusted: bool,
}

/// A format of `export`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ExportTarget {
    /// the Bencher Metric Format, for `bencher run --adapter json`
    Bencher,
    /// times, for the tool customSmallerIsBetter of github-action-benchmark
    SmallerIsBetter,
    /// rates, for the tool customBiggerIsBetter of github-action-benchmark
    BiggerIsBetter,
    /// the page that --html writes
    Html,
}

const EXPORT_AFTER_HELP: &str = "\
Examples:
  cellworks export bencher today.json > metrics.json
      For `bencher run --adapter json --file metrics.json`.
  cellworks export smaller-is-better run-*.json > times.json
      Medians of several runs, for github-action-benchmark.
  cellworks export html today.json > today.html
      The page of a result of which only the JSON was kept.

Exit codes: 0 done, 1 the result could not be written, 2 the arguments or files make no sense, or no run \
can be relied upon.";

const COMPARE_USAGE: &str = "\
cellworks compare [OPTIONS] <A.json> <B.json>
       cellworks compare [OPTIONS] <A.json>... --with <B.json>...";

const COMPARE_AFTER_HELP: &str = "\
Examples:
  cellworks compare yesterday.json today.json --html both.html
      Two days of one computer, also as a page for a browser.
  cellworks compare main-*.json --with branch-*.json --threshold 5% --markdown comment.md
      A gate for a build server, with three or more runs of each side: what lies within their
      spread is not slower.

Exit codes: 0 done, 1 the result could not be written, 2 the arguments or files make no sense, no run of \
a side can be relied upon, or there are too few to judge, 4 the second run is slower by more than --threshold.";

/// Simulates the experiments of papers, and prints the published and the simulated numbers with the
/// error.
///
/// Without PAPER it simulates all papers. Some published numbers were kept back while the
/// parameters of the simulated machines were fitted. For these numbers it prints predictions.
///
/// On one CPU of an Intel Xeon the paper cellstats takes 6 s, and task-mapping, cell-csp and
/// jack-rabbit take more than 45 s each. The others take less than a second.
#[derive(Args)]
#[command(after_help = REPRODUCE_AFTER_HELP)]
pub(crate) struct ReproduceArgs {
    /// The paper
    #[arg(value_name = "PAPER", value_parser = PossibleValuesParser::new(Paper::names()))]
    pub paper: Option<String>,

    /// Also simulates the experiments that take long. For jack-rabbit these are the factoring of
    /// matrices with 3k and 4k rows, and the gravity of a million bodies. They take about 4 minutes
    /// more on two CPUs
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub sweep: SweepArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    /// No progress and no warnings
    #[arg(long)]
    pub quiet: bool,
}

const REPRODUCE_AFTER_HELP: &str = "\
Examples:
  cellworks reproduce cellstats --html cellstats.html
      What the primitives of a dual Cell blade cost, and the curves of the paper's figures 4 to 12.
  cellworks reproduce task-mapping
      A ring of tasks in all 5,040 mappings to eight SPEs.
  cellworks reproduce --format csv > numbers.csv
      Every published number, for a spreadsheet.

Exit codes: 0 done, 1 the run or some simulations failed, 2 the arguments make no sense, \
130 interrupted.";

/// Lists the simulated machines that are built in, or shows one of them.
///
/// A machine is shown as TOML, with the unit, the source and the certainty of every number. You can
/// save and edit it to describe your own machine. A file is checked and shown in the same way. A
/// file that ends in .csv has a matrix of one-way times between cores, in nanoseconds.
#[derive(Args)]
#[command(after_help = MACHINES_AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct MachinesArgs {
    #[command(subcommand)]
    pub command: Option<MachinesCommand>,

    /// The machine to show: its name, or a file. With `host`, the output is that of `cellworks
    /// machine`
    pub machine: Option<String>,

    /// How to print the list. A description is printed as TOML
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Commands that work on several machines.
#[derive(Subcommand)]
pub(crate) enum MachinesCommand {
    /// Prints a description to edit: one Cell on rings, with the numbers of the PlayStation 3
    New {
        /// The number of SPEs of the Cell, 1 to 1024
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
        spes: u16,
    },
    /// Lists the keys in which two descriptions differ, with the values of both, and what one SPE
    /// and all SPEs get from memory on both machines
    Diff {
        /// The first machine: its name, or a file
        a: String,
        /// The second machine: its name, or a file
        b: String,
    },
}

/// Prints a script with which a shell completes commands, flags, machines, programs and files.
///
/// For bash: cellworks completions bash > ~/.local/share/bash-completion/completions/cellworks
///
/// The script asks the command `cellworks`, which must be on the PATH.
#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Prints a manual page.
///
/// To read it: cellworks man stats | man -l -
///
/// Programs of `run` have pages of their own: cellworks man run aes
#[derive(Args)]
pub(crate) struct ManArgs {
    /// The command that the page is about, such as `stats` or `run aes` [default: cellworks itself]
    pub command: Vec<String>,
}

const MERGE_AFTER_HELP: &str = "\
Examples:
  cellworks run lu --machine ps3 --workers 1-6 --share 1/2
  cellworks run lu --machine ps3 --workers 1-6 --share 2/2
  cellworks merge run-lu.*-of-2.jsonl --html lu.html
      The same as without --share, on one computer.

Exit codes: 0 done, 1 results are missing, 2 a file is wrong, 130 interrupted.";

/// Merges the results of the shares of a sweep, as if one process had simulated all of it.
///
/// A share is the part of the steps of `run`, `reproduce` or `map ring` that one process simulates.
/// --share chooses this part, or Slurm or MPI has started several processes, and each has its own
/// part. The command lists the results that are in none of the files.
#[derive(Args)]
#[command(after_help = MERGE_AFTER_HELP)]
pub(crate) struct MergeArgs {
    /// The files of the shares, in any order
    #[arg(value_name = "FILE", required = true, value_parser = input())]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,

    /// No progress and no warnings
    #[arg(long)]
    pub quiet: bool,
}

/// Flags for the output of the result.
#[derive(Args, Clone)]
#[command(next_help_heading = "Options")]
pub(crate) struct OutputArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Writes the result also as a page for a browser, which is one file and needs no network. If
    /// FILE is `-`, the page goes to standard output, and the output of --format to standard error.
    /// The same holds for --json and --csv. If the run is incomplete, an existing file is kept, and
    /// the result is written beside it
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Writes the result also as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Writes the result also as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

impl OutputArgs {
    /// Opens the files that the flags name for the result.
    pub fn files(&self) -> Result<ResultFiles, Failure> {
        let mut files = ResultFiles::default();
        for (flag, format, path) in [
            ("--html", None, &self.html),
            ("--json", Some(Format::Json), &self.json),
            ("--csv", Some(Format::Csv), &self.csv),
        ] {
            if let Some(path) = path {
                files.add(format, OutputFile::open(flag, path)?)?;
            }
        }
        Ok(files)
    }

    /// Returns true if the result is printed or written as JSON.
    pub fn has_json(&self) -> bool {
        self.json.is_some() || matches!(self.format, Format::Json)
    }
}

impl CommonArgs {
    /// Fails if counters are wanted, but no output shows them.
    pub fn check_counters(&self) -> Result<(), Failure> {
        let is_shown = self.output.has_json() || self.output.html.is_some();
        let flags = "--counters, --bottleneck or --trace FILE";
        self.simulation
            .check_window(flags)
            .map_err(Failure::Usage)?;
        match (self.output.format, self.simulation.counters_flag()) {
            (Format::Csv, Some(flag)) if !is_shown => Err(Failure::Usage(format!(
                "{flag} with --format csv: CSV has no counters; add --json FILE, or leave one of them out"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the flags that choose the machine in examples, such as ` --machine qs20`. For this
    /// computer the flags choose the CPUs.
    pub fn machine_flag(&self) -> String {
        let machine = &self.machine;
        if machine == HOST {
            // The example may not work on other CPUs.
            self.cpus.as_ref().map_or_else(String::new, |Cpus(cpus)| {
                let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
                format!(" --cpus {}", cpus.join(","))
            })
        } else if machine.contains(char::is_whitespace) {
            format!(" --machine '{machine}'")
        } else {
            format!(" --machine {machine}")
        }
    }
}

pub(crate) fn first_given(flags: &[(bool, &'static str)]) -> Option<&'static str> {
    flags
        .iter()
        .find_map(|(is_given, flag)| is_given.then_some(*flag))
}

pub(crate) fn span(duration: Duration) -> Span {
    Span::from_nanoseconds(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// The path of standard input, which the user names `-`.
const STANDARD_INPUT: &str = "/dev/stdin";

/// Parses a file that the command reads. `-` is standard input.
pub(crate) fn input() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| {
        if path.as_os_str() == "-" {
            PathBuf::from(STANDARD_INPUT)
        } else {
            path
        }
    })
}

pub(crate) fn refuse_standard_input_twice<'p>(
    inputs: impl IntoIterator<Item = &'p PathBuf>,
) -> Result<(), Failure> {
    let is_standard_input = |path: &&PathBuf| *path == Path::new(STANDARD_INPUT);
    match inputs.into_iter().filter(is_standard_input).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::usage(
            "-: standard input can be read only once; write one of the inputs to a file, and name that",
        )),
    }
}

fn cpus(text: &str) -> Result<Cpus, String> {
    number_list(text)
        .map(Cpus)
        .ok_or_else(|| "CPUs are numbers and ranges with commas between; use 2,5 or 0-3".to_owned())
}

/// Parses a list of numbers such as 2,5 or 0-3. Returns `None` if the list is malformed or empty.
pub(crate) fn number_list(text: &str) -> Option<BTreeSet<u32>> {
    cellworks_host::parse_cpus(text).filter(|numbers| !numbers.is_empty())
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse();
    seed.map_err(|_| format!("a seed is a whole number from 0 to {}; use 1", u64::MAX))
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map(str::trim_end);
    let percent = number.and_then(|number| number.parse::<f64>().ok());
    let percent = percent.filter(|percent| *percent >= 0.0 && percent.is_finite());
    percent.ok_or_else(|| "a threshold is a percentage of 0% or more; use 5%".to_owned())
}

fn limit(text: &str) -> Result<Duration, String> {
    const RULE: &str = "a limit is a simulated time with its unit, such as 10ms or 2s";
    above_0(text, "nothing happens in no time", RULE)
}

/// Parses a time above 0, with its unit.
pub(crate) fn above_0(text: &str, in_no_time: &str, rule: &str) -> Result<Duration, String> {
    let is_negative = text.starts_with('-');
    let time = humantime::parse_duration(text.trim_start_matches('-'));
    match time.map_err(|why| format!("{why}; {rule}"))? {
        time if time.is_zero() || is_negative => Err(format!("{in_no_time}; {rule}")),
        time => Ok(time),
    }
}

/// Returns a parser of one of `all`, which has the name and the help of its possible value.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    possible: fn(T) -> PossibleValue,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(possible)).map(move |name| {
        let mut named = all.into_iter();
        let named = named.find(|one| possible(*one).matches(&name, false));
        named.expect("clap lets only these names pass")
    })
}

/// Returns a parser that reads a value with `read`. The error messages of the parser end with
/// `example`, a value that the flag accepts.
pub(crate) fn such_as<T: 'static>(
    example: &'static str,
    read: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| read(text).map_err(|why| format!("{why}; use {example}"))
}

pub(crate) fn count(text: &str) -> Result<u64, String> {
    number(
        text,
        1_000,
        "counts are whole numbers, with k for 1,000, m for 1,000,000 or g for 1,000,000,000",
    )
}

/// Parses a count of items that the command keeps in memory, such as tasks. A count above the
/// largest `usize` becomes the largest `usize`.
pub(crate) fn kept(text: &str) -> Result<usize, String> {
    count(text).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    number(
        text,
        1_024,
        "sizes are whole bytes, with k, KB or KiB for 1,024, and so on for m and g",
    )
}

/// Parses the order of a matrix.
pub(crate) fn order(text: &str) -> Result<u64, String> {
    number(text, 1_024, "orders are whole numbers, with k for 1,024")
}

/// Parses a whole number with an optional multiplier `k`, `m` or `g`. If `kilo` is 1,024, the
/// number is a size and may have a unit: `16KB` and `16KiB` mean `16k`.
fn number(text: &str, kilo: u64, rule: &str) -> Result<u64, String> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at(end);
    let unit = unit.to_ascii_lowercase();
    let prefix = match unit.strip_suffix('b') {
        Some(prefix) if kilo == 1_024 => prefix.strip_suffix('i').unwrap_or(prefix),
        _ => &unit,
    };
    let multiplier = match prefix {
        "" if unit != "ib" => 1,
        "k" => kilo,
        "m" => kilo.pow(2),
        "g" => kilo.pow(3),
        _ => return Err(rule.to_owned()),
    };
    if digits.is_empty() {
        return Err(rule.to_owned());
    }
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(multiplier))
        .ok_or_else(|| {
            format!(
                "more than {}, the largest number there is; {rule}",
                u64::MAX
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_of_counts_and_sizes_differ() {
        assert_eq!(
            (count("7"), count("2k"), count("1m")),
            (Ok(7), Ok(2_000), Ok(1_000_000))
        );
        assert_eq!(
            (size("7"), size("2k"), size("1m")),
            (Ok(7), Ok(2_048), Ok(1_048_576))
        );
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        assert_eq!((count("2K"), count("3G")), (Ok(2_000), Ok(3_000_000_000)));
        for text in ["16k", "16K", "16kb", "16KB", "16KiB", "16384", "16384B"] {
            assert_eq!(size(text), Ok(16_384), "{text}");
        }
        assert_eq!((size("2MiB"), size("1GB")), (Ok(2 << 20), Ok(1 << 30)));
        for text in ["1ib", "1i", "1kib ", "1t", "1bk", "1.5MB", "KB"] {
            assert!(size(text).is_err(), "{text:?}");
        }
        for text in [
            "", "k", "1kB", "1.5k", "-1", "+1", "1 k", "1kk", "0x10", "1t",
        ] {
            assert!(
                count(text).is_err_and(|message| message.starts_with("counts")),
                "{text:?}"
            );
        }
        for text in [
            "18446744073709551616",
            "18446744073709552k",
            "18446744073710m",
        ] {
            assert!(
                count(text).is_err_and(|message| message.starts_with("more than")),
                "{text:?}"
            );
        }
    }
}
