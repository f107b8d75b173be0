//! A cancelled program that never ends: the error names the program, and the process ends.
//!
//! Each case runs in a child process. The test reads the standard error of that process.

use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Output, Stdio};

use cellworks::machine::mailbox::Outbound;
use cellworks::prelude::*;
use cellworks::sim::Description;

const CASES: [&str; 4] = ["program", "destructor", "thread", "main"];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1..3) {
        Some([machine, case]) if machine == "host" => {
            never_end(&Host::builder().spes(2).build().unwrap(), case);
        }
        Some([machine, case]) if machine == "qs20" => {
            never_end(
                &Sim::new(Description::built_in("qs20").unwrap()).unwrap(),
                case,
            );
        }
        _ => {
            let start = |machine| CASES.map(|case| (machine, case, start(machine, case)));
            // The children run at the same time, because each takes some seconds.
            let children = ["host", "qs20"].map(start);
            for (machine, case, child) in children.into_iter().flatten() {
                the_error_names_the_program(machine, case, child);
            }
            println!("{} passed, 0 failed", 2 * CASES.len());
        }
    }
}

/// Begins a run in which every program waits for another program, so the run is cancelled, but one
/// program does not end.
fn never_end<M: CellMachine>(machine: &M, case: &str) {
    let end = machine.run(|ppe| {
        let first = SpeId::new(0);
        drop(ppe.spawn(first, |spe: &M::Spe| match case {
            "program" => wait_for_ever(spe),
            "thread" => spe.threads(2, |_| wait_for_ever(spe)).unwrap(),
            "destructor" => {
                let _waits = Waits(spe);
                spe.read_in_mbox();
            }
            _ => {
                spe.read_in_mbox();
            }
        }));
        if case == "main" {
            loop {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    ppe.read_out_mbox(first, Outbound::Plain)
                }));
            }
        }
    });
    panic!("it has ended: {end:?}");
}

fn wait_for_ever<S: CellSpe>(spe: &S) {
    loop {
        let _ = catch_unwind(AssertUnwindSafe(|| spe.read_in_mbox()));
    }
}

struct Waits<'a, S: Spe>(&'a S);

impl<S: Spe> Drop for Waits<'_, S> {
    fn drop(&mut self) {
        while !self.0.wait_until(&"what never comes", &mut || false) {}
    }
}

fn start(machine: &str, case: &str) -> Child {
    Command::new(std::env::current_exe().expect("this program has a path"))
        .args([machine, case])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child can be run")
}

fn the_error_names_the_program(machine: &str, case: &str, child: Child) {
    let Output { status, stderr, .. } = child.wait_with_output().expect("the child ends");
    let error = String::from_utf8(stderr).expect("messages are text");
    // QEMU adds a line if a signal ends a process that it emulates.
    let (error, _) = error
        .split_once("qemu: uncaught target signal ")
        .unwrap_or((&error, ""));
    let context = format!("{machine}, {case}: {error}");
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{context}");
    let who = match (machine, case) {
        ("host", "main") => "the main program on the PPE",
        (_, "main") => "thread 'main'",
        // The youngest thread is cancelled first.
        (_, "thread") => "thread 'SPE 0, thread 1'",
        _ => "thread 'SPE 0'",
    };
    let what = format!(
        "cellworks: {who} cannot be ended: it was cancelled, and again and again it catches the panic that should unwind it, or \
         waits in a destructor while it unwinds. "
    );
    assert!(error.contains(&what), "{context}");
    // In the case `main` the program on SPE 0 may have ended.
    if case != "main" {
        let (_, programs) = error
            .split_once("Programs that had not ended:\n")
            .expect(&context);
        assert!(
            programs.starts_with("  never_ends::never_end<")
                && programs.contains(" on SPE 0, spawned at crates/cellworks/tests/never_ends.rs:")
                && programs.lines().count() == 1,
            "{context}"
        );
    }
}
