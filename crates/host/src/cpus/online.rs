//! The CPUs that exist, and the CPUs that are online.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::error::CpusError;
use super::files;
use super::source::Source;

pub const ONLINE: &str = "sys/devices/system/cpu/online";

/// Returns the CPUs in the file [`ONLINE`]. Without this file, returns each CPU that has a folder,
/// except if the file `online` in the folder contains 0. Returns `None` if there is no such CPU.
pub fn online(source: &Source) -> Result<Option<BTreeSet<u32>>, CpusError> {
    if let Some(online) = files::list(&source.path(ONLINE))? {
        return Ok(Some(online));
    }
    let mut online = BTreeSet::new();
    for (cpu, folder) in folders(source)? {
        // A CPU that cannot be switched off has no file `online`.
        let state: Option<u8> = files::number(&folder.join("online"), "0 or 1")?;
        if state != Some(0) {
            online.insert(cpu);
        }
    }
    Ok((!online.is_empty()).then_some(online))
}

/// Returns the folders of the CPUs. Some CPUs may have no folder.
pub fn folders(source: &Source) -> Result<BTreeMap<u32, PathBuf>, CpusError> {
    let folders = files::numbered(&source.path("sys/devices/system/cpu"), "cpu")?;
    Ok(folders.into_iter().collect())
}
