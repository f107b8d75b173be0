//! The arguments of `cellworks run`. Each program is a subcommand, with a flag for each parameter.
//!
//! ```text
//!   --spes 1-2 --threads 2,4 ──► values of each flag ──► (1, 2) (2, 2) (1, 4) (2, 4) ──► programs
//! ```

// Rejected: a second struct for each program, with a list for each flag. Each parameter was then in
// two structs and a loop. Instead, the flags of the one struct are changed to accept lists.

use std::path::PathBuf;

use cellworks_apps::Parts;
use cellworks_machine::Capabilities;
use cellworks_runner::{Choice, ProgramKind, kind, names};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use serde_json::{Map, Value};

use super::deploy::NetworkArgs;
use super::list::{List, listed, parsed};
use crate::args::CommonArgs;
use crate::sweep::SweepArgs;

const AFTER_HELP: &str = "\
Where a flag takes LIST, such as 1,2,4-8, the program runs once for each combination of values; --html draws the \
curves.

Examples:
  cellworks run aes --machine qs20
      AES with single buffering, double buffering and threads on a simulated Cell blade.
  cellworks run aes --machine qs20 --buffering threads --threads 1-8 --html aes.html
      The same with 1 to 8 threads, with a curve.
  cellworks run switch --threads 1-16
      What a context switch of cooperative threads costs on this computer.
  cellworks run overlap --machine qs20 --html overlap.html
      How far transfers hide behind computation.
  cellworks run dma-latency --machine qs20 --spes 1,8,16
      The latency of a get by size, alone and with others.
  cellworks run commstime --machine qs22 --spes 2-16 --threads 1-4 --html commstime.html
      What a communication between processes costs, by SPEs and processes on each.
  cellworks run prototein --machine qs22 --spes 1-16 --html prototein.html
      How many times as fast more SPEs fold a prototein.
  cellworks run mandelbrot --machine ps3 --workers 6 --tasks 1,8,128 --dicing on,off --html mandelbrot.html
      How long a picture takes that is submitted as few tasks or many, with and without splitting them.
  cellworks run lookup --bytes 1m,64m,1g
      Look-ups in structures of pointers: in a plain loop, with prefetches by hand, and interleaved.
  cellworks run server --clients 1,4,16 --workers 1,2
      What a request costs at a server that waits for clients, workers, a timer and a signal to stop at once.
  cellworks run commstime --machine cores.csv --spes 8 --volumes graph.txt
  cellworks map solve graph.txt --costs cores.csv --format json > placement.json
  cellworks run commstime --machine cores.csv --spes 8 --placement placement.json
      Counts what processes send to each other, and runs them again where they are near to each other.

Exit codes: 0 done, 1 the run failed, 2 the arguments make no sense, 3 measured, but disturbed, \
130 interrupted.";

/// Runs a program on this computer or on a simulated machine. Most of the programs come from
/// papers.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RunArgs {
    #[command(subcommand)]
    pub program: ProgramArgs,
}

/// A program and its flags.
pub(crate) struct ProgramArgs {
    pub name: String,
    /// The flags of the program. Each of them takes a list.
    pub flags: ArgMatches,
    pub common: CommonArgs,
    pub drawing: DrawingArgs,
    pub network: NetworkArgs,
    pub sweep: SweepArgs,
}

/// Flags of programs that draw.
#[derive(Args)]
pub(crate) struct DrawingArgs {
    /// Writes each picture that the program draws as a file in this folder: 0001.png, 0002.png and
    /// so on
    #[arg(long, value_name = "FOLDER", help_heading = "Options")]
    pub png: Option<PathBuf>,
}

impl FromArgMatches for ProgramArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (name, flags) = matches
            .subcommand()
            .ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        Ok(Self {
            name: name.to_owned(),
            flags: flags.clone(),
            common: CommonArgs::from_arg_matches(flags)?,
            drawing: DrawingArgs {
                png: flags.try_get_one("png").ok().flatten().cloned(),
            },
            network: NetworkArgs {
                volumes: flags.try_get_one("volumes").ok().flatten().cloned(),
                placement: flags.try_get_one("placement").ok().flatten().cloned(),
            },
            sweep: SweepArgs::from_arg_matches(flags)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for ProgramArgs {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(names().iter().map(|name| described(known(name))))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        kind(name).is_some()
    }
}

/// Returns the kind of program with the given name, which clap has already accepted.
pub(super) fn known(name: &str) -> ProgramKind {
    kind(name).expect("clap lets only names of programs pass")
}

fn described(kind: ProgramKind) -> Command {
    let program = kind.flags().mut_args(listed);
    let program = program.mut_args(|flag| match kind.repeats {
        Some(repeats) if flag.get_id() == repeats.parameter => {
            let help = flag.get_help().cloned().unwrap_or_default();
            flag.required(false).help(format!(
                "{help} [default: {} on this computer, {} on a simulated machine]",
                repeats.on_this_computer, repeats.simulated
            ))
        }
        _ => flag,
    });
    // `augment_args` replaces the documentation of its command. The common flags are therefore
    // added to another command, and copied to the program.
    let mut common = SweepArgs::augment_args(CommonArgs::augment_args(Command::new(kind.name)));
    if kind.draws {
        common = DrawingArgs::augment_args(common);
    }
    if !matches!(kind.parts, Parts::None(_)) {
        common = NetworkArgs::augment_args(common);
        if kind.draws {
            let flags = ["volumes", "placement"];
            common = common.mut_arg("png", |png| png.conflicts_with_all(flags));
        }
    }
    let after = |flag: &clap::Arg| flag.clone().display_order(None);
    program.args(common.get_arguments().map(after))
}

/// Returns a program for each combination of the values of all flags. The values of the first flag
/// change fastest. With `is_one_run`, a single combination gets no further programs. The error is
/// the reason why there is no program.
pub(super) fn programs(
    kind: ProgramKind,
    flags: &ArgMatches,
    on: Capabilities,
    is_one_run: bool,
) -> Result<Vec<Choice>, String> {
    let command = kind.flags();
    let mut combinations = vec![Map::new()];
    let mut names: Vec<_> = command.get_arguments().collect();
    names.reverse();
    for flag in names {
        let name = flag.get_id().as_str();
        let given = flags.get_many::<List>(name).into_iter().flatten();
        let mut values: Vec<Value> = given.flat_map(|list| list.0.clone()).collect();
        if let Some(repeats) = kind.repeats
            && repeats.parameter == name
            && values.is_empty()
        {
            values = if on.is_steady {
                parsed(flag, repeats.simulated)?
            } else {
                parsed(flag, repeats.on_this_computer)?
            };
        }
        if !values.is_empty() {
            combinations = combinations
                .iter()
                .flat_map(|one| {
                    values.iter().map(|value| {
                        let mut one = one.clone();
                        one.insert(name.to_owned(), value.clone());
                        one
                    })
                })
                .collect();
        }
    }
    let first = combinations[0].clone();
    let is_one_run = is_one_run && combinations.len() == 1;
    let asked: Result<Vec<_>, _> = combinations.into_iter().map(|one| kind.read(one)).collect();
    let asked = asked.map_err(|error| error.to_string())?;
    let mut programs = kind.complete(&asked);
    if is_one_run && programs.iter().any(|one| has(one, &first)) {
        programs.retain(|one| has(one, &first));
    }
    Ok(programs)
}

fn has(program: &Choice, values: &Map<String, Value>) -> bool {
    let parameters = program.parameters();
    let mut all = values.iter();
    all.all(|(name, value)| {
        parameters
            .iter()
            .any(|(other, is)| other == name && is == value)
    })
}

/// Returns flags for one run like that of several `programs`: those that the user has given, and
/// those that have several values, with the first value of each.
pub(super) fn flags_of_one(kind: ProgramKind, flags: &ArgMatches, programs: &[Choice]) -> String {
    let command = kind.flags();
    let first = command.get_arguments().filter_map(|flag| {
        let name = flag.get_id().as_str();
        let value = flags.get_many::<List>(name)?.next()?.0.first()?.clone();
        Some((name.to_owned(), value))
    });
    let first: Map<String, Value> = first.collect();
    let like = programs.iter().find(|one| has(one, &first));
    let one = like.unwrap_or(&programs[0]).parameters();
    let is_given = |name: &str| flags.value_source(name) == Some(ValueSource::CommandLine);
    let differs = |name: &str, value: &Value| {
        let mut parameters = programs.iter().flat_map(|program| program.parameters());
        parameters.any(|(other, is)| other == name && is != *value)
    };
    let needed = one.iter().filter_map(|(name, value)| {
        let flag = command.get_arguments().find(|flag| flag.get_id() == name)?;
        let is_needed = is_given(name) || differs(name, value);
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Null => return None,
            other => other.to_string(),
        };
        is_needed.then(|| format!(" --{} {value}", flag.get_long().unwrap_or(name)))
    });
    needed.collect()
}

/// Returns a message that begins with the flag of a parameter.
pub(super) fn about_parameter(kind: ProgramKind, parameter: &str, message: &str) -> String {
    let command = kind.flags();
    let mut flags = command.get_arguments();
    let flag = flags.find(|flag| flag.get_id() == parameter);
    match flag.and_then(|flag| flag.get_long()) {
        Some(flag) => format!("--{flag}: {message}"),
        None => format!("{parameter}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use cellworks_apps::{CommsTime, ParameterError, Switch};

    use super::*;
    use crate::machine::MachineKind;
    use crate::run::explain;

    fn asked<P: Any + Clone>(name: &str, flags: &str, on: MachineKind) -> Vec<P> {
        let command = described(known(name)).no_binary_name(true);
        let flags = command.try_get_matches_from(flags.split_whitespace());
        let programs = programs(known(name), &flags.unwrap(), on.capabilities(), false).unwrap();
        let typed = |one: &Choice| (&**one as &dyn Any).downcast_ref::<P>().unwrap().clone();
        programs.iter().map(typed).collect()
    }

    #[test]
    fn every_combination_runs_once_and_the_first_flag_changes_fastest() {
        let placed: Vec<(usize, usize, u64)> = asked::<CommsTime>(
            "commstime",
            "--spes 1,2,2 --threads 3-4 --rounds 5",
            MachineKind::ThisComputer,
        )
        .iter()
        .map(|one| (one.placement.spes, one.placement.threads, one.rounds))
        .collect();
        assert_eq!(placed, [(1, 3, 5), (2, 3, 5), (1, 4, 5), (2, 4, 5)]);
    }

    #[test]
    fn missing_parameters_depend_on_the_machine() {
        let yields = |on| asked::<Switch>("switch", "--threads 1", on)[0].yields;
        assert_eq!(
            [MachineKind::ThisComputer, MachineKind::Simulated].map(yields),
            [1_000_000, 16_000]
        );
    }

    #[test]
    fn a_wrong_parameter_is_named_by_its_flag_if_it_has_one() {
        let explained = |parameter| {
            explain(
                known("dma-latency"),
                &ParameterError::Zero {
                    parameter,
                    noun: "of them",
                },
            )
        };
        const WHAT: &str = "0 of them do nothing; use at least 1";
        assert_eq!(explained("block_bytes"), format!("--sizes: {WHAT}"));
        // A program may report a name that is not one of its parameters.
        assert_eq!(explained("colour"), format!("colour: {WHAT}"));
    }
}
