//! The parts of a machine, for reports. Only this file of the crate tells interconnects apart.

use std::collections::BTreeMap;

use cellworks_host::Described;
use cellworks_machine::Machine;
use cellworks_report::{
    CacheInfo, CpuInfo, CpuLeftOut, ElementInfo, InterconnectInfo, MachineInfo, MachineReport,
    NumaNodeInfo, QuotaInfo, Simulation,
};
use cellworks_sim::{Description, Interconnect, Sim, SimError};

use crate::args::Cpus;
use crate::failure::Failure;
use crate::surroundings::this_computer;

const PACKET_BYTES: u64 = 128;

pub(crate) fn of_this_computer(chosen: Option<&Cpus>) -> Result<MachineReport, Failure> {
    let host = this_computer(chosen)?;
    let Described {
        cpus,
        caches,
        nodes,
        quota,
        left_out,
        is_guest,
    } = host.describe();
    let cpus = cpus.into_iter().map(|cpu| CpuInfo {
        cpu: cpu.cpu,
        spe: cpu.spe.map(|spe| spe.index()),
        has_ppe: cpu.has_ppe,
        package: cpu.package,
        core: cpu.core,
        cache_group: cpu.group,
        numa_node: cpu.node,
        highest_clock_hz: cpu.highest_clock_hz,
    });
    let caches = caches.into_iter().map(|cache| CacheInfo {
        level: cache.level,
        kind: cache.kind,
        bytes: cache.bytes,
        cpus: cache.cpus.into_iter().collect(),
    });
    let nodes = nodes.into_iter().map(|node| NumaNodeInfo {
        node: node.os_index,
        bytes: node.bytes,
        usable: node.usable,
        distances: node.distances,
    });
    let left_out = left_out.iter().map(|left_out| CpuLeftOut {
        cpu: left_out.os_index,
        why: left_out.why.to_string(),
    });
    Ok(MachineReport {
        cpus: cpus.collect(),
        caches: caches.collect(),
        numa_nodes: nodes.collect(),
        quota: quota.map(|quota| QuotaInfo {
            cpus: quota.cpus(),
            set_in: quota.set_in.display().to_string(),
        }),
        cpus_left_out: left_out.collect(),
        is_guest,
        warnings: host.warnings().to_vec(),
        ..MachineReport::of(MachineInfo::of(host.topology(), None))
    })
}

pub(crate) fn of_description(description: &Description) -> Result<MachineReport, SimError> {
    let how = Simulation {
        description: description.name.clone(),
        seed: 0,
        system_calls: false,
    };
    let sim = Sim::new(description.clone())?;
    let info = MachineInfo {
        name: description.title.clone(),
        ..MachineInfo::of(sim.topology(), Some(how))
    };
    let (kind, cells) = elements(description);
    let kind = kind.to_owned();
    Ok(MachineReport {
        interconnect: Some(InterconnectInfo { kind, cells }),
        ..MachineReport::of(info)
    })
}

/// Returns the kind of the interconnect, and the elements of each Cell.
fn elements(description: &Description) -> (&'static str, Vec<Vec<ElementInfo>>) {
    let mut ids = BTreeMap::new();
    for (id, place) in description.spes().enumerate() {
        ids.insert(place, id);
    }
    let element = |name: String| ElementInfo { name, tile: None };
    // Programs identify SPEs by these ids.
    let spe = |cell: u16, number: u16| match ids.get(&(cell, number)) {
        Some(id) => format!("SPE {id}"),
        None => format!("unused SPE{number}"),
    };
    let memories = |cell: u16| {
        let modules = description.modules.iter().enumerate();
        modules.filter(move |(_, module)| module.cell == cell)
    };
    let of_cell = |(cell, spes): (u16, &[u16])| -> Vec<ElementInfo> {
        match &description.interconnect {
            Interconnect::Rings(rings) => {
                let name = |name: &String| match name.strip_prefix("SPE").map(str::parse) {
                    Some(Ok(number)) => spe(cell, number),
                    _ => name.clone(),
                };
                rings.elements.iter().map(name).map(element).collect()
            }
            Interconnect::Mesh(mesh) => {
                let columns = u16::try_from(mesh.columns.value).unwrap_or(u16::MAX);
                let spes = spes.iter().map(|number| ElementInfo {
                    name: spe(cell, *number),
                    tile: Some([number % columns, number / columns]),
                });
                let memories = memories(cell).map(|(number, module)| ElementInfo {
                    name: format!("memory {number}"),
                    tile: module.tile,
                });
                let ppe = ElementInfo {
                    name: "PPE".to_owned(),
                    tile: Some(mesh.ppe_tile),
                };
                spes.chain(memories).chain([ppe]).collect()
            }
            Interconnect::Crossbar(_) | Interconnect::Matrix(_) => {
                let spes = spes.iter().map(|number| spe(cell, *number));
                let memories = memories(cell).map(|(number, _)| format!("memory {number}"));
                let all = ["PPE".to_owned()].into_iter().chain(spes).chain(memories);
                all.map(element).collect()
            }
        }
    };
    let cells = description.cells.iter().map(|cell| cell.spes.as_slice());
    let cells = (0..).zip(cells).map(of_cell).collect();
    (kind_of(&description.interconnect), cells)
}

pub(crate) fn kind_of(interconnect: &Interconnect) -> &'static str {
    match interconnect {
        Interconnect::Rings(_) => "rings",
        Interconnect::Mesh(_) => "mesh",
        Interconnect::Crossbar(_) => "crossbar",
        Interconnect::Matrix(_) => "matrix",
    }
}

/// Returns the bandwidth of the port of an SPE in each direction.
pub(crate) fn port_bytes_per_s(description: &Description) -> u64 {
    match &description.interconnect {
        Interconnect::Rings(rings) => {
            let packet_cycles = rings.packet_bus_cycles.value.max(1);
            PACKET_BYTES * description.clock.bus_hz.value / packet_cycles
        }
        Interconnect::Mesh(mesh) => mesh.link_bytes_per_s.value,
        Interconnect::Crossbar(crossbar) => crossbar.port_bytes_per_s.value,
        Interconnect::Matrix(matrix) => matrix.port_bytes_per_s.value,
    }
}
