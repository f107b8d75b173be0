//! Memory nodes (NUMA).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::error::CpusError;
use super::files;
use super::list::parse_list;
use super::source::Source;

/// A memory node: memory, CPUs near it, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The system's number of this node, as in `nodeN` and in `numactl`. Numbers may have gaps.
    pub os_index: u32,
    /// How much memory the node has, in bytes; 0 for a node of CPUs only, `None` where that is
    /// unknown.
    pub bytes: Option<u64>,
    /// Whether this process can have memory of the node: it has some, and the process may use it.
    pub usable: bool,
    /// How far the CPUs of this node are from the memory of each node, in the order of
    /// [`Cpus::memory_nodes`](super::Cpus::memory_nodes); empty where that is unknown.
    ///
    /// The unit is the firmware's (the SLIT table of ACPI): 10 is the node's own memory, 20 twice
    /// as far.
    pub distances: Vec<u32>,
}

/// The nodes, and for CPUs which of them is theirs.
pub struct Memory {
    /// By ascending number; at least one.
    pub nodes: Vec<Node>,
    /// From the number of a CPU to an index in `nodes`.
    pub node_of_cpu: BTreeMap<u32, usize>,
}

pub fn read(source: &Source) -> Result<Memory, CpusError> {
    // A folder exists for each node that is online.
    let folders = files::numbered(&source.path("sys/devices/system/node"), "node")?;
    let mut memory = Memory {
        nodes: Vec::new(),
        node_of_cpu: BTreeMap::new(),
    };
    for (at, (os_index, folder)) in folders.iter().enumerate() {
        let cpus = files::list(&folder.join("cpulist"))?.unwrap_or_default();
        memory
            .node_of_cpu
            .extend(cpus.into_iter().map(|cpu| (cpu, at)));
        memory.nodes.push(Node {
            os_index: *os_index,
            bytes: total_bytes(&folder.join("meminfo"))?,
            usable: true,
            distances: distances(&folder.join("distance"), folders.len())?,
        });
    }
    if memory.nodes.is_empty() {
        let bytes = total_bytes(&source.path("proc/meminfo"))?;
        memory.nodes.push(Node {
            os_index: 0,
            bytes,
            usable: true,
            distances: Vec::new(),
        });
    }
    let allowed = allowed(source)?;
    let may_use = |node: &Node| {
        let is_allowed = |allowed: &BTreeSet<u32>| allowed.contains(&node.os_index);
        node.bytes != Some(0) && allowed.as_ref().is_none_or(is_allowed)
    };
    // The process has memory somewhere: files that leave none (made up by a container, or by an
    // emulator) tell nothing about any node.
    if memory.nodes.iter().any(may_use) {
        for node in &mut memory.nodes {
            node.usable = may_use(node);
        }
    }
    Ok(memory)
}

/// The nodes whose memory the process may use, by the line `Mems_allowed_list:\t0-1` of
/// `proc/self/status`; a cpuset limits it (`docker run --cpuset-mems`, a batch system).
fn allowed(source: &Source) -> Result<Option<BTreeSet<u32>>, CpusError> {
    let path = source.path("proc/self/status");
    let text = files::text(&path)?.unwrap_or_default();
    let mut lines = text.lines();
    let Some(list) = lines.find_map(|line| line.strip_prefix("Mems_allowed_list:")) else {
        return Ok(None);
    };
    match parse_list(list) {
        Some(allowed) => Ok(Some(allowed)),
        None => Err(files::malformed(
            &path,
            list.trim(),
            "a list of nodes such as \"0-1\"",
        )),
    }
}

/// The total of a `meminfo` file, which reads `Node 0 MemTotal:  4417740 kB` for a node and
/// `MemTotal:  4417740 kB` for all.
fn total_bytes(path: &Path) -> Result<Option<u64>, CpusError> {
    let Some(text) = files::text(path)? else {
        return Ok(None);
    };
    let Some(line) = text.lines().find(|line| line.contains("MemTotal:")) else {
        return Ok(None);
    };
    let kib: Option<u64> = line
        .split_once("MemTotal:")
        .and_then(|(_, total)| total.trim().strip_suffix("kB")?.trim().parse().ok());
    match kib.and_then(|kib| kib.checked_mul(1024)) {
        Some(bytes) => Ok(Some(bytes)),
        None => Err(files::malformed(
            path,
            line,
            "a total such as \"MemTotal: 4417740 kB\"",
        )),
    }
}

/// One distance for each node that is online.
fn distances(path: &Path, nodes: usize) -> Result<Vec<u32>, CpusError> {
    let Some(text) = files::text(path)? else {
        return Ok(Vec::new());
    };
    let row: Option<Vec<u32>> = text
        .split_whitespace()
        .map(|distance| distance.parse().ok())
        .collect();
    row.filter(|row| row.len() == nodes).ok_or_else(|| {
        let expected = format!(
            "one distance for each node that is online, here {nodes}, such as \"10 21\" for two,"
        );
        files::malformed(path, &text, &expected)
    })
}
