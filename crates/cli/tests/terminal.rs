//! What the command does to whoever reads its output: closed pipes, terminals, Ctrl-C.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn cellworks(arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("cellworks"));
    command
        .arg("stats")
        .args(arguments)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR");
    command
}

/// Waits until the process handles SIGINT: bit 1 of the mask of caught signals.
fn wait_for_handler(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let text = std::fs::read_to_string(&status).unwrap();
        let caught = text
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0 {
            return;
        }
        assert!(Instant::now() < patience, "no handler for SIGINT: {text}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn interrupt(child: &Child) {
    // SAFETY: `kill` touches no memory; the child was not waited for, so the id is still its own.
    let sent = unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    assert_eq!(sent, 0);
}

/// A new terminal: the end that a person sits at, and the end that a program has.
fn terminal() -> (File, OwnedFd) {
    let (mut person, mut program) = (-1, -1);
    let (name, settings, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: both descriptors are valid for writes, and null asks for the defaults of the rest.
    let made = unsafe { libc::openpty(&raw mut person, &raw mut program, name, settings, size) };
    assert_eq!(made, 0);
    // SAFETY: `openpty` made both descriptors, and nobody else has them.
    unsafe { (File::from_raw_fd(person), OwnedFd::from_raw_fd(program)) }
}

/// Everything that arrives until nobody has the program's end any more.
fn read_all(mut person: File) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    // A terminal without a program's end reads as an error, EIO, on Linux.
    while let Ok(count @ 1..) = person.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = cellworks(&["-f", "mailbox", "-i", "10"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        err.lines().all(|line| line.starts_with("warning: ")),
        "{err}"
    );
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = cellworks(&["-f", "mailbox", "-i", "10", "--quiet"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: the result could not be written: No space left on device (os error 28); print it \
         to a disk that has room\n"
    );
}

#[test]
fn ctrl_c_ends_it_with_130() {
    let child = cellworks(&["--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_handler(&child);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0));
}

#[test]
fn a_terminal_shows_progress_and_is_left_clean_by_ctrl_c() {
    let (mut person, program) = terminal();
    let mut command = cellworks(&[]);
    command.stdout(Stdio::null()).stderr(program);
    let mut child = command.spawn().unwrap();
    drop(command);
    wait_for_handler(&child);
    // In the middle of everything, when there is something to clear.
    let mut shown = String::new();
    while !shown.contains("mkthread") {
        let mut buffer = [0; 4096];
        let count = person
            .read(&mut buffer)
            .expect("the command runs until it is interrupted");
        shown += &String::from_utf8_lossy(&buffer[..count]);
    }
    interrupt(&child);
    shown += &read_all(person);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(
        !shown.contains("\x1b[?25l") || shown.contains("\x1b[?25h"),
        "a hidden cursor: {shown:?}"
    );
    let after_clearing = shown.rsplit("\x1b[2K").next().unwrap();
    assert!(after_clearing.trim().is_empty(), "{shown:?}");
}

#[test]
fn a_terminal_is_left_clean_by_a_run_that_ends() {
    let (person, program) = terminal();
    let mut command = cellworks(&["-f", "mkthread", "-n", "1"]);
    command.stdout(Stdio::null()).stderr(program);
    let mut child = command.spawn().unwrap();
    drop(command);
    let shown = read_all(person);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(shown.contains("mkthread, 1 SPE"), "{shown:?}");
    let after_clearing = shown.rsplit("\x1b[2K").next().unwrap();
    assert!(after_clearing.trim().is_empty(), "{shown:?}");
}

#[test]
fn quiet_shows_nothing_on_a_terminal() {
    let (person, program) = terminal();
    let mut command = cellworks(&["-f", "mkthread", "--quiet"]);
    command.stdout(Stdio::null()).stderr(program);
    let mut child = command.spawn().unwrap();
    drop(command);
    assert_eq!(read_all(person), "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
