//! Terminals, and Ctrl-C.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

/// Waits until the process has a handler of SIGINT, which is bit 1 of the mask of caught signals.
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
            if super::is_emulated() {
                // The emulator catches all signals, also before the process has a handler.
                std::thread::sleep(Duration::from_secs(5));
            }
            return;
        }
        assert!(Instant::now() < patience, "no handler for SIGINT: {text}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn interrupt(child: &Child) {
    // SAFETY: `kill` touches no memory. The test has not waited for the child, so the id still
    // belongs to the child.
    let sent = unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    assert_eq!(sent, 0);
}

/// A new terminal: the end for a person, and the end for a program.
pub fn terminal() -> (File, OwnedFd) {
    // A terminal of 0 columns has an unknown size.
    terminal_of(0)
}

/// Like [`terminal`], with the given number of columns.
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
    // SAFETY: both descriptors are valid for writes, and the size for reads. A null pointer
    // requests the default of another setting.
    let made = unsafe { libc::openpty(&raw mut person, &raw mut program, name, settings, size) };
    assert_eq!(made, 0);
    // SAFETY: `openpty` made both descriptors, and no other code has them.
    unsafe { (File::from_raw_fd(person), OwnedFd::from_raw_fd(program)) }
}

/// Returns all bytes that arrive until the last process has closed the program's end.
pub fn read_all(mut person: File) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    // On Linux, reading fails with EIO after the last process has closed the program's end.
    while let Ok(count @ 1..) = person.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until the terminal has shown one of `texts`. Returns everything that it has shown. Fails
/// if the program ends earlier.
///
/// The caller gives several texts, because a progress bar is not drawn at each change. One of the
/// texts may therefore never appear.
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
