//! Compares the atomic matrix of `stats` with the tool core-to-core-latency, on the same two CPUs
//! in the same minute.
//!
//! In the tool's CAS test two threads swap one flag back and forth. Our matrix is measured with
//! each of its two ways of polling. The three measurements take turns in every repetition, so that
//! ratios hold on a noisy machine. Prints a Markdown table: nanoseconds one way as median
//! (minimum-maximum) over the repetitions, and the ratio to the tool in the same repetition as
//! median (lower-upper quartile).
//!
//! Run it with `cargo bench -p cellworks-benches --bench core_to_core`. The environment variable
//! `CORE_TO_CORE_LATENCY` names the tool. Otherwise the tool must be in `PATH`.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::{Command, ExitCode};

use cellworks_host::Host;
use cellworks_machine::{LOCAL_STORE_BYTES, Machine, SpeId};
use cellworks_stats::{Function, Limits, Measured, Polling, Primitive, Request, Visits};

const REPETITIONS: usize = 25;

/// The tool's default number of round trips in a sample, and a number of samples that makes it run
/// about as long as our pair.
const TOOL_ARGUMENTS: [&str; 2] = ["1000", "20"];

fn main() -> ExitCode {
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("core_to_core: {message}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Result<(), String> {
    let host = Host::builder()
        .spes(2)
        .build()
        .map_err(|error| error.to_string())?;
    let cpus = [0, 1].map(|spe| host.topology().place_of(SpeId::new(spe)));
    let cpus = cpus.map(|place| place.trim_start_matches("CPU ").to_owned());
    if cpus[0] == cpus[1] {
        return Err("this process may use one CPU only; allow it two".to_owned());
    }
    let mut rounds = Vec::new();
    for round in 0..=REPETITIONS {
        let times = [
            tool(&cpus)?,
            ours(&host, Polling::CompareAndSwap)?,
            ours(&host, Polling::Reads)?,
        ];
        // The first round warms up.
        if round > 0 {
            rounds.push(times);
        }
    }
    println!(
        "\nOne way between CPU {} and CPU {}, {REPETITIONS} repetitions:\n",
        cpus[0], cpus[1]
    );
    println!("| polling | ns | ratio |\n|---|---|---|");
    let names = [
        "core-to-core-latency, CAS",
        "**cellworks**, compare-and-swap",
        "**cellworks**, reads",
    ];
    for (system, name) in names.into_iter().enumerate() {
        let times = sorted(rounds.iter().map(|times| times[system]));
        let ratios = sorted(rounds.iter().map(|times| times[system] / times[0]));
        let last = REPETITIONS - 1;
        println!(
            "| {name} | {:.1} ({:.1}-{:.1}) | {:.3} ({:.3}-{:.3}) |",
            times[last / 2],
            times[0],
            times[last],
            ratios[last / 2],
            ratios[last / 4],
            ratios[last - last / 4],
        );
    }
    Ok(())
}

/// The result of the tool, in nanoseconds one way.
fn tool(cpus: &[String; 2]) -> Result<f64, String> {
    let program = std::env::var_os("CORE_TO_CORE_LATENCY")
        .unwrap_or_else(|| OsString::from("core-to-core-latency"));
    let output = Command::new(&program)
        .args(["--csv", "--bench", "1", "--cores", &cpus.join(",")])
        .args(TOOL_ARGUMENTS)
        .output()
        .map_err(|error| {
            format!(
                "cannot run {}: {error}; install it with `cargo install core-to-core-latency`, or \
                 say where it is in CORE_TO_CORE_LATENCY",
                program.display()
            )
        })?;
    // The output has a row for each CPU. The upper half of the matrix is empty.
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text
        .split([',', '\n'])
        .filter(|field| !field.is_empty())
        .map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(ns)), None) => Ok(ns),
        _ => Err(format!(
            "{} printed {text:?}, and one number was expected: {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// The result of our matrix, in nanoseconds one way.
fn ours(host: &Host, polling: Polling) -> Result<f64, String> {
    let request = Request {
        polling: Some(polling),
        ..Request::new(Function::Matrix(Primitive::Atomic))
    };
    let limits = Limits {
        block_bytes_max: 16 << 10,
        local_store_bytes: LOCAL_STORE_BYTES,
        memory_bytes_max: 1 << 28,
        staging_bytes_max: None,
        bandwidth_bytes_per_s_max: None,
    };
    let plan = request
        .plan(host.topology(), &limits)
        .map_err(|error| error.to_string())?;
    let measured = Visits::of(plan)
        .visit(host, false, &mut |_, _| ControlFlow::Continue(()))
        .map_err(|error| error.to_string())?;
    let Measured::Matrix(matrix) = measured else {
        unreachable!("the plan is of a matrix");
    };
    Ok(matrix.one_way_ns[0][1].expect("the only pair was measured"))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
