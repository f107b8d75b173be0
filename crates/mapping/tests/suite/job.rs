//! Bindings of jobs on several nodes in the notations of launchers.

use cellworks_mapping::JobBinding;

fn job(nodes: &[&str], tasks: &[(usize, usize)]) -> JobBinding {
    let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
    JobBinding::new(nodes, tasks.to_vec())
}

#[test]
fn each_rank_has_a_line_in_ascending_order() {
    let job = job(&["n01", "n02"], &[(1, 3), (0, 0), (1, 2)]);
    assert_eq!(
        job.rankfile(),
        "rank 0=n02 slot=3\nrank 1=n01 slot=0\nrank 2=n02 slot=2\n"
    );
    assert_eq!(job.slurm_hosts(), "n02\nn01\nn02\n");
}

#[test]
fn one_list_is_given_only_where_it_suits_all_nodes() {
    // Both nodes have CPUs 4 and 5, or less, in the order of their tasks.
    let alike = job(&["n01", "n02"], &[(0, 4), (0, 5), (1, 4)]);
    assert_eq!(alike.slurm().unwrap(), "map_cpu:4,5");
    assert_eq!(alike.hydra().unwrap(), "user:4,5");
    let other = job(&["n01", "n02"], &[(0, 4), (0, 5), (1, 5)]);
    assert_eq!((other.slurm(), other.hydra()), (None, None));
    // Hydra begins its list anew where a node comes again, and Slurm does not.
    let alternating = job(&["n01", "n02"], &[(0, 4), (1, 4), (0, 5), (1, 5)]);
    assert_eq!(alternating.slurm().unwrap(), "map_cpu:4,5");
    assert_eq!(alternating.hydra(), None);
    assert_eq!(alternating.hydra_hosts(), "n01:1\nn02:1\nn01:1\nn02:1\n");
    assert_eq!(alike.hydra_hosts(), "n01:2\nn02:1\n");
}

#[test]
fn a_node_without_tasks_has_no_cpuset() {
    let three = job(&["n01", "n02", "n03"], &[(2, 8), (0, 1), (2, 7), (0, 0)]);
    assert_eq!(three.cpusets(), "n01 0-1\nn03 7-8\n");
    assert_eq!(three.on(2).cpus(), [8, 7]);
    assert_eq!(three.slurm(), None);
}

#[test]
fn one_computer_needs_no_name() {
    let here = job(&[], &[(0, 6), (0, 4)]);
    assert_eq!(
        here.rankfile(),
        "rank 0=localhost slot=6\nrank 1=localhost slot=4\n"
    );
    assert_eq!(here.hydra().unwrap(), "user:6,4");
    assert_eq!(
        here.on(0).systemd(),
        "[Service]\nCPUAffinity=\nCPUAffinity=4,6\nAllowedCPUs=\nAllowedCPUs=4,6\n"
    );
}

#[test]
#[should_panic(expected = "task 1 is on node 2, and there are 2 nodes")]
fn a_node_that_does_not_exist() {
    job(&["n01", "n02"], &[(0, 0), (2, 0)]);
}
