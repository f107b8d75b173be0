//! Addresses in the data of a linked module.

use std::fmt;

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
    let mut reader = Reader {
        bytes: module,
        at: 0,
    };
    if reader.take(8, "the header of a module")? != b"\0asm\x01\0\0\0" {
        return Err(LinkError::Damaged {
            at: 0,
            what: "the header of a module",
        });
    }
    let mut sections = Vec::new();
    while reader.at < module.len() {
        let start = reader.at;
        let kind = reader.byte()?;
        let length = reader.number()?;
        let body = reader.at;
        reader.take(length, "a section as long as it says")?;
        sections.push(Section {
            kind,
            start,
            body,
            end: reader.at,
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
        let at = reader.at;
        std::str::from_utf8(reader.take(length, "the name of a section")?).map_err(|_| {
            LinkError::Damaged {
                at,
                what: "the name of a section",
            }
        })
    }

    fn reader<'m>(&self, module: &'m [u8]) -> Reader<'m> {
        Reader {
            bytes: &module[..self.end],
            at: self.body,
        }
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
        let at = reader.at;
        let target = reader.number()?;
        let target = sections.get(target).ok_or(LinkError::Damaged {
            at,
            what: "the number of a section",
        })?;
        if target.kind != DATA {
            return Ok(());
        }
        for _ in 0..reader.number()? {
            let at = reader.at;
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

/// Bytes that are read from a place on.
struct Reader<'m> {
    bytes: &'m [u8],
    at: usize,
}

impl<'m> Reader<'m> {
    fn take(&mut self, length: usize, what: &'static str) -> Result<&'m [u8], LinkError> {
        let damaged = LinkError::Damaged { at: self.at, what };
        let end = self.at.checked_add(length).ok_or(damaged)?;
        let taken = self
            .bytes
            .get(self.at..end)
            .ok_or(LinkError::Damaged { at: self.at, what })?;
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, LinkError> {
        Ok(self.take(1, "a byte")?[0])
    }

    /// Reads a number of at most 32 bits in the form LEB128.
    fn number(&mut self) -> Result<usize, LinkError> {
        let at = self.at;
        let mut number = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return usize::try_from(number).map_err(|_| LinkError::Damaged {
                    at,
                    what: "a number",
                });
            }
        }
        Err(LinkError::Damaged {
            at,
            what: "a number of at most 5 bytes",
        })
    }

    /// Passes over a number with a sign.
    fn skip_number(&mut self) -> Result<(), LinkError> {
        while self.byte()? >= 0x80 {}
        Ok(())
    }
}
