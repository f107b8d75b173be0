//! Programs that compute for long let others run: on this computer, by checks in their loops.
//!
//! The engine can check in each turn of each loop. But its check may call, and no vector stays in a
//! register during a call, so its register allocator keeps the variables of a loop on the stack
//! whether the call happens or not. Here the program itself saves what the loop uses, to globals:
//!
//! ```text
//!   loop            loop
//!     BODY    ─►      left = left - 1
//!   end               if left = 0
//!                       globals = the variables of BODY; check_slice; the variables = globals
//!                       left = TURNS
//!                     end
//!                     BODY
//!                   end
//! ```
//!
//! `left` is a local variable of the function. Functions with loops, and those that may call
//! themselves, count their calls in a global in the same way. So between two checks there are at
//! most [`TURNS`] times [`CALLS`] turns of loops.
//!
//! A loop that only waits until memory changes calls another import than `check_slice`, at its end:
//! [`CHECK_POLL`].

use std::collections::{BTreeSet, HashMap};

use wasm_encoder::{BlockType, Encode, ExportKind, Instruction};
use wasmparser::{
    BinaryReader, BinaryReaderError, CodeSectionReader, ExternalKind, FunctionBody, Operator,
    Parser, Payload, TypeRef, ValType,
};
use wasmtime::{Caller, Linker};

use super::costs::{Notes, Says, looks_by, polls};
use crate::format::LOAD_VOLATILE;

use super::link::{CALLED_FROM, Linked, ask, pass};
use super::stack::Moved;

/// The name of the import that lets others run.
const CHECK: &str = "check_slice";

/// The name of the import that does so in a loop which only waits until memory changes. It gets a
/// number that is another one when such a loop begins.
const CHECK_POLL: &str = "check_poll";

/// The turns of a function's loops between two checks.
const TURNS: i32 = 4_096;

/// The turns that a loop may take without a check, if their number is known.
const UNCHECKED: i32 = 1 << 16;

/// The calls of functions with loops between two checks.
const CALLS: i32 = 256;

/// Adds the import that checks, to the module of a side.
pub(super) fn add_to<S>(linker: &mut Linker<S>, side: &str) -> wasmtime::Result<()>
where
    S: Linked + Send + 'static,
{
    linker.func_wrap_async(side, CHECK, |mut caller: Caller<'_, S>, (): ()| {
        let is_over = caller.data_mut().slice().is_over();
        Box::new(async move {
            if is_over {
                pass(&mut caller).await;
            }
        })
    })?;
    linker.func_wrap_async(
        side,
        CHECK_POLL,
        |mut caller: Caller<'_, S>, (begun,): (u32,)| {
            // Where instructions are counted, the program calls after a number of turns. At its
            // start it calls without a loop, so that the import is there.
            let is_over = caller.get_fuel().is_ok() || caller.data_mut().slice().is_over();
            let is_over = is_over && begun != 0;
            Box::new(async move {
                if is_over {
                    ask(&mut caller, S::poll(begun)).await?;
                }
                Ok(())
            })
        },
    )?;
    Ok(())
}

/// The variables that are saved at most, because there are no more registers.
const SAVED_AT_ONCE: usize = 64;

/// The loops around a variable's use that are looked at.
const NESTED: usize = 8;

/// The loops in one another that a function has at most. The time to compile them grows with the
/// square of their number at least.
const NESTED_AT_MOST: usize = 1_000;

/// The types of the variables that are saved, with an instruction that makes one.
const SAVED: [(ValType, &[u8]); 5] = [
    (ValType::I32, &[0x41, 0]),
    (ValType::I64, &[0x42, 0]),
    (ValType::F32, &[0x43, 0, 0, 0, 0]),
    (ValType::F64, &[0x44, 0, 0, 0, 0, 0, 0, 0, 0]),
    (
        ValType::V128,
        &[0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ),
];

/// Why a module cannot have checks.
#[derive(Debug, thiserror::Error)]
pub(super) enum TurnsError {
    #[error("{0}")]
    Read(#[from] BinaryReaderError),
    #[error("it computes, and does not import the function that lets others run")]
    NoCheck,
    #[error(
        "{NESTED_AT_MOST} loops or more of a function are in one another, which takes too long to compile; split it into several functions"
    )]
    Nested,
}

/// The checks of a module.
#[derive(Default)]
pub(super) struct Turns {
    /// The types of the parameters of each type of function.
    types: Vec<Vec<ValType>>,
    /// The type of each function, those that are imported first.
    functions: Vec<u32>,
    imported: u32,
    /// The globals of the linker.
    globals: u32,
    check: Option<u32>,
    check_poll: Option<u32>,
    /// The functions that only look at memory.
    looks: BTreeSet<u32>,
    /// The largest number of variables of each type in [`SAVED`] that are saved at once.
    saved: [u32; SAVED.len()],
}

impl Turns {
    /// Finds what the checks of a module need.
    pub(super) fn of(module: &[u8]) -> Result<Self, TurnsError> {
        let mut turns = Self::default();
        let mut at = 0;
        let mut callees = Vec::new();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(types) => {
                    for function in types.into_iter_err_on_gc_types() {
                        turns.types.push(function?.params().to_vec());
                    }
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let import = import?;
                        let (TypeRef::Func(of) | TypeRef::FuncExact(of)) = import.ty else {
                            continue;
                        };
                        match import.name {
                            CHECK => turns.check = Some(turns.imported),
                            CHECK_POLL => turns.check_poll = Some(turns.imported),
                            _ => {}
                        }
                        turns.functions.push(of);
                        turns.imported += 1;
                    }
                    at = turns.imported;
                }
                Payload::FunctionSection(functions) => {
                    for of in functions {
                        turns.functions.push(of?);
                    }
                }
                Payload::GlobalSection(globals) => turns.globals = globals.count(),
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let export = export?;
                        if export.name == LOAD_VOLATILE && export.kind == ExternalKind::Func {
                            turns.looks.insert(export.index);
                        }
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    let function = turns.function(at, &body)?;
                    callees.extend(looks_by(&body)?.map(|callees| (at, callees)));
                    at += 1;
                    let loops = function.loops.iter().map(|one| &one.variables);
                    for variables in loops.chain([&function.parameters]) {
                        for (most, (kind, _)) in turns.saved.iter_mut().zip(SAVED) {
                            let count = variables
                                .iter()
                                .filter(|one| function.kind(**one) == Some(kind));
                            *most = (*most).max(count.count() as u32);
                        }
                    }
                }
                _ => {}
            }
        }
        // A function that calls only such functions is one.
        loop {
            let before = turns.looks.len();
            callees.retain(|(function, callees): &(u32, BTreeSet<u32>)| {
                let looks = callees.is_subset(&turns.looks);
                if looks {
                    turns.looks.insert(*function);
                }
                !looks
            });
            if turns.looks.len() == before {
                return Ok(turns);
            }
        }
    }

    /// Returns the functions that only look at memory.
    pub(super) fn looks(&self) -> &BTreeSet<u32> {
        &self.looks
    }

    /// Returns the parameters of the function with a number among those with code.
    pub(super) fn parameters(&self, index: u32) -> usize {
        let of = self.functions.get((self.imported + index) as usize);
        let parameters = of.and_then(|of| self.types.get(*of as usize));
        parameters.map_or(0, Vec::len)
    }

    /// Reads what a function needs.
    fn function(&self, index: u32, body: &FunctionBody<'_>) -> Result<Function, TurnsError> {
        let of = self.functions.get(index as usize);
        let parameters = of.and_then(|of| self.types.get(*of as usize));
        let mut function = Function::default();
        let mut end = 0_u32;
        for kind in parameters.into_iter().flatten() {
            end += 1;
            function.variables.push((end, *kind));
        }
        let parameters: BTreeSet<u32> = (0..end).collect();
        function.parameters = (0..end).take(SAVED_AT_ONCE).collect();
        for group in body.get_locals_reader()? {
            let (count, kind) = group?;
            end = end.saturating_add(count);
            function.variables.push((end, kind));
        }
        function.left = end;
        // Whether each block that is open is a loop, and the loops among them: looking for these in
        // all blocks would take a damaged program minutes.
        let (mut blocks, mut open): (Vec<bool>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut operators = body.get_operators_reader()?;
        let (mut changing, mut counts) = (parameters, Counts::default());
        while !operators.eof() {
            let (operator, at) = operators.read_with_offset()?;
            if let Some((index, turns)) = counts.next(&operator) {
                let one: &mut Loop = &mut function.loops[index];
                one.turns = Some(turns);
            }
            match operator {
                Operator::Loop { .. } => {
                    if open.len() + 1 >= NESTED_AT_MOST {
                        return Err(TurnsError::Nested);
                    }
                    blocks.push(true);
                    open.push(function.loops.len());
                    function.loops.push(Loop {
                        at,
                        begin: operators.original_position(),
                        ..Loop::default()
                    });
                }
                Operator::Block { .. }
                | Operator::If { .. }
                | Operator::Try { .. }
                | Operator::TryTable { .. } => blocks.push(false),
                Operator::End | Operator::Delegate { .. } => {
                    let was_loop = blocks.pop() == Some(true);
                    open.truncate(open.len() - usize::from(was_loop));
                }
                Operator::LocalGet { local_index } => {
                    for at in open.iter().rev().take(NESTED) {
                        let one: &mut Loop = &mut function.loops[*at];
                        if !one.set.contains(&local_index) {
                            one.variables.insert(local_index);
                        }
                    }
                }
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                    for at in open.iter().rev().take(NESTED) {
                        function.loops[*at].set.insert(local_index);
                    }
                    if !counts.was_constant() {
                        changing.insert(local_index);
                    }
                }
                // In each circle of calls, one goes to a function that is not behind.
                Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                    function.may_recur |= (self.imported..=index).contains(&function_index);
                }
                Operator::CallIndirect { .. }
                | Operator::ReturnCallIndirect { .. }
                | Operator::CallRef { .. }
                | Operator::ReturnCallRef { .. } => function.may_recur = true,
                _ => {}
            }
            counts.remember(operator);
        }
        for one in &mut function.loops {
            // Constants take no register.
            let variables = one.variables.intersection(&changing).take(SAVED_AT_ONCE);
            one.variables = variables.copied().collect();
        }
        Ok(function)
    }

    /// Returns how the program says that it polls, if it does: it may be of an older toolchain.
    pub(super) fn says(&self) -> Option<Says> {
        let saved: u32 = self.saved.iter().sum();
        Some(Says {
            import: self.check_poll?,
            begun: self.globals + 1 + saved,
            turns: self.globals,
        })
    }

    /// Returns how the program notes from where it calls the machine.
    pub(super) fn notes(&self) -> Notes {
        let saved: u32 = self.saved.iter().sum();
        Notes {
            imported: self.imported,
            place: self.globals + 2 + saved,
        }
    }

    /// Returns the contents of a section of exports with the global of the notes.
    pub(super) fn exports(&self, section: &[u8]) -> Result<Vec<u8>, TurnsError> {
        let mut reader = BinaryReader::new(section, 0);
        let exports = reader.read_var_u32()?;
        let mut new = Vec::new();
        exports.saturating_add(1).encode(&mut new);
        new.extend_from_slice(&section[reader.original_position()..]);
        CALLED_FROM.encode(&mut new);
        ExportKind::Global.encode(&mut new);
        self.notes().place.encode(&mut new);
        Ok(new)
    }

    /// Returns the contents of a section of globals with those of the checks behind the others: the
    /// calls that are left, those in which variables are saved, how often loops that only wait have
    /// begun, and from where the machine was called.
    pub(super) fn globals(&self, section: &[u8]) -> Result<Vec<u8>, TurnsError> {
        let mut reader = BinaryReader::new(section, 0);
        let globals = reader.read_var_u32()?;
        let saved: u32 = self.saved.iter().sum();
        let mut new = Vec::new();
        globals.saturating_add(3 + saved).encode(&mut new);
        new.extend_from_slice(&section[reader.original_position()..]);
        let mut calls = Vec::new();
        Instruction::I32Const(CALLS).encode(&mut calls);
        let mut global = |kind: ValType, value: &[u8]| {
            new.push(byte_of(kind));
            new.push(0x01); // mutable
            new.extend_from_slice(value);
            Instruction::End.encode(&mut new);
        };
        global(ValType::I32, &calls);
        for ((kind, zero), count) in SAVED.into_iter().zip(self.saved) {
            (0..count).for_each(|_| global(kind, zero));
        }
        let (word, zero) = SAVED[0];
        (0..2).for_each(|_| global(word, zero));
        Ok(new)
    }

    /// Returns the contents of a code section with checks, and where the code was before.
    pub(super) fn insert(&self, code: &[u8]) -> Result<(Vec<u8>, Moved), TurnsError> {
        let bodies = CodeSectionReader::new(BinaryReader::new(code, 0))?;
        let (mut new, mut moved) = (Vec::new(), Moved::default());
        bodies.count().encode(&mut new);
        for (index, body) in (self.imported..).zip(bodies) {
            let body = body?;
            let range = body.range();
            let mut out = Rewritten {
                code,
                bytes: Vec::new(),
                pieces: Vec::new(),
                from: range.start,
            };
            let function = self.function(index, &body)?;
            if function.may_recur || !function.loops.is_empty() {
                self.checks_of(&function, &body, &mut out)?;
            }
            out.copy_to(range.end);
            let Rewritten { bytes, pieces, .. } = out;
            bytes.len().encode(&mut new);
            moved.extend(pieces.iter().map(|(at, old)| (new.len() + at, *old)));
            new.extend_from_slice(&bytes);
        }
        Ok((new, moved))
    }

    /// Writes a function with its checks, up to the last one.
    fn checks_of(
        &self,
        function: &Function,
        body: &FunctionBody<'_>,
        out: &mut Rewritten<'_>,
    ) -> Result<(), TurnsError> {
        let check = self.check.ok_or(TurnsError::NoCheck)?;
        let says = self.says();
        let polls = polls(body, &self.looks)?;
        let calls = self.globals;
        let left = function.left;
        let mut locals = body.get_binary_reader();
        let groups = locals.read_var_u32()?;
        groups.saturating_add(1).encode(&mut out.bytes);
        out.from = locals.original_position();
        out.copy_to(body.get_operators_reader()?.original_position());
        out.bytes.extend([1, byte_of(ValType::I32)]);

        out.write(&[
            Instruction::GlobalGet(calls),
            Instruction::I32Const(1),
            Instruction::I32Sub,
            Instruction::LocalTee(left),
            Instruction::GlobalSet(calls),
            Instruction::LocalGet(left),
            Instruction::I32Eqz,
            Instruction::If(BlockType::Empty),
        ]);
        self.check(
            &[Instruction::Call(check)],
            function,
            &function.parameters,
            out,
        );
        out.write(&[
            Instruction::I32Const(CALLS),
            Instruction::GlobalSet(calls),
            Instruction::End,
            Instruction::I32Const(TURNS),
            Instruction::LocalSet(left),
        ]);
        for one in &function.loops {
            if let Some(turns) = one.turns {
                out.copy_to(one.at);
                out.write(&[
                    Instruction::LocalGet(left),
                    Instruction::I32Const(turns),
                    Instruction::I32Sub,
                    Instruction::LocalSet(left),
                ]);
                continue;
            }
            let (mut at, mut checks) = (one.begin, vec![Instruction::Call(check)]);
            if let (Some(says), Some(goes_back)) = (says, polls.get(&one.at)) {
                out.copy_to(one.at);
                out.write(&says.begins());
                (at, checks) = (*goes_back, says.polls().to_vec());
            }
            out.copy_to(at);
            out.write(&[
                Instruction::LocalGet(left),
                Instruction::I32Const(1),
                Instruction::I32Sub,
                Instruction::LocalTee(left),
                Instruction::I32Const(0),
                Instruction::I32LeS,
                Instruction::If(BlockType::Empty),
            ]);
            self.check(&checks, function, &one.variables, out);
            out.write(&[
                Instruction::I32Const(TURNS),
                Instruction::LocalSet(left),
                Instruction::End,
            ]);
        }
        Ok(())
    }

    /// Writes a call of the check, during which variables are in globals.
    fn check(
        &self,
        check: &[Instruction<'_>],
        function: &Function,
        variables: &BTreeSet<u32>,
        out: &mut Rewritten<'_>,
    ) {
        let mut first = self.globals + 1;
        let mut pairs = Vec::new();
        for ((kind, _), count) in SAVED.into_iter().zip(self.saved) {
            let of_kind = variables
                .iter()
                .filter(|one| function.kind(**one) == Some(kind));
            pairs.extend((first..first + count).zip(of_kind.copied()));
            first += count;
        }
        for &(global, variable) in &pairs {
            out.write(&[
                Instruction::LocalGet(variable),
                Instruction::GlobalSet(global),
            ]);
        }
        out.write(check);
        for &(global, variable) in &pairs {
            out.write(&[
                Instruction::GlobalGet(global),
                Instruction::LocalSet(variable),
            ]);
        }
    }
}

/// Returns the byte that stands for a type of [`SAVED`].
fn byte_of(kind: ValType) -> u8 {
    match kind {
        ValType::I32 => 0x7f,
        ValType::I64 => 0x7e,
        ValType::F32 => 0x7d,
        ValType::F64 => 0x7c,
        _ => 0x7b,
    }
}

/// What checks need of a function.
#[derive(Default)]
struct Function {
    /// The types of the variables, and the number of the first variable behind those of a type.
    variables: Vec<(u32, ValType)>,
    parameters: BTreeSet<u32>,
    /// The variable that counts, behind all others.
    left: u32,
    /// In the order in which they begin.
    loops: Vec<Loop>,
    may_recur: bool,
}

impl Function {
    fn kind(&self, variable: u32) -> Option<ValType> {
        let at = self.variables.partition_point(|(end, _)| *end <= variable);
        self.variables.get(at).map(|(_, kind)| *kind)
    }
}

#[derive(Default)]
struct Loop {
    /// Where it begins.
    at: usize,
    /// Where its body begins.
    begin: usize,
    /// What the body sets before it uses it, or later.
    set: BTreeSet<u32>,
    /// What the body uses before it sets it.
    variables: BTreeSet<u32>,
    /// The number of its turns, if it is known to be small.
    turns: Option<i32>,
}

/// A variable at the start of a turn of a loop, and a number that is added to it.
type Sum = (u32, i32);

/// Finds the loops that take a known number of turns: they have no other loop or call in them, and
/// only their last instruction goes back, unless a variable has got a certain value.
#[derive(Default)]
struct Counts {
    /// The last instructions, the newest first.
    last: [Option<Op>; 4],
    /// The variables that are constant since the last place where ways meet.
    constants: HashMap<u32, i32>,
    /// The number of loops.
    loops: usize,
    /// The loop in which the instructions are, if it may be one with a known number of turns.
    open: Option<Open>,
}

/// What matters of an instruction here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Get(u32),
    Tee(u32),
    Const(i32),
    OtherConst,
    Add,
    Sub,
    NotEqual,
    Other,
}

struct Open {
    index: usize,
    /// The blocks that are open in it.
    depth: u32,
    /// Its turns, if the instruction that goes back says so.
    turns: Option<i32>,
    /// The variables that were constant before it.
    before: HashMap<u32, i32>,
    /// What has become of variables in this turn, if that is known.
    now: HashMap<u32, Option<Sum>>,
}

impl Open {
    fn sum(&self, variable: u32) -> Option<Sum> {
        *self.now.get(&variable).unwrap_or(&Some((variable, 0)))
    }
}

impl Counts {
    fn was_constant(&self) -> bool {
        matches!(self.last[0], Some(Op::Const(_) | Op::OtherConst))
    }

    fn remember(&mut self, operator: Operator<'_>) {
        let op = match operator {
            Operator::LocalGet { local_index } => Op::Get(local_index),
            Operator::LocalTee { local_index } => Op::Tee(local_index),
            Operator::I32Const { value } => Op::Const(value),
            Operator::I64Const { .. }
            | Operator::F32Const { .. }
            | Operator::F64Const { .. }
            | Operator::V128Const { .. } => Op::OtherConst,
            Operator::I32Add => Op::Add,
            Operator::I32Sub => Op::Sub,
            Operator::I32Ne => Op::NotEqual,
            _ => Op::Other,
        };
        self.last.rotate_right(1);
        self.last[0] = Some(op);
    }

    /// Notes the next instruction. Returns the loop that ends with it, and the number of its turns,
    /// if it is known and small.
    fn next(&mut self, operator: &Operator<'_>) -> Option<(usize, i32)> {
        match operator {
            Operator::Loop { .. } => {
                self.open = Some(Open {
                    index: self.loops,
                    depth: 0,
                    turns: None,
                    before: std::mem::take(&mut self.constants),
                    now: HashMap::new(),
                });
                self.loops += 1;
            }
            Operator::Block { .. } | Operator::If { .. } => {
                if let Some(open) = &mut self.open {
                    open.depth += 1;
                }
            }
            Operator::Else => self.constants.clear(),
            Operator::End => {
                self.constants.clear();
                let mut open = self.open.take()?;
                match open.depth.checked_sub(1) {
                    Some(depth) => {
                        open.depth = depth;
                        self.open = Some(open);
                    }
                    None => return open.turns.map(|turns| (open.index, turns)),
                }
            }
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                self.set(*local_index);
            }
            Operator::BrIf { relative_depth } => {
                let mut open = self.open.take()?;
                let goes_back = open.depth == *relative_depth;
                if goes_back && open.turns.is_none() && open.depth == 0 {
                    open.turns = self.turns(&open);
                    self.open = Some(open).filter(|open| open.turns.is_some());
                } else if !goes_back {
                    self.open = Some(open);
                }
            }
            Operator::Br { relative_depth } => {
                self.open.take_if(|open| open.depth == *relative_depth);
            }
            Operator::BrTable { .. }
            | Operator::Call { .. }
            | Operator::CallIndirect { .. }
            | Operator::Try { .. }
            | Operator::TryTable { .. } => self.open = None,
            _ => {}
        }
        None
    }

    /// Notes that a variable gets the value of the last instruction.
    fn set(&mut self, variable: u32) {
        match self.last[0] {
            Some(Op::Const(value)) => self.constants.insert(variable, value),
            _ => self.constants.remove(&variable),
        };
        let last = self.last;
        let Some(open) = &mut self.open else { return };
        let sum = match last {
            [Some(Op::Get(from) | Op::Tee(from)), ..] => open.sum(from),
            [
                Some(sign @ (Op::Add | Op::Sub)),
                Some(Op::Const(by)),
                Some(Op::Get(from) | Op::Tee(from)),
                _,
            ] => {
                let by = if sign == Op::Add {
                    by
                } else {
                    by.wrapping_neg()
                };
                open.sum(from).map(|(of, sum)| (of, sum.wrapping_add(by)))
            }
            _ => None,
        };
        let is_sure = open.depth == 0;
        open.now.insert(variable, sum.filter(|_| is_sure));
    }

    /// Returns the turns of a loop that goes back now if the last instruction's value is not 0.
    fn turns(&self, open: &Open) -> Option<i32> {
        let (variable, end) = match self.last {
            [Some(Op::Get(variable) | Op::Tee(variable)), ..] => (variable, 0),
            [
                Some(Op::NotEqual),
                Some(Op::Const(end)),
                Some(Op::Get(variable) | Op::Tee(variable)),
                _,
            ] => (variable, end),
            _ => return None,
        };
        let (counter, added) = open.sum(variable)?;
        let (of, step) = open.sum(counter)?;
        let begin = *open.before.get(&counter)?;
        let way = end.wrapping_sub(added).wrapping_sub(begin);
        let is_exact = of == counter && step != 0 && way.checked_rem(step) == Some(0);
        let turns = way.checked_div(step).filter(|_| is_exact)?;
        (0..UNCHECKED).contains(&turns).then_some(turns + 1)
    }
}

/// A function that is written again.
struct Rewritten<'c> {
    /// The section that has it.
    code: &'c [u8],
    bytes: Vec<u8>,
    /// Where pieces begin in `bytes`, and where they were in `code`.
    pieces: Vec<(usize, usize)>,
    /// What has been copied ends here.
    from: usize,
}

impl Rewritten<'_> {
    /// Copies the code up to `to`.
    fn copy_to(&mut self, to: usize) {
        self.pieces.push((self.bytes.len(), self.from));
        self.bytes.extend_from_slice(&self.code[self.from..to]);
        self.from = to;
    }

    /// Writes instructions that are not in `code`. They belong to what was copied last.
    fn write(&mut self, instructions: &[Instruction<'_>]) {
        for instruction in instructions {
            instruction.encode(&mut self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use wasm_encoder::{RawSection, Section};
    use wasmtime::{Engine, Instance, Module, Store};

    use super::*;

    /// Returns a module with its checks, and where its code was.
    fn with_checks(module: &[u8]) -> (Vec<u8>, Moved) {
        let turns = Turns::of(module).unwrap();
        let (mut new, mut moved) = (module[..8].to_vec(), Moved::default());
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload.unwrap();
            let Some((id, range)) = payload.as_section() else {
                continue;
            };
            let mut section = Cow::Borrowed(&module[range]);
            match payload {
                Payload::GlobalSection(_) => {
                    section = Cow::Owned(turns.globals(&section).unwrap());
                }
                Payload::CodeSectionStart { .. } => {
                    let (code, by_turns) = turns.insert(&section).unwrap();
                    (section, moved) = (Cow::Owned(code), by_turns);
                }
                _ => {}
            }
            let data = &section;
            RawSection { id, data }.append_to(&mut new);
        }
        (new, moved)
    }

    /// Returns a module with the function `f`, and a global and the import of programs.
    fn module(functions: &str) -> Vec<u8> {
        let text = format!(
            "(module (import \"spu\" \"check_slice\" (func $check))
                (global $other (mut i32) (i32.const 5)) {functions})"
        );
        wat::parse_str(text).unwrap()
    }

    /// Calls `f` of a module, and returns its result and the number of checks.
    fn called(module: &[u8], argument: i32) -> (i64, u32) {
        let engine = Engine::default();
        let module = Module::new(&engine, module).unwrap();
        let mut store = Store::new(&engine, 0_u32);
        let check = wasmtime::Func::wrap(&mut store, |mut caller: Caller<'_, u32>| {
            *caller.data_mut() += 1;
        });
        let instance = Instance::new(&mut store, &module, &[check.into()]).unwrap();
        let f = instance
            .get_typed_func::<i32, i64>(&mut store, "f")
            .unwrap();
        let result = f.call(&mut store, argument).unwrap();
        (result, store.into_data())
    }

    #[test]
    fn functions_that_only_look_at_memory_are_found_through_their_calls() {
        let text = r#"(module
            (import "spu" "check_slice" (func $check))
            (memory 1)
            (func $three (call $two))
            (func $two (call $one) (call $one))
            (func $one (drop (i32.load (i32.const 0))))
            (func $stores (i32.store (i32.const 0) (i32.const 1)))
            (func $asks (call $check))
            (func $by_others (call $one) (call $stores))
            (func $by_itself (call $by_itself))
            (func $registers (export "__cell_load_volatile") (call $check))
            (func $by_registers (call $registers)))"#;
        let turns = Turns::of(&wat::parse_str(text).unwrap()).unwrap();
        assert_eq!(turns.looks(), &BTreeSet::from([1, 2, 3, 8, 9]));
    }

    #[test]
    fn loops_in_one_another_have_a_limit() {
        let nested = |loops: usize| {
            let (begin, end) = ("(loop ".repeat(loops), ")".repeat(loops));
            Turns::of(&module(&format!("(func {begin}{end})")))
        };
        assert!(nested(NESTED_AT_MOST - 1).is_ok());
        let said = nested(NESTED_AT_MOST).err().unwrap().to_string();
        assert!(
            said.starts_with("1000 loops or more of a function"),
            "{said}"
        );
    }

    /// A loop of `$n` turns over variables of each type, and a function that calls itself.
    const PROGRAM: &str = r#"
        (func $all (export "f") (param $n i32) (result i64)
            (local $sum i64) (local $f f32) (local $d f64) (local $v v128) (local $c v128) (local $k i32)
            v128.const i32x4 1 2 3 4  local.set $c
            block $done
                loop $again
                    local.get $n  i32.eqz  br_if $done
                    local.get $v  local.get $c  i32x4.add  local.set $v
                    local.get $f  f32.const 0.5  f32.add  local.set $f
                    local.get $d  f64.const 0.25  f64.add  local.set $d
                    block $b block $a
                        local.get $n  i32.const 3  i32.and  br_table $a $b $a $b
                    end
                        local.get $sum  i64.const 3  i64.add  local.set $sum
                    end
                    i32.const -3  local.set $k
                    loop $inner
                        local.get $sum  i64.const 7  i64.add  local.set $sum
                        local.get $k  i32.const 1  i32.add  local.tee $k  br_if $inner
                    end
                    local.get $n  i32.const 1  i32.sub  local.set $n
                    br $again
                end
            end
            local.get $sum
            local.get $v  i32x4.extract_lane 2  i64.extend_i32_s  i64.add
            local.get $f  i64.trunc_f32_s  i64.add
            local.get $d  i64.trunc_f64_s  i64.add
            i32.const 20  call $fibonacci  i64.extend_i32_s  i64.add)
        (func $fibonacci (param $n i32) (result i32)
            local.get $n  i32.const 2  i32.lt_s
            if (result i32)
                local.get $n
            else
                local.get $n  i32.const 1  i32.sub  call $fibonacci
                local.get $n  i32.const 2  i32.sub  call $fibonacci
                i32.add
            end)"#;

    #[test]
    fn a_program_computes_the_same_with_checks() {
        let before = module(PROGRAM);
        let (after, _) = with_checks(&before);
        // 6,765 for the function that calls itself, and 21,891 calls of it.
        let by_calls = 21_891 / CALLS as u32;
        for (turns, checks) in [(0, 0), (1, 0), (2_000, 1), (100_000, 97)] {
            let (result, none) = called(&before, turns);
            assert_eq!(none, 0);
            let (same, found) = called(&after, turns);
            assert_eq!(same, result);
            // Each turn counts for itself and for the three of the loop in it.
            assert!(found.abs_diff(by_calls + checks) <= 1, "{turns}: {found}");
        }
    }

    /// Returns the turns that are known of the first loop of a function.
    fn turns_of(text: &str) -> Option<i32> {
        let function = format!(
            "(func (export \"f\") (param $n i32) (result i64) (local $i i32) (local $j i32) {text} i64.const 0)"
        );
        let module = module(&function);
        let turns = Turns::of(&module).unwrap();
        let mut found = None;
        for payload in Parser::new(0).parse_all(&module) {
            if let Payload::CodeSectionEntry(body) = payload.unwrap() {
                found = turns.function(1, &body).unwrap().loops[0].turns;
            }
        }
        // What is known is true: only the checks of `f` itself are left, of which there is none.
        if found.is_some() {
            assert_eq!(called(&with_checks(&module).0, 0).1, 0);
        }
        found
    }

    const UP: &str = "local.get $i i32.const 1 i32.add local.tee $i";

    #[test]
    fn a_loop_with_a_known_number_of_turns_is_known() {
        for (text, turns) in [
            (
                format!("i32.const -9 local.set $i loop $l {UP} br_if $l end"),
                9,
            ),
            (
                format!("i32.const 3 local.set $i loop $l {UP} i32.const 10 i32.ne br_if $l end"),
                7,
            ),
            (
                format!(
                    "i32.const 0 local.set $i block loop $l {UP} i32.const 5 i32.ne br_if $l end end"
                ),
                5,
            ),
        ] {
            assert_eq!(turns_of(&text), Some(turns), "{text}");
        }
        // The value of the last turn decides, and steps are larger than 1.
        let old = "i32.const 0 local.set $i loop $l local.get $i i32.const 4 i32.add local.set $j
            local.get $i local.set $n local.get $j local.set $i local.get $n i32.const 12 i32.ne br_if $l end";
        assert_eq!(turns_of(old), Some(4));
    }

    #[test]
    fn a_loop_whose_turns_are_not_known_has_checks() {
        for text in [
            // It begins with a number that is not known, or not on each way.
            format!("local.get $n local.set $i loop $l {UP} br_if $l end"),
            format!("i32.const 3 local.set $i block local.get $n br_if 0 i32.const -9 local.set $i end loop $l {UP} br_if $l end"),
            // It takes too many turns, or steps over the end.
            format!("i32.const -70000 local.set $i loop $l {UP} br_if $l end"),
            "i32.const 1 local.set $i loop $l local.get $i i32.const 2 i32.add local.tee $i i32.const 10 i32.ne br_if $l end".to_owned(),
            // The counter changes in between, or not in each turn.
            format!("i32.const -9 local.set $i loop $l {UP} i32.const -5 local.set $i br_if $l end"),
            format!("i32.const -9 local.set $i loop $l local.get $n if {UP} drop end local.get $i br_if $l end"),
            // It goes back from other places.
            format!("i32.const -9 local.set $i loop $l {UP} br_if $l local.get $n br_if $l end"),
            format!("i32.const -9 local.set $i loop $l block local.get $n br_if $l end {UP} br_if $l end"),
            format!("i32.const -9 local.set $i loop $l local.get $n if br $l end {UP} br_if $l end"),
            format!("i32.const -9 local.set $i loop $l block local.get $n br_table $l 0 end {UP} br_if $l end"),
            // A loop or a call in it takes its own time.
            format!("i32.const -9 local.set $i loop $l loop $m local.get $n br_if $m end {UP} br_if $l end"),
            format!("i32.const -9 local.set $i loop $l call $check {UP} br_if $l end"),
        ] {
            assert_eq!(turns_of(&text), None, "{text}");
        }
    }

    #[test]
    fn a_loop_saves_what_it_uses_and_what_is_not_constant() {
        let before = r#"
            (func (export "f") (param $n i32) (result i64)
                (local $x f32) (local $c f32) (local $temporary i32)
                f32.const 2 local.set $c
                loop $l
                    local.get $n i32.const 1 i32.sub local.tee $temporary local.set $n
                    local.get $x local.get $c f32.add local.set $x
                    local.get $n br_if $l
                end
                i64.const 0)"#;
        let after = format!(
            r#"(global $calls (mut i32) (i32.const {CALLS})) (global $i (mut i32) (i32.const 0))
            (global $f (mut f32) (f32.const 0)) (global $begun (mut i32) (i32.const 0))
            (global $called_from (mut i32) (i32.const 0))
            (func (export "f") (param $n i32) (result i64)
                (local $x f32) (local $c f32) (local $temporary i32) (local $left i32)
                global.get $calls i32.const 1 i32.sub local.tee $left global.set $calls
                local.get $left i32.eqz
                if
                    local.get $n global.set $i
                    call $check
                    global.get $i local.set $n
                    i32.const {CALLS} global.set $calls
                end
                i32.const {TURNS} local.set $left
                f32.const 2 local.set $c
                loop $l
                    local.get $left i32.const 1 i32.sub local.tee $left i32.const 0 i32.le_s
                    if
                        local.get $n global.set $i  local.get $x global.set $f
                        call $check
                        global.get $i local.set $n  global.get $f local.set $x
                        i32.const {TURNS} local.set $left
                    end
                    local.get $n i32.const 1 i32.sub local.tee $temporary local.set $n
                    local.get $x local.get $c f32.add local.set $x
                    local.get $n br_if $l
                end
                i64.const 0)"#
        );
        let print = |module: &[u8]| -> Vec<String> {
            let mut operators = Vec::new();
            for payload in Parser::new(0).parse_all(module) {
                match payload.unwrap() {
                    Payload::CodeSectionEntry(body) => operators.extend(
                        body.get_operators_reader()
                            .unwrap()
                            .into_iter()
                            .map(|operator| format!("{:?}", operator.unwrap())),
                    ),
                    Payload::GlobalSection(globals) => operators.extend(
                        globals
                            .into_iter()
                            .map(|global| format!("{:?}", global.unwrap().ty)),
                    ),
                    _ => {}
                }
            }
            operators
        };
        assert_eq!(
            print(&with_checks(&module(before)).0),
            print(&module(&after))
        );
    }

    #[test]
    fn a_loop_that_only_waits_says_which_one_it_is() {
        let module = wat::parse_str(
            r#"(module
                (import "spu" "check_slice" (func)) (import "spu" "check_poll" (func (param i32)))
                (memory (export "memory") 1) (global (mut i32) (i32.const 5))
                (func (export "f") loop $l i32.const 0 i32.load i32.eqz br_if $l end))"#,
        );
        let (module, _) = with_checks(&module.unwrap());
        let engine = Engine::default();
        let module = Module::new(&engine, module).unwrap();
        let mut store = Store::new(&engine, Vec::new());
        let check = wasmtime::Func::wrap(&mut store, || {});
        // What the loop waits for comes with each third poll.
        let poll = |mut caller: Caller<'_, Vec<u32>>, begun: u32| {
            caller.data_mut().push(begun);
            let is_over = caller.data().len().is_multiple_of(3);
            let memory = caller.get_export("memory").unwrap().into_memory().unwrap();
            memory.write(&mut caller, 0, &[u8::from(is_over)]).unwrap();
        };
        let poll = wasmtime::Func::wrap(&mut store, poll);
        let instance = Instance::new(&mut store, &module, &[check.into(), poll.into()]).unwrap();
        let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
        f.call(&mut store, ()).unwrap();
        instance
            .get_memory(&mut store, "memory")
            .unwrap()
            .write(&mut store, 0, &[0])
            .unwrap();
        f.call(&mut store, ()).unwrap();
        assert_eq!(store.into_data(), [1, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn each_instruction_is_found_where_it_was() {
        let before = module(
            r#"(func (export "f") (param $n i32) (result i64)
                nop loop $l nop local.get $n i32.const 1 i32.sub local.tee $n br_if $l end nop i64.const 0)
            (func nop)"#,
        );
        let (after, moved) = with_checks(&before);
        let nops = |module: &[u8]| -> Vec<usize> {
            let (mut found, mut begin) = (Vec::new(), 0);
            for payload in Parser::new(0).parse_all(module) {
                match payload.unwrap() {
                    Payload::CodeSectionStart { range, .. } => begin = range.start,
                    Payload::CodeSectionEntry(body) => {
                        let operators = body.get_operators_reader().unwrap();
                        let operators = operators.into_iter_with_offsets().map(Result::unwrap);
                        found.extend(operators.filter_map(|(operator, at)| {
                            matches!(operator, Operator::Nop).then_some(at - begin)
                        }));
                    }
                    _ => {}
                }
            }
            found
        };
        let found: Vec<usize> = nops(&after).iter().map(|at| moved.old(*at)).collect();
        assert_eq!(found, nops(&before));
        assert_ne!(nops(&after), nops(&before));
    }

    #[test]
    fn a_loop_needs_the_import() {
        let module = |function: &str| {
            let text = format!("(module (global (mut i32) (i32.const 0)) (func {function}))");
            let module = wat::parse_str(text).unwrap();
            let turns = Turns::of(&module).unwrap();
            Parser::new(0)
                .parse_all(&module)
                .find_map(|payload| match payload.unwrap() {
                    Payload::CodeSectionStart { range, .. } => Some(turns.insert(&module[range])),
                    _ => None,
                })
                .unwrap()
                .map(|(code, _)| code)
                .map_err(|error| error.to_string())
        };
        let error = module("loop br 0 end").unwrap_err();
        assert!(error.contains("does not import"), "{error}");
        assert!(module("call 0").unwrap_err().contains("does not import"));
        assert!(module("nop").is_ok());
    }
}
