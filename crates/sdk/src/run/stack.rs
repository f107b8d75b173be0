//! The stack of an SPU program: it grows down from the end of the local store, and the heap grows
//! up from the variables, in one free area.
//!
//! ```text
//!   0    1 KB                                                          256 KB
//!   │    │ variables │ heap ──►        free            ◄── stack │
//!                            ▲ __cell_stack_end        ▲ __stack_pointer
//! ```
//!
//! An SPU would go on with damaged data if the two meet. Here each function that takes room on the
//! stack is followed by a check, which is inserted when a program is loaded.

use wasm_encoder::Encode;
use wasmparser::{
    BinaryReader, BinaryReaderError, CodeSectionReader, ExportSectionReader, ExternalKind,
    FunctionBody, GlobalSectionReader, Operator,
};

/// What the linker has set of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StackRoom {
    /// The bytes that the heap leaves to it.
    pub(super) bytes: u32,
    /// The address at which it begins.
    pub(super) top: u32,
}

impl StackRoom {
    /// Reads the section of a module.
    pub(super) fn read(section: &[u8]) -> Option<Self> {
        let (bytes, top) = section.split_at_checked(4)?;
        Some(Self {
            bytes: u32::from_le_bytes(bytes.try_into().ok()?),
            top: u32::from_le_bytes(top.try_into().ok()?),
        })
    }
}

/// What checks of the stack need of a module.
#[derive(Default)]
pub(super) struct Checks {
    /// The constant values of the globals.
    values: Vec<Option<u32>>,
    /// The global that is the stack pointer.
    pointer: Option<u32>,
    /// The address of the word with the end of the stack.
    end: Option<u32>,
}

impl Checks {
    pub(super) fn globals(
        &mut self,
        section: GlobalSectionReader<'_>,
    ) -> Result<(), BinaryReaderError> {
        for global in section {
            let value = global?.init_expr.get_operators_reader().read()?;
            self.values.push(match value {
                Operator::I32Const { value } => Some(value.cast_unsigned()),
                _ => None,
            });
        }
        Ok(())
    }

    /// Finds the stack pointer, and the address of the variable `end`.
    pub(super) fn exports(
        &mut self,
        section: ExportSectionReader<'_>,
        end: &str,
    ) -> Result<(), BinaryReaderError> {
        for export in section {
            let export = export?;
            if export.kind != ExternalKind::Global {
                continue;
            }
            // Nothing imports a global, so the first of the module has the number 0.
            let value = self.values.get(export.index as usize).copied().flatten();
            if export.name == "__stack_pointer" {
                self.pointer = Some(export.index);
            } else if export.name == end {
                self.end = value;
            }
        }
        Ok(())
    }

    /// Returns the contents of a code section with a check behind each instruction that moves the
    /// stack pointer down, and where the code was before.
    pub(super) fn insert(&self, code: &[u8]) -> Result<(Vec<u8>, Moved), BinaryReaderError> {
        let (Some(pointer), Some(end)) = (self.pointer, self.end) else {
            return Ok((code.to_vec(), Moved::default()));
        };
        let mut check = vec![0x23]; // global.get
        pointer.encode(&mut check);
        check.extend([0x41, 0x00, 0x28, 0x02]); // i32.const 0, i32.load
        end.encode(&mut check);
        // i32.lt_u, if, i32.const -1, i32.load8_u, drop, end: no memory has the last address.
        check.extend([0x49, 0x04, 0x40, 0x41, 0x7f, 0x2d, 0x00, 0x00, 0x1a, 0x0b]);
        let bodies = CodeSectionReader::new(BinaryReader::new(code, 0))?;
        let (mut new, mut moved) = (Vec::new(), Vec::new());
        bodies.count().encode(&mut new);
        for body in bodies {
            let body = body?;
            let range = body.range();
            let (mut bytes, mut pieces) = (Vec::new(), vec![(0, range.start)]);
            let mut from = range.start;
            for (set, after) in moves_of(&body, pointer)? {
                bytes.extend_from_slice(&code[from..after]);
                pieces.push((bytes.len(), set));
                bytes.extend_from_slice(&check);
                pieces.push((bytes.len(), after));
                from = after;
            }
            bytes.extend_from_slice(&code[from..range.end]);
            bytes.len().encode(&mut new);
            moved.extend(pieces.iter().map(|(at, old)| (new.len() + at, *old)));
            new.append(&mut bytes);
        }
        Ok((new, Moved(moved)))
    }
}

/// Returns where a function sets the stack pointer, and where the next instruction is. What follows
/// an addition moves it up, at the end of a function.
fn moves_of(
    body: &FunctionBody<'_>,
    pointer: u32,
) -> Result<Vec<(usize, usize)>, BinaryReaderError> {
    let mut operators = body.get_operators_reader()?;
    let (mut moves, mut is_sum) = (Vec::new(), false);
    while !operators.eof() {
        let (operator, at) = operators.read_with_offset()?;
        if matches!(operator, Operator::GlobalSet { global_index } if global_index == pointer)
            && !is_sum
        {
            moves.push((at, operators.original_position()));
        }
        is_sum = matches!(operator, Operator::I32Add);
    }
    Ok(moves)
}

/// Where the code of a section was before checks were inserted: the new and the old offsets at
/// which its pieces begin.
#[derive(Default)]
pub(super) struct Moved(Vec<(usize, usize)>);

impl Moved {
    /// Adds the next pieces, in the order in which they lie.
    pub(super) fn extend(&mut self, pieces: impl IntoIterator<Item = (usize, usize)>) {
        self.0.extend(pieces);
    }

    /// Returns where the instruction at an offset was. What was inserted is at the instruction at
    /// which its piece begins.
    pub(super) fn old(&self, offset: usize) -> usize {
        let next = self.0.partition_point(|(new, _)| *new <= offset);
        let Some((new, old)) = next.checked_sub(1).map(|at| self.0[at]) else {
            return offset;
        };
        let end = self.0.get(next).map_or(usize::MAX, |(_, old)| *old);
        (old + offset - new).min(end.max(old + 1) - 1)
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::{Parser, Payload};

    use super::*;

    /// Returns the contents of the code section of a module, and what its checks need.
    fn module(text: &str) -> (Vec<u8>, Checks) {
        let module = wat::parse_str(text).unwrap();
        let (mut code, mut checks) = (Vec::new(), Checks::default());
        for payload in Parser::new(0).parse_all(&module) {
            match payload.unwrap() {
                Payload::GlobalSection(globals) => checks.globals(globals).unwrap(),
                Payload::ExportSection(exports) => checks.exports(exports, "end").unwrap(),
                Payload::CodeSectionStart { range, .. } => code = module[range].to_vec(),
                _ => {}
            }
        }
        (code, checks)
    }

    const GLOBALS: &str = r#"
        (memory 1)
        (global (mut i32) (i32.const 0))
        (global $pointer (export "__stack_pointer") (mut i32) (i32.const 65536))
        (global (export "end") i32 (i32.const 2000))"#;
    const DOWN: &str = "global.get $pointer i32.const 64 i32.sub global.set $pointer";
    const UP: &str = "global.get $pointer i32.const 64 i32.add global.set $pointer";
    const CHECK: &str = "global.get $pointer i32.const 0 i32.load offset=2000 i32.lt_u
        if i32.const -1 i32.load8_u drop end";

    #[test]
    fn a_check_follows_each_instruction_that_takes_room() {
        let text = |check: &str| {
            format!(
                "(module {GLOBALS} (func {DOWN} {check} {UP}) (func nop global.get 0 global.set 0)
                 (func {UP} {DOWN} {check} {DOWN} {check} nop))"
            )
        };
        let (code, checks) = module(&text(""));
        let (with, _) = checks.insert(&code).unwrap();
        assert_eq!(with, module(&text(CHECK)).0);
    }

    #[test]
    fn each_instruction_is_found_where_it_was() {
        let text = format!("(module {GLOBALS} (func {DOWN} nop {UP}) (func {DOWN} nop))");
        let (code, checks) = module(&text);
        let (with, moved) = checks.insert(&code).unwrap();
        let nops = |code: &[u8]| -> Vec<usize> {
            let bodies = CodeSectionReader::new(BinaryReader::new(code, 0)).unwrap();
            let operators = bodies.into_iter().flat_map(|body| {
                let operators = body.unwrap().get_operators_reader().unwrap();
                operators.into_iter_with_offsets().map(Result::unwrap)
            });
            operators
                .filter(|(operator, _)| matches!(operator, Operator::Nop))
                .map(|(_, at)| at)
                .collect()
        };
        let (before, after) = (nops(&code), nops(&with));
        assert!(before != after && before.len() == 2);
        let found: Vec<usize> = after.iter().map(|at| moved.old(*at)).collect();
        assert_eq!(found, before);
        // A check is where the stack pointer was set: right before the nop.
        for (nop, was) in after.iter().zip(&before) {
            for at in nop - 15..*nop {
                assert_eq!(moved.old(at), was - 1);
            }
        }
    }

    #[test]
    fn a_module_without_a_stack_has_no_checks() {
        let (code, checks) = module("(module (func nop))");
        let (same, moved) = checks.insert(&code).unwrap();
        assert_eq!((same, moved.old(7)), (code, 7));
    }

    #[test]
    fn the_section_of_the_stack_has_two_words() {
        let section = [0, 64, 0, 0, 0xf0, 0xff, 3, 0];
        let (bytes, top) = (16 << 10, 0x3_fff0);
        assert_eq!(StackRoom::read(&section), Some(StackRoom { bytes, top }));
        assert_eq!(StackRoom::read(&section[1..]), None);
        assert_eq!(StackRoom::read(b""), None);
    }
}
