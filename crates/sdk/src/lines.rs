//! Lines of C in the debugging information of a module or an object.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{Dwarf, EndianArcSlice, LittleEndian};

/// What the file names of our own headers and library begin with: such lines are not the user's.
const OUR_FILES: &str = "/cellworks/";

type Bytes = EndianArcSlice<LittleEndian>;

/// The sections `.debug_...` of a module or an object.
pub(crate) type Sections = HashMap<String, Vec<u8>>;

/// The lines of a module or an object.
pub(crate) struct Lines(addr2line::Context<Bytes>);

impl Lines {
    /// Returns the lines that these sections know, or `None` if they cannot be read.
    pub(crate) fn new(mut sections: Sections) -> Option<Self> {
        let section = |id: gimli::SectionId| {
            let bytes = sections.remove(id.name()).unwrap_or_default();
            Ok::<_, gimli::Error>(EndianArcSlice::new(Arc::from(bytes), LittleEndian))
        };
        let dwarf = Dwarf::load(section).ok()?;
        addr2line::Context::from_dwarf(dwarf).ok().map(Self)
    }

    /// Returns the innermost line of the user's code at an address, as `mandel.c:12:3 in render`.
    /// Addresses count from the start of the code section.
    pub(crate) fn at(&self, address: u64) -> Option<String> {
        let mut frames = self.0.find_frames(address).skip_all_loads().ok()?;
        while let Ok(Some(frame)) = frames.next() {
            let Some(location) = frame.location else {
                continue;
            };
            let (Some(file), Some(line)) = (location.file, location.line) else {
                continue;
            };
            if file.starts_with(OUR_FILES) || line == 0 {
                continue;
            }
            // The start of a function has no column.
            let column = location.column.filter(|column| *column > 0);
            let column = column.map(|column| format!(":{column}"));
            let column = column.unwrap_or_default();
            let function = frame
                .function
                .and_then(|name| Some(name.demangle().ok()?.into_owned()));
            let function = function
                .map(|name| match name.as_str() {
                    // The macro of our headers for `main`.
                    "__cell_main" => " in main".to_owned(),
                    name if name.starts_with("_Z11__cell_main") => " in main".to_owned(),
                    name => format!(" in {name}"),
                })
                .unwrap_or_default();
            return Some(format!("{file}:{line}{column}{function}"));
        }
        None
    }
}
