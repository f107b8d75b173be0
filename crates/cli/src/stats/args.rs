//! The arguments of `stats`: the flags of CellStats (section 3.1 of its paper) and some more.
//! [`Request::plan`] checks whether the flags fit together, and whether they fit the machine.

use std::time::Duration;

use cellworks_machine::{CellId, ModuleId};
use cellworks_stats::{Count, Function, Iterations, Polling, Request, Setting, Settings};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{ArgMatches, Args, FromArgMatches};

use crate::args::{CommonArgs, above_0, count, first_given, one_of, size, span, such_as};
use crate::machine::MachineKind;

/// The default time for the measurement of everything.
const EVERYTHING_BUDGET: Duration = Duration::from_secs(50);

/// The default time for a matrix.
const MATRIX_BUDGET: Duration = Duration::from_secs(120);

/// Returns the end of the help text: the suffixes of counts and sizes, such as k, and examples.
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
        "Counts ({counts}) take k for 1,000, m for 1,000,000 and g for 1,000,000,000; sizes ({sizes}) take k, \
         KB or KiB for 1,024, and so on for m and g."
    );
    multipliers + "\n\n" + EXAMPLES
}

const EXAMPLES: &str = "\
Examples:
  cellworks stats --html report.html
      Everything, in under a minute, also as a page for a browser.
  cellworks stats --until-trusted 10m --json run-1.json
      On a busy build server: measures again what was disturbed, for at most ten minutes.
  cellworks stats --matrix atomic
      The time from every core to every other, as a heat map.
  cellworks stats --matrix memory
      Latency and bandwidth from every NUMA node to every other.
  cellworks stats -f mailbox -n 2 -s
      A word from SPE 0 to another SPE of Cell 0, and back.
  cellworks stats -f mailbox -f signal --json today.json
      Both in one run, also as JSON.
  cellworks stats -f dmaget -N 2 -b 16k -t 32k
      Two SPEs get blocks of 16 KB, each from its own buffer, the buffers 32 KB apart.
  cellworks stats -f dmalistput -l 64 -b 256 -i 100k --format json
      Lists of 64 blocks of 256 bytes, 100,000 times, as JSON.
  cellworks stats --machine qs20 -f dmaget -N 8 -b 16k
      What eight SPEs of a simulated Cell blade get together.
  cellworks stats --machine qs20 -f dmaget -i 20 --trace get.pftrace
      The same moment by moment: open the file at ui.perfetto.dev.

Exit codes: 0 done, 1 the run failed or a result cannot be true, 2 the arguments make no sense, \
3 measured, but disturbed, uncertain or unsteady, 130 interrupted.";

/// Measures what communication costs: threads, mailboxes, signals, DMA and atomic operations.
///
/// Without -f it measures everything: on a computer with a few cores in some 20 s, and on a
/// simulated machine, on one CPU of an Intel Xeon, in 7 s (ps3), 30 s (qs20) or 5 s (scc).
///
/// The flags use the words of the Cell. An SPE is a core with a local store, which is its own small
/// memory; on this computer an SPE is a CPU. The PPE is the main core, which starts SPEs; on this
/// computer it is the main thread. A Cell is a group of SPEs; on this computer it is an L3 group,
/// the CPUs under one last-level cache. A memory module is a NUMA node on this computer. DMA copies
/// between main memory and a local store. A mailbox passes a word.
#[derive(Args)]
#[command(after_help = after_help(), allow_negative_numbers = true)]
pub(crate) struct StatsArgs {
    /// The function to measure; several -f are measured in one run
    #[arg(short = 'f', value_name = "FUNCTION", value_parser = function_parser())]
    pub functions: Vec<Function>,

    /// The number of SPEs, which share one buffer [default: 1, or 2 with -s (between SPEs)]
    #[arg(short = 'n', value_name = "SPES", value_parser = such_as("2", count))]
    pub shared: Option<u64>,

    /// The number of SPEs, each with its own buffer
    #[arg(short = 'N', value_name = "SPES", value_parser = such_as("2", count))]
    pub private: Option<u64>,

    /// The number of operations of each SPE [default: as many as take about 0.2 s; on a simulated
    /// machine, as many as are needed for steady times]
    #[arg(short = 'i', value_name = "ITERATIONS", value_parser = such_as("10k", count))]
    pub iterations: Option<u64>,

    /// The number of operations of the warm-up, which are not measured [default: as many as take 10
    /// ms, or 2.5 ms after another measurement; on a simulated machine 16 or fewer]
    #[arg(short = 'w', value_name = "WARM-UP", value_parser = such_as("10k", count))]
    pub warm_up: Option<u64>,

    #[command(flatten)]
    pub settings: SettingsArgs,

    /// SPEs of this Cell are taken first; on the host, a Cell is the cores under one last-level
    /// cache [default: the first Cell that has an SPE to take]
    #[arg(short = 'c', value_name = "CELL", value_parser = index)]
    pub cell: Option<u16>,

    /// The memory module of the buffers and variables; on the host, the NUMA node. With -s the
    /// buffers are in local stores, and the module has only the messages in which the PPE describes
    /// the work of the SPEs [default: the nearest to the Cell]
    #[arg(short = 'm', value_name = "MODULE", value_parser = index)]
    pub module: Option<u16>,

    /// Measures between SPEs. In mailbox and in signal, SPE 0 takes the place of the PPE. In DMA
    /// functions, the local store of SPE 0 takes the place of main memory
    #[arg(short = 's')]
    pub between_spes: bool,

    /// Instead of a function, measures the one-way time from every SPE to every other SPE, or for
    /// `memory`, the latency and the bandwidth with which the CPUs of every NUMA node read the
    /// memory of every NUMA node
    #[arg(long, value_name = "WHAT", value_parser = matrix_parser())]
    pub matrix: Option<Function>,

    /// How the receiver of `--matrix atomic` waits for a new value [default: reads]
    #[arg(long, value_name = "HOW", value_parser = polling_parser())]
    pub polling: Option<Polling>,

    /// Measures every pair of a matrix, however long it takes [default: samples pairs if the budget
    /// is too short for all]
    #[arg(long)]
    pub full: bool,

    /// The time for the whole run, such as 30s or 5m [default: 50s for everything, 2m for a matrix,
    /// 0.2s for each function]
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,

    /// The time for the whole run, such as 10m, in which it measures again what was disturbed by
    /// other programs, or while the computer was in another state, until nothing was. It counts
    /// from the start: if less time is left after everything was measured once, less is repeated.
    /// A measurement that has begun is finished, so a busy computer takes somewhat longer. Then
    /// ends with 0 or with 3
    #[arg(long, value_name = "TIME", value_parser = until_trusted, allow_hyphen_values = true)]
    pub until_trusted: Option<Duration>,

    /// Adds all samples to the result, in JSON only
    #[arg(long)]
    pub samples: bool,

    #[command(flatten)]
    pub common: CommonArgs,
}

/// The flags of all settings, made from the table of settings.
pub(crate) struct SettingsArgs(pub Settings);

impl Args for SettingsArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(Setting::ALL.iter().map(|setting| {
            let parser = |text: &str| number(setting, text);
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

/// Parses the value of a setting.
fn number(setting: &Setting, text: &str) -> Result<u64, String> {
    let number = if setting.is_size {
        such_as(setting.example, size)(text)?
    } else {
        such_as(setting.example, count)(text)?
    };
    let mut settings = Settings::default();
    (setting.set)(&mut settings, Some(clamp(number)));
    match (setting.get)(&settings) {
        Some(kept) if kept as u64 == number => Ok(number),
        kept => Err(format!(
            "more than {}, the largest number that it can be; use less",
            kept.unwrap_or_default()
        )),
    }
}

pub(crate) enum Wanted {
    Everything,
    These(Vec<Request>),
}

impl StatsArgs {
    /// Combines the flags to a request. The error is the reason why the flags do not fit together.
    pub fn wanted(&self) -> Result<Wanted, String> {
        // A function that is named twice is measured once.
        let mut functions = Vec::new();
        for function in &self.functions {
            if !functions.contains(function) {
                functions.push(*function);
            }
        }
        self.check_simulation(functions.len())?;
        if let Some(function) = self.matrix {
            return Ok(Wanted::These(vec![self.matrix(function)?]));
        }
        let of_a_matrix = [(self.polling.is_some(), "--polling"), (self.full, "--full")];
        if let Some(flag) = first_given(&of_a_matrix) {
            return Err(format!(
                "{flag} without --matrix: it says how a matrix is measured; name what it is of\n  \
                 example: cellworks stats{} --matrix atomic {flag}{}",
                self.machine_of_a_matrix(),
                if flag == "--polling" { " reads" } else { "" }
            ));
        }
        if self.samples && !self.common.output.has_json() {
            let function = functions.first().copied().unwrap_or(Function::DmaGet);
            return Err(format!(
                "--samples without --format json: samples are in JSON only\n  example: cellworks \
                 stats -f {function} --samples --format json"
            ));
        }
        let Some(&function) = functions.first() else {
            return match first_given(&self.single_function_flags()) {
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
                     them\n  example: cellworks stats -f {function} -n {}",
                    if self.has_one_spe() { 1 } else { n }
                ));
            }
            (None, Some(private)) => Count::Private(clamp(private)),
            (Some(shared), None) => Count::Shared(clamp(shared)),
            (None, None) => Count::Shared(if self.between_spes { 2 } else { 1 }),
        };
        let iterations = match (self.iterations, self.budget) {
            (Some(iterations), Some(_)) => {
                return Err(format!(
                    "-i {iterations} with --budget: a number of iterations takes as long as it \
                     takes; use one of them\n  example: cellworks stats -f {function} -i {iterations}"
                ));
            }
            (Some(iterations), None) => Iterations::Exactly(iterations),
            (None, Some(budget)) => Iterations::Within(span(budget / functions.len() as u32)),
            (None, None) => Request::new(function).iterations,
        };
        let requests = functions.into_iter().map(|function| Request {
            spes,
            iterations,
            warm_up: self.warm_up,
            settings: self.settings.0,
            cell: self.cell.map(CellId::new),
            module: self.module.map(ModuleId::new),
            between_spes: self.between_spes,
            keep_samples: self.samples,
            ..Request::new(function)
        });
        Ok(Wanted::These(requests.collect()))
    }

    fn matrix(&self, function: Function) -> Result<Request, String> {
        let example = || {
            let machine = match function {
                Function::Memory => String::new(),
                _ => self.machine_of_a_matrix(),
            };
            format!(
                "example: cellworks stats{machine} --matrix {}",
                function.name()
            )
        };
        let foreign = [
            (!self.functions.is_empty(), "-f"),
            (self.samples, "--samples"),
        ];
        let foreign = first_given(&foreign).or_else(|| {
            let given = self.single_function_flags().into_iter();
            let foreign: Vec<_> = given.filter(|(_, flag)| !is_of_a_matrix(flag)).collect();
            first_given(&foreign)
        });
        if let Some(flag) = foreign {
            let takes = match function {
                Function::Memory => "one SPE of each NUMA node or Cell, and every memory module",
                _ => "every pair of SPEs as it is",
            };
            return Err(format!(
                "{flag} with --matrix: a matrix takes {takes}; leave {flag} out\n  {}",
                example()
            ));
        }
        if self.full && self.budget.is_some() {
            return Err(format!(
                "--full with --budget: every pair takes as long as it takes; use one of them\n  \
                 {} --full",
                example()
            ));
        }
        Ok(Request {
            polling: self.polling,
            settings: self.settings.0,
            module: self.module.map(ModuleId::new),
            budget: self.budget_of_a_matrix().map(span),
            ..Request::new(function)
        })
    }

    /// Returns true if the machine is this computer and has one SPE.
    fn has_one_spe(&self) -> bool {
        let common = &self.common;
        let topology = MachineKind::of(&common.machine).topology(common.cpus.as_ref());
        topology.is_some_and(|topology| topology.spes().len() == 1)
    }

    /// Returns the flag that chooses the machine in the example of a matrix. If this computer has
    /// one SPE, the flag chooses a simulated machine, because a matrix needs several SPEs.
    fn machine_of_a_matrix(&self) -> String {
        if self.has_one_spe() {
            " --machine qs20".to_owned()
        } else {
            self.machine_flag()
        }
    }

    pub fn machine_flag(&self) -> String {
        self.common.machine_flag()
    }

    /// Fails if a flag does not fit the machine, or if a flag of a single run is given for several
    /// runs, such as those of several `functions`.
    fn check_simulation(&self, functions: usize) -> Result<(), String> {
        let (simulation, kind) = (
            &self.common.simulation,
            MachineKind::of(&self.common.machine),
        );
        let machine = self.machine_flag();
        if self.budget.is_some() && kind.capabilities().repeats {
            return Err(format!(
                "--budget with{machine}: a simulated machine takes the same time whenever it is \
                 measured, so there is nothing to share out; leave it out, or end long runs with \
                 --limit\n  example: cellworks stats{machine} --limit 1s"
            ));
        }
        if self.until_trusted.is_some() && kind.capabilities().repeats {
            return Err(format!(
                "--until-trusted with{machine}: nothing disturbs a simulated machine; leave it out\n  example: \
                 cellworks stats{machine}"
            ));
        }
        // The examples show what the user wanted to see.
        let shown = match (&simulation.trace, simulation.single_run_flag()) {
            (Some(file), _) => format!(" --trace {}", file.display()),
            (None, Some("--after-start")) => " --counters --after-start".to_owned(),
            (None, flag) => flag.map(|flag| format!(" {flag}")).unwrap_or_default(),
        };
        if !kind.is_simulated() {
            return simulation.first_given().map_or(Ok(()), |flag| {
                Err(format!(
                    "{flag} with --machine {}: only a simulated machine has it; choose one, such as qs20, or \
                     leave {flag} out\n  example: cellworks stats --machine qs20 -f dmaget{shown}",
                    self.common.machine
                ))
            });
        }
        match simulation.single_run_flag() {
            Some(flag) if functions > 1 => Err(format!(
                "{flag} with {functions} functions: it is of one run, and each function has its own; name one \
                 of them\n  example: cellworks stats{machine} -f dmaget{shown}",
            )),
            Some(flag) if functions == 0 => Err(format!(
                "{flag} without -f: it is of one run, and {} many; name a function\n  example: \
                 cellworks stats{machine} -f dmaget{shown}",
                if self.matrix.is_some() {
                    "a matrix is of"
                } else {
                    "everything has"
                }
            )),
            _ => Ok(()),
        }
    }

    pub fn budget_of_everything(&self) -> Duration {
        self.budget.unwrap_or(EVERYTHING_BUDGET)
    }

    /// Returns the longest time for a matrix, or `None` if the user wants every pair. Also returns
    /// `None` if operations of the machine always take the same time: the results would otherwise
    /// depend on the speed of the simulation.
    pub fn budget_of_a_matrix(&self) -> Option<Duration> {
        let is_bounded =
            !self.full && !MachineKind::of(&self.common.machine).capabilities().repeats;
        is_bounded.then(|| self.budget.unwrap_or(MATRIX_BUDGET))
    }

    /// Returns the flags for the measurement of a single function, and whether the user gave each
    /// flag. Some of these flags are also for a matrix.
    fn single_function_flags(&self) -> Vec<(bool, &'static str)> {
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

/// Returns whether at least one matrix takes this flag of a single function. For a matrix that does
/// not take the flag, [`plan`](Request::plan) refuses it.
fn is_of_a_matrix(flag: &str) -> bool {
    let is_it = |setting: &Setting| setting.flag == flag && setting.is_of_a_matrix();
    flag == "-m" || Setting::ALL.iter().any(is_it)
}

/// Converts a number to `usize`. Numbers that do not fit become the largest `usize`, which every
/// check refuses.
fn clamp(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn matrix_parser() -> impl TypedValueParser<Value = Function> {
    one_of(Function::MATRICES, |matrix| {
        let help = match matrix {
            Function::Matrix(primitive) => primitive.carrier(),
            function => function.operation(),
        };
        PossibleValue::new(matrix.name()).help(help)
    })
}

fn polling_parser() -> impl TypedValueParser<Value = Polling> {
    one_of(Polling::ALL, |polling| {
        PossibleValue::new(polling.name()).help(polling.way())
    })
}

fn budget(text: &str) -> Result<Duration, String> {
    const RULE: &str = "a budget is a time with its unit, such as 500ms, 30s or 5m";
    above_0(text, "nothing can be measured in no time", RULE)
}

fn until_trusted(text: &str) -> Result<Duration, String> {
    const RULE: &str = "the time is one with its unit, such as 90s or 10m";
    above_0(text, "nothing can be measured in no time", RULE)
}

fn function_parser() -> impl TypedValueParser<Value = Function> {
    one_of(Function::ALL, |function| {
        let value = PossibleValue::new(function.name()).help(function.operation());
        match function.other_name() {
            Some(other) => value.alias(other),
            None => value,
        }
    })
}

/// Parses the number of a Cell or of a memory module.
fn index(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| {
        format!(
            "Cells and memory modules have numbers from 0 to {}; use 0",
            u16::MAX
        )
    })
}
