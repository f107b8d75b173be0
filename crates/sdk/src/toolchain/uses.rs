//! Where an object uses a function or a variable of others, by its relocations and its debugging
//! information.

use std::env;

use wasmparser::{
    KnownCustom, Linking, Parser, Payload, RelocationType, SymbolFlags, SymbolInfo, TypeRef,
};

use crate::lines::{Lines, Sections};

/// Returns the first line of C at which an object uses `symbol`, as `main.c:12:3 in main`. Returns
/// `None` if none is known, as for variables that are initialised with its address.
pub(super) fn first_use(object: &[u8], symbol: &str) -> Option<String> {
    let mut sections = Sections::new();
    let mut imported = Vec::new();
    let mut numbers = Vec::new();
    let mut uses = Vec::new();
    for payload in Parser::new(0).parse_all(object) {
        match payload.ok()? {
            Payload::ImportSection(reader) => {
                for import in reader.into_imports() {
                    let import = import.ok()?;
                    if let TypeRef::Func(_) = import.ty {
                        imported.push(import.name);
                    }
                }
            }
            Payload::CustomSection(section) if section.name().starts_with(".debug_") => {
                sections.insert(section.name().to_owned(), section.data().to_vec());
            }
            Payload::CustomSection(section) => match section.as_known() {
                KnownCustom::Linking(linking) => {
                    for part in linking.subsections() {
                        let Linking::SymbolTable(table) = part.ok()? else {
                            continue;
                        };
                        for (number, one) in (0_u32..).zip(table) {
                            if name_of_undefined(&one.ok()?, &imported) == Some(symbol) {
                                numbers.push(number);
                            }
                        }
                    }
                }
                KnownCustom::Reloc(relocations) if section.name() == "reloc.CODE" => {
                    for one in relocations.entries() {
                        let one = one.ok()?;
                        // The index of this type is no symbol.
                        if one.ty != RelocationType::TypeIndexLeb && numbers.contains(&one.index) {
                            uses.push(u64::from(one.offset));
                        }
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
    let lines = Lines::new(sections)?;
    let line = uses.into_iter().find_map(|offset| lines.at(offset))?;
    let folder = env::current_dir().ok()?.display().to_string() + "/";
    Some(line.strip_prefix(&folder).unwrap_or(&line).to_owned())
}

fn name_of_undefined<'a>(symbol: &SymbolInfo<'a>, imported: &[&'a str]) -> Option<&'a str> {
    match symbol {
        SymbolInfo::Func { flags, index, name } if flags.contains(SymbolFlags::UNDEFINED) => {
            name.or_else(|| imported.get(*index as usize).copied())
        }
        SymbolInfo::Data { flags, name, .. } if flags.contains(SymbolFlags::UNDEFINED) => {
            Some(name)
        }
        _ => None,
    }
}
