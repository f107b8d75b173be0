//! The C headers of both sides: each program of `tests/c/intrinsics` compares what it is about with
//! a scalar definition, prints what differs, and returns 1 if something does.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::env;
use std::path::Path;
use std::process::Command;

use skipped::skipped;

/// Compiles a program for one side, runs it, and expects that it finds nothing.
#[track_caller]
fn finds_nothing(side: &str, name: &str) {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| env::split_paths(&path).any(|bin| bin.join(program).is_file());
    let has = |name: &str| {
        ["", "-19", "-20", "-21", "-22"]
            .iter()
            .any(|end| is_there(&format!("{name}{end}")))
    };
    if !has("clang") || !has("wasm-ld") {
        return skipped("clang or wasm-ld is not installed");
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/intrinsics");
    let end = if name == "headers" { "cpp" } else { "c" };
    let source = sources.join(name).with_extension(end);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{side}-{name}"));
    let sdk = env!("CARGO_BIN_EXE_cellworks-sdk");

    let mut cc = Command::new(sdk);
    cc.args(["cc", "-O2", "-o"]).arg(&program);
    if side == "spu" {
        cc.arg(sources.join("run.c"))
            .arg("--spu")
            .arg(format!("test={}", source.display()));
    } else {
        cc.arg(&source);
    }
    let output = cc.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let output = Command::new(sdk)
        .arg("exec")
        .arg(&program)
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    assert_eq!(String::from_utf8_lossy(&printed), "", "{side} {name}");
    assert_eq!(output.status.code(), Some(0), "{side} {name}");
}

macro_rules! programs {
    ($($side:ident: $($name:ident)*;)*) => {$(
        mod $side {
            $(#[test] fn $name() { super::finds_nothing(stringify!($side), stringify!($name)); })*
        }
    )*};
}

programs! {
    ppu: aligned altivec headers libsync other_side processor simdmath;
    spu: aligned arithmetic bits cache compare control convert elements headers libsync names other_side
         shifts simdmath specific timer;
}
