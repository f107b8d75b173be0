//! Trees of real computers, but with round sizes of memory.

use super::tree::{Tree, map};

/// The number of KiB in a GiB, because `meminfo` counts in KiB.
const GIB: u64 = 1 << 20;

/// Returns a tree with CPUs `0..count` online, and with `model` under `key` in `/proc/cpuinfo`.
fn online(count: u32, key: &str, model: &str) -> Tree {
    let tree = Tree::empty();
    let all = if count == 1 {
        "0\n".to_owned()
    } else {
        format!("0-{}\n", count - 1)
    };
    for list in ["online", "present", "possible"] {
        tree.write(format!("sys/devices/system/cpu/{list}"), &all);
    }
    let cpuinfo: Vec<_> = (0..count)
        .map(|cpu| format!("processor\t: {cpu}\n{key}\t: {model}\nflags\t\t: a b\n\n"))
        .collect();
    tree.write("proc/cpuinfo", &cpuinfo.concat());
    tree
}

/// Returns a virtual machine with one CPU.
pub fn one_cpu() -> Tree {
    let tree = online(1, "model name", "QEMU Virtual CPU version 2.5+");
    tree.cpu(0, 0, "0");
    tree.cache(0, 2, "0");
    tree.node(0, "0", GIB, "10");
    tree
}

/// Returns a socket of `cores` cores without SMT, which share one last-level cache.
pub fn one_socket(cores: u32) -> Tree {
    let tree = online(cores, "model name", "A processor");
    let all = format!("0-{}", cores - 1);
    for cpu in 0..cores {
        tree.cpu(cpu, 0, &cpu.to_string());
        tree.cache(cpu, 3, &all);
    }
    tree.node(0, &all, 16 * GIB, "10");
    tree
}

/// Returns 2 sockets of 14 cores with 2 threads each. The second threads have the higher numbers.
pub fn xeon_e5_2680_v4_twice() -> Tree {
    let tree = online(
        56,
        "model name",
        "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz",
    );
    let sockets = ["0-13,28-41", "14-27,42-55"];
    for cpu in 0..56 {
        let core = cpu % 28;
        let socket = usize::from(core >= 14);
        let siblings = format!("{core},{}", core + 28);
        tree.cpu(cpu, i32::from(core >= 14), &siblings);
        tree.cache(cpu, 2, &siblings);
        tree.cache(cpu, 3, sockets[socket]);
    }
    tree.node(0, sockets[0], 64 * GIB, "10 21");
    tree.node(1, sockets[1], 64 * GIB, "21 10");
    tree
}

/// Returns 2 sockets of 8 chiplets of 8 cores with 2 threads each. Each socket has a memory node.
pub fn epyc_7763_twice() -> Tree {
    let tree = online(256, "model name", "AMD EPYC 7763 64-Core Processor");
    for cpu in 0..256 {
        let core = cpu % 128;
        let siblings = format!("{core},{}", core + 128);
        let first = core / 8 * 8;
        tree.cpu(cpu, i32::from(core >= 64), &siblings);
        tree.cache(cpu, 2, &siblings);
        tree.cache(
            cpu,
            3,
            &format!("{first}-{},{}-{}", first + 7, first + 128, first + 135),
        );
    }
    tree.node(0, "0-63,128-191", 256 * GIB, "10 32");
    tree.node(1, "64-127,192-255", 256 * GIB, "32 10");
    tree
}

/// Returns 2 sockets of 12 chiplets of 24 cores. Each socket has a memory node.
pub fn hundreds_of_cpus() -> Tree {
    let tree = online(576, "model name", "A large processor");
    for cpu in 0..576 {
        let first = cpu / 24 * 24;
        // To write all files of hundreds of CPUs would take seconds.
        tree.cache(cpu, 3, &format!("{first}-{}", first + 23));
    }
    tree.node(0, "0-287", 512 * GIB, "10 21");
    tree.node(1, "288-575", 512 * GIB, "21 10");
    tree
}

/// Returns 8 performance cores with 2 threads each (0-15), and two clusters of 4 efficiency cores
/// (16-23), each with a second-level cache.
pub fn core_i9_12900k() -> Tree {
    let tree = online(24, "model name", "12th Gen Intel(R) Core(TM) i9-12900K");
    tree.write("sys/devices/cpu_core/cpus", "0-15\n");
    tree.write("sys/devices/cpu_atom/cpus", "16-23\n");
    for cpu in 0..24 {
        let (core, cluster, khz) = match cpu {
            0..16 => {
                let siblings = format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1);
                let khz = if (8..12).contains(&cpu) {
                    5_200_000
                } else {
                    5_100_000
                };
                (siblings.clone(), siblings, khz)
            }
            16..20 => (cpu.to_string(), "16-19".to_owned(), 3_900_000),
            _ => (cpu.to_string(), "20-23".to_owned(), 3_900_000),
        };
        tree.cpu(cpu, 0, &core);
        tree.cache(cpu, 2, &cluster);
        tree.cache(cpu, 3, "0-23");
        tree.write(
            format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq"),
            &format!("{khz}\n"),
        );
    }
    tree.node(0, "0-23", 64 * GIB, "10");
    tree
}

/// Returns one socket of 2 dies. Each die has a memory node and 2 core complexes of 4 cores.
pub fn threadripper_2950x() -> Tree {
    let tree = online(
        32,
        "model name",
        "AMD Ryzen Threadripper 2950X 16-Core Processor",
    );
    for cpu in 0..32 {
        let core = cpu % 16;
        let siblings = format!("{core},{}", core + 16);
        let first = core / 4 * 4;
        tree.cpu(cpu, 0, &siblings);
        tree.cache(cpu, 2, &siblings);
        tree.cache(
            cpu,
            3,
            &format!("{first}-{},{}-{}", first + 3, first + 16, first + 19),
        );
    }
    tree.node(0, "0-7,16-23", 32 * GIB, "10 16");
    tree.node(1, "8-15,24-31", 32 * GIB, "16 10");
    tree
}

/// Returns 4 efficiency cores (0-3) and 4 performance cores (4-7). Each group of four shares a
/// second-level cache. There are no nodes, and the name is in the device tree.
pub fn apple_m1() -> Tree {
    let tree = online(8, "CPU implementer", "0x61");
    for cpu in 0..8 {
        let (cluster, capacity) = if cpu < 4 {
            ("0-3", "459\n")
        } else {
            ("4-7", "1024\n")
        };
        tree.cpu(cpu, 0, &cpu.to_string());
        tree.cache(cpu, 2, cluster);
        tree.write(
            format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"),
            capacity,
        );
    }
    tree.write(
        "proc/meminfo",
        &format!("MemTotal:        {} kB\nMemFree: 1 kB\n", 8 * GIB),
    );
    tree.write("proc/device-tree/model", "Apple MacBook Air (M1, 2020)\0");
    tree
}

/// Returns 2 sockets of 80 cores. The kernel does not report the system-level cache.
pub fn altra_twice() -> Tree {
    let tree = online(160, "CPU implementer", "0x41");
    for cpu in 0..160 {
        tree.cpu(cpu, i32::from(cpu >= 80), &cpu.to_string());
        tree.cache(cpu, 2, &cpu.to_string());
    }
    tree.node(0, "0-79", 128 * GIB, "10 20");
    tree.node(1, "80-159", 128 * GIB, "20 10");
    tree
}

/// Returns a Huawei server with 2 processors Kunpeng 920 of 64 cores. Each processor has two chips,
/// with a third-level cache and a memory node each. The kernel ends lists with a NUL, and the
/// numbers of packages are what the firmware says. (From hwloc's test `128arm-2pa2n8cluster4co`.)
pub fn kunpeng_920_twice() -> Tree {
    let tree = online(128, "CPU implementer", "0x48");
    for cpu in 0..128 {
        let (package, cpus) = if cpu < 64 {
            (36, "0-63")
        } else {
            (8442, "64-127")
        };
        tree.cpu(cpu, package, &cpu.to_string());
        tree.write(
            format!("sys/devices/system/cpu/cpu{cpu}/topology/package_cpus_list"),
            &format!("{cpus}\n\0"),
        );
        tree.cache(cpu, 2, &cpu.to_string());
        tree.cache(cpu, 3, &list(cpu / 32 * 32, 32));
    }
    let distances = ["10 16 32 33", "16 10 25 32", "32 25 10 16", "33 32 16 10"];
    for (node, distances) in (0..4).zip(distances) {
        tree.node(node, &list(node * 32, 32), 128 * GIB, distances);
    }
    tree.write("sys/class/dmi/id/sys_vendor", "Huawei\n");
    tree.write("sys/class/dmi/id/product_name", "XA320 V2\n");
    tree
}

/// Returns a computer with 10 efficiency cores and 10 performance cores, which have second-level
/// caches of other sizes. A half of each kind shares a third-level cache with a half of the other.
/// The best core has more capacity than its neighbours. (From hwloc's test `nvidia-dgx-gb10`.)
pub fn nvidia_dgx_spark() -> Tree {
    let tree = online(20, "CPU implementer", "0x41");
    for cpu in 0..20 {
        tree.cpu(cpu, 0, &cpu.to_string());
        tree.cache(cpu, 2, &cpu.to_string());
        tree.cache(cpu, 3, &list(cpu / 10 * 10, 10));
        let capacity = match cpu {
            0..5 => 718,
            5..10 => 997,
            10..15 => 731,
            15..19 => 1017,
            _ => 1024,
        };
        tree.write(
            format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"),
            &format!("{capacity}\n"),
        );
    }
    tree.node(0, "0-19", 120 * GIB, "10");
    tree.write("sys/class/dmi/id/sys_vendor", "NVIDIA\n");
    tree.write("sys/class/dmi/id/product_name", "NVIDIA_DGX_Spark\n");
    tree
}

/// Returns 2 sockets of 2 cores with 4 threads each. Pairs of cores share a third-level cache. The
/// second socket has no memory of its own. Node 255 is the memory of a GPU.
pub fn power9_with_gpu_memory() -> Tree {
    let tree = online(16, "cpu\t", "POWER9, altivec supported");
    for cpu in 0..16 {
        let core = cpu / 4 * 4;
        let pair = cpu / 8 * 8;
        tree.cpu(
            cpu,
            i32::from(cpu >= 8) * 8,
            &format!("{core}-{}", core + 3),
        );
        tree.cache(cpu, 3, &format!("{pair}-{}", pair + 7));
    }
    tree.node(0, "0-7", 64 * GIB, "10 40 80");
    tree.node(8, "8-15", 0, "40 10 80");
    tree.node(255, "", 16 * GIB, "80 80 10");
    tree
}

/// Returns 2 sockets of 4 cores: one with the even CPUs, one with the odd CPUs. Each socket has two
/// memory nodes and one third-level cache.
pub fn sub_numa_clustering() -> Tree {
    let tree = online(8, "model name", "A processor in halves");
    let sockets = ["0,2,4,6", "1,3,5,7"];
    for cpu in 0..8 {
        tree.cpu(cpu, cpu as i32 % 2, &cpu.to_string());
        tree.cache(cpu, 3, sockets[cpu as usize % 2]);
    }
    for (node, distances) in
        (0..4).zip(["10 21 11 21", "21 10 21 11", "11 21 10 21", "21 11 21 10"])
    {
        tree.node(node, &format!("{node},{}", node + 4), 16 * GIB, distances);
    }
    tree
}

/// Returns 2 sockets of 2 cores with 4 threads each, and a third-level cache for each core. The
/// kernel writes only maps, and no list of the online CPUs.
pub fn power7_by_maps() -> Tree {
    let tree = Tree::empty();
    tree.write("proc/cpuinfo", "processor\t: 0\ncpu\t\t: POWER7\n");
    for cpu in 0..16 {
        let core = list(cpu / 4 * 4, 4);
        tree.cpu_by_maps(cpu, &list(cpu / 8 * 8, 8), &core, &core);
    }
    for (node, first) in [(0, 0), (4, 8)] {
        let folder = format!("sys/devices/system/node/node{node}");
        tree.write(format!("{folder}/cpumap"), &map(&list(first, 8)));
    }
    tree
}

/// Returns the list of `count` CPUs from `first` on.
fn list(first: u32, count: u32) -> String {
    format!("{first}-{}", first + count - 1)
}
