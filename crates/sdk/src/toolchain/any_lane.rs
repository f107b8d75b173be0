//! A test whether any of the four numbers of a vector is not 0 is one instruction.
//!
//! Programs combine the numbers by "or", as in `if (v[0] | v[1] | v[2] | v[3])` and by `spu_orx`.
//! LLVM makes one instruction of that for x86, but for WebAssembly it takes out each number, so
//! that a Mandelbrot loop took 1.16 times as long.

use wasm_encoder::{Encode, Instruction};
use wasmparser::{BinaryReaderError, FunctionBody, Operator, Parser, Payload};

/// Turns each such test into `v128.any_true`. Code keeps its place: the rest becomes `nop`s, which
/// cost nothing on any machine.
pub(crate) fn to_any_true(module: &mut [u8]) -> Result<(), BinaryReaderError> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CodeSectionEntry(body) = payload? {
            find(&body, module, &mut found)?;
        }
    }
    for (at, length) in found {
        let (code, nops) = module[at..at + length].split_at_mut(ANY_TRUE.len());
        code.copy_from_slice(&ANY_TRUE);
        nops.fill(0x01);
    }
    Ok(())
}

/// The code of `v128.any_true`.
const ANY_TRUE: [u8; 2] = [0xfd, 0x53];

/// Adds where such tests of a function are, and how many bytes their code has.
fn find(
    body: &FunctionBody<'_>,
    module: &[u8],
    found: &mut Vec<(usize, usize)>,
) -> Result<(), BinaryReaderError> {
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        if let Operator::LocalGet { local_index } | Operator::LocalTee { local_index } =
            operators.read()?
        {
            let at = operators.original_position();
            let combined = combined(local_index);
            let is_test = |rest: &[u8]| matches!(rest.first(), Some(&(EQZ | BR_IF | IF | SELECT)));
            if module[at..]
                .strip_prefix(&combined[..])
                .is_some_and(is_test)
            {
                found.push((at, combined.len()));
            }
        }
    }
    Ok(())
}

/// What only asks whether a number is 0.
const EQZ: u8 = 0x45;
const BR_IF: u8 = 0x0d;
const IF: u8 = 0x04;
const SELECT: u8 = 0x1b;

/// Returns how LLVM combines the numbers of a vector, which is in this local and on the stack.
fn combined(local: u32) -> Vec<u8> {
    let mut code = Vec::new();
    Instruction::I32x4ExtractLane(0).encode(&mut code);
    for lane in 1..4 {
        Instruction::LocalGet(local).encode(&mut code);
        Instruction::I32x4ExtractLane(lane).encode(&mut code);
        Instruction::I32Or.encode(&mut code);
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rewrites a function of a vector, and compares it with what is wanted.
    #[track_caller]
    fn becomes(before: &str, after: &str) {
        let module = |body: &str| {
            let text = format!("(module (func (param v128) (result i32) (local v128) {body}))");
            wat::parse_str(text).unwrap()
        };
        let mut found = module(before);
        to_any_true(&mut found).unwrap();
        assert_eq!(found, module(after));
    }

    const COMBINED: &str = "i32x4.extract_lane 0
        local.get 1 i32x4.extract_lane 1 i32.or
        local.get 1 i32x4.extract_lane 2 i32.or
        local.get 1 i32x4.extract_lane 3 i32.or";

    fn any_true() -> String {
        format!("v128.any_true {}", "nop ".repeat(19))
    }

    #[test]
    fn a_test_of_all_lanes_is_one_instruction() {
        for test in [
            "local.get 0 local.tee 1 {} i32.eqz",
            "local.get 1 {} if (result i32) i32.const 5 else i32.const 6 end",
            "block local.get 1 {} br_if 0 end i32.const 1",
            "i32.const 5 i32.const 6 local.get 1 {} select",
        ] {
            becomes(
                &test.replace("{}", COMBINED),
                &test.replace("{}", &any_true()),
            );
        }
    }

    #[test]
    fn what_needs_the_number_keeps_it() {
        for body in [
            format!("local.get 1 {COMBINED}"),
            format!("local.get 1 {COMBINED} i32.const 1 i32.and i32.eqz"),
            // Of two vectors, and without a lane.
            format!("local.get 0 {COMBINED} i32.eqz"),
            format!(
                "local.get 1 {} i32.eqz",
                COMBINED.replace("lane 3", "lane 2")
            ),
        ] {
            becomes(&body, &body);
        }
    }
}
