//! The body of a function: what its instructions read from memory and write to it is turned round.

use std::collections::{HashMap, HashSet};

use crate::emit::Output;
use crate::refusal::Refusal;
use crate::text::{Rest, Type, debug, name_at, names};
use crate::{assembler, data};

/// Instructions that only compute or jump, whatever the order of bytes is.
const NEUTRAL: &[&str] = &[
    "add",
    "alloca",
    "and",
    "ashr",
    "br",
    "extractelement",
    "extractvalue",
    "fadd",
    "fcmp",
    "fdiv",
    "fmul",
    "fneg",
    "fpext",
    "fptosi",
    "fptoui",
    "fptrunc",
    "freeze",
    "frem",
    "fsub",
    "getelementptr",
    "icmp",
    "indirectbr",
    "insertelement",
    "insertvalue",
    "inttoptr",
    "landingpad",
    "lshr",
    "mul",
    "or",
    "phi",
    "ptrtoint",
    "resume",
    "ret",
    "sdiv",
    "select",
    "sext",
    "shl",
    "shufflevector",
    "sitofp",
    "srem",
    "sub",
    "switch",
    "trunc",
    "udiv",
    "uitofp",
    "unreachable",
    "urem",
    "xor",
    "zext",
];

/// Intrinsic functions that take pointers and touch no value wider than a byte.
const BYTEWISE: &[&str] = &[
    "annotation",
    "assume",
    "eh.typeid.for",
    "frameaddress",
    "invariant",
    "is.constant",
    "launder",
    "lifetime",
    "memcpy",
    "memmove",
    "memset",
    "objectsize",
    "prefetch",
    "ptrmask",
    "returnaddress",
    "stackrestore",
    "stacksave",
    "strip",
    "va_copy",
    "va_end",
];

/// Functions of the C library that write numbers and addresses through a pointer. The optimiser
/// knows them, and would write the result itself, in the order of WebAssembly.
const WRITERS: &[&str] = &["frexp", "modf", "remquo", "sincos", "strto"];

/// Functions that end the program. The optimiser must not make one call of several, because the
/// line of such a call is reported.
const ENDS: &[&str] = &["@abort", "@llvm.trap"];

/// Intrinsic functions for which the code generator calls such a function.
const WRITERS_INSIDE: &[&str] = &["frexp.", "modf.", "sincos"];

/// The parameters that a function with `...` has in front of them. Without a prototype, a call
/// passes no float, so the linker and the engine see that the types differ. Nothing else than a
/// vector is a number of 128 bits to the code generator, so it makes a trap of other such calls.
pub(crate) const MARK: [&str; 2] = ["i128", "float"];

/// The same in the definition of a function, which does not use them.
pub(crate) const NAMED_MARK: [&str; 2] = ["i128 %cellworks.mark0", "float %cellworks.mark1"];

/// The number of the first function that a program takes the address of, for `--table-base` of the
/// linker. It is no round number, because wrong addresses often are.
pub const FUNCTIONS_FROM: u32 = 4099;

/// Metadata that says something about the value of a load, which is not the value that is read now.
const OF_VALUE: &[&str] = &[
    "!align ",
    "!dereferenceable ",
    "!dereferenceable_or_null ",
    "!nofpclass ",
    "!nonnull ",
    "!noundef ",
    "!range ",
];

/// The local variables of a function that the code generator can keep in registers.
///
/// They are numbers, pointers and vectors that are only read and written whole, so the program
/// cannot see the order of their bytes.
pub(crate) fn private_variables<'a>(body: &[&'a str]) -> HashSet<&'a str> {
    let mut private = HashMap::new();
    for line in body {
        if let Some((name, ty)) = variable(line) {
            private.insert(name, ty);
        }
    }
    for line in body {
        let whole = variable(line)
            .map(|(name, _)| name)
            .or_else(|| whole_access(line, &private))
            .or_else(|| lifetime(line));
        if line.trim_start().starts_with("#dbg_") {
            continue;
        }
        for (_, name) in names(line, '%') {
            if whole != Some(name) {
                private.remove(name);
            }
        }
    }
    private.into_keys().collect()
}

/// Returns the name and type of the variable that a line makes.
fn variable(line: &str) -> Option<(&str, Type)> {
    let mut rest = Rest(line);
    let name = rest.name()?;
    rest.expect("=")?;
    rest.eat_word("alloca").then_some(())?;
    let ty = rest.ty()?;
    ty.integer()?;
    rest.expect(", align")?;
    Some((name, ty))
}

/// Returns the variable that a line reads or writes whole, if its name stands nowhere else in it.
fn whole_access<'a>(line: &'a str, variables: &HashMap<&str, Type>) -> Option<&'a str> {
    let mut rest = Rest(line);
    let (_, ty) = rest.access()?;
    rest.expect(", ptr ")?;
    let name = rest.name()?;
    let once = names(line, '%').filter(|(_, other)| *other == name).count() == 1;
    (once && variables.get(name) == Some(&ty)).then_some(name)
}

/// Returns the variable whose life a line begins or ends.
fn lifetime(line: &str) -> Option<&str> {
    let at = line.find("call void @llvm.lifetime.")?;
    names(&line[at..], '%').next().map(|(_, name)| name)
}

/// The translation of one function.
pub(crate) struct Function<'a> {
    pub(crate) types: &'a HashMap<&'a str, Type>,
    /// The variables of which each thread has its own.
    pub(crate) thread_locals: &'a HashMap<&'a str, Type>,
    pub(crate) private: HashSet<&'a str>,
    /// Whether volatile words may be registers.
    pub(crate) has_registers: bool,
    /// Whether each access of memory happens where the program says, as without optimisation.
    pub(crate) is_unoptimised: bool,
}

impl Function<'_> {
    /// Writes one instruction.
    pub(crate) fn instruction(&self, line: &str, out: &mut Output) -> Result<(), Refusal> {
        let line = &*data::without_casts(line).ok_or(Refusal::Form)?;
        let mut rest = Rest(line);
        let result = rest.name();
        if result.is_some() {
            rest.expect("=").ok_or(Refusal::Form)?;
        }
        let done = match (rest.word(), result) {
            ("load", Some(result)) => self.load(line, result, rest, out),
            ("store", None) => self.store(line, rest, out),
            ("bitcast", Some(result)) => bitcast(line, result, rest, out),
            ("atomicrmw", Some(result)) => atomic_operation(result, rest, out),
            ("cmpxchg", Some(result)) => compare_and_swap(result, rest, out),
            ("fence", None) => {
                out.barrier();
                Some(())
            }
            (_, Some(result)) if line.contains("@llvm.threadlocal.address.") => {
                self.thread_local(line, result, out)
            }
            ("tail" | "musttail" | "notail" | "call" | "invoke", _) => return call(line, out),
            ("and", Some(result)) if let Some(pointer) = pointer_to_member(line, &out.text) => {
                is_virtual(result, &pointer, out);
                Some(())
            }
            (word, _) if NEUTRAL.contains(&word) => {
                out.line(line);
                Some(())
            }
            _ => None,
        };
        done.ok_or(Refusal::Form)
    }

    /// Returns the type behind a name.
    fn known(&self, ty: Type) -> Option<Type> {
        match ty {
            Type::Named(name) => self.types.get(name.as_str()).cloned(),
            other => Some(other),
        }
    }

    fn load(&self, line: &str, result: &str, mut rest: Rest<'_>, out: &mut Output) -> Option<()> {
        let access = Access::read(&mut rest)?;
        let ty = self.known(rest.ty()?)?;
        rest.expect(",")?;
        let place = Place::read(rest.operands(), access.atomic)?;
        if self.private.contains(place.variable()) {
            out.line(line);
            return Some(());
        }
        let becomes_volatile = self.is_unoptimised && !access.volatile;
        if whole_bytes(&ty) && !access.atomic {
            if becomes_volatile {
                out.line(line.replacen("load ", "load volatile ", 1));
            } else {
                out.line(line);
            }
            return Some(());
        }
        if self.may_be_register(access, &ty, &place) {
            out.declarations
                .insert("declare i32 @__cell_load_volatile(ptr)".to_owned());
            let debug = place.debug();
            let word = |pointer: &str, out: &mut Output| {
                out.value(format!("call i32 @__cell_load_volatile({pointer}){debug}"))
            };
            let first = word(&place.pointer, out);
            let value = if ty == WIDE {
                let second = word(&place.second_word(out), out);
                let [high, low] =
                    [first, second].map(|word| out.value(format!("zext i32 {word} to {WIDE}")));
                let high = out.value(format!("shl {WIDE} {high}, 32"));
                out.value(format!("or {WIDE} {high}, {low}"))
            } else {
                out.converted(&Type::Int(32), &first, &ty)
            };
            out.name_last(&value, result);
            return Some(());
        }
        let access = access.volatile_if(becomes_volatile);
        if let Type::Struct { .. } | Type::Array(..) = ty {
            let mut value = "poison".to_owned();
            for (path, leaf) in self.leaves(&ty)? {
                let place = place.part(&ty, &path, out);
                let raw = place.load(access, &leaf.integer()?, out);
                let part = out.restored(&leaf, &raw)?;
                value = out.value(format!(
                    "insertvalue {ty} {value}, {leaf} {part}, {}",
                    path_text(&path)
                ));
            }
            out.name_last(&value, result);
            return Some(());
        }
        let raw = place.load(access, &ty.integer()?, out);
        let value = out.restored(&ty, &raw)?;
        out.name_last(&value, result);
        Some(())
    }

    fn store(&self, line: &str, mut rest: Rest<'_>, out: &mut Output) -> Option<()> {
        let access = Access::read(&mut rest)?;
        let ty = self.known(rest.ty()?)?;
        let value = rest.operand();
        rest.expect(",")?;
        let place = Place::read(rest.operands(), access.atomic)?;
        if self.private.contains(place.variable()) {
            out.line(line);
            return Some(());
        }
        let becomes_volatile = self.is_unoptimised && !access.volatile;
        if whole_bytes(&ty) && !access.atomic {
            if becomes_volatile {
                out.line(line.replacen("store ", "store volatile ", 1));
            } else {
                out.line(line);
            }
            return Some(());
        }
        if self.may_be_register(access, &ty, &place) {
            out.declarations
                .insert("declare void @__cell_store_volatile(ptr, i32)".to_owned());
            let debug = place.debug();
            let store = |pointer: &str, word: &str, out: &mut Output| {
                out.line(format!(
                    "  call void @__cell_store_volatile({pointer}, i32 {word}){debug}"
                ));
            };
            if ty == WIDE {
                let high = out.value(format!("lshr {WIDE} {value}, 32"));
                let high = out.value(format!("trunc {WIDE} {high} to i32"));
                let low = out.value(format!("trunc {WIDE} {value} to i32"));
                store(&place.pointer, &high, out);
                store(&place.second_word(out), &low, out);
            } else {
                let word = out.converted(&ty, value, &Type::Int(32));
                store(&place.pointer, &word, out);
            }
            return Some(());
        }
        let access = access.volatile_if(becomes_volatile);
        if let Type::Struct { .. } | Type::Array(..) = ty {
            for (path, leaf) in self.leaves(&ty)? {
                let part = out.value(format!("extractvalue {ty} {value}, {}", path_text(&path)));
                let place = place.part(&ty, &path, out);
                let (integer, swapped) = out.swapped(&leaf, &part)?;
                place.store(access, &integer, &swapped, out);
            }
            return Some(());
        }
        let (integer, swapped) = out.swapped(&ty, value)?;
        place.store(access, &integer, &swapped, out);
        Some(())
    }

    /// Whether a number of 32 or 64 bits or a pointer is volatile and at an address that is
    /// computed. No variable is a register.
    fn may_be_register(&self, access: Access, ty: &Type, place: &Place) -> bool {
        let is_volatile = access.volatile && !access.atomic;
        let is_word = matches!(ty, Type::Int(32) | Type::Ptr) || *ty == WIDE;
        self.has_registers && is_volatile && is_word && place.variable().starts_with('%')
    }

    /// Asks the library for the thread's own variable. What the linker places is its first value.
    fn thread_local(&self, line: &str, result: &str, out: &mut Output) -> Option<()> {
        let (_, arguments) = line.split_once("@llvm.threadlocal.address.")?;
        let (_, name) = names(arguments, '@').next()?;
        let ty = self.thread_locals.get(name)?;
        let (_, align) = arguments.split_once("align ")?;
        let align = Rest(align).word();
        let debug = arguments.rfind(", !dbg ").map_or("", |at| &arguments[at..]);
        out.declarations
            .insert("declare ptr @__cell_thread_local(ptr, i32, i32)".to_owned());
        out.line(format!(
            "  {result} = call ptr @__cell_thread_local(ptr {name}, i32 ptrtoint (ptr getelementptr ({ty}, ptr null, \
             i32 1) to i32), i32 {align}){debug}"
        ));
        Some(())
    }

    /// Returns every number, pointer and vector of an array or structure, and where it is.
    fn leaves(&self, ty: &Type) -> Option<Vec<(Vec<u64>, Type)>> {
        let parts: Vec<Type> = match self.known(ty.clone())? {
            Type::Struct { fields, .. } => fields,
            Type::Array(count, element) => vec![*element; usize::try_from(count).ok()?],
            leaf => return leaf.integer().is_some().then(|| vec![(Vec::new(), leaf)]),
        };
        // Without parts, nothing has a name to give to the result.
        (!parts.is_empty()).then_some(())?;
        let mut leaves = Vec::new();
        for (at, part) in (0..).zip(parts) {
            for (path, leaf) in self.leaves(&part)? {
                leaves.push(([vec![at], path].concat(), leaf));
            }
        }
        Some(leaves)
    }
}

/// The type of two registers, which are accessed one after the other.
const WIDE: Type = Type::Int(64);

/// Whether a value has only whole bytes, whose order nothing can change.
fn whole_bytes(ty: &Type) -> bool {
    ty.lanes().1.bits() == Some(8)
}

fn path_text(path: &[u64]) -> String {
    let path: Vec<String> = path.iter().map(u64::to_string).collect();
    path.join(", ")
}

/// How memory is read or written.
#[derive(Clone, Copy)]
struct Access {
    atomic: bool,
    volatile: bool,
}

impl Access {
    /// Of what reads, computes and writes.
    const OPERATION: Self = Self {
        atomic: true,
        volatile: true,
    };

    fn read(rest: &mut Rest<'_>) -> Option<Self> {
        let atomic = rest.eat_word("atomic");
        // What is atomic must happen where the program says, like what is volatile.
        let volatile = rest.eat_word("volatile") || atomic;
        Some(Self { atomic, volatile })
    }

    fn volatile_if(self, volatile: bool) -> Self {
        Self {
            volatile: self.volatile || volatile,
            ..self
        }
    }

    fn text(self) -> &'static str {
        if self.volatile { "volatile " } else { "" }
    }
}

/// Where a value lies in memory, and what is known about it.
struct Place {
    /// `ptr %x`.
    pointer: String,
    /// `, align 4, !dbg !3`.
    tail: String,
}

impl Place {
    /// Reads `ptr %x, align 4, !dbg !3`; before the first comma an atomic access has its order.
    fn read(operands: Vec<&str>, atomic: bool) -> Option<Self> {
        let (pointer, tail) = operands.split_first()?;
        let pointer = if atomic { ordered(pointer)? } else { pointer };
        (pointer.starts_with("ptr ") && !pointer.contains("addrspace")).then_some(())?;
        let tail = tail
            .iter()
            .filter(|part| !OF_VALUE.iter().any(|name| part.starts_with(name)));
        Some(Self {
            pointer: pointer.to_owned(),
            tail: tail.map(|part| format!(", {part}")).collect(),
        })
    }

    /// Returns the place of an operation that reads, computes and writes, and the value that it
    /// reads. The first of its `operands` after `pointer` is a value.
    fn of_operation<'a>(
        pointer: &'a str,
        mut operands: Vec<&'a str>,
        ty: &Type,
        out: &mut Output,
    ) -> Option<(Self, String)> {
        operands[0] = pointer;
        let place = Self::read(operands, false)?;
        let raw = place.load(Access::OPERATION, &ty.integer()?, out);
        Some((place, raw))
    }

    /// Returns the name of the pointer.
    fn variable(&self) -> &str {
        &self.pointer["ptr ".len()..]
    }

    /// Returns the pointer to the second word of a number of 64 bits.
    fn second_word(&self, out: &mut Output) -> String {
        let second = out.value(format!("getelementptr i8, {}, i32 4", self.pointer));
        format!("ptr {second}")
    }

    /// Returns `, !dbg !3`, if it is known.
    fn debug(&self) -> &str {
        debug(&self.tail)
    }

    /// Returns the place of a part of an array or structure.
    fn part(&self, ty: &Type, path: &[u64], out: &mut Output) -> Self {
        let path: String = path.iter().map(|at| format!(", i32 {at}")).collect();
        let pointer = out.value(format!("getelementptr {ty}, {}, i32 0{path}", self.pointer));
        Self {
            pointer: format!("ptr {pointer}"),
            tail: ", align 1".to_owned(),
        }
    }

    fn load(&self, access: Access, ty: &Type, out: &mut Output) -> String {
        out.value(format!(
            "load {}{ty}, {}{}",
            access.text(),
            self.pointer,
            self.tail
        ))
    }

    fn store(&self, access: Access, ty: &Type, value: &str, out: &mut Output) {
        let Self { pointer, tail } = self;
        out.line(format!(
            "  store {}{ty} {value}, {pointer}{tail}",
            access.text()
        ));
    }
}

/// Returns what stands before the order of an atomic access.
fn ordered(text: &str) -> Option<&str> {
    let (text, order) = text.rsplit_once(' ')?;
    let orders = [
        "unordered",
        "monotonic",
        "acquire",
        "release",
        "acq_rel",
        "seq_cst",
    ];
    orders.contains(&order).then_some(())?;
    Some(match text.find(" syncscope(") {
        Some(at) => &text[..at],
        None => text,
    })
}

/// Threads of one side take turns, so reading, computing and writing is not interrupted.
fn atomic_operation(result: &str, mut rest: Rest<'_>, out: &mut Output) -> Option<()> {
    rest.eat_word("volatile");
    let operation = rest.word();
    let pointer = rest.operand();
    rest.expect(",")?;
    let ty = rest.ty()?;
    let operands = rest.operands();
    let value = ordered(operands.first()?)?;
    let (place, raw) = Place::of_operation(pointer, operands, &ty, out)?;
    // The name stands for the value before, so the line that makes it must not be the load itself.
    let read = out.restored(&ty, &raw)?;
    out.name_last(&read, result);
    let read = result;
    let new = match operation {
        "xchg" => value.to_owned(),
        "add" | "sub" | "and" | "or" | "xor" | "fadd" | "fsub" => {
            out.value(format!("{operation} {ty} {read}, {value}"))
        }
        "nand" => {
            let both = out.value(format!("and {ty} {read}, {value}"));
            out.value(format!("xor {ty} {both}, -1"))
        }
        "max" | "min" | "umax" | "umin" => {
            let order = match operation {
                "max" => "sgt",
                "min" => "slt",
                "umax" => "ugt",
                _ => "ult",
            };
            let wins = out.value(format!("icmp {order} {ty} {read}, {value}"));
            out.value(format!("select i1 {wins}, {ty} {read}, {ty} {value}"))
        }
        _ => return None,
    };
    let (integer, swapped) = out.swapped(&ty, &new)?;
    place.store(Access::OPERATION, &integer, &swapped, out);
    Some(())
}

/// As an atomic operation, and what was there is written again if it is not the value awaited.
fn compare_and_swap(result: &str, mut rest: Rest<'_>, out: &mut Output) -> Option<()> {
    rest.eat_word("weak");
    rest.eat_word("volatile");
    let pointer = rest.operand();
    rest.expect(",")?;
    let ty = rest.ty()?;
    let expected = rest.operand();
    rest.expect(",")?;
    (rest.ty()? == ty).then_some(())?;
    let operands = rest.operands();
    let new = ordered(ordered(operands.first()?)?)?;
    let (place, raw) = Place::of_operation(pointer, operands, &ty, out)?;
    let read = out.restored(&ty, &raw)?;
    let equal = out.value(format!("icmp eq {ty} {read}, {expected}"));
    let next = out.value(format!("select i1 {equal}, {ty} {new}, {ty} {read}"));
    let (integer, swapped) = out.swapped(&ty, &next)?;
    place.store(Access::OPERATION, &integer, &swapped, out);
    let half = out.value(format!("insertvalue {{ {ty}, i1 }} poison, {ty} {read}, 0"));
    out.line(format!(
        "  {result} = insertvalue {{ {ty}, i1 }} {half}, i1 {equal}, 1"
    ));
    Some(())
}

/// The same bytes of memory as values of another width.
fn bitcast(line: &str, result: &str, mut rest: Rest<'_>, out: &mut Output) -> Option<()> {
    let from = rest.ty()?;
    let (value, to) = rest.operand().rsplit_once(" to ")?;
    let to = Rest(to).ty()?;
    let (before, after) = (from.lanes().1.bits()?, to.lanes().1.bits()?);
    if before == after {
        out.line(line);
        return Some(());
    }
    (before % 8 == 0 && after % 8 == 0).then_some(())?;
    let (integer, bytes) = out.swapped(&from, value)?;
    let raw = out.value(format!("bitcast {integer} {bytes} to {}", to.integer()?));
    let value = out.restored(&to, &raw)?;
    out.name_last(&value, result);
    Some(())
}

/// Returns the pointer to a function of a class whose lowest bit `line` takes, if it does so.
/// `text` is what is written before. The front end takes this bit right after it has taken the
/// pointer out of its pair, and nothing else does both.
fn pointer_to_member(line: &str, text: &str) -> Option<String> {
    let (_, operands) = line.split_once(" = and i32 ")?;
    let (pointer, mask) = operands.split_once(", ")?;
    let last = text.lines().next_back()?.trim_start();
    let pair = last
        .strip_prefix(pointer)?
        .strip_prefix(" = extractvalue { i32, i32 } ")?;
    let is_bit = mask.split(',').next() == Some("1");
    let is_first = pair.split(", ").nth(1) == Some("0");
    (is_bit && is_first).then(|| pointer.to_owned())
}

/// Writes whether a pointer to a function of a class is the place of a virtual function in its
/// table, plus 1. The front end takes a lowest bit of 1 for this, but the numbers of functions in
/// WebAssembly are even and odd. They begin with [`FUNCTIONS_FROM`], and places lie below it.
fn is_virtual(result: &str, pointer: &str, out: &mut Output) {
    let place = out.value(format!("sub i32 {pointer}, 1"));
    let last = FUNCTIONS_FROM - 1;
    let is_place = out.value(format!("icmp ult i32 {place}, {last}"));
    out.line(format!("  {result} = zext i1 {is_place} to i32"));
}

/// Whether a line calls the function at a number, with named arguments only.
fn calls_number(line: &str) -> bool {
    let Some((head, callee)) = line.split_once(" inttoptr (") else {
        return false;
    };
    let number = callee.split_once(" to ptr)(").map(|(number, _)| number);
    let is_number = number.is_some_and(|number| {
        let digits = number.strip_prefix("i32 ").unwrap_or_default();
        digits.parse::<i64>().is_ok()
    });
    is_number && !head.contains('(')
}

fn call(line: &str, out: &mut Output) -> Result<(), Refusal> {
    let unquoted = line.split('"').next().unwrap_or(line);
    if unquoted.contains(" asm ") {
        return assembler::translate(line, out);
    }
    if calls_number(line) {
        out.line(line);
        return Ok(());
    }
    let (at, callee) = names(line, '@')
        .chain(names(line, '%'))
        .filter(|(at, name)| line[at + name.len()..].starts_with('('))
        .min_by_key(|(at, _)| *at)
        .ok_or(Refusal::Form)?;
    let head = line[..at].trim_end();
    let mut rest = Rest(&line[at + callee.len() + 1..]);
    let arguments = rest.operands();
    rest.expect(")").ok_or(Refusal::Form)?;
    if ENDS.contains(&callee) {
        let call = &line[..line.len() - rest.0.len()];
        out.line(format!("{call} nomerge{}", rest.0));
        return Ok(());
    }
    if let Some(intrinsic) = callee.strip_prefix("@llvm.") {
        return intrinsic_call(line, intrinsic, &arguments, out);
    }
    if !head.ends_with("...)") {
        if WRITERS.iter().any(|known| callee[1..].starts_with(known)) {
            let call = &line[..line.len() - rest.0.len()];
            out.line(format!("{call} nobuiltin{}", rest.0));
        } else {
            out.line(line);
        }
        return Ok(());
    }
    let fixed = head.rfind('(').ok_or(Refusal::Form)?;
    // One of the types is the `...`.
    let fixed = Rest(&head[fixed + 1..]).operands().len() - 1;
    let (named, others) = arguments.split_at_checked(fixed).ok_or(Refusal::Form)?;
    let mut passed: Vec<String> = named.iter().map(|one| (*one).to_owned()).collect();
    passed.extend(MARK.map(|ty| format!("{ty} zeroinitializer")));
    for argument in others {
        if argument.contains(" byval(") {
            // The code generator passes an address of four bytes, so a word fills the eight.
            passed.push((*argument).to_owned());
            passed.push("i32 0".to_owned());
        } else {
            passed.push(variadic(argument, out).ok_or(Refusal::Form)?);
        }
    }
    // The optimiser must not take the turned arguments of printf for their values.
    out.line(format!(
        "{} {callee}({}) nobuiltin{}",
        marked(head, MARK),
        passed.join(", "),
        rest.0
    ));
    Ok(())
}

/// Returns the start of a line with the types of a function, in which the parameters of [`MARK`]
/// are in front of a `...`, as `mark` writes them.
pub(crate) fn marked(line: &str, mark: [&str; 2]) -> String {
    line.replacen("...)", &format!("{}, ...)", mark.join(", ")), 1)
}

/// An argument after the named ones lies in memory, in the first of eight bytes at least.
fn variadic(argument: &str, out: &mut Output) -> Option<String> {
    let mut rest = Rest(argument);
    let ty = rest.ty()?;
    let value = argument_value(rest)?;
    let (integer, value) = out.swapped(&ty, value)?;
    if !matches!(integer.lanes(), (None, lane) if lane.bits()? < 64) {
        return Some(format!("{integer} {value}"));
    }
    // WebAssembly stores the low bytes of an integer first.
    let wide = out.value(format!("zext {integer} {value} to i64"));
    Some(format!("i64 {wide}"))
}

/// Returns what an argument is, without its attributes.
fn argument_value(mut rest: Rest<'_>) -> Option<&str> {
    loop {
        let mut ahead = rest;
        match ahead.word() {
            "noundef" | "nonnull" | "signext" | "zeroext" | "noalias" | "nocapture" => {}
            "readonly" | "readnone" | "writeonly" | "returned" => {}
            "align" => {
                ahead.word();
            }
            "captures" | "dereferenceable" | "dereferenceable_or_null" | "nofpclass" | "range" => {
                ahead.expect("(")?;
                ahead.operands();
                ahead.expect(")")?;
            }
            _ => {
                let value = rest.operand();
                return (!value.is_empty()).then_some(value);
            }
        }
        rest = ahead;
    }
}

fn intrinsic_call(
    line: &str,
    name: &str,
    arguments: &[&str],
    out: &mut Output,
) -> Result<(), Refusal> {
    if name.starts_with("ppc.") {
        return Err(Refusal::Intrinsic(format!("llvm.{name}")));
    }
    if name.starts_with("experimental.constrained.") {
        return Err(Refusal::Rounding);
    }
    if name.starts_with("read_register.") || name.starts_with("write_register.") {
        return Err(Refusal::Assembler("register ... asm(...)".to_owned()));
    }
    // It only keeps a value for a debugger, and no code comes of it.
    if name == "fake.use" {
        return Ok(());
    }
    out.line(line);
    let pointers = arguments.iter().any(|argument| argument.starts_with("ptr"));
    if name.starts_with("va_start") {
        // The code generator writes the address in the order of WebAssembly.
        let list = arguments
            .first()
            .and_then(|argument| argument.split(' ').next_back());
        let list = list
            .filter(|list| name_at(list).is_some())
            .ok_or(Refusal::Form)?;
        let raw = out.value(format!("load ptr, ptr {list}, align 4"));
        let (_, swapped) = out.swapped(&Type::Ptr, &raw).ok_or(Refusal::Form)?;
        out.line(format!("  store i32 {swapped}, ptr {list}, align 4"));
    } else if (pointers && !BYTEWISE.iter().any(|known| name.starts_with(known)))
        || WRITERS_INSIDE.iter().any(|known| name.starts_with(known))
    {
        return Err(Refusal::Form);
    }
    Ok(())
}
