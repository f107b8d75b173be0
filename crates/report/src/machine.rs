//! One machine as text, JSON and a page: its parts, their places, and the limits of its use.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use crate::columns::Table;
use crate::envelope::{CpuLeftOut, SCHEMA_VERSION};
use crate::html::chart::px;
use crate::html::{Page, Part, about, notice};
use crate::machine_info::MachineInfo;
use crate::table::{head, section};
use crate::text::{bold, figures, parts_of, quota, ranges, size};
use crate::words::Words;

/// The output of `cellworks machine`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineReport {
    /// The version of the JSON.
    pub schema_version: u32,
    /// The command: `machine`.
    pub command: String,
    /// The machine.
    pub machine: MachineInfo,
    /// The CPUs that programs may use, sorted by number. Empty for a simulated machine.
    pub cpus: Vec<CpuInfo>,
    /// The caches of these CPUs, sorted by level.
    pub caches: Vec<CacheInfo>,
    /// The NUMA nodes, sorted by number.
    pub numa_nodes: Vec<NumaNodeInfo>,
    /// The limit on CPU time. `None` if there is no limit.
    pub quota: Option<QuotaInfo>,
    /// The CPUs that are not used.
    pub cpus_left_out: Vec<CpuLeftOut>,
    /// Whether this computer is known to be a virtual machine. Its caches are then those of the real
    /// processor, of which it may get only a part.
    #[serde(default)]
    pub is_guest: bool,
    /// The interconnect of a simulated machine. `None` for this computer.
    pub interconnect: Option<InterconnectInfo>,
    /// Sentences about unusual properties of the machine.
    pub warnings: Vec<String>,
}

/// A CPU: a hardware thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuInfo {
    /// The number of the CPU.
    pub cpu: u32,
    /// The SPE on this CPU. `None` if the CPU has no SPE, for example because a quota allows fewer
    /// SPEs than CPUs.
    pub spe: Option<usize>,
    /// Whether the main thread, which is the PPE, runs on this CPU.
    pub has_ppe: bool,
    /// The socket of the CPU.
    pub package: usize,
    /// The number of the core. Hardware threads of one core have the same number.
    pub core: usize,
    /// The group of CPUs with a common last-level cache.
    pub cache_group: usize,
    /// The NUMA node of the CPU.
    pub numa_node: u32,
    /// The highest clock rate, as the system reports it.
    pub highest_clock_hz: Option<u64>,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheInfo {
    /// The level of the cache. Level 1 is next to the core.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// The size of the cache.
    pub bytes: Option<u64>,
    /// The CPUs that share the cache.
    pub cpus: Vec<u32>,
}

/// A NUMA node: memory and the CPUs beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NumaNodeInfo {
    /// The number of the node.
    pub node: u32,
    /// The size of the node's memory.
    pub bytes: Option<u64>,
    /// Whether this process may allocate memory of the node.
    pub usable: bool,
    /// The distance from the CPUs of this node to the memory of each node, in the order of the list
    /// of nodes. The distance of a node to itself is 10.
    pub distances: Vec<u32>,
}

/// A limit on CPU time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaInfo {
    /// The CPU time that the container or the user may use, as a number of CPUs.
    pub cpus: f64,
    /// The file that states the limit.
    pub set_in: String,
}

/// The interconnect of the elements of each Cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterconnectInfo {
    /// The kind, such as `rings` or `mesh`.
    pub kind: String,
    /// The elements of each Cell. For rings they are in ring order.
    pub cells: Vec<Vec<ElementInfo>>,
}

/// An element of a Cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ElementInfo {
    /// The name, such as `SPE 3` or `memory 0`.
    pub name: String,
    /// The column and the row of the element's tile on a mesh. `None` for other interconnects.
    pub tile: Option<[u16; 2]>,
}

impl MachineReport {
    /// Makes a report about the given machine. Its lists of CPUs, caches and NUMA nodes are empty.
    pub fn of(machine: MachineInfo) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            command: "machine".to_owned(),
            machine,
            cpus: Vec::new(),
            caches: Vec::new(),
            is_guest: false,
            numa_nodes: Vec::new(),
            quota: None,
            cpus_left_out: Vec::new(),
            interconnect: None,
            warnings: Vec::new(),
        }
    }

    /// Groups the CPUs by package, by last-level cache and by core.
    fn packages(&self) -> BTreeMap<usize, BTreeMap<usize, BTreeMap<usize, Vec<&CpuInfo>>>> {
        let mut packages = BTreeMap::new();
        for cpu in &self.cpus {
            let groups: &mut BTreeMap<_, _> = packages.entry(cpu.package).or_default();
            let cores: &mut BTreeMap<_, _> = groups.entry(cpu.cache_group).or_default();
            let cpus: &mut Vec<_> = cores.entry(cpu.core).or_default();
            cpus.push(cpu);
        }
        packages
    }
}

/// Returns tables with their titles.
fn tables(report: &MachineReport) -> Vec<(&'static str, Table)> {
    let listed = |numbers: &mut dyn Iterator<Item = u32>| ranges(numbers.collect());
    let packages = report.packages();
    let groups = packages.iter().flat_map(|(package, groups)| {
        groups.iter().map(move |(group, cores)| {
            let all = || cores.values().flatten();
            vec![
                package.to_string(),
                group.to_string(),
                listed(&mut all().map(|cpu| cpu.numa_node)),
                cores.len().to_string(),
                listed(&mut cores.values().map(|cpus| cpus[0].cpu)),
                listed(
                    &mut cores
                        .values()
                        .flat_map(|cpus| &cpus[1..])
                        .map(|cpu| cpu.cpu),
                ),
            ]
        })
    });
    let mut caches: BTreeMap<_, Vec<&CacheInfo>> = BTreeMap::new();
    for cache in &report.caches {
        let alike = (cache.level, &cache.kind, cache.bytes, cache.cpus.len());
        caches.entry(alike).or_default().push(cache);
    }
    let caches = caches.iter().map(|((level, kind, bytes, cpus), alike)| {
        vec![
            level.to_string(),
            kind.to_lowercase(),
            bytes.map_or_else(String::new, |bytes| size(bytes as usize)),
            alike.len().to_string(),
            cpus.to_string(),
            listed(&mut alike.iter().flat_map(|cache| &cache.cpus).copied()),
        ]
    });
    let nodes = report.numa_nodes.iter().map(|node| {
        let cpus = report.cpus.iter().filter(|cpu| cpu.numa_node == node.node);
        let distances: Vec<String> = node.distances.iter().map(u32::to_string).collect();
        vec![
            node.node.to_string(),
            match (node.bytes, node.usable) {
                (_, false) => "none to use".to_owned(),
                (Some(bytes), true) => format!("{} GB", figures(bytes as f64 / f64::from(1 << 30))),
                (None, true) => String::new(),
            },
            listed(&mut cpus.map(|cpu| cpu.cpu)),
            distances.join(" "),
        ]
    });
    let mut clocks: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for cpu in &report.cpus {
        if let Some(hz) = cpu.highest_clock_hz {
            clocks.entry(hz).or_default().push(cpu.cpu);
        }
    }
    let clocks = clocks
        .into_iter()
        .map(|(hz, cpus)| vec![format!("{} GHz", figures(hz as f64 / 1e9)), ranges(cpus)]);
    let elements = report.interconnect.iter().flat_map(|interconnect| {
        interconnect
            .cells
            .iter()
            .enumerate()
            .map(|(cell, elements)| {
                let name = |element: &ElementInfo| match element.tile {
                    Some([column, row]) => format!("{} at {column},{row}", element.name),
                    None => element.name.clone(),
                };
                let names: Vec<String> = elements.iter().map(name).collect();
                vec![cell.to_string(), names.join(", ")]
            })
    });
    let table = |title, headings: &[&str], rows: Vec<Vec<String>>| {
        let texts = 0..headings.len();
        (title, Table::new(headings.iter().copied(), rows, texts))
    };
    let tables = [
        table(
            "Packages and their CPUs",
            &[
                "package",
                "L3 group",
                "NUMA node",
                "cores",
                "first CPU of each",
                "their other hardware threads",
            ],
            groups.collect(),
        ),
        table(
            "Caches",
            &[
                "level",
                "for",
                "size",
                "how many",
                "CPUs at each",
                "which CPUs",
            ],
            caches.collect(),
        ),
        table(
            "NUMA nodes",
            &[
                "node",
                "memory",
                "CPUs",
                "distance to each node (10: its own memory)",
            ],
            nodes.collect(),
        ),
        table("Highest clock rates", &["clock", "CPUs"], clocks.collect()),
        table(
            "Elements, in the order of the interconnect",
            &["Cell", "elements"],
            elements.collect(),
        ),
    ];
    let tables = tables.into_iter();
    tables.filter(|(_, table)| !table.rows.is_empty()).collect()
}

/// Returns sentences about the quota and unused CPUs. A simulated machine has no such sentences.
fn limits(report: &MachineReport) -> Vec<String> {
    if report.interconnect.is_some() {
        return Vec::new();
    }
    let quota = report
        .quota
        .as_ref()
        .map(|limit| format!("a quota of {}, set in {}", quota(limit.cpus), limit.set_in));
    let mut by_reason: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for CpuLeftOut { cpu, why } in &report.cpus_left_out {
        by_reason.entry(why).or_default().push(*cpu);
    }
    let left_out = by_reason.into_iter();
    let left_out = left_out.map(|(why, cpus)| format!("CPU {}: {why}", ranges(cpus)));
    let mut limits: Vec<String> = quota.into_iter().chain(left_out).collect();
    if limits.is_empty() {
        limits.push("none: all CPUs may be used all of the time".to_owned());
    }
    if report.is_guest && !report.caches.is_empty() {
        limits.push(
            "a virtual machine: the caches are those of the real processor, whose other virtual machines use them, too, \
             and the hypervisor may leave only a part of the last level to this one; `cellworks stats` measures the sizes \
             that its programs have (`cache` in the results)"
                .to_owned(),
        );
    }
    limits
}

/// Returns the machine as text with lines of at most `width` characters, and ANSI styles in titles.
pub fn table(report: &MachineReport, width: usize) -> String {
    let words = Words::of(&report.machine);
    let mut text = head(&report.machine, width);
    text += &section("Warnings", report.warnings.clone(), words, width);
    for (title, table) in tables(report) {
        text += &format!("\n{}\n{}", bold(title), table.text(Some(width)));
    }
    text + &section("Limits", limits(report), words, width)
}

/// Fails: CSV has one header, and a machine has parts of many kinds. The command refuses it.
pub(crate) fn csv(_: &MachineReport) -> String {
    unreachable!("it is refused")
}

/// Returns the machine as an HTML page with a drawing. The page needs no other file and no network.
pub fn html(report: &MachineReport) -> String {
    let machine = &report.machine;
    let drawing = match &report.interconnect {
        Some(interconnect) => elements(interconnect),
        None => boxes(report),
    };
    let tables = html! {
        @for (title, table) in tables(report) { h3 { (title) } (table.page()) }
    };
    let limits = limits(report);
    let limits = html! {
        @if !limits.is_empty() { ul { @for limit in limits { li { (limit) } } } }
    };
    let parts = vec![
        Part::new("drawing", "Drawing", drawing),
        Part::new("parts", "Parts", tables),
        Part::new("limits", "Limits", limits),
    ];
    Page {
        command: &report.command,
        heading: &machine.name,
        about: html! { (Words::of(machine).say(&parts_of(machine))) (about(machine)) },
        notices: notice("warning", "Warnings", &report.warnings),
        words: Words::of(machine),
        parts,
    }
    .render()
}

fn boxes(report: &MachineReport) -> Markup {
    html! {
        p.note { "A box is a package, in it are L3 groups, in these cores, and in these CPUs. The marked one has the main thread." }
        div.packages {
            @for (package, groups) in report.packages() {
                div.package {
                    span { "package " (package) }
                    @for (group, cores) in groups {
                        div.group {
                            span { "L3 group " (group) ", NUMA node " (ranges(cores.values().flatten().map(|cpu| cpu.numa_node).collect())) }
                            div.cores {
                                @for cpus in cores.values() {
                                    div.core {
                                        @for cpu in cpus {
                                            div class=[cpu.has_ppe.then_some("main")] { (cpu.cpu) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

const SIZE: f64 = 360.0;

/// Draws the elements of each Cell: at the tiles of a mesh, otherwise on a circle.
fn elements(interconnect: &InterconnectInfo) -> Markup {
    let is_ring = interconnect.kind == "rings";
    html! {
        div.charts {
            @for (cell, elements) in interconnect.cells.iter().enumerate() {
                figure.chart {
                    figcaption { "Cell " (cell) ", " (interconnect.kind) }
                    svg viewBox={ "0 0 " (SIZE) " " (SIZE) } role="img" aria-label={ "Cell " (cell) } {
                        @let at = places(elements);
                        @let middle = SIZE / 2.0;
                        @if is_ring { circle.ring cx=(middle) cy=(middle) r=(SIZE * 0.36) fill="none" stroke="currentColor" {} }
                        @for (element, (x, y, room)) in elements.iter().zip(at) {
                            g.place data-hover=(element.name) {
                                circle cx=(px(x)) cy=(px(y)) r=(px(room)) {}
                                @if room > 12.0 {
                                    text x=(px(x)) y=(px(y + 4.0)) text-anchor="middle" { (element.name.replace("SPE ", "S").replace("memory ", "M")) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the position of each element in the drawing, and the radius of its circle.
fn places(elements: &[ElementInfo]) -> Vec<(f64, f64, f64)> {
    let tiles = elements.iter().filter_map(|element| element.tile);
    let (columns, rows) = tiles.fold((1, 1), |(columns, rows), [column, row]| {
        (columns.max(column + 1), rows.max(row + 1))
    });
    let step = SIZE / f64::from(columns.max(rows) + 1);
    let around = elements.len() as f64;
    let mut at_tile: BTreeMap<[u16; 2], u16> = BTreeMap::new();
    let place = |(number, element): (usize, &ElementInfo)| match element.tile {
        Some(tile) => {
            // Elements of one tile are drawn beside each other.
            let before = at_tile.entry(tile).or_default();
            let beside = f64::from(*before) * step * 0.5;
            *before += 1;
            let [column, row] = tile.map(|at| (f64::from(at) + 0.8) * step);
            (column + beside, row + beside, (step * 0.3).min(20.0))
        }
        None => {
            let angle = TAU * number as f64 / around;
            let (middle, radius) = (SIZE / 2.0, SIZE * 0.36);
            let room = (radius * TAU / around / 2.4).min(21.0);
            (
                middle + radius * angle.sin(),
                middle - radius * angle.cos(),
                room,
            )
        }
    };
    elements.iter().enumerate().map(place).collect()
}
