//! The machine of a result.

use cellworks_machine::{Distance, SpeId, Topology};
use serde::{Deserialize, Serialize};

/// The machine that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineInfo {
    /// The title of the machine. For this computer it is the name of the processor.
    pub name: String,
    /// `host`: this computer. `simulated`: a simulated machine. `costs`: a matrix of costs, for
    /// which only the number of places is known.
    pub kind: String,
    /// The number of SPEs.
    pub spes: usize,
    /// The Cells of the machine. On this computer a Cell is the cores under one last-level cache.
    pub cells: Vec<CellInfo>,
    /// The number of memory modules. On this computer a memory module is a NUMA node.
    pub memory_modules: usize,
    /// The place of each SPE, such as `CPU 3`.
    pub spe_places: Vec<String>,
    /// The memory module that is nearest to each SPE. On this computer it is the module of the
    /// SPE's CPU. The SPEs of one Cell can have different nearest modules if their last-level cache
    /// covers several NUMA nodes. Empty for a matrix of costs, and in files that an older version
    /// of the command wrote.
    #[serde(default)]
    pub spe_memory_modules: Vec<usize>,
    /// The core of each SPE, by a number from 0. On this computer, SPEs with the same number are
    /// hardware threads of one core, or share a CPU. Empty for a matrix of costs, and in files that
    /// an older version of the command wrote.
    #[serde(default)]
    pub spe_cores: Vec<usize>,
    /// The place of the PPE, such as `CPU 0`. `None` if it has no name, and in older files.
    #[serde(default)]
    pub ppe_place: Option<String>,
    /// The parameters of the simulation. `None` if the machine was not simulated.
    pub simulation: Option<Simulation>,
}

/// The parameters of a simulation. The same simulation always gives the same numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulation {
    /// The name of the machine's description, such as `qs20`.
    pub description: String,
    /// The number that decides the order of events at the same instant. 0 is the default order.
    pub seed: u64,
    /// Whether the PPE accessed the registers of SPEs by calls into the kernel instead of directly.
    pub system_calls: bool,
}

/// A Cell of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellInfo {
    /// The numbers of the SPEs of this Cell.
    pub spes: Vec<usize>,
    /// The memory module nearest to the Cell. If its SPEs have different nearest modules, it is the
    /// module of the SPEs that programs use first.
    pub nearest_memory_module: usize,
}

/// The [kind](MachineInfo::kind) of a computer.
const HOST: &str = "host";

/// Returns the number of the core of each SPE, in the order of their first SPEs.
fn cores(topology: &Topology) -> Vec<usize> {
    let mut firsts: Vec<SpeId> = Vec::new();
    let core = |spe| {
        let same = |first: &SpeId| topology.distance(*first, spe) <= Distance::SameCore;
        firsts.iter().position(same).unwrap_or_else(|| {
            firsts.push(spe);
            firsts.len() - 1
        })
    };
    topology.spes().map(core).collect()
}

impl MachineInfo {
    /// Describes this computer, or a simulated machine if `simulation` is given.
    pub fn of(topology: &Topology, simulation: Option<Simulation>) -> Self {
        let cell = |cell| CellInfo {
            spes: topology.spes_of(cell).map(|spe| spe.index()).collect(),
            nearest_memory_module: topology.nearest_module(cell).index(),
        };
        Self {
            name: topology.name().to_owned(),
            kind: simulation.as_ref().map_or(HOST, |_| "simulated").to_owned(),
            spes: topology.spes().len(),
            cells: topology.cells().map(cell).collect(),
            memory_modules: topology.modules().len(),
            spe_places: topology
                .spes()
                .map(|spe| topology.place_of(spe).to_owned())
                .collect(),
            spe_memory_modules: topology
                .spes()
                .map(|spe| topology.module_of(spe).index())
                .collect(),
            spe_cores: cores(topology),
            ppe_place: topology.place_of_ppe().map(str::to_owned),
            simulation,
        }
    }

    /// Returns true for this computer, and false for a simulated machine or a matrix of costs.
    pub fn is_this_computer(&self) -> bool {
        self.kind == HOST
    }
}
