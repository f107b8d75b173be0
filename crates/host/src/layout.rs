//! Which CPU each SPE gets.
//!
//! SPEs take the CPUs in the order of [`Cpus::spe_order`]: Cell by Cell, SMT siblings last. The
//! PPE takes the first CPU, and the SPE that would have it comes last in its Cell, because a PPE
//! that talks to SPE 0 should not share a CPU with it. Where there are more SPEs than CPUs, the
//! SPEs go round again, and those that meet on a CPU share one OS thread.

use cellworks_machine::{CellId, ModuleId, SpeId, SpeSite, Topology};

use crate::cpus::Cpus;

/// Who runs where.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) topology: Topology,
    /// The PPE's CPU, as the operating system numbers them.
    pub(crate) ppe_cpu: u32,
    pub(crate) workers: Vec<WorkerLayout>,
    /// The worker of each SPE.
    pub(crate) worker_of: Vec<usize>,
}

/// One OS thread that runs SPEs.
#[derive(Clone, Debug)]
pub(crate) struct WorkerLayout {
    pub(crate) cpu: u32,
    pub(crate) spes: Vec<SpeId>,
    /// Whether the PPE has the same CPU.
    pub(crate) with_ppe: bool,
}

impl Layout {
    /// Lays out `spes` SPEs; as many as CPUs can run at once, if `None`.
    pub(crate) fn new(cpus: &Cpus, spes: Option<usize>) -> Self {
        let mut order = cpus.spe_order();
        // More OS threads than the quota pays for would only take turns.
        let paid = cpus
            .quota
            .as_ref()
            .map_or(usize::MAX, |quota| quota.cpus_floor());
        order.truncate(paid.max(1));
        let first = order[0];
        let cell_of = |at: usize| cpus.cpus[at].last_level_cache;
        let first_cell = order
            .iter()
            .take_while(|&&at| cell_of(at) == cell_of(first))
            .count();
        order[..first_cell].rotate_left(1);

        let spes = spes.unwrap_or(order.len());
        // Cells are numbered in the order in which SPEs meet them.
        let mut cells: Vec<usize> = Vec::new();
        let mut sites = Vec::with_capacity(spes);
        for spe in 0..spes {
            let at = order[spe % order.len()];
            let cell = cells
                .iter()
                .position(|&cell| cell == cell_of(at))
                .unwrap_or_else(|| {
                    cells.push(cell_of(at));
                    cells.len() - 1
                });
            sites.push(SpeSite {
                cell: CellId::new(cell as u16),
                place: format!("CPU {}", cpus.cpus[at].os_index),
            });
        }
        let module_of = |cell: &usize| {
            let at = order.iter().find(|&&at| cell_of(at) == *cell);
            ModuleId::new(cpus.cpus[*at.expect("the cell was met")].memory_node as u16)
        };
        let name = cpus.model_name.clone().unwrap_or_else(|| "host".to_owned());
        let topology = Topology::new(name, cells.iter().map(module_of).collect(), sites)
            .with_modules(cpus.memory_nodes.len() as u16);
        let workers = order
            .iter()
            .take(spes)
            .enumerate()
            .map(|(worker, &at)| WorkerLayout {
                cpu: cpus.cpus[at].os_index,
                spes: (worker..spes)
                    .step_by(order.len())
                    .map(|spe| SpeId::new(spe as u16))
                    .collect(),
                with_ppe: at == first,
            })
            .collect();
        Self {
            topology,
            ppe_cpu: cpus.cpus[first].os_index,
            workers,
            worker_of: (0..spes).map(|spe| spe % order.len()).collect(),
        }
    }
}
