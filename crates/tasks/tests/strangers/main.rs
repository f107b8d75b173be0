//! Random programs of the public interface, without `unsafe` code: nested calls, panics in closures
//! and destructors, locks, handles, cancellation, dices, cooperative threads, deadlocks.
//!
//! The test asks for this: every closure and every task runs once, or at most once after a failure.
//! Every value is dropped once. Every call ends, with the right result or with the error of a part
//! that failed. Waits that cannot end give a circle, or a deadlock that names the tasks.
//!
//! A fault may end or stop the process, so the programs run in child processes. `cargo test -p
//! cellworks-tasks --test strangers -- host 17` runs the program with the seed 17. If it has a
//! fault, this command removes elements until it finds a small program with a fault. `ps3` instead
//! of `host` names the simulated machine, and `ps3-with-limit` ends the run at some simulated time.

#![forbid(unsafe_code)]

mod interpret;
mod ledger;
mod tree;

use std::fmt::Display;
use std::io::Write;
use std::process::{Command, ExitCode, ExitStatus, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, process, thread};

use cellworks_host::Host;
use cellworks_sim::{Description, Sim};
use tree::Program;

const MACHINES: [&str; 3] = ["host", "ps3", "ps3-with-limit"];

/// How long a program may take. Programs take milliseconds, so one that takes longer does not end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same, while a person waits for a smaller program.
const SHORT_PATIENCE: Duration = Duration::from_secs(5);

/// The number of programs of a child process.
const PROGRAMS: u64 = 100;

/// The number of faults after which no further program runs on a machine.
const ENOUGH: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().expect("a whole number");
    match arguments[..] {
        ["child", machine, seed, "without", ref removed @ ..] => {
            let removed: Vec<_> = removed
                .iter()
                .map(|&before| number(before) as usize)
                .collect();
            let program = Program::without(number(seed), &removed);
            let program = program.expect("the parent has looked whether the elements are there");
            eprintln!("{machine}, {program}");
            run(machine, [program])
        }
        ["child", machine, first, end] => {
            run(machine, (number(first)..number(end)).map(Program::new))
        }
        [machine, seed] if MACHINES.contains(&machine) => show(machine, number(seed)),
        _ => {
            let faults: Vec<_> = thread::scope(|scope| {
                let machines = MACHINES.map(|machine| scope.spawn(|| faults_on(machine)));
                machines
                    .map(|faults| faults.join().expect("it does not panic"))
                    .concat()
            });
            faults.iter().for_each(|fault| println!("{fault}"));
            println!("{} seeds on {MACHINES:?}: {} faults", seeds(), faults.len());
            exit_code(faults.is_empty())
        }
    }
}

fn exit_code(is_right: bool) -> ExitCode {
    if is_right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Returns the number of seeds, which `CELLWORKS_SEEDS` sets: `.ci/long` takes 10,000.
fn seeds() -> u64 {
    match env::var("CELLWORKS_SEEDS") {
        Ok(seeds) => seeds.parse().expect("CELLWORKS_SEEDS is a whole number"),
        Err(_) if cfg!(debug_assertions) => 300,
        Err(_) => 2_000,
    }
}

fn child(machine: &str, arguments: &[impl Display]) -> Command {
    let mut child = Command::new(env::current_exe().expect("this program has a path"));
    child.args(["child", machine]);
    child.args(arguments.iter().map(ToString::to_string));
    child.stdin(Stdio::null());
    child
}

/// Runs all programs in child processes. Returns a text for each program that has a fault.
fn faults_on(machine: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut next = 0;
    while next < seeds() && faults.len() < ENOUGH {
        let end = (next + PROGRAMS).min(seeds());
        let output = child(machine, &[next, end]).output();
        let Output {
            status,
            stdout,
            stderr,
        } = output.expect("the child can be run");
        next = end;
        if !status.success() {
            let begun = String::from_utf8_lossy(&stdout);
            let seed = begun.lines().last().and_then(|line| line.parse().ok());
            let seed: u64 = seed.expect("the child names each seed before its program runs");
            let error = String::from_utf8_lossy(&stderr);
            let program = Program::new(seed);
            faults.push(format!("\n{machine}, {program}{status}\n{error}"));
            next = seed + 1;
        }
    }
    faults
}

/// Runs one program, and shows it. If it has a fault, shows a smaller program that has one.
fn show(machine: &str, seed: u64) -> ExitCode {
    let mut removed = Vec::new();
    let Some(mut fault) = fault_of(machine, seed, &removed) else {
        print!("{}", Program::new(seed));
        return ExitCode::SUCCESS;
    };
    let mut before = 0;
    loop {
        let more = [&removed[..], &[before]].concat();
        if Program::without(seed, &more).is_none() {
            break;
        }
        match fault_of(machine, seed, &more) {
            Some(other) => (removed, fault) = (more, other),
            None => before += 1,
        }
    }
    println!("{fault}");
    ExitCode::FAILURE
}

/// Runs a program without some elements. If it has a fault, returns a text with the program.
fn fault_of(machine: &str, seed: u64, removed: &[usize]) -> Option<String> {
    let mut arguments = vec![seed.to_string(), "without".to_owned()];
    arguments.extend(removed.iter().map(ToString::to_string));
    let mut child = child(machine, &arguments);
    let child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the child can be run");
    let since = Instant::now();
    let mut ends = true;
    while child.try_wait().expect("it is a child").is_none() {
        if since.elapsed() > SHORT_PATIENCE {
            ends = false;
            child.kill().expect("it runs");
        }
        thread::sleep(Duration::from_millis(5));
    }
    let Output { status, stderr, .. } = child.wait_with_output().expect("it has ended");
    let why = |status: ExitStatus| {
        if ends {
            status.to_string()
        } else {
            "it does not end".to_owned()
        }
    };
    let error = String::from_utf8_lossy(&stderr);
    (!status.success()).then(|| format!("{error}{}", why(status)))
}

/// Runs programs in this process. Fails after the first program with a fault.
fn run(machine: &str, programs: impl IntoIterator<Item = Program>) -> ExitCode {
    let begun = &*Box::leak(Box::new(Mutex::new((0, Instant::now()))));
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_millis(100));
            let (seed, since) = *begun.lock().unwrap();
            if since.elapsed() > PATIENCE {
                eprintln!("the program with the seed {seed} does not end");
                process::abort();
            }
        }
    });
    for program in programs {
        let seed = program.seed;
        *begun.lock().unwrap() = (seed, Instant::now());
        println!("{seed}");
        std::io::stdout().flush().expect("the parent reads it");
        let problems = match machine {
            "host" => {
                let is_strict = seed.is_multiple_of(3);
                let host = |spes| {
                    let host = Host::builder().spes(spes);
                    let host = if is_strict { host.strict() } else { host };
                    host.build().unwrap()
                };
                interpret::check(&program, false, &host)
            }
            _ => {
                let description = Description::built_in("ps3").unwrap();
                let has_limit = machine == "ps3-with-limit";
                let sim = |_| {
                    let sim = Sim::builder(description.clone()).seed(seed);
                    let sim = if has_limit {
                        sim.limit(program.limit())
                    } else {
                        sim
                    };
                    sim.build().unwrap()
                };
                interpret::check(&program, has_limit, &sim)
            }
        };
        if !problems.is_empty() {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
