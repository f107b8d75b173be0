//! The amount of memory, and the size of its pages.

use std::fmt;
use std::path::{Path, PathBuf};

use cellworks_machine::sizes::{in_words, rounded};
use rustix::process::{Resource, getrlimit};

use crate::cpus::groups::{Version, folders};
use crate::cpus::{CpusError, Source, files};

/// Returns the chosen setting: the word in brackets in a file such as `always [madvise] never`.
pub(super) fn transparent_huge_pages(source: &Source) -> Result<Option<String>, CpusError> {
    let path = source.path("sys/kernel/mm/transparent_hugepage/enabled");
    let Some(text) = files::text(&path)? else {
        return Ok(None);
    };
    let mut words = text.split_whitespace();
    let chosen = words.find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match chosen {
        Some(word) => Ok(Some(word.to_owned())),
        None => Err(files::malformed(
            &path,
            &text,
            "a choice such as \"always [madvise] never\"",
        )),
    }
}

/// Returns the reason why the system allocates no transparent huge pages, and advice. Returns
/// `None` if the system allocates them, or if the setting cannot be read.
pub(crate) fn no_huge_pages(source: &Source) -> Option<String> {
    let chosen = transparent_huge_pages(source).ok()??;
    (chosen == "never").then(|| {
        "/sys/kernel/mm/transparent_hugepage/enabled says `never`; have an administrator write \
         `madvise` there, or take pages of 4 KB"
            .to_owned()
    })
}

/// The memory that programs can allocate, and the limit on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLeft {
    /// The bytes that programs can allocate before the system swaps.
    pub bytes: u64,
    /// The limit.
    pub by: MemoryBound,
}

impl MemoryLeft {
    /// Returns the memory that the limit on this process's address space leaves, or `None` without
    /// such a limit.
    ///
    /// # Errors
    ///
    /// Returns [`CpusError`] if `/proc/self/status` is malformed.
    pub fn by_address_space() -> Result<Option<Self>, CpusError> {
        left_by_address_space(&Source::this_computer())
    }
}

/// A limit on the memory of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryBound {
    /// The memory of the computer, by the estimate of the kernel.
    Computer,
    /// The limit of a control group.
    Group {
        /// The limit in bytes.
        limit_bytes: u64,
        /// The file that sets the limit: `memory.max`, or `memory.limit_in_bytes` in version 1.
        set_in: PathBuf,
    },
    /// The limit on the address space of this process (`RLIMIT_AS`), in bytes.
    AddressSpace(u64),
}

/// Writes, for example, "95.3 MB, by the limit on the address space of this process, 100 MB
/// (RLIMIT_AS); raise it, such as by `ulimit -v unlimited`".
impl fmt::Display for MemoryLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let left = rounded(size(self.bytes));
        match &self.by {
            MemoryBound::Computer => write!(
                f,
                "{left}, the memory that this computer has left (MemAvailable in /proc/meminfo); \
                 end programs that use memory"
            ),
            MemoryBound::Group {
                limit_bytes,
                set_in,
            } => write!(
                f,
                "{left}, by the limit of a control group, {} (set in {}); raise it, or run this outside of the \
                 container",
                in_words(size(*limit_bytes)),
                set_in.display()
            ),
            MemoryBound::AddressSpace(limit_bytes) => write!(
                f,
                "{left}, by the limit on the address space of this process, {} (RLIMIT_AS); raise it, such as by \
                 `ulimit -v unlimited`",
                in_words(size(*limit_bytes))
            ),
        }
    }
}

/// Returns the smaller of the kernel's estimate and the memory that the control groups leave.
pub(super) fn left(source: &Source) -> Result<Option<MemoryLeft>, CpusError> {
    let path = source.path("proc/meminfo");
    let text = files::text(&path)?.unwrap_or_default();
    let kib = files::figure(&path, &text, "MemAvailable:")?;
    let of_computer = kib.map(|kib| MemoryLeft {
        bytes: kib.saturating_mul(1024),
        by: MemoryBound::Computer,
    });
    let mut all: Vec<MemoryLeft> = of_computer.into_iter().collect();
    for (version, folder) in folders(source, "memory")? {
        all.extend(left_by_group(version, &folder)?);
    }
    Ok(least(all))
}

/// Like [`left`], but also considers the limit on the address space of this process.
pub(super) fn left_to_this_process() -> Result<Option<MemoryLeft>, CpusError> {
    let source = Source::this_computer();
    Ok(least(
        left(&source)?
            .into_iter()
            .chain(left_by_address_space(&source)?),
    ))
}

fn least(all: impl IntoIterator<Item = MemoryLeft>) -> Option<MemoryLeft> {
    all.into_iter().min_by_key(|left| left.bytes)
}

/// Returns the limit on the address space of this process less the mapped address space.
fn left_by_address_space(source: &Source) -> Result<Option<MemoryLeft>, CpusError> {
    let Some(limit) = getrlimit(Resource::As).current else {
        return Ok(None);
    };
    let path = source.path("proc/self/status");
    let text = files::text(&path)?.unwrap_or_default();
    let mapped_kib = files::figure(&path, &text, "VmSize:")?.unwrap_or(0);
    Ok(Some(MemoryLeft {
        bytes: limit.saturating_sub(mapped_kib.saturating_mul(1024)),
        by: MemoryBound::AddressSpace(limit),
    }))
}

/// Returns the limit of a group less the memory that it uses. Cached files that were not read
/// lately do not count as used, because the kernel drops them before the group reaches its limit.
fn left_by_group(version: Version, folder: &Path) -> Result<Option<MemoryLeft>, CpusError> {
    let [limit, used, inactive_files] = match version {
        // Without a limit, this file contains a number near 2^63.
        Version::V1 => [
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ],
        Version::V2 => ["memory.max", "memory.current", "inactive_file"],
    };
    let set_in = folder.join(limit);
    if files::text(&set_in)?.is_none_or(|text| text.trim() == "max") {
        return Ok(None);
    }
    let limit: Option<u64> = files::number(&set_in, "a number of bytes or \"max\"")?;
    let Some(limit_bytes) = limit else {
        return Ok(None);
    };
    let used: Option<u64> = files::number(&folder.join(used), "a number of bytes")?;
    let path = folder.join("memory.stat");
    let text = files::text(&path)?.unwrap_or_default();
    let inactive = files::figure(&path, &text, inactive_files)?.unwrap_or(0);
    let used = used.unwrap_or(0).saturating_sub(inactive);
    Ok(Some(MemoryLeft {
        bytes: limit_bytes.saturating_sub(used),
        by: MemoryBound::Group {
            limit_bytes,
            set_in,
        },
    }))
}
