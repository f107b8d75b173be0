//! What can be typed.
//!
//! The flags of `stats` are CellStats' own (section 3.1 of the paper) and some more. Here they are
//! only read; whether they make sense together and on a machine is for [`Request::plan`] to say.

use std::path::PathBuf;
use std::time::Duration;

use crate::Failure;
use crate::machine::Kind;
use crate::output::Printed;
use crate::output_file::OutputFile;
use crate::run::RunArgs;
use crate::session::Shown;
use cellworks_machine::{CellId, ModuleId, Span};
use cellworks_reproduce::Paper;
use cellworks_stats::{
    Count, Function, Iterations, Polling, Primitive, Request, Setting, Settings,
};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand, ValueEnum};

/// Programs, measures and maps machines made of cells: cores with small local stores that move data
/// by DMA, mailboxes and signals.
#[derive(Parser)]
#[command(name = "cellworks", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Stats(Box<StatsArgs>),
    Run(Box<RunArgs>),
    Compare(CompareArgs),
    Reproduce(ReproduceArgs),
    Machines(MachinesArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The name of this computer.
pub(crate) const HOST: &str = "host";

/// How long everything takes at the most.
const EVERYTHING_BUDGET: Duration = Duration::from_secs(50);

/// How long a matrix takes at the most.
const MATRIX_BUDGET: Duration = Duration::from_secs(120);

/// Which numbers take which multipliers, and examples.
fn after_help() -> String {
    let flags = |is_size| {
        let settings = Setting::ALL.into_iter();
        let settings = settings.filter(move |setting| setting.is_size == is_size);
        settings.map(|setting| setting.flag).collect::<Vec<_>>()
    };
    let counts = [vec!["-i", "-w", "-n", "-N"], flags(false)]
        .concat()
        .join(", ");
    let sizes = flags(true).join(", ");
    let multipliers = format!(
        "Counts ({counts}) take k for 1,000 and m for 1,000,000; sizes ({sizes}) take k for 1,024 and \
         m for 1,048,576."
    );
    multipliers + "\n\n" + EXAMPLES
}

const EXAMPLES: &str = "\
Examples:
  cellworks stats --html report.html
      Everything, in under a minute, also as a page for a browser.
  cellworks stats --matrix atomic
      The time from every core to every other, as a heat map.
  cellworks stats -f mailbox -n 2 -s
      A word from SPE 0 to another SPE of Cell 0, and back.
  cellworks stats -f dmaget -N 2 -b 16k -t 32k
      Two SPEs get blocks of 16 KB, each from its own buffer, the buffers 32 KB apart.
  cellworks stats -f dmalistput -l 64 -b 256 -i 100k --format json
      Lists of 64 blocks of 256 bytes, 100,000 times, as JSON.
  cellworks stats --machine qs20 -f dmaget -N 8 -b 16k
      What eight SPEs of a simulated Cell blade get together.
  cellworks stats --machine qs20 -f dmaget -i 20 --trace get.pftrace
      The same moment by moment: open the file at ui.perfetto.dev.

Exit codes: 0 done, 1 the run failed or a result cannot be true, 2 the arguments make no sense,
3 measured, but disturbed or uncertain, 130 interrupted.";

const MACHINES_AFTER_HELP: &str = "\
Examples:
  cellworks machines
      The machines that are built in.
  cellworks machines qs20 > my.toml
      A description to edit.
  cellworks machines my.toml
      Whether it still describes a machine.";

/// Measures what communication costs: threads, mailboxes, signals, DMA and atomic operations.
///
/// Without -f it measures everything.
#[derive(Args)]
#[command(after_help = after_help(), allow_negative_numbers = true)]
pub(crate) struct StatsArgs {
    /// What to measure
    #[arg(short = 'f', value_name = "FUNCTION", value_parser = function_parser())]
    pub function: Option<Function>,

    /// How many SPEs, all on one buffer [default: 1, or 2 with -s]
    #[arg(short = 'n', value_name = "SPES", value_parser = count)]
    pub shared: Option<u64>,

    /// How many SPEs, each on a buffer of its own
    #[arg(short = 'N', value_name = "SPES", value_parser = count)]
    pub private: Option<u64>,

    /// How often each SPE does it [default: as often as takes about 0.2 s; on a simulated machine, until
    /// it is steady]
    #[arg(short = 'i', value_name = "ITERATIONS", value_parser = count)]
    pub iterations: Option<u64>,

    /// How often before that, without measuring [default: until 10 ms have passed; on a simulated machine
    /// 16 times or less]
    #[arg(short = 'w', value_name = "WARM-UP", value_parser = count)]
    pub warm_up: Option<u64>,

    #[command(flatten)]
    pub settings: SettingsArgs,

    /// The Cell whose SPEs are taken first; on the host, the cores under one last-level cache
    /// [default: the first Cell that has an SPE to take]
    #[arg(short = 'c', value_name = "CELL", value_parser = index)]
    pub cell: Option<u16>,

    /// The memory module that holds buffers and variables; on the host, the NUMA node. With -s it
    /// holds only what the PPE tells the SPEs [default: the nearest to the Cell]
    #[arg(short = 'm', value_name = "MODULE", value_parser = index)]
    pub module: Option<u16>,

    /// Between SPEs: SPE 0 takes the place of the PPE for mailbox and signal, and its local store the
    /// place of main memory for DMA
    #[arg(short = 's')]
    pub between_spes: bool,

    /// The one-way time from every SPE to every other, in place of a function
    #[arg(long, value_name = "PRIMITIVE", value_parser = primitive_parser())]
    pub matrix: Option<Primitive>,

    /// How the receiver of `--matrix atomic` waits [default: reads]
    #[arg(long, value_name = "HOW", value_parser = polling_parser())]
    pub polling: Option<Polling>,

    /// Every pair of a matrix, however long it takes; otherwise pairs are sampled where there are too
    /// many for the budget
    #[arg(long)]
    pub full: bool,

    /// How long everything may take, such as 30s or 5m
    /// [default: 50s for everything, 2m for a matrix, 0.2s for one function]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub budget: Option<Duration>,

    /// All samples, in JSON only
    #[arg(long)]
    pub samples: bool,

    #[command(flatten)]
    pub common: CommonArgs,
}

/// The flags of all settings, as their rows say.
pub(crate) struct SettingsArgs(pub Settings);

impl Args for SettingsArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(Setting::ALL.iter().map(|setting| {
            let parser: fn(&str) -> Result<u64, String> = match setting.is_size {
                true => size,
                false => count,
            };
            let arg = clap::Arg::new(setting.name)
                .value_name(setting.value_name)
                .value_parser(parser)
                .help(setting.help);
            match (setting.flag.strip_prefix("--"), setting.flag.chars().nth(1)) {
                (Some(long), _) => arg.long(long),
                (None, short) => arg.short(short),
            }
        }))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingsArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self(Settings::default());
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in &Setting::ALL {
            if let Some(number) = matches.get_one::<u64>(setting.name) {
                (setting.set)(&mut self.0, Some(clamp(*number)));
            }
        }
        Ok(())
    }
}

/// What is done on a machine has these flags.
#[derive(Args)]
pub(crate) struct CommonArgs {
    /// The machine: `host`, this computer, or a simulated one: ps3, qs20, qs22, scc, or a file that
    /// describes one
    #[arg(long, value_name = "MACHINE", default_value = HOST)]
    pub machine: String,

    #[command(flatten)]
    pub simulation: SimulationArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    /// No progress and no warnings
    #[arg(long, help_heading = "Options")]
    pub quiet: bool,
}

/// How a simulated machine is simulated.
#[derive(Args)]
#[command(next_help_heading = "Options of simulated machines")]
pub(crate) struct SimulationArgs {
    /// Writes what happens in the run of one function or program as a trace for Perfetto
    /// (ui.perfetto.dev); a file is replaced when the run has ended well. With `-`, the trace goes
    /// to standard output while the run goes on, and the result to standard error
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Ends a run that takes more simulated time than this, such as 10ms or 2s, and says who was
    /// running
    #[arg(long, value_name = "SIMULATED_TIME", value_parser = limit)]
    pub limit: Option<Duration>,

    /// Permutes what happens at the same instant, to see other schedules [default: 0, the plain order]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,

    /// What to do about programs that overlap transfers, give buffers back in flight or write to full
    /// mailboxes; SPEs that put to a shared buffer do, and gets of more than 16 KB [default: warn, and off
    /// where everything is measured]
    #[arg(long, value_name = "HOW", value_enum)]
    pub hazards: Option<Hazards>,

    /// Counters of SPEs, rings, memory modules and links in the run of one function or program
    #[arg(long)]
    pub counters: bool,

    /// The PPE reaches mailboxes and signals by library calls that enter the kernel, not by stores and
    /// loads: Mailbox-sc and Signal-sc in table 1 of the paper
    #[arg(long)]
    pub system_calls: bool,
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

/// Compares two results of `stats`, or two of one program of `run`: two machines, or two days.
///
/// Prints for everything that both have measured the second divided by the first, and for `stats` the
/// interval of that ratio.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The JSON of the first run
    #[arg(value_name = "A.json")]
    pub a: PathBuf,

    /// The JSON of the second run
    #[arg(value_name = "B.json")]
    pub b: PathBuf,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Simulates what papers have published, and prints both numbers and the error.
///
/// Without PAPER it takes all of them. What a paper keeps back is predicted.
#[derive(Args)]
#[command(after_help = REPRODUCE_AFTER_HELP)]
pub(crate) struct ReproduceArgs {
    /// The paper
    #[arg(value_name = "PAPER", value_parser = PossibleValuesParser::new(Paper::names()))]
    pub paper: Option<String>,

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
/// edited, it is a machine of your own. A file is checked and shown the same way; one that ends in .csv
/// holds a matrix of one-way times between cores, in nanoseconds.
#[derive(Args)]
#[command(after_help = MACHINES_AFTER_HELP)]
pub(crate) struct MachinesArgs {
    /// The machine to show: its name, or a file
    pub machine: Option<String>,

    /// How to print the list
    #[arg(long, value_enum, default_value_t = Format::Table, conflicts_with = "machine")]
    pub format: Format,
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

/// Where the result goes.
#[derive(Args)]
#[command(next_help_heading = "Options")]
pub(crate) struct OutputArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Writes the result as a page for a browser, too: one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl OutputArgs {
    /// The file for the page, if there is to be one.
    pub fn page(&self) -> Result<Option<OutputFile>, Failure> {
        let Some(path) = &self.html else {
            return Ok(None);
        };
        let page = OutputFile::open("--html", path)?;
        match page.is_standard_output() {
            true => Err(page.refused(&"the result is printed there")),
            false => Ok(Some(page)),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// One object, described in docs/json.md
    Json,
    /// A header and lines for a spreadsheet, described in docs/csv.md
    Csv,
}

/// What the arguments ask for.
pub(crate) enum Wanted {
    Everything,
    One(Request),
}

impl StatsArgs {
    /// Puts the flags together; the message says why that is not possible.
    pub fn wanted(&self) -> Result<Wanted, String> {
        self.check_simulation()?;
        if let Some(primitive) = self.matrix {
            return self.matrix(primitive).map(Wanted::One);
        }
        let of_a_matrix = [(self.polling.is_some(), "--polling"), (self.full, "--full")];
        if let Some(flag) = first_given(&of_a_matrix) {
            return Err(format!(
                "{flag} without --matrix: it says how a matrix is measured; name what it is of\n  \
                 example: cellworks stats --matrix atomic {flag}{}",
                if flag == "--polling" { " reads" } else { "" }
            ));
        }
        let Some(function) = self.function else {
            return match first_given(&self.of_one_function()) {
                None => Ok(Wanted::Everything),
                Some(flag) => Err(format!(
                    "{flag} without -f: it belongs to one function, and without -f everything is \
                     measured; name a function\n  example: cellworks stats -f dmaget -b 1k -i 1000"
                )),
            };
        };
        let spes = match (self.shared, self.private) {
            (Some(n), Some(private)) => {
                return Err(format!(
                    "-n {n} with -N {private}: buffers are either shared or private; use one of \
                     them\n  example: cellworks stats -f {function} -n {n}"
                ));
            }
            (None, Some(private)) => Count::Private(clamp(private)),
            (Some(shared), None) => Count::Shared(clamp(shared)),
            (None, None) => Count::Shared(if self.between_spes { 2 } else { 1 }),
        };
        if self.samples && !matches!(self.common.output.format, Format::Json) {
            return Err(format!(
                "--samples without --format json: samples are in JSON only\n  example: cellworks \
                 stats -f {function} --samples --format json"
            ));
        }
        let usual = Request::new(function);
        let iterations = match (self.iterations, self.budget) {
            (Some(iterations), Some(_)) => {
                return Err(format!(
                    "-i {iterations} with --budget: a number of iterations takes as long as it \
                     takes; use one of them\n  example: cellworks stats -f {function} -i {iterations}"
                ));
            }
            (Some(iterations), None) => Iterations::Exactly(iterations),
            (None, Some(budget)) => Iterations::Within(span(budget)),
            (None, None) => usual.iterations,
        };
        Ok(Wanted::One(Request {
            spes,
            iterations,
            warm_up: self.warm_up,
            settings: self.settings.0,
            cell: self.cell.map(CellId::new),
            module: self.module.map(ModuleId::new),
            between_spes: self.between_spes,
            keep_samples: self.samples,
            ..usual
        }))
    }

    fn matrix(&self, primitive: Primitive) -> Result<Request, String> {
        let example = format!("example: cellworks stats --matrix {}", primitive.name());
        let foreign = [(self.function.is_some(), "-f"), (self.samples, "--samples")];
        let foreign = first_given(&foreign).or_else(|| {
            let given = self.of_one_function().into_iter();
            let foreign: Vec<_> = given
                .filter(|(_, flag)| !matches!(*flag, "-b" | "-m"))
                .collect();
            first_given(&foreign)
        });
        if let Some(flag) = foreign {
            return Err(format!(
                "{flag} with --matrix: a matrix takes every pair of SPEs as it is; leave {flag} \
                 out\n  {example}"
            ));
        }
        if self.full && self.budget.is_some() {
            return Err(format!(
                "--full with --budget: every pair takes as long as it takes; use one of them\n  \
                 {example} --full"
            ));
        }
        Ok(Request {
            polling: self.polling,
            settings: self.settings.0,
            module: self.module.map(ModuleId::new),
            budget: self.budget_of_a_matrix().map(span),
            ..Request::new(Function::Matrix(primitive))
        })
    }

    /// [`CommonArgs::machine_flag`].
    pub fn machine_flag(&self) -> String {
        self.common.machine_flag()
    }

    /// Refuses flags of simulated machines for this computer, flags of this computer for simulated
    /// machines, and flags of one run for many.
    fn check_simulation(&self) -> Result<(), String> {
        let SimulationArgs {
            trace,
            limit,
            seed,
            hazards,
            counters,
            system_calls,
        } = &self.common.simulation;
        let of_one_run = [(trace.is_some(), "--trace"), (*counters, "--counters")];
        let of_a_simulation = [
            (limit.is_some(), "--limit"),
            (seed.is_some(), "--seed"),
            (hazards.is_some(), "--hazards"),
            (*system_calls, "--system-calls"),
        ];
        let machine = self.machine_flag();
        if self.budget.is_some() && self.common.kind().capabilities().repeats {
            return Err(format!(
                "--budget with{machine}: a simulated machine takes the same time whenever it is \
                 measured, so there is nothing to share out; leave it out, or end long runs with \
                 --limit\n  example: cellworks stats{machine} --limit 1s"
            ));
        }
        if self.common.kind() != Kind::Simulated {
            let given = first_given(&of_one_run).or_else(|| first_given(&of_a_simulation));
            return given.map_or(Ok(()), |flag| {
                Err(format!(
                    "{flag} with --machine {}: only a simulated machine has it; choose one, such as \
                     qs20, or leave {flag} out\n  example: cellworks stats --machine qs20 -f dmaget",
                    self.common.machine
                ))
            });
        }
        match first_given(&of_one_run) {
            Some(flag) if self.function.is_none() => Err(format!(
                "{flag} without -f: it is of one run, and {} many; name a function\n  example: \
                 cellworks stats{machine} -f dmaget",
                if self.matrix.is_some() {
                    "a matrix is of"
                } else {
                    "everything has"
                }
            )),
            _ => Ok(()),
        }
    }

    /// How long everything may take.
    pub fn budget_of_everything(&self) -> Duration {
        self.budget.unwrap_or(EVERYTHING_BUDGET)
    }

    /// How long a matrix may take; `None` if all of it was asked for, or if the machine takes the same
    /// time whenever it is measured.
    pub fn budget_of_a_matrix(&self) -> Option<Duration> {
        let is_bounded = !self.full && !self.common.kind().capabilities().repeats;
        is_bounded.then(|| self.budget.unwrap_or(MATRIX_BUDGET))
    }

    /// The flags that have no meaning when everything is measured, and whether they were given; a
    /// matrix takes `-b` and `-m` of them.
    fn of_one_function(&self) -> Vec<(bool, &'static str)> {
        let settings = Setting::ALL.iter();
        let is_set = |setting: &Setting| (setting.get)(&self.settings.0).is_some();
        let settings = settings.map(|setting| (is_set(setting), setting.flag));
        let mut flags = vec![
            (self.shared.is_some(), "-n"),
            (self.private.is_some(), "-N"),
            (self.iterations.is_some(), "-i"),
            (self.warm_up.is_some(), "-w"),
            (self.cell.is_some(), "-c"),
            (self.module.is_some(), "-m"),
            (self.between_spes, "-s"),
        ];
        flags.extend(settings);
        flags
    }
}

impl CommonArgs {
    /// Which kind of machine it is.
    pub fn kind(&self) -> Kind {
        Kind::of(&self.machine)
    }

    /// How what is found is shown, with this page.
    pub fn shown(&self, page: Option<OutputFile>) -> Shown {
        Shown {
            format: self.output.format,
            printed: Printed::ToStandardOutput,
            page,
            quiet: self.quiet,
        }
    }

    /// ` --machine qs20` for the examples of a simulated machine, and nothing for this computer.
    pub fn machine_flag(&self) -> String {
        let machine = &self.machine;
        match machine != HOST {
            false => String::new(),
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

/// A number that is too large for this computer's `usize` is too large for everything that it
/// could mean.
fn clamp(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn primitive_parser() -> impl TypedValueParser<Value = Primitive> {
    let value = |one: Primitive| PossibleValue::new(one.name()).help(one.carrier());
    PossibleValuesParser::new(Primitive::ALL.map(value)).map(|name| {
        let named = Primitive::ALL.into_iter().find(|one| one.name() == name);
        named.expect("clap lets only names of primitives pass")
    })
}

fn polling_parser() -> impl TypedValueParser<Value = Polling> {
    let value = |one: Polling| PossibleValue::new(one.name()).help(one.way());
    PossibleValuesParser::new(Polling::ALL.map(value)).map(|name| {
        let named = Polling::ALL.into_iter().find(|one| one.name() == name);
        named.expect("clap lets only names of ways of polling pass")
    })
}

/// How much time may pass on a simulated machine.
fn limit(text: &str) -> Result<Duration, String> {
    const RULE: &str = "a limit is a simulated time with its unit, such as 10ms or 2s";
    let limit = humantime::parse_duration(text).map_err(|why| format!("{why}; {RULE}"))?;
    if limit.is_zero() {
        return Err(format!("nothing happens in no time; {RULE}"));
    }
    Ok(limit)
}

/// How long a run may take.
fn budget(text: &str) -> Result<Duration, String> {
    const RULE: &str = "a budget is a time with its unit, such as 500ms, 30s or 5m";
    let budget = humantime::parse_duration(text).map_err(|why| format!("{why}; {RULE}"))?;
    if budget.is_zero() {
        return Err(format!("nothing can be measured in no time; {RULE}"));
    }
    Ok(budget)
}

fn function_parser() -> impl TypedValueParser<Value = Function> {
    let value = |function: Function| {
        let value = PossibleValue::new(function.name()).help(function.operation());
        match function.other_name() {
            Some(other) => value.alias(other),
            None => value,
        }
    };
    PossibleValuesParser::new(Function::ALL.map(value))
        .map(|name| Function::from_name(&name).expect("clap lets only names of functions pass"))
}

pub(crate) fn count(text: &str) -> Result<u64, String> {
    number(
        text,
        1_000,
        "counts are whole numbers, with k for 1,000 or m for 1,000,000; use 10k",
    )
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    number(
        text,
        1_024,
        "sizes are whole bytes, with k for 1,024 or m for 1,048,576; use 16k",
    )
}

/// The number of a Cell or of a memory module.
fn index(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| {
        format!(
            "Cells and memory modules have numbers from 0 to {}; use 0",
            u16::MAX
        )
    })
}

/// A whole number, with a multiplier `k` or `m`.
fn number(text: &str, kilo: u64, rule: &str) -> Result<u64, String> {
    let (digits, multiplier) = match text.strip_suffix(['k', 'm']) {
        Some(digits) if text.ends_with('k') => (digits, kilo),
        Some(digits) => (digits, kilo * kilo),
        None => (text, 1),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
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
    fn the_arguments_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

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
        for text in [
            "", "k", "1K", "1.5k", "-1", "+1", "1 k", "1kk", "0x10", "1g",
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
