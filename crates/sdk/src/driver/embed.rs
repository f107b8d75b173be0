//! `ppu-embedspu`: an SPU program as an object of the PPU.
//!
//! The object has the symbol of a `spe_program_handle_t`, whose words are big-endian:
//!
//! ```text
//!   handle_size = 16 | elf_image ──► the bytes of the program | toe_shadow = 0 | image_bytes
//! ```

use std::fs;
use std::path::Path;

use wasm_encoder::{
    CustomSection, DataCountSection, DataSymbolDefinition, Encode, ImportSection, MemoryType,
    Module, RawSection, SectionId, SymbolTable,
};

use super::compiler::FIRST_LINE;
use super::tools::{Failed, because};

/// Runs `embedspu [FLAGS] SYMBOL PROGRAM OBJECT`.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failed> {
    let arguments = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'));
    let arguments: Vec<&String> = arguments.collect();
    let [symbol, program, object] = arguments[..] else {
        return Err(because(
            "the arguments are a symbol, an SPU program and an object, such as `ppu-embedspu hello_spu hello_spu \
             hello_spu.o`",
        ));
    };
    embed(symbol, Path::new(program), Path::new(object))
}

/// Writes the object of an SPU program, with the symbol of its handle.
pub(crate) fn embed(symbol: &str, program: &Path, object: &Path) -> Result<(), Failed> {
    let failed = |path: &Path, error| because(&format!("{}: {error}", path.display()));
    let is_name = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
    if !symbol.chars().all(is_name) || symbol.is_empty() || symbol.as_bytes()[0].is_ascii_digit() {
        return Err(because(&format!(
            "{symbol}: a symbol is a name of C, such as {}",
            symbol_of(symbol)
        )));
    }
    let file = fs::read(program).map_err(|error| failed(program, error))?;
    let image = file.strip_prefix(FIRST_LINE).unwrap_or(&file);
    if !image.starts_with(b"\0asm") {
        return Err(because(&format!(
            "{}: this is no SPU program; make one: spu-gcc -o NAME NAME.c",
            program.display()
        )));
    }
    fs::write(object, encode(symbol, image)).map_err(|error| failed(object, error))
}

/// Returns the name of C that is nearest to a text.
pub(crate) fn symbol_of(text: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        }
    };
    let name: String = text.chars().map(letter).collect();
    match name.as_bytes() {
        [] | [b'0'..=b'9', ..] => format!("_{name}"),
        _ => name,
    }
}

const HANDLE_BYTES: u32 = 16;

/// The offset of `elf_image` in the handle.
const IMAGE_OFFSET: usize = 4;

/// The alignments of the handle and of the image, as powers of two.
const HANDLE_ALIGNMENT: u32 = 4;
const IMAGE_ALIGNMENT: u32 = 7;

/// Returns a WebAssembly object with two data segments: the handle, and the image to which a word
/// of the handle is relocated.
fn encode(symbol: &str, image: &[u8]) -> Vec<u8> {
    let image_bytes = image.len() as u32;
    let handle: Vec<u8> = [HANDLE_BYTES, 0, 0, image_bytes]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();

    // The linker's memory of this name, with the pages that both segments take at least.
    let mut imports = ImportSection::new();
    let memory = MemoryType {
        minimum: u64::from((image_bytes + HANDLE_BYTES).div_ceil(1 << 16)),
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    };
    imports.import("env", "__linear_memory", memory);

    let mut data = Vec::new();
    2_u32.encode(&mut data);
    let mut relocated = 0;
    let mut at = 0_i64;
    for (index, bytes) in [&handle[..], image].into_iter().enumerate() {
        // An active segment at the constant address `at`, which the linker replaces.
        data.extend([0, 0x41]);
        at.encode(&mut data);
        data.push(0x0b);
        bytes.len().encode(&mut data);
        if index == 0 {
            relocated = data.len() + IMAGE_OFFSET;
        }
        data.extend_from_slice(bytes);
        at += bytes.len() as i64;
    }

    // WASM_SEGMENT_INFO and WASM_SYMBOL_TABLE of the tool conventions.
    const LINKING_VERSION: u32 = 2;
    const SEGMENT_INFO: u8 = 5;
    let image_name = format!("{symbol}.image");
    let mut segments = Vec::new();
    2_u32.encode(&mut segments);
    let mut symbols = SymbolTable::new();
    for (index, name, alignment, flags, size) in [
        (0, symbol, HANDLE_ALIGNMENT, 0, HANDLE_BYTES),
        (
            1,
            &image_name,
            IMAGE_ALIGNMENT,
            SymbolTable::WASM_SYM_BINDING_LOCAL,
            image_bytes,
        ),
    ] {
        format!(".data.{name}").encode(&mut segments);
        alignment.encode(&mut segments);
        0_u32.encode(&mut segments);
        let place = DataSymbolDefinition {
            index,
            offset: 0,
            size,
        };
        symbols.data(flags, name, Some(place));
    }
    let mut linking = Vec::new();
    LINKING_VERSION.encode(&mut linking);
    linking.push(SEGMENT_INFO);
    segments.encode(&mut linking);
    symbols.encode(&mut linking);

    const DATA_SECTION: u32 = 2;
    const MEMORY_ADDR_I32: u8 = 5;
    const IMAGE_SYMBOL: u32 = 1;
    let mut relocations = Vec::new();
    DATA_SECTION.encode(&mut relocations);
    1_u32.encode(&mut relocations);
    relocations.push(MEMORY_ADDR_I32);
    relocated.encode(&mut relocations);
    IMAGE_SYMBOL.encode(&mut relocations);
    0_i32.encode(&mut relocations);

    let mut module = Module::new();
    module
        .section(&imports)
        .section(&DataCountSection { count: 2 })
        .section(&RawSection {
            id: SectionId::Data.into(),
            data: &data,
        })
        .section(&CustomSection {
            name: "linking".into(),
            data: linking.into(),
        })
        .section(&CustomSection {
            name: "reloc.DATA".into(),
            data: relocations.into(),
        });
    module.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_names_of_c() {
        assert_eq!(symbol_of("my-kernel.spu"), "my_kernel_spu");
        assert_eq!(symbol_of("3d"), "_3d");
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, b"\0asm\x01\0\0\0").unwrap();
        let object = folder.path().join("object.o");
        assert_eq!(embed("spu_x", &program, &object), Ok(()));
        assert!(fs::read(&object).unwrap().starts_with(b"\0asm"));
        for symbol in ["", "a-b", "1a"] {
            assert!(embed(symbol, &program, &object).is_err(), "{symbol}");
        }
        fs::write(&program, b"\x7fELF").unwrap();
        let Err(Failed::Because(message)) = embed("spu_x", &program, &object) else {
            panic!("an ELF program is no WebAssembly");
        };
        assert!(message.contains("spu-gcc -o"), "{message}");
    }
}
