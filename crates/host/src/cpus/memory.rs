use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::cpuset;
use super::error::CpusError;
use super::files;
use super::list::{name_nodes, parse_list};
use super::notes::Notes;
use super::source::Source;

/// A memory node: memory, CPUs near it, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryNode {
    /// The number of the node in the operating system, as in `nodeN`. Some numbers may be missing.
    pub os_index: u32,
    /// The bytes of memory: 0 for a node with only CPUs, and `None` if unknown.
    pub bytes: Option<u64>,
    /// Whether this process can allocate memory on the node. False for the memory of a GPU.
    pub usable: bool,
    /// The distances from the CPUs of this node to the memory of each node, in ascending order of
    /// `os_index`. Empty if unknown.
    ///
    /// The unit is that of the firmware (the SLIT table of ACPI): 10 is the distance to the node's
    /// own memory, and 20 is twice as far.
    pub distances: Vec<u32>,
}

/// The memory nodes, and the node of each CPU.
pub struct Memory {
    /// The nodes, by ascending number. There is at least one.
    pub nodes: Vec<MemoryNode>,
    /// The index in `nodes` of each CPU's node.
    pub node_of_cpu: BTreeMap<u32, usize>,
}

pub fn read(source: &Source, notes: &mut Notes) -> Result<Memory, CpusError> {
    let folders = files::numbered(&source.path("sys/devices/system/node"), "node")?;
    let mut memory = Memory {
        nodes: Vec::new(),
        node_of_cpu: BTreeMap::new(),
    };
    let mut again = BTreeSet::new();
    for (at, (os_index, folder)) in folders.iter().enumerate() {
        let cpus = files::cpus(folder, &[("cpulist", "cpumap")], None, notes)?.unwrap_or_default();
        if cpus.iter().any(|cpu| memory.node_of_cpu.contains_key(cpu)) {
            again.insert(*os_index);
        } else {
            let own = cpus.into_iter().map(|cpu| (cpu, at));
            memory.node_of_cpu.extend(own);
        }
        memory.nodes.push(MemoryNode {
            os_index: *os_index,
            bytes: notes.skip(total_bytes(&folder.join("meminfo")))?,
            usable: true,
            distances: notes
                .skip(distances(&folder.join("distance"), folders.len()))?
                .unwrap_or_default(),
        });
    }
    if memory.nodes.is_empty() {
        let bytes = notes.skip(total_bytes(&source.path("proc/meminfo")))?;
        memory.nodes.push(MemoryNode {
            os_index: 0,
            bytes,
            usable: true,
            distances: Vec::new(),
        });
    }
    let mut gpus = gpu_nodes(source)?;
    gpus.retain(|gpu| memory.nodes.iter().any(|node| node.os_index == *gpu));
    let allowed = allowed(source, notes)?;
    let may_use = |node: &MemoryNode| {
        let number = &node.os_index;
        let is_allowed = |allowed: &BTreeSet<u32>| allowed.contains(number);
        node.bytes != Some(0)
            && !gpus.contains(number)
            && !again.contains(number)
            && allowed.as_ref().is_none_or(is_allowed)
    };
    // Every process has memory on some node, so files that allow no node are ignored.
    if memory.nodes.iter().any(may_use) {
        for node in &mut memory.nodes {
            node.usable = may_use(node);
        }
    }
    if !gpus.is_empty() {
        notes.add(format!(
            "the memory of {} is that of GPUs, so it is left out",
            name_nodes(&gpus)
        ));
    }
    if !again.is_empty() {
        notes.add(format!(
            "the CPUs of {} are also those of a node with a lower number, which they count to, and \
             the memory there is left out; that is a mistake of the firmware or the emulator, so \
             look for a newer one",
            name_nodes(&again)
        ));
    }
    Ok(memory)
}

/// Returns the nodes with the memory of GPUs, from the files of NVIDIA's driver.
fn gpu_nodes(source: &Source) -> Result<BTreeSet<u32>, CpusError> {
    let mut nodes = BTreeSet::new();
    for gpu in files::entries(&source.path("proc/driver/nvidia/gpus"))? {
        let text = files::text(&gpu.join("numa_status"))?.unwrap_or_default();
        let mut lines = text.lines();
        let node = lines.find_map(|line| line.strip_prefix("Node:"));
        // The line contains -1 if the GPU has no node.
        nodes.extend(node.and_then(|node| node.trim().parse::<u32>().ok()));
    }
    Ok(nodes)
}

/// Returns the nodes that the process may use, from `Mems_allowed_list:\t0-1` in
/// `proc/self/status`.
fn allowed(source: &Source, notes: &mut Notes) -> Result<Option<BTreeSet<u32>>, CpusError> {
    let path = source.path("proc/self/status");
    let text = files::text(&path)?.unwrap_or_default();
    let mut lines = text.lines();
    let Some(list) = lines.find_map(|line| line.strip_prefix("Mems_allowed_list:")) else {
        return cpuset::read(source, "mems", notes);
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

/// Returns the memory in a line such as `MemoryNode 0 MemTotal: 4417740 kB`, or without `MemoryNode 0`.
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

fn distances(path: &Path, nodes: usize) -> Result<Option<Vec<u32>>, CpusError> {
    let Some(text) = files::text(path)? else {
        return Ok(None);
    };
    let row: Option<Vec<u32>> = text
        .split_whitespace()
        .map(|distance| distance.parse().ok())
        .collect();
    let row = row.filter(|row| row.len() == nodes);
    row.map(Some).ok_or_else(|| {
        let expected = format!(
            "one distance for each node that is online, here {nodes}, such as \"10 21\" for two,"
        );
        files::malformed(path, &text, &expected)
    })
}
