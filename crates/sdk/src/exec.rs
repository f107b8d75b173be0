//! `cellworks exec`: runs a program on this computer or on a simulated machine.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use cellworks_cli::{Failure, MachineFlags, Settings, exit_code, note, with_machine};
use cellworks_machine::{CellMachine, Span, SpeId};
use cellworks_runner::{AnyCell, CellWork};
use cellworks_sim::{Counters, Description, HazardWatch};
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::driver::alone;
use crate::run::{Given, LocalStores, Ran, Ready, TimeOf, is_for_spu};

/// The SPEs of this computer unless a user chooses another number. Programs ask how many there are,
/// and many were written for at most 8.
const SPES: usize = 8;

/// The time of day at the start of a simulated run, in nanoseconds since 1970: each run is the
/// same. It is 11 November 2006, when the PlayStation 3 was first sold.
const SIMULATED_START: u64 = 1_163_203_200_000_000_000;

/// Runs a program of the Cell that `cellworks cc` has built
#[derive(Parser)]
#[command(
    name = "cellworks exec",
    bin_name = "cellworks exec",
    override_usage = "cellworks exec [OPTIONS] PROGRAM [ARGUMENT]..."
)]
struct ExecFlags {
    #[command(flatten)]
    machine: MachineFlags,

    /// The number of SPEs of this computer, each for one context at a time
    #[arg(long, value_name = "COUNT", default_value_t = SPES, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_024))]
    spes: usize,

    /// A folder that the program may use, by the same name
    #[arg(long = "dir", value_name = "FOLDER")]
    folders: Vec<PathBuf>,

    /// A variable of the program's environment
    #[arg(long = "env", value_name = "NAME=VALUE")]
    environment: Vec<OsString>,

    /// The program and its arguments: all that comes after PROGRAM is the program's
    #[arg(
        value_name = "PROGRAM [ARGUMENT]",
        required = true,
        trailing_var_arg = true
    )]
    command: Vec<OsString>,
}

/// Runs `cellworks exec` with its arguments, the name of the command first. Does not return if the
/// program has run: the process then ends with its exit code.
///
/// # Errors
///
/// Returns [`Failure`] if the flags or the program are wrong.
pub fn exec(arguments: Vec<OsString>) -> Result<(), Failure> {
    // A program has no single number that says how fast it was, so this flag is refused.
    let command = ExecFlags::command().mut_arg("bottleneck", |flag| flag.hide(true));
    let parsed = command.try_get_matches_from(arguments);
    let flags = parsed.and_then(|matches| ExecFlags::from_arg_matches(&matches));
    let code = run(flags.unwrap_or_else(|error| error.exit()))?;
    if code != 0 {
        exit(code as i32);
    }
    Ok(())
}

/// Returns the flag of `exec` that stands first behind the program, with its value, if one does. It
/// may be meant for `exec`, but goes to the program.
fn misplaced(command: &[OsString]) -> Option<String> {
    let first = command.get(1)?.to_str()?;
    let name = first.split('=').next()?.strip_prefix("--")?;
    let flags = ExecFlags::command();
    let flag = flags
        .get_arguments()
        .find(|flag| flag.get_long() == Some(name))?;
    let takes_next = flag.get_action().takes_values() && !first.contains('=');
    let value = command.get(2).filter(|_| takes_next);
    Some(match value {
        Some(value) => format!("{first} {}", value.display()),
        None => first.to_owned(),
    })
}

struct Exec {
    ready: Ready,
    local_stores: LocalStores,
    given: Given,
}

/// How a program has ended: its exit code, and what is said of it then.
struct Ended {
    code: u32,
    message: Option<String>,
    /// The SPEs on which programs have run.
    spes: BTreeSet<SpeId>,
}

/// The exit code of a program that has called `abort`, as shells show it (128 + SIGABRT).
const ABORTED: u32 = 134;

impl CellWork for Exec {
    type Output = Result<Ended, Failure>;

    fn run<M: CellMachine>(self, machine: &M) -> Self::Output {
        let Self {
            ready,
            local_stores,
            given,
        } = self;
        match ready.run(machine, &local_stores, given) {
            Ok(Ran { code, spes }) => Ok(Ended {
                code,
                message: None,
                spes,
            }),
            Err(failure) if failure.is_abort() => Ok(Ended {
                code: ABORTED,
                message: Some(failure.to_string()),
                spes: BTreeSet::new(),
            }),
            Err(failure) => Err(Failure::Run(failure.to_string())),
        }
    }
}

/// Says which of the SPEs on which programs have run had no program in the window of the counters,
/// if there are any.
fn ended_before(spes: &BTreeSet<SpeId>, counters: &Counters) -> Option<String> {
    let is_idle = |spe: &&SpeId| counters.spes[spe.index()].idle == counters.elapsed;
    let ended: Vec<String> = spes
        .iter()
        .filter(is_idle)
        .map(ToString::to_string)
        .collect();
    let began = counters.began;
    let is_window = began > Span::default() && !ended.is_empty();
    is_window.then(|| {
        format!(
            "--after-start: the programs of {} had ended before the last SPE got its first program, at {began}; let \
             the programs wait for each other: see \"Why a short program takes 10 ms\" in docs/cell-c.md",
            ended.join(", ")
        )
    })
}

/// Returns what `/proc/cpuinfo` says: programs look there for the rate of the time base. `clock`
/// and `timebase` are in hertz. The clock is left out if it is not known.
fn processors(clock: Option<u64>, timebase: u64, platform: &str) -> String {
    let clock = clock.map(|hertz| {
        let (mega, rest) = (hertz / 1_000_000, hertz % 1_000_000);
        format!("clock\t\t: {mega}.{rest:06}MHz\n")
    });
    format!(
        "processor\t: 0\ncpu\t\t: Cell Broadband Engine, altivec supported\n{}\ntimebase\t: {timebase}\nplatform\t: \
         {platform}\n",
        clock.unwrap_or_default()
    )
}

fn run(flags: ExecFlags) -> Result<u32, Failure> {
    let ExecFlags {
        machine,
        spes,
        folders,
        environment,
        command,
    } = flags;
    if let Some(flag) = misplaced(&command).filter(|_| !machine.is_quiet()) {
        note(&format!(
            "`{flag}` goes to the program; flags of exec stand before the program"
        ));
    }
    let program = Path::new(&command[0]);
    let name = program.display().to_string();
    let cannot = |error: std::io::Error| Failure::Usage(format!("{name}: {error}"));
    let mut file = std::fs::read(program).map_err(cannot)?;
    if is_for_spu(&file) {
        file = alone(program).map_err(|why| Failure::Usage(format!("{name}: {why}")))?;
    }
    let folders = folders.into_iter().map(|folder| {
        let name = folder.display().to_string();
        match Dir::open_ambient_dir(&folder, ambient_authority()) {
            Ok(dir) => Ok((name, dir)),
            Err(error) => Err(Failure::Usage(format!("--dir {name}: {error}"))),
        }
    });
    let folders = folders.collect::<Result<_, _>>()?;
    let bytes = |text: OsString| text.into_vec();
    let environment = environment.into_iter().map(bytes).collect();
    let local_stores = LocalStores::default();
    let (for_host, for_sim) = (local_stores.clone(), local_stores.clone());
    let settings = Settings {
        host: Box::new(move |builder| {
            builder
                .spes(spes)
                .local_stores(move |spe, bytes| for_host.make(spe, bytes))
        }),
        sim: Box::new(move |builder| {
            builder.local_stores(move |spe, bytes| for_sim.make(spe, bytes))
        }),
    };
    let (ended, ended_before) = with_machine(&machine, HazardWatch::Warn, settings, |cell, _| {
        let (time, began, processors) = match cell {
            AnyCell::ThisComputer(_) => {
                let now = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                // The time base counts nanoseconds here.
                let processors = processors(None, 1_000_000_000, "Cell");
                (TimeOf::ThisComputer, now.as_nanos() as u64, processors)
            }
            AnyCell::Simulated(sim) => {
                let Description { name, clock, .. } = sim.description();
                let platform = if name == "ps3" { "PS3" } else { "Cell" };
                let (hertz, timebase) = (clock.spu_hz.value, clock.timebase_hz.value);
                let processors = processors(Some(hertz), timebase, platform);
                (TimeOf::Simulation, SIMULATED_START, processors)
            }
        };
        let ready = Ready::new(&name, &file, time)
            .map_err(|failure| Failure::Usage(failure.to_string()))?;
        let given = Given {
            arguments: command.into_iter().map(bytes).collect(),
            environment,
            folders,
            processors,
            began,
        };
        let ended = cell.on_cell(Exec {
            ready,
            local_stores,
            given,
        })?;
        let counters = match cell {
            AnyCell::Simulated(sim) => sim.counters(),
            AnyCell::ThisComputer(_) => None,
        };
        let ended_before = counters.and_then(|counters| ended_before(&ended.spes, &counters));
        Ok((ended, ended_before))
    })?;
    if let Some(why) = ended_before.filter(|_| !machine.is_quiet()) {
        note(&why);
    }
    if let Some(message) = ended.message {
        exit_code(Err(Failure::Run(message)));
    }
    Ok(ended.code)
}
