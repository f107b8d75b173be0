//! Tests with trees of other computers, and with this computer. A tree has only the files that this
//! crate reads.

pub(crate) mod machines;
pub(crate) mod tree;

use std::collections::BTreeSet;
use std::io;
use std::thread::available_parallelism;

use proptest::prelude::*;

use super::list::{parse_list, parse_map, write_list as list};
use super::source::allowed_now;
use super::*;
use tree::{Tree, map, set};

fn column<T>(cpus: &Cpus, of: impl Fn(&Cpu) -> T) -> Vec<T> {
    cpus.cpus.iter().map(of).collect()
}

/// Returns the numbers of the CPUs in the order of [`Cpus::spe_order`].
fn spe_order(cpus: &Cpus) -> Vec<u32> {
    let order = cpus.spe_order();
    order.into_iter().map(|at| cpus.cpus[at].os_index).collect()
}

/// Returns the CPUs of each group (Cell, core, node, ...), as lists.
fn groups<T: Ord>(cpus: &Cpus, of: impl Fn(&Cpu) -> T) -> Vec<String> {
    let mut groups = std::collections::BTreeMap::<T, BTreeSet<u32>>::new();
    for cpu in &cpus.cpus {
        groups.entry(of(cpu)).or_default().insert(cpu.os_index);
    }
    groups.values().map(list).collect()
}

fn cells(cpus: &Cpus) -> Vec<String> {
    groups(cpus, |cpu| cpu.last_level_cache)
}

/// Returns the message of a failed read, without the path of the tree.
fn message(tree: &Tree, allowed: Option<&str>) -> String {
    let error = tree.try_read(allowed).expect_err("the tree is damaged");
    error.to_string().replace(tree.root(), "")
}

/// Returns the notes about a tree, without the path of the tree.
fn notes(tree: &Tree, allowed: Option<&str>) -> Vec<String> {
    let notes = tree.try_read(allowed).unwrap().notes.into_iter();
    notes.map(|note| note.replace(tree.root(), "")).collect()
}

#[test]
fn one_cpu_is_one_of_everything() {
    let cpus = machines::one_cpu().read("0");
    let only = Cpu {
        os_index: 0,
        package: 0,
        core: 0,
        core_cpus: set("0"),
        sibling_rank: 0,
        last_level_cache: 0,
        memory_node: 0,
        capacity: None,
    };
    let node = MemoryNode {
        os_index: 0,
        bytes: Some(1 << 30),
        usable: true,
        distances: vec![10],
    };
    assert_eq!(
        cpus,
        Cpus {
            cpus: vec![only],
            left_out: vec![],
            quota: None,
            last_level_cache_bytes: None,
            cache_levels: Some(2),
            memory_nodes: vec![node],
            model_name: Some("QEMU Virtual CPU version 2.5+".to_owned()),
            notes: vec![],
        }
    );
    assert_eq!(cpus.spe_order(), [0]);
}

#[test]
fn a_dual_socket_xeon_has_a_cell_and_a_memory_node_per_socket() {
    let cpus = machines::xeon_e5_2680_v4_twice().read("0-55");
    assert_eq!(cells(&cpus), ["0-13,28-41", "14-27,42-55"]);
    assert_eq!(groups(&cpus, |cpu| cpu.memory_node), cells(&cpus));
    assert_eq!(groups(&cpus, |cpu| cpu.package), cells(&cpus));
    assert_eq!(groups(&cpus, |cpu| cpu.sibling_rank), ["0-27", "28-55"]);
    assert_eq!(groups(&cpus, |cpu| cpu.core)[..3], ["0,28", "1,29", "2,30"]);
    assert_eq!(spe_order(&cpus), (0..56).collect::<Vec<_>>());
    assert_eq!(cpus.memory_nodes[0].distances, [10, 21]);
    assert_eq!(cpus.memory_nodes[1].distances, [21, 10]);
    assert_eq!(cpus.memory_nodes[1].bytes, Some(64 << 30));
    assert_eq!(
        cpus.model_name.as_deref(),
        Some("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz")
    );
}

#[test]
fn the_first_allowed_sibling_has_rank_0() {
    // CPUs 28 to 31 are the second threads of the cores of CPUs 0 to 3.
    let cpus = machines::xeon_e5_2680_v4_twice().read("3,28-31,42");
    assert_eq!(column(&cpus, |cpu| cpu.os_index), [3, 28, 29, 30, 31, 42]);
    assert_eq!(column(&cpus, |cpu| cpu.core), [0, 1, 2, 3, 0, 4]);
    assert_eq!(list(&cpus.cpus[1].core_cpus), "0,28");
    assert_eq!(column(&cpus, |cpu| cpu.sibling_rank), [0, 0, 0, 0, 1, 0]);
    assert_eq!(spe_order(&cpus), [3, 28, 29, 30, 42, 31]);
}

#[test]
fn a_dual_socket_epyc_has_a_cell_per_chiplet() {
    let cpus = machines::epyc_7763_twice().read("0-255");
    assert_eq!(cpus.cpus.len(), 256);
    let cells = cells(&cpus);
    assert_eq!(cells.len(), 16);
    assert_eq!(cells[0], "0-7,128-135");
    assert_eq!(cells[15], "120-127,248-255");
    assert_eq!(
        groups(&cpus, |cpu| cpu.memory_node),
        ["0-63,128-191", "64-127,192-255"]
    );
    assert_eq!(groups(&cpus, |cpu| cpu.core).len(), 128);
    assert_eq!(spe_order(&cpus), (0..256).collect::<Vec<_>>());
}

#[test]
fn hundreds_of_cpus_have_dozens_of_cells() {
    let cpus = machines::hundreds_of_cpus().read("0-575");
    assert_eq!(cpus.cpus.len(), 576);
    let cells = cells(&cpus);
    assert_eq!(cells.len(), 24);
    assert_eq!(cells[12], "288-311");
    assert_eq!(groups(&cpus, |cpu| cpu.memory_node), ["0-287", "288-575"]);
    assert_eq!(spe_order(&cpus), (0..576).collect::<Vec<_>>());
}

#[test]
fn a_mask_across_chiplets_keeps_their_cells_apart() {
    let cpus = machines::epyc_7763_twice().read("9,70,137,200");
    assert_eq!(cells(&cpus), ["9,137", "70", "200"]);
    assert_eq!(spe_order(&cpus), [9, 70, 200, 137]);
    assert_eq!(column(&cpus, |cpu| cpu.memory_node), [0, 1, 0, 1]);
}

#[test]
fn a_hybrid_processor_gives_second_threads_after_efficiency_cores() {
    let cpus = machines::core_i9_12900k().read("0-23");
    assert_eq!(cells(&cpus), ["0-23"]);
    assert_eq!(groups(&cpus, |cpu| cpu.core).len(), 16);
    assert_eq!(
        groups(&cpus, |cpu| cpu.capacity),
        ["16-23", "0-7,12-15", "8-11"]
    );
    assert_eq!(cpus.cpus[8].capacity, Some(1024));
    // The clock of CPU 16 is 3.9 GHz, and the highest clock is 5.2 GHz.
    assert_eq!(cpus.cpus[16].capacity, Some(768));
    // First the performance cores, led by the two with the highest turbo clock, then the efficiency
    // cores, then the second threads.
    let expected = [
        8, 10, 0, 2, 4, 6, 12, 14, 16, 17, 18, 19, 20, 21, 22, 23, 9, 11, 1, 3, 5, 7, 13, 15,
    ];
    assert_eq!(spe_order(&cpus), expected);
}

#[test]
fn capacity_is_relative_to_the_whole_computer() {
    let cpus = machines::core_i9_12900k().read("16-23");
    assert_eq!(column(&cpus, |cpu| cpu.capacity), [Some(768); 8]);
}

#[test]
fn the_capacity_of_the_kernel_comes_before_clocks() {
    let tree = machines::core_i9_12900k();
    tree.write("sys/devices/system/cpu/cpu16/cpu_capacity", "623\n");
    assert_eq!(tree.read("0-23").cpus[16].capacity, Some(623));
}

#[test]
fn turbo_clocks_of_equal_cores_are_no_capacity() {
    let tree = machines::threadripper_2950x();
    for cpu in 0..32 {
        let khz = if cpu == 3 { "4400000\n" } else { "4200000\n" };
        tree.write(
            format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq"),
            khz,
        );
    }
    assert!(
        column(&tree.read("0-31"), |cpu| cpu.capacity)
            .iter()
            .all(Option::is_none)
    );
}

#[test]
fn a_threadripper_has_four_cells_on_two_memory_nodes() {
    let cpus = machines::threadripper_2950x().read("0-31");
    assert_eq!(
        cells(&cpus),
        ["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"]
    );
    assert_eq!(
        groups(&cpus, |cpu| cpu.memory_node),
        ["0-7,16-23", "8-15,24-31"]
    );
    assert_eq!(groups(&cpus, |cpu| cpu.package), ["0-31"]);
    assert_eq!(cpus.memory_nodes[0].distances, [10, 16]);
}

#[test]
fn without_a_third_level_the_clusters_of_an_m1_are_cells() {
    let cpus = machines::apple_m1().read("0-7");
    assert_eq!(cells(&cpus), ["0-3", "4-7"]);
    assert_eq!(groups(&cpus, |cpu| cpu.capacity), ["0-3", "4-7"]);
    assert_eq!(column(&cpus, |cpu| cpu.sibling_rank), [0; 8]);
    assert_eq!(spe_order(&cpus), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(
        cpus.model_name.as_deref(),
        Some("Apple MacBook Air (M1, 2020)")
    );
    let node = MemoryNode {
        os_index: 0,
        bytes: Some(8 << 30),
        usable: true,
        distances: vec![],
    };
    assert_eq!(
        cpus.memory_nodes,
        [node],
        "its kernel has no nodes, so the total is that of /proc/meminfo"
    );
}

#[test]
fn within_a_cell_big_cores_come_before_little_ones() {
    let tree = machines::apple_m1();
    for cpu in 0..8 {
        tree.cache(cpu, 3, "0-7");
    }
    assert_eq!(spe_order(&tree.read("0-7")), [4, 5, 6, 7, 0, 1, 2, 3]);
}

#[test]
fn caches_of_single_cores_make_no_cells() {
    // An Altra reports only the second-level cache of each core.
    let cpus = machines::altra_twice().read("0-159");
    assert_eq!(cells(&cpus), ["0-79", "80-159"]);
    assert_eq!(column(&cpus, |cpu| cpu.core), (0..160).collect::<Vec<_>>());
}

#[test]
fn a_dual_kunpeng_has_a_cell_and_a_memory_node_per_chip() {
    let tree = machines::kunpeng_920_twice();
    let cpus = tree.read("0-127");
    assert_eq!(cells(&cpus), ["0-31", "32-63", "64-95", "96-127"]);
    assert_eq!(groups(&cpus, |cpu| cpu.memory_node), cells(&cpus));
    assert_eq!(groups(&cpus, |cpu| cpu.package), ["0-63", "64-127"]);
    assert_eq!(groups(&cpus, |cpu| cpu.core).len(), 128);
    assert_eq!(cpus.memory_nodes[1].distances, [16, 10, 25, 32]);
    assert_eq!(cpus.model_name.as_deref(), Some("Huawei XA320 V2"));
    // A NUL at the end is no reason for a note.
    assert_eq!(notes(&tree, None), [""; 0]);
}

#[test]
fn cores_of_two_kinds_under_one_cache_are_taken_by_their_capacity() {
    let cpus = machines::nvidia_dgx_spark().read("0-19");
    assert_eq!(cells(&cpus), ["0-9", "10-19"]);
    assert_eq!(
        groups(&cpus, |cpu| cpu.capacity),
        ["0-4", "10-14", "5-9", "15-18", "19"]
    );
    let order = [
        5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 19, 15, 16, 17, 18, 10, 11, 12, 13, 14,
    ];
    assert_eq!(spe_order(&cpus), order);
    assert_eq!(cpus.model_name.as_deref(), Some("NVIDIA_DGX_Spark"));
}

#[test]
fn four_threads_of_a_core_have_four_ranks_and_nodes_may_have_gaps() {
    let cpus = machines::power9_with_gpu_memory().read("0-15");
    assert_eq!(
        column(&cpus, |cpu| cpu.sibling_rank)[..8],
        [0, 1, 2, 3, 0, 1, 2, 3]
    );
    assert_eq!(
        spe_order(&cpus),
        [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]
    );
    assert_eq!(
        cpus.memory_nodes
            .iter()
            .map(|node| node.os_index)
            .collect::<Vec<_>>(),
        [0, 8, 255]
    );
    assert_eq!(
        column(&cpus, |cpu| cpu.memory_node),
        [[0; 8], [1; 8]].concat()
    );
    // Node 8 has CPUs and no memory. Node 255 has the memory of a GPU and no CPUs.
    assert_eq!(cpus.memory_nodes[1].bytes, Some(0));
    assert_eq!(cpus.memory_nodes[2].bytes, Some(16 << 30));
    assert_eq!(
        cpus.model_name.as_deref(),
        Some("POWER9, altivec supported")
    );
}

#[test]
fn memory_on_cxl_is_a_node_without_cpus() {
    let tree = machines::xeon_e5_2680_v4_twice();
    tree.node(0, "0-13,28-41", 64 << 20, "10 21 14");
    tree.node(1, "14-27,42-55", 64 << 20, "21 10 24");
    tree.node(2, "", 256 << 20, "14 24 10");
    let cpus = tree.read("0-55");
    assert_eq!(
        groups(&cpus, |cpu| cpu.memory_node),
        ["0-13,28-41", "14-27,42-55"]
    );
    let cxl = MemoryNode {
        os_index: 2,
        bytes: Some(256 << 30),
        usable: true,
        distances: vec![14, 24, 10],
    };
    assert_eq!(cpus.memory_nodes[2], cxl);
}

/// Returns the usable nodes, and for each node the usable node that is nearest to its CPUs.
fn usable_nodes(cpus: &Cpus) -> (Vec<u32>, Vec<u32>) {
    let number = |at: usize| cpus.memory_nodes[at].os_index;
    let nodes = 0..cpus.memory_nodes.len();
    (
        cpus.usable_nodes().map(number).collect(),
        nodes
            .map(|node| number(cpus.nearest_usable(node)))
            .collect(),
    )
}

#[test]
fn a_node_without_memory_has_that_of_the_nearest() {
    let tree = machines::xeon_e5_2680_v4_twice();
    tree.node(1, "14-27,42-55", 0, "21 10");
    assert_eq!(usable_nodes(&tree.read("0-55")), (vec![0], vec![0, 0]));
    tree.node(0, "0-13,28-41", 0, "10 21");
    tree.node(1, "14-27,42-55", 1, "21 10");
    assert_eq!(usable_nodes(&tree.read("0-55")), (vec![1], vec![1, 1]));
    // The second socket is nearer to the first one than to the memory of the GPU.
    let cpus = machines::power9_with_gpu_memory().read("0-15");
    assert_eq!(usable_nodes(&cpus), (vec![0, 255], vec![0, 0, 255]));
}

#[test]
fn memory_that_a_cpuset_forbids_cannot_be_used() {
    let tree = machines::xeon_e5_2680_v4_twice();
    let status = |list: &str| {
        let text =
            format!("Name:\tmain\nMems_allowed:\t00000000,00000001\nMems_allowed_list:\t{list}\n");
        tree.write("proc/self/status", &text);
    };
    status("0");
    assert_eq!(usable_nodes(&tree.read("0-55")), (vec![0], vec![0, 0]));
    status("0-1");
    assert_eq!(usable_nodes(&tree.read("0-55")), (vec![0, 1], vec![0, 1]));
    status("7");
    assert_eq!(usable_nodes(&tree.read("0-55")), (vec![0, 1], vec![0, 1]));
    status("none");
    assert_eq!(
        message(&tree, Some("0")),
        format!(
            "/proc/self/status reads \"none\", but a list of nodes such as \"0-1\" was \
             expected; {REMEDY}"
        ),
    );
}

#[test]
fn cpus_outside_the_mask_and_offline_ones_are_left_out() {
    let tree = machines::one_socket(8);
    tree.write("sys/devices/system/cpu/online", "0-5\n");
    tree.write("sys/devices/system/cpu/possible", "0-239\n");
    let cpus = tree.read("1-4");
    assert_eq!(column(&cpus, |cpu| cpu.os_index), [1, 2, 3, 4]);
    let left_out = |os_index, why| LeftOut { os_index, why };
    use WhyLeftOut::{NotAllowed, Offline};
    let expected = [(0, NotAllowed), (5, NotAllowed), (6, Offline), (7, Offline)];
    assert_eq!(cpus.left_out, expected.map(|(cpu, why)| left_out(cpu, why)));

    // Without the list `present`, the folders of the CPUs are read.
    tree.remove("sys/devices/system/cpu/present");
    assert_eq!(tree.read("1-4").left_out.len(), 4);
    tree.remove("sys/devices/system/cpu/cpu7");
    let expected = [(0, NotAllowed), (5, NotAllowed), (6, Offline)];
    assert_eq!(
        tree.read("1-4").left_out,
        expected.map(|(cpu, why)| left_out(cpu, why))
    );
}

#[test]
fn without_a_mask_every_cpu_online_is_used() {
    let tree = machines::one_socket(8);
    tree.write("sys/devices/system/cpu/online", "0-2,7\n");
    let cpus = tree.try_read(None).unwrap();
    assert_eq!(column(&cpus, |cpu| cpu.os_index), [0, 1, 2, 7]);
    assert_eq!(cpus.left_out.len(), 4);
}

#[test]
fn the_mask_wins_over_a_made_up_list_of_online_cpus() {
    // lxcfs gives the numbers 0 and 1 to the two CPUs of a container.
    let tree = machines::one_socket(8);
    tree.write("sys/devices/system/cpu/online", "0-1\n");
    assert_eq!(column(&tree.read("2,5"), |cpu| cpu.os_index), [2, 5]);
}

/// Returns a container on `one_socket(8)` with a limit of 1.5 CPUs for its own group.
fn container() -> Tree {
    let tree = machines::one_socket(8);
    tree.write("proc/self/cgroup", "0::/kubepods/pod7/main\n");
    tree.write(
        "proc/self/mountinfo",
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
         29 23 0:26 / /sys/fs/cgroup ro,nosuid shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n",
    );
    tree.write("sys/fs/cgroup/kubepods/cpu.max", "max 100000\n");
    tree.write("sys/fs/cgroup/kubepods/pod7/cpu.max", "400000 200000\n");
    tree.write(
        "sys/fs/cgroup/kubepods/pod7/main/cpu.max",
        "150000 100000\n",
    );
    tree
}

/// Returns the quota and its period in microseconds, and the path in `tree` of the quota's file.
fn quota(tree: &Tree) -> Option<(u64, u64, String)> {
    let quota = tree.read("2,5").quota?;
    let set_in = quota.set_in.display().to_string().replace(tree.root(), "");
    Some((quota.microseconds, quota.period_microseconds, set_in))
}

#[test]
fn a_container_has_its_mask_and_its_quota() {
    let tree = container();
    let cpus = tree.read("2,5");
    assert_eq!(column(&cpus, |cpu| cpu.os_index), [2, 5]);
    assert_eq!(cells(&cpus), ["2,5"]);
    assert_eq!(
        list(
            &cpus
                .left_out
                .iter()
                .map(|left_out| left_out.os_index)
                .collect()
        ),
        "0-1,3-4,6-7"
    );
    let expected = (
        150_000,
        100_000,
        "/sys/fs/cgroup/kubepods/pod7/main/cpu.max".to_owned(),
    );
    assert_eq!(quota(&tree), Some(expected));
    let quota = cpus.quota.unwrap();
    assert_eq!(quota.cpus_floor(), 1);
    assert_eq!(
        quota.to_string().replace(tree.root(), ""),
        "1.50 CPUs (150000 us in each 100000 us, set in /sys/fs/cgroup/kubepods/pod7/main/cpu.max)"
    );
}

#[test]
fn the_tightest_of_nested_quotas_counts() {
    let tree = container();
    // The group may use 3 CPUs (30 ms in each 10 ms), the pod only 2 CPUs (400 ms in each 200 ms).
    tree.write("sys/fs/cgroup/kubepods/pod7/main/cpu.max", "30000 10000\n");
    let pod = "/sys/fs/cgroup/kubepods/pod7/cpu.max".to_owned();
    assert_eq!(quota(&tree), Some((400_000, 200_000, pod)));
    assert_eq!(tree.read("2,5").quota.unwrap().cpus_floor(), 2);
}

#[test]
fn groups_without_a_limit_are_no_quota() {
    let tree = container();
    tree.write("sys/fs/cgroup/kubepods/pod7/cpu.max", "max 100000\n");
    tree.write("sys/fs/cgroup/kubepods/pod7/main/cpu.max", "max 100000\n");
    assert_eq!(quota(&tree), None);
}

#[test]
fn a_quota_below_one_cpu_leaves_one() {
    let tree = container();
    tree.write("sys/fs/cgroup/kubepods/pod7/main/cpu.max", "25000 100000\n");
    assert_eq!(tree.read("2,5").quota.unwrap().cpus_floor(), 1);
}

#[test]
fn version_1_has_its_quota_in_two_files() {
    let tree = machines::one_socket(8);
    tree.write(
        "proc/self/cgroup",
        "4:memory:/m\n3:cpuset:/a b\n2:cpu,cpuacct:/a b/c\n1:name=systemd:/\n0::/\n",
    );
    tree.write(
        "proc/self/mountinfo",
        "33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
         34 31 0:32 / /sys/fs/cgroup/cpu\\040time rw - cgroup cgroup rw,cpu,cpuacct\n",
    );
    tree.write("sys/fs/cgroup/cpu time/a b/c/cpu.cfs_quota_us", "-1\n");
    tree.write("sys/fs/cgroup/cpu time/a b/c/cpu.cfs_period_us", "100000\n");
    tree.write("sys/fs/cgroup/cpu time/a b/cpu.cfs_quota_us", "600000\n");
    tree.write("sys/fs/cgroup/cpu time/a b/cpu.cfs_period_us", "100000\n");
    // These limits are tighter, but belong to another group and to another hierarchy.
    for elsewhere in ["cpu time/m", "cpuset/a b"] {
        let folder = format!("sys/fs/cgroup/{elsewhere}");
        tree.write(format!("{folder}/cpu.cfs_quota_us"), "1000\n");
        tree.write(format!("{folder}/cpu.cfs_period_us"), "100000\n");
    }
    let outer = "/sys/fs/cgroup/cpu time/a b/cpu.cfs_quota_us".to_owned();
    assert_eq!(quota(&tree), Some((600_000, 100_000, outer)));
}

#[test]
fn a_mount_that_starts_at_the_group_shows_it_at_its_top() {
    // Without a namespace for control groups, Docker mounts only the container's own group.
    let tree = container();
    tree.write(
        "proc/self/mountinfo",
        "29 23 0:26 /kubepods/pod7/main /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
    );
    tree.write("sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_eq!(
        quota(&tree),
        Some((50_000, 100_000, "/sys/fs/cgroup/cpu.max".to_owned()))
    );
}

#[test]
fn a_mount_that_starts_above_the_group_shows_what_is_between() {
    let tree = container();
    tree.write(
        "proc/self/mountinfo",
        "29 23 0:26 /kubepods /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
    );
    tree.write("sys/fs/cgroup/pod7/main/cpu.max", "70000 100000\n");
    // This folder would belong to the group if the mount began at the root group.
    tree.write("sys/fs/cgroup/kubepods/pod7/cpu.max", "1000 100000\n");
    let main = "/sys/fs/cgroup/pod7/main/cpu.max".to_owned();
    assert_eq!(quota(&tree), Some((70_000, 100_000, main)));
}

#[test]
fn a_group_outside_of_the_namespace_falls_back_to_what_is_mounted() {
    let tree = container();
    tree.write("proc/self/cgroup", "0::/../../elsewhere\n");
    tree.write("sys/fs/cgroup/cpu.max", "50000 100000\n");
    tree.write("sys/elsewhere/cpu.max", "1000 100000\n");
    assert_eq!(
        quota(&tree),
        Some((50_000, 100_000, "/sys/fs/cgroup/cpu.max".to_owned()))
    );
}

#[test]
fn without_caches_each_memory_node_of_a_package_is_a_cell() {
    let tree = machines::threadripper_2950x();
    for cpu in 0..32 {
        tree.remove(format!("sys/devices/system/cpu/cpu{cpu}/cache"));
    }
    assert_eq!(cells(&tree.read("0-31")), ["0-7,16-23", "8-15,24-31"]);
    tree.remove("sys/devices/system/node");
    assert_eq!(cells(&tree.read("0-31")), ["0-31"]);
}

#[test]
fn without_topology_every_cpu_is_a_core() {
    let tree = machines::threadripper_2950x();
    for cpu in 0..32 {
        tree.remove(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
    }
    let cpus = tree.read("0-31");
    assert_eq!(column(&cpus, |cpu| cpu.core), (0..32).collect::<Vec<_>>());
    assert_eq!(cells(&cpus)[0], "0-3,16-19", "caches are still known");
}

#[test]
fn old_kernels_call_the_list_of_siblings_by_another_name() {
    let tree = machines::threadripper_2950x();
    for cpu in 0..32 {
        let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        tree.remove(format!("{topology}/core_cpus_list"));
        tree.write(
            format!("{topology}/thread_siblings_list"),
            &format!("{},{}\n", cpu % 16, cpu % 16 + 16),
        );
    }
    assert_eq!(
        groups(&tree.read("0-31"), |cpu| cpu.sibling_rank),
        ["0-15", "16-31"]
    );
}

#[test]
fn an_empty_tree_and_a_mask_are_plain_cpus() {
    let cpus = Tree::empty().read("2,5");
    assert_eq!(
        column(&cpus, |cpu| (cpu.os_index, cpu.core, cpu.last_level_cache)),
        [(2, 0, 0), (5, 1, 0)]
    );
    assert_eq!(
        cpus.memory_nodes,
        [MemoryNode {
            os_index: 0,
            bytes: None,
            usable: true,
            distances: vec![]
        }]
    );
    assert_eq!(
        (cpus.left_out, cpus.quota, cpus.model_name),
        (vec![], None, None)
    );
}

#[test]
fn masked_files_are_missing_files() {
    let tree = machines::apple_m1();
    for cpu in 0..8 {
        tree.write(
            format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"),
            "",
        );
        tree.write(format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), "");
    }
    let cpus = tree.read("0-7");
    assert_eq!(
        column(&cpus, |cpu| (cpu.package, cpu.capacity)),
        [(0, None); 8]
    );
}

#[test]
fn cpus_with_empty_lists_of_siblings_are_cores() {
    let tree = machines::one_socket(3);
    for cpu in 0..3 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        tree.write(format!("{folder}/topology/core_cpus_list"), "\n");
    }
    assert_eq!(groups(&tree.read("0-2"), |cpu| cpu.core), ["0", "1", "2"]);
}

#[test]
fn a_package_of_minus_one_is_unknown() {
    let tree = machines::one_socket(2);
    tree.write(
        "sys/devices/system/cpu/cpu1/topology/physical_package_id",
        "-1\n",
    );
    assert_eq!(tree.read("0-1").cpus[1].package, 0);
}

const NONE: [&str; 0] = [];

/// Writes a file in the folder `topology` of some CPUs.
fn in_topology(tree: &Tree, cpus: std::ops::Range<u32>, file: &str, says: impl Fn(u32) -> String) {
    for cpu in cpus {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/{file}");
        tree.write(path, &format!("{}\n", says(cpu)));
    }
}

#[test]
fn a_cache_over_two_memory_nodes_is_one_cell_and_has_its_near_cpus_side_by_side() {
    let tree = machines::sub_numa_clustering();
    let cpus = tree.read("0-7");
    assert_eq!(cells(&cpus), ["0,2,4,6", "1,3,5,7"]);
    assert_eq!(
        groups(&cpus, |cpu| cpu.memory_node),
        ["0,4", "1,5", "2,6", "3,7"]
    );
    assert_eq!(spe_order(&cpus), [0, 4, 2, 6, 1, 5, 3, 7]);
    assert_eq!(notes(&tree, None), NONE);
}

#[test]
fn maps_are_read_where_lists_are_missing_and_folders_where_the_list_of_cpus_online_is() {
    let tree = machines::power7_by_maps();
    tree.write("sys/devices/system/cpu/cpu14/online", "1\n");
    tree.write("sys/devices/system/cpu/cpu15/online", "0\n");
    let cpus = tree.try_read(None).unwrap();
    let cores = ["0-3", "4-7", "8-11", "12-14"];
    assert_eq!(groups(&cpus, |cpu| cpu.core), cores);
    assert_eq!(cells(&cpus), ["0-7", "8-14"]);
    assert_eq!(groups(&cpus, |cpu| cpu.package), ["0-7", "8-14"]);
    assert_eq!(groups(&cpus, |cpu| cpu.memory_node), ["0-7", "8-14"]);
    let offline = LeftOut {
        os_index: 15,
        why: WhyLeftOut::Offline,
    };
    assert_eq!(cpus.left_out, [offline]);
    assert_eq!(cpus.notes, NONE);
    for cpu in 0..16 {
        let shared_by = format!("sys/devices/system/cpu/cpu{cpu}/cache/index0/shared_cpu_map");
        let pair = ["0-3,8-11", "4-7,12-15"][cpu as usize / 4 % 2];
        tree.write(shared_by, &map(pair));
    }
    assert_eq!(cells(&tree.read("0-15")), ["0-3,8-11", "4-7,12-15"]);
}

#[test]
fn a_package_is_known_by_its_cpus_where_numbers_are_missing_or_repeat() {
    let tree = machines::altra_twice();
    for id in ["-1", "0"] {
        in_topology(&tree, 0..160, "physical_package_id", |_| id.to_owned());
        let sockets = ["0-79", "80-159"];
        for names in ["package_cpus_list", "core_siblings_list"] {
            let own = |cpu: u32| sockets[cpu as usize / 80].to_owned();
            in_topology(&tree, 0..160, names, own);
            assert_eq!(groups(&tree.read("0-159"), |cpu| cpu.package), sockets);
            for cpu in 0..160 {
                tree.remove(format!("sys/devices/system/cpu/cpu{cpu}/topology/{names}"));
            }
        }
        assert_eq!(groups(&tree.read("0-159"), |cpu| cpu.package), ["0-159"]);
    }
}

#[test]
fn siblings_with_numbers_of_their_own_are_cores() {
    // A module of an AMD Bulldozer has two cores, and Linux calls their CPUs siblings.
    let tree = machines::xeon_e5_2680_v4_twice();
    in_topology(&tree, 0..56, "core_id", |cpu| cpu.to_string());
    assert_eq!(groups(&tree.read("0-55"), |cpu| cpu.core).len(), 56);
    in_topology(&tree, 0..56, "core_id", |cpu| (cpu % 28).to_string());
    assert_eq!(groups(&tree.read("0-55"), |cpu| cpu.core).len(), 28);
}

#[test]
fn the_memory_of_a_gpu_is_left_out() {
    let tree = machines::power9_with_gpu_memory();
    let gpus = "proc/driver/nvidia/gpus";
    tree.write(
        format!("{gpus}/0035:04:00.0/numa_status"),
        "Node:      255\nStatus:    online\n",
    );
    // The second GPU has no node. The third GPU has a node that does not exist in the tree.
    tree.write(
        format!("{gpus}/0035:05:00.0/numa_status"),
        "Node:      -1\n",
    );
    tree.write(
        format!("{gpus}/0035:06:00.0/numa_status"),
        "Node:      254\n",
    );
    assert_eq!(usable_nodes(&tree.read("0-15")), (vec![0], vec![0, 0, 0]));
    assert_eq!(
        notes(&tree, None),
        ["the memory of NUMA node 255 is that of GPUs, so it is left out"]
    );
}

#[test]
fn text_after_a_nul_is_not_used() {
    let tree = machines::xeon_e5_2680_v4_twice();
    let node = "sys/devices/system/node/node1";
    tree.write(format!("{node}/cpulist"), "14-27,42-55\n\0 rest");
    assert_eq!(
        groups(&tree.read("0-55"), |cpu| cpu.memory_node),
        ["0-13,28-41", "14-27,42-55"]
    );
    assert_eq!(
        notes(&tree, None),
        [format!(
            "/{node}/cpulist has a NUL, and what follows it is not used"
        )]
    );
}

#[test]
fn a_short_row_of_distances_is_no_row() {
    let tree = machines::xeon_e5_2680_v4_twice();
    tree.node(1, "14-27,42-55", 64 << 20, "10");
    let cpus = tree.read("0-55");
    assert_eq!(cpus.memory_nodes[1].distances, [0; 0]);
    assert_eq!(cpus.memory_nodes[0].distances, [10, 21]);
    let expected = "one distance for each node that is online, here 2, such as \"10 21\" for two,";
    let distance = malformed("sys/devices/system/node/node1/distance", "10", expected);
    assert_eq!(
        notes(&tree, None),
        [format!("a file is not used: {distance}")]
    );
}

#[test]
fn the_cpuset_of_a_tree_is_its_mask() {
    // Each case: the name of the group, the mounts, and the files of the cpuset. The last three
    // cases are trees without some files, like those of hwloc.
    let v1 = ["cg/job/cpuset.cpus", "cg/job/cpuset.mems"];
    let v2 = [
        "cg/job/cpuset.cpus.effective",
        "cg/job/cpuset.mems.effective",
    ];
    let by_cgroup = |text| ("proc/self/cgroup", text);
    let by_cpuset = ("proc/self/cpuset", "/job\n");
    let mountinfo = |line| ("proc/self/mountinfo", line);
    let mounts = |line| ("proc/mounts", line);
    let cases = [
        (
            by_cgroup("4:cpuset:/job\n0::/\n"),
            mountinfo("33 31 0:31 / /cg rw - cgroup cgroup rw,cpuset\n"),
            v1,
        ),
        (
            by_cgroup("0::/job\n"),
            mountinfo("29 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"),
            v2,
        ),
        (by_cpuset, mounts("none /cg cgroup2 rw 0 0\n"), v2),
        (
            by_cpuset,
            mounts("none /cg cgroup rw,cpuset,noprefix 0 0\n"),
            ["cg/job/cpus", "cg/job/mems"],
        ),
        (
            by_cpuset,
            mounts("none /dev/cpuset cpuset rw 0 0\n"),
            ["dev/cpuset/job/cpus", "dev/cpuset/job/mems"],
        ),
    ];
    for ((group, name), (mounts, line), [cpus_file, mems_file]) in cases {
        let tree = machines::xeon_e5_2680_v4_twice();
        tree.write("sys/devices/system/cpu/online", "0-12,14-55\n");
        tree.write(group, name);
        tree.write(mounts, line);
        tree.write(cpus_file, "13-15\n");
        tree.write(mems_file, "1\n");
        let cpus = tree.try_read(None).unwrap();
        assert_eq!(column(&cpus, |cpu| cpu.os_index), [14, 15], "{line}");
        assert_eq!(usable_nodes(&cpus), (vec![1], vec![1, 1]), "{line}");
        assert_eq!((cpus.left_out.len(), cpus.notes.len()), (54, 0), "{line}");
        // A mask takes precedence, because it belongs to the calling thread.
        assert_eq!(column(&tree.read("0-1"), |cpu| cpu.os_index), [0, 1]);
        // A group without a list has the list of the group above it.
        let above = cpus_file.replace("/job", "");
        tree.write(&above, "12-15\n");
        assert_eq!(tree.try_read(None).unwrap().cpus.len(), 2, "{line}");
        tree.write(cpus_file, "\n");
        assert_eq!(tree.try_read(None).unwrap().cpus.len(), 3, "{line}");
        tree.write(cpus_file, "60-61\n");
        let cpus = tree.try_read(None).unwrap();
        let note = "the cpuset has CPUs 60-61, of which none is online, so all that are online are \
                    used";
        assert_eq!((cpus.cpus.len(), cpus.notes), (55, vec![note.to_owned()]));
    }
}

#[test]
fn a_computer_whose_processor_has_no_name_has_that_of_its_maker() {
    let named = |files: &[(&str, &str)]| {
        let tree = machines::altra_twice();
        for (file, text) in files {
            tree.write(format!("sys/class/dmi/id/{file}"), text);
        }
        tree.read("0").model_name
    };
    let product = ("product_name", "XA320 V2 \n");
    let maker = ("sys_vendor", "Huawei\n");
    let board = [("board_vendor", "Huawei\n"), ("board_name", "BC82HPNBB\n")];
    assert_eq!(named(&[]), None);
    assert_eq!(named(&[product]).as_deref(), Some("XA320 V2"));
    assert_eq!(
        named(&[product, maker, board[1]]).as_deref(),
        Some("Huawei XA320 V2")
    );
    assert_eq!(named(&board).as_deref(), Some("Huawei BC82HPNBB"));
    let spark = [
        ("sys_vendor", "NVIDIA\n"),
        ("product_name", "NVIDIA_DGX_Spark\n"),
    ];
    assert_eq!(named(&spark).as_deref(), Some("NVIDIA_DGX_Spark"));
}

#[test]
fn a_cpu_of_two_nodes_counts_to_the_first() {
    let tree = machines::xeon_e5_2680_v4_twice();
    tree.node(1, "0-55", 64 << 20, "21 10");
    let cpus = tree.read("0-55");
    assert_eq!(groups(&cpus, |cpu| cpu.memory_node), ["0-55"]);
    assert_eq!(usable_nodes(&cpus), (vec![0], vec![0, 0]));
    let expected = [
        "the CPUs of NUMA node 1 are also those of a node with a lower number, which they count to, \
         and the memory there is left out; that is a mistake of the firmware or the emulator, so \
         look for a newer one",
        "no NUMA node has CPUs 14-27,42-55, so node 0 counts as theirs",
    ];
    assert_eq!(notes(&tree, None), expected);
}

#[test]
fn a_list_and_a_map_that_differ_are_noted() {
    let tree = machines::one_socket(4);
    let cache = "sys/devices/system/cpu/cpu2/cache/index2";
    tree.write(format!("{cache}/shared_cpu_map"), &map("0-3"));
    assert_eq!(notes(&tree, None), NONE);
    tree.write(format!("{cache}/shared_cpu_map"), &map("2-3"));
    assert_eq!(cells(&tree.read("0-3")), ["0-3"]);
    let differ = format!(
        "/{cache}/shared_cpu_list and /{cache}/shared_cpu_map say different things, and the list \
         is believed; if a container or emulator provides them, correct them there"
    );
    assert_eq!(notes(&tree, None), [differ]);
    // This list of CPU 2 lacks CPU 2, so the map is used.
    tree.write(format!("{cache}/shared_cpu_list"), "0-1\n");
    tree.write(format!("{cache}/shared_cpu_map"), &map("0-3"));
    assert_eq!(cells(&tree.read("0-3")), ["0-3"]);
    let foreign =
        format!("/{cache}/shared_cpu_list is not used, because it lacks CPU 2, which it is about");
    assert_eq!(notes(&tree, None), [foreign]);
}

#[test]
fn groups_that_contradict_each_other_are_noted() {
    let tree = machines::one_socket(4);
    in_topology(&tree, 0..2, "core_cpus_list", |_| "0-1".to_owned());
    in_topology(&tree, 0..4, "package_cpus_list", |_| "0-3".to_owned());
    assert_eq!(notes(&tree, None), NONE);
    in_topology(&tree, 1..2, "core_cpus_list", |_| "1-2".to_owned());
    let disagree = "the files of CPUs 0-1 and those of other CPUs do not agree which CPUs share a \
                    core, so distances there may be wrong; look for a newer firmware or kernel";
    assert_eq!(notes(&tree, None)[0], disagree);
    in_topology(&tree, 1..2, "core_cpus_list", |_| "0-1".to_owned());
    in_topology(&tree, 0..4, "package_cpus_list", |cpu| {
        ["0,2", "1,3"][cpu as usize % 2].to_owned()
    });
    let beyond = "the core of CPUs 0-1 reaches beyond the package, so distances there may be wrong; \
                  look for a newer firmware or kernel";
    assert_eq!(notes(&tree, None), [beyond]);
}

const REMEDY: &str = "if a container or emulator provides this file, correct it there, \
                      otherwise report it with the output of `uname -a`";

#[test]
fn a_malformed_file_that_is_needed_is_named_with_its_text_and_what_was_expected() {
    let list = "a list of numbers below 65536 such as \"0-3,8,10-11\"";
    let quota = "a limit and a period in microseconds such as \"150000 100000\" or \"max 100000\"";
    let cases = [
        ("sys/devices/system/cpu/online", "0-3,x\n", "0-3,x", list),
        (
            "proc/self/cgroup",
            "0::/kubepods/pod7/main\n7\n",
            "7",
            "a line such as \"3:cpu,cpuacct:/group\" or \"0::/group\"",
        ),
        (
            "proc/self/mountinfo",
            "no mount\n",
            "no mount",
            "a line such as \"29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\"",
        ),
        (
            "sys/fs/cgroup/kubepods/cpu.max",
            "100000\n",
            "100000",
            quota,
        ),
        (
            "sys/fs/cgroup/kubepods/cpu.max",
            "100000 0\n",
            "100000 0",
            quota,
        ),
        (
            "sys/fs/cgroup/kubepods/cpu.max",
            "-1 100000\n",
            "-1 100000",
            quota,
        ),
    ];
    for (file, content, shown, expected) in cases {
        let tree = container();
        tree.write(file, content);
        assert_eq!(
            message(&tree, Some("2,5")),
            malformed(file, shown, expected)
        );
    }
}

#[test]
fn a_malformed_file_that_is_not_needed_is_skipped_with_a_note() {
    let list = "a list of numbers below 65536 such as \"0-3,8,10-11\"";
    let map = "a map of words of 32 bits such as \"00000000,0000000f\"";
    let cases = [
        ("sys/devices/system/cpu/present", "3-0\n", "3-0", list),
        (
            "sys/devices/system/cpu/cpu2/cache/index2/shared_cpu_list",
            "0-99999999\n",
            "0-99999999",
            list,
        ),
        (
            "sys/devices/system/cpu/cpu2/cache/index2/level",
            "third\n",
            "third",
            "the level of a cache, such as 3,",
        ),
        (
            "sys/devices/system/cpu/cpu5/topology/core_cpus_list",
            "1,,2\n",
            "1,,2",
            list,
        ),
        (
            "sys/devices/system/cpu/cpu5/topology/physical_package_id",
            "one\n",
            "one",
            "the number of a package, or -1,",
        ),
        (
            "sys/devices/system/cpu/cpu5/cpu_capacity",
            "0x400\n",
            "0x400",
            "a capacity such as 1024",
        ),
        (
            "sys/devices/system/node/node0/cpulist",
            "0-7;\n",
            "0-7;",
            list,
        ),
        (
            "sys/devices/system/node/node0/distance",
            "10 21\n",
            "10 21",
            "one distance for each node that is online, here 1, such as \"10 21\" for two,",
        ),
        (
            "sys/devices/system/node/node0/meminfo",
            "Node 0 MemFree: 1 kB\nNode 0 MemTotal: many\n",
            "Node 0 MemTotal: many",
            "a total such as \"MemTotal: 4417740 kB\"",
        ),
        (
            "sys/devices/system/cpu/cpu2/cache/index2/shared_cpu_map",
            "0000000g\n",
            "0000000g",
            map,
        ),
        (
            "sys/devices/system/cpu/cpu2/topology/core_id",
            "none\n",
            "none",
            "the number of a core, or -1,",
        ),
    ];
    for (file, content, shown, expected) in cases {
        let tree = container();
        // Numbers of cores are read only for CPUs with siblings.
        tree.write(
            "sys/devices/system/cpu/cpu2/topology/core_cpus_list",
            "2-3\n",
        );
        assert_eq!(notes(&tree, Some("2,5")), [""; 0]);
        tree.write(file, content);
        let expected = format!("a file is not used: {}", malformed(file, shown, expected));
        assert_eq!(notes(&tree, Some("2,5"))[0], expected);
    }
}

/// Returns the message about a malformed file with the content `shown`.
fn malformed(file: &str, shown: &str, expected: &str) -> String {
    format!("/{file} reads {shown:?}, but {expected} was expected; {REMEDY}")
}

#[test]
fn malformed_quotas_of_version_1_are_named() {
    let tree = machines::core_i9_12900k();
    tree.write("proc/self/cgroup", "2:cpu:/\n");
    tree.write(
        "proc/self/mountinfo",
        "34 31 0:32 / /cg rw - cgroup cgroup rw,cpu\n",
    );
    tree.write("cg/cpu.cfs_quota_us", "100000\n");
    tree.write("cg/cpu.cfs_period_us", "0\n");
    assert_eq!(
        message(&tree, Some("0")),
        malformed(
            "cg/cpu.cfs_period_us",
            "0",
            "a period in microseconds, not 0,"
        )
    );
    tree.write("cg/cpu.cfs_quota_us", "none\n");
    assert_eq!(
        message(&tree, Some("0")),
        malformed(
            "cg/cpu.cfs_quota_us",
            "none",
            "a limit in microseconds, or -1,"
        )
    );
}

#[test]
fn files_that_are_odd_in_the_same_way_are_one_note() {
    let tree = machines::core_i9_12900k();
    let clock = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq");
    let first = malformed(&clock(3), "5 GHz", "a clock frequency in kHz");
    for (cpu, others) in [
        (3, ""),
        (7, "; so it is with another file"),
        (9, "; so it is with 2 other files"),
    ] {
        tree.write(clock(cpu), "5 GHz\n");
        let expected = format!("a file is not used: {first}{others}");
        assert_eq!(notes(&tree, Some("0")), [expected]);
    }
}

#[test]
fn a_long_malformed_text_is_shortened() {
    let tree = machines::one_socket(2);
    tree.write("sys/devices/system/cpu/online", &"é".repeat(1000));
    let shown = format!("reads \"{}…\", but", "é".repeat(200));
    let message = message(&tree, Some("0"));
    assert!(message.contains(&shown), "{message}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    let tree = machines::one_socket(2);
    let online = "sys/devices/system/cpu/online";
    tree.remove(online);
    tree.write(format!("{online}/a file where no folder should be"), "");
    assert_eq!(
        message(&tree, Some("0")),
        "cannot read /sys/devices/system/cpu/online: Is a directory (os error 21); \
         try again, and if it stays, look for messages of the kernel (`dmesg`)"
    );
}

#[test]
fn errors_of_drivers_mean_that_there_is_no_content() {
    let is_hidden = |number| files::is_hidden(&io::Error::from_raw_os_error(number));
    for number in [
        libc::ENOENT,
        libc::EACCES,
        libc::EAGAIN,
        libc::EBUSY,
        libc::EINVAL,
        libc::EIO,
        libc::ENODEV,
        libc::ENXIO,
    ] {
        assert!(is_hidden(number), "{number}");
    }
    assert!(!is_hidden(libc::EISDIR));
    assert!(!is_hidden(libc::ENOMEM));
}

#[test]
fn an_empty_mask_is_refused() {
    assert_eq!(
        message(&machines::one_socket(2), Some("")),
        "the mask of allowed CPUs is empty; allow at least one, for example with `taskset -c 0`"
    );
}

#[test]
fn neither_mask_nor_list_is_an_error() {
    assert_eq!(
        message(&Tree::empty(), None),
        "/sys/devices/system/cpu/online cannot be read and no mask of allowed CPUs was given, \
         so the CPUs are unknown; mount /sys or give a mask"
    );
}

#[test]
fn a_mask_that_the_system_keeps_back_is_explained() {
    assert_eq!(
        CpusError::Mask(rustix::io::Errno::PERM.into()).to_string(),
        "cannot ask the system which CPUs this thread may use: Operation not permitted (os error \
         1); this fails in sandboxes that forbid `sched_getaffinity`; allow this call"
    );
}

#[test]
fn lists_are_parsed_as_the_kernel_writes_them() {
    let parsed = parse_list("0-3,8,10-11\n").unwrap();
    assert_eq!(
        parsed.into_iter().collect::<Vec<_>>(),
        [0, 1, 2, 3, 8, 10, 11]
    );
    assert_eq!(parse_list("\n"), Some(BTreeSet::new()));
    for malformed in [
        ",",
        "1,",
        "-",
        "1-",
        "-1",
        "1-2-3",
        "2-1",
        "+1",
        "0x1",
        "1 2",
        "0-65536",
        "99999999999",
    ] {
        assert_eq!(parse_list(malformed), None, "{malformed:?}");
    }
}

#[test]
fn maps_are_parsed_as_the_kernel_writes_them() {
    let parsed = |text| parse_map(text).map(|set| list(&set));
    assert_eq!(parsed("00000003\n").as_deref(), Some("0-1"));
    // The highest word may have fewer digits.
    assert_eq!(
        parsed("0001,80000000,0000000f").as_deref(),
        Some("0-3,63-64")
    );
    assert_eq!(parsed("0").as_deref(), Some(""));
    for malformed in ["", ",", "1,", ",1", "g", "+1", "0x1", "1 2", "100000000"] {
        assert_eq!(parsed(malformed), None, "{malformed:?}");
    }
    assert_eq!(parsed(&"0,".repeat(3_000)), None);
}

proptest! {
    #[test]
    fn a_list_survives_writing_and_parsing(
        numbers in prop::collection::btree_set(0_u32..300, 0..200)
    ) {
        prop_assert_eq!(parse_list(&list(&numbers)), Some(numbers));
    }

    #[test]
    fn no_text_breaks_the_list_parser(text in "[-,0-9 \n]{0,12}|.{0,12}") {
        if let Some(numbers) = parse_list(&text) {
            prop_assert_eq!(parse_list(&list(&numbers)), Some(numbers));
        }
    }
}

#[test]
fn any_mask_has_an_order() {
    let tree = machines::core_i9_12900k();
    let masks = prop::collection::btree_set(0_u32..24, 1..24);
    proptest!(ProptestConfig::with_cases(50), |(allowed in masks)| {
        let cpus = tree.read(&list(&allowed));
        prop_assert!(cpus.cpus.iter().map(|cpu| &cpu.os_index).eq(&allowed));

        let order = cpus.spe_order();
        let in_order: BTreeSet<_> = order.iter().copied().collect();
        prop_assert_eq!((order.len(), in_order.len()), (allowed.len(), allowed.len()));

        // Every core has one SPE before a core has a second SPE.
        let core = |at: usize| cpus.cpus[at].core;
        let cores: BTreeSet<_> = order.iter().copied().map(core).collect();
        prop_assert_eq!(cores.last().map(|last| last + 1), Some(cores.len()));
        let first_turns: BTreeSet<_> = order[..cores.len()].iter().copied().map(core).collect();
        prop_assert_eq!(first_turns, cores);
    });
}

#[test]
fn this_computer_agrees_with_other_sources_about_it() {
    let allowed = allowed_now().unwrap();
    let cpus = read(&Source::this_computer(), Some(&allowed)).unwrap();
    assert_eq!(
        column(&cpus, |cpu| cpu.os_index),
        allowed.iter().copied().collect::<Vec<_>>()
    );

    // The standard library computes the same number from the mask and the quota.
    let at_once = cpus
        .quota
        .as_ref()
        .map_or(usize::MAX, Quota::cpus_floor)
        .min(cpus.cpus.len());
    assert_eq!(at_once, available_parallelism().unwrap().get());

    // The mask in `proc` may contain offline CPUs.
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    assert!(
        allowed.is_subset(&set(line.trim())),
        "{allowed:?} of {line:?}"
    );

    assert!(
        cpus.cpus
            .iter()
            .all(|cpu| cpu.memory_node < cpus.memory_nodes.len())
    );
    assert_eq!(cpus.spe_order().len(), allowed.len());
}

#[test]
fn the_mask_is_that_of_the_calling_thread() {
    let all = allowed_now().unwrap();
    let &last = all.last().unwrap();
    let pinned = std::thread::spawn(move || {
        let mut mask = rustix::thread::CpuSet::new();
        mask.set(usize::try_from(last).unwrap());
        rustix::thread::sched_setaffinity(None, &mask).unwrap();
        allowed_now().unwrap()
    });
    assert_eq!(pinned.join().unwrap(), BTreeSet::from([last]));
    assert_eq!(allowed_now().unwrap(), all);
}
