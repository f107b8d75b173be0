//! The CPUs and memory nodes that control groups leave to a process, from their files. They are
//! used for the tree of another computer. On this computer the system itself tells them.

use std::collections::BTreeSet;

use super::error::CpusError;
use super::files;
use super::groups::{CPUSET, Version, folders};
use super::notes::Notes;
use super::source::Source;

/// The list `what`, which is `cpus` or `mems`, of the group of the process. `None` if the files do
/// not show it. The kernel ensures that a group has no more than its parent. So the list of the
/// parent counts only if the group itself has none.
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
