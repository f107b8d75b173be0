//! If a program blocks its OS thread forever by means of `std`, a report names the program, and the
//! process ends. If it is not certain that the thread is blocked forever, a warning names the
//! program once, and the process continues.
//!
//! Each case runs in a child process. The test has no harness, because the threads of a harness
//! wait with time limits, so the watchdog would never see that all threads wait.

#[path = "../../../tests/skipped.rs"]
mod skipped;
#[path = "../../../tests/started.rs"]
mod started;

use std::fs::{File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use cellworks_host::{Host, HostSpe};
use cellworks_machine::{CellSpe, Machine, Spe, SpeId};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::thread::futex;
use skipped::skipped;
use started::Started;

/// The time of several checks of the watchdog, enough for a second warning or an abort.
const SEVERAL_CHECKS: Duration = Duration::from_secs(4);

const STUCK: &str = "cellworks: stuck: every OS thread of this process waits";
const WARNING: &str = "cellworks: warning: every OS thread of this process waits";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["lock"] => lock_held_across_a_yield(),
        ["receive"] => receive_without_a_sender(),
        ["standard-error"] => lock_of_standard_error_held_while_stuck(),
        ["sleep"] => sleep_that_ends(),
        ["interrupt"] => idle_until_ctrl_c(),
        ["shared", path] => wait_for_another_process(Path::new(path)),
        _ => parent(),
    }
}

// ------------------------------------------------------------------------------------- the parent

/// Runs the children at the same time, because they mostly wait.
fn parent() {
    let stuck = [
        ("lock", "lock_held_across_a_yield"),
        ("receive", "receive_without_a_sender"),
        ("standard-error", "lock_of_standard_error_held_while_stuck"),
    ];
    let warned = ["interrupt", "shared"];
    let hidden = waits_are_hidden();
    let uncertain = hidden.clone().or_else(proofs_are_missing);
    let skip = |cases: &[&str], why: &str| {
        for case in cases {
            skipped(&format!("{case}: {why}"));
        }
        cases.len()
    };
    let mut left_out = 0;
    thread::scope(|cases| {
        cases.spawn(a_program_that_sleeps_is_left_alone);
        match &uncertain {
            Some(why) => left_out += skip(&stuck.map(|(case, _)| case), why),
            None => {
                for (case, program) in stuck {
                    cases.spawn(move || a_stuck_program_is_named(case, program));
                }
            }
        }
        match &hidden {
            Some(why) => left_out += skip(&warned, why),
            None => {
                cases.spawn(a_program_that_idles_until_ctrl_c_is_named_once_and_goes_on);
                cases.spawn(a_program_that_another_process_wakes_is_named_once_and_goes_on);
            }
        }
    });
    let passed = 1 + stuck.len() + warned.len() - left_out;
    println!("{passed} passed, 0 failed, {left_out} skipped");
}

/// Returns the reason, if any, why the watchdog cannot see here that every thread waits.
fn waits_are_hidden() -> Option<String> {
    match std::fs::read_to_string("/proc/self/syscall") {
        Err(error) => Some(format!(
            "the kernel does not show what threads wait for: /proc/self/syscall: {error}"
        )),
        Ok(call) if call.starts_with(&format!("{} ", libc::SYS_read)) => None,
        // An emulator passes the calls on with the numbers of the processor that it runs on.
        Ok(call) => Some(format!(
            "the kernel shows the calls of another processor: /proc/self/syscall: {}",
            call.trim()
        )),
    }
}

/// Returns the reason, if any, why the watchdog can never be certain of a standstill on this
/// computer. In that case the watchdog only warns.
fn proofs_are_missing() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process has a status");
    if !status.lines().any(|line| line == "TracerPid:\t0") {
        return Some("this process is traced".to_owned());
    }
    let (tell, told) = channel();
    let waits = thread::spawn(move || {
        tell.send(rustix::thread::gettid()).unwrap();
        thread::park();
    });
    let id = told.recv().unwrap().as_raw_nonzero();
    let until = Instant::now() + SEVERAL_CHECKS;
    let path = format!("/proc/self/task/{id}/wchan");
    let mut function = std::fs::read_to_string(&path);
    while !matches!(&function, Ok(name) if name.contains("futex")) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
        function = std::fs::read_to_string(&path);
    }
    waits.thread().unpark();
    waits.join().unwrap();
    match function {
        Ok(name) if name.contains("futex") => None,
        shown => Some(format!(
            "the kernel does not show where in it a thread waits: {path}: {shown:?}"
        )),
    }
}

/// Reads lines until one begins with `start`.
fn read_until(child: &mut Started, start: &str) {
    while let Some(line) = child.line() {
        if line.starts_with(start) {
            return;
        }
    }
    panic!("the child ended after: {}", child.said);
}

/// Reads all further lines. Returns the exit status of the child, and all its lines.
fn end_of(mut child: Started) -> (ExitStatus, String) {
    while child.line().is_some() {}
    let status = child.child.wait().expect("the child has ended");
    (status, std::mem::take(&mut child.said))
}

fn a_stuck_program_is_named(case: &str, program: &str) {
    let (status, said) = end_of(Started::new(&[case]));
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{said}");
    assert!(said.contains(STUCK), "{said}");
    assert_names(&said, program);
}

fn assert_names(said: &str, program: &str) {
    assert!(
        said.contains(&format!("{program}::{{{{closure}}}}")),
        "{said}"
    );
    assert!(
        said.contains("on SPE 0, spawned at ") && said.contains("watchdog.rs:"),
        "{said}"
    );
}

fn assert_went_on_with_one_warning(child: Started, program: &str, why: &str) {
    let (status, said) = end_of(child);
    assert!(status.success(), "{said}");
    assert_eq!(said.matches("cellworks: ").count(), 1, "{said}");
    assert!(said.contains(why), "{said}");
    assert_names(&said, program);
}

fn a_program_that_sleeps_is_left_alone() {
    let (status, said) = end_of(Started::new(&["sleep"]));
    assert!(status.success() && said.is_empty(), "{said}");
}

fn a_program_that_idles_until_ctrl_c_is_named_once_and_goes_on() {
    let mut child = Started::new(&["interrupt"]);
    read_until(&mut child, WARNING);
    thread::sleep(SEVERAL_CHECKS);
    let id = child.child.id() as libc::pid_t;
    // SAFETY: `kill` touches no memory. The child was not waited for, so the id still belongs to
    // the child.
    let sent = unsafe { libc::kill(id, libc::SIGINT) };
    assert_eq!(sent, 0);
    let why = "signal 2 has a handler, which can wake a thread";
    assert_went_on_with_one_warning(child, "idle_until_ctrl_c", why);
}

fn a_program_that_another_process_wakes_is_named_once_and_goes_on() {
    let file = tempfile::NamedTempFile::new().expect("there is room for a small file");
    file.as_file().set_len(4096).expect("the file can grow");
    // The kernel shows the mapping with this canonical path.
    let path = file.path().canonicalize().expect("the file is there");
    let path = path.to_str().expect("the path is text");
    let mut child = Started::new(&["shared", path]);
    read_until(&mut child, WARNING);
    thread::sleep(SEVERAL_CHECKS);
    let word = shared_word(file.path());
    word.store(1, Ordering::Release);
    let woken = futex::wake(word, futex::Flags::empty(), 1).expect("the word can be a futex");
    assert_eq!(woken, 1);
    let why = format!("{path} is writable memory that another process may share");
    assert_went_on_with_one_warning(child, "wait_for_another_process", &why);
}

/// Maps the first word of a file into memory that all processes share that call this function.
fn shared_word(path: &Path) -> &'static AtomicU32 {
    let file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .expect("the file can be written");
    let (bytes, protection) = (4096, ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new mapping at an address that the kernel chooses changes no other memory.
    let page = unsafe {
        mmap(
            std::ptr::null_mut(),
            bytes,
            protection,
            MapFlags::SHARED,
            &file,
            0,
        )
    };
    let page = page.expect("the file can be mapped");
    // SAFETY: the page is aligned, has room for a word, and stays mapped until the process ends.
    // The file is as long as the page. Both processes access the word only by atomic operations.
    unsafe { AtomicU32::from_ptr(page.cast()) }
}

// ----------------------------------------------------------------------------------- the children

fn host() -> Host {
    Host::builder()
        .spes(1)
        .build()
        .expect("this computer is a host")
}

fn run(program: impl FnOnce(&HostSpe) + Send) {
    host()
        .run(|ppe| drop(ppe.spawn(SpeId::new(0), program)))
        .expect("the program ends");
}

fn lock_held_across_a_yield() {
    let lock = Mutex::new(0);
    run(|spe| {
        spe.threads(2, |_| {
            let mut held = lock.lock().unwrap();
            spe.yield_now();
            *held += 1;
        })
        .unwrap();
    });
}

fn receive_without_a_sender() {
    let (sender, receiver) = channel::<u32>();
    run(move |_| {
        let _ = receiver.recv();
    });
    drop(sender);
}

fn lock_of_standard_error_held_while_stuck() {
    let held = std::io::stderr().lock();
    let (sender, receiver) = channel::<u32>();
    run(move |_| {
        let _ = receiver.recv();
    });
    drop((sender, held));
}

fn sleep_that_ends() {
    run(|_| thread::sleep(SEVERAL_CHECKS));
}

fn idle_until_ctrl_c() {
    let (sender, receiver) = channel();
    ctrlc::set_handler(move || sender.send(7).unwrap()).expect("this is the only handler");
    let host = host();
    let word = host.run(|ppe| {
        let program = ppe.spawn(SpeId::new(0), |spe| spe.read_in_mbox());
        ppe.write_in_mbox(SpeId::new(0), receiver.recv().unwrap());
        program.join().unwrap()
    });
    assert_eq!(word.expect("the program ends"), 7);
}

fn wait_for_another_process(path: &Path) {
    let word = shared_word(path);
    run(|_| {
        while word.load(Ordering::Acquire) == 0 {
            // The call may also return because the word was changed before the call.
            let _ = futex::wait(word, futex::Flags::empty(), 0, None);
        }
    });
}
