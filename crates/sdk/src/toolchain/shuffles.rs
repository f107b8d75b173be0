//! A shuffle of one vector is told to be one.
//!
//! Each vector is shuffled after it is loaded and before it is stored. WebAssembly's shuffle has
//! two operands, and LLVM takes any local for one whose bytes it does not use. If that local has
//! the result of the last round of a loop, then no round starts before the last one ends: a loop
//! with a square root and a division took 4.6 times as long. Such a shuffle becomes a swizzle,
//! which has one operand and a constant. So does a shuffle of a vector and zeros.

use std::collections::HashSet;

use wasmparser::{BinaryReaderError, FunctionBody, Operator, Parser, Payload};

/// An index of a swizzle that gives 0.
const ZERO: u8 = 0x80;

/// Turns each shuffle whose second operand does not matter, or is zero, into a swizzle. Code keeps
/// its place: both forms have the same length.
pub(crate) fn to_swizzles(module: &mut [u8]) -> Result<(), BinaryReaderError> {
    let mut parameters = Vec::new(); // of each type
    let mut types = Vec::new().into_iter(); // of the functions that follow
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(section) => {
                for function in section.into_iter_err_on_gc_types() {
                    parameters.push(function?.params().len());
                }
            }
            Payload::FunctionSection(section) => {
                types = section
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()?
                    .into_iter();
            }
            Payload::CodeSectionEntry(body) => {
                let count = types
                    .next()
                    .and_then(|index| parameters.get(index as usize));
                let count = count.and_then(|&count| u32::try_from(count).ok());
                find(&body, count.unwrap_or(u32::MAX), &mut found)?;
            }
            _ => {}
        }
    }
    for (start, at, lanes) in found {
        // A local.get of two bytes or more, and a shuffle of 18: its code of two, and the lanes.
        let (nops, code) = module[start..at + 18].split_at_mut(at - start - 2);
        nops.fill(0x01);
        code[..2].copy_from_slice(&[0xfd, 0x0c]); // v128.const
        code[2..18].copy_from_slice(&lanes.map(|lane| if lane < 16 { lane } else { ZERO }));
        code[18..].copy_from_slice(&[0xfd, 0x0e]); // i8x16.swizzle
    }
    Ok(())
}

/// Adds such shuffles of a function: where the second operand is, where the shuffle is, and its
/// lanes.
fn find(
    body: &FunctionBody<'_>,
    parameters: u32,
    found: &mut Vec<(usize, usize, [u8; 16])>,
) -> Result<(), BinaryReaderError> {
    let set = set_to_others(body)?;
    let is_zero = |local: u32| local >= parameters && !set.contains(&local);
    let mut operators = body.get_operators_reader()?;
    let mut before = None;
    while !operators.eof() {
        let (operator, at) = operators.read_with_offset()?;
        before = match (operator, before) {
            (Operator::LocalGet { local_index }, _) => Some((at, local_index)),
            (Operator::I8x16Shuffle { lanes }, Some((start, local))) => {
                if lanes.iter().all(|&lane| lane < 16) || is_zero(local) {
                    found.push((start, at, lanes));
                }
                None
            }
            _ => None,
        };
    }
    Ok(())
}

/// Returns the locals that are set to something else than the constant 0.
fn set_to_others(body: &FunctionBody<'_>) -> Result<HashSet<u32>, BinaryReaderError> {
    let mut others = HashSet::new();
    let mut operators = body.get_operators_reader()?;
    let mut zero = false;
    while !operators.eof() {
        let operator = operators.read()?;
        match operator {
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } if !zero => {
                others.insert(local_index);
            }
            _ => {}
        }
        zero = matches!(operator, Operator::V128Const { value } if value.i128() == 0);
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rewrites a function of two vectors, and compares it with what is wanted.
    #[track_caller]
    fn becomes(before: &str, after: &str) {
        let module = |body: &str| {
            let text = format!("(module (func (param v128 v128) (result v128) {body}))");
            wat::parse_str(text).unwrap()
        };
        let mut found = module(before);
        to_swizzles(&mut found).unwrap();
        assert_eq!(found, module(after));
    }

    const ONE: &str = "3 2 1 0 7 6 5 4 11 10 9 8 15 14 13 12";
    const BOTH: &str = "0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23";

    #[test]
    fn a_shuffle_of_its_first_vector_has_no_second_operand() {
        becomes(
            &format!("local.get 0 local.get 1 i8x16.shuffle {ONE}"),
            &format!("local.get 0 v128.const i8x16 {ONE} i8x16.swizzle"),
        );
    }

    #[test]
    fn a_local_with_a_long_number_leaves_a_place() {
        let locals = "(local v128)".repeat(200);
        becomes(
            &format!("{locals} local.get 0 local.get 150 i8x16.shuffle {ONE}"),
            &format!("{locals} local.get 0 nop v128.const i8x16 {ONE} i8x16.swizzle"),
        );
    }

    #[test]
    fn zeros_are_what_a_swizzle_gives_beyond_its_vector() {
        let zero = "(local v128) v128.const i64x2 0 0 local.set 2";
        becomes(
            &format!("{zero} local.get 0 local.get 2 i8x16.shuffle {BOTH}"),
            &format!(
                "{zero} local.get 0
                v128.const i8x16 0 1 2 3 128 128 128 128 4 5 6 7 128 128 128 128 i8x16.swizzle"
            ),
        );
    }

    #[test]
    fn a_shuffle_of_two_vectors_stays() {
        for (locals, second) in [
            ("", 1),
            // Not 0 everywhere.
            (
                "(local v128) v128.const i64x2 0 0 local.set 2 local.get 1 local.set 2",
                2,
            ),
            // A parameter is not 0 before it is set.
            ("v128.const i64x2 0 0 local.set 1", 1),
        ] {
            let body = format!("{locals} local.get 0 local.get {second} i8x16.shuffle {BOTH}");
            becomes(&body, &body);
        }
    }
}
