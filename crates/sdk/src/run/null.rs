//! Null pointers of a PPU program.
//!
//! Nothing may access the first bytes of its memory ([`NULL_BYTES`](super::memory::NULL_BYTES)). A
//! load or a store there is a fault of the processor, which the engine makes an error of the
//! program with its line. But the engine carries out `memory.copy` and `memory.fill` itself, and a
//! fault in its own code would end this process. So each of them is preceded by loads of the first
//! bytes that it uses, which are inserted when a program is loaded:
//!
//! ```text
//!   memory.copy  ─►  bytes, from, to = the operands
//!                    if bytes
//!                      load from; load to
//!                    end
//!                    memory.copy (to, from, bytes)
//! ```

use wasm_encoder::{Encode, Instruction, MemArg};
use wasmparser::{BinaryReader, BinaryReaderError, CodeSectionReader, FunctionBody, Operator};

use super::stack::Moved;

/// The variables that are added to a function with copies: the operands.
const OPERANDS: u32 = 3;

/// Returns the contents of a code section with loads before each copy, and where the code was
/// before. `parameters` returns the number of parameters of a function of the section.
pub(super) fn insert(
    code: &[u8],
    parameters: impl Fn(u32) -> usize,
) -> Result<(Vec<u8>, Moved), BinaryReaderError> {
    let bodies = CodeSectionReader::new(BinaryReader::new(code, 0))?;
    let (mut new, mut moved) = (Vec::new(), Moved::default());
    bodies.count().encode(&mut new);
    for (index, body) in (0..).zip(bodies) {
        let body = body?;
        let range = body.range();
        let mut out = Out::default();
        let copies = copies_of(&body)?;
        if copies.is_empty() {
            out.take(code, range.start, range.end);
        } else {
            let first = out.add_operands(code, &body, parameters(index))?;
            for (at, after, is_copy) in copies {
                out.take(code, out.end, at);
                out.pieces.push((out.bytes.len(), at));
                load_first(first, is_copy, &mut out.bytes);
                out.take(code, at, after);
            }
            out.take(code, out.end, range.end);
        }
        out.bytes.len().encode(&mut new);
        let start = new.len();
        moved.extend(out.pieces.iter().map(|(at, old)| (start + at, *old)));
        new.append(&mut out.bytes);
    }
    Ok((new, moved))
}

/// The new code of a function.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    /// Where pieces begin, here and in the old code.
    pieces: Vec<(usize, usize)>,
    /// Where the old code that is here ends.
    end: usize,
}

impl Out {
    /// Adds a piece of the old code.
    fn take(&mut self, code: &[u8], from: usize, to: usize) {
        self.pieces.push((self.bytes.len(), from));
        self.bytes.extend_from_slice(&code[from..to]);
        self.end = to;
    }

    /// Adds the declarations of a function's variables with three more. Returns the first of these.
    fn add_operands(
        &mut self,
        code: &[u8],
        body: &FunctionBody<'_>,
        parameters: usize,
    ) -> Result<u32, BinaryReaderError> {
        let mut first = u32::try_from(parameters).unwrap_or(u32::MAX);
        for group in body.get_locals_reader()? {
            first = first.saturating_add(group?.0);
        }
        let mut declared = body.get_binary_reader();
        let groups = declared.read_var_u32()?;
        let groups_at = declared.original_position();
        let begin = body.get_operators_reader()?.original_position();
        self.pieces.push((0, body.range().start));
        groups.saturating_add(1).encode(&mut self.bytes);
        self.take(code, groups_at, begin);
        OPERANDS.encode(&mut self.bytes);
        wasm_encoder::ValType::I32.encode(&mut self.bytes);
        Ok(first)
    }
}

/// Returns where a function copies or fills memory, where the next instruction is, and whether it
/// copies.
fn copies_of(body: &FunctionBody<'_>) -> Result<Vec<(usize, usize, bool)>, BinaryReaderError> {
    let mut operators = body.get_operators_reader()?;
    let mut copies = Vec::new();
    while !operators.eof() {
        let (operator, at) = operators.read_with_offset()?;
        let is_copy = match operator {
            Operator::MemoryCopy { .. } => true,
            Operator::MemoryFill { .. } => false,
            _ => continue,
        };
        copies.push((at, operators.original_position(), is_copy));
    }
    Ok(copies)
}

/// Writes what precedes a copy: it takes the operands to variables from `first` on, loads, and
/// gives them back.
fn load_first(first: u32, is_copy: bool, out: &mut Vec<u8>) {
    let [to, from, bytes] = [first, first + 1, first + 2];
    let load = |at: u32| {
        let first_byte = MemArg {
            offset: 0,
            align: 0,
            memory_index: 0,
        };
        [
            Instruction::LocalGet(at),
            Instruction::I32Load8U(first_byte),
            Instruction::Drop,
        ]
    };
    let mut all = vec![
        Instruction::LocalSet(bytes),
        Instruction::LocalSet(from),
        Instruction::LocalSet(to),
        Instruction::LocalGet(bytes),
        Instruction::If(wasm_encoder::BlockType::Empty),
    ];
    if is_copy {
        all.extend(load(from));
    }
    all.extend(load(to));
    all.extend([
        Instruction::End,
        Instruction::LocalGet(to),
        Instruction::LocalGet(from),
        Instruction::LocalGet(bytes),
    ]);
    for instruction in all {
        instruction.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::{Parser, Payload};

    use super::*;

    /// Returns the contents of the code section of a module.
    fn code(text: &str) -> Vec<u8> {
        let module = wat::parse_str(text).unwrap();
        let mut payloads = Parser::new(0).parse_all(&module);
        let range = payloads.find_map(|payload| match payload.unwrap() {
            Payload::CodeSectionStart { range, .. } => Some(range),
            _ => None,
        });
        module[range.unwrap()].to_vec()
    }

    fn operands(first: u32, loads: &str) -> String {
        let [to, from, bytes] = [first, first + 1, first + 2];
        let load = |at: u32| format!("local.get {at} i32.load8_u drop");
        let loads = loads.replace("FROM", &load(from)).replace("TO", &load(to));
        format!(
            "local.set {bytes} local.set {from} local.set {to} local.get {bytes} if {loads} end
             local.get {to} local.get {from} local.get {bytes}"
        )
    }

    #[test]
    fn a_copy_loads_the_first_bytes_before() {
        let text = |more: &str, copy: &str, fill: &str| {
            format!(
                "(module (memory 1)
                   (func nop)
                   (func (param i32 i64) (local i32 f32) {more}
                     local.get 0 i32.const 8 i32.const 9 {copy} memory.copy
                     local.get 0 i32.const 8 i32.const 9 {fill} memory.fill)
                   (func nop))"
            )
        };
        let old = code(&text("", "", ""));
        let parameters = |index: u32| if index == 1 { 2 } else { 0 };
        let (new, moved) = insert(&old, parameters).unwrap();
        let wanted = text(
            "(local i32 i32 i32)",
            &operands(4, "FROM TO"),
            &operands(4, "TO"),
        );
        assert_eq!(new, code(&wanted));
        // Each instruction is where it was, and what was inserted is at the copy.
        let places = |code: &[u8]| {
            let mut places = Vec::new();
            for body in CodeSectionReader::new(BinaryReader::new(code, 0)).unwrap() {
                let mut operators = body.unwrap().get_operators_reader().unwrap();
                while !operators.eof() {
                    let (operator, at) = operators.read_with_offset().unwrap();
                    places.push((format!("{operator:?}"), at));
                }
            }
            places
        };
        let copy = |code: &[u8]| {
            let places = places(code);
            let copy = places.iter().find(|(name, _)| name.contains("MemoryCopy"));
            copy.unwrap().1
        };
        assert_eq!(moved.old(copy(&new)), copy(&old));
        let (ends_new, ends_old) = (places(&new), places(&old));
        assert_eq!(
            moved.old(ends_new.last().unwrap().1),
            ends_old.last().unwrap().1
        );
        assert_eq!(moved.old(copy(&new) - 3), copy(&old));
    }

    #[test]
    fn code_without_copies_stays() {
        let old = code("(module (func (param i32) (local i64) local.get 0 drop))");
        assert_eq!(insert(&old, |_| 1).unwrap().0, old);
    }
}
