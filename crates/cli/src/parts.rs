//! The parts of a machine, for reports.

use cellworks_host::Described;
use cellworks_machine::Machine;
use cellworks_report::{
    CacheInfo, CpuInfo, CpuLeftOut, ElementInfo, InterconnectInfo, MachineInfo, MachineReport,
    NumaNodeInfo, QuotaInfo, Simulation,
};
use cellworks_sim::{Description, Element, Sim, SimError};

use crate::args::Cpus;
use crate::failure::Failure;
use crate::surroundings::this_computer;

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
    let element = |element: Element| ElementInfo {
        name: element.name,
        tile: element.tile,
    };
    let cells = description.elements().into_iter();
    Ok(MachineReport {
        interconnect: Some(InterconnectInfo {
            kind: description.interconnect.kind().to_owned(),
            cells: cells
                .map(|cell| cell.into_iter().map(element).collect())
                .collect(),
        }),
        ..MachineReport::of(info)
    })
}
