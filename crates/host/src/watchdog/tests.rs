//! Tests of the watchdog with trees of `proc`, which contain the texts of real processes.

use super::message;
use super::standstill::Standstill;
use crate::cpus::tests::tree::Tree;

/// The call of `std::thread::park`: a private `FUTEX_WAIT_BITSET`.
const PARK: &str =
    "202 0x5623dd28fd88 0x89 0xffffffff 0x0 0x0 0xffffffff 0x7f69424b4bb8 0x7f69425ba829";
/// The call of `pthread_join`: `FUTEX_WAIT_BITSET` with the real-time clock, not private.
const JOIN: &str =
    "202 0x7f69424b5990 0x109 0xd2a 0x0 0x0 0xffffffff 0x7f69422b3930 0x7f694253ef16";
/// The call of `pthread_cond_wait` and `sem_wait`: like `JOIN`, but private.
const SEMAPHORE: &str =
    "202 0x5623a1cee010 0x189 0x0 0x0 0x0 0xffffffff 0x7f69422b3930 0x7f694253a0d6";

/// The mappings of a Rust program without mapped files.
const MAPS: &str = "\
5623a1c81000-5623a1c9c000 r--p 00000000 fe:00 9977884                    /tmp/a program
5623a1cee000-5623a1cef000 rw-p 0006a000 fe:00 9977884                    /tmp/a program
5623dd28f000-5623dd2b0000 rw-p 00000000 00:00 0                          [heap]
7f69422b5000-7f69422b6000 ---p 00000000 00:00 0 
7f69422b6000-7f69424b6000 rw-p 00000000 00:00 0 
7fc71a1ef000-7fc71a1f6000 r--s 00000000 fe:00 325737                     /usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

/// A process in which thread 7 reads the states, the main thread 5 joins thread 6, and thread 6 is
/// parked.
struct Process(Tree);

impl Process {
    fn stuck() -> Self {
        let this = Self(Tree::empty());
        this.status("0000000100000440");
        this.write("maps", MAPS);
        this.write("task/7/syscall", "running\n");
        for (thread, call) in [(5, JOIN), (6, PARK)] {
            this.call(thread, call);
            this.wchan(thread, "futex_do_wait");
            this.thread_status(thread, 3, 0);
        }
        this.0.link("proc/thread-self", "5/task/7");
        this
    }

    fn write(&self, file: &str, text: &str) {
        self.0.write(format!("proc/self/{file}"), text);
    }

    fn remove(&self, file: &str) {
        self.0.remove(format!("proc/self/{file}"));
    }

    fn status(&self, caught: &str) {
        let status = format!(
            "Name:\ta program\nTgid:\t5\nTracerPid:\t0\nThreads:\t3\nSigQ:\t0/96365\n\
             SigBlk:\t0000000000000000\nSigIgn:\t0000000000001000\nSigCgt:\t{caught}\n"
        );
        self.write("status", &status);
    }

    fn call(&self, thread: u32, call: &str) {
        // The texts are from x86-64, where `futex` has the number 202.
        let call = call.replacen("202 ", &format!("{} ", libc::SYS_futex), 1);
        self.write(&format!("task/{thread}/syscall"), &format!("{call}\n"));
        if thread == 5 {
            self.write("syscall", &format!("{call}\n"));
        }
    }

    fn wchan(&self, thread: u32, function: &str) {
        self.write(&format!("task/{thread}/wchan"), function);
    }

    fn thread_status(&self, thread: u32, switches: u32, tracer: u32) {
        let status = format!(
            "Name:\tSPE {thread}\nState:\tS (sleeping)\nTracerPid:\t{tracer}\n\
             voluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t1\n"
        );
        self.write(&format!("task/{thread}/status"), &status);
    }

    fn look(&self) -> Option<Standstill> {
        Standstill::read(&self.0.source())
    }

    fn doubt(&self) -> String {
        let standstill = self.look().expect("every thread waits");
        let doubts = standstill.doubts(&self.0.source());
        let [doubt] = &doubts[..] else {
            panic!("not one doubt: {doubts:?}");
        };
        doubt.clone()
    }

    fn is_certain(&self) -> bool {
        let standstill = self.look().expect("every thread waits");
        standstill.doubts(&self.0.source()).is_empty()
    }
}

#[test]
fn threads_that_wait_for_each_other_are_stuck_for_certain() {
    let process = Process::stuck();
    assert_eq!(process.look(), process.look());
    assert!(process.is_certain());
    // The futex of `SEMAPHORE` is also private to the process.
    process.call(6, SEMAPHORE);
    assert!(process.is_certain());
}

#[test]
fn a_thread_that_may_go_on_by_itself_is_no_standstill() {
    let process = Process::stuck();
    for call in [
        "running",
        // The thread has ended and was not joined.
        "-1 0x7ffe2de67600 0x7f69425b12ec",
        // read
        "0 0x3 0x7f5ab1b6a000 0x20000 0x7f5ab1bfdb60 0xffffffff 0x0 0x7fff1a8cf068 0x7f5ab1ce62ad",
        // rt_sigtimedwait, of sigwait
        "128 0x7f69422b3940 0x0 0x0 0x8 0x0 0x0 0x7f69422b3930 0x7f694253ef16",
        // futex with a time limit: std::thread::park_timeout
        "202 0x5623dd28fd88 0x89 0xffffffff 0x7f69424b4b40 0x0 0xffffffff 0x7f69424b4bb8 0x7f69425ba829",
        // FUTEX_WAKE, which can sleep while the kernel fetches a page
        "202 0x5623dd28fd88 0x1 0x1 0x0 0x0 0x0 0x7f69424b4bb8 0x7f69425ba829",
        // futex_waitv
        "449 0x7f69422b3940 0x2 0x0 0x0 0x1 0x0 0x7f69422b3930 0x7f694253ef16",
        "",
    ] {
        for (thread, before) in [(5, JOIN), (6, PARK)] {
            process.call(thread, call);
            assert_eq!(process.look(), None, "{call}");
            process.call(thread, before);
        }
    }
    assert!(process.look().is_some());
    process.remove("task/6/syscall");
    assert_eq!(process.look(), None);
}

#[test]
fn a_thread_that_ran_between_two_looks_is_no_standstill() {
    let process = Process::stuck();
    let before = process.look().unwrap();
    process.thread_status(5, 4, 0);
    let after = process.look().unwrap();
    assert_ne!(before, after);
    assert!(before.waits_like(&after));
    process.call(6, SEMAPHORE);
    assert!(!before.waits_like(&process.look().unwrap()));
}

#[test]
fn a_handler_may_wake_a_thread_unless_it_is_for_faults_or_of_libc() {
    let process = Process::stuck();
    for (caught, whose) in [
        ("0000000000000000", "a program in C"),
        ("0000000000000440", "a program in Rust"),
        ("0000000180000440", "the same with an older glibc"),
        (
            "00000000000004c8",
            "AddressSanitizer, which asks for SIGILL and SIGFPE too",
        ),
    ] {
        process.status(caught);
        assert!(process.is_certain(), "{whose}");
    }
    process.status("0000000100000442");
    assert_eq!(
        process.doubt(),
        "signal 2 has a handler, which can wake a thread (`kill -l 2` names it)"
    );
    // The handlers of SIGHUP, Ctrl-C, SIGTERM and the last signal.
    process.status("8000000100004443");
    assert_eq!(
        process.doubt(),
        "signals 1, 2, 15, 64 have handlers, which can wake a thread (`kill -l` names them)"
    );
    process.status("none");
    assert_eq!(
        process.doubt(),
        "SigCgt in /proc/self/status cannot be read"
    );
}

#[test]
fn libc_has_one_signal_more_in_musl() {
    let status = "SigCgt:\t0000000380000440\n";
    let doubt = |first_real_time| super::standstill::doubt_by_handlers(status, first_real_time);
    assert_eq!(doubt(35), None);
    assert_eq!(
        doubt(34).unwrap(),
        "signal 34 has a handler, which can wake a thread (`kill -l 34` names it)"
    );
}

#[test]
fn shared_memory_may_be_of_another_process_unless_it_is_for_reading() {
    let process = Process::stuck();
    for name in [
        "/dev/shm/a queue",
        "/memfd:ring (deleted)",
        "/dev/zero (deleted)",
        "anon_inode:[io_uring]",
    ] {
        let shared = format!("7f0000000000-7f0000001000 rw-s 00000000 00:01 2052 {name}\n");
        process.write("maps", &(MAPS.to_owned() + &shared));
        assert_eq!(
            process.doubt(),
            format!("{name} is writable memory that another process may share")
        );
    }
    process.write("maps", "what no kernel writes\n");
    assert_eq!(process.doubt(), "/proc/self/maps cannot be read");
    process.remove("maps");
    assert_eq!(process.doubt(), "/proc/self/maps cannot be read");
}

#[test]
fn a_futex_that_is_not_private_has_to_lie_in_private_memory() {
    let process = Process::stuck();
    let by_others = "thread 5 waits for a futex by which another process can wake it";
    // The first address is in a shared read-only mapping of a file, the second in a private one,
    // and the third in no mapping.
    for address in ["7fc71a1ef010", "5623a1c81010", "7f69424b6000"] {
        process.call(5, &JOIN.replace("7f69424b5990", address));
        assert_eq!(process.doubt(), by_others, "{address}");
        process.call(
            5,
            &JOIN.replace("7f69424b5990 0x109", &format!("{address} 0x189")),
        );
        assert!(process.is_certain(), "{address}");
    }
}

#[test]
fn other_operations_may_be_ended_by_another_process() {
    let process = Process::stuck();
    // FUTEX_LOCK_PI, FUTEX_WAIT_REQUEUE_PI and FUTEX_LOCK_PI2, each of them private.
    for (flagged, operation) in [("0x86", 6), ("0x8b", 11), ("0x8d", 13)] {
        process.call(6, &PARK.replace("0x89", flagged));
        assert_eq!(
            process.doubt(),
            format!(
                "thread 6 waits by operation {operation} of futex(2), which not only a thread of this \
                 process can end"
            )
        );
    }
}

#[test]
fn a_thread_may_wait_for_something_else_before_the_kernel_looks_at_its_futex() {
    let process = Process::stuck();
    // Threads wait in the first function before Linux 5.16, and in the second from 5.16 to 6.15.
    for function in ["futex_wait_queue_me", "futex_wait_queue"] {
        process.wchan(6, function);
        assert!(process.is_certain(), "{function}");
    }
    process.wchan(6, "handle_userfault");
    assert_eq!(
        process.doubt(),
        "thread 6 waits in the kernel's `handle_userfault`, which is not for futexes"
    );
    process.wchan(6, "0");
    assert_eq!(process.doubt(), "/proc/self/task/6/wchan cannot be read");
    process.remove("task/6/wchan");
    assert_eq!(process.doubt(), "/proc/self/task/6/wchan cannot be read");
}

#[test]
fn a_debugger_may_drive_a_thread() {
    let process = Process::stuck();
    process.thread_status(6, 3, 4711);
    assert_eq!(process.doubt(), "thread 6 is traced by process 4711");
    process.remove("task/6/status");
    assert_eq!(process.doubt(), "/proc/self/task/6/status cannot be read");
}

#[test]
fn no_thread_may_be_overlooked() {
    let process = Process::stuck();
    process.remove("task/6");
    assert_eq!(
        process.doubt(),
        "2 threads were seen, but the kernel counts 3"
    );
    process.write("status", "SigCgt:\t0000000000000440\n");
    assert_eq!(
        process.doubt(),
        "Threads in /proc/self/status cannot be read"
    );
    process.remove("status");
    assert_eq!(process.doubt(), "/proc/self/status cannot be read");
}

#[test]
fn messages_name_the_doubts_and_the_programs() {
    let programs = ["work on SPE 0, spawned at a.rs:1:2".to_owned()];
    let doubts = ["one".to_owned(), "two".to_owned()];
    let advice = "a program blocks its core, for example by a lock of std that another thread of the \
                  same core holds across a yield, or by a channel of std; use what `Spe` offers instead. \
                  Programs that have not ended:";
    assert_eq!(
        message(&doubts, &programs, &[]),
        format!(
            "cellworks: warning: every OS thread of this process waits without a time limit, and not all \
             of them through Cellworks. That need not be for ever, so the process goes on: one; two. If it is \
             for ever, {advice}\n  work on SPE 0, spawned at a.rs:1:2\n"
        )
    );
    let outside = ["the gate `client`".to_owned()];
    assert_eq!(
        message(&[], &[], &outside),
        format!(
            "cellworks: stuck: every OS thread of this process waits for another, for ever, and not all \
             of them through Cellworks.\n\
             Threads outside keep a run from ending until they drop their ends:\n  the gate `client`\n\
             If it is not that, {advice}\n  none but the main program\n"
        )
    );
    let advice = advice.replacen('a', "A", 1);
    assert_eq!(
        message(&[], &programs, &[]),
        format!(
            "cellworks: stuck: every OS thread of this process waits for another, for ever, and not all \
             of them through Cellworks. {advice}\n  work on SPE 0, spawned at a.rs:1:2\n"
        )
    );
}
