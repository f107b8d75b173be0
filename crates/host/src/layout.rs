//! The layout of a host: the CPU of each SPE, and the memory module that is nearest to the SPE.
//!
//! If the builder was given CPUs, SPEs take these CPUs in the given order, otherwise in the order
//! of [`Cpus::spe_order`]. If there are more SPEs than CPUs, the order begins again, and the SPEs
//! on one CPU share an OS thread. The PPE takes the last CPU in `Cpus::spe_order` before the second
//! Cell begins. SPE 0 usually has another CPU, the first.
//!
//! The memory module of an SPE is the NUMA node of the SPE's CPU, or the nearest node on which the
//! process can allocate memory. The CPUs of a Cell may belong to several nodes: with sub-NUMA
//! clustering, or on some hypervisors.

// Rejected: an OS thread for each SPE, even if SPEs share a CPU. Eight OS threads on two cores are
// slower than eight cooperative threads.

use cellworks_machine::{CellId, ModuleId, SpeId, SpeSite, Topology};

use crate::cpus::{Cpus, SPES_MAX};

/// The CPUs of the PPE and of the SPEs.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) topology: Topology,
    /// The number of the PPE's CPU in the operating system.
    pub(crate) ppe_cpu: u32,
    pub(crate) workers: Vec<WorkerLayout>,
    pub(crate) worker_of: Vec<usize>,
}

/// An OS thread that runs SPEs.
#[derive(Clone, Debug)]
pub(crate) struct WorkerLayout {
    pub(crate) cpu: u32,
    pub(crate) spes: Vec<SpeId>,
    /// Whether the PPE is on the CPU of this worker.
    pub(crate) with_ppe: bool,
}

impl Layout {
    /// Makes the layout of `spes` SPEs, at most [`SPES_MAX`]. If `spes` is `None`, there is an SPE
    /// for each CPU, or fewer if a quota limits CPU time. `chosen` is the argument of
    /// [`HostBuilder::cpus`](crate::HostBuilder::cpus). `cpus` then contains only these CPUs.
    pub(crate) fn new(cpus: &Cpus, spes: Option<usize>, chosen: Option<&[u32]>) -> Self {
        let in_order = cpus.spe_order();
        let mut default_order = in_order.clone();
        // If more CPUs were busy, the quota would stop all threads at times.
        let paid = cpus
            .quota
            .as_ref()
            .map_or(usize::MAX, |quota| quota.cpus_floor());
        default_order.truncate(paid.clamp(1, SPES_MAX));
        let cell_of = |at: usize| cpus.cpus[at].last_level_cache;
        let first_cell = default_order
            .iter()
            .take_while(|&&at| cell_of(at) == cell_of(default_order[0]))
            .count();
        let ppe_at = default_order[first_cell - 1];
        let place_of = |cpu: &u32| {
            let place = cpus.cpus.iter().position(|known| known.os_index == *cpu);
            place.expect("a CPU that was chosen is there")
        };
        let order = match chosen {
            Some(chosen) => chosen.iter().map(place_of).collect(),
            None => default_order,
        };

        let spes = spes.unwrap_or(order.len());
        // Cells are numbered in the order in which SPEs first use them.
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
                core: Some(cpus.cpus[at].core as u32),
                place: format!("CPU {}", cpus.cpus[at].os_index),
            });
        }
        // A module has the number of its node in the operating system, as `numactl` has it.
        let module = |node: usize| ModuleId::new(cpus.memory_nodes[node].os_index as u16);
        let module_of = |at: usize| module(cpus.nearest_usable(cpus.cpus[at].memory_node));
        let module_of_cell = |cell: &usize| {
            let first = in_order.iter().find(|&&at| cell_of(at) == *cell);
            module_of(*first.expect("the cell was met"))
        };
        let name = cpus.model_name.clone().unwrap_or_else(|| "host".to_owned());
        let module_of_spe = |spe: usize| module_of(order[spe % order.len()]);
        let topology = Topology::new(name, cells.iter().map(module_of_cell).collect(), sites)
            .with_modules_of_spes((0..spes).map(module_of_spe).collect())
            .with_exactly_modules(cpus.usable_nodes().map(module).collect())
            .with_place_of_ppe(format!("CPU {}", cpus.cpus[ppe_at].os_index));
        let topology = match cpus.last_level_cache_bytes {
            Some(bytes) => topology.with_last_level_cache(bytes),
            None => topology,
        };
        let topology = match cpus.cache_levels {
            Some(levels) => topology.with_cache_levels(levels),
            None => topology,
        };
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
                with_ppe: at == ppe_at,
            })
            .collect();
        Self {
            topology,
            ppe_cpu: cpus.cpus[ppe_at].os_index,
            workers,
            worker_of: (0..spes).map(|spe| spe % order.len()).collect(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use cellworks_machine::Distance;

    use super::*;
    use crate::cpus::{Cpu, MemoryNode, Quota};

    fn computer(cells: usize, cores: usize) -> Cpus {
        let all = cells * cores;
        let cpu = |os_index: usize| Cpu {
            os_index: os_index as u32,
            package: 0,
            core: os_index % all,
            core_cpus: [os_index % all, os_index % all + all]
                .map(|cpu| cpu as u32)
                .into(),
            sibling_rank: (os_index / all) as u32,
            last_level_cache: os_index % all / cores,
            memory_node: os_index % all / cores,
            capacity: None,
        };
        let node = |os_index: usize| MemoryNode {
            os_index: os_index as u32,
            bytes: None,
            usable: true,
            distances: Vec::new(),
        };
        Cpus {
            cpus: (0..2 * all).map(cpu).collect(),
            left_out: Vec::new(),
            quota: None,
            last_level_cache_bytes: None,
            cache_levels: None,
            memory_nodes: (0..cells).map(node).collect(),
            model_name: Some("a computer".to_owned()),
            notes: Vec::new(),
        }
    }

    fn places(layout: &Layout) -> Vec<&str> {
        let topology = &layout.topology;
        topology.spes().map(|spe| topology.place_of(spe)).collect()
    }

    #[test]
    fn the_ppe_has_a_cpu_that_its_first_spe_has_not() {
        let layout = Layout::new(&computer(2, 2), None, None);
        assert_eq!(layout.ppe_cpu, 1);
        assert_eq!(layout.topology.place_of_ppe(), Some("CPU 1"));
        let expected = [
            "CPU 0", "CPU 1", "CPU 2", "CPU 3", "CPU 4", "CPU 5", "CPU 6", "CPU 7",
        ];
        assert_eq!(places(&layout), expected);
        let with_ppe = layout.workers.iter().position(|worker| worker.with_ppe);
        assert_eq!(with_ppe, Some(1));
    }

    #[test]
    fn spes_have_the_cpus_that_were_chosen() {
        let computer = computer(2, 2);
        let layout = Layout::new(&computer, None, Some(&[5, 1]));
        assert_eq!(places(&layout), ["CPU 5", "CPU 1"]);
        // The Cells are numbered in the order of their first SPE.
        let layout = Layout::new(&computer, Some(3), Some(&[3, 0]));
        assert_eq!(places(&layout), ["CPU 3", "CPU 0", "CPU 3"]);
        let modules = |cell| layout.topology.nearest_module(CellId::new(cell));
        assert_eq!(
            (modules(0), modules(1)),
            (ModuleId::new(1), ModuleId::new(0))
        );
    }

    #[test]
    fn cells_and_modules_are_those_of_the_cpus() {
        let layout = Layout::new(&computer(2, 2), None, None);
        let topology = &layout.topology;
        assert_eq!((topology.cells().len(), topology.modules().len()), (2, 2));
        let of_cell = |cell| -> Vec<usize> {
            let spes = topology.spes_of(CellId::new(cell));
            spes.map(SpeId::index).collect()
        };
        assert_eq!(of_cell(0), [0, 1, 4, 5]);
        assert_eq!(of_cell(1), [2, 3, 6, 7]);
        assert_eq!(topology.nearest_module(CellId::new(1)), ModuleId::new(1));
    }

    #[test]
    fn hardware_threads_of_a_core_are_nearer_than_cores() {
        let layout = Layout::new(&computer(2, 2), None, None);
        let from_cpu_0 = |to| layout.topology.distance(SpeId::new(0), SpeId::new(to));
        // SPE 4 has CPU 4, which is the sibling of CPU 0.
        assert_eq!(from_cpu_0(4), Distance::SameCore);
        assert_eq!(from_cpu_0(1), Distance::SameCell);
        assert_eq!(from_cpu_0(6), Distance::AcrossModules);
    }

    #[test]
    fn more_spes_than_cpus_go_round() {
        let layout = Layout::new(&computer(1, 1), Some(5), None);
        assert_eq!(
            places(&layout),
            ["CPU 0", "CPU 1", "CPU 0", "CPU 1", "CPU 0"]
        );
        let spes = |worker: usize| -> Vec<usize> {
            let spes = layout.workers[worker].spes.iter();
            spes.map(|spe| spe.index()).collect()
        };
        assert_eq!((spes(0), spes(1)), (vec![0, 2, 4], vec![1, 3]));
        assert_eq!(layout.worker_of, [0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_quota_limits_the_threads_and_so_the_spes() {
        let mut computer = computer(1, 4);
        computer.quota = Some(Quota {
            microseconds: 250_000,
            period_microseconds: 100_000,
            set_in: "cpu.max".into(),
        });
        assert_eq!(
            places(&Layout::new(&computer, None, None)),
            ["CPU 0", "CPU 1"]
        );
        assert_eq!(Layout::new(&computer, Some(4), None).workers.len(), 2);
    }

    #[test]
    fn only_nodes_with_memory_are_modules_and_the_others_have_the_nearest() {
        let modules = |usable: [bool; 3]| {
            let mut computer = computer(3, 1);
            for (node, usable) in computer.memory_nodes.iter_mut().zip(usable) {
                node.usable = usable;
            }
            computer.memory_nodes[0].distances = vec![10, 32, 21];
            let layout = Layout::new(&computer, None, None);
            let cells = layout.topology.cells();
            let nearest = cells.map(|cell| layout.topology.nearest_module(cell).index());
            (layout.topology.modules().len(), nearest.collect::<Vec<_>>())
        };
        assert_eq!(modules([true, true, true]), (3, vec![0, 1, 2]));
        assert_eq!(modules([true, false, true]), (2, vec![0, 0, 2]));
        assert_eq!(modules([false, true, true]), (2, vec![2, 1, 2]));
        assert_eq!(modules([false, false, true]), (1, vec![2, 2, 2]));
    }

    #[test]
    fn more_cpus_than_spes_may_be_are_not_used() {
        let layout = Layout::new(&computer(2, 32_768 / 2), None, None);
        assert_eq!(layout.topology.spes().len(), SPES_MAX);
        assert_eq!(layout.workers.len(), SPES_MAX);
        let few = Layout::new(&computer(2, 32_768 / 2), Some(3), None);
        assert_eq!(few.workers.len(), 3);
    }

    #[test]
    fn one_cpu_is_enough() {
        let mut computer = computer(1, 1);
        computer.cpus.truncate(1);
        let layout = Layout::new(&computer, None, None);
        assert_eq!((places(&layout), layout.ppe_cpu), (vec!["CPU 0"], 0));
        assert!(layout.workers[0].with_ppe);
    }
}
