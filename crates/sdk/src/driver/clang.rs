//! The toolchain of the driver.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::tools::{Failed, Side, Tools};

/// Clang and LLD.
pub(crate) struct Clang;

fn run(command: &mut Command) -> Result<(), Failed> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failed::Said),
        Err(error) => Err(Failed::Because(format!(
            "{}: {error}",
            command.get_program().display()
        ))),
    }
}

impl Tools for Clang {
    fn compile(
        &self,
        _: Side,
        source: &Path,
        output: &Path,
        flags: &[String],
    ) -> Result<(), Failed> {
        run(Command::new("clang-22")
            .args([
                "--target=wasm32-wasip1",
                "-O2",
                "-g",
                "-Dmain=__cell_user_main",
            ])
            .args(flags)
            .arg("-c")
            .arg(source)
            .arg("-o")
            .arg(output))
    }

    fn preprocess(
        &self,
        _: Side,
        source: &Path,
        output: Option<&Path>,
        flags: &[String],
    ) -> Result<(), Failed> {
        let mut command = Command::new("clang-22");
        command
            .arg("--target=wasm32-wasip1")
            .args(flags)
            .arg("-E")
            .arg(source);
        if let Some(output) = output {
            command.arg("-o").arg(output);
        }
        run(&mut command)
    }

    fn link(&self, _: Side, inputs: &[PathBuf], output: &Path) -> Result<(), Failed> {
        run(Command::new("wasm-ld-22")
            .args(["--no-entry", "--export-all"])
            .args(inputs)
            .arg("-o")
            .arg(output))
    }

    fn version(&self) -> String {
        "clang".to_owned()
    }
}
