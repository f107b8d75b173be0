//! The compiler driver: `cellworks cc`, and the tools that Makefiles for the Cell SDK call.
//!
//! ```text
//!   cellworks cc -o hello a.c b_spu.c ─► one_line ─► sources: which is of the SPU?
//!                                           │
//!   ppu-gcc, spu-gcc, ppuxlc ... ─► flags ─► compiler ─► tools (clang, wasm-ld)
//!   ppu-embedspu ─► embed               ppu-ar ─► ar
//! ```
//!
//! One executable has all of these names, and the name by which it is called says what it is.

pub(crate) mod adapters;
mod alone;
pub(crate) mod ar;
mod compiler;
mod embed;
mod flags;
mod folders;
mod names;
mod one_line;
mod sources;
pub(crate) mod tools;

use std::ffi::{OsStr, OsString};
use std::path::Path;

pub use folders::cache;
pub use tools::Side;

use crate::toolchain::Toolchain;
use names::Tool;
use tools::{Failed, Tools, because};

/// Runs the tool whose name is the file name of `executable`, and returns the exit code. Returns
/// `None` if there is no tool of this name.
pub fn run_tool(executable: &OsStr, arguments: &[OsString]) -> Option<u8> {
    let name = Path::new(executable).file_name()?.to_str()?;
    let tool = names::tool(name)?;
    Some(match texts(arguments) {
        Ok(arguments) => run_named(&Toolchain, name, tool, &arguments),
        Err(failed) => compiler::code(name, Err(failed)),
    })
}

/// Runs `cellworks cc` with these arguments, and returns the exit code.
pub fn cc(arguments: &[OsString]) -> u8 {
    match texts(arguments) {
        Ok(arguments) => one_line::run(&Toolchain, &arguments),
        Err(failed) => compiler::code("cellworks cc", Err(failed)),
    }
}

/// Returns a program that runs the SPU program in the file `program` by itself.
///
/// # Errors
///
/// Returns the reason as a sentence if there is no toolchain for it, or it has failed.
pub(crate) fn alone(program: &Path) -> Result<Vec<u8>, String> {
    alone::with_loader(&Toolchain, program).map_err(|failed| match failed {
        Failed::Because(why) => why,
        Failed::Said | Failed::Undefined => "it could not be made a program of the PPU".to_owned(),
    })
}

fn run_named(tools: &dyn Tools, name: &str, tool: Tool, arguments: &[String]) -> u8 {
    let end = match tool {
        Tool::Compiler { side, cpp } => return compiler::run(tools, name, side, cpp, arguments),
        Tool::Linker(side) => return compiler::run(tools, name, side, false, arguments),
        Tool::EmbedSpu => embed::run(arguments),
        Tool::Ar => ar::run(arguments),
        Tool::Nothing => Ok(()),
        // Makefiles call these for the person who reads what they print.
        Tool::Viewer => {
            eprintln!(
                "{name}: note: nothing is shown, because programs become WebAssembly and not code of the Cell; the tools \
                 of LLVM, such as llvm-objdump, llvm-nm and llvm-size, read the objects"
            );
            Ok(())
        }
        Tool::Missing => Err(because(
            "this tool is not here, because programs become WebAssembly and not code of the Cell; the tools of LLVM, \
             such as llvm-objcopy and llvm-objdump, read the objects",
        )),
    };
    compiler::code(name, end)
}

fn texts(arguments: &[OsString]) -> Result<Vec<String>, Failed> {
    let text = |argument: &OsString| {
        argument
            .clone()
            .into_string()
            .map_err(|text| because(&format!("{}: this argument is no UTF-8", text.display())))
    };
    arguments.iter().map(text).collect()
}
