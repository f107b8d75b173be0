//! `ppu-ar` and `spu-ar`: archives of objects.
//!
//! An archive is `!<arch>\n` and its members. A member is a header of 60 bytes, its bytes, and a
//! line feed if their number is odd. Names of more than 15 bytes are in a member `//`. The linker
//! (LLD 18 and newer) reads the symbols of the objects themselves, so an archive needs no index.

// Rejected: llvm-ar, which Debian has in another package than clang and LLD.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::tools::{Failed, because};

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_BYTES: usize = 60;

/// The longest name that a header holds, beside the `/` at its end.
const SHORT_NAME_MAX: usize = 15;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Runs `ar`, such as `ar rcs lib.a one.o two.o`.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failed> {
    let mut arguments = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"));
    let letters = arguments.next().ok_or_else(|| because(USAGE))?;
    let letters = letters.trim_start_matches('-');
    let of_operation = |letter: &char| "rqtxdps".contains(*letter);
    let operation = letters
        .chars()
        .find(|letter| of_operation(letter) && *letter != 's');
    let operation = operation.or_else(|| letters.contains('s').then_some('s'));
    let archive = arguments.next().ok_or_else(|| because(USAGE))?;
    let files: Vec<&String> = arguments.collect();
    let failed = |error: io::Error| because(&format!("{archive}: {error}"));
    let path = Path::new(archive);
    let old = || {
        if path.exists() {
            members(path).map_err(failed)
        } else {
            Ok(Vec::new())
        }
    };
    let present = || members(path).map_err(failed);
    let wanted =
        |member: &Member| files.is_empty() || files.iter().any(|file| name_of(file) == member.name);
    match operation {
        Some('r' | 'q') => {
            let mut all = old()?;
            for file in files {
                let bytes = fs::read(file).map_err(|error| because(&format!("{file}: {error}")))?;
                let name = name_of(file);
                let new = Member { name, bytes };
                match all.iter_mut().find(|member| member.name == new.name) {
                    Some(member) if operation == Some('r') => *member = new,
                    _ => all.push(new),
                }
            }
            fs::write(path, encode(&all)).map_err(failed)
        }
        Some('d') => {
            let mut all = present()?;
            all.retain(|member| files.is_empty() || !wanted(member));
            fs::write(path, encode(&all)).map_err(failed)
        }
        Some('t') => {
            let all = present()?;
            let names = all.iter().filter(|member| wanted(member));
            let text: String = names.map(|member| format!("{}\n", member.name)).collect();
            io::stdout().write_all(text.as_bytes()).map_err(failed)
        }
        Some('x') => {
            for member in present()?.iter().filter(|member| wanted(member)) {
                // A name of an archive has no folders, or the file could be written anywhere.
                let file = name_of(&member.name);
                fs::write(&file, &member.bytes)
                    .map_err(|error| because(&format!("{file}: {error}")))?;
            }
            Ok(())
        }
        Some('p') => {
            let all = present()?;
            let mut all = all.iter().filter(|member| wanted(member));
            all.try_for_each(|member| io::stdout().write_all(&member.bytes))
                .map_err(failed)
        }
        // An archive has no index.
        Some('s') => present().map(drop),
        _ => Err(because(USAGE)),
    }
}

const USAGE: &str = "the arguments are an operation, an archive and files, such as `rcs lib.a one.o two.o`; the \
                     operations are r, q, d, t, x, p and s";

fn name_of(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(
        || "member".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Reads the members of an archive, without its index.
pub(crate) fn members(path: &Path) -> io::Result<Vec<Member>> {
    decode(&fs::read(path)?)
}

fn decode(bytes: &[u8]) -> io::Result<Vec<Member>> {
    let broken = |what: &str| io::Error::other(format!("this is no archive: {what}"));
    let mut rest = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| broken("it does not begin as one"))?;
    let mut names: &[u8] = &[];
    let mut members = Vec::new();
    while !rest.is_empty() {
        let (header, after) = rest
            .split_at_checked(HEADER_BYTES)
            .ok_or_else(|| broken("it ends within a header"))?;
        let text = |from: usize, to: usize| {
            String::from_utf8_lossy(&header[from..to])
                .trim_end()
                .to_owned()
        };
        let size: usize = text(48, 58)
            .parse()
            .map_err(|_| broken("a size is no number"))?;
        let (content, after) = after
            .split_at_checked(size)
            .ok_or_else(|| broken("it ends within a member"))?;
        rest = after.get(size % 2..).unwrap_or(&[]);
        let name = text(0, 16);
        match name.as_str() {
            "/" | "/SYM64/" | "__.SYMDEF" => {}
            "//" => names = content,
            _ => {
                let long = name
                    .strip_prefix('/')
                    .and_then(|at| at.parse::<usize>().ok());
                let long_bsd = name
                    .strip_prefix("#1/")
                    .and_then(|n| n.parse::<usize>().ok());
                let (name, content) = match (long, long_bsd) {
                    (Some(at), _) => {
                        let name = names.get(at..).ok_or_else(|| broken("a name is missing"))?;
                        let end = name.iter().position(|byte| matches!(byte, b'/' | b'\n'));
                        let name = &name[..end.unwrap_or(name.len())];
                        (String::from_utf8_lossy(name).into_owned(), content)
                    }
                    (None, Some(bytes)) => {
                        let (name, content) = content
                            .split_at_checked(bytes)
                            .ok_or_else(|| broken("a name is missing"))?;
                        let name = String::from_utf8_lossy(name);
                        (name.trim_end_matches('\0').to_owned(), content)
                    }
                    (None, None) => (name.trim_end_matches('/').to_owned(), content),
                };
                members.push(Member {
                    name,
                    bytes: content.to_vec(),
                });
            }
        }
    }
    Ok(members)
}

pub(crate) fn encode(members: &[Member]) -> Vec<u8> {
    let mut names = Vec::new();
    let mut body = Vec::new();
    for member in members {
        let name = match member.name.len() {
            0..=SHORT_NAME_MAX => format!("{}/", member.name),
            _ => {
                let at = names.len();
                names.extend_from_slice(format!("{}/\n", member.name).as_bytes());
                format!("/{at}")
            }
        };
        add(&mut body, &name, &member.bytes);
    }
    let mut all = MAGIC.to_vec();
    if !names.is_empty() {
        add(&mut all, "//", &names);
    }
    all.extend(body);
    all
}

/// Adds a member. Its time and owner are 0, so that equal objects make equal archives.
fn add(archive: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let header = format!(
        "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
        0,
        0,
        0,
        "100644",
        bytes.len()
    );
    debug_assert_eq!(header.len(), HEADER_BYTES);
    archive.extend_from_slice(header.as_bytes());
    archive.extend_from_slice(bytes);
    if bytes.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, bytes: &[u8]) -> Member {
        Member {
            name: name.to_owned(),
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let all = [
            member("one.o", b"odd"),
            member("fifteen_bytes.o", b"even"),
            member("a_name_of_more_than_sixteen_bytes.o", b""),
            member("another_name_of_more_than_sixteen_bytes.o", b"\0asm"),
        ];
        assert_eq!(decode(&encode(&all)).unwrap(), all);
    }

    #[test]
    fn the_layout_is_that_of_other_tools() {
        let bytes = encode(&[member("a.o", b"xyz")]);
        let expected =
            "!<arch>\na.o/            0           0     0     100644  3         `\nxyz\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn names_and_indexes_of_other_tools_are_read() {
        let header = |name: &str, size: usize| format!("{name:<16}{:<32}{size:<10}`\n", "0");
        let text = format!(
            "!<arch>\n{}abcd{}n.o\0x{}y\n",
            header("/", 4),
            header("#1/4", 5),
            header("plain.o", 1)
        );
        // The member before has an odd number of bytes.
        let text = text.replace("n.o\0x", "n.o\0x\n");
        assert_eq!(
            decode(text.as_bytes()).unwrap(),
            [member("n.o", b"x"), member("plain.o", b"y")]
        );
    }

    #[test]
    fn cut_off_archives_are_errors() {
        let whole = encode(&[member("a_name_of_more_than_sixteen_bytes.o", b"four")]);
        for end in [0, 4, 20, 70, whole.len() - 1] {
            let read = decode(&whole[..end]);
            assert!(read.is_err(), "{end} bytes: {read:?}");
        }
    }
}
