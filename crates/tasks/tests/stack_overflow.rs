//! If a task of a phase overflows its stack, the program ends with a message, which names the task
//! and the call that gives the task a larger stack. If the system has no memory for another stack,
//! a pool ends with an error.
//!
//! The pools run in child processes. This test has no harness, because threads of a harness would
//! print to the same standard error.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use cellworks_host::Host;
use cellworks_machine::{Machine, Wait};
use cellworks_sim::{Description, Sim};
use cellworks_tasks::{Part, Pool, Scheduler, SharedPool};
use skipped::skipped;

/// A size larger than the stack of a task.
const LARGE: usize = 512 << 10;

const ON_HOST: &str = "give it more with HostBuilder::stack_bytes, or, for one process of a network or one thread, with \
     process_with_stack or ThreadBuilder::stack_bytes; or keep large values in a Box or Vec\n";
const ON_SIM: &str =
    "give it more with SimBuilder::stack_bytes, or keep large values in a Box or Vec\n";

const NOT_LIMITED: &str =
    "the emulator of this processor does not limit the address space of a process";

/// Runs two tasks, of which the second has a large value on its stack.
fn overflow<M: Machine>(machine: &M, scheduler: Scheduler) {
    let run = Pool::new(machine)
        .workers(1)
        .scheduler(scheduler)
        .run(|main| {
            main.phase(|phase| {
                let small = phase.task("small", Part(0..1), |_, _| ());
                let small = phase.submit(main, small)?;
                let large = phase.task("large", Part(0..1), |_, part| {
                    std::hint::black_box([part.start as u8; LARGE]);
                });
                phase.submit(main, large.after(&small)).map(drop)
            })
        });
    println!("{run:?}");
}

fn host() -> Host {
    Host::builder()
        .spes(1)
        .build()
        .expect("this computer is a host")
}

fn qs22() -> Sim {
    Sim::builder(Description::built_in("qs22").expect("it is built in"))
        .build()
        .expect("there is memory for its local stores")
}

/// Checks that the child is aborted with a message about the second task.
fn check(case: &str, more: &str) {
    let this = std::env::current_exe().expect("this program has a path");
    let output = Command::new(this)
        .arg(case)
        .output()
        .expect("the child can be run");
    let error = String::from_utf8_lossy(&output.stderr);
    let signal = output.status.signal();
    assert_eq!(signal, Some(libc::SIGABRT), "{case}: {error}");
    // QEMU adds a line if a signal ends a process that it emulates.
    let (error, _) = error
        .split_once("qemu: uncaught target signal ")
        .unwrap_or((&error, ""));
    let (thread, rest) = error.split_once(" (").expect("the task is named");
    assert!(
        thread.starts_with("cellworks: thread 'SPE 0, thread "),
        "{case}: {error}"
    );
    let expected = format!("the task 'large') overflowed its stack of 262144 bytes; {more}");
    assert_eq!(rest, expected, "{case}: {error}");
}

/// A pool whose tasks all wait, so that each needs another thread, until the address space is used
/// up. The threads that wait outside cannot end the wait, and no other report would come.
fn exhaust() {
    const STACK_BYTES: usize = 64 << 20;
    let host = Host::builder().spes(1).stack_bytes(STACK_BYTES);
    let pool = SharedPool::start(host.build().unwrap(), |pool| pool.workers(1)).unwrap();
    pool.install(|_| ());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib: usize = size
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    let most = ((kib << 10) + 4 * STACK_BYTES) as libc::rlim_t;
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: the call only lowers a limit of this process.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
    // QEMU, which emulates other processors, ignores the call.
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let limit = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"));
    if limit.unwrap().split_whitespace().next() != Some(&most.to_string()) {
        print!("{NOT_LIMITED}");
        return;
    }
    for _ in 0..8 {
        pool.spawn(|worker| {
            worker.spe().wait_until(&"what never comes", &mut || false);
        });
    }
    // While this thread waits for its closure, the machine reports no deadlock.
    let installed = catch_unwind(AssertUnwindSafe(|| pool.install(|_| ())));
    assert!(installed.is_err(), "the run was cancelled");
    println!("{}", pool.end().unwrap_err());
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("host") => return overflow(&host(), Scheduler::Stealing),
        Some("three-level on host") => return overflow(&host(), Scheduler::ThreeLevel),
        Some("qs22") => return overflow(&qs22(), Scheduler::Stealing),
        Some("exhaust") => return exhaust(),
        Some("mars on qs22") => return overflow(&qs22(), Scheduler::Mars),
        _ => {}
    }
    check("host", ON_HOST);
    check("three-level on host", ON_HOST);
    check("qs22", ON_SIM);
    check("mars on qs22", ON_SIM);
    let this = std::env::current_exe().expect("this program has a path");
    let output = Command::new(this).arg("exhaust").output();
    let output = output.expect("the child can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    if said == NOT_LIMITED {
        skipped(NOT_LIMITED);
        println!("4 passed, 0 failed, 1 skipped");
        return;
    }
    let expected =
        " panicked on SPE 0: cannot map a stack of 67108864 bytes for thread 'SPE 0, thread ";
    assert!(said.contains(expected), "{said}");
    println!("5 passed, 0 failed");
}
