//! Tests of runs that end their process. Each run has its own child process: this program, called
//! with the name of the case.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::os::unix::process::ExitStatusExt;
use std::panic::catch_unwind;
use std::process::{Command, ExitCode, Output};

use cellworks_threads::{
    Config, Idle, NoOutside, Verdict, begin_turns, cancel_all, park, run, scope, take_turn,
    yield_now,
};
use skipped::skipped;

struct Case {
    name: &'static str,
    /// The code of the child process, which its main thread runs.
    crash: fn(),
    check: fn(&Output),
}

const CASES: &[Case] = &[
    Case {
        name: "a_named_thread_that_overflows_is_named_with_its_stack_size_and_the_knob",
        crash: || {
            core(|| {
                scope(|s| {
                    s.spawn(yield_now);
                    s.builder()
                        .name("deep")
                        .stack_bytes(128 * 1024)
                        .spawn(|| recurse(0));
                });
            });
        },
        check: |output| {
            aborted_with(
                output,
                "cellworks: thread 'deep' overflowed its stack of 131072 bytes; give it more with Config::stack_bytes or Builder::stack_bytes\n",
            );
        },
    },
    Case {
        name: "a_thread_that_takes_turns_is_the_one_that_overflows",
        crash: || {
            core(|| {
                scope(|s| {
                    for member in 0..3 {
                        let thread = s.builder().name(format!("member {member}"));
                        thread.spawn(move || {
                            begin_turns();
                            assert!(take_turn());
                            if member == 1 {
                                recurse(0);
                            }
                        });
                    }
                });
            });
        },
        check: |output| {
            aborted_with(
                output,
                "cellworks: thread 'member 1' overflowed its stack of 262144 bytes; give it more with Config::stack_bytes or Builder::stack_bytes\n",
            );
        },
    },
    Case {
        name: "an_unnamed_thread_of_a_std_thread_overflows",
        crash: || {
            std::thread::spawn(overflow_unnamed)
                .join()
                .expect("crashes")
        },
        check: |output| aborted_with(output, OVERFLOW_UNNAMED),
    },
    Case {
        name: "an_os_thread_without_alternate_stack_overflows",
        crash: || {
            extern "C" fn start(_: *mut libc::c_void) -> *mut libc::c_void {
                overflow_unnamed();
                std::ptr::null_mut()
            }
            let mut thread = 0;
            // SAFETY: the thread gets no argument, and this function waits for it.
            unsafe {
                libc::pthread_create(&mut thread, std::ptr::null(), start, std::ptr::null_mut());
                libc::pthread_join(thread, std::ptr::null_mut());
            }
        },
        check: |output| aborted_with(output, OVERFLOW_UNNAMED),
    },
    #[cfg(not(cellworks_sanitizer))]
    Case {
        name: "an_overflow_of_the_os_thread_itself_is_left_to_std",
        crash: || core(|| recurse(0)),
        check: |output| {
            assert_eq!(output.status.signal(), Some(libc::SIGABRT));
            contains(output, "thread 'main' (");
            contains(output, "has overflowed its stack");
            assert!(!stderr(output).contains("cellworks"), "{output:?}");
        },
    },
    #[cfg(not(cellworks_sanitizer))]
    Case {
        name: "another_fault_is_left_to_its_signal",
        crash: || {
            core(|| {
                scope(|s| {
                    s.spawn(fault);
                });
            });
        },
        check: |output| {
            assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
            assert_eq!(stderr(output), "");
        },
    },
    Case {
        name: "a_handler_that_was_there_before_gets_the_other_faults",
        crash: || {
            extern "C" fn mine(
                signal: libc::c_int,
                info: *mut libc::siginfo_t,
                _: *mut libc::c_void,
            ) {
                // SAFETY: `info` comes from the kernel, and the handler only ends the process.
                unsafe {
                    let expected = signal == libc::SIGSEGV && (*info).si_addr().addr() == 64;
                    libc::_exit(if expected { 42 } else { 1 });
                }
            }
            // SAFETY: the call installs a handler that only ends the process.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = mine as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
            }
            core(|| {
                scope(|s| {
                    s.spawn(fault);
                });
            });
        },
        check: |output| assert_eq!(output.status.code(), Some(42), "{output:?}"),
    },
    // A sanitizer needs the address space that this case takes away.
    #[cfg(not(cellworks_sanitizer))]
    Case {
        name: "a_stack_that_cannot_be_mapped_is_a_panic_that_says_what_to_do",
        crash: || {
            let limit = libc::rlimit {
                rlim_cur: 256 << 20,
                rlim_max: 256 << 20,
            };
            // SAFETY: the call only lowers a limit of this process.
            unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
            if !is_limited_to(limit.rlim_cur) {
                eprint!("{NOT_LIMITED}");
                return;
            }
            core(|| {
                scope(|s| {
                    s.spawn(|| ());
                    s.builder().name("huge").stack_bytes(1 << 30).spawn(|| ());
                });
            });
        },
        check: |output| {
            if stderr(output) == NOT_LIMITED {
                skipped(NOT_LIMITED);
                return;
            }
            assert_eq!(output.status.code(), Some(101), "{output:?}");
            contains(
                output,
                "cannot map a stack of 1073741824 bytes for thread 'huge' beside 1 others: Cannot allocate memory (os error 12); \
                 use smaller stacks or fewer threads, or allow this process more memory (ulimit -v) or mappings \
                 (vm.max_map_count, of which a stack takes two)",
            );
        },
    },
    Case {
        name: "a_stack_larger_than_the_address_space_is_refused_in_the_same_way",
        crash: || {
            core(|| {
                scope(|s| {
                    s.builder().stack_bytes(usize::MAX).spawn(|| ());
                });
            });
        },
        check: |output| {
            contains(
                output,
                "cannot map a stack of 18446744073709551615 bytes for an unnamed thread beside 0 others: Cannot allocate memory",
            );
        },
    },
    // With corosensei a backtrace goes on from the stack of a thread to that of the main thread.
    #[cfg(all(target_arch = "x86_64", not(feature = "corosensei")))]
    Case {
        name: "the_backtrace_of_a_panic_ends_at_the_bottom_of_the_thread",
        crash: || {
            core(|| {
                scope(|s| {
                    s.spawn(|| panic!("look at the trace"));
                });
            });
        },
        check: |output| {
            assert_eq!(output.status.code(), Some(101), "{output:?}");
            contains(output, "look at the trace");
            contains(output, "crashes::CASES");
            let text = stderr(output);
            let last = text.lines().rfind(|line| line.contains("::"));
            assert!(
                last.is_some_and(|line| line.contains("trampoline")),
                "{text}"
            );
        },
    },
    // The sanitizer reports an error on the stack of a cooperative thread.
    #[cfg(cellworks_sanitizer = "address")]
    Case {
        name: "address_sanitizer_finds_a_write_beside_a_variable_on_the_stack_of_a_thread",
        crash: || {
            core(|| {
                scope(|s| {
                    s.spawn(|| {
                        yield_now();
                        let mut bytes = std::hint::black_box([0u8; 16]);
                        let beside = std::hint::black_box(bytes.as_mut_ptr()).wrapping_add(17);
                        // SAFETY: unsound on purpose, so that the sanitizer reports it.
                        unsafe { beside.write_volatile(1) };
                    });
                });
            });
        },
        check: |output| {
            assert!(!output.status.success(), "{output:?}");
            contains(output, "AddressSanitizer: stack-buffer-overflow");
        },
    },
    #[cfg(cellworks_sanitizer = "address")]
    Case {
        name: "address_sanitizer_knows_the_stack_that_a_thread_which_takes_turns_unwinds",
        crash: || {
            core(|| {
                scope(|s| {
                    for _ in 0..3 {
                        s.spawn(|| {
                            begin_turns();
                            assert!(take_turn());
                            std::panic::catch_unwind(|| panic!("a turn")).unwrap_err();
                            take_turn();
                        });
                    }
                });
            });
        },
        check: |output| {
            assert!(output.status.success(), "{output:?}");
            contains(output, "a turn");
            // AddressSanitizer prints its name if the stack pointer is not in the announced stack.
            assert!(!stderr(output).contains("ASan"), "{}", stderr(output));
        },
    },
    // The sanitizer reports a race between threads of two cores.
    #[cfg(cellworks_sanitizer = "thread")]
    Case {
        name: "thread_sanitizer_finds_a_race_between_threads_of_two_cores",
        crash: || {
            static mut WORD: u64 = 0;
            let write = || {
                core(|| {
                    scope(|s| {
                        for _ in 0..2 {
                            s.spawn(|| {
                                begin_turns();
                                take_turn();
                                // SAFETY: unsound on purpose, so that the sanitizer reports it.
                                unsafe { WORD += 1 };
                            });
                        }
                    });
                });
            };
            std::thread::scope(|os| {
                os.spawn(write);
                os.spawn(write);
            });
        },
        check: |output| {
            assert!(!output.status.success(), "{output:?}");
            contains(output, "ThreadSanitizer: data race");
        },
    },
    Case {
        name: "a_thread_that_catches_its_cancellation_for_ever_is_named",
        crash: || {
            core(|| {
                scope(|s| {
                    let deaf = || {
                        loop {
                            let _ = catch_unwind(|| park(&"a letter"));
                        }
                    };
                    s.builder().name("deaf").spawn(deaf);
                    s.spawn(cancel_all);
                });
            });
        },
        check: |output| aborted_with(output, DEAF),
    },
    Case {
        name: "a_thread_that_waits_for_ever_in_a_destructor_after_its_cancellation_is_named",
        crash: || {
            struct Deaf;
            impl Drop for Deaf {
                fn drop(&mut self) {
                    loop {
                        yield_now();
                    }
                }
            }
            struct Programs;
            impl Idle for Programs {
                fn idle(&self) -> Verdict {
                    Verdict::Stuck
                }

                fn programs(&self) -> Vec<String> {
                    vec!["one".to_owned(), "two".to_owned()]
                }
            }
            let blocked = run(&Config::default(), &Programs, || {
                scope(|s| {
                    let deaf = || {
                        let _deaf = Deaf;
                        park(&"a letter");
                    };
                    s.builder().name("deaf").spawn(deaf);
                });
            });
            drop(blocked);
        },
        check: |output| {
            let programs = "Programs that had not ended:\n  one\n  two\n";
            aborted_with(output, &format!("{DEAF}{programs}"));
        },
    },
    Case {
        name: "a_thread_that_catches_its_cancellation_a_thousand_times_is_let_go_on",
        crash: || {
            let blocked = run(&Config::default(), &NoOutside, || {
                scope(|s| {
                    s.spawn(|| {
                        for _ in 0..1_000 {
                            let _ = catch_unwind(|| park(&"a letter"));
                        }
                    });
                });
            });
            blocked.expect_err("it was cancelled");
        },
        check: |output| assert!(output.status.success(), "{output:?}"),
    },
    Case {
        name: "a_report_of_a_deadlock_can_be_the_error_of_a_program",
        crash: || {
            let blocked = run(&Config::default(), &NoOutside, || park(&"a letter")).unwrap_err();
            panic!("{blocked}");
        },
        check: |output| contains(output, "\n  thread 'main' waits for a letter at "),
    },
];

const DEAF: &str = "cellworks: thread 'deaf' cannot be ended: it was cancelled, and again and again it catches the panic that should unwind it, or waits in a destructor while it unwinds. Pass on what `catch_unwind` returns with `resume_unwind`, at least if it is a `Cancelled`, and let loops of waits in destructors end when the run is cancelled.\n";

const OVERFLOW_UNNAMED: &str = "cellworks: thread '1' overflowed its stack of 262144 bytes; give it more with Config::stack_bytes or Builder::stack_bytes\n";

const NOT_LIMITED: &str =
    "the emulator of this processor does not limit the address space of a process";

/// Returns whether the limit on the address space of this process is `bytes`. It is not under QEMU,
/// which ignores a call that sets it.
fn is_limited_to(bytes: libc::rlim_t) -> bool {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("Linux tells the limits");
    let limit = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"));
    let limit = limit.and_then(|limit| limit.split_whitespace().next());
    limit.is_some_and(|limit| limit == bytes.to_string())
}

fn core(main: impl FnOnce()) {
    run(&Config::default(), &NoOutside, main).expect("no thread waits for ever");
}

fn overflow_unnamed() {
    core(|| {
        scope(|s| {
            s.spawn(|| recurse(0));
        });
    });
}

fn recurse(depth: usize) {
    let frame = std::hint::black_box([depth; 64]);
    if frame[0] < usize::MAX {
        recurse(depth + 1);
    }
    std::hint::black_box(frame);
}

fn fault() {
    let nowhere = std::hint::black_box(std::ptr::without_provenance_mut::<u8>(64));
    // SAFETY: unsound on purpose, because the write must fault.
    unsafe { nowhere.write_volatile(1) };
}

/// Returns what the child process wrote, without the line that QEMU adds if a signal ends a process
/// that it emulates.
fn stderr(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let (of_the_child, _) = text
        .split_once("qemu: uncaught target signal ")
        .unwrap_or((&text, ""));
    of_the_child.to_owned()
}

fn contains(output: &Output, text: &str) {
    assert!(
        stderr(output).contains(text),
        "`{text}` is not in:\n{}",
        stderr(output)
    );
}

fn aborted_with(output: &Output, message: &str) {
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
    assert_eq!(stderr(output), message);
}

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    if let Some(case) = CASES
        .iter()
        .find(|case| Some(case.name) == argument.as_deref())
    {
        (case.crash)();
        return ExitCode::SUCCESS;
    }
    // `cargo test name` passes a part of a name.
    let wanted = argument
        .filter(|argument| !argument.starts_with('-'))
        .unwrap_or_default();
    for case in CASES.iter().filter(|case| case.name.contains(&wanted)) {
        let program = std::env::current_exe().expect("the path of this program is known");
        let output = Command::new(program)
            .arg(case.name)
            .env("RUST_BACKTRACE", "1")
            .output()
            .expect("this program can be started again");
        (case.check)(&output);
        println!("test {} ... ok", case.name);
    }
    ExitCode::SUCCESS
}
