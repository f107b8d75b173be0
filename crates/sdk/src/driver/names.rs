//! The names by which Makefiles call the tools of the SDK.

use super::tools::Side;

/// A tool that a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// A compiler of gcc's command line, which also links.
    Compiler {
        side: Side,
        cpp: bool,
    },
    /// The linker, called directly.
    Linker(Side),
    EmbedSpu,
    Ar,
    /// A tool with nothing to do for WebAssembly.
    Nothing,
    /// A tool that only shows what is in a file, and shows nothing here.
    Viewer,
    /// A tool that is not here.
    Missing,
}

/// The names that `cellworks cc --env` puts on the PATH.
pub(crate) const NAMES: &[(&str, Tool)] = {
    use Side::{Ppu, Spu};
    use Tool::{Ar, EmbedSpu, Linker, Missing, Nothing, Viewer};
    const fn c(side: Side) -> Tool {
        Tool::Compiler { side, cpp: false }
    }
    const fn cpp(side: Side) -> Tool {
        Tool::Compiler { side, cpp: true }
    }
    &[
        ("embedspu", EmbedSpu),
        ("ppu-ar", Ar),
        ("ppu-as", Missing),
        ("ppu-c++", cpp(Ppu)),
        ("ppu-cpp", c(Ppu)),
        ("ppu-embedspu", EmbedSpu),
        ("ppu-g++", cpp(Ppu)),
        ("ppu-gcc", c(Ppu)),
        ("ppu-gdb", Missing),
        ("ppu-gfortran", Missing),
        ("ppu-ld", Linker(Ppu)),
        ("ppu-nm", Viewer),
        ("ppu-objcopy", Missing),
        ("ppu-objdump", Viewer),
        ("ppu-ranlib", Nothing),
        ("ppu-readelf", Viewer),
        ("ppu-size", Viewer),
        ("ppu-strip", Nothing),
        ("ppu32-ar", Ar),
        ("ppu32-as", Missing),
        ("ppu32-c++", cpp(Ppu)),
        ("ppu32-cpp", c(Ppu)),
        ("ppu32-embedspu", EmbedSpu),
        ("ppu32-g++", cpp(Ppu)),
        ("ppu32-gcc", c(Ppu)),
        ("ppu32-ld", Linker(Ppu)),
        ("ppu32-nm", Viewer),
        ("ppu32-objdump", Viewer),
        ("ppu32-ranlib", Nothing),
        ("ppu32-readelf", Viewer),
        ("ppu32-size", Viewer),
        ("ppu32-strip", Nothing),
        ("ppuxlc", c(Ppu)),
        ("ppuxlc++", cpp(Ppu)),
        ("spu-ar", Ar),
        ("spu-as", Missing),
        ("spu-c++", cpp(Spu)),
        ("spu-cpp", c(Spu)),
        ("spu-g++", cpp(Spu)),
        ("spu-gcc", c(Spu)),
        ("spu-gdb", Missing),
        ("spu-gfortran", Missing),
        ("spu-ld", Linker(Spu)),
        ("spu-nm", Viewer),
        ("spu-objcopy", Missing),
        ("spu-objdump", Viewer),
        ("spu-ranlib", Nothing),
        ("spu-readelf", Viewer),
        ("spu-size", Viewer),
        ("spu-strip", Nothing),
        ("spuxlc", c(Spu)),
        ("spuxlc++", cpp(Spu)),
    ]
};

/// The names of compilers and tools on a PlayStation 3 with Linux, where the PPU is the computer's
/// own processor. `cellworks cc --env --native` puts these on the PATH, too.
pub(crate) const NATIVE_NAMES: &[(&str, Tool)] = {
    use Tool::{Ar, Linker, Nothing};
    const C: Tool = Tool::Compiler {
        side: Side::Ppu,
        cpp: false,
    };
    const CPP: Tool = Tool::Compiler {
        side: Side::Ppu,
        cpp: true,
    };
    &[
        ("ar", Ar),
        ("c++", CPP),
        ("cc", C),
        ("g++", CPP),
        ("gcc", C),
        ("ld", Linker(Side::Ppu)),
        ("ranlib", Nothing),
        ("strip", Nothing),
    ]
};

/// Returns the tool with this name, or `None` if there is none.
pub(crate) fn tool(name: &str) -> Option<Tool> {
    let mut all = NAMES.iter().chain(NATIVE_NAMES);
    all.find(|(known, _)| *known == name).map(|(_, tool)| *tool)
}
