//! Functions that are called with other types than they are defined with.
//!
//! Old C calls functions without a declaration: `srand(time(NULL))` passes ints and expects ints.
//! On the Cell this works by its calling convention. WebAssembly has types, and the linker would
//! link such a call to a trap. So each such call goes to a small function that converts:
//!
//! ```text
//! a.o: call time.i_i  ─►  fn time.i_i(i32) -> i32 { time(i64 or i32 ...) as i32 }  ─►  libc: time
//! ```
//!
//! An argument that is missing is 0, one that is too many is left out, and so is an unwanted
//! result. A call that passes arguments to a `...` without knowing of it is refused: they lie in
//! memory there, in the order of their types.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wasm_encoder::{
    CustomSection, Encode, EntityType, FunctionSection, ImportSection, LinkingSection, Module,
    RawSection, Section, SectionId, SymbolTable,
};
use wasmparser::{FuncType, Linking, Parser, Payload, SymbolFlags, SymbolInfo, TypeRef, ValType};

use super::ar;

/// What the linker says about such a function, before its name.
const MISMATCH: &str = "function signature mismatch: ";

/// Returns the inputs with converting functions for the calls of which the linker said that they do
/// not fit, or `None` if there are none. New files are written to `folder`.
///
/// # Errors
///
/// An error if a file cannot be read or written, or if a call cannot be converted because of `...`.
pub(crate) fn adapted(
    said: &str,
    inputs: &[PathBuf],
    folder: &Path,
) -> Result<Option<Vec<PathBuf>>, Unadapted> {
    let names = said.lines().filter_map(|line| line.split_once(MISMATCH));
    let names: BTreeSet<&str> = names.map(|(_, name)| name.trim()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let mut defined = BTreeMap::new();
    let mut files = Vec::new();
    for input in inputs {
        let members = match ar::members(input) {
            Ok(members) => members,
            Err(_) => vec![ar::Member {
                name: String::new(),
                bytes: fs::read(input)?,
            }],
        };
        for object in members
            .iter()
            .filter_map(|member| Object::read(&member.bytes))
        {
            for (name, signature) in object.defined {
                if names.contains(name.as_str()) {
                    defined.entry(name).or_insert(signature);
                }
            }
        }
        files.push(members);
    }
    let mut made = BTreeMap::new();
    let mut adapted = Vec::new();
    for (at, (input, members)) in inputs.iter().zip(files).enumerate() {
        let mut changed = false;
        let mut new = members;
        for member in &mut new {
            if let Some(found) = unnamed(&member.bytes, &defined) {
                return Err(found);
            }
            if let Some(bytes) = redirected(&member.bytes, &defined, &mut made) {
                member.bytes = bytes;
                changed = true;
            }
        }
        if !changed {
            adapted.push(input.clone());
            continue;
        }
        let is_object = new.len() == 1 && new[0].name.is_empty();
        let bytes = if is_object {
            new.swap_remove(0).bytes
        } else {
            ar::encode(&new)
        };
        let end = if is_object { "o" } else { "a" };
        let file = folder.join(format!("adapted-{at}.{end}"));
        fs::write(&file, bytes)?;
        adapted.push(file);
    }
    if made.is_empty() {
        return Ok(None);
    }
    let file = folder.join("adapters.o");
    fs::write(&file, encode(&made))?;
    adapted.push(file);
    Ok(Some(adapted))
}

/// Why calls could not be converted.
#[derive(Debug)]
pub(crate) enum Unadapted {
    /// A file cannot be read or written.
    File(io::Error),
    /// A function with `...` is called as one without, or the other way round.
    Unnamed {
        function: String,
        called: Signature,
        defined: Signature,
        /// The object that calls it.
        object: Vec<u8>,
    },
}

impl From<io::Error> for Unadapted {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// The types of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    parameters: Vec<ValType>,
    result: Option<ValType>,
}

impl Signature {
    /// Returns the types, or `None` if there are several results.
    fn of(function: &FuncType) -> Option<Self> {
        let result = match function.results() {
            [] => None,
            [one] => Some(*one),
            _ => return None,
        };
        Some(Self {
            parameters: function.params().to_vec(),
            result,
        })
    }

    /// Returns a text that tells these types from others.
    fn letters(&self) -> String {
        let letter = |one: &ValType| match one {
            ValType::I32 => 'i',
            ValType::I64 => 'l',
            ValType::F32 => 'f',
            ValType::F64 => 'd',
            _ => 'v',
        };
        let result = self.result.iter().map(letter);
        let parameters = self.parameters.iter().map(letter);
        result.chain(['_']).chain(parameters).collect()
    }

    /// Returns the named parameters of a function with `...`, whose arguments are behind [`MARK`].
    fn named(&self) -> Option<&[ValType]> {
        self.parameters.strip_suffix(&MARK)
    }

    fn encode(&self, to: &mut Vec<u8>) {
        to.push(0x60);
        for types in [&self.parameters[..], self.result.as_slice()] {
            types.len().encode(to);
            to.extend(types.iter().map(|one| code(*one)));
        }
    }
}

/// The last parameters of a function with `...` (`MARK` of `big-endian`, in which one number has
/// 128 bits), of which the last one is the address of the arguments.
const MARK: [ValType; 4] = [ValType::I64, ValType::I64, ValType::F32, ValType::I32];

impl fmt::Display for Signature {
    /// Writes the types in C: `int (int, ...)`. A pointer is an `int`, too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |one: &ValType| match one {
            ValType::I32 => "int",
            ValType::I64 => "long long",
            ValType::F32 => "float",
            ValType::F64 => "double",
            _ => "vector",
        };
        let named = self.named().unwrap_or(&self.parameters);
        let mut parameters: Vec<_> = named.iter().map(name).collect();
        if self.named().is_some() {
            parameters.push("...");
        }
        if parameters.is_empty() {
            parameters.push("void");
        }
        let result = self.result.as_ref().map_or("void", name);
        write!(f, "{result} ({})", parameters.join(", "))
    }
}

fn code(one: ValType) -> u8 {
    match one {
        ValType::I32 => 0x7f,
        ValType::I64 => 0x7e,
        ValType::F32 => 0x7d,
        ValType::F64 => 0x7c,
        _ => 0x7b,
    }
}

/// The functions of an object.
struct Object {
    /// The functions of other objects: the name, its place in the bytes, and the types.
    imported: Vec<(String, usize, Signature)>,
    defined: Vec<(String, Signature)>,
    /// The place of the import section: of its id, and of its content.
    imports: Option<(usize, std::ops::Range<usize>)>,
}

impl Object {
    /// Reads an object. Returns `None` if it is none, so that the linker says why.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut object = Self {
            imported: Vec::new(),
            defined: Vec::new(),
            imports: None,
        };
        let mut types = Vec::new();
        let mut functions: Vec<u32> = Vec::new();
        let mut symbols = Vec::new();
        let mut end_of_last = 8;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.ok()?;
            let section = payload.as_section();
            match payload {
                Payload::TypeSection(reader) => {
                    for one in reader.into_iter_err_on_gc_types() {
                        types.push(Signature::of(&one.ok()?));
                    }
                }
                Payload::ImportSection(reader) => {
                    object.imports = Some((end_of_last, usize_range(&reader.range())));
                    for import in reader.into_imports() {
                        let import = import.ok()?;
                        if let TypeRef::Func(kind) = import.ty {
                            let at = import.name.as_ptr() as usize - bytes.as_ptr() as usize;
                            let signature = types.get(kind as usize)?.clone()?;
                            object
                                .imported
                                .push((import.name.to_owned(), at, signature));
                        }
                    }
                }
                Payload::FunctionSection(reader) => {
                    for kind in reader {
                        functions.push(kind.ok()?);
                    }
                }
                Payload::CustomSection(reader) => {
                    if let wasmparser::KnownCustom::Linking(linking) = reader.as_known() {
                        for part in linking.subsections() {
                            if let Linking::SymbolTable(table) = part.ok()? {
                                symbols.extend(table.into_iter().flatten());
                            }
                        }
                    }
                }
                _ => {}
            }
            if let Some((_, range)) = section {
                end_of_last = usize_range(&range).end;
            }
        }
        for symbol in symbols {
            if let SymbolInfo::Func {
                flags,
                index,
                name: Some(name),
            } = symbol
                && !flags.contains(SymbolFlags::UNDEFINED)
            {
                let at = (index as usize).checked_sub(object.imported.len());
                let kind = at.and_then(|at| functions.get(at));
                let signature = kind.and_then(|kind| types.get(*kind as usize)?.clone());
                if let Some(signature) = signature {
                    object.defined.push((name.to_owned(), signature));
                }
            }
        }
        Some(object)
    }
}

fn usize_range<T: Copy + TryInto<usize>>(range: &std::ops::Range<T>) -> std::ops::Range<usize> {
    let number = |one: T| one.try_into().unwrap_or(usize::MAX);
    number(range.start)..number(range.end)
}

/// A converting function: the function that it calls, how it is called, and how that is defined.
type Adapter = (String, Signature, Signature);

/// Returns an object whose calls with other types go to converting functions, which are added to
/// `made`. Returns `None` if all calls fit.
fn redirected(
    bytes: &[u8],
    defined: &BTreeMap<String, Signature>,
    made: &mut BTreeMap<String, Adapter>,
) -> Option<Vec<u8>> {
    let object = Object::read(bytes)?;
    let (section_at, range) = object.imports?;
    let mut content = Vec::new();
    let mut from = range.start;
    for (called, at, signature) in object.imported {
        let Some(real) = defined.get(&called).filter(|real| **real != signature) else {
            continue;
        };
        if !is_convertible(&signature, real) {
            continue;
        }
        let new = format!("{called}.{}", signature.letters());
        // The length of the name is before it.
        let mut encoded = Vec::new();
        called.encode(&mut encoded);
        let end = at + called.len();
        content.extend_from_slice(bytes.get(from..end.checked_sub(encoded.len())?)?);
        new.encode(&mut content);
        from = end;
        made.insert(new, (called, signature, real.clone()));
    }
    if content.is_empty() {
        return None;
    }
    content.extend_from_slice(bytes.get(from..range.end)?);
    let mut whole = bytes.get(..section_at)?.to_vec();
    let imports = RawSection {
        id: SectionId::Import.into(),
        data: &content,
    };
    imports.append_to(&mut whole);
    whole.extend_from_slice(bytes.get(range.end..)?);
    Some(whole)
}

/// Finds a call by which the arguments of a `...` would be lost: of a function that has it by more
/// than the named ones, or of one that has not by a declaration with it.
fn unnamed(bytes: &[u8], defined: &BTreeMap<String, Signature>) -> Option<Unadapted> {
    let object = Object::read(bytes)?;
    object
        .imported
        .into_iter()
        .find_map(|(function, _, called)| {
            let real = defined.get(&function)?;
            let is_lost = match (called.named(), real.named()) {
                (None, Some(named)) => called.parameters.len() > named.len(),
                (Some(_), None) => true,
                _ => false,
            };
            is_lost.then(|| Unadapted::Unnamed {
                function,
                called,
                defined: real.clone(),
                object: bytes.to_vec(),
            })
        })
}

fn is_convertible(called: &Signature, real: &Signature) -> bool {
    let parameters = called.parameters.iter().zip(&real.parameters);
    let missing = real.parameters.iter().skip(called.parameters.len());
    let results = called.result.zip(real.result);
    parameters
        .map(|(from, to)| (*from, *to))
        .all(|(from, to)| conversion(from, to).is_some())
        && missing
            .chain(&called.result)
            .all(|one| *one != ValType::V128)
        && results.is_none_or(|(called, real)| conversion(real, called).is_some())
}

/// Returns the instructions that convert a value.
fn conversion(from: ValType, to: ValType) -> Option<&'static [u8]> {
    use ValType::{F32, F64, I32, I64};
    Some(match (from, to) {
        (from, to) if from == to => &[],
        (I64, I32) => &[0xa7],
        (I32, I64) => &[0xac],
        (F64, F32) => &[0xb6],
        (F32, F64) => &[0xbb],
        // Conversions of a float to an integer that do not trap.
        (F32, I32) => &[0xfc, 0],
        (F64, I32) => &[0xfc, 2],
        (F32, I64) => &[0xfc, 4],
        (F64, I64) => &[0xfc, 6],
        (I32, F32) => &[0xb2],
        (I64, F32) => &[0xb4],
        (I32, F64) => &[0xb7],
        (I64, F64) => &[0xb9],
        _ => return None,
    })
}

/// Returns the instructions that make a zero.
fn zero(one: ValType) -> &'static [u8] {
    match one {
        ValType::I64 => &[0x42, 0],
        ValType::F32 => &[0x43, 0, 0, 0, 0],
        ValType::F64 => &[0x44, 0, 0, 0, 0, 0, 0, 0, 0],
        _ => &[0x41, 0],
    }
}

/// Returns an object with the converting functions.
fn encode(made: &BTreeMap<String, Adapter>) -> Vec<u8> {
    let count = made.len() as u32;
    let mut types = Vec::new();
    (2 * count).encode(&mut types);
    let mut imports = ImportSection::new();
    let mut functions = FunctionSection::new();
    let mut code = Vec::new();
    count.encode(&mut code);
    let mut relocations = Vec::new();
    for (at, (_, (called, signature, real))) in (0..).zip(made) {
        signature.encode(&mut types);
        real.encode(&mut types);
        imports.import("env", called, EntityType::Function(2 * at + 1));
        functions.function(2 * at);
        // There are no further locals.
        let mut body = vec![0];
        for (parameter, to) in (0_u32..).zip(&real.parameters) {
            match signature.parameters.get(parameter as usize) {
                Some(from) => {
                    body.push(0x20);
                    parameter.encode(&mut body);
                    body.extend(conversion(*from, *to).unwrap_or_default());
                }
                None => body.extend(zero(*to)),
            }
        }
        body.push(0x10);
        let call = body.len();
        // The linker writes the number of the function into these five bytes.
        body.extend([at as u8 & 0x7f | 0x80, 0x80, 0x80, 0x80, 0]);
        match (real.result, signature.result) {
            (Some(from), Some(to)) => body.extend(conversion(from, to).unwrap_or_default()),
            (Some(_), None) => body.push(0x1a),
            (None, Some(to)) => body.extend(zero(to)),
            (None, None) => {}
        }
        body.push(0x0b);
        body.len().encode(&mut code);
        relocations.push((code.len() + call, at));
        code.extend(body);
    }
    let mut symbols = SymbolTable::new();
    for at in 0..count {
        symbols.function(SymbolTable::WASM_SYM_UNDEFINED, at, None);
    }
    for (at, adapter) in (count..).zip(made.keys()) {
        symbols.function(0, at, Some(adapter));
    }

    const CODE_SECTION: u32 = 3;
    const FUNCTION_INDEX: u8 = 0;
    let mut calls = Vec::new();
    CODE_SECTION.encode(&mut calls);
    count.encode(&mut calls);
    for (offset, symbol) in relocations {
        calls.push(FUNCTION_INDEX);
        offset.encode(&mut calls);
        symbol.encode(&mut calls);
    }

    let mut module = Module::new();
    module
        .section(&RawSection {
            id: SectionId::Type.into(),
            data: &types,
        })
        .section(&imports)
        .section(&functions)
        .section(&RawSection {
            id: SectionId::Code.into(),
            data: &code,
        })
        .section(LinkingSection::new().symbol_table(&symbols))
        .section(&CustomSection {
            name: "reloc.CODE".into(),
            data: calls.into(),
        });
    module.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(parameters: &[ValType], result: Option<ValType>) -> Signature {
        Signature {
            parameters: parameters.to_vec(),
            result,
        }
    }

    use ValType::{F64, I32, I64, V128};

    fn made() -> BTreeMap<String, Adapter> {
        let time = (
            "time".to_owned(),
            signature(&[I32, I32], Some(I32)),
            signature(&[I32], Some(I64)),
        );
        let quit = (
            "quit".to_owned(),
            signature(&[], Some(I32)),
            signature(&[F64, I64], None),
        );
        BTreeMap::from([("time.i_ii".to_owned(), time), ("quit.i_".to_owned(), quit)])
    }

    #[test]
    fn converting_functions_are_an_object() {
        let bytes = encode(&made());
        wasmparser::Validator::new().validate_all(&bytes).unwrap();
        let object = Object::read(&bytes).unwrap();
        let imported = object
            .imported
            .iter()
            .map(|(name, _, signature)| (name.as_str(), signature));
        assert_eq!(
            imported.collect::<Vec<_>>(),
            [
                ("quit", &signature(&[F64, I64], None)),
                ("time", &signature(&[I32], Some(I64)))
            ]
        );
        let expected = [
            ("quit.i_".to_owned(), signature(&[], Some(I32))),
            ("time.i_ii".to_owned(), signature(&[I32, I32], Some(I32))),
        ];
        assert_eq!(object.defined, expected);
    }

    #[test]
    fn calls_that_do_not_fit_are_redirected() {
        // The object calls `time` and `quit` in one way, and they are defined in another.
        let bytes = encode(&made());
        let defined = BTreeMap::from([
            ("time".to_owned(), signature(&[I64], Some(I64))),
            ("quit".to_owned(), signature(&[F64, I64], None)),
        ]);
        let mut adapters = BTreeMap::new();
        let changed = redirected(&bytes, &defined, &mut adapters).unwrap();
        wasmparser::Validator::new().validate_all(&changed).unwrap();
        let object = Object::read(&changed).unwrap();
        let names: Vec<&str> = object
            .imported
            .iter()
            .map(|(name, ..)| name.as_str())
            .collect();
        assert_eq!(
            names,
            ["quit", "time.l_i"],
            "only what does not fit has another name"
        );
        let (called, from, to) = &adapters["time.l_i"];
        assert_eq!(
            (called.as_str(), from.letters(), to.letters()),
            ("time", "l_i".to_owned(), "l_l".to_owned())
        );
        assert_eq!(
            redirected(&bytes, &BTreeMap::new(), &mut BTreeMap::new()),
            None
        );
    }

    #[test]
    fn calls_that_would_lose_unnamed_arguments_are_found() {
        let bytes = encode(&made());
        let with_dots = |named: &[ValType]| signature(&[named, &MARK].concat(), Some(I32));
        let found = |name: &str, real: Signature| {
            let found = unnamed(&bytes, &BTreeMap::from([(name.to_owned(), real)]))?;
            let Unadapted::Unnamed {
                function,
                called,
                defined,
                ..
            } = found
            else {
                panic!("no file is read");
            };
            Some(format!("{function}: {called}, {defined}"))
        };
        // The object calls `time` with an int, and `quit` with a double and a long long.
        assert_eq!(found("time", with_dots(&[I32])), None);
        assert_eq!(
            found("time", with_dots(&[])).unwrap(),
            "time: long long (int), int (...)"
        );
        assert_eq!(
            found("quit", with_dots(&[F64])).unwrap(),
            "quit: void (double, long long), int (double, ...)"
        );
        assert_eq!(found("quit", signature(&[I32], None)), None);
    }

    #[test]
    fn vectors_are_converted_to_nothing() {
        let of = |one| signature(&[one], None);
        assert!(is_convertible(&of(V128), &of(V128)));
        assert!(!is_convertible(&of(V128), &of(I32)));
        assert!(!is_convertible(&signature(&[], None), &of(V128)));
        assert!(
            is_convertible(&of(V128), &signature(&[], None)),
            "it is left out"
        );
    }

    #[test]
    fn only_what_the_linker_names_is_adapted() {
        let folder = tempfile::tempdir().unwrap();
        let object = folder.path().join("a.o");
        fs::write(&object, encode(&made())).unwrap();
        let inputs = [object];
        assert!(matches!(
            adapted("all is well", &inputs, folder.path()),
            Ok(None)
        ));
        let said = "wasm-ld: warning: function signature mismatch: time\n>>> defined as (i32) -> i64 in a.o\n";
        let adapted = adapted(said, &inputs, folder.path());
        assert!(matches!(adapted, Ok(None)), "no file defines it");
    }
}
