//! The CPUs and memory nodes that control groups leave to a process, by their files. On this
//! computer the system says it itself; of another one it is known by the tree alone.

use std::collections::BTreeSet;

use super::error::CpusError;
use super::files;
use super::groups::{CPUSET, Version, folders};
use super::notes::Notes;
use super::source::Source;

/// The part of `what`, which is `cpus` or `mems`, that the group of the process has. `None` if the
/// files do not show it. The kernel sees to it that a group has no more than the one above it,
/// which counts only where the group itself says nothing.
pub fn read(
    source: &Source,
    what: &str,
    notes: &mut Notes,
) -> Result<Option<BTreeSet<u32>>, CpusError> {
    for (version, folder) in folders(source, CPUSET)? {
        let names = match version {
            Version::V1 => [format!("cpuset.{what}"), what.to_owned()],
            Version::V2 => [format!("cpuset.{what}.effective"), format!("cpuset.{what}")],
        };
        for name in names {
            let list = notes.skip(files::list(&folder.join(name)))?;
            if let Some(list) = list.filter(|list| !list.is_empty()) {
                return Ok(Some(list));
            }
        }
    }
    Ok(None)
}
