//! `ppu-embedspu`: an SPU program as an object of the PPU.
//!
//! The object has the symbol of a `spe_program_handle_t`, whose words are big-endian:
//!
//! ```text
//!   handle_size = 16 | elf_image ──► the bytes of the program | toe_shadow = 0 | image_bytes
//! ```

use std::fs;
use std::path::Path;

use super::tools::{Failed, because};
use super::wasm::{name, number, section, signed};

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
    let image = fs::read(program).map_err(|error| failed(program, error))?;
    if !image.starts_with(b"\0asm") {
        return Err(because(&format!(
            "{}: this is no SPU program; make one: spu-gcc -o NAME NAME.c",
            program.display()
        )));
    }
    fs::write(object, encode(symbol, &image)).map_err(|error| failed(object, error))
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
const ALIGNMENTS: [u32; 2] = [4, 7];

/// Returns a WebAssembly object with two data segments: the handle, and the image to which a word
/// of the handle is relocated.
fn encode(symbol: &str, image: &[u8]) -> Vec<u8> {
    let image_bytes = image.len() as u32;
    let handle: Vec<u8> = [HANDLE_BYTES, 0, 0, image_bytes]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();

    let mut module = b"\0asm\x01\0\0\0".to_vec();
    // The linker's memory of this name, with the pages that both segments take at least.
    let mut imports = number(1);
    imports.extend(name("env"));
    imports.extend(name("__linear_memory"));
    imports.extend([2, 0]);
    imports.extend(number((image_bytes + HANDLE_BYTES).div_ceil(1 << 16)));
    section(&mut module, 2, &imports);

    section(&mut module, 12, &number(2));
    let mut data = number(2);
    let mut relocated = 0;
    let mut at = 0;
    for (index, bytes) in [&handle[..], image].into_iter().enumerate() {
        // An active segment at the constant address `at`, which the linker replaces.
        data.extend([0, 0x41]);
        data.extend(signed(at));
        data.push(0x0b);
        data.extend(number(bytes.len() as u32));
        if index == 0 {
            relocated = data.len() + IMAGE_OFFSET;
        }
        data.extend_from_slice(bytes);
        at += bytes.len() as i64;
    }
    section(&mut module, 11, &data);
    const DATA_SECTION: u32 = 2;

    // WASM_SEGMENT_INFO and WASM_SYMBOL_TABLE of the tool conventions.
    let image_name = format!("{symbol}.image");
    let mut segments = number(2);
    for (segment, alignment) in [symbol, &image_name].into_iter().zip(ALIGNMENTS) {
        segments.extend(name(&format!(".data.{segment}")));
        segments.extend(number(alignment));
        segments.extend(number(0));
    }
    const DATA: u8 = 1;
    const LOCAL: u32 = 2;
    let mut symbols = number(2);
    for (segment, (text, flags, bytes)) in [
        (symbol, 0, HANDLE_BYTES),
        (image_name.as_str(), LOCAL, image_bytes),
    ]
    .into_iter()
    .enumerate()
    {
        symbols.push(DATA);
        symbols.extend(number(flags));
        symbols.extend(name(text));
        symbols.extend(number(segment as u32));
        symbols.extend(number(0));
        symbols.extend(number(bytes));
    }
    let mut linking = name("linking");
    linking.extend(number(2));
    for (kind, content) in [(5, &segments), (8, &symbols)] {
        linking.push(kind);
        linking.extend(number(content.len() as u32));
        linking.extend_from_slice(content);
    }
    section(&mut module, 0, &linking);

    const MEMORY_ADDR_I32: u8 = 5;
    let mut relocations = name("reloc.DATA");
    relocations.extend(number(DATA_SECTION));
    relocations.extend(number(1));
    relocations.push(MEMORY_ADDR_I32);
    relocations.extend(number(relocated as u32));
    relocations.extend(number(1));
    relocations.extend(signed(0));
    section(&mut module, 0, &relocations);
    module
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
