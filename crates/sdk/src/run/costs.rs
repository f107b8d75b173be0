//! What instructions cost on a simulated machine, where that depends on others.
//!
//! The engine counts each instruction by its kind alone, and a `nop` as one instruction, without
//! any work for this computer. So `nop`s are inserted:
//!
//! - At a sum of floats that does not add to the product right before it. Sums themselves cost
//!   nothing: an SPU multiplies and adds in one instruction, and WebAssembly in two.
//! - In a loop that only waits until memory changes, such as `while (!flag);`. A turn of it costs
//!   [`POLL`] instructions more, so waiting takes less time of this computer than it simulates. The
//!   program sees the change up to a turn later. After each [`TURNS`] turns of such loops, the
//!   program says by an import that it polls. What it does for that is a part of the [`POLL`]
//!   instructions, and three more tell when such a loop begins.
//!
//! And the bytes of a number are turned round by a swizzle, which costs nothing. LLVM does it by 11
//! or 26 instructions, and an SPU, whose memory is big-endian, not at all.
//!
//! Before each call of the machine the program notes where it is, which costs nothing. Each wait
//! has its line of C. To find that on the stack took a fifth of the time of this computer for a
//! round trip by mailboxes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wasm_encoder::{BlockType, Encode, Instruction};
use wasmparser::{BinaryReader, BinaryReaderError, CodeSectionReader, FunctionBody, Operator};

use super::stack::Moved;

/// The instructions that a turn of a loop costs more if it only waits: some 20 ns of an SPU.
const POLL: usize = 64;

/// The turns of loops that only wait after which a program says so. A power of two.
const TURNS: i32 = 4_096;

/// How a program says that it polls.
#[derive(Clone, Copy)]
pub(super) struct Says {
    /// The import that it calls.
    pub(super) import: u32,
    /// The global that counts how often loops that only wait have begun: the argument.
    pub(super) begun: u32,
    /// A global that counts their turns.
    pub(super) turns: u32,
}

/// How a program notes from where it calls the machine.
#[derive(Clone, Copy)]
pub(super) struct Notes {
    /// The functions with smaller numbers are the machine's.
    pub(super) imported: u32,
    /// The global with the place of the last call in the code section, or 0 if it is not known.
    pub(super) place: u32,
}

impl Notes {
    /// Returns what a program does before it calls the machine, or a function that may be the
    /// machine's, at a place.
    fn before(self, operator: &Operator<'_>, at: usize) -> Option<[Instruction<'static>; 2]> {
        let place = match operator {
            Operator::Call { function_index } if *function_index < self.imported => {
                i32::try_from(at).unwrap_or(0)
            }
            Operator::CallIndirect { .. } => 0,
            _ => return None,
        };
        Some([
            Instruction::I32Const(place),
            Instruction::GlobalSet(self.place),
        ])
    }
}

/// Returns the contents of a code section with a `nop` for each instruction that it costs more, and
/// where the code was before. The functions `looks` only look at memory.
pub(super) fn with_costs(
    code: &[u8],
    looks: &BTreeSet<u32>,
    says: Option<Says>,
    notes: Notes,
) -> Result<(Vec<u8>, Moved), BinaryReaderError> {
    let bodies = CodeSectionReader::new(BinaryReader::new(code, 0))?;
    let (mut new, mut moved) = (Vec::new(), Moved::default());
    bodies.count().encode(&mut new);
    for body in bodies {
        let body = body?;
        let range = body.range();
        let (mut bytes, mut pieces, mut from) = (Vec::new(), Vec::new(), range.start);
        let mut operators = body.get_operators_reader()?;
        let mut last = Last::default();
        let polls = polls(&body, looks)?;
        let go_back: BTreeSet<usize> = polls.values().copied().collect();
        let mut turned_until = 0;
        while !operators.eof() {
            let (operator, at) = operators.read_with_offset()?;
            if at < turned_until {
                continue;
            }
            let after = operators.original_position();
            if let Operator::LocalGet { local_index } | Operator::LocalTee { local_index } =
                operator
                && let Some((length, swizzle)) = turned(&code[after..], local_index)
            {
                pieces.push((bytes.len(), from));
                bytes.extend_from_slice(&code[from..after]);
                for instruction in swizzle {
                    instruction.encode(&mut bytes);
                }
                turned_until = after + length;
                from = turned_until;
                last = Last::default();
                continue;
            }
            // What only fills a place costs nothing.
            let fills = matches!(operator, Operator::Nop);
            // The engine counts nothing for it, because of the notes.
            let sets = matches!(operator, Operator::GlobalSet { .. });
            let mut costs = usize::from(last.costs(&operator) || sets);
            let begins = says.filter(|_| polls.contains_key(&at));
            let polls = go_back.contains(&at);
            let notes = notes.before(&operator, at);
            if !fills && begins.is_none() && !polls && costs == 0 && notes.is_none() {
                continue;
            }
            pieces.push((bytes.len(), from));
            bytes.extend_from_slice(&code[from..at]);
            from = if fills { at + 1 } else { at };
            if let Some(says) = begins {
                says.begins()
                    .iter()
                    .chain([&Instruction::Nop])
                    .for_each(|instruction| instruction.encode(&mut bytes));
            }
            if polls {
                costs = POLL - says.map_or(0, |says| says.encode(&mut bytes));
            }
            (0..costs).for_each(|_| Instruction::Nop.encode(&mut bytes));
            notes
                .iter()
                .flatten()
                .for_each(|instruction| instruction.encode(&mut bytes));
        }
        pieces.push((bytes.len(), from));
        bytes.extend_from_slice(&code[from..range.end]);
        bytes.len().encode(&mut new);
        moved.extend(pieces.iter().map(|(at, old)| (new.len() + at, *old)));
        new.append(&mut bytes);
    }
    Ok((new, moved))
}

/// Returns how many bytes the code at the start of `code` has that turns round the bytes of a
/// variable, which is on the stack already, and instructions that do the same.
fn turned(code: &[u8], variable: u32) -> Option<(usize, [Instruction<'static>; 4])> {
    // Both begin by a shift of the lowest byte to the left.
    let is_wide = match code.first()? {
        0x41 => false,
        0x42 => true,
        _ => return None,
    };
    let mut bytes = Vec::new();
    for step in if is_wide { WIDE } else { WORD } {
        let instruction = match (*step, is_wide) {
            (Turn::Get, _) => Instruction::LocalGet(variable),
            (Turn::Const(value), false) => Instruction::I32Const(value as i32),
            (Turn::Const(value), true) => Instruction::I64Const(value),
            (Turn::Left, false) => Instruction::I32Shl,
            (Turn::Left, true) => Instruction::I64Shl,
            (Turn::Right, false) => Instruction::I32ShrU,
            (Turn::Right, true) => Instruction::I64ShrU,
            (Turn::And, false) => Instruction::I32And,
            (Turn::And, true) => Instruction::I64And,
            (Turn::Or, false) => Instruction::I32Or,
            (Turn::Or, true) => Instruction::I64Or,
        };
        instruction.encode(&mut bytes);
        if !code.starts_with(&bytes) {
            return None;
        }
    }
    // The other bytes do not matter.
    let swizzle = if is_wide {
        [
            Instruction::I64x2Splat,
            Instruction::V128Const(0x0001_0203_0405_0607),
            Instruction::I8x16Swizzle,
            Instruction::I64x2ExtractLane(0),
        ]
    } else {
        [
            Instruction::I32x4Splat,
            Instruction::V128Const(0x0001_0203),
            Instruction::I8x16Swizzle,
            Instruction::I32x4ExtractLane(0),
        ]
    };
    Some((bytes.len(), swizzle))
}

/// A step by which LLVM turns round the bytes of a number.
#[derive(Clone, Copy)]
enum Turn {
    Get,
    Const(i64),
    Left,
    Right,
    And,
    Or,
}

/// The steps for 4 bytes, after the number itself.
const WORD: &[Turn] = {
    use Turn::*;
    &[
        Const(24),
        Left,
        Get,
        Const(0xff00),
        And,
        Const(8),
        Left,
        Or, //
        Get,
        Const(8),
        Right,
        Const(0xff00),
        And,
        Get,
        Const(24),
        Right,
        Or,
        Or,
    ]
};

/// The steps for 8 bytes, after the number itself.
const WIDE: &[Turn] = {
    use Turn::*;
    &[
        Const(56),
        Left,
        Get,
        Const(0xff00),
        And,
        Const(40),
        Left,
        Or, //
        Get,
        Const(0xff_0000),
        And,
        Const(24),
        Left, //
        Get,
        Const(0xff00_0000),
        And,
        Const(8),
        Left,
        Or,
        Or, //
        Get,
        Const(8),
        Right,
        Const(0xff00_0000),
        And, //
        Get,
        Const(24),
        Right,
        Const(0xff_0000),
        And,
        Or, //
        Get,
        Const(40),
        Right,
        Const(0xff00),
        And,
        Get,
        Const(56),
        Right,
        Or,
        Or,
        Or,
    ]
};

impl Says {
    /// Returns what a program does before a loop begins.
    pub(super) fn begins(self) -> [Instruction<'static>; 4] {
        [
            Instruction::GlobalGet(self.begun),
            Instruction::I32Const(1),
            Instruction::I32Add,
            Instruction::GlobalSet(self.begun),
        ]
    }

    /// Returns what it does to say that it polls.
    pub(super) fn polls(self) -> [Instruction<'static>; 2] {
        [
            Instruction::GlobalGet(self.begun),
            Instruction::Call(self.import),
        ]
    }

    /// Writes what a turn of a loop does to say that it polls. Returns what that costs.
    fn encode(self, bytes: &mut Vec<u8>) -> usize {
        // A constant, a test for 0 and what sets a global cost nothing.
        let each = [
            Instruction::GlobalGet(self.turns),
            Instruction::I32Const(1),
            Instruction::I32Add,
            Instruction::GlobalSet(self.turns),
            Instruction::GlobalGet(self.turns),
            Instruction::I32Const(TURNS - 1),
            Instruction::I32And,
            Instruction::I32Eqz,
            Instruction::If(BlockType::Empty),
        ];
        let all = each.into_iter().chain(self.polls());
        let all = all.chain([Instruction::End]);
        all.for_each(|instruction| instruction.encode(bytes));
        5
    }
}

/// Returns the loops that only wait until memory changes, each by where it begins, with the
/// instruction that goes back. The turns of such a loop are all the same, because none writes,
/// calls a function that is not in `looks`, or sets a variable that the next one reads, but to
/// count.
pub(super) fn polls(
    body: &FunctionBody<'_>,
    looks: &BTreeSet<u32>,
) -> Result<BTreeMap<usize, usize>, BinaryReaderError> {
    let mut polls = BTreeMap::new();
    // The innermost loop that is open, if it may be one, and the blocks that are open in it.
    let mut open: Option<Poll> = None;
    let mut count = Count::default();
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        let (operator, at) = operators.read_with_offset()?;
        let counted = count.next(&operator);
        match operator {
            Operator::Loop { .. } => {
                open = Some(Poll {
                    at,
                    ..Poll::default()
                });
            }
            Operator::Block { .. } | Operator::If { .. } => {
                if let Some(poll) = &mut open {
                    poll.depth += 1;
                }
            }
            Operator::End => {
                let is_last = open.as_ref().is_some_and(|poll| poll.depth == 0);
                match &mut open {
                    Some(poll) if !is_last => poll.depth -= 1,
                    _ => {}
                }
                if is_last {
                    let ended = open.take();
                    polls.extend(ended.and_then(|poll| Some((poll.at, poll.goes_back?))));
                }
            }
            Operator::LocalGet { local_index } => {
                open.take_if(|poll| poll.counters.contains(&local_index));
                if let Some(poll) = &mut open {
                    let used = poll.used.entry(local_index).or_insert(Used::Read(0));
                    if let Used::Read(times) = used {
                        *times += 1;
                    }
                }
            }
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                let goes_on = |poll: &mut Poll| {
                    match poll.used.entry(local_index).or_insert(Used::Set) {
                        Used::Set => true,
                        // Nothing else than the sum itself has read it.
                        Used::Read(1) if counted => poll.counters.insert(local_index),
                        Used::Read(_) => false,
                    }
                };
                open.take_if(|poll| !goes_on(poll));
            }
            Operator::BrIf { relative_depth } | Operator::Br { relative_depth } => {
                if let Some(poll) = &mut open
                    && poll.depth == relative_depth
                {
                    // Two ways back would need two waits.
                    let before = poll.goes_back.replace(at);
                    open.take_if(|_| before.is_some());
                }
            }
            Operator::Call { function_index } if looks.contains(&function_index) => {}
            other if writes(&other) => open = None,
            _ => {}
        }
    }
    Ok(polls)
}

/// Returns the functions that a function calls, if it only looks at memory as far as they do.
pub(super) fn looks_by(
    body: &FunctionBody<'_>,
) -> Result<Option<BTreeSet<u32>>, BinaryReaderError> {
    let mut callees = BTreeSet::new();
    for operator in body.get_operators_reader()? {
        match operator? {
            Operator::Call { function_index } => {
                callees.insert(function_index);
            }
            other if writes(&other) => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(callees))
}

/// A loop that may only wait.
#[derive(Default)]
struct Poll {
    /// Where it begins.
    at: usize,
    depth: u32,
    /// The instruction that goes back.
    goes_back: Option<usize>,
    /// The variables of the body so far.
    used: HashMap<u32, Used>,
    /// Those that only count its turns.
    counters: BTreeSet<u32>,
}

/// How the body of a loop uses a variable.
enum Used {
    /// It sets it first.
    Set,
    /// It has read it, so many times, and has not set it before.
    Read(u32),
}

/// The last instructions, if they are the beginning of `x = x + 1` or the like.
#[derive(Default)]
struct Count {
    variable: u32,
    /// How many instructions there are.
    steps: u32,
}

impl Count {
    /// Notes the next instruction, and returns whether it is the last one.
    fn next(&mut self, operator: &Operator<'_>) -> bool {
        let steps = std::mem::take(&mut self.steps);
        match (operator, steps) {
            (Operator::LocalGet { local_index }, _) => {
                *self = Self {
                    variable: *local_index,
                    steps: 1,
                };
            }
            (Operator::I32Const { .. } | Operator::I64Const { .. }, 1) => self.steps = 2,
            (Operator::I32Add | Operator::I64Add, 2) => self.steps = 3,
            (Operator::LocalSet { local_index }, 3) => return *local_index == self.variable,
            _ => {}
        }
        false
    }
}

/// Whether an instruction may change more than variables.
fn writes(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::I32Store { .. }
            | Operator::I32Store8 { .. }
            | Operator::I32Store16 { .. }
            | Operator::I64Store { .. }
            | Operator::I64Store8 { .. }
            | Operator::I64Store16 { .. }
            | Operator::I64Store32 { .. }
            | Operator::F32Store { .. }
            | Operator::F64Store { .. }
            | Operator::V128Store { .. }
            | Operator::V128Store8Lane { .. }
            | Operator::V128Store16Lane { .. }
            | Operator::V128Store32Lane { .. }
            | Operator::V128Store64Lane { .. }
            | Operator::MemoryCopy { .. }
            | Operator::MemoryFill { .. }
            | Operator::MemoryGrow { .. }
            | Operator::GlobalSet { .. }
            | Operator::BrTable { .. }
            | Operator::Call { .. }
            | Operator::CallIndirect { .. }
    )
}

/// The kind of the last product of floats, if only an operand of one instruction has followed it.
#[derive(Default)]
struct Last {
    product: Option<FloatKind>,
    is_followed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FloatKind {
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
            Operator::F32Add | Operator::F32Sub => FloatKind::F32,
            Operator::F64Add | Operator::F64Sub => FloatKind::F64,
            Operator::F32x4Add | Operator::F32x4Sub => FloatKind::F32x4,
            Operator::F64x2Add | Operator::F64x2Sub => FloatKind::F64x2,
            other => {
                self.product = match other {
                    Operator::F32Mul => Some(FloatKind::F32),
                    Operator::F64Mul => Some(FloatKind::F64),
                    Operator::F32x4Mul => Some(FloatKind::F32x4),
                    Operator::F64x2Mul => Some(FloatKind::F64x2),
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
            "(module (memory 1) (table 1 funcref) (global $g (mut i32) (i32.const 0)) (global (mut i32) (i32.const 0))
                (global (mut i32) (i32.const 0))
                (func (param $f f32) (param $d f64) (param $v v128) (local $i i32) (local $j i32) (local $w i64) {body} drop)
                (func) (func $load (param i32) (result i32) i32.const 0))"
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

    const NONE: BTreeSet<u32> = BTreeSet::new();

    const NO_NOTES: Notes = Notes {
        imported: 0,
        place: 0,
    };

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
            assert_eq!(
                with_costs(&code, &NONE, None, NO_NOTES).unwrap().0,
                code,
                "{body}"
            );
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
            let found =
                with_costs(&code(&format!("{before} {sum}")), &NONE, None, NO_NOTES).unwrap();
            assert_eq!(found.0, expected, "{before} {sum}");
        }
    }

    /// What clang makes of `__builtin_bswap32` and `__builtin_bswap64`, after the number.
    const WORD_TEXT: &str = "i32.const 24 i32.shl local.get $i i32.const 65280 i32.and i32.const 8 i32.shl i32.or
        local.get $i i32.const 8 i32.shr_u i32.const 65280 i32.and local.get $i i32.const 24 i32.shr_u i32.or i32.or";
    const WIDE_TEXT: &str = "i64.const 56 i64.shl local.get $w i64.const 65280 i64.and i64.const 40 i64.shl i64.or
        local.get $w i64.const 16711680 i64.and i64.const 24 i64.shl
        local.get $w i64.const 4278190080 i64.and i64.const 8 i64.shl i64.or i64.or
        local.get $w i64.const 8 i64.shr_u i64.const 4278190080 i64.and
        local.get $w i64.const 24 i64.shr_u i64.const 16711680 i64.and i64.or
        local.get $w i64.const 40 i64.shr_u i64.const 65280 i64.and local.get $w i64.const 56 i64.shr_u i64.or
        i64.or i64.or";

    #[test]
    fn turning_round_the_bytes_of_a_number_costs_nothing() {
        let word =
            "i32x4.splat v128.const i32x4 0x00010203 0 0 0 i8x16.swizzle i32x4.extract_lane 0";
        let wide =
            "i64x2.splat v128.const i64x2 0x0001020304050607 0 i8x16.swizzle i64x2.extract_lane 0";
        for (number, old, new) in [
            ("local.get $i", WORD_TEXT, word),
            ("i32.const 5 local.tee $i", WORD_TEXT, word),
            ("local.get $w", WIDE_TEXT, wide),
        ] {
            let found = with_costs(&code(&format!("{number} {old}")), &NONE, None, NO_NOTES)
                .unwrap()
                .0;
            assert_eq!(found, code(&format!("{number} {new}")), "{number}");
        }
        // Of another variable, or not the whole way.
        for text in [
            format!("local.get $j {WORD_TEXT}"),
            format!("local.get $i {}", WORD_TEXT.replacen("65280", "65281", 1)),
            "local.get $i i32.const 24 i32.shl".to_owned(),
        ] {
            let code = code(&text);
            assert_eq!(
                with_costs(&code, &NONE, None, NO_NOTES).unwrap().0,
                code,
                "{text}"
            );
        }
    }

    #[test]
    fn turned_numbers_are_the_same() {
        let module = |f: &str| {
            let text = format!(
                "(module (func (export \"f\") (param $w i64) (result i64) (local $i i32) {f}))"
            );
            wat::parse_str(text).unwrap()
        };
        let f = format!(
            "local.get $w i32.wrap_i64 local.tee $i {WORD_TEXT} i64.extend_i32_u
            local.get $w {WIDE_TEXT} i64.const 3 i64.mul i64.xor"
        );
        let module = module(&f);
        let mut changed = module[..8].to_vec();
        for payload in Parser::new(0).parse_all(&module) {
            let payload = payload.unwrap();
            let Some((id, range)) = payload.as_section() else {
                continue;
            };
            let mut data = module[range].to_vec();
            if let Payload::CodeSectionStart { .. } = payload {
                let (costed, _) = with_costs(&data, &NONE, None, NO_NOTES).unwrap();
                assert!(costed.len() < data.len());
                data = costed;
            }
            let data = &data;
            wasm_encoder::Section::append_to(&wasm_encoder::RawSection { id, data }, &mut changed);
        }
        let engine = wasmtime::Engine::default();
        let numbers = [0, 1, 0x0102_0304_8506_0788, u64::MAX - 7];
        let both = [&module, &changed];
        for (wasm, number) in both
            .iter()
            .flat_map(|wasm| numbers.map(|number| (wasm, number)))
        {
            let program = wasmtime::Module::new(&engine, wasm).unwrap();
            let mut store = wasmtime::Store::new(&engine, ());
            let instance = wasmtime::Instance::new(&mut store, &program, &[]).unwrap();
            let f = instance
                .get_typed_func::<u64, u64>(&mut store, "f")
                .unwrap();
            let word = u64::from((number as u32).swap_bytes());
            let wide = number.swap_bytes().wrapping_mul(3);
            assert_eq!(
                f.call(&mut store, number).unwrap(),
                word ^ wide,
                "{number:#x}"
            );
        }
    }

    const LOAD: &str = "i32.const 0 i32.load";

    #[test]
    fn a_turn_of_a_loop_that_only_waits_costs_more() {
        let nops = "nop ".repeat(POLL);
        for (before, after) in [
            (format!("loop $l {LOAD} i32.eqz"), "br_if $l end"),
            // It keeps what it has read, for after the loop or for itself.
            (
                format!("loop $l {LOAD} local.tee $i local.get $i i32.add"),
                "br_if $l end",
            ),
            (format!("block $b loop $l {LOAD} br_if $b"), "br $l end end"),
            ("loop $l i32.const 0 call $load".to_owned(), "br_if $l end"),
            // It counts its turns.
            (
                format!("loop $l local.get $w i64.const -1 i64.add local.set $w {LOAD}"),
                "br_if $l end",
            ),
            (
                format!("loop $l {LOAD} local.get $i i32.const 1 i32.add local.set $i"),
                "br_if $l end",
            ),
            // A loop around it has other costs.
            (
                format!("loop $o loop $l {LOAD}"),
                "br_if $l end i32.const 0 i32.const 1 i32.store br $o end",
            ),
        ] {
            let end = "i32.const 0";
            let expected = code(&format!("{before} {nops} {after} {end}"));
            let found = with_costs(
                &code(&format!("{before} {after} {end}")),
                &BTreeSet::from([2]),
                None,
                NO_NOTES,
            )
            .unwrap();
            assert_eq!(found.0, expected, "{before} {after}");
        }
    }

    #[test]
    fn a_loop_that_only_waits_says_so() {
        let says = Says {
            import: 1,
            begun: 1,
            turns: 2,
        };
        let nops = "nop ".repeat(POLL - 5);
        let before = code(&format!("loop $l {LOAD} br_if $l end i32.const 0"));
        let after = code(&format!(
            "global.get 1 i32.const 1 i32.add global.set 1 nop
            loop $l {LOAD}
                global.get 2 i32.const 1 i32.add global.set 2
                global.get 2 i32.const {} i32.and i32.eqz if global.get 1 call 1 end
                {nops} br_if $l
            end
            i32.const 0",
            TURNS - 1
        ));
        assert_eq!(
            with_costs(&before, &NONE, Some(says), NO_NOTES).unwrap().0,
            after
        );
    }

    #[test]
    fn a_loop_that_does_more_than_to_wait_costs_what_it_does() {
        for body in [
            // What it counts limits it, or is an address. It multiplies, writes or calls.
            format!("loop $l {LOAD} drop local.get $i i32.const 1 i32.add local.tee $i br_if $l end"),
            "loop $l local.get $i i32.load local.get $i i32.const 4 i32.add local.set $i br_if $l end".to_owned(),
            "loop $l local.get $i i32.const 4 i32.add local.set $i local.get $i i32.load br_if $l end".to_owned(),
            format!("loop $l local.get $i i32.const 3 i32.mul local.set $i {LOAD} br_if $l end"),
            format!("loop $l local.get $j i32.const 3 i32.add local.set $i local.get $i local.set $j {LOAD} br_if $l end"),
            format!("loop $l i32.const 0 local.get $i i32.store {LOAD} br_if $l end"),
            format!("loop $l call 1 {LOAD} br_if $l end"),
            format!("loop $l local.get $i nop global.set $g {LOAD} br_if $l end"),
            // Two ways go back.
            format!("loop $l {LOAD} br_if $l local.get $i br_if $l end"),
            // It does not go back at all.
            format!("loop $l {LOAD} drop end"),
        ] {
            let code = code(&format!("{body} i32.const 0"));
            assert_eq!(with_costs(&code, &BTreeSet::from([2]), None, NO_NOTES).unwrap().0, code, "{body}");
        }
    }

    #[test]
    fn what_fills_a_place_costs_nothing() {
        let (found, _) =
            with_costs(&code("nop local.get $v nop nop"), &NONE, None, NO_NOTES).unwrap();
        assert_eq!(found, code("local.get $v"));
    }

    #[test]
    fn a_program_notes_from_where_it_calls_the_machine() {
        let notes = Notes {
            imported: 1,
            place: 2,
        };
        let before = code("call 0 call 1 i32.const 0 call_indirect i32.const 0");
        let bodies = CodeSectionReader::new(BinaryReader::new(&before, 0)).unwrap();
        let first = bodies.into_iter().next().unwrap().unwrap();
        let mut operators = first
            .get_operators_reader()
            .unwrap()
            .into_iter_with_offsets();
        let (_, at) = operators.next().unwrap().unwrap();
        let after = code(&format!(
            "i32.const {at} global.set 2 call 0 call 1 i32.const 0 i32.const 0 global.set 2 call_indirect i32.const 0"
        ));
        assert_eq!(with_costs(&before, &NONE, None, notes).unwrap().0, after);
    }

    #[test]
    fn each_instruction_is_found_where_it_was() {
        let before = code("local.get $v local.get $v f32x4.add nop local.get $v f32x4.add");
        let (after, moved) = with_costs(&before, &NONE, None, NO_NOTES).unwrap();
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
