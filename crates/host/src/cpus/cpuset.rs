//! The CPUs and memory nodes that the control groups in another computer's tree allow. On this
//! computer the affinity mask and `proc/self/status` contain the same information.

use std::collections::BTreeSet;

use super::error::CpusError;
use super::files;
use super::groups::{CPUSET, Version, folders};
use super::notes::Notes;
use super::source::Source;

/// Returns the list `what` (`cpus` or `mems`) of the process's control group. If this group has no
/// list, returns the list of the nearest group above it that has one. Returns `None` if all lists
/// are hidden.
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
