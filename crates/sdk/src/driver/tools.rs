//! What the driver needs of a toolchain.

use std::path::{Path, PathBuf};

/// A side of a Cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The PPU: `main` and the threads of libspe2.
    Ppu,
    /// An SPU program.
    Spu,
}

impl Side {
    /// Returns the name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ppu => "PPU",
            Self::Spu => "SPU",
        }
    }
}

/// Why a tool failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The tool has printed why.
    Said,
    /// The linker has printed which functions and variables are not defined.
    Undefined,
    /// The reason.
    Because(String),
}

/// Returns a failure with its reason.
pub(crate) fn because(message: &str) -> Failed {
    Failed::Because(message.to_owned())
}

/// What flags of the linker say of the stack of an SPU program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    /// The bytes that the heap leaves to it (`-z stack-size=`).
    pub bytes: Option<u32>,
    /// The address at which it begins and from which it grows down (`--defsym=__stack=`).
    pub top: Option<u32>,
}

/// A toolchain. Each method runs one tool to its end.
pub(crate) trait Tools {
    /// Compiles a source to an object.
    fn compile(
        &self,
        side: Side,
        source: &Path,
        output: &Path,
        flags: &[String],
    ) -> Result<(), Failed>;

    /// Writes what the preprocessor makes of a source to `output`, or to standard output.
    fn preprocess(
        &self,
        side: Side,
        source: &Path,
        output: Option<&Path>,
        flags: &[String],
    ) -> Result<(), Failed>;

    /// Links objects and archives to an executable module. `stack` is of an SPU program.
    fn link(
        &self,
        side: Side,
        stack: Stack,
        inputs: &[PathBuf],
        output: &Path,
    ) -> Result<(), Failed>;

    /// Returns the name and version of the compiler, such as `clang 22.1.8`.
    fn version(&self) -> String;
}
