//! Addresses in the data of a linked module.

use std::fmt;

use wasmparser::BinaryReader;

/// Why the addresses of a module cannot be turned round.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The bytes are no module of WebAssembly, or they end too early.
    #[error("the linked module is damaged at byte {at}: {what}")]
    Damaged {
        /// Where the first byte is that does not fit.
        at: usize,
        /// What was expected there.
        what: &'static str,
    },
    /// The linker wrote something into data that is not an address of 4 bytes.
    #[error(
        "the data of the linked module has a relocation of kind {kind}, which is not an address of 4 bytes"
    )]
    Relocation {
        /// The number of the kind in WebAssembly's conventions for linking.
        kind: u8,
    },
}

impl fmt::Debug for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Turns round the addresses that the linker wrote into the data of a module.
///
/// `module` comes from `wasm-ld --emit-relocs`. The result has no sections of relocations.
///
/// # Errors
///
/// The module is damaged, or its data has a relocation that is no address of 4 bytes.
pub fn swap_pointers(module: &[u8]) -> Result<Vec<u8>, LinkError> {
    let mut reader = Reader(BinaryReader::new(module, 0));
    let header = "the header of a module";
    if reader.take(8, header)? != b"\0asm\x01\0\0\0" {
        return Err(LinkError::Damaged {
            at: 0,
            what: header,
        });
    }
    let mut sections = Vec::new();
    while !reader.0.eof() {
        let start = reader.at();
        let kind = reader.byte()?;
        let length = reader.number()?;
        let body = reader.at();
        reader.take(length, "a section as long as it says")?;
        sections.push(Section {
            kind,
            start,
            body,
            end: reader.at(),
        });
    }
    let mut swapped = module.to_vec();
    let mut kept = module[..8].to_vec();
    for section in &sections {
        if section.name(module)?.starts_with("reloc.") {
            section.relocate(module, &sections, &mut swapped)?;
        }
    }
    for section in &sections {
        let name = section.name(module)?;
        if !name.starts_with("reloc.") && name != "linking" {
            kept.extend_from_slice(&swapped[section.start..section.end]);
        }
    }
    Ok(kept)
}

/// The number of the section of data.
const DATA: u8 = 11;

/// Addresses of 4 bytes: of a function in the table, and of a place in memory.
const ADDRESSES: [u8; 2] = [2, 5];

/// Where a section lies in the module.
struct Section {
    kind: u8,
    start: usize,
    body: usize,
    end: usize,
}

impl Section {
    /// Returns the name of a custom section; it is empty for other sections.
    fn name<'m>(&self, module: &'m [u8]) -> Result<&'m str, LinkError> {
        if self.kind != 0 {
            return Ok("");
        }
        let mut reader = self.reader(module);
        let length = reader.number()?;
        let at = reader.at();
        std::str::from_utf8(reader.take(length, "the name of a section")?).map_err(|_| {
            LinkError::Damaged {
                at,
                what: "the name of a section",
            }
        })
    }

    fn reader<'m>(&self, module: &'m [u8]) -> Reader<'m> {
        Reader(BinaryReader::new(&module[self.body..self.end], self.body))
    }

    /// Turns round the addresses that this section of relocations names, if they are in data.
    fn relocate(
        &self,
        module: &[u8],
        sections: &[Self],
        swapped: &mut [u8],
    ) -> Result<(), LinkError> {
        let mut reader = self.reader(module);
        let name = reader.number()?;
        reader.take(name, "the name of a section")?;
        let at = reader.at();
        let target = reader.number()?;
        let target = sections.get(target).ok_or(LinkError::Damaged {
            at,
            what: "the number of a section",
        })?;
        if target.kind != DATA {
            return Ok(());
        }
        for _ in 0..reader.number()? {
            let at = reader.at();
            let kind = reader.byte()?;
            let offset = reader.number()?;
            reader.number()?;
            if !ADDRESSES.contains(&kind) {
                return Err(LinkError::Relocation { kind });
            }
            if kind == 5 {
                reader.skip_number()?;
            }
            let data = &mut swapped[target.body..target.end];
            offset
                .checked_add(4)
                .and_then(|end| data.get_mut(offset..end))
                .ok_or(LinkError::Damaged {
                    at,
                    what: "the place of an address in data",
                })?
                .reverse();
        }
        Ok(())
    }
}

/// Reads, and says what was expected where the bytes do not fit.
struct Reader<'m>(BinaryReader<'m>);

impl<'m> Reader<'m> {
    /// Returns the place in the module.
    fn at(&self) -> usize {
        self.0.original_position()
    }

    fn expect<T>(
        &mut self,
        what: &'static str,
        read: impl FnOnce(&mut BinaryReader<'m>) -> wasmparser::Result<T>,
    ) -> Result<T, LinkError> {
        let at = self.at();
        read(&mut self.0).map_err(|_| LinkError::Damaged { at, what })
    }

    fn take(&mut self, length: usize, what: &'static str) -> Result<&'m [u8], LinkError> {
        self.expect(what, |bytes| bytes.read_bytes(length))
    }

    fn byte(&mut self) -> Result<u8, LinkError> {
        self.expect("a byte", BinaryReader::read_u8)
    }

    fn number(&mut self) -> Result<usize, LinkError> {
        let number = self.expect("a number of at most 5 bytes", BinaryReader::read_var_u32)?;
        Ok(number as usize)
    }

    /// Passes over a number with a sign.
    fn skip_number(&mut self) -> Result<(), LinkError> {
        self.expect("a number of at most 5 bytes", BinaryReader::read_var_i32)?;
        Ok(())
    }
}
