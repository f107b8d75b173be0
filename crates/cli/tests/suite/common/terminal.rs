//! Terminals, and Ctrl-C.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

/// Waits until the process handles SIGINT: bit 1 of the mask of caught signals.
pub fn wait_for_handler(child: &Child) {
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

pub fn interrupt(child: &Child) {
    // SAFETY: `kill` touches no memory; the child was not waited for, so the id is still its own.
    let sent = unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    assert_eq!(sent, 0);
}

/// A new terminal: the end that a person sits at, and the end that a program has.
pub fn terminal() -> (File, OwnedFd) {
    // It does not know its size.
    terminal_of(0)
}

/// As [`terminal`], with this number of columns.
pub fn terminal_of(columns: u16) -> (File, OwnedFd) {
    let (mut person, mut program) = (-1, -1);
    let (name, settings) = (std::ptr::null_mut(), std::ptr::null());
    let size = libc::winsize {
        ws_row: if columns == 0 { 0 } else { 24 },
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let size = &raw const size;
    // SAFETY: both descriptors are valid for writes, the size for reads, and null asks for the
    // defaults of the rest.
    let made = unsafe { libc::openpty(&raw mut person, &raw mut program, name, settings, size) };
    assert_eq!(made, 0);
    // SAFETY: `openpty` made both descriptors, and nobody else has them.
    unsafe { (File::from_raw_fd(person), OwnedFd::from_raw_fd(program)) }
}

/// Everything that arrives until nobody has the program's end any more.
pub fn read_all(mut person: File) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    // A terminal without a program's end reads as an error, EIO, on Linux.
    while let Ok(count @ 1..) = person.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until one of `texts` was shown; returns all that was. Fails if the program ends before.
///
/// A bar is not drawn each time that it changes, so one text of many may never be seen.
#[track_caller]
pub fn read_until(person: &mut File, texts: &[&str]) -> String {
    let mut shown = String::new();
    while !texts.iter().any(|text| shown.contains(text)) {
        let mut buffer = [0; 4096];
        let count = person
            .read(&mut buffer)
            .unwrap_or_else(|_| panic!("it ended before it showed one of {texts:?}: {shown:?}"));
        shown += &String::from_utf8_lossy(&buffer[..count]);
    }
    shown
}
