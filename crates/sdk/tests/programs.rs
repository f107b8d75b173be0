//! Programs of C as a user builds and runs them, on this computer and on a simulated PlayStation 3.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use skipped::skipped;

const SDK: &str = env!("CARGO_BIN_EXE_cellworks-sdk");
const MACHINES: [&str; 2] = ["host", "ps3"];

/// A folder with the C sources of the tests, and the programs that were built there.
struct Bench(TempDir);

impl Bench {
    /// Copies a folder of sources, or says that the test is skipped because nothing compiles here.
    #[track_caller]
    fn of(sources: &str) -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let is_there =
            |program: String| env::split_paths(&path).any(|folder| folder.join(&program).is_file());
        let has = |name: &str| {
            let versions = ["", "-19", "-20", "-21", "-22"];
            versions
                .iter()
                .any(|version| is_there(format!("{name}{version}")))
        };
        if !has("clang") || !has("wasm-ld") {
            skipped("clang or wasm-ld is not installed");
            return None;
        }
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(sources);
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
            }
        }
        Some(Self(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    #[track_caller]
    fn sh(&self, script: &str) -> String {
        let script = format!("set -e; eval \"$('{SDK}' cc --env)\"; {script}");
        let output = self.command("sh").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Builds a program of a PPU source and an SPU source, as in the guide.
    #[track_caller]
    fn build(&self, name: &str) {
        self.sh(&format!("'{SDK}' cc -O2 -o {name} {name}.c {name}-spu.c"));
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path());
        command
    }

    fn exec(&self, arguments: &[&str]) -> Output {
        self.command(SDK)
            .arg("exec")
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Runs a program on all machines, and compares what it prints and its exit code.
    #[track_caller]
    fn prints(&self, arguments: &[&str], expected: &str, code: i32) {
        for machine in MACHINES {
            let output = self.exec(&[&["--machine", machine], arguments].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            let printed = String::from_utf8_lossy(&output.stdout);
            assert_eq!(
                (&*printed, &*said),
                (expected, ""),
                "{arguments:?} on {machine}"
            );
            assert_eq!(
                output.status.code(),
                Some(code),
                "{arguments:?} on {machine}"
            );
        }
    }

    /// Runs a program on all machines, which fails with code 1, and returns its messages.
    #[track_caller]
    fn fails(&self, arguments: &[&str]) -> [String; 2] {
        MACHINES.map(|machine| {
            let output = self.exec(&[&["--machine", machine], arguments].concat());
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(
                output.status.code(),
                Some(1),
                "{arguments:?} on {machine}: {said}"
            );
            said
        })
    }

    fn expected(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

/// Builds and runs one of the programs in `tests/c`.
#[track_caller]
fn runs(name: &str, arguments: &[&str], code: i32) {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build(name);
    let expected = bench.expected(&format!("{name}.txt"));
    bench.prints(
        &[&[&*format!("./{name}")], arguments].concat(),
        &expected,
        code,
    );
}

/// Builds a program that needs the library of C++, or says that the test is skipped because the
/// library's source is not here.
#[track_caller]
fn builds_with_cpp(bench: &Bench, arguments: &[&str]) -> bool {
    let output = bench.command(SDK).arg("cc").args(arguments).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("pip download") {
        skipped(said.trim());
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

#[test]
fn the_ppu_uses_the_library_of_cpp() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    let sources = ["-O2", "-o", "standard", "standard.cpp", "standard-spu.c"];
    if builds_with_cpp(&bench, &sources) {
        bench.prints(&["./standard"], &bench.expected("standard.txt"), 3);
    }
}

#[test]
fn exceptions_are_caught_or_end_the_program() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    if !builds_with_cpp(&bench, &["-w", "-o", "exceptions", "exceptions.cpp"]) {
        return;
    }
    let line = line_with(&bench.expected("exceptions.cpp"), "/* the line */");
    let end =
        format!("exceptions.cpp:{line}:5 in main that nothing caught: Refused: nobody listens\n");
    for machine in MACHINES {
        let output = bench.exec(&["--machine", machine, "./exceptions"]);
        let printed = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(printed, bench.expected("exceptions.txt"), "{said}");
        assert!(said.ends_with(&end), "{said}");
        assert_eq!(output.status.code(), Some(134), "on {machine}");
    }
}

#[test]
fn both_sides_print_and_take_arguments_and_exit() {
    runs("hello", &["one", "two"], 3);
}

#[test]
fn both_sides_print_parts_of_one_line_in_their_order() {
    runs("order", &[], 0);
}

#[test]
fn threads_of_the_ppu_wait_for_each_other() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("ppu-gcc -O2 -o threads threads.c -lpthread");
    bench.prints(&["./threads"], &bench.expected("threads.txt"), 0);
}

/// Builds one of the programs in `tests/c` that have no SPU part, and compares what it prints.
#[track_caller]
fn runs_on_the_ppu(name: &str, expected: &str) {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh(&format!("ppu-gcc -O2 -o {name} {name}.c -lpthread"));
    bench.prints(&[&format!("./{name}")], expected, 0);
}

#[test]
fn threads_of_the_ppu_use_the_c_library_at_the_same_time() {
    let expected = "wrong 0, ended 6, own number 7, lines 1200, characters 32400\n";
    runs_on_the_ppu("together", expected);
}

#[test]
fn threads_of_the_first_libspe_run() {
    runs("threads1", &[], 0);
}

#[test]
fn the_time_base_is_read_by_assembler_too() {
    runs_on_the_ppu("time-base", "1 1 1\n1 0 0 7\n");
}

#[test]
fn the_system_says_the_rate_of_the_time_base() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("ppu-gcc -O2 -o cpuinfo cpuinfo.c");
    let cell = "processor\t: 0\ncpu\t\t: Cell Broadband Engine, altivec supported\n";
    for (machine, rest) in [
        ("host", "\ntimebase\t: 1000000000\nplatform\t: Cell\n"),
        (
            "ps3",
            "clock\t\t: 3200.000000MHz\n\ntimebase\t: 79800000\nplatform\t: PS3\n",
        ),
        (
            "qs20",
            "clock\t\t: 3200.000000MHz\n\ntimebase\t: 14318000\nplatform\t: Cell\n",
        ),
    ] {
        let output = bench.exec(&["--machine", machine, "./cpuinfo"]);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, format!("{cell}{rest}"), "{machine}");
        assert_eq!(output.status.code(), Some(0), "{machine}");
    }
}

#[test]
fn a_thread_that_exits_calls_its_cleanup_handlers() {
    runs_on_the_ppu("cleanup", "at the pop\nfirst\nsecond\n5\n");
}

#[test]
fn a_thread_that_is_cancelled_ends_where_it_waits() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    runs_on_the_ppu("cancel", &bench.expected("cancel.txt"));
}

#[test]
fn a_thread_sends_another_one_a_signal() {
    let expected = "there 0\nhandled 1\nitself 0\nsent 0\nthe thread got 1\nended 1\nrefused 1\n";
    runs_on_the_ppu("thread-kill", expected);
}

#[test]
fn a_thread_begins_with_a_function_of_any_type() {
    let expected = "number returns 11\nnone returns its value: 1\ntwo returns its argument: 1\n\
                    wide returns 3\nsum 1131111\n";
    runs_on_the_ppu("kinds", expected);
}

#[test]
fn threads_have_one_processor_and_the_usual_policy() {
    let expected = "two 2 1\nset 0\ngot 0 1 1\nequal 1, of 1\nnone 1\nattributes 7 1\nrefused -1 1\nusual 1 0\n\
                    priorities 1 to 99\n";
    runs_on_the_ppu("affinity", expected);
}

#[test]
fn messages_about_errors_have_the_name_of_the_program() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("spu-gcc -Wall -o spu messages.c; ppu-gcc -Wall -o messages messages.c");
    for machine in MACHINES {
        let output = bench.exec(&["--machine", machine, "./messages"]);
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "messages: file: No such file or directory\nmessages: No such file or directory\nmessages: 5\n\
             ./messages: plain 6\n./messages: number: Invalid argument\n./messages:a.c:12: line\n\
             own: log 7\nmessages: last\n",
            "{machine}"
        );
        assert_eq!(
            (output.stdout.as_slice(), output.status.code()),
            (&b"the end\n"[..], Some(0))
        );
    }
}

#[test]
fn threads_that_have_ended_take_no_room() {
    runs_on_the_ppu("lots", "ended 1000, join again 1\nended 1100\n");
}

#[test]
fn a_program_goes_on_after_a_stop() {
    runs("stops", &[], 0);
}

#[test]
fn a_stopped_program_begins_again_if_its_entry_says_so() {
    runs("restart", &[], 0);
}

#[test]
fn main_takes_vectors_of_words() {
    runs("vectors", &[], 0);
}

#[test]
fn main_takes_registers_as_any_type_of_sixteen_bytes() {
    runs("quadwords", &[], 0);
}

#[test]
fn a_program_of_an_spu_runs_alone() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("spu-gcc -O2 -o alone alone.c -lm");
    bench.prints(&["./alone"], "0 arguments, 2 3 4 5\n", 7);
}

#[test]
fn what_comes_after_the_program_is_its_own() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("ppu-gcc -o words words.c");
    let words = ["--", "-h", "--machine", "ps3", "--limit", "-x"];
    let expected = "-- -h --machine ps3 --limit -x\n";
    bench.prints(&[&["./words"], &words[..]].concat(), expected, 0);
    // A flag of exec that comes first was perhaps meant for exec.
    for (words, named) in [
        ("--machine ps3", Some("--machine ps3")),
        ("--machine=ps3 more", Some("--machine=ps3")),
        ("--counters more", Some("--counters")),
        ("--dir", Some("--dir")),
        ("more --counters", None),
        ("--machines ps3", None),
        ("--help", None),
    ] {
        let arguments: Vec<&str> = words.split(' ').collect();
        let output = bench.exec(&[&["./words"], &arguments[..]].concat());
        let note = named.map(|flag| {
            format!("note: `{flag}` goes to the program; flags of exec stand before the program\n")
        });
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            note.unwrap_or_default()
        );
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            format!("{words}\n")
        );
        let quiet = bench.exec(&[&["--quiet", "./words"], &arguments[..]].concat());
        assert_eq!(String::from_utf8_lossy(&quiet.stderr), "", "{words}");
    }
}

#[test]
fn words_are_not_lost_and_stops_are_told_one_after_the_other() {
    runs("burst", &[], 0);
}

#[test]
fn the_ppu_and_other_spes_reach_a_running_spe() {
    runs("areas", &[], 0);
}

#[test]
fn the_ppu_loads_and_stores_registers() {
    runs("registers", &[], 0);
}

#[test]
fn what_no_register_does_is_an_error_at_its_line() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build("registers");
    let source = bench.expected("registers.c");
    for (wrong, line, parts) in [
        (
            "1",
            "SPU_In_Mbox); break",
            [
                "loads the word at the offset 0x400c of the registers of context 1",
                "SPU_Mbox_Stat",
            ],
        ),
        (
            "2",
            "SPU_RunCntl = 1",
            [
                "stores to the word at the offset 0x401c of the registers of context 1",
                "spe_context_run",
            ],
        ),
        (
            "3",
            "SPU_In_Mbox = i",
            ["room in the inbound mailbox of context 1", "deadlock"],
        ),
        (
            "4",
            "SPU_Mbox_Stat);",
            [
                "loads the word at the offset 0x4014 of the registers of a context that was destroyed",
                "spe_ps_area_get",
            ],
        ),
        (
            "5",
            "MFC_EAH = 1",
            [
                "stores to the word at the offset 0x3008 of the registers of context 1",
                "MFC_EAH is 0",
            ],
        ),
        (
            "6",
            "/* issues it */",
            [
                "MFC_ClassID_CMD of context 1 and so issues a command that is refused",
                "MFC_ClassID_CMD: ",
            ],
        ),
    ] {
        let line = source.lines().position(|text| text.contains(line)).unwrap() + 1;
        let place = format!("registers.c:{line}:");
        for said in bench.fails(&["./registers", wrong]) {
            let has_all = parts.iter().all(|part| said.contains(part));
            assert!(has_all && said.contains(&place), "{wrong}: {said}");
        }
    }
}

#[test]
fn events_and_waits_whose_causes_come_again_are_not_lost() {
    runs("again", &[], 0);
}

#[test]
fn programs_that_compute_without_an_end_let_others_run() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build("turns");
    for machine in MACHINES {
        let output = bench.exec(&["--machine", machine, "./turns"]);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, bench.expected("turns.txt"), "{machine}");
        assert_eq!(output.status.code(), Some(0), "{machine}");
        // Those that compute without an end are named.
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("while SPE 0 ran"), "{machine}: {said}");
    }
}

#[test]
fn the_event_of_tag_groups_comes_when_an_update_is_due() {
    runs("tag-events", &[], 0);
}

#[test]
fn both_sides_change_one_word_atomically() {
    runs("count", &[], 0);
}

#[test]
fn without_optimisation_or_a_flag_for_it_words_that_change_need_not_be_volatile() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh(
        "spu-gcc -o spu unoptimised-spu.c; ppu-embedspu unoptimised_spu spu spu.o; \
         ppu-gcc -O0 -o unoptimised unoptimised.c spu.o -lspe2",
    );
    bench.prints(&["./unoptimised"], "flags 2 1, byte 3\n", 0);
}

#[test]
fn a_store_of_the_ppu_ends_the_wait_of_an_spe_for_its_line() {
    runs("lines", &[], 0);
}

#[test]
fn a_store_of_an_spe_ends_the_wait_of_another_spe_for_its_line() {
    runs("turn-by-turn", &[], 0);
}

#[test]
fn a_wait_for_a_line_to_which_the_ppu_does_not_store_is_a_deadlock() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build("lines");
    let place = format!(
        "lines-spu.c:{}:",
        line_with(&bench.expected("lines-spu.c"), "until the PPU stores")
    );
    for said in bench.fails(&["./lines", "without"]) {
        let event = "waits for an event of its mask 0x400";
        assert!(
            said.contains("deadlock") && said.contains(event) && said.contains(&place),
            "{said}"
        );
    }
}

#[test]
fn both_sides_jump_out_of_functions() {
    runs("jumps", &[], 0);
}

#[test]
fn libspe2_refuses_with_its_error_numbers() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("ppu-gcc -O2 -o refused refused.c -lspe2");
    for machine in MACHINES {
        let output = bench.exec(&["--machine", machine, "--dir", ".", "./refused"]);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, "SPEs of all nodes: 1\n", "{machine}");
        assert_eq!(output.status.code(), Some(0), "{machine}");
    }
}

#[test]
fn more_contexts_than_spes_take_turns() {
    runs("many", &[], 0);
}

#[test]
fn commands_and_tag_groups_work_by_the_channels() {
    runs("channels", &[], 0);
}

#[test]
fn only_specific_intrinsics_ignore_the_last_bits_of_an_address() {
    runs("unaligned", &[], 0);
}

#[test]
fn pointers_of_ea_reach_memory_of_the_ppu() {
    runs("ea", &[], 0);
}

#[test]
fn a_wrong_use_of_ea_is_an_error_with_its_line() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build("ea");
    for said in bench.fails(&["./ea", "1"]) {
        assert!(
            said.contains("is not aligned, and it crosses a line of the cache"),
            "{said}"
        );
        assert!(said.contains("ea-spu.c:26:16 in main"), "{said}");
    }
    for said in bench.fails(&["./ea", "2"]) {
        assert!(said.contains("effective address 0x0, 128 bytes"), "{said}");
        assert!(said.contains("ea-spu.c:28:16 in main"), "{said}");
    }
}

/// The folder of the examples, from this crate.
const EXAMPLES: &str = "../../examples/cell-c";

#[track_caller]
fn example(name: &str) {
    let Some(bench) = Bench::of(&format!("{EXAMPLES}/{name}")) else {
        return;
    };
    bench.sh("make -s");
    let program = format!("./{name}");
    bench.prints(&[&program], &bench.expected("expected.txt"), 0);
    // The file says itself how it is run.
    let first_line = fs::read(bench.path(name)).unwrap();
    assert!(first_line.starts_with(b"#!/usr/bin/env -S cellworks exec\n"));
}

#[test]
fn the_example_ping_pong_runs() {
    example("ping-pong");
}

#[test]
fn the_example_double_buffer_runs() {
    example("double-buffer");
}

#[test]
fn the_example_dma_list_runs() {
    example("dma-list");
}

#[test]
fn the_example_events_runs() {
    example("events");
}

#[test]
fn the_example_shuffle_filter_runs() {
    example("shuffle-filter");
}

#[test]
fn the_example_lock_runs() {
    example("lock");
}

#[test]
fn errors_of_spu_programs_name_the_line_of_c() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh("ppu-gcc -o run run.c -lspe2");
    let source = bench.expected("spu.c");
    // What is wrong, and a part of the message.
    let cases = [
        (1, "get with tag 40: a tag is 0 to 31"),
        (2, ", 24 bytes, tag 3): get of 24 bytes: a transfer moves"),
        (3, "for this size the address is a multiple of 16"),
        (
            4,
            "get of 16 bytes at effective address 0x0: this memory is not mapped",
        ),
        (
            5,
            "effective address 0x20000000, 16 bytes, tag 3): get of 16 bytes at effective address 0x20000000: this memory \
             is not mapped",
        ),
        (
            6,
            "it would end at 0x40010, past the 262144 bytes of this local store",
        ),
        (8, "it divided an integer by zero"),
        (
            9,
            "it used the address 0x40000, and its memory ends at 0x40000; what is in main memory has to be copied by DMA",
        ),
        (
            10,
            "it called a function through a pointer that points to none",
        ),
        (11, "SPE 0 waits for a word in its inbound mailbox"),
        (12, "no update was asked for"),
        (14, "it ended itself: by abort()"),
        (15, "channel 28 cannot be read"),
        (
            16,
            "element 1 (16 bytes) of a getl at effective address 0x30000000",
        ),
        (17, "SPE 0 waits for the PPE to empty its outbound mailbox"),
        (18, "SPE 0 waits for a signal in its signal register 1"),
        (
            19,
            "it reads the status of an atomic command (channel 27), and there is none",
        ),
        (
            20,
            "element 0 (16 bytes) of a getlf at effective address 0x30000000",
        ),
        (
            21,
            "element 1 (16 bytes) of a getl at effective address 0x0",
        ),
        (
            22,
            "get of 16 bytes at effective address 0xe000000000001000: this memory is not mapped",
        ),
        (23, "and effective address 0x20000004: both have the same"),
        (
            24,
            "element 1 (16 bytes) of a getl at effective address 0x500000000",
        ),
        (
            25,
            "getllar of 128 bytes at effective address 0x0: this memory is not mapped",
        ),
    ];
    for (wrong, part) in cases {
        bench.sh(&format!("spu-gcc -O2 -DWRONG={wrong} -o spu{wrong} spu.c"));
        // The line where it happens: of a command that is found to be wrong later, that of its
        // issue.
        let case = source
            .lines()
            .position(|line| line.contains(&format!("case {wrong}:")));
        let lines = case.unwrap() + 1..case.unwrap() + 9;
        for said in bench.fails(&["--dir", ".", "./run", &format!("spu{wrong}")]) {
            assert!(said.contains(part), "{wrong}: {said}");
            let is_named = lines
                .clone()
                .any(|line| said.contains(&format!("spu.c:{line}:")));
            assert!(is_named, "{wrong} in line {lines:?}: {said}");
        }
    }
}

#[test]
fn the_end_of_a_program_names_its_line() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh("ppu-gcc -O2 -o ends ends.c");
    let source = bench.expected("ends.c");
    // What ends it, a part of the message, and the exit code.
    let cases = [
        ("abort();", "called abort at", 134),
        ("abort(); /* 2 */", "called abort at", 134),
        ("__builtin_trap();", "it ended itself", 1),
        ("__builtin_trap();", "it ended itself", 1),
        ("*(volatile int *)", "it used an address outside", 1),
        (
            "((void (*)(int))0x1000)",
            "a pointer that points to none",
            1,
        ),
        ("assert(way", "an assertion failed there", 134),
    ];
    for (at, (statement, part, code)) in cases.into_iter().enumerate() {
        let way = (at + 1).to_string();
        let condition = format!("way == {way}");
        let lines = source.lines().enumerate();
        let mut lines = lines.skip_while(|(_, line)| {
            !line.contains(&condition) && !line.contains(&format!("way != {way}"))
        });
        let line = lines.find(|(_, line)| line.contains(statement));
        let line = line.expect("each way has its statement").0 + 1;
        for machine in MACHINES {
            let output = bench.exec(&["--machine", machine, "./ends", &way]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains(part), "{way} on {machine}: {said}");
            let named = format!("ends.c:{line}:");
            assert!(said.contains(&named), "{way} on {machine}: {said}");
            assert_eq!(output.status.code(), Some(code), "{way} on {machine}");
        }
    }
}

#[test]
fn what_uses_a_null_pointer_has_its_line() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    let source = bench.expected("null.c");
    for level in ["-O0", "-O2"] {
        bench.sh(&format!("ppu-gcc {level} -o null null.c"));
        let at = ["0x10", "0x10", "0x0", "0x0", "0x14", "0x14", "0x14", "0x10"];
        for (way, at) in at.into_iter().enumerate() {
            let line = line_with(&source, &format!("way {way} */"));
            for said in bench.fails(&["./null", &way.to_string()]) {
                let part = format!("it used the address {at}, through a null pointer");
                assert!(said.contains(&part), "{level}, {way}: {said}");
                // The functions that it calls have their own lines.
                let is_called = matches!(way, 4 | 5);
                let named = format!("null.c:{line}:");
                assert!(is_called || said.contains(&named), "{level}, {way}: {said}");
                // The pointer is null because there was not enough memory.
                let why = "an allocation of about 307201 KB had failed before, because the variables, stacks and heap \
                           of the program have 262144 KB in all";
                assert_eq!(said.contains(why), way == 7, "{said}");
            }
        }
        bench.prints(&["./null", "8"], "", 8);
        bench.prints(&["./null", "9"], "", 9);
    }
}

/// Returns the number of the line with a comment.
#[track_caller]
fn line_with(source: &str, text: &str) -> usize {
    source.lines().position(|line| line.contains(text)).unwrap() + 1
}

#[test]
fn what_ends_with_the_program_is_named() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build("leaves");
    let line = line_with(&bench.expected("leaves.c"), "the run");
    for machine in MACHINES {
        let output = bench.exec(&["--machine", machine, "./leaves", "1"]);
        let said = String::from_utf8_lossy(&output.stderr);
        let named = "the program has ended while SPE 0 ran the program that thread 1 of the PPU program has started";
        assert!(said.contains(named), "{machine}: {said}");
        assert!(
            said.contains(&format!("leaves.c:{line}:")),
            "{machine}: {said}"
        );
        assert_eq!(output.status.code(), Some(3), "{machine}");
    }
    // On this computer, DMA is done at once.
    let output = bench.exec(&["--machine", "ps3", "./leaves", "2"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let named = "while DMA of the tag groups";
    assert!(said.contains(named), "{said}");
    assert_eq!(output.status.code(), Some(3));
    bench.prints(&["./leaves"], "", 3);
}

#[test]
fn a_run_that_only_polls_has_a_note() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build("leaves");
    let mut children = Vec::new();
    let (ppu, spu) = ("leaves.c", "leaves-spu.c");
    for (arguments, part, file, text) in [
        (&["1", "status"][..], "the mailboxes", ppu, "by the status"),
        (&["1", "read"], "the mailboxes", ppu, "polled by reading"),
        (&["1", "yield"], "sched_yield", ppu, "polled with yields"),
        (&["1", "sleep"], "usleep", ppu, "polled with sleeps"),
        (&["1", "lock"], "mutex_trylock", ppu, "polled by a lock"),
        (&["1", "libsync"], "mutex_lock", ppu, "by libsync"),
        (&["1", "completion"], "wait_for_c", ppu, "by a completion"),
        (&["1", "number"], "atomic_read", ppu, "polled by a number"),
        (
            &["1", "flag"],
            "PPU program polls memory at",
            ppu,
            "a flag of",
        ),
        (&["3"], "its inbound mailbox", spu, "polled by the SPU"),
        (&["4"], "calling mutex_lock", spu, "a lock of the SPU"),
        (&["5"], "memory by DMA", spu, "fetched by the SPU"),
        (
            &["1", "function"],
            "PPU program polls memory at",
            ppu,
            "a function of",
        ),
        (&["6"], "an SPE program polls memory at", spu, "a flag of"),
        (&["7"], "an SPE program polls memory at", spu, "counted by"),
    ] {
        let line = line_with(&bench.expected(file), text);
        for machine in MACHINES {
            let child = bench
                .command(SDK)
                .args(["exec", "--machine", machine, "./leaves"])
                .args(arguments)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let named = [format!("{file}:{line}:"), part.to_owned()];
            children.push((child, named, arguments, machine));
        }
    }
    let mut notes = Vec::new();
    for (mut child, named, arguments, machine) in children {
        let mut said = String::new();
        let note = BufReader::new(child.stderr.take().unwrap());
        for line in note.lines() {
            said = line.unwrap();
            if said.contains("nothing has happened but polling") {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        notes.push((said, named, arguments, machine));
    }
    for (said, named, arguments, machine) in notes {
        let has_all = named.iter().all(|part| said.contains(part));
        assert!(has_all, "{arguments:?} on {machine}: {said}");
    }
}

#[test]
fn threads_that_wait_for_each_other_by_memory_and_go_on_have_no_note() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("ppu-gcc -O2 -o patient patient.c -lpthread");
    let output = bench.exec(&["./patient"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*said), (Some(3), ""));
}

#[test]
fn files_are_used_as_they_are_opened() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("ppu-gcc -O2 -o files files.c");
    for machine in MACHINES {
        let arguments = ["--machine", machine, "--dir", ".", "./files"];
        let script = format!("'{SDK}' exec {} </dev/null", arguments.join(" "));
        let output = bench.command("sh").args(["-c", &script]).output();
        let output = output.unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, bench.expected("files.txt"), "{machine}");
        let said = String::from_utf8_lossy(&output.stderr);
        let note = "the program looks for /usr/there, and a program sees only the folders that it is given: add --dir /usr";
        assert!(said.contains(note), "{machine}: {said}");
        let mapped = fs::read(bench.path("mapped")).unwrap();
        assert_eq!(mapped, b"abcdle", "{machine}");
    }
}

#[test]
fn what_programs_expect_of_linux_is_there() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("ppu-gcc -O2 -o linux linux.c");
    let expected = bench.expected("linux.txt");
    bench.prints(&["--dir", ".", "./linux"], &expected, 0);
}

#[test]
fn the_help_of_exec_has_what_exec_takes() {
    let help = Command::new(SDK).args(["exec", "--help"]).output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout);
    assert!(
        help.contains("--counters") && help.contains("--dir"),
        "{help}"
    );
    assert!(!help.contains("--bottleneck"), "{help}");
}

#[test]
fn a_program_that_ends_itself_says_how() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    let closed =
        "is a null pointer or is closed; fopen returns a null pointer if it cannot open a file";
    let file = |name: &str| format!("the FILE that it gave to {name} {closed}");
    bench.sh("ppu-gcc -o run run.c -lspe2");
    let ppu: &[&str] = &["--dir", ".", "./ways"];
    let spu: &[&str] = &["--dir", ".", "./run", "spu"];
    let both = [ppu, spu];
    // The end of a PPU program by abort has messages of its own.
    for (way, part, sides) in [
        (1, file("fgets"), &both[..]),
        (2, file("fputs"), &both),
        (3, file("fprintf"), &both),
        (4, file("fclose"), &both),
        (5, file("fread"), &both),
        (6, file("fscanf"), &both),
        (
            7,
            "it ended itself: an assertion failed".to_owned(),
            &both[1..],
        ),
        (
            8,
            "it ended itself: by a signal that no function handles".to_owned(),
            &both[1..],
        ),
        (9, "it ended itself: by abort()".to_owned(), &both[1..]),
        (10, "it ended itself: by __builtin_trap()".to_owned(), &both),
        (
            11,
            "it called a function through a pointer that points to none".to_owned(),
            &both,
        ),
        (
            12,
            "free or realloc an address that malloc did not return, or that it had freed before"
                .to_owned(),
            &both,
        ),
        (
            13,
            "free or realloc an address that malloc did not return".to_owned(),
            &both,
        ),
        (
            14,
            "it has stored past the end of memory from malloc".to_owned(),
            &both,
        ),
    ] {
        bench.sh(&format!(
            "ppu-gcc -O2 -w -DWAY={way} -o ways ways.c; spu-gcc -O2 -w -DWAY={way} -o spu ways.c"
        ));
        for arguments in sides {
            for said in bench.fails(arguments) {
                assert!(said.contains(&part), "{way}: {said}");
                assert!(said.contains("ways.c:"), "{way}: {said}");
            }
        }
    }
    bench.sh("ppu-gcc -w -DWAY=7 -o ways ways.c; spu-gcc -w -DWAY=7 -o spu ways.c");
    for arguments in both {
        let output = bench.exec(arguments);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "main\n");
        let said = String::from_utf8(output.stderr).unwrap();
        let assertion = "Assertion failed: file != NULL && \"a file\" (ways.c: main: 27)";
        assert!(
            said.contains(assertion) && !said.contains("__cell_main"),
            "{said}"
        );
    }
}

#[test]
fn a_stack_that_is_full_is_named() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh("ppu-gcc -o run run.c -lspe2; spu-gcc -DWRONG=7 -o spu spu.c");
    for said in bench.fails(&["--dir", ".", "./run", "spu"]) {
        assert!(said.contains("in deep: its stack is full"), "{said}");
    }
}

#[test]
fn a_stack_of_the_ppu_that_is_full_is_named() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh("ppu-gcc -O1 -o stack stack.c -lpthread");
    for (way, function) in [(1, "filled"), (2, "huge"), (3, "copied"), (4, "deep")] {
        for arguments in [
            &["./stack", &way.to_string()][..],
            &["./stack", &way.to_string(), "thread"],
        ] {
            for said in bench.fails(arguments) {
                let named = format!("in {function}: its stack is full");
                assert!(said.contains(&named), "{arguments:?}: {said}");
            }
        }
    }
    for said in bench.fails(&["./stack", "5", "thread"]) {
        assert!(said.contains("thread 1 of the PPU program"), "{said}");
        assert!(said.contains("its stack is full"), "{said}");
    }
    for way in ["6", "7"] {
        for said in bench.fails(&["./stack", way]) {
            let part = "it used the address 0xffffffff";
            assert!(said.contains(part), "{said}");
            assert!(said.contains("stack.c:"), "{said}");
        }
    }
}

#[test]
fn the_report_at_a_limit_names_lines_of_c() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh(&format!("'{SDK}' cc -O2 -o limit limit.c limit-spu.c"));
    let output = bench.exec(&["--machine", "ps3", "--limit", "10ms", "./limit"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "SPE 0 waits for a word in its inbound mailbox at ",
        "/limit-spu.c:8:16 in main",
        "SPE 1 computes",
        "SPE 2 waits for a change of the count of its inbound mailbox (channel 29) at ",
        "/limit-spu.c:9:",
        "thread 0 waits for thread 1 to end at ",
        "/limit.c:23:5 in main",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains(".rs"), "{said}");
}

#[test]
fn a_deadlock_in_the_first_libspe_names_the_lines_of_the_program() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh("spu-gcc -o wait1-spu wait1-spu.c; ppu-embedspu wait1 wait1-spu spu.o; ppu-gcc -o wait1 wait1.c spu.o");
    let line =
        |file: &str, text: &str| format!("{file}:{}:", line_with(&bench.expected(file), text));
    for said in bench.fails(&["./wait1"]) {
        for part in [
            "deadlock: every program waits for another",
            "thread 0 waits for an event of the contexts 0 (spe_event_wait, spe_get_event) at ",
            "thread 1 waits for the program of context 0 to stop (spe_context_run) at ",
            &line("wait1.c", "the wait"),
            &line("wait1.c", "the start"),
            &line("wait1-spu.c", "the wait"),
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("not known"), "{said}");
    }
    // A program of an SPU alone has no line of the program that runs it.
    for said in bench.fails(&["./wait1-spu"]) {
        assert!(said.contains(&line("wait1-spu.c", "the wait")), "{said}");
        assert!(!said.contains("alone.c"), "{said}");
    }
}

#[test]
fn a_wait_for_a_free_spe_is_named() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh(&format!("'{SDK}' cc -O2 -o limit limit.c limit-spu.c"));
    let output = bench.exec(&["--spes", "1", "./limit", "wait"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    // Either of them may have been the first.
    let part = "waits for a free SPE for the program of context ";
    assert!(said.contains(part), "{said}");
}

#[test]
fn a_bundle_with_wrong_addresses_ends_in_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong");
    for at in [
        1,
        0x8000,
        0x1_0000,
        0x4_0000,
        0x7fff_0000,
        0xffff_0000_u32,
        u32::MAX,
    ] {
        let module = format!(
            r#"(module (@custom "cellworks" "4 ppu big-endian")
                (import "ppu" "context_create" (func $create (param i32) (result i32)))
                (import "ppu" "context_destroy" (func $destroy (param i32) (result i32)))
                (import "ppu" "show_problem_state" (func $registers (param i32 i32) (result i32)))
                (import "ppu" "show_local_store" (func $memory (param i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                (memory 4 4)
                (global (export "__stack_pointer") (mut i32) (i32.const 65536))
                (func (export "__cell_init") (result i32) (i32.const 0))
                (func (export "__cell_exit") (param i32) (call $exit (local.get 0)))
                (func (export "__cell_main") (result i32) (local $shown i32)
                    (drop (call $create (i32.const 0)))
                    (local.set $shown (i32.or
                        (call $registers (i32.const 0) (i32.const {at}))
                        (call $memory (i32.const 0) (i32.const {at}))))
                    (drop (call $destroy (i32.const 0)))
                    (i32.add (i32.const 7) (i32.ne (local.get $shown) (i32.const 0)))))"#,
            at = at as i32
        );
        fs::write(&file, wat::parse_str(module).unwrap()).unwrap();
        for machine in MACHINES {
            let mut command = Command::new(SDK);
            let output = command
                .args(["exec", "--machine", machine])
                .arg(&file)
                .output();
            let output = output.unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                (output.status.code(), &*said),
                (Some(7), ""),
                "{at:#x} on {machine}"
            );
        }
    }
}

#[test]
fn a_context_with_events_returns_its_faults() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh("ppu-gcc -o run run.c -lspe2");
    for (wrong, expected) in [(2, "-1, reason 4, 0x8\n"), (5, "-1, reason 4, 0x40\n")] {
        bench.sh(&format!("spu-gcc -O2 -DWRONG={wrong} -o spu spu.c"));
        for machine in MACHINES {
            let output =
                bench.exec(&["--machine", machine, "--dir", ".", "./run", "spu", "events"]);
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                expected,
                "{machine}"
            );
            // Nothing is lost silently.
            assert!(
                String::from_utf8_lossy(&output.stderr).contains("spu.c:"),
                "{output:?}"
            );
        }
    }
    bench.sh("spu-gcc -O2 -DWRONG=13 -o spu spu.c");
    bench.prints(&["--dir", ".", "./run", "spu"], "-1, reason 3, 0x4\n", 0);
}

#[test]
fn a_missing_or_wrong_spu_program_is_named() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh(
        "ppu-gcc -o run run.c -lspe2; spu-gcc -DWRONG=0 -o spu spu.c; cp spu plain; chmod -x plain",
    );
    let cases = [
        (
            vec!["--dir", ".", "./run", "plain"],
            "spe_image_open refuses plain, as libspe2 does: it is not executable; type chmod +x plain",
        ),
        (
            vec!["./run", "spu"],
            "a program sees the folders that it is given, for instance by --dir .",
        ),
        (
            vec!["--dir", ".", "./run", "missing"],
            "spe_image_open cannot open missing",
        ),
        (
            vec!["--dir", ".", "./run", "run.c"],
            "it is no program of `cellworks cc`",
        ),
        (
            vec!["--dir", ".", "./run", "run"],
            "it is a program for the PPU, and the SPU runs it",
        ),
    ];
    for (arguments, part) in cases {
        for machine in MACHINES {
            let output = bench.exec(&[&["--machine", machine][..], &arguments].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains(part), "{arguments:?}: {said}");
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                "the program was not loaded\n"
            );
            assert_eq!(output.status.code(), Some(9));
        }
    }
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.sh("ppu-gcc -O2 -o threads threads.c -lpthread");
    let whole = fs::read(bench.path("threads")).unwrap();
    for part in [
        0,
        10,
        40,
        whole.len() / 3,
        whole.len() / 2,
        whole.len() - 40,
    ] {
        fs::write(bench.path("part"), &whole[..part]).unwrap();
        let output = bench.exec(&["part"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.starts_with("error: part: it is "),
            "{part} bytes: {said}"
        );
        assert_eq!(output.status.code(), Some(2), "{part} bytes");
    }
}

#[test]
fn simulated_time_is_the_same_each_time_and_can_be_looked_at() {
    let Some(bench) = Bench::of(&format!("{EXAMPLES}/double-buffer")) else {
        return;
    };
    bench.sh("make -s");
    let run = |trace: &str| {
        let arguments = [
            "--machine",
            "ps3",
            "--counters",
            "--trace",
            trace,
            "./double-buffer",
        ];
        let output = bench.exec(&arguments);
        assert!(output.status.success(), "{output:?}");
        (
            String::from_utf8(output.stderr).unwrap(),
            fs::read(bench.path(trace)).unwrap(),
        )
    };
    let (counters, trace) = run("one.pftrace");
    assert!(counters.contains("busiest: the PPE"), "{counters}");
    let is_there = |name: &str| {
        trace
            .windows(name.len())
            .any(|bytes| bytes == name.as_bytes())
    };
    assert!(is_there("program of a context"));
    assert_eq!(run("two.pftrace"), (counters, trace));
}

#[test]
fn a_note_names_the_spes_that_have_ended_before_the_window() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build("early");
    let said = |flags: &str, arguments: &[&str]| {
        let flags: Vec<&str> = flags.split(' ').collect();
        let output = bench.exec(&[&flags[..], &["./early"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let note = "note: --after-start: the programs of SPE 0, SPE 1 had ended before the last SPE got its first program";
    for shown in ["--counters", "--trace early.pftrace"] {
        let said = said(&format!("--machine ps3 --after-start {shown}"), &[]);
        assert!(said.contains(note), "{said}");
        assert!(
            said.contains("let the programs wait for each other: see"),
            "{said}"
        );
    }
    for (flags, arguments) in [
        ("--machine ps3 --after-start --counters", &["wait"][..]),
        ("--machine ps3 --after-start --counters --quiet", &[]),
        ("--machine ps3 --counters", &[]),
    ] {
        let said = said(flags, arguments);
        assert!(!said.contains("had ended"), "{flags}: {said}");
    }
}

#[test]
fn what_is_wrong_in_an_area_of_an_spe_has_the_address_of_the_program() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build("windows");
    for (wrong, part) in [
        ("1", "get of 32 bytes at effective address"),
        ("2", "get of 32 bytes at effective address"),
        ("3", "element 0 (4 bytes) of a putl at effective address"),
        ("4", "get of 16 bytes at effective address"),
        ("4", "at this address is a register of an SPE"),
        ("5", "between local store address"),
        ("6", "at this address is a register of an SPE"),
    ] {
        for machine in MACHINES {
            let output = bench.exec(&["--machine", machine, "./windows", wrong]);
            let said = String::from_utf8(output.stderr).unwrap();
            let address = String::from_utf8(output.stdout).unwrap();
            let named = format!("effective address {}", address.trim());
            assert!(
                said.contains(part) && said.contains(&named),
                "{wrong} on {machine}, {named}: {said}"
            );
            assert_eq!(output.status.code(), Some(1), "{said}");
        }
    }
    // What is right, and elements of 0 bytes, which have no address.
    bench.prints(&["./windows", "0"], "0x0\nall is well\n", 0);
}

#[test]
fn a_hazard_and_a_trace_name_the_lines_of_c() {
    let Some(bench) = Bench::of("tests/c") else {
        return;
    };
    bench.build("hazard");
    let output = bench.exec(&["--machine", "ps3", "--trace", "hazard.pftrace", "./hazard"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let source = bench.expected("hazard-spu.c");
    let line = |text: &str| {
        let line = source.lines().position(|line| line.contains(text)).unwrap() + 1;
        format!("hazard-spu.c:{line}:5 in main")
    };
    let (first, second) = (line("the first get"), line("the second get"));
    assert!(said.contains("hazard at "), "{said}");
    // The address is that of the variable, as the program knows it.
    let address = String::from_utf8(output.stdout).unwrap();
    let named = format!("effective address {address},");
    assert!(address.starts_with("0x") && said.contains(&named), "{said}");
    assert!(said.contains(&first) && said.contains(&second), "{said}");
    let trace = fs::read(bench.path("hazard.pftrace")).unwrap();
    for place in [first, second, line("the wait")] {
        let is_there = trace
            .windows(place.len())
            .any(|part| part == place.as_bytes());
        assert!(is_there, "{place}");
    }
}

#[test]
fn the_heap_and_the_stack_of_an_spu_share_what_variables_leave() {
    let Some(bench) = Bench::of("tests/c/errors") else {
        return;
    };
    bench.sh("ppu-gcc -o run run.c -lspe2");
    for (room, flags, printed) in [
        (1, "", "1"),
        (2, "", "2"),
        (4, "-Wl,-z,stack-size=65536", "01"),
        (5, "-Wl,--defsym=__stack=0x30000", "1"),
        (6, "", "no memory is left"),
    ] {
        bench.sh(&format!("spu-gcc -O2 -DROOM={room} {flags} -o spu room.c"));
        let expected = format!("{printed}\n0, reason 1, 0\n");
        bench.prints(&["--dir", ".", "./run", "spu"], &expected, 0);
    }
    for level in ["-O0", "-O2"] {
        bench.sh(&format!("spu-gcc {level} -DROOM=3 -o spu room.c"));
        for said in bench.fails(&["--dir", ".", "./run", "spu"]) {
            assert!(
                said.contains("room.c:6 in deep: its stack is full"),
                "{said}"
            );
        }
    }
    let too_much = "spu-gcc -DROOM=1 -Wl,-z,stack-size=262144 -o spu room.c";
    let script = format!("eval \"$('{SDK}' cc --env)\"; {too_much}");
    let output = bench.command("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(
        said.contains("beside a stack of 262144; make arrays smaller"),
        "{said}"
    );
}
