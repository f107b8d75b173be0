//! Bindings in the notations of other tools.

use cellworks_mapping::{Binding, Costs, Problem, Volumes};

/// Binds tasks to the given CPUs of 66, with up to three tasks on each.
fn binding(cpus: &[usize]) -> Binding {
    let volumes = Volumes::from_edges(cpus.len(), []).unwrap();
    let costs = Costs::from_fn(66, |_, _| 1.0).unwrap();
    let problem = Problem::builder(volumes, costs)
        .capacity(3)
        .build()
        .unwrap();
    Binding::new(&problem.placement(cpus.iter().copied()).unwrap(), |place| {
        place.0
    })
}

#[test]
fn a_cpu_list_has_each_cpu_once_and_ranges() {
    assert_eq!(binding(&[8, 0, 2, 1, 11, 10]).cpu_list(), "0-2,8,10-11");
    assert_eq!(binding(&[5, 5, 3]).cpu_list(), "3,5");
    assert_eq!(binding(&[7]).cpu_list(), "7");
}

#[test]
fn openmp_and_slurm_have_the_cpus_in_the_order_of_tasks() {
    let binding = binding(&[8, 0, 2, 0]);
    assert_eq!(binding.openmp(), "{8},{0},{2},{0}");
    assert_eq!(binding.slurm(), "map_cpu:8,0,2,0");
    assert_eq!(binding.cpus(), [8, 0, 2, 0]);
}

#[test]
fn places_may_be_some_of_the_cpus() {
    let volumes = Volumes::from_edges(2, [(0, 1, 1.0)]).unwrap();
    let costs = Costs::from_fn(2, |_, _| 1.0).unwrap();
    let problem = Problem::builder(volumes, costs).build().unwrap();
    let allowed = [4, 9];
    let binding = Binding::new(&problem.placement([1, 0]).unwrap(), |place| {
        allowed[place.0]
    });
    assert_eq!(binding.slurm(), "map_cpu:9,4");
    assert_eq!(binding.cpu_list(), "4,9");
}

#[test]
fn cpusets_of_hwloc_have_words_of_32_bits() {
    assert_eq!(
        binding(&[6, 0, 31]).hwloc(),
        ["0x00000040", "0x00000001", "0x80000000"]
    );
    assert_eq!(binding(&[6, 0, 33]).cpuset(), "0x00000002,0x00000041");
    assert_eq!(binding(&[65]).hwloc(), ["0x00000002,0x00000000,0x00000000"]);
}
