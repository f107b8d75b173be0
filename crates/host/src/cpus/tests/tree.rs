//! A tree of files for a test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::super::list::parse_list;
use super::super::{Cpus, CpusError, Source, read};

/// A folder in place of `/`. `drop` removes it.
pub struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    pub fn empty() -> Self {
        Self {
            // Some disks take seconds to write hundreds of files.
            folder: tempfile::tempdir_in("/dev/shm")
                .or_else(|_| tempfile::tempdir())
                .unwrap(),
        }
    }

    /// Returns the path of the folder, which tests remove from messages.
    pub fn root(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    pub fn source(&self) -> Source {
        Source {
            root: self.folder.path().to_owned(),
        }
    }

    pub fn write(&self, path: impl AsRef<Path>, content: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Makes `path` a link to `target`, a file of this computer.
    pub fn link(&self, path: impl AsRef<Path>, target: &str) {
        std::os::unix::fs::symlink(target, self.folder.path().join(path)).unwrap();
    }

    /// Removes a file or a folder.
    pub fn remove(&self, path: impl AsRef<Path>) {
        let path = self.folder.path().join(path);
        if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        }
        .unwrap();
    }

    pub fn cache(&self, cpu: u32, level: u32, shared_by: &str) {
        let caches = format!("sys/devices/system/cpu/cpu{cpu}/cache");
        let next = fs::read_dir(self.folder.path().join(&caches)).map_or(0, Iterator::count);
        for (file, content) in [
            ("level", level.to_string().as_str()),
            ("shared_cpu_list", shared_by),
        ] {
            self.write(
                format!("{caches}/index{next}/{file}"),
                &format!("{content}\n"),
            );
        }
    }

    /// Puts a CPU into its package and core, and adds its first-level caches.
    pub fn cpu(&self, cpu: u32, package: i32, core: &str) {
        let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        self.write(
            format!("{topology}/physical_package_id"),
            &format!("{package}\n"),
        );
        self.write(format!("{topology}/core_cpus_list"), &format!("{core}\n"));
        self.cache(cpu, 1, core);
        self.cache(cpu, 1, core);
    }

    /// Describes a CPU as old kernels do: with maps of its package, core and last-level cache.
    pub fn cpu_by_maps(&self, cpu: u32, package: &str, core: &str, cache: &str) {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        self.write(format!("{folder}/topology/core_siblings"), &map(package));
        self.write(format!("{folder}/topology/thread_siblings"), &map(core));
        self.write(format!("{folder}/cache/index0/level"), "3\n");
        self.write(format!("{folder}/cache/index0/shared_cpu_map"), &map(cache));
    }

    pub fn node(&self, node: u32, cpus: &str, kib: u64, distances: &str) {
        let folder = format!("sys/devices/system/node/node{node}");
        self.write(format!("{folder}/cpulist"), &format!("{cpus}\n"));
        self.write(format!("{folder}/distance"), &format!("{distances}\n"));
        let meminfo = format!(
            "Node {node} MemTotal:       {kib:8} kB\nNode {node} MemFree:              12 kB\n"
        );
        self.write(format!("{folder}/meminfo"), &meminfo);
    }

    /// Reads the tree with an affinity mask in the notation of a list, or without a mask.
    pub fn try_read(&self, allowed: Option<&str>) -> Result<Cpus, CpusError> {
        read(&self.source(), allowed.map(set).as_ref())
    }

    pub fn read(&self, allowed: &str) -> Cpus {
        self.try_read(Some(allowed)).unwrap()
    }
}

pub fn set(list: &str) -> BTreeSet<u32> {
    parse_list(list).unwrap()
}

/// Returns the map with the CPUs of a list, for 64 CPUs.
pub fn map(list: &str) -> String {
    let bits = set(list)
        .into_iter()
        .fold(0_u64, |bits, cpu| bits | 1 << cpu);
    format!("{:08x},{:08x}\n", bits >> 32, bits & 0xffff_ffff)
}
