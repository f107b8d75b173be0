//! Small files of `sys` and `proc`, where a missing file is an answer and a malformed one is an
//! error.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::CpusError;
use super::list::parse_list;
use super::source::Source;

impl Source {
    /// Where this source has the absolute path `absolute`, which may come with or without its first
    /// slash.
    pub(crate) fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.root
            .join(absolute.strip_prefix("/").unwrap_or(absolute))
    }
}

/// The content, or `None` if the file is missing, forbidden or empty, or what is behind it does not
/// answer now ([`NO_ANSWER`]).
///
/// Runtimes of containers mask a file by mounting `/dev/null` over it, which then reads as empty;
/// the kernel's own files end in a newline even where they hold an empty list.
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

/// A list of CPUs, or `None` if the file is hidden.
pub fn list(path: &Path) -> Result<Option<BTreeSet<u32>>, CpusError> {
    let Some(text) = text(path)? else {
        return Ok(None);
    };
    parse_list(&text).map(Some).ok_or_else(|| {
        malformed(
            path,
            &text,
            "a list of numbers below 65536 such as \"0-3,8,10-11\"",
        )
    })
}

/// One number, or `None` if the file is hidden. `expected` says what it counts.
pub fn number<N: FromStr>(path: &Path, expected: &str) -> Result<Option<N>, CpusError> {
    let Some(text) = text(path)? else {
        return Ok(None);
    };
    text.trim()
        .parse()
        .map(Some)
        .map_err(|_| malformed(path, &text, expected))
}

/// The number behind `name` in a file that has a line for each figure, if it has this one.
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

/// The entries of a folder that are called `prefix` and a number, by ascending number; none if the
/// folder is hidden.
pub fn numbered(folder: &Path, prefix: &str) -> Result<Vec<(u32, PathBuf)>, CpusError> {
    let failed = |cause| CpusError::Read {
        path: folder.to_owned(),
        cause,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if is_hidden(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(failed(cause)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if let Some(number) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_prefix(prefix)?.parse().ok())
        {
            found.push((number, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// The error for `text`, which `path` has where `expected` should be.
pub fn malformed(path: &Path, text: &str, expected: &str) -> CpusError {
    /// Enough to recognize a line of any file that is read here; the longest, of `mountinfo`, is
    /// shown in part.
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

/// What drivers say in place of a content: `no_turbo` says `EAGAIN` where `intel_pstate` is off,
/// the files of `cpufreq` say `EBUSY` while no governor is set for the CPU, and the others say that
/// a device has gone or does not work.
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
