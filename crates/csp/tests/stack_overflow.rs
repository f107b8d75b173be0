//! If an item is too large for the stack of a process, the program ends with a message, which names
//! the process and the call that gives the process a larger stack.
//!
//! The networks run in child processes. This test has no harness, because threads of a harness
//! would print to the same standard error.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use cellworks_csp::{Channel, Network, NetworkError};
use cellworks_host::Host;
use cellworks_machine::{Machine, SpeId};
use cellworks_sim::{Description, Sim};

/// A size larger than the stack of a process.
const LARGE: usize = 512 << 10;
/// A size larger than the stack of a main thread on common computers.
const HUGE: usize = 16 << 20;

const MORE_ON_HOST: &str = "give it more with HostBuilder::stack_bytes, or, for one process of a network or one thread, with \
     process_with_stack or ThreadBuilder::stack_bytes; or keep large values in a Box or Vec\n";
const MORE_ON_SIM: &str =
    "give it more with SimBuilder::stack_bytes, or keep large values in a Box or Vec\n";
const MORE_FOR_MAIN: &str = "run the machine on one with more, by std::thread::Builder::stack_size, or keep large values in a \
     Box or Vec\n";

/// Runs a network in which one process writes an array of `N` bytes to another process of its SPE.
fn network<const N: usize, M: Machine>(
    machine: &M,
    stack_bytes: Option<usize>,
) -> Result<(), NetworkError> {
    let (mut writer, mut reader) = Channel::new().one_to_one::<[u8; N]>();
    let mut network = Network::on(machine);
    let producer = move |process: &cellworks_csp::Process<'_, M::Spe>| {
        Ok(writer.write(process, [std::hint::black_box(7); N])?)
    };
    let consumer = move |process: &cellworks_csp::Process<'_, M::Spe>| {
        let item = reader.read(process)?;
        assert_eq!(std::hint::black_box(item)[N - 1], 7);
        Ok(())
    };
    let spe = SpeId::new(0);
    match stack_bytes {
        None => {
            network.process("producer", spe, producer);
            network.process("consumer", spe, consumer);
        }
        Some(bytes) => {
            network.process_with_stack("producer", spe, bytes, producer);
            network.process_with_stack("consumer", spe, bytes, consumer);
        }
    }
    network.run()
}

/// Runs a network with only the main process, which has a large value on its stack.
fn main_alone<M: Machine>(machine: &M) {
    let value = Network::on(machine)
        .run_with(|process| std::hint::black_box([process.name().len() as u8; HUGE])[HUGE - 1]);
    println!("{value:?}");
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

fn child(case: &str) -> Output {
    let this = std::env::current_exe().expect("this program has a path");
    Command::new(this)
        .arg(case)
        .output()
        .expect("the child can be run")
}

/// Checks that the child is aborted with a message that begins and ends as given.
fn check(case: &str, begin: &str, end: &str) {
    let output = child(case);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.signal(),
        Some(libc::SIGABRT),
        "{case}: {error}"
    );
    // QEMU adds a line if a signal ends a process that it emulates.
    let (error, _) = error
        .split_once("qemu: uncaught target signal ")
        .unwrap_or((&error, ""));
    assert!(error.starts_with(begin), "{case}: {error}");
    assert!(error.ends_with(end), "{case}: {error}");
    assert_eq!(error.lines().count(), 1, "{case}: {error}");
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("host") => return drop(network::<LARGE, _>(&host(), None)),
        Some("qs22") => return drop(network::<LARGE, _>(&qs22(), None)),
        Some("main on host") => return main_alone(&host()),
        Some("main on qs22") => return main_alone(&qs22()),
        _ => {}
    }
    let of_process = "cellworks: thread 'SPE 0, thread 0' (the process `producer`) overflowed its stack of 262144 bytes; ";
    check("host", of_process, MORE_ON_HOST);
    check("qs22", of_process, MORE_ON_SIM);
    let of_main = "cellworks: the main program (of a network, the process `main`) overflowed the stack of its OS thread of ";
    check("main on host", of_main, MORE_FOR_MAIN);
    check("main on qs22", of_main, MORE_FOR_MAIN);
    // With the call that the message names, the item fits.
    network::<LARGE, _>(&host(), Some(64 * LARGE)).expect("the stacks have room");
    println!("5 passed, 0 failed");
}
