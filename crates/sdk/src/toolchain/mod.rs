//! Clang and LLD, as the driver uses them.
//!
//! ```text
//!   C ─► clang (front end of the PowerPC) ─► IR ─► big-endian ─► IR ─► clang (wasm32) ─► object
//!   objects, crt, the C library ─► wasm-ld ─► addresses in data turned round, shuffles of one
//!                                         vector, tests of all numbers ─► module
//! ```
//!
//! The C library is compiled in the same way, once for each user; see `library`. So is that of C++,
//! for programs that need it; see `cplusplus`.

mod alignments;
mod any_lane;
mod cache;
mod compile;
mod cplusplus;
mod cpp_source;
mod library;
mod link;
mod overloads;
mod programs;
mod remedies;
mod shuffles;
mod uses;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::driver::cache as cache_folder;
use crate::driver::tools::{Failed, Side, Stack, Tools, because};

use compile::{FrontEnd, cannot_run};
use library::Library;
use programs::Programs;

/// The clang and LLD of this computer.
pub(crate) struct Toolchain;

/// The programs and folders that compile.
struct Ready {
    programs: Programs,
    cache: PathBuf,
    own: PathBuf,
    library: Library,
}

impl Ready {
    fn new() -> Result<Self, Failed> {
        let programs = Programs::find()?;
        let cache = cache_folder().map_err(Failed::Because)?;
        let own = cache::own_files(&cache)?;
        let library = Library::ready(&programs, &cache, &own)?;
        Ok(Self {
            programs,
            cache,
            own,
            library,
        })
    }

    fn front_end(&self, side: Side) -> FrontEnd<'_> {
        FrontEnd::new(&self.programs, side, &self.own, self.library.folder())
    }
}

impl Tools for Toolchain {
    fn compile(
        &self,
        side: Side,
        source: &Path,
        output: &Path,
        flags: &[String],
    ) -> Result<(), Failed> {
        let ready = Ready::new()?;
        ready
            .front_end(side)
            .for_user(side, &ready.cache)
            .compile(source, output, flags)?;
        // So the linker of the other side can refuse it.
        let sign = link::side_of_object(side);
        let appended = OpenOptions::new().append(true).open(output);
        let appended = appended.and_then(|mut object| object.write_all(&sign));
        appended.map_err(|error| because(&format!("{}: {error}", output.display())))
    }

    fn preprocess(
        &self,
        side: Side,
        source: &Path,
        output: Option<&Path>,
        flags: &[String],
    ) -> Result<(), Failed> {
        let ready = Ready::new()?;
        let front = ready.front_end(side).for_user(side, &ready.cache);
        let front = front.for_preprocessor(source, flags)?;
        let mut command = front.command();
        command.arg("-E").args(flags).arg(source);
        if let Some(output) = output {
            command.arg("-o").arg(output);
        }
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(Failed::Said),
            Err(error) => Err(cannot_run(front.clang, &error)),
        }
    }

    fn link(
        &self,
        side: Side,
        stack: Stack,
        inputs: &[PathBuf],
        output: &Path,
    ) -> Result<(), Failed> {
        let ready = Ready::new()?;
        let mut all = inputs.to_vec();
        if side == Side::Ppu && cpp_source::is_used_by(inputs) {
            let libc = ready.library.folder();
            all.push(cplusplus::library(
                &ready.programs,
                &ready.cache,
                &ready.own,
                libc,
            )?);
        }
        all.extend(ready.library.archives(side, &ready.programs, &ready.own)?);
        link::link(&ready.programs.linker, side, stack, &all, output)
    }

    fn version(&self) -> String {
        let said = Programs::find()
            .ok()
            .and_then(|found| programs::said(&found.clang));
        let version = said.as_deref().and_then(programs::full);
        version.map_or_else(
            || "no clang".to_owned(),
            |version| format!("clang {version}"),
        )
    }
}
