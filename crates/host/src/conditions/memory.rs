//! How much memory there is, and in pages of which size.

use std::path::Path;

use crate::cpus::groups::{Version, folders};
use crate::cpus::{CpusError, Source, files};

/// The chosen word of `always [madvise] never`.
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

/// Why the system gives no transparent huge pages, and what to do; `None` if it does, or does not say.
pub(crate) fn no_huge_pages(source: &Source) -> Option<String> {
    let chosen = transparent_huge_pages(source).ok()??;
    (chosen == "never").then(|| {
        "/sys/kernel/mm/transparent_hugepage/enabled says `never`; have an administrator write \
         `madvise` there, or take pages of 4 KB"
            .to_owned()
    })
}

/// Bytes that programs can have without anything being swapped out: what the kernel estimates, or
/// what the control groups leave if that is less.
pub(super) fn available_bytes(source: &Source) -> Result<Option<u64>, CpusError> {
    let path = source.path("proc/meminfo");
    let text = files::text(&path)?.unwrap_or_default();
    let kib = files::figure(&path, &text, "MemAvailable:")?;
    let mut least = kib.map(|kib| kib.saturating_mul(1024));
    for (version, folder) in folders(source, "memory")? {
        if let Some(left) = left_by_group(version, &folder)? {
            least = Some(least.map_or(left, |least| least.min(left)));
        }
    }
    Ok(least)
}

/// The limit of a group less what it uses. Files in memory that were not read lately count as used,
/// but are dropped before the limit is felt.
fn left_by_group(version: Version, folder: &Path) -> Result<Option<u64>, CpusError> {
    let [limit, used, inactive_files] = match version {
        // Without a limit it reads as a number near 2^63.
        Version::V1 => [
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ],
        Version::V2 => ["memory.max", "memory.current", "inactive_file"],
    };
    let limit = folder.join(limit);
    if files::text(&limit)?.is_none_or(|text| text.trim() == "max") {
        return Ok(None);
    }
    let limit: Option<u64> = files::number(&limit, "a number of bytes or \"max\"")?;
    let used: Option<u64> = files::number(&folder.join(used), "a number of bytes")?;
    let (Some(limit), Some(used)) = (limit, used) else {
        return Ok(limit);
    };
    let path = folder.join("memory.stat");
    let text = files::text(&path)?.unwrap_or_default();
    let inactive = files::figure(&path, &text, inactive_files)?.unwrap_or(0);
    Ok(Some(limit.saturating_sub(used.saturating_sub(inactive))))
}
