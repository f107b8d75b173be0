//! Which sources of `cellworks cc` are of which SPU program.
//!
//! A source is of an SPU if it includes a header of the SPU. Else its name or its folder decides.
//! The programs have the names by which the sources of the PPU know them: as symbols (`extern
//! spe_program_handle_t NAME`) or as files (`spe_image_open("FILE")`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::compiler::stem;

/// An SPU program and how the PPU finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub place: Place,
    pub sources: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Embedded, with this symbol.
    Symbol(String),
    /// A file beside the program of the PPU.
    File(PathBuf),
}

/// The sources of both sides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    pub ppu: Vec<String>,
    pub programs: Vec<Program>,
}

/// Divides sources. `given` are programs that the user has named, whose sources are not in `all`.
///
/// # Errors
///
/// A sentence about what is not clear, with the form in which the user can say it.
pub(crate) fn divide(all: &[String], given: Vec<Program>) -> Result<Sources, String> {
    let mut read = BTreeMap::new();
    for path in all {
        let text = fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("{path}: No such file or directory"),
            _ => format!("{path}: {error}"),
        })?;
        let text = String::from_utf8_lossy(&text).into_owned();
        read.insert(path.clone(), with_own_headers(Path::new(path), &text));
    }
    divide_texts(all, &read, given)
}

fn divide_texts(
    all: &[String],
    texts: &BTreeMap<String, String>,
    given: Vec<Program>,
) -> Result<Sources, String> {
    let mut ppu = Vec::new();
    let mut spu = Vec::new();
    for path in all {
        if is_of_spu(path, &texts[path]) {
            spu.push(path.clone())
        } else {
            ppu.push(path.clone())
        }
    }
    if ppu.is_empty() {
        return Err("no source is of the PPU, which starts the SPU programs; name it, or compile a single SPU program \
                    with spu-gcc"
            .to_owned());
    }
    if spu.is_empty() {
        return Ok(Sources {
            ppu,
            programs: given,
        });
    }
    let of_ppu = ppu.iter().map(|path| texts[path].as_str());
    let named: BTreeSet<&String> = given
        .iter()
        .filter_map(|program| match &program.place {
            Place::Symbol(name) => Some(name),
            Place::File(_) => None,
        })
        .collect();
    let of_ppu: Vec<&str> = of_ppu.collect();
    let symbols: BTreeSet<String> = of_ppu.iter().flat_map(|text| handles(text)).collect();
    let symbols = symbols.into_iter().filter(|name| !named.contains(name));
    let files: BTreeSet<String> = of_ppu.iter().flat_map(|text| opened(text)).collect();
    let places: Vec<Place> = symbols
        .map(Place::Symbol)
        .chain(files.into_iter().map(|file| Place::File(file.into())))
        .collect();
    let programs = match_up(&spu, texts, &places)?;
    Ok(Sources {
        ppu,
        programs: given.into_iter().chain(programs).collect(),
    })
}

/// Gives each place its sources. A source without `main` is of all programs.
fn match_up(
    spu: &[String],
    texts: &BTreeMap<String, String>,
    places: &[Place],
) -> Result<Vec<Program>, String> {
    let (mains, shared): (Vec<&String>, Vec<&String>) =
        spu.iter().partition(|path| has_main(&texts[*path]));
    let program = |place: &Place, main: Option<&String>| Program {
        place: place.clone(),
        sources: main
            .into_iter()
            .chain(shared.iter().copied())
            .cloned()
            .collect(),
    };
    let unclear = |why: String| {
        let names = places.iter().map(|place| match place {
            Place::Symbol(name) => name.clone(),
            Place::File(file) => stem(&file.display().to_string()),
        });
        let names: Vec<String> = if places.is_empty() {
            mains.iter().map(|path| stem(path)).collect()
        } else {
            names.collect()
        };
        let examples = names.iter().enumerate().map(|(at, name)| {
            let source = mains
                .get(at)
                .or(mains.last())
                .map_or("FILE.c", |path| path.as_str());
            format!(" --spu {name}={source}")
        });
        let examples: String = examples.collect();
        format!("{why}; say which source is of which program, such as{examples}")
    };
    match (mains.as_slice(), places) {
        (_, []) => Err(unclear(
            "no source of the PPU has `extern spe_program_handle_t NAME` or spe_image_open(\"FILE\")".to_owned(),
        )),
        ([], _) => Err(unclear("no source of the SPU has a function `main`".to_owned())),
        ([main], [place]) => Ok(vec![program(place, Some(main))]),
        (mains, places) => {
            let mut programs = Vec::new();
            let mut free: Vec<&&String> = mains.iter().collect();
            // A program that is opened by its name may be there already.
            let mut missing = None;
            for place in places {
                let wanted = match place {
                    Place::Symbol(name) => core_of(name),
                    Place::File(file) => core_of(&stem(&file.display().to_string())),
                };
                let fits = |path: &&&&String| core_of(&stem(path)) == wanted;
                let fitting: Vec<&&String> = mains.iter().filter(|path| fits(&path)).collect();
                let [main] = fitting[..] else {
                    let what = match place {
                        Place::Symbol(name) => format!("spe_program_handle_t {name}"),
                        Place::File(file) => format!("spe_image_open(\"{}\")", file.display()),
                    };
                    let error = unclear(format!(
                        "{} sources of the SPU have a name like that of {what}",
                        fitting.len()
                    ));
                    if fitting.is_empty() && matches!(place, Place::File(_)) {
                        missing = missing.or(Some(error));
                        continue;
                    }
                    return Err(error);
                };
                free.retain(|path| *path != main);
                programs.push(program(place, Some(main)));
            }
            match (free.first(), missing) {
                (None, _) => Ok(programs),
                (_, Some(error)) => Err(error),
                (Some(path), None) => Err(unclear(format!("no program of the PPU has a name like {path}; leave it out if none needs it"))),
            }
        }
    }
}

/// Returns the part of a name that the names of a source, a program and its handle share.
fn core_of(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace(['-', '.'], "_");
    let parts = name.split('_');
    let parts = parts.filter(|part| {
        ![
            "spu", "spe", "handle", "program", "prog", "elf", "main", "code", "image", "",
        ]
        .contains(part)
    });
    parts.collect::<Vec<_>>().join("_")
}

fn is_of_spu(path: &str, text: &str) -> bool {
    let includes: Vec<&str> = includes(text).map(|(name, _)| name).collect();
    let any = |all: &[&str]| includes.iter().any(|name| all.contains(name));
    let by_spu =
        includes.iter().any(|name| name.starts_with("spu_")) || any(&["cbe_mfc.h", "vmx2spu.h"]);
    let by_ppu = any(&[
        "libspe2.h",
        "libspe.h",
        "pthread.h",
        "ppu_intrinsics.h",
        "altivec.h",
        "vec_literal.h",
        "spu2vmx.h",
        "si2vmx.h",
    ]);
    match (by_spu, by_ppu) {
        (true, false) => true,
        (false, true) => false,
        // Headers of both sides, which a condition chooses, or of none: the name decides.
        _ => is_named_for_spu(path),
    }
}

fn is_named_for_spu(path: &str) -> bool {
    let path = Path::new(path);
    let words = |text: &str| -> Vec<String> {
        let text = text.to_ascii_lowercase();
        let words = text.split(|letter: char| !letter.is_ascii_alphabetic());
        words.map(str::to_owned).collect()
    };
    let is_spu = |word: &String| ["spu", "spe", "spus", "spes"].contains(&word.as_str());
    let is_ppu = |word: &String| ["ppu", "ppe"].contains(&word.as_str());
    let of_name = words(&path.file_stem().unwrap_or_default().to_string_lossy());
    if of_name.iter().any(is_spu) || of_name.iter().any(is_ppu) {
        return of_name.iter().any(is_spu);
    }
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    words(&folder.to_string_lossy()).iter().any(is_spu)
}

/// Returns the names in `#include` lines, each with whether it is in quotes.
fn includes(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix('#')?.trim_start();
        let line = line.strip_prefix("include")?.trim_start();
        let (end, quoted) = match line.as_bytes().first()? {
            b'<' => ('>', false),
            b'"' => ('"', true),
            _ => return None,
        };
        Some((line[1..].split(end).next()?, quoted))
    })
}

/// The deepest chain of own headers that are read.
const HEADERS_DEEP: usize = 4;

/// Returns the text of a source without comments, and the texts of the headers beside it that it
/// includes.
fn with_own_headers(path: &Path, text: &str) -> String {
    let mut all = String::new();
    let mut seen = BTreeSet::new();
    add_with_headers(path, text, HEADERS_DEEP, &mut seen, &mut all);
    all
}

fn add_with_headers(
    path: &Path,
    text: &str,
    deep: usize,
    seen: &mut BTreeSet<PathBuf>,
    all: &mut String,
) {
    let text = without_comments(text);
    if deep > 0 {
        for (name, _) in includes(&text).filter(|(_, quoted)| *quoted) {
            let header = path.with_file_name(name);
            if seen.insert(header.clone())
                && let Ok(text) = fs::read(&header)
            {
                let text = String::from_utf8_lossy(&text);
                add_with_headers(&header, &text, deep - 1, seen, all);
            }
        }
    }
    all.push_str(&text);
    all.push('\n');
}

fn without_comments(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"', '\'']) {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("/*") {
            result.push(' ');
            rest = after.split_once("*/").map_or("", |(_, after)| after);
        } else if let Some(after) = rest.strip_prefix("//") {
            rest = after.find('\n').map_or("", |at| &after[at..]);
        } else if rest.starts_with('/') {
            result.push('/');
            rest = &rest[1..];
        } else {
            let end = end_of_literal(rest);
            result.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    result + rest
}

/// Returns the length of the literal at the begin of a text. A literal ends with its line at the
/// latest.
fn end_of_literal(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return at,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            byte if byte == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns what stands for a word: what `#define` says, if it does.
fn meaning<'t>(word: &'t str, text: &'t str) -> &'t str {
    let mut defined = text.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix('#')?.trim_start();
        let line = line.strip_prefix("define")?.trim_start();
        let rest = line.strip_prefix(word)?;
        rest.starts_with([' ', '\t']).then(|| rest.trim())
    });
    defined.next_back().unwrap_or(word)
}

/// Returns the names that a text declares by `extern spe_program_handle_t NAME, NAME2;`.
fn handles(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let declarations = text.split("spe_program_handle_t").collect::<Vec<_>>();
    for pair in declarations.windows(2) {
        // In C++, the language may stand between them.
        let before = pair[0].trim_end().trim_end_matches("\"C\"");
        if !before.trim_end().ends_with("extern") {
            continue;
        }
        let list = pair[1].split(';').next().unwrap_or_default();
        for name in list.split(',') {
            let name = meaning(name.trim(), text);
            let is_letter = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
            if !name.is_empty() && name.chars().all(is_letter) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// Returns the files that a text opens by `spe_image_open("FILE")`, or by a macro with the name, if
/// they lie below the folder of the program.
fn opened(text: &str) -> Vec<String> {
    let calls = text.split("spe_image_open").skip(1);
    let files = calls.filter_map(|call| {
        let argument = call.trim_start().strip_prefix('(')?.trim_start();
        let argument = match argument.split_once(')') {
            Some((word, _)) if !argument.starts_with('"') => meaning(word.trim(), text),
            _ => argument,
        };
        let (file, _) = argument.strip_prefix('"')?.split_once('"')?;
        let file = file.trim_start_matches("./");
        let stays = Path::new(file)
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        (stays && !file.is_empty()).then(|| file.to_owned())
    });
    files.collect()
}

pub(crate) fn has_main(text: &str) -> bool {
    text.match_indices("main").any(|(at, word)| {
        let before = text[..at].chars().next_back();
        let is_letter = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
        let after = text[at + word.len()..].trim_start();
        !before.is_some_and(is_letter) && after.starts_with('(')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(sources: &[(&str, &str)]) -> Result<Sources, String> {
        let all: Vec<String> = sources.iter().map(|(path, _)| (*path).to_owned()).collect();
        let texts = sources
            .iter()
            .map(|(path, text)| ((*path).to_owned(), without_comments(text)));
        divide_texts(&all, &texts.collect(), Vec::new())
    }

    fn symbol(name: &str, sources: &[&str]) -> Program {
        Program {
            place: Place::Symbol(name.to_owned()),
            sources: sources.iter().map(|path| (*path).to_owned()).collect(),
        }
    }

    const PPU: &str =
        "#include <libspe2.h>\nextern spe_program_handle_t hello_spu;\nint main(void) {}\n";
    const SPU: &str = "#include <spu_mfcio.h>\nint main(unsigned long long id) {}\n";

    #[test]
    fn one_program_is_found_by_its_headers() {
        let found = divided(&[("a.c", PPU), ("b.c", SPU)]).unwrap();
        assert_eq!(found.ppu, ["a.c"]);
        assert_eq!(found.programs, [symbol("hello_spu", &["b.c"])]);
    }

    #[test]
    fn a_handle_may_be_declared_in_the_language_of_c() {
        let declared = "extern \"C\" spe_program_handle_t one;\nextern \"C\" { extern spe_program_handle_t two; }\n\
                        spe_program_handle_t three;";
        assert_eq!(handles(declared), ["one", "two"]);
    }

    #[test]
    fn names_and_folders_decide_without_headers() {
        for path in [
            "spu/kernel.c",
            "kernel_spu.c",
            "spu_kernel.c",
            "my.spu.c",
            "hello_spe.c",
        ] {
            let found =
                divided(&[("a.c", PPU), (path, "#include <stdio.h>\nint main() {}")]).unwrap();
            assert_eq!(found.programs, [symbol("hello_spu", &[path])], "{path}");
        }
        for path in ["ppu/kernel.c", "spurious.c", "spu/shared_ppu.c", "plain.c"] {
            let found = divided(&[("a.c", PPU), (path, "int f() {}")]).unwrap();
            assert_eq!(found.ppu, ["a.c", path]);
        }
    }

    #[test]
    fn sources_without_main_are_of_the_program() {
        let found = divided(&[("a.c", PPU), ("help_spu.c", "int f();"), ("b.c", SPU)]).unwrap();
        assert_eq!(
            found.programs,
            [symbol("hello_spu", &["b.c", "help_spu.c"])]
        );
    }

    #[test]
    fn several_programs_are_matched_by_name() {
        let ppu =
            "#include <libspe2.h>\nextern spe_program_handle_t spu_first, second_spu_handle;\n";
        let found = divided(&[("a.c", ppu), ("first.c", SPU), ("spu/second.c", SPU)]).unwrap();
        let expected = [
            symbol("second_spu_handle", &["spu/second.c"]),
            symbol("spu_first", &["first.c"]),
        ];
        assert_eq!(found.programs, expected);
    }

    #[test]
    fn programs_that_are_opened_are_files() {
        let ppu = "#include <libspe2.h>\nf() { spe_image_open( \"./spu/hello.elf\"); spe_image_open(name); }\n";
        let found = divided(&[("a.c", ppu), ("b.c", SPU)]).unwrap();
        assert_eq!(found.programs[0].place, Place::File("spu/hello.elf".into()));
        // Macros may stand for both names.
        let ppu =
            "#include <libspe2.h>\n# define IMAGE \"hello.elf\"\nf() { spe_image_open(IMAGE); }\n";
        let found = divided(&[("a.c", ppu), ("b.c", SPU)]).unwrap();
        assert_eq!(found.programs[0].place, Place::File("hello.elf".into()));
        let ppu =
            "#include <libspe2.h>\n#define HANDLE b_spu\nextern spe_program_handle_t HANDLE;\n";
        let found = divided(&[("a.c", ppu), ("b.c", SPU)]).unwrap();
        assert_eq!(found.programs[0].place, Place::Symbol("b_spu".into()));
        // A program may be there already, or missing on purpose, if no source is left for it.
        let ppu = format!("{PPU} f() {{ spe_image_open(\"other.elf\"); }}");
        let found = divided(&[("a.c", &ppu), ("hello_spu.c", SPU)]).unwrap();
        assert_eq!(found.programs, [symbol("hello_spu", &["hello_spu.c"])]);
        let said = divided(&[("a.c", &ppu), ("hello_spu.c", SPU), ("b.c", SPU)]).unwrap_err();
        assert!(
            said.starts_with(
                "0 sources of the SPU have a name like that of spe_image_open(\"other.elf\")"
            ),
            "{said}"
        );
        // A file elsewhere is not written.
        assert_eq!(
            opened("spe_image_open(\"/etc/passwd\") spe_image_open(\"../x\")"),
            [""; 0]
        );
    }

    #[test]
    fn what_is_not_clear_is_asked() {
        let two = "#include <libspe2.h>\nextern spe_program_handle_t one;\nextern spe_program_handle_t two;\n";
        for (sources, parts) in [
            (
                &[("a.c", "#include <libspe2.h>\n"), ("b.c", SPU)][..],
                &["extern spe_program_handle_t", "--spu b=b.c"][..],
            ),
            (
                &[("a.c", two), ("b.c", SPU), ("c.c", SPU)],
                &["0 sources", "handle_t one", "--spu one=b.c --spu two=c.c"],
            ),
            (
                &[
                    ("a.c", two),
                    ("one.c", SPU),
                    ("two.c", SPU),
                    ("three.c", SPU),
                ],
                &["a name like three.c"],
            ),
            (&[("b.c", SPU)], &["no source is of the PPU", "spu-gcc"]),
            (
                &[("a.c", PPU), ("b_spu.c", "int f();")],
                &["no source of the SPU has a function `main`"],
            ),
        ] {
            let message = divided(sources).unwrap_err();
            for part in parts {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
    }

    #[test]
    fn comments_and_literals_are_told_apart() {
        let text = "a /* \"b\" */ c // d \"\n\"e // f\" '\"' g/h \"unended\n/* end";
        assert_eq!(
            without_comments(text),
            "a   c \n\"e // f\" '\"' g/h \"unended\n "
        );
        let hidden = "// extern spe_program_handle_t not_this;\n/* #include <spu_mfcio.h> */";
        let found = divided(&[("a.c", &format!("{hidden}\n{PPU}")), ("b.c", SPU)]).unwrap();
        assert_eq!(found.programs, [symbol("hello_spu", &["b.c"])]);
    }

    #[test]
    fn own_headers_count() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.c", "#include \"a.h\"\nint main() {}");
        write(
            "a.h",
            "#include \"b.h\"\n#include \"a.h\"\n#include <libspe2.h>",
        );
        write("b.h", "extern spe_program_handle_t far;");
        write("s.c", SPU);
        let path = |name: &str| folder.path().join(name).display().to_string();
        let found = divide(&[path("a.c"), path("s.c")], Vec::new()).unwrap();
        assert_eq!(found.programs, [symbol("far", &[&path("s.c")])]);
        let message = divide(&[path("gone.c")], Vec::new()).unwrap_err();
        assert!(
            message.ends_with("gone.c: No such file or directory"),
            "{message}"
        );
    }
}
