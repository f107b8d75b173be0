//! The text of LLVM IR: types, and a place in a line from which it is read.

use std::fmt;

/// A type of LLVM IR, as far as values in memory have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Int(u32),
    Float,
    Double,
    Ptr,
    Vector(u64, Box<Type>),
    Array(u64, Box<Type>),
    Struct {
        packed: bool,
        fields: Vec<Type>,
    },
    Named(String),
    /// A type that a value in memory does not have, or one that is not known here.
    Other(String),
}

impl Type {
    /// Returns the width in bits of a number or pointer; `None` if the type is another one.
    pub(crate) fn bits(&self) -> Option<u32> {
        match self {
            Self::Int(bits) => Some(*bits),
            Self::Float | Self::Ptr => Some(32),
            Self::Double => Some(64),
            _ => None,
        }
    }

    /// Returns the lanes and the type of one: a number or pointer is one lane.
    pub(crate) fn lanes(&self) -> (Option<u64>, &Self) {
        match self {
            Self::Vector(count, lane) => (Some(*count), lane),
            other => (None, other),
        }
    }

    /// Returns the type of integers with the same lanes.
    ///
    /// It is `None` if the type is neither a number, nor a pointer, nor a vector of them.
    pub(crate) fn integer(&self) -> Option<Self> {
        let (count, lane) = self.lanes();
        let integer = Self::Int(lane.bits()?);
        Some(match count {
            Some(count) => Self::Vector(count, Box::new(integer)),
            None => integer,
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(bits) => write!(f, "i{bits}"),
            Self::Float => f.write_str("float"),
            Self::Double => f.write_str("double"),
            Self::Ptr => f.write_str("ptr"),
            Self::Vector(count, lane) => write!(f, "<{count} x {lane}>"),
            Self::Array(count, element) => write!(f, "[{count} x {element}]"),
            Self::Struct { packed, fields } => {
                let (open, close) = if *packed { ("<{", "}>") } else { ("{", "}") };
                f.write_str(open)?;
                for (at, field) in fields.iter().enumerate() {
                    write!(f, "{}{field}", if at == 0 { " " } else { ", " })?;
                }
                write!(f, " {close}")
            }
            Self::Named(name) | Self::Other(name) => f.write_str(name),
        }
    }
}

/// What is left of a line.
#[derive(Clone, Copy)]
pub(crate) struct Rest<'a>(pub(crate) &'a str);

/// Whether a character can be part of a name without quotes.
pub(crate) fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '$' | '-')
}

impl<'a> Rest<'a> {
    /// Takes `text` if the line goes on with it, after spaces.
    pub(crate) fn eat(&mut self, text: &str) -> bool {
        match self.0.trim_start().strip_prefix(text) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// Takes `text`; `None` if the line does not go on with it.
    pub(crate) fn expect(&mut self, text: &str) -> Option<()> {
        self.eat(text).then_some(())
    }

    /// Takes the word `word` if the line goes on with it.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let found = ahead.word() == word;
        if found {
            *self = ahead;
        }
        found
    }

    /// Takes the letters, digits and `._$-` that follow; there may be none.
    pub(crate) fn word(&mut self) -> &'a str {
        self.0 = self.0.trim_start();
        self.take(self.0.find(|c| !in_name(c)).unwrap_or(self.0.len()))
    }

    /// Takes the first `length` bytes.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    /// Takes a name with its sign: `%3`, `@main`, `%"a b"`.
    pub(crate) fn name(&mut self) -> Option<&'a str> {
        self.0 = self.0.trim_start();
        let name = name_at(self.0)?;
        Some(self.take(name.len()))
    }

    /// Takes what stands before the next comma outside brackets, or before a bracket that closes.
    pub(crate) fn operand(&mut self) -> &'a str {
        self.0 = self.0.trim_start();
        let (mut depth, mut quoted) = (0, false);
        let end = self.0.find(|c| {
            match c {
                '"' => quoted = !quoted,
                _ if quoted => {}
                '(' | '[' | '{' | '<' => depth += 1,
                ')' | ']' | '}' | '>' if depth == 0 => return true,
                ')' | ']' | '}' | '>' => depth -= 1,
                ',' => return depth == 0,
                _ => {}
            }
            false
        });
        self.take(end.unwrap_or(self.0.len())).trim_end()
    }

    /// Takes all operands up to the end or to a bracket that closes.
    pub(crate) fn operands(&mut self) -> Vec<&'a str> {
        let mut operands = Vec::new();
        loop {
            let operand = self.operand();
            if !operand.is_empty() {
                operands.push(operand);
            }
            if !self.eat(",") {
                return operands;
            }
        }
    }

    /// Takes a load or a store up to the comma before its pointer. Returns whether it is a load,
    /// and the type of the value; `None` if the line is neither.
    pub(crate) fn access(&mut self) -> Option<(bool, Type)> {
        let loads = self.name().is_some();
        if loads {
            self.expect("=")?;
        }
        self.eat_word(if loads { "load" } else { "store" })
            .then_some(())?;
        self.eat_word("volatile");
        let ty = self.ty()?;
        if !loads {
            self.operand();
        }
        Some((loads, ty))
    }

    /// Takes a type; `None` if there is none.
    pub(crate) fn ty(&mut self) -> Option<Type> {
        if self.eat("<{") {
            return self.fields(true);
        }
        if self.eat("{") {
            return self.fields(false);
        }
        if self.eat("<") {
            let ty = self.counted()?;
            self.expect(">")?;
            return Some(Type::Vector(ty.0, Box::new(ty.1)));
        }
        if self.eat("[") {
            let ty = self.counted()?;
            self.expect("]")?;
            return Some(Type::Array(ty.0, Box::new(ty.1)));
        }
        if self.0.trim_start().starts_with('%') {
            return self.name().map(|name| Type::Named(name.to_owned()));
        }
        Some(match self.word() {
            "" => return None,
            "float" => Type::Float,
            "double" => Type::Double,
            "ptr" if self.0.starts_with(" addrspace(") => {
                Type::Other(format!("ptr{}", self.operand()))
            }
            "ptr" => Type::Ptr,
            word => match word.strip_prefix('i').map(str::parse) {
                Some(Ok(bits)) => Type::Int(bits),
                _ => Type::Other(word.to_owned()),
            },
        })
    }

    /// Takes `4 x i32`.
    fn counted(&mut self) -> Option<(u64, Type)> {
        let count = self.word().parse().ok()?;
        self.eat_word("x").then_some(())?;
        Some((count, self.ty()?))
    }

    fn fields(&mut self, packed: bool) -> Option<Type> {
        let close = if packed { "}>" } else { "}" };
        let mut fields = Vec::new();
        while !self.eat(close) {
            if !fields.is_empty() {
                self.expect(",")?;
            }
            fields.push(self.ty()?);
        }
        Some(Type::Struct { packed, fields })
    }
}

/// Returns the name at the beginning of `text`.
pub(crate) fn name_at(text: &str) -> Option<&str> {
    let sign = text.chars().next().filter(|c| matches!(c, '%' | '@'))?;
    let name = &text[sign.len_utf8()..];
    let length = match name.strip_prefix('"') {
        Some(quoted) => quoted.find('"')? + 2,
        None => name.find(|c| !in_name(c)).unwrap_or(name.len()),
    };
    (length > 0).then(|| &text[..1 + length])
}

/// Returns every name with the sign `sign` in a line and where it begins; strings are passed over.
pub(crate) fn names(line: &str, sign: char) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < line.len() {
            let rest = &line[at..];
            let c = rest.chars().next()?;
            let here = at;
            if matches!(c, '%' | '@')
                && let Some(name) = name_at(rest)
            {
                at += name.len();
                if c == sign {
                    return Some((here, name));
                }
            } else if c == '"' {
                at += 1 + rest[1..]
                    .find('"')
                    .map_or(rest.len() - 1, |length| length + 1);
            } else {
                at += c.len_utf8();
            }
        }
        None
    })
}

/// Returns `, !dbg !3` of the end of a line, if it is there.
pub(crate) fn debug(tail: &str) -> &str {
    let Some(at) = tail.find(", !dbg ") else {
        return "";
    };
    let debug = &tail[at..];
    let end = debug[1..].find(',').map_or(debug.len(), |end| end + 1);
    &debug[..end]
}
