//! Reads from files which CPUs and memory nodes the control groups leave to a process. These files
//! are read for the tree of another computer. On this computer the affinity mask and
//! `proc/self/status` have the same facts.

use std::collections::BTreeSet;

use super::error::CpusError;
use super::files;
use super::groups::{CPUSET, Version, folders};
use super::notes::Notes;
use super::source::Source;

/// Returns the list `what`, which is `cpus` or `mems`, of the control group of the process. If the
/// files do not show the list, returns `None`. The list of the parent group is read only if the
/// group itself has no list, because the kernel ensures that a group's list is a part of its
/// parent's list.
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
