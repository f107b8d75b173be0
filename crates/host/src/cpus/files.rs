//! Small files of `sys` and `proc`.
//!
//! A file is *hidden* if it is missing, forbidden or empty, or if its driver returns one of
//! [`NO_ANSWER`]. A hidden file is no error, but a malformed file is.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::CpusError;
use super::list::{parse_list, parse_map};
use super::notes::Notes;
use super::source::Source;

const LIST: &str = "a list of numbers below 65536 such as \"0-3,8,10-11\"";

const MAP: &str = "a map of words of 32 bits such as \"00000000,0000000f\"";

impl Source {
    /// Returns the path `absolute` below the root. The first slash of `absolute` may be missing.
    pub(crate) fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.root
            .join(absolute.strip_prefix("/").unwrap_or(absolute))
    }
}

/// Returns the content of a file, or `None` if the file is hidden. An empty file counts as hidden,
/// because container runtimes hide files by mounting `/dev/null` over them. The kernel itself
/// writes a newline even for an empty list.
pub fn text(path: &Path) -> Result<Option<String>, CpusError> {
    match fs::read(path) {
        Ok(bytes) if bytes.is_empty() => Ok(None),
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(cause) if is_hidden(&cause) => Ok(None),
        Err(cause) => Err(CpusError::Read {
            path: path.to_owned(),
            cause,
        }),
    }
}

pub fn list(path: &Path) -> Result<Option<BTreeSet<u32>>, CpusError> {
    let Some(text) = text(path)? else {
        return Ok(None);
    };
    let list = parse_list(&text).map(Some);
    list.ok_or_else(|| malformed(path, &text, LIST))
}

/// The names of a file with a list of CPUs, and of a file with the same set as a map.
pub type ListAndMap = (&'static str, &'static str);

/// Reads the first list of `names` in `folder`, or its map if the list is hidden or malformed. (Old
/// kernels and some drivers write only maps.) A list without the CPU in `of` counts as malformed.
pub fn cpus(
    folder: &Path,
    names: &[ListAndMap],
    of: Option<u32>,
    notes: &mut Notes,
) -> Result<Option<BTreeSet<u32>>, CpusError> {
    for (list, map) in names {
        let (list, map) = (folder.join(list), folder.join(map));
        let by_list = set_of(&list, LIST, parse_list, of, notes)?;
        let by_map = set_of(&map, MAP, parse_map, of, notes)?;
        if by_list.is_some() && by_map.is_some() && by_list != by_map {
            notes.add_file("differ", || {
                format!(
                    "{} and {} say different things, and the list is believed; if a container or \
                     emulator provides them, correct them there",
                    list.display(),
                    map.display()
                )
            });
        }
        if let Some(cpus) = by_list.or(by_map) {
            return Ok(Some(cpus));
        }
    }
    Ok(None)
}

/// Reads one list or map for [`cpus`]. Returns `None` if the file is hidden or malformed.
fn set_of(
    path: &Path,
    expected: &str,
    parse: fn(&str) -> Option<BTreeSet<u32>>,
    of: Option<u32>,
    notes: &mut Notes,
) -> Result<Option<BTreeSet<u32>>, CpusError> {
    let Some(text) = text(path)? else {
        return Ok(None);
    };
    // Some kernels end lists and maps with a NUL.
    let (before_nul, after_nul) = text.split_once('\0').unwrap_or((&text, ""));
    if !after_nul.is_empty() {
        notes.add_file("NUL", || {
            let path = path.display();
            format!("{path} has a NUL, and what follows it is not used")
        });
    }
    let set = parse(before_nul).ok_or_else(|| malformed(path, before_nul, expected));
    let set = notes.skip(set.map(Some))?;
    let has_it = |set: &BTreeSet<u32>| of.is_none_or(|cpu| set.contains(&cpu));
    if set.as_ref().is_some_and(|set| !has_it(set)) {
        notes.add_file("lacks", || {
            format!(
                "{} is not used, because it lacks CPU {}, which it is about",
                path.display(),
                of.expect("a CPU is lacking")
            )
        });
    }
    Ok(set.filter(has_it))
}

/// Reads a number, or returns `None` if the file is hidden. An error contains `expected`.
pub fn number<N: FromStr>(path: &Path, expected: &str) -> Result<Option<N>, CpusError> {
    let Some(text) = text(path)? else {
        return Ok(None);
    };
    text.trim()
        .parse()
        .map(Some)
        .map_err(|_| malformed(path, &text, expected))
}

/// Reads a size such as `32768K`, in bytes, or returns `None` if the file is hidden.
pub fn kilobytes(path: &Path) -> Result<Option<usize>, CpusError> {
    let Some(text) = text(path)? else {
        return Ok(None);
    };
    let kilobytes = text.trim().strip_suffix('K');
    let bytes = kilobytes.and_then(|number| number.parse::<usize>().ok()?.checked_mul(1 << 10));
    bytes
        .map(Some)
        .ok_or_else(|| malformed(path, &text, "the size of a cache, such as 32768K"))
}

/// Reads the number after `name` in `text`, the content of a file with a name and number per line.
pub fn figure(path: &Path, text: &str, name: &str) -> Result<Option<u64>, CpusError> {
    let mut lines = text.lines();
    let line = lines.find(|line| line.split_whitespace().next() == Some(name));
    let number = line.map(|line| {
        let number = line.split_whitespace().nth(1);
        number
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| malformed(path, line, &format!("\"{name}\" and a number")))
    });
    number.transpose()
}

/// Returns those entries of a folder that have a name of `prefix` followed by a number, sorted by
/// number. A hidden folder has no entries.
pub fn numbered(folder: &Path, prefix: &str) -> Result<Vec<(u32, PathBuf)>, CpusError> {
    let number = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        Some((name.strip_prefix(prefix)?.parse().ok()?, path))
    };
    let mut found: Vec<_> = entries(folder)?.into_iter().filter_map(number).collect();
    found.sort();
    Ok(found)
}

/// Returns the entries of a folder, in any order. A hidden folder has no entries.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, CpusError> {
    let failed = |cause| CpusError::Read {
        path: folder.to_owned(),
        cause,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if is_hidden(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(failed(cause)),
    };
    entries
        .map(|entry| Ok(entry.map_err(failed)?.path()))
        .collect()
}

/// Returns the error for a file with `text` in place of the `expected` content.
pub fn malformed(path: &Path, text: &str, expected: &str) -> CpusError {
    /// The largest number of characters in an error. Only lines of `mountinfo` may be longer.
    const MOST_CHARS: usize = 200;

    let text = text.trim_end_matches('\n');
    let mut shown: String = text.chars().take(MOST_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    CpusError::Malformed {
        path: path.to_owned(),
        text: shown,
        expected: expected.to_owned(),
    }
}

/// The errors of drivers for a file without content. For example, `no_turbo` returns `EAGAIN` if
/// `intel_pstate` is off, and files of `cpufreq` return `EBUSY` if a CPU has no governor.
const NO_ANSWER: [i32; 6] = [
    libc::EAGAIN,
    libc::EBUSY,
    libc::EINVAL,
    libc::EIO,
    libc::ENODEV,
    libc::ENXIO,
];

pub(super) fn is_hidden(cause: &io::Error) -> bool {
    let is_missing = matches!(
        cause.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    );
    is_missing
        || cause
            .raw_os_error()
            .is_some_and(|number| NO_ANSWER.contains(&number))
}
