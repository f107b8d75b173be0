//! Flags that several commands have, those of the small commands, and how numbers are read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellworks_machine::Span;
use cellworks_reproduce::Paper;
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::output::{Format, ResultFiles};
use crate::output_file::OutputFile;
use crate::sweep::SweepArgs;

/// The name of this computer.
pub(crate) const HOST: &str = "host";

const MACHINES_AFTER_HELP: &str = "\
Examples:
  cellworks machines
      The machines that are built in.
  cellworks machines qs20 > my.toml
      A description to edit.
  cellworks machines my.toml
      Whether it still describes a machine.
  cellworks machines diff qs20 my.toml
      What is different about it.";

const MACHINE_AFTER_HELP: &str = "\
Examples:
  cellworks machine
      This computer, as the other commands use it.
  cellworks machine --html machine.html
      The same as a drawing.
  cellworks machine scc --html scc.html
      The mesh of a simulated machine with its elements.";

/// Shows what a machine is made of: of this computer packages, L3 groups, cores and hardware
/// threads, NUMA nodes with their distances, caches, clocks and limits.
///
/// An L3 group is the CPUs under one last-level cache, a NUMA node the memory beside some CPUs. A
/// simulated machine has elements on rings or a mesh.
#[derive(Args)]
#[command(after_help = MACHINE_AFTER_HELP)]
pub(crate) struct MachineArgs {
    /// The machine: `host`, this computer, or a simulated one: ps3, qs20, qs22, scc, or a file that
    /// describes one
    #[arg(value_name = "MACHINE", default_value = HOST)]
    pub machine: String,

    /// The CPUs of this computer to use, such as 2,5 or 0-3 [default: all that this process may use]
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    pub cpus: Option<Cpus>,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl MachineArgs {
    /// This computer, in this format.
    pub fn of_this_computer(format: Format) -> Self {
        Self {
            machine: HOST.to_owned(),
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

/// What is done on a machine has these flags.
#[derive(Args)]
pub(crate) struct CommonArgs {
    /// The machine: `host`, this computer, or a simulated one: ps3, qs20, qs22, scc, or a file that
    /// describes one
    #[arg(long, value_name = "MACHINE", default_value = HOST)]
    pub machine: String,

    /// The CPUs of this computer to use, such as 2,5 or 0-3 [default: all that this process may use]
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

/// CPUs as the operating system numbers them.
#[derive(Clone)]
pub(crate) struct Cpus(pub BTreeSet<u32>);

/// How a simulated machine is simulated.
#[derive(Args, Default)]
#[command(next_help_heading = "Options of simulated machines")]
pub(crate) struct SimulationArgs {
    /// Writes what happens in the run of one function or program as a trace for Perfetto
    /// (ui.perfetto.dev); a file is replaced when the run has ended well. With `-`, the trace goes
    /// to standard output while the run goes on, and the result to standard error
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Ends a run that takes more simulated time than this, such as 10ms or 2s, and says who was
    /// running
    #[arg(long, value_name = "SIMULATED_TIME", value_parser = limit, allow_hyphen_values = true)]
    pub limit: Option<Duration>,

    /// Permutes what happens at the same instant, to see other schedules [default: 0, the plain
    /// order]
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,

    /// What to do about programs that overlap transfers, give buffers back in flight or write to
    /// full mailboxes; SPEs that put to a shared buffer do, and gets of more than 16 KB [default:
    /// warn, and off where everything is measured]
    #[arg(long, value_name = "HOW", value_enum)]
    pub hazards: Option<Hazards>,

    /// Counters of SPEs, rings, memory modules and links in the run of one function or program
    #[arg(long)]
    pub counters: bool,

    /// The PPE reaches mailboxes and signals by library calls that enter the kernel, not by stores
    /// and loads: Mailbox-sc and Signal-sc in table 1 of the paper
    #[arg(long)]
    pub system_calls: bool,
}

impl SimulationArgs {
    /// The first of these flags that was given.
    pub fn given(&self) -> Option<&'static str> {
        let of_many = [
            (self.limit.is_some(), "--limit"),
            (self.seed.is_some(), "--seed"),
            (self.hazards.is_some(), "--hazards"),
            (self.system_calls, "--system-calls"),
        ];
        self.of_one_run().or_else(|| first_given(&of_many))
    }

    /// The first of the flags that show what happens in one run, if one was given.
    pub fn of_one_run(&self) -> Option<&'static str> {
        first_given(&[
            (self.trace.is_some(), "--trace"),
            (self.counters, "--counters"),
        ])
    }
}

/// What to do about hazards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hazards {
    /// nothing: they are not looked for
    Off,
    /// say so, and go on
    Warn,
    /// end the run
    Error,
}

/// Compares two results of `stats`, or two of one program of `run`: two machines, or two days; or
/// several runs of each. A file may be `-`, standard input.
///
/// Prints for everything that both have measured the second divided by the first, and for `stats`
/// the interval of that ratio.
#[derive(Args)]
#[command(after_help = COMPARE_AFTER_HELP, override_usage = COMPARE_USAGE)]
pub(crate) struct CompareArgs {
    /// The JSON of the first run and of the second; or with --with, of all runs of the first side
    #[arg(value_name = "FILE", required = true, value_parser = input())]
    pub files: Vec<PathBuf>,

    /// The JSON of all runs of the second side, where a side has several: their medians are
    /// compared, and how far the runs are apart is the interval
    #[arg(long, value_name = "FILE", num_args = 1.., value_parser = input())]
    pub with: Vec<PathBuf>,

    /// Ends with exit code 4 if the second run is slower by more than this, such as 5%: in a time
    /// or a rate that both have measured, beyond both intervals where these are known
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true)]
    pub threshold: Option<f64>,

    /// Compares runs that cannot be relied upon, too, because they were disturbed or are uncertain
    #[arg(long)]
    pub untrusted: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

const COMPARE_USAGE: &str = "\
cellworks compare [OPTIONS] <A.json> <B.json>
       cellworks compare [OPTIONS] <A.json>... --with <B.json>...";

const COMPARE_AFTER_HELP: &str = "\
Examples:
  cellworks compare yesterday.json today.json --html both.html
      Two days of one computer, also as a page for a browser.
  cellworks compare main.json branch.json --threshold 5%
      A gate for a build server.
  cellworks compare main-*.json --with branch-*.json --threshold 5%
      The same with several runs of each side: what lies within their spread is not slower.

Exit codes: 0 done, 1 the result could not be written, 2 the arguments or files make no sense, or a run
cannot be relied upon, 4 the second run is slower by more than --threshold.";

/// Simulates what papers have published, and prints both numbers and the error.
///
/// Without PAPER it takes all of them. What a paper keeps back is predicted.
#[derive(Args)]
#[command(after_help = REPRODUCE_AFTER_HELP)]
pub(crate) struct ReproduceArgs {
    /// The paper
    #[arg(value_name = "PAPER", value_parser = PossibleValuesParser::new(Paper::names()))]
    pub paper: Option<String>,

    /// Simulates what takes long, too: of jack-rabbit the matrices of 3k and 4k and a million
    /// bodies, which take about 4 minutes more on two CPUs
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

Exit codes: 0 done, 1 the run or some simulations failed, 2 the arguments make no sense,
130 interrupted.";

/// Lists the simulated machines that are built in, or shows one of them.
///
/// A machine is shown as TOML: every number with its unit, its source and how sure it is. Saved and
/// edited, it is a machine of your own. A file is checked and shown the same way; one that ends in
/// .csv holds a matrix of one-way times between cores, in nanoseconds.
#[derive(Args)]
#[command(after_help = MACHINES_AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct MachinesArgs {
    #[command(subcommand)]
    pub command: Option<MachinesCommand>,

    /// The machine to show: its name, or a file; `host` is what `cellworks machine` shows
    pub machine: Option<String>,

    /// How to print the list. A description is printed as TOML
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// What is done with several machines.
#[derive(Subcommand)]
pub(crate) enum MachinesCommand {
    /// Lists the keys in which two descriptions differ, with the values of both
    Diff {
        /// The one machine: its name, or a file
        a: String,
        /// The other one
        b: String,
    },
}

/// Prints the completions for a shell.
///
/// For bash: cellworks completions bash > ~/.local/share/bash-completion/completions/cellworks
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

/// Puts together what the shares of a sweep have found, as if one process had simulated all of it.
///
/// A share is what --share chooses of `run`, `reproduce` or `map ring`, or what a task of Slurm or
/// MPI does. Results that no file has are named.
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

/// Where the result goes.
#[derive(Args, Clone)]
#[command(next_help_heading = "Options")]
pub(crate) struct OutputArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Writes the result as a page for a browser, too: one file that needs no network. With `-` the
    /// page goes to standard output, and what --format says to standard error; so do --json and
    /// --csv. A run that does not come to its end writes beside a file that is there
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Writes the result as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Writes the result as CSV, too
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

impl OutputArgs {
    /// The files for the result, beside what is printed.
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

    /// Whether the result is shown as JSON.
    pub fn has_json(&self) -> bool {
        self.json.is_some() || matches!(self.format, Format::Json)
    }
}

impl CommonArgs {
    /// Refuses counters that nothing would show.
    pub fn check_counters(&self) -> Result<(), Failure> {
        let is_shown = self.output.has_json() || self.output.html.is_some();
        match self.output.format {
            Format::Csv if self.simulation.counters && !is_shown => Err(Failure::Usage(
                "--counters with --format csv: CSV has no counters; add --json FILE, or leave one of them out"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// ` --machine qs20` for the examples of a simulated machine, and for this computer the CPUs
    /// that were chosen.
    pub fn machine_flag(&self) -> String {
        let machine = &self.machine;
        match machine != HOST {
            // What an example names is there only with the same CPUs.
            false => self.cpus.as_ref().map_or_else(String::new, |Cpus(cpus)| {
                let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
                format!(" --cpus {}", cpus.join(","))
            }),
            true if machine.contains(char::is_whitespace) => format!(" --machine '{machine}'"),
            true => format!(" --machine {machine}"),
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

/// What is opened where a user writes `-` for a file that the command reads.
const STANDARD_INPUT: &str = "/dev/stdin";

/// A file that the command reads. `-` is standard input.
pub(crate) fn input() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| match path.as_os_str() == "-" {
        true => PathBuf::from(STANDARD_INPUT),
        false => path,
    })
}

/// Refuses two inputs that are both standard input.
pub(crate) fn refuse_standard_input_twice<'p>(
    inputs: impl IntoIterator<Item = &'p PathBuf>,
) -> Result<(), Failure> {
    let is_standard_input = |path: &&PathBuf| *path == Path::new(STANDARD_INPUT);
    match inputs.into_iter().filter(is_standard_input).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::Usage(
            "-: standard input can be read only once; write one of the inputs to a file, and name that"
                .to_owned(),
        )),
    }
}

/// CPUs in Linux's notation.
fn cpus(text: &str) -> Result<Cpus, String> {
    let cpus = cellworks_host::parse_cpus(text).filter(|cpus| !cpus.is_empty());
    cpus.map(Cpus)
        .ok_or_else(|| "CPUs are numbers and ranges with commas between; use 2,5 or 0-3".to_owned())
}

/// What chooses between runs that are as good as each other.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse();
    seed.map_err(|_| format!("a seed is a whole number from 0 to {}; use 1", u64::MAX))
}

/// How many percent, such as `5%`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map(str::trim_end);
    let percent = number.and_then(|number| number.parse::<f64>().ok());
    let percent = percent.filter(|percent| *percent >= 0.0 && percent.is_finite());
    percent.ok_or_else(|| "a threshold is a percentage of 0% or more; use 5%".to_owned())
}

/// How much time may pass on a simulated machine.
fn limit(text: &str) -> Result<Duration, String> {
    const RULE: &str = "a limit is a simulated time with its unit, such as 10ms or 2s";
    above_0(text, "nothing happens in no time", RULE)
}

/// A time that is above 0, with its unit.
pub(crate) fn above_0(text: &str, in_no_time: &str, rule: &str) -> Result<Duration, String> {
    let is_negative = text.starts_with('-');
    let time = humantime::parse_duration(text.trim_start_matches('-'));
    match time.map_err(|why| format!("{why}; {rule}"))? {
        time if time.is_zero() || is_negative => Err(format!("{in_no_time}; {rule}")),
        time => Ok(time),
    }
}

/// The value of a flag, read by `read`; the message says a value that would be right, besides.
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

/// A count of what this process keeps.
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

/// The order of a matrix.
pub(crate) fn order(text: &str) -> Result<u64, String> {
    number(text, 1_024, "orders are whole numbers, with k for 1,024")
}

/// A whole number, with a multiplier `k`, `m` or `g`. A size, of which a `kilo` is 1,024, may have
/// its unit, too: `16KB` and `16KiB` are both `16k`, as results are printed.
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
