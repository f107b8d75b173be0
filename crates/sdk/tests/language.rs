//! What C means on a big-endian Cell: programs that are compiled and run, and some that are
//! refused.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use skipped::skipped;

fn sdk(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cellworks-sdk"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Whether programs can be compiled; the first time, the C library is, too.
#[track_caller]
fn compiles() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("probe.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let output = sdk(&["cc", "-o", "/dev/null", source.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    let missing = ["is not on the PATH", "could not be fetched"];
    if missing.iter().any(|text| said.contains(text)) {
        skipped(said.trim());
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

/// Compiles and runs a source of `tests/c/language` on both sides, which must print what the file
/// with the extension `txt` has.
#[track_caller]
fn prints_the_same_on_both_sides(name: &str, flags: &[&str]) {
    if !compiles() {
        return;
    }
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/c/language");
    let source = |name: String| sources.join(name).to_str().unwrap().to_owned();
    let expected = fs::read_to_string(sources.join(name).with_extension("txt")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program").to_str().unwrap().to_owned();
    let tested = source(name.to_owned());
    let spu = [
        source("run.c".to_owned()),
        "--spu".to_owned(),
        format!("tested={tested}"),
    ];
    for sources in [&[tested][..], &spu] {
        let mut arguments = vec!["cc", "-w", "-o", &program];
        arguments.extend(flags);
        arguments.extend(sources.iter().map(String::as_str));
        let output = sdk(&arguments);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let output = sdk(&["exec", &program]);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{sources:?}"
        );
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn products_that_overflow_are_seen() {
    for level in ["-O2", "-O0"] {
        prints_the_same_on_both_sides("overflow.c", &[level]);
    }
}

#[test]
fn what_linux_has_and_wasi_has_not() {
    prints_the_same_on_both_sides("posix.c", &["-O2"]);
}

#[test]
fn elements_of_arrays_have_the_distance_that_gcc_gives_them() {
    prints_the_same_on_both_sides("elements.c", &["-O2"]);
}

#[test]
fn a_program_sends_itself_signals() {
    prints_the_same_on_both_sides("signals.c", &["-O2"]);
}

#[test]
fn bytes_lie_where_they_lie_on_a_cell() {
    for level in ["-O2", "-O0"] {
        prints_the_same_on_both_sides("bytes.c", &[level]);
    }
}

#[test]
fn functions_take_and_return_all_kinds_of_values() {
    for level in ["-O3", "-O0", "-Og"] {
        prints_the_same_on_both_sides("calls.c", &[level]);
    }
}

#[test]
fn a_choice_between_addresses_is_right_after_the_optimiser() {
    prints_the_same_on_both_sides("choices.c", &["-O3"]);
}

#[test]
fn the_c_library_prints_reads_and_computes_numbers() {
    prints_the_same_on_both_sides("numbers.c", &["-O2"]);
}

#[test]
fn memory_is_aligned_as_asked_for_and_atomic_operations_are_right() {
    prints_the_same_on_both_sides("memory.c", &["-O2"]);
}

#[test]
fn the_stack_and_malloc_share_what_variables_leave() {
    prints_the_same_on_both_sides("stack.c", &["-O2"]);
}

#[test]
fn classes_work_without_a_library_of_cpp() {
    for level in ["-O2", "-O0"] {
        prints_the_same_on_both_sides("objects.cpp", &[level]);
    }
}

#[test]
fn pointers_to_members_that_are_chosen_at_run_time_work() {
    for level in ["-O2", "-O0"] {
        prints_the_same_on_both_sides("members.cpp", &[level]);
    }
}

/// Compiles a source, which must be refused, and returns why.
#[track_caller]
fn refusal(source: &str) -> Option<String> {
    if !compiles() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("refused.c").to_str().unwrap().to_owned();
    fs::write(&file, source).unwrap();
    let program = folder.path().join("program").to_str().unwrap().to_owned();
    let run = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/c/language/run.c");
    let spu = [run.to_str().unwrap(), "--spu", &format!("tested={file}")];
    let sources = if source.contains("spu_") {
        &spu[..]
    } else {
        &[file.as_str()]
    };
    let output = sdk(&[&["cc", "-w", "-o", &program], sources].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    Some(said.replace(folder.path().to_str().unwrap(), "@"))
}

#[test]
fn what_webassembly_does_not_have_is_refused_with_a_sentence() {
    for (source, sentence) in [
        (
            "int flags(void) { int t; __asm__ volatile (\"mfcr %0\" : \"=r\" (t)); return t; }\n\
             int main(void) { return flags(); }\n",
            "@/refused.c: in line 1: function `flags` has inline assembler (\"mfcr $0\")",
        ),
        (
            "int main(void) { vector int a = {1}, b = {2}; return (int)(a > b); }\n",
            "@/refused.c: function `main` uses `llvm.ppc.altivec.vcmpgtsw.p`",
        ),
        (
            "#pragma STDC FENV_ACCESS ON\nint main(int n, char **v) { return n * 0.5 + 1; }\n",
            "@/refused.c: function `main` changes how numbers are rounded",
        ),
        (
            "int work(int); int main(void) { return work(1); }\n",
            "@/refused.c:1:40 in main uses `work`, which no source, object or library of the PPU program defines",
        ),
        (
            "int other(void) { return 0; }\n",
            "error: the PPU program has no function `main`",
        ),
        (
            "#include <spu_intrinsics.h>\nchar big[300000]; int main(void) { return big[1]; }\n",
            "error: the variables of the SPU program take 3",
        ),
    ] {
        let Some(said) = refusal(source) else { return };
        assert!(said.contains(sentence), "{said}");
    }
}

#[test]
fn wrong_types_of_an_intrinsic_are_named_in_a_few_lines() {
    for (call, part) in [
        (
            "spu_add(a, b)",
            "note: the 2nd argument of spu_add is __vector unsigned int, and fits if it is vec_float4\n",
        ),
        (
            "spu_sel(a, a)",
            "note: spu_sel takes 3 arguments, and 2 were given\n",
        ),
        (
            "spu_rlmask(a, 3)",
            "note: the 1st argument of spu_rlmask is __vector float, and fits if it is vec_",
        ),
    ] {
        let source = format!(
            "#include <spu_intrinsics.h>\nvector float f(vector float a, vector unsigned int b) {{\n  return {call};\n}}\n\
             int main(void) {{ return 0; }}\n"
        );
        let Some(said) = refusal(&source) else { return };
        assert!(
            said.contains("@/refused.c:3:10: error: no matching function"),
            "{said}"
        );
        assert!(said.contains(part) && said.lines().count() < 8, "{said}");
    }
}
