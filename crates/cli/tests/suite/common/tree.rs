//! Descriptions of other computers as files, for `CELLWORKS_FSROOT`.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// The parts of a computer.
#[derive(Clone, Copy)]
pub struct Shape {
    /// The number of sockets. Each socket has a memory node.
    pub sockets: u32,
    /// The number of Cells of each socket. The cores of a Cell share a third-level cache.
    pub cells: u32,
    /// The number of cores of each Cell.
    pub cores: u32,
    /// The number of hardware threads of each core. Linux numbers the first threads of all cores
    /// first, then all second threads.
    pub threads: u32,
}

impl Shape {
    pub fn cpus(self) -> u32 {
        self.all_cores() * self.threads
    }

    fn all_cores(self) -> u32 {
        self.sockets * self.cells * self.cores
    }

    /// A list of the CPUs of `count` cores from core `first` on.
    fn cpus_of(self, first: u32, count: u32) -> String {
        let of_thread = |thread: u32| {
            let from = first + thread * self.all_cores();
            match count {
                1 => from.to_string(),
                _ => format!("{from}-{}", from + count - 1),
            }
        };
        let lists: Vec<_> = (0..self.threads).map(of_thread).collect();
        lists.join(",")
    }
}

/// A folder that replaces the root directory `/` of another computer. The folder is removed when
/// this value is dropped.
pub struct Tree {
    folder: TempDir,
}

impl Tree {
    /// A computer with the given parts and the given name of its processor.
    pub fn new(shape: Shape, name: &str) -> Self {
        let tree = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let all = format!("0-{}", shape.cpus() - 1);
        for list in ["online", "present"] {
            tree.write(&format!("sys/devices/system/cpu/{list}"), &all);
        }
        tree.write("proc/cpuinfo", &format!("model name\t: {name}"));
        let cores_of_socket = shape.cells * shape.cores;
        for cpu in 0..shape.cpus() {
            let core = cpu % shape.all_cores();
            let socket = core / cores_of_socket;
            let siblings = shape.cpus_of(core, 1);
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            tree.write(
                &format!("{folder}/topology/physical_package_id"),
                &socket.to_string(),
            );
            tree.write(&format!("{folder}/topology/core_cpus_list"), &siblings);
            let cell = shape.cpus_of(core / shape.cores * shape.cores, shape.cores);
            tree.write(&format!("{folder}/cache/index3/level"), "3");
            tree.write(&format!("{folder}/cache/index3/shared_cpu_list"), &cell);
        }
        for socket in 0..shape.sockets {
            let folder = format!("sys/devices/system/node/node{socket}");
            let cpus = shape.cpus_of(socket * cores_of_socket, cores_of_socket);
            tree.write(&format!("{folder}/cpulist"), &cpus);
            let distance = |to| if to == socket { "10" } else { "21" };
            let distances: Vec<_> = (0..shape.sockets).map(distance).collect();
            tree.write(&format!("{folder}/distance"), &distances.join(" "));
            let memory = format!("Node {socket} MemTotal: {} kB", 64 << 20);
            tree.write(&format!("{folder}/meminfo"), &memory);
        }
        tree
    }

    /// The folder, as a value of `CELLWORKS_FSROOT`.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a line to a file. If the file does not exist, it is created.
    pub fn write(&self, path: &str, line: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{line}\n")).unwrap();
    }
}
