//! Compiled programs of one side: the code, the initial data, and the lines of C.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wasm_encoder::{RawSection, Section};
use wasmparser::{DataKind, Encoding, Operator, Parser, Payload};
use wasmtime::{Engine, FrameInfo, Module, WasmBacktrace};

use crate::format::{self, SECTION, STACK_END, STACK_SECTION};
use crate::lines::Sections;

use super::costs;
use super::engine::Pace;
use super::memory::{NULL_BYTES, PAGE_BYTES};
use super::null;
use super::stack::{Checks, Moved, StackRoom};
use super::turns::{Turns, TurnsError};

/// The first bytes of a module of WebAssembly.
const MAGIC: &[u8] = b"\0asm";

/// One of the two kinds of processors of a Cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Ppu,
    Spu,
}

impl Side {
    /// Returns the name in the section of a module.
    fn name(self) -> &'static str {
        match self {
            Self::Ppu => "ppu",
            Self::Spu => "spu",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ppu => "PPU",
            Self::Spu => "SPU",
        })
    }
}

/// Why a file is no program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("it is no program of `cellworks cc`: it does not begin like one")]
    NoModule,
    #[error(
        "it is a program for {found:?}, and this is one for \"{wanted}\"; build it again with this version's `cellworks cc`"
    )]
    OtherVersion { found: String, wanted: String },
    #[error("it is a program for the {found}, and the {wanted} runs it")]
    OtherSide { found: Side, wanted: Side },
    #[error("it is damaged: {0}")]
    Damaged(String),
}

impl From<wasmparser::BinaryReaderError> for ProgramError {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<TurnsError> for ProgramError {
    fn from(error: TurnsError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// A program of one side, from which any number of instances are made.
pub(crate) struct Program {
    /// The code, without data: instances are made over memories that hold their data already.
    pub(crate) module: Module,
    data: Vec<(usize, Vec<u8>)>,
    /// The size of the memory in bytes.
    memory: usize,
    stack: Option<StackRoom>,
    lines: Mutex<Lines>,
}

/// The lines of C, read when the first one is asked for.
struct Lines {
    sections: Option<Sections>,
    known: Option<crate::lines::Lines>,
    /// Where the code begins in the module that was compiled. Addresses of lines count from there.
    code_at: usize,
    /// Where the code was before checks of the stack or of copies, and then what the pace needs,
    /// were inserted: in the module of the linker, of which the lines are.
    moved: [Moved; 2],
    known_places: HashMap<Vec<usize>, Option<&'static str>>,
    /// The same by the place that a program has noted.
    noted_places: HashMap<u32, Option<&'static str>>,
    interned: HashSet<&'static str>,
}

impl Program {
    /// Compiles the program in `file`, which must be one for `side`.
    pub(crate) fn new(
        engine: &Engine,
        file: &[u8],
        side: Side,
        pace: Pace,
    ) -> Result<Self, ProgramError> {
        let module = without_first_line(file);
        if !module.starts_with(MAGIC) || module.len() < 8 {
            return Err(ProgramError::NoModule);
        }
        let wanted = |side: Side| format::sign(side.name());
        let mut bare = module[..8].to_vec();
        let (mut code_at, mut memory, mut found) = (0, 0, String::new());
        let (mut data, mut sections) = (Vec::new(), HashMap::new());
        let (mut stack, mut checks, mut moved) = (None, Checks::default(), <[Moved; 2]>::default());
        let turns = Turns::of(module)?;
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload?;
            match &payload {
                Payload::Version { encoding, .. } if *encoding != Encoding::Module => {
                    return Err(ProgramError::NoModule);
                }
                Payload::CustomSection(section) => {
                    let bytes = section.data();
                    if section.name() == SECTION {
                        found = String::from_utf8_lossy(bytes).trim().to_owned();
                    } else if section.name() == STACK_SECTION {
                        stack = StackRoom::read(bytes);
                    } else if section.name().starts_with(".debug_") {
                        sections.insert(section.name().to_owned(), bytes.to_vec());
                    }
                }
                Payload::MemorySection(memories) => {
                    for declared in memories.clone() {
                        memory = usize::try_from(declared?.initial)
                            .unwrap_or(usize::MAX)
                            .saturating_mul(PAGE_BYTES);
                    }
                }
                Payload::GlobalSection(globals) => checks.globals(globals.clone())?,
                Payload::ExportSection(exports) => checks.exports(exports.clone(), STACK_END)?,
                Payload::DataSection(segments) => {
                    for segment in segments.clone() {
                        let segment = segment?;
                        let DataKind::Active {
                            memory_index: 0,
                            offset_expr,
                        } = segment.kind
                        else {
                            let why = "it has data that is not placed at its start";
                            return Err(ProgramError::Damaged(why.to_owned()));
                        };
                        let at = match offset_expr.get_operators_reader().read()? {
                            Operator::I32Const { value } => value as u32 as usize,
                            other => {
                                let why = format!("its data is placed by {other:?}");
                                return Err(ProgramError::Damaged(why));
                            }
                        };
                        data.push((at, segment.data.to_vec()));
                    }
                }
                _ => {}
            }
            // The name section stays, for the names of functions.
            let is_kept = match &payload {
                Payload::CustomSection(section) => section.name() == "name",
                Payload::DataSection(_)
                | Payload::DataCountSection { .. }
                | Payload::StartSection { .. } => false,
                _ => true,
            };
            if let (true, Some((id, range))) = (is_kept, payload.as_section()) {
                // The range of the code is not in the file if the file was cut off there.
                let cut_off = || ProgramError::Damaged("it was cut off".to_owned());
                let mut section = Cow::Borrowed(module.get(range).ok_or_else(cut_off)?);
                let is_code = matches!(payload, Payload::CodeSectionStart { .. });
                if is_code {
                    let (checked, by_checks) = match side {
                        Side::Ppu => null::insert(&section, |index| turns.parameters(index))?,
                        Side::Spu => checks.insert(&section)?,
                    };
                    section = Cow::Owned(checked);
                    moved[0] = by_checks;
                }
                if let Payload::GlobalSection(_) = payload {
                    section = Cow::Owned(turns.globals(&section)?);
                }
                if let (Payload::ExportSection(_), Pace::Instructions) = (&payload, pace) {
                    section = Cow::Owned(turns.exports(&section)?);
                }
                if is_code {
                    let (paced, by_pace) = match pace {
                        Pace::Clock => turns.insert(&section)?,
                        Pace::Instructions => {
                            costs::with_costs(&section, turns.looks(), turns.says(), turns.notes())?
                        }
                    };
                    section = Cow::Owned(paced);
                    moved[1] = by_pace;
                }
                let data = &section;
                RawSection { id, data }.append_to(&mut bare);
                if is_code {
                    code_at = bare.len() - section.len();
                }
            }
        }
        if found != wanted(side) {
            let other = [Side::Ppu, Side::Spu]
                .into_iter()
                .find(|other| found == wanted(*other));
            return Err(match other {
                Some(found) => ProgramError::OtherSide {
                    found,
                    wanted: side,
                },
                None => ProgramError::OtherVersion {
                    found,
                    wanted: wanted(side),
                },
            });
        }
        for (at, bytes) in &data {
            if at.saturating_add(bytes.len()) > memory {
                let why = "its data leaves its memory";
                return Err(ProgramError::Damaged(why.to_owned()));
            }
            if side == Side::Ppu && *at < NULL_BYTES {
                let why = format!("it has data at {at:#x}, where null pointers point");
                return Err(ProgramError::Damaged(why));
            }
        }
        let module = Module::new(engine, &bare)
            .map_err(|error| ProgramError::Damaged(format!("{error:#}")))?;
        Ok(Self {
            module,
            data,
            memory,
            stack,
            lines: Mutex::new(Lines {
                sections: Some(sections),
                known: None,
                code_at,
                moved,
                known_places: HashMap::new(),
                noted_places: HashMap::new(),
                interned: HashSet::new(),
            }),
        })
    }

    /// Returns the size of the program's memory in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory
    }

    /// Returns what the linker has set of the stack, if it is an SPU program.
    pub(super) fn stack(&self) -> Option<StackRoom> {
        self.stack
    }

    /// Returns the initial data: where it belongs, and the bytes.
    pub(crate) fn data(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.data.iter().map(|(at, bytes)| (*at, bytes.as_slice()))
    }

    /// Returns the innermost line of the user's code in `backtrace`, as `mandel.c:12:3 in render`,
    /// or the name of a function if no line is the user's. The text lives as long as this process,
    /// once for each place, so that machines can keep it.
    pub(crate) fn place(&self, backtrace: &WasmBacktrace) -> &'static str {
        self.line(backtrace).unwrap_or_else(|| {
            let mut functions = backtrace
                .frames()
                .iter()
                .filter_map(|frame| frame.func_name());
            let place = match functions.next() {
                Some("__cell_main") => "a line of main that is not known".to_owned(),
                Some("__cell_exit" | "__wasi_proc_exit") => "its end".to_owned(),
                Some(name) => format!("a line of {name} that is not known"),
                None => "a function without a name".to_owned(),
            };
            self.lines().interned(place)
        })
    }

    /// Returns the place of a check in a loop of the user, as [`place`](Self::place) does. The
    /// check may be at an instruction without a line: then that of the body is near.
    pub(super) fn place_of_check(&self, backtrace: &WasmBacktrace) -> Option<&'static str> {
        const NEAR: usize = 32;
        let offset = backtrace.frames().first()?.module_offset()?;
        let mut lines = self.lines();
        let line = (0..NEAR).find_map(|ahead| lines.line(offset, ahead))?;
        Some(lines.interned(line))
    }

    /// Returns the function of a library that the user's code in `backtrace` has called.
    pub(super) fn called<'b>(&self, backtrace: &'b WasmBacktrace) -> Option<&'b str> {
        let mut lines = self.lines();
        let is_of_user = |frame: &FrameInfo| {
            let offset = frame.module_offset();
            offset.is_some_and(|offset| lines.line(offset, 0).is_some())
        };
        let user = backtrace.frames().iter().position(is_of_user)?;
        backtrace.frames()[user.checked_sub(1)?].func_name()
    }

    /// Returns the innermost line of the user's code in `backtrace`, if there is one.
    pub(super) fn line(&self, backtrace: &WasmBacktrace) -> Option<&'static str> {
        let offsets: Vec<usize> = backtrace
            .frames()
            .iter()
            .filter_map(|frame| frame.module_offset())
            .collect();
        let mut lines = self.lines();
        if let Some(line) = lines.known_places.get(&offsets) {
            return *line;
        }
        let line = offsets.iter().find_map(|offset| lines.line(*offset, 0));
        let line = line.map(|line| lines.interned(line));
        lines.known_places.insert(offsets, line);
        line
    }

    /// Returns the line from which a program has called the machine, by the place that it has
    /// noted, if it is the user's.
    pub(super) fn line_of_call(&self, noted: u32) -> Option<&'static str> {
        let mut lines = self.lines();
        if let Some(line) = lines.noted_places.get(&noted) {
            return *line;
        }
        let [by_checks, _] = &lines.moved;
        let offset = by_checks.old(noted as usize);
        let line = lines.line_of_linker(offset);
        let line = line.map(|line| lines.interned(line));
        lines.noted_places.insert(noted, line);
        line
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    /// Returns a text that lives as long as this process, once for each text.
    fn interned(&mut self, text: String) -> &'static str {
        if let Some(known) = self.interned.get(text.as_str()) {
            return known;
        }
        let text: &'static str = Box::leak(text.into_boxed_str());
        self.interned.insert(text);
        text
    }

    /// Returns the user's line at an offset of the compiled module, if it is one, or some bytes
    /// ahead in the module of the linker.
    fn line(&mut self, offset: usize, ahead: usize) -> Option<String> {
        let [by_checks, by_pace] = &self.moved;
        let offset = by_checks.old(by_pace.old(offset.checked_sub(self.code_at)?));
        self.line_of_linker(offset + ahead)
    }

    /// Returns the user's line at an offset of the code in the module of the linker.
    fn line_of_linker(&mut self, offset: usize) -> Option<String> {
        if let Some(sections) = self.sections.take() {
            self.known = crate::lines::Lines::new(sections);
        }
        self.known.as_ref()?.at(u64::try_from(offset).ok()?)
    }
}

/// Returns whether a file is a program of an SPU.
pub(crate) fn is_for_spu(file: &[u8]) -> bool {
    let sections = Parser::new(0).parse_all(without_first_line(file));
    sections.map_while(Result::ok).any(|payload| match payload {
        Payload::CustomSection(section) => {
            section.name() == SECTION && section.data() == format::sign(Side::Spu.name()).as_bytes()
        }
        _ => false,
    })
}

/// Returns the module in `file`, which may begin with a line for the system.
fn without_first_line(file: &[u8]) -> &[u8] {
    if !file.starts_with(b"#!") {
        return file;
    }
    let end = file.iter().position(|byte| *byte == b'\n');
    end.map_or(&[], |end| &file[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::engine::engine;

    /// A module in the text format, with the section of a side.
    fn module(side: &str, text: &str) -> Vec<u8> {
        let custom = format!("(@custom \"cellworks\" \"{}\")", format::sign(side));
        wat::parse_str(format!("(module {custom} {text})")).unwrap()
    }

    fn read(file: &[u8], side: Side) -> Result<Program, ProgramError> {
        Program::new(&engine(Pace::Clock).unwrap(), file, side, Pace::Clock)
    }

    fn refusal(file: &[u8], side: Side) -> String {
        read(file, side)
            .err()
            .expect("it is no program")
            .to_string()
    }

    #[test]
    fn a_program_has_its_data_and_the_size_of_its_memory() {
        let text =
            r#"(memory 4 4) (data (i32.const 0x10400) "cell") (data (i32.const 0x10008) "works")"#;
        let mut file = b"#!/usr/bin/env -S cellworks exec\n".to_vec();
        file.extend(module("ppu", text));
        let program = read(&file, Side::Ppu).unwrap();
        assert_eq!(program.memory_bytes(), 256 << 10);
        let data: Vec<_> = program.data().collect();
        assert_eq!(data, [(0x10400, &b"cell"[..]), (0x10008, b"works")]);
        // The data was written by `data`, so instances have none.
        assert!(program.module.exports().len() == 0);
    }

    #[test]
    fn what_is_no_program_is_refused_in_words() {
        let cases: [(&[u8], &str); 4] = [
            (b"", "no program of `cellworks cc`"),
            (b"\x7fELF\x02\x01", "no program of `cellworks cc`"),
            (b"#!/bin/sh", "no program of `cellworks cc`"),
            (b"\0asm\x0d\0\x01\0", "no program of `cellworks cc`"),
        ];
        for (file, part) in cases {
            let said = refusal(file, Side::Ppu);
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn a_program_of_another_side_or_version_is_refused() {
        let said = refusal(&module("spu", "(memory 4 4)"), Side::Ppu);
        assert_eq!(said, "it is a program for the SPU, and the PPU runs it");
        let other = wat::parse_str("(module (memory 4 4))").unwrap();
        let said = refusal(&other, Side::Ppu);
        assert!(
            said.contains("build it again with this version's `cellworks cc`"),
            "{said}"
        );
    }

    #[test]
    fn damaged_programs_are_refused() {
        let data = "(memory 4 4) (data (i32.const 262140) \"too long\")";
        let passive = "(memory 4 4) (data \"anywhere\")";
        for text in [data, passive] {
            let said = refusal(&module("spu", text), Side::Spu);
            assert!(
                said.starts_with("it is damaged: its data") || said.contains("it has data"),
                "{said}"
            );
        }
        let at_null = r#"(memory 4 4) (data (i32.const 0xffff) "null")"#;
        let said = refusal(&module("ppu", at_null), Side::Ppu);
        assert!(said.contains("it has data at 0xffff, where null"), "{said}");
        assert!(read(&module("spu", at_null), Side::Spu).is_ok());
        let whole = module(
            "spu",
            r#"(memory 4 4) (func (export "f") (result i32) i32.const 7) (data (i32.const 0) "x")"#,
        );
        for end in 8..whole.len() {
            assert!(
                read(&whole[..end], Side::Spu).is_err(),
                "cut off at {end} of {}",
                whole.len()
            );
        }
        assert!(read(&whole, Side::Spu).is_ok());
    }
}
