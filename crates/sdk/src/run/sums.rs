//! What a sum costs on a simulated machine: nothing, if it adds to a product.
//!
//! An SPU multiplies and adds floats in one instruction, and WebAssembly in two. The engine counts
//! each instruction by its kind alone. So sums of floats cost nothing, a `nop` costs an
//! instruction, and each sum that does not add to the product right before it gets a `nop`.

use wasm_encoder::{Encode, Instruction};
use wasmparser::{BinaryReader, BinaryReaderError, CodeSectionReader, Operator};

use super::stack::Moved;

/// Returns the contents of a code section with a `nop` at each sum that costs an instruction, and
/// where the code was before.
pub(super) fn with_costs(code: &[u8]) -> Result<(Vec<u8>, Moved), BinaryReaderError> {
    let bodies = CodeSectionReader::new(BinaryReader::new(code, 0))?;
    let (mut new, mut moved) = (Vec::new(), Moved::default());
    bodies.count().encode(&mut new);
    for body in bodies {
        let body = body?;
        let range = body.range();
        let (mut bytes, mut pieces, mut from) = (Vec::new(), Vec::new(), range.start);
        let mut operators = body.get_operators_reader()?;
        let mut last = Last::default();
        while !operators.eof() {
            let (operator, at) = operators.read_with_offset()?;
            // What only fills a place costs nothing.
            let fills = matches!(operator, Operator::Nop);
            let costs = last.costs(&operator);
            if !fills && !costs {
                continue;
            }
            pieces.push((bytes.len(), from));
            bytes.extend_from_slice(&code[from..at]);
            from = if fills { at + 1 } else { at };
            if costs {
                Instruction::Nop.encode(&mut bytes);
            }
        }
        pieces.push((bytes.len(), from));
        bytes.extend_from_slice(&code[from..range.end]);
        bytes.len().encode(&mut new);
        moved.extend(pieces.iter().map(|(at, old)| (new.len() + at, *old)));
        new.append(&mut bytes);
    }
    Ok((new, moved))
}

/// The kind of the last product of floats, if only an operand of one instruction has followed it.
#[derive(Default)]
struct Last {
    product: Option<Kind>,
    is_followed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    F32,
    F64,
    F32x4,
    F64x2,
}

impl Last {
    /// Notes the next instruction, and returns whether it is a sum that costs an instruction.
    fn costs(&mut self, operator: &Operator<'_>) -> bool {
        let (product, is_followed) = (self.product.take(), self.is_followed);
        self.is_followed = false;
        let sum = match operator {
            Operator::F32Add | Operator::F32Sub => Kind::F32,
            Operator::F64Add | Operator::F64Sub => Kind::F64,
            Operator::F32x4Add | Operator::F32x4Sub => Kind::F32x4,
            Operator::F64x2Add | Operator::F64x2Sub => Kind::F64x2,
            other => {
                self.product = match other {
                    Operator::F32Mul => Some(Kind::F32),
                    Operator::F64Mul => Some(Kind::F64),
                    Operator::F32x4Mul => Some(Kind::F32x4),
                    Operator::F64x2Mul => Some(Kind::F64x2),
                    Operator::LocalGet { .. }
                    | Operator::F32Const { .. }
                    | Operator::F64Const { .. }
                    | Operator::V128Const { .. }
                        if !is_followed =>
                    {
                        self.is_followed = product.is_some();
                        product
                    }
                    _ => None,
                };
                return false;
            }
        };
        product != Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::{Parser, Payload};

    use super::*;

    fn code(body: &str) -> Vec<u8> {
        let text = format!(
            "(module (func (param $f f32) (param $d f64) (param $v v128) {body} drop) (func))"
        );
        let module = wat::parse_str(text).unwrap();
        let mut sections = Parser::new(0).parse_all(&module).map(Result::unwrap);
        sections
            .find_map(|payload| match payload {
                Payload::CodeSectionStart { range, .. } => Some(module[range].to_vec()),
                _ => None,
            })
            .unwrap()
    }

    const PRODUCT: &str = "local.get $v local.get $v f32x4.mul";

    #[test]
    fn a_sum_with_a_product_right_before_it_costs_nothing() {
        for body in [
            format!("local.get $v {PRODUCT} f32x4.add"),
            format!("{PRODUCT} local.get $v f32x4.sub"),
            format!("{PRODUCT} v128.const i64x2 0 1 f32x4.add"),
            "local.get $f local.get $f local.get $f f32.mul f32.sub".to_owned(),
            "local.get $d local.get $d f64.mul f64.const 1 f64.add".to_owned(),
            "local.get $v local.get $v f64x2.mul local.get $v f64x2.add".to_owned(),
        ] {
            let code = code(&body);
            assert_eq!(with_costs(&code).unwrap().0, code, "{body}");
        }
    }

    #[test]
    fn any_other_sum_costs_an_instruction() {
        for (before, sum) in [
            ("local.get $v local.get $v".to_owned(), "f32x4.add"),
            // A sum of products has one for each but one.
            (
                format!("{PRODUCT} {PRODUCT} f32x4.add local.get $v"),
                "f32x4.add",
            ),
            // What follows a product is more than an operand, or of another type.
            (format!("{PRODUCT} local.get $v f32x4.neg"), "f32x4.add"),
            (format!("{PRODUCT} local.get $v"), "f64x2.add"),
            (
                format!("{PRODUCT} drop local.get $v local.get $v"),
                "f32x4.sub",
            ),
        ] {
            let expected = code(&format!("{before} nop {sum}"));
            let found = with_costs(&code(&format!("{before} {sum}"))).unwrap();
            assert_eq!(found.0, expected, "{before} {sum}");
        }
    }

    #[test]
    fn what_fills_a_place_costs_nothing() {
        let (found, _) = with_costs(&code("nop local.get $v nop nop")).unwrap();
        assert_eq!(found, code("local.get $v"));
    }

    #[test]
    fn each_instruction_is_found_where_it_was() {
        let before = code("local.get $v local.get $v f32x4.add nop local.get $v f32x4.add");
        let (after, moved) = with_costs(&before).unwrap();
        let sums = |code: &[u8]| -> Vec<usize> {
            let bodies = CodeSectionReader::new(BinaryReader::new(code, 0)).unwrap();
            let operators = bodies.into_iter().flat_map(|body| {
                let operators = body.unwrap().get_operators_reader().unwrap();
                operators.into_iter_with_offsets().map(Result::unwrap)
            });
            let sums = operators.filter(|(operator, _)| matches!(operator, Operator::F32x4Add));
            sums.map(|(_, at)| at).collect()
        };
        let found: Vec<usize> = sums(&after).iter().map(|at| moved.old(*at)).collect();
        assert_eq!(found, sums(&before));
        assert_ne!(sums(&after), sums(&before));
    }
}
