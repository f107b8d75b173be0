//! A program of an SPU that is run by itself, as by `spu-gcc -o sum sum.c && ./sum`: Linux on a
//! Cell gave it a context.

use std::fs;
use std::path::Path;

use super::compiler::compile_and_link;
use super::embed::embed;
use super::flags::{Input, Job};
use super::tools::{Failed, Side, Tools, because};

/// The program of the PPU that runs it.
const LOADER: &str = include_str!("../../c/alone.c");

/// Returns a program of the PPU that contains the SPU program in a file, and runs it.
pub(crate) fn with_loader(tools: &dyn Tools, program: &Path) -> Result<Vec<u8>, Failed> {
    let failed = |error: std::io::Error| because(&format!("{}: {error}", program.display()));
    let kept = tempfile::tempdir().map_err(failed)?;
    let [source, object, output] =
        ["alone.c", "program.o", "alone"].map(|name| kept.path().join(name));
    fs::write(&source, LOADER).map_err(failed)?;
    embed("program", program, &object)?;
    let job = Job {
        inputs: vec![
            Input::Source {
                path: source.display().to_string(),
                language: None,
            },
            Input::Object(object.display().to_string()),
        ],
        output: Some(output.display().to_string()),
        // Its lines are not the user's.
        flags: vec![format!(
            "-fdebug-prefix-map={}=/cellworks",
            kept.path().display()
        )],
        ..Job::default()
    };
    compile_and_link(tools, Side::Ppu, &job)?;
    fs::read(&output).map_err(failed)
}
