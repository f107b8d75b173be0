//! Global variables: the bytes of their initial values are turned round.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::text::{Rest, Type, names};

/// Returns the line of a global variable whose initial value has its bytes turned round, or `None`
/// if its form is not known.
pub(crate) fn global(line: &str, types: &HashMap<&str, Type>) -> Option<String> {
    // Lists for the linker, such as the constructors, do not lie in memory.
    if line.starts_with("@llvm.") {
        return Some(line.to_owned());
    }
    let (at, kind) = [" global ", " constant "]
        .into_iter()
        .filter_map(|kind| line.find(kind).map(|at| (at, kind)))
        .min()?;
    let mut rest = Rest(&line[at + kind.len()..]);
    // Variables that several files of old C define without a value are one. WebAssembly does not
    // have `common`, and `weak` has the same end, because all of these variables are 0.
    let head = &line[..at].replacen(" = common", " = weak", 1);
    // What is here of a variable of a thread is its first value: see `function::thread_local`.
    let head = &without_thread_local(head);
    if head.contains(" external") || head.contains(" extern_weak") {
        return Some(format!("{head}{}", &line[at..]));
    }
    let mut data = Data {
        types,
        symbols: false,
    };
    let ty = rest.ty()?;
    let value = data.value(&ty, &mut rest)?;
    let ty = data.stored(&ty)?;
    // A pointer in data is turned round only after linking, so its value must not be folded into
    // code.
    let kept = if data.symbols {
        " externally_initialized"
    } else {
        ""
    };
    Some(format!("{head}{kept}{kind}{ty} {value}{}", rest.0))
}

/// Returns the type of a variable of which each thread has its own, and its name.
pub(crate) fn thread_local(line: &str) -> Option<(&str, Type)> {
    let at = line.find(" global ")?;
    line[..at].contains(THREAD_LOCAL).then_some(())?;
    let ty = Rest(&line[at + " global ".len()..]).ty()?;
    Some((Rest(line).name()?, ty))
}

const THREAD_LOCAL: &str = " thread_local";

/// Returns the start of a line without `thread_local`, which may have a model in brackets.
fn without_thread_local(head: &str) -> String {
    match head.split_once(THREAD_LOCAL) {
        None => head.to_owned(),
        Some((before, after)) => {
            let model = match after.strip_prefix('(') {
                Some(model) => model.find(')').map_or(0, |end| end + 2),
                None => 0,
            };
            format!("{before}{}", &after[model..])
        }
    }
}

/// Returns a line in which casts of constant vectors, such as
/// `bitcast (<4 x i32> ... to <16 x i8>)`, are vectors with the same bytes in big-endian memory;
/// `None` if the form of one is not known.
pub(crate) fn without_casts(line: &str) -> Option<Cow<'_, str>> {
    const CAST: &str = " bitcast (";
    if !line.contains(CAST) {
        return Some(Cow::Borrowed(line));
    }
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, cast)) = rest.split_once(CAST) {
        let mut cast = Rest(cast);
        let bytes = bytes(&mut cast)?;
        cast.eat_word("to").then_some(())?;
        let vector = vector(&cast.ty()?, &bytes)?;
        cast.expect(")")?;
        text += &format!("{before} {vector}");
        rest = cast.0;
    }
    Some(Cow::Owned(text + rest))
}

/// Takes a constant vector, and returns its bytes.
fn bytes(rest: &mut Rest<'_>) -> Option<Vec<u8>> {
    let Type::Vector(count, lane) = rest.ty()? else {
        return None;
    };
    let bits = lane.bits()?;
    let element = |rest: &mut Rest<'_>| {
        (rest.ty()? == *lane).then_some(())?;
        let text = rest.operand();
        let number = match *lane {
            Type::Int(_) => text.parse::<i128>().ok()?.cast_unsigned(),
            Type::Float | Type::Double => float_bits(text, bits)?.into(),
            _ => return None,
        };
        Some(turned(number, bits)?.to_le_bytes()[..bits as usize / 8].to_vec())
    };
    if rest.eat_word("splat") {
        rest.expect("(")?;
        let bytes = element(rest)?;
        rest.expect(")")?;
        return Some(bytes.repeat(usize::try_from(count).ok()?));
    }
    rest.expect("<")?;
    let mut bytes = element(rest)?;
    while rest.eat(",") {
        bytes.append(&mut element(rest)?);
    }
    rest.expect(">")?;
    Some(bytes)
}

/// Returns the constant vector of the type `ty` with these bytes.
fn vector(ty: &Type, bytes: &[u8]) -> Option<String> {
    let Type::Vector(_, lane) = ty else {
        return None;
    };
    let elements: Option<Vec<String>> = bytes
        .chunks(lane.bits()? as usize / 8)
        .map(|element| {
            let number = element
                .iter()
                .fold(0, |number: u128, byte| number << 8 | u128::from(*byte));
            let number = match **lane {
                Type::Int(_) => number.to_string(),
                Type::Float => format!("0x{:016X}", double_bits(number as u32)),
                Type::Double => format!("0x{number:016X}"),
                _ => return None,
            };
            Some(format!("{lane} {number}"))
        })
        .collect();
    Some(format!("<{}>", elements?.join(", ")))
}

/// Returns the bits of the double that is equal to a float with the bits `float`, as LLVM writes
/// it.
fn double_bits(float: u32) -> u64 {
    let value = f32::from_bits(float);
    if value.is_nan() {
        // A conversion may change which NaN it is.
        let sign = u64::from(float >> 31) << 63;
        return sign | 0x7ff0_0000_0000_0000 | u64::from(float & 0x007f_ffff) << 29;
    }
    f64::from(value).to_bits()
}

/// What is known while an initial value is read.
struct Data<'a> {
    types: &'a HashMap<&'a str, Type>,
    /// Whether the value has an address that only the linker knows.
    symbols: bool,
}

impl Data<'_> {
    /// Returns the type of the turned value: its numbers are integers.
    fn stored(&self, ty: &Type) -> Option<Type> {
        Some(match ty {
            Type::Int(_) | Type::Ptr => ty.clone(),
            Type::Float | Type::Double => ty.integer()?,
            Type::Vector(count, lane) => Type::Vector(*count, Box::new(self.stored(lane)?)),
            Type::Array(count, element) => Type::Array(*count, Box::new(self.stored(element)?)),
            Type::Struct { packed, fields } => Type::Struct {
                packed: *packed,
                fields: fields
                    .iter()
                    .map(|field| self.stored(field))
                    .collect::<Option<_>>()?,
            },
            Type::Named(name) => self.stored(self.types.get(name.as_str())?)?,
            Type::Other(_) => return None,
        })
    }

    /// Reads a value of the type `ty`, and returns its text with all bytes turned round.
    fn value(&mut self, ty: &Type, rest: &mut Rest<'_>) -> Option<String> {
        for same in ["zeroinitializer", "undef", "poison", "null"] {
            if rest.eat_word(same) {
                return Some(same.to_owned());
            }
        }
        match ty {
            Type::Named(name) => {
                let ty = self.types.get(name.as_str())?.clone();
                self.value(&ty, rest)
            }
            Type::Int(bits) => self.integer(*bits, rest),
            Type::Float | Type::Double => {
                let bits = ty.bits()?;
                let value = float_bits(rest.operand(), bits)?;
                Some(turned(value.into(), bits)?.to_string())
            }
            Type::Ptr => self.pointer(rest),
            Type::Vector(_, lane) if rest.eat_word("splat") => {
                rest.expect("(")?;
                let value = self.element(lane, rest)?;
                rest.expect(")")?;
                Some(format!("splat ({value})"))
            }
            Type::Vector(_, lane) => self.list("<", ">", std::iter::repeat(&**lane), rest),
            Type::Array(_, element) if rest.eat("c\"") => {
                (**element == Type::Int(8)).then_some(())?;
                let (text, after) = rest.0.split_once('"')?;
                rest.0 = after;
                Some(format!("c\"{text}\""))
            }
            Type::Array(_, element) => self.list("[", "]", std::iter::repeat(&**element), rest),
            Type::Struct {
                packed: true,
                fields,
            } => self.list("<{", "}>", fields.iter(), rest),
            Type::Struct {
                packed: false,
                fields,
            } => self.list("{", "}", fields.iter(), rest),
            Type::Other(_) => None,
        }
    }

    /// Reads `[i32 1, i32 2]` with other brackets.
    fn list<'t>(
        &mut self,
        open: &str,
        close: &str,
        mut types: impl Iterator<Item = &'t Type>,
        rest: &mut Rest<'_>,
    ) -> Option<String> {
        rest.expect(open)?;
        let mut elements = Vec::new();
        while !rest.eat(close) {
            if !elements.is_empty() {
                rest.expect(",")?;
            }
            elements.push(self.element(types.next()?, rest)?);
        }
        Some(format!("{open} {} {close}", elements.join(", ")))
    }

    /// Reads `i32 1`.
    fn element(&mut self, ty: &Type, rest: &mut Rest<'_>) -> Option<String> {
        (rest.ty()? == *ty).then_some(())?;
        let value = self.value(ty, rest)?;
        Some(format!("{} {value}", self.stored(ty)?))
    }

    fn integer(&mut self, bits: u32, rest: &mut Rest<'_>) -> Option<String> {
        let text = rest.operand();
        if let Ok(value) = text.parse::<i128>() {
            return Some(turned(value.cast_unsigned(), bits)?.to_string());
        }
        // An address as a number, which the linker writes.
        let address = text.starts_with("ptrtoint (") || text.starts_with("add (");
        (address && bits == 32).then_some(())?;
        self.symbol(text)
    }

    fn pointer(&mut self, rest: &mut Rest<'_>) -> Option<String> {
        let text = rest.operand();
        if let Some(number) = text.strip_prefix("inttoptr (i32 ") {
            let number: i128 = number.strip_suffix(" to ptr)")?.parse().ok()?;
            let turned = turned(number.cast_unsigned(), 32)?;
            return Some(format!("inttoptr (i32 {turned} to ptr)"));
        }
        (text.starts_with('@') || text.starts_with("getelementptr ")).then_some(())?;
        self.symbol(text)
    }

    /// Takes an expression with exactly one address.
    fn symbol(&mut self, text: &str) -> Option<String> {
        (names(text, '@').count() == 1).then_some(())?;
        self.symbols = true;
        Some(text.to_owned())
    }
}

/// Returns the integer of `bits` bits, a multiple of 8, whose bytes stand the other way round.
fn turned(value: u128, bits: u32) -> Option<u128> {
    if bits == 0 || !bits.is_multiple_of(8) || bits > 128 {
        return None;
    }
    Some((value << (128 - bits)).swap_bytes() & (u128::MAX >> (128 - bits)))
}

/// Returns the bits of a number as LLVM writes it: in decimal, or as the bits of a double.
fn float_bits(text: &str, bits: u32) -> Option<u64> {
    let double = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        // Rust also reads words, such as "nan", which LLVM does not write.
        None if text.ends_with(|c: char| c.is_ascii_digit()) => text.parse::<f64>().ok()?.to_bits(),
        None => return None,
    };
    if bits == 64 {
        return Some(double);
    }
    let value = f64::from_bits(double);
    if value.is_nan() {
        // A conversion may change which NaN it is.
        let sign = (double >> 63) << 31;
        return Some(sign | 0x7f80_0000 | ((double >> 29) & 0x007f_ffff));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "LLVM writes a float as an equal double"
    )]
    Some(u64::from((value as f32).to_bits()))
}
