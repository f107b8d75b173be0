//! Inline assembler: barriers, hints, and the few instructions that an import or memory stands for.

use crate::emit::Output;
use crate::refusal::Refusal;
use crate::text::{Rest, debug};

/// Instructions that only order memory, or do nothing.
const BARRIERS: &[&str] = &[
    "dsync",
    "eieio",
    "isync",
    "lnop",
    "lwsync",
    "nop",
    "or 1,1,1",
    "or 2,2,2",
    "or 3,3,3",
    "or 31,31,31",
    "sync",
    "syncc",
];

/// Instructions whose operands are hints for caches and branches.
const HINTS: &[&str] = &[
    "dcbf", "dcbst", "dcbt", "dcbtst", "hbr", "hbra", "hbrp", "hbrr", "icbi",
];

/// The channels of an SPU that its program knows parts of, and that only the intrinsics use: events
/// (1), and tag groups and commands.
const KEPT: &[u32] = &[1, 12, 21, 22, 23, 24];

/// Writes what stands for a line with inline assembler, or refuses it.
pub(crate) fn translate(line: &str, out: &mut Output) -> Result<(), Refusal> {
    let mut parts = line.splitn(5, '"');
    let (Some(head), Some(template), Some(_), Some(constraints), Some(tail)) = (
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
    ) else {
        return Err(Refusal::Form);
    };
    let instructions = instructions(template);
    let orders = instructions
        .iter()
        .all(|one| BARRIERS.contains(&one.as_str()));
    let is_plain = match instructions[..] {
        [] => !constraints.contains('*'),
        _ => tail.starts_with("()"),
    };
    if orders && is_plain {
        let constraints = in_any_register(constraints);
        out.line(format!("{head}\"\", \"{constraints}\"{tail}"));
        return Ok(());
    }
    let known = match head.split_once(" = ") {
        Some((result, call)) => timebase(result, call, &instructions, tail, out)
            .or_else(|| read_channel(result, call, &instructions, tail, out)),
        None => effect(&instructions, tail, out),
    };
    known.ok_or_else(|| Refusal::Assembler(template.to_owned()))
}

/// Returns the constraints of a template without instructions with any register in place of those
/// that the program names: one of the PPU, such as `{r5}` or `f`, is not there.
fn in_any_register(constraints: &str) -> String {
    let each = constraints.split(',').map(|constraint| {
        let kind = constraint.trim_start_matches(['=', '&']);
        let is_kept = kind.is_empty() || kind.starts_with(|first| "~*0123456789".contains(first));
        let direction = &constraint[..constraint.len() - kind.len()];
        if is_kept {
            constraint.to_owned()
        } else {
            format!("{direction}r")
        }
    });
    each.collect::<Vec<_>>().join(",")
}

/// Returns the instructions of a template, without labels and comments, in the form `name a,b`.
fn instructions(template: &str) -> Vec<String> {
    let lines = template.replace("\\0A", "\n").replace("\\09", " ");
    let lines = lines
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let all = lines.flat_map(|line| line.split(';')).map(|instruction| {
        let unlabelled = instruction.rsplit(':').next().unwrap_or_default();
        let mut words = unlabelled.split_whitespace();
        let name = words.next().unwrap_or_default();
        let operands: String = words.collect();
        format!("{name} {operands}").trim_end().to_owned()
    });
    all.filter(|instruction| !instruction.is_empty()).collect()
}

/// Reads of the time base into one variable or several of at most 64 bits, also in a loop that ends
/// when the high word stays the same.
fn timebase(
    result: &str,
    call: &str,
    instructions: &[String],
    tail: &str,
    out: &mut Output,
) -> Option<()> {
    let mut reads = Vec::new();
    for instruction in instructions {
        let (name, operands) = instruction.split_once(' ')?;
        let is_high = match (name, operands.split_once(',')) {
            ("mftb" | "mftbl", None) | ("mfspr", Some((_, "268"))) => false,
            ("mftbu", None) | ("mfspr", Some((_, "269"))) => true,
            ("cmpw" | "cmplw" | "cmp" | "bne" | "bne-" | "bne+", _) if !reads.is_empty() => {
                continue;
            }
            _ => return None,
        };
        let register = operands.split(',').next()?.strip_prefix('$')?;
        reads.push((register.parse::<usize>().ok()?, is_high));
    }
    let (_, ty) = call.split_once("call ")?;
    let types = match ty.strip_prefix('{') {
        Some(types) => types.split_once('}')?.0,
        None => ty.split(' ').next()?,
    };
    let types: Vec<&str> = types.split(',').map(str::trim).collect();
    let mut registers: Vec<usize> = reads.iter().map(|(register, _)| *register).collect();
    registers.sort_unstable();
    let is_each = registers.iter().copied().eq(0..types.len());
    let are_integers = types.iter().all(|ty| *ty == "i64" || is_word(ty));
    if !tail.starts_with("()") || !is_each || !are_integers {
        return None;
    }
    declare(out, "i64 @ppu.timebase()");
    let whole = out.value("call i64 @ppu.timebase()");
    if let ([ty], [(_, is_high)]) = (&types[..], &reads[..]) {
        let part = half(&whole, *is_high, out);
        out.line(format!("{result} = {}", cut(&part, ty)));
        return Some(());
    }
    let structure = format!("{{ {} }}", types.join(", "));
    let mut all = "poison".to_owned();
    for (register, is_high) in reads {
        let ty = types[register];
        let part = half(&whole, is_high, out);
        let part = out.value(cut(&part, ty));
        all = out.value(format!(
            "insertvalue {structure} {all}, {ty} {part}, {register}"
        ));
    }
    out.name_last(&all, result.trim());
    Some(())
}

/// Returns a time of 64 bits, or its high word.
fn half(time: &str, is_high: bool, out: &mut Output) -> String {
    if is_high {
        out.value(format!("lshr i64 {time}, 32"))
    } else {
        time.to_owned()
    }
}

/// Returns the instruction that makes a time of 64 bits one of a type.
fn cut(time: &str, ty: &str) -> String {
    match ty {
        "i64" => format!("add i64 {time}, 0"),
        _ => format!("trunc i64 {time} to {ty}"),
    }
}

/// Returns whether a register holds a type in one of its words: the last bytes of the word.
fn is_word(ty: &str) -> bool {
    matches!(ty, "i8" | "i16" | "i32")
}

/// A channel of an SPU that is read or counted.
fn read_channel(
    result: &str,
    call: &str,
    instructions: &[String],
    tail: &str,
    out: &mut Output,
) -> Option<()> {
    let [instruction] = instructions else {
        return None;
    };
    let (name, operands) = instruction.split_once(' ')?;
    let number = channel(operands.strip_prefix("$0,")?)?;
    let ty = call.split_once("call ")?.1.split(' ').next()?;
    if !matches!(name, "rdch" | "rchcnt") || !is_word(ty) || !tail.starts_with("()") {
        return None;
    }
    declare(out, &format!("i32 @spu.{name}(i32)"));
    let debug = debug(tail);
    let read = format!("call i32 @spu.{name}(i32 {number}){debug}");
    if ty == "i32" {
        out.line(format!("{result} = {read}"));
    } else {
        let word = out.value(read);
        out.line(format!("{result} = trunc i32 {word} to {ty}"));
    }
    Some(())
}

/// Instructions without a result: hints, a cleared line of the PPU, a channel of an SPU that is
/// written, or its stop.
fn effect(instructions: &[String], tail: &str, out: &mut Output) -> Option<()> {
    let name = |instruction: &String| instruction.split(' ').next().map(str::to_owned);
    let is_hint = |one: &String| name(one).is_some_and(|name| HINTS.contains(&name.as_str()));
    if !instructions.is_empty() && instructions.iter().all(is_hint) {
        out.barrier();
        return Some(());
    }
    let [instruction] = instructions else {
        return None;
    };
    let arguments = Rest(tail.strip_prefix('(')?).operands();
    let debug = debug(tail);
    let (name, operands) = instruction.split_once(' ').unwrap_or((instruction, "0"));
    match (name, operands, &arguments[..]) {
        ("dcbz", "0,$0", [address]) => {
            let address = match address.split_once(' ')? {
                ("i32", number) => number.to_owned(),
                ("ptr", pointer) => out.value(format!("ptrtoint ptr {pointer} to i32")),
                _ => return None,
            };
            let line = out.value(format!("and i32 {address}, -128"));
            let line = out.value(format!("inttoptr i32 {line} to ptr"));
            declare(out, "void @llvm.memset.p0.i32(ptr, i8, i32, i1)");
            out.line(format!(
                "  call void @llvm.memset.p0.i32(ptr {line}, i8 0, i32 128, i1 false){debug}"
            ));
        }
        ("wrch", operands, [value]) => {
            let number = channel(operands.strip_suffix(",$0")?)?;
            let value = match value.split_once(' ')?.0 {
                "i32" => (*value).to_owned(),
                ty if is_word(ty) => {
                    let word = out.value(format!("zext {value} to i32"));
                    format!("i32 {word}")
                }
                _ => return None,
            };
            declare(out, "void @spu.wrch(i32, i32)");
            out.line(format!(
                "  call void @spu.wrch(i32 {number}, {value}){debug}"
            ));
        }
        ("stop", code, _) if tail.starts_with("()") => {
            let code = match code.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => code.parse().ok()?,
            };
            declare(out, "void @spu.stop(i32)");
            let code = (code <= 0x3fff).then_some(code)?;
            out.line(format!("  call void @spu.stop(i32 {code}){debug}"));
        }
        _ => return None,
    }
    Some(())
}

/// Returns the number of a channel that a program may use by assembler.
fn channel(name: &str) -> Option<u32> {
    let number = name.strip_prefix("$$ch")?.parse().ok()?;
    (number < 32 && !KEPT.contains(&number)).then_some(number)
}

fn declare(out: &mut Output, function: &str) {
    out.declarations.insert(format!("declare {function}"));
}
