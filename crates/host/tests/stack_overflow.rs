//! If a cooperative thread overflows a stack of a chosen size, a report names the thread and the
//! size, and the process ends.
//!
//! The program runs in a child process. The test has no harness, because the threads of a harness
//! would print to the same standard error.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use cellworks_host::Host;
use cellworks_machine::{Machine, Spe, SpeId};

const STACK_BYTES: usize = 96 << 10;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("overflow") {
        overflow();
        return;
    }
    let this = std::env::current_exe().expect("this program has a path");
    let output = Command::new(this)
        .arg("overflow")
        .output()
        .expect("the child can be run");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{error}");
    // QEMU adds a line if a signal ends a process that it emulates.
    let (error, _) = error
        .split_once("qemu: uncaught target signal ")
        .unwrap_or((&error, ""));
    assert_eq!(
        error,
        "cellworks: thread 'SPE 0, thread 1' overflowed its stack of 98304 bytes; \
         give it more with HostBuilder::stack_bytes, or, for one process of a network or one thread, with \
         process_with_stack or ThreadBuilder::stack_bytes; or keep large values in a Box or Vec\n"
    );
    println!("1 passed, 0 failed");
}

/// Recurses so deeply that the chosen stack overflows in every build profile. The report has the
/// size of this stack, which is not the default.
fn overflow() {
    let host = Host::builder()
        .spes(1)
        .build()
        .expect("this computer is a host");
    let run = host.run(|ppe| {
        let program = |spe: &cellworks_host::HostSpe| {
            spe.thread_scope(|scope| {
                let shallow = scope.spawn(|_| recurse(1)).expect("room for a stack");
                let deep = scope
                    .builder()
                    .stack_bytes(STACK_BYTES)
                    .spawn(|_| recurse(STACK_BYTES / FRAME_BYTES))
                    .expect("room for a stack");
                (shallow.join().is_ok(), deep.join().is_ok())
            })
        };
        ppe.spawn(SpeId::new(0), program).join().is_ok()
    });
    println!("{run:?}");
}

const FRAME_BYTES: usize = 512;

fn recurse(depth: usize) -> usize {
    let frame = std::hint::black_box([depth; FRAME_BYTES / size_of::<usize>()]);
    let below = if frame[0] > 0 { recurse(depth - 1) } else { 0 };
    below + std::hint::black_box(frame)[0]
}
