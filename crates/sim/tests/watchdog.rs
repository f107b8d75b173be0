//! The watchdog names a program that runs for long without a call, and does not stop the program.
//!
//! Each case runs in a child process, and the test reads the standard error of the child. The cases
//! run at the same time, because each takes as long as the watchdog waits.

use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use cellworks_machine::{Machine, Spe, SpeId};
use cellworks_sim::{Description, Sim, SimSpe};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("program") => run(|_| silence()),
        Some("thread") => run(|spe| {
            spe.threads(2, |thread| {
                spe.yield_now();
                if thread.0 == 1 {
                    silence();
                }
            })
            .unwrap();
        }),
        Some("main") => drop(machine().run(|_| silence())),
        Some("yields") => run(|spe| {
            for _ in 0..1_250 {
                sleep(Duration::from_millis(10));
                spe.yield_now();
            }
        }),
        _ => {
            let cases = ["program", "thread", "main", "yields"];
            let children = cases.map(start);
            let [program, thread, main, yields] = children.map(warnings);
            a_program_is_named_once_and_goes_on(&program);
            its_cooperative_thread_is_named(&thread);
            so_is_the_main_program(&main);
            assert_eq!(yields, "", "a loop that yields is left alone");
            println!("4 passed, 0 failed");
        }
    }
}

/// Computes for longer than the watchdog needs to notice, but for less than twice as long.
fn silence() {
    sleep(Duration::from_millis(12_500));
}

fn machine() -> Sim {
    Sim::new(Description::built_in("qs20").unwrap()).unwrap()
}

fn run(program: impl FnOnce(&SimSpe) + Send) {
    machine()
        .run(|ppe| drop(ppe.spawn(SpeId::new(3), program)))
        .expect("the program ends");
}

fn start(case: &str) -> Child {
    Command::new(std::env::current_exe().expect("this program has a path"))
        .arg(case)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child can be run")
}

fn warnings(child: Child) -> String {
    let Output { status, stderr, .. } = child.wait_with_output().expect("the child ends");
    let text = String::from_utf8(stderr).expect("messages are text");
    assert!(status.success(), "{text}");
    text
}

fn a_program_is_named_once_and_goes_on(warning: &str) {
    assert_eq!(warning.lines().count(), 1, "{warning}");
    let (before, rest) = warning.split_once(", spawned at ").expect(warning);
    assert!(
        before.starts_with("cellworks: warning: the program watchdog::main::{{closure}}"),
        "{warning}"
    );
    let (place, rest) = rest.split_once(", on SPE 3").expect(warning);
    assert!(place.contains("watchdog.rs:"), "{warning}");
    assert_eq!(
        rest,
        " has run for 10 s without a call that takes simulated time, so the simulated qs20 stands still at \
         1675.000 us. If it waits for another program, which cannot run meanwhile, have it call `yield_now` in its loop, or \
         `wait_until`. If it computes, it may go on; `compute` tells the simulation how long that takes.\n"
    );
}

fn its_cooperative_thread_is_named(warning: &str) {
    assert!(
        warning
            .starts_with("cellworks: warning: thread 1 of the program watchdog::main::{{closure}}"),
        "{warning}"
    );
}

fn so_is_the_main_program(warning: &str) {
    assert!(
        warning.starts_with(
            "cellworks: warning: the main program on the PPE has run for 10 s without a call"
        ),
        "{warning}"
    );
}
