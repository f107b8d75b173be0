//! Building a host from the CPUs and the memory of the computer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use cellworks_machine::memory::{AddressSpace, Backing, MakeLocalStore, Region, of_size};
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{LOCAL_STORE_BYTES, SpeId, barrier};

use crate::cpu_time::CpuTime;
use crate::cpus::list::name_cpus;
use crate::cpus::{self, Cpus, CpusError, FSROOT, MemoryNode, SPES_MAX, Source, WhyLeftOut};
use crate::crew::Crew;
use crate::layout::Layout;
use crate::memory::Pages;
use crate::pin::{self, Pinned};

/// This computer as a [`Machine`](cellworks_machine::Machine).
///
/// Several hosts may exist and run at the same time, on the same CPUs. After a run the calling
/// thread may use its previous CPUs again.
///
/// # OS threads, CPUs and stacks of a run
///
/// - There is one OS thread for each CPU that has an SPE. Of 16 SPEs on 2 CPUs, 8 share an OS
///   thread, and run in turn. Only 2 programs run at the same time.
/// - During a run, the calling thread and the OS threads of the SPEs are pinned to one CPU each.
///   What a program starts inherits this CPU: a thread of `std` (thus also another thread pool) and
///   a child process. There, as in the program, [`std::thread::available_parallelism`] is 1. Start
///   them in [`unpinned`](Self::unpinned), or before the run.
/// - The OS threads of the SPEs wait for the next run, and end when the host is dropped. So a
///   thread-local value of a program may be that of an earlier run.
/// - A program and each cooperative thread has a stack of 256 KiB, and not the 8 MiB of a main
///   thread: see [`HostBuilder::stack_bytes`].
/// - The programs on an OS thread share its floating-point control bits, such as the rounding mode
///   or `flush to zero`. A program that changes them restores them before it waits or yields.
///
/// # Other computers
///
/// If the environment variable `CELLWORKS_FSROOT` names a folder with the `sys` and `proc` of
/// another computer, the host has the CPUs, caches, memory modules and name of that computer. Such
/// a host shows how SPEs would be placed there. It uses all CPUs that are online on that computer
/// and in its cpuset.
///
/// Programs still run on this computer. An SPE is not pinned if its CPU does not exist here, and
/// memory may lie on any NUMA node.
pub struct Host {
    pub(crate) source: Source,
    pub(crate) cpus: Cpus,
    /// The CPU time of this host's threads, by seat (the index of an OS thread).
    pub(crate) cpu_time: Arc<CpuTime>,
    pub(crate) crew: Arc<Crew>,
    pub(crate) layout: Layout,
    /// For each memory module, the NUMA node number of the operating system.
    pub(crate) nodes: Vec<u32>,
    /// Whether there are several memory modules, and the system allows placing memory on a node.
    pub(crate) places_memory: bool,
    pub(crate) space: Arc<AddressSpace>,
    pub(crate) local_stores: Vec<Region>,
    pub(crate) strict: bool,
    pub(crate) stack_bytes: usize,
    pub(crate) warnings: Vec<String>,
    /// The CPUs of the thread that has built this host.
    builders_cpus: Option<BTreeSet<u32>>,
}

/// A function that makes local stores. It has no text of its own.
#[derive(Clone)]
struct Maker(Arc<MakeLocalStore>);

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeLocalStore")
    }
}

/// A builder of a [`Host`].
#[derive(Clone, Debug)]
pub struct HostBuilder {
    spes: Option<usize>,
    cpus: Option<Vec<u32>>,
    strict: bool,
    local_store_bytes: usize,
    local_stores: Option<Maker>,
    stack_bytes: usize,
}

/// The reason why a host could not be built.
#[derive(thiserror::Error)]
pub enum HostError {
    /// The CPUs of this computer could not be read.
    #[error("the CPUs of this computer cannot be read: {0}")]
    Cpus(#[from] CpusError),
    /// `CELLWORKS_FSROOT` does not name a folder with the files of a computer.
    #[error(
        "{FSROOT} names {}, {lack}; have it name a folder with the `sys` and `proc` of a computer, \
         or unset it to use this computer",
        root.display()
    )]
    NoComputer {
        /// The value of the variable.
        root: PathBuf,
        /// The reason, such as "which does not exist".
        lack: String,
    },
    /// The CPUs of another computer could not be read.
    #[error("the CPUs of the computer in {} cannot be read: {cause}", root.display())]
    OtherComputer {
        /// The folder that `CELLWORKS_FSROOT` names.
        root: PathBuf,
        /// The error.
        #[source]
        cause: CpusError,
    },
    /// The builder was given no CPUs, or CPUs that the process may not use.
    #[error(
        "{} cannot be chosen: this process may use {}; choose some of these",
        if chosen.is_empty() { "no CPU".to_owned() } else { name_cpus(chosen) },
        name_cpus(usable)
    )]
    Chosen {
        /// The given CPUs that may not be used.
        chosen: BTreeSet<u32>,
        /// The CPUs that may be used.
        usable: BTreeSet<u32>,
    },
    /// The number of SPEs is out of range.
    #[error("{0} SPEs were asked for; a host has 1 to {SPES_MAX}, for example as many as CPUs")]
    Spes(usize),
    /// The builder was given a CPU twice.
    #[error(
        "CPU {cpu} was chosen twice; choose each CPU once: if there are more SPEs than CPUs, they go \
         round"
    )]
    ChosenTwice {
        /// The CPU.
        cpu: u32,
    },
    /// The size of local stores is out of range.
    #[error(
        "local stores of {0} bytes were asked for; one has 4096 bytes to 1 GiB, in multiples of \
         4096, for example {LOCAL_STORE_BYTES}"
    )]
    LocalStoreBytes(usize),
    /// The size of stacks is out of range.
    #[error(
        "stacks of {0} bytes were asked for; one has 16 KiB to 1 GiB, for example 262144 bytes"
    )]
    StackBytes(usize),
    /// The operating system did not allocate the memory of a local store.
    #[error(
        "the system gives no memory for the local store of {spe} ({bytes} bytes): {source}; ask for \
         fewer SPEs or smaller local stores"
    )]
    LocalStore {
        /// The SPE of the local store.
        spe: SpeId,
        /// The size of the local store in bytes.
        bytes: usize,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

cellworks_machine::debug_by_display!(HostError);

impl Default for HostBuilder {
    fn default() -> Self {
        Self {
            spes: None,
            cpus: None,
            strict: false,
            local_store_bytes: LOCAL_STORE_BYTES,
            local_stores: None,
            stack_bytes: cellworks_threads::Config::default().stack_bytes,
        }
    }
}

impl HostBuilder {
    /// Sets the number of SPEs, 1 to 4,096. The default is the number of usable CPUs, or less if a
    /// quota limits the CPU time. If there are more SPEs than CPUs, several SPEs share an OS
    /// thread, and run in turn.
    #[must_use]
    pub fn spes(mut self, count: usize) -> Self {
        self.spes = Some(count);
        self
    }

    /// Sets the CPUs that the host uses, by their numbers in the operating system. No number may
    /// occur twice. SPE 0 is on the first CPU, SPE 1 on the second, and so on. The default number
    /// of SPEs is then the number of these CPUs. If [`spes`](Self::spes) sets more SPEs, the list
    /// is repeated from the first CPU on. The PPE is also on one of these CPUs.
    ///
    /// By default the host uses all CPUs that the process may use: first one hardware thread of
    /// each core, then the other hardware threads. Each of these two groups is sorted by Cell, then
    /// by descending capacity.
    ///
    /// ```
    /// use cellworks_host::Host;
    /// use cellworks_machine::{Machine, SpeId};
    ///
    /// let any = Host::new()?;
    /// let last = any.topology().place_of(any.topology().spes().last().unwrap()).to_owned();
    /// let cpu = last.strip_prefix("CPU ").unwrap().parse()?;
    /// let host = Host::builder().cpus([cpu]).build()?;
    /// assert_eq!(host.topology().place_of(SpeId::new(0)), last);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cpus(mut self, chosen: impl IntoIterator<Item = u32>) -> Self {
        self.cpus = Some(chosen.into_iter().collect());
        self
    }

    /// Makes the host strict: staging copies data to local stores, as on a Cell, and returns an
    /// error for data that does not fit.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Sets the size of each local store. The default is 256 KB, as on a Cell.
    #[must_use]
    pub fn local_store_bytes(mut self, bytes: usize) -> Self {
        self.local_store_bytes = bytes;
        self
    }

    /// Sets the memory of the local stores, for instance memories that WebAssembly programs share.
    /// `make` is called once for each SPE, in the order of their numbers, with the size in bytes.
    /// The memory must have that size.
    #[must_use]
    pub fn local_stores(
        mut self,
        make: impl Fn(SpeId, usize) -> io::Result<Box<dyn Backing>> + Send + Sync + 'static,
    ) -> Self {
        self.local_stores = Some(Maker(Arc::new(make)));
        self
    }

    /// Sets the stack size of each program and cooperative thread, and so of each task of a pool, 16
    /// KiB to 1 GiB. The default is 256 KiB, much less than the 8 MiB of a main thread on common
    /// computers. Only the pages that a program touches use memory.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Builds the host.
    ///
    /// # Errors
    ///
    /// Returns [`HostError`] if a setting is out of range, the CPUs of the computer cannot be read,
    /// or the system allocates no memory for a local store.
    pub fn build(self) -> Result<Host, HostError> {
        if let Some(spes) = self.spes
            && !(1..=SPES_MAX).contains(&spes)
        {
            return Err(HostError::Spes(spes));
        }
        let bytes = self.local_store_bytes;
        if !(4096..=1 << 30).contains(&bytes) || !bytes.is_multiple_of(4096) {
            return Err(HostError::LocalStoreBytes(bytes));
        }
        if !(16 << 10..=1 << 30).contains(&self.stack_bytes) {
            return Err(HostError::StackBytes(self.stack_bytes));
        }
        Host::of(self, Source::of_environment())
    }
}

impl Host {
    /// Returns a host with the default settings of the builder.
    ///
    /// # Errors
    ///
    /// Returns [`HostError`] if the CPUs of the computer cannot be read.
    pub fn new() -> Result<Self, HostError> {
        Self::builder().build()
    }

    /// Returns a builder with the default settings.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    pub(crate) fn of(builder: HostBuilder, source: Source) -> Result<Self, HostError> {
        if !source.is_this_computer() {
            check_folder(&source.root)?;
        }
        let cpus = source
            .allowed()
            .and_then(|allowed| cpus::read(&source, allowed.as_ref()));
        match cpus {
            Ok(cpus) => match &builder.cpus {
                None => Self::with_cpus(builder, source, cpus),
                Some(chosen) => {
                    let cpus = of_these(chosen, &source, &cpus)?;
                    Self::with_cpus(builder, source, cpus)
                }
            },
            Err(cause) if source.is_this_computer() => Err(HostError::Cpus(cause)),
            Err(CpusError::Unknown { .. }) => Err(HostError::NoComputer {
                root: source.root,
                lack: "which has no file `sys/devices/system/cpu/online`, or an empty one, and no \
                       folder `cpu0` beside it"
                    .to_owned(),
            }),
            Err(cause) => Err(HostError::OtherComputer {
                root: source.root,
                cause,
            }),
        }
    }

    pub(crate) fn with_cpus(
        builder: HostBuilder,
        source: Source,
        mut cpus: Cpus,
    ) -> Result<Self, HostError> {
        // The first barrier may take tens of milliseconds, so it is issued before any run.
        barrier::light();
        let mut places_memory = source.is_this_computer() && cpus.usable_nodes().count() > 1;
        let mut cannot_place = None;
        if places_memory {
            cannot_place = try_nodes(&mut cpus.memory_nodes, |node| {
                Pages::new(4096, Some(node)).map(drop)
            });
            places_memory = cannot_place.is_none() && cpus.usable_nodes().count() > 1;
        }
        let layout = Layout::new(&cpus, builder.spes, builder.cpus.as_deref());
        let nodes: Vec<u32> = cpus
            .usable_nodes()
            .map(|at| cpus.memory_nodes[at].os_index)
            .collect();
        let space = AddressSpace::new();
        let local_stores = layout
            .topology
            .spes()
            .map(|spe| {
                let bytes = builder.local_store_bytes;
                let module = layout.topology.module_of(spe);
                let made = match &builder.local_stores {
                    Some(Maker(make)) => make(spe, bytes).and_then(|memory| of_size(memory, bytes)),
                    None => Pages::new(bytes, None).map(|pages| Box::new(pages) as _),
                };
                let memory: Box<dyn Backing> =
                    made.map_err(|source| HostError::LocalStore { spe, bytes, source })?;
                let at = EffectiveAddress(memory.base().as_ptr() as u64);
                Ok(space.map_local_store(at, memory, module))
            })
            .collect::<Result<_, HostError>>()?;
        let mut warnings = Vec::new();
        if !source.is_this_computer() {
            warnings.push(format!(
                "{FSROOT} is set: the CPUs and memory modules are those described in {}, but the \
                 times are those of this computer",
                source.root.display()
            ));
        }
        warnings.extend(cpus.notes.iter().cloned());
        for worker in &layout.workers {
            if let Err(why) = Pinned::to(worker.cpu) {
                warnings.push(format!(
                    "threads cannot be pinned to CPU {}: {why}; results may depend on where the \
                     system moves them",
                    worker.cpu
                ));
                break;
            }
        }
        warnings.extend(cells_without_memory(&cpus, &layout));
        if let Some(why) = cannot_place {
            warnings.push(format!(
                "memory cannot be placed on NUMA nodes: {why}; it goes where the system puts it, \
                 whatever the memory module"
            ));
        }
        Ok(Self {
            source,
            cpus,
            cpu_time: Arc::new(CpuTime::new(1 + layout.workers.len())),
            crew: Arc::new(Crew::new(layout.workers.len())),
            layout,
            nodes,
            places_memory,
            space,
            local_stores,
            strict: builder.strict,
            stack_bytes: builder.stack_bytes,
            warnings,
            builders_cpus: pin::allowed_cpus().ok(),
        })
    }

    /// Runs `f` on a new OS thread that may use all CPUs that the thread had that built this host,
    /// and returns its result. Threads of `std` and child processes that `f` starts inherit these
    /// CPUs. Started by a program, they would have only the CPU to which its SPE is pinned.
    ///
    /// The call blocks the calling OS thread, with all its programs, until `f` returns. So `f`
    /// should start the thread or process, and return it instead of waiting for it.
    ///
    /// ```
    /// use std::process::Command;
    ///
    /// use cellworks_host::Host;
    /// use cellworks_machine::{Machine, SpeId};
    ///
    /// let host = Host::builder().spes(1).build()?;
    /// let (here, child) = host.run(|ppe| {
    ///     let program = ppe.spawn(SpeId::new(0), |_| {
    ///         let here = std::thread::available_parallelism().unwrap();
    ///         let child = host.unpinned(|| Command::new("nproc").spawn());
    ///         (here, child.and_then(|child| child))
    ///     });
    ///     program.join().unwrap()
    /// })?;
    /// assert_eq!(here.get(), 1);
    /// // It prints the number of usable CPUs.
    /// assert!(child?.wait()?.success());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the system if it starts no thread, or if none of these CPUs is usable
    /// any more. Then `f` has not run.
    ///
    /// # Panics
    ///
    /// Passes on the panic of `f`.
    pub fn unpinned<R: Send>(&self, f: impl FnOnce() -> R + Send) -> std::io::Result<R> {
        pin::on_thread_with(self.builders_cpus.as_ref(), f)
    }

    /// Returns the folder of `CELLWORKS_FSROOT`, or `None` if this host describes this computer.
    pub fn described_in(&self) -> Option<&Path> {
        (!self.source.is_this_computer()).then_some(self.source.root.as_path())
    }

    /// Returns properties of this host that may make measurements worse, as sentences for users.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Reads only the CPUs in `chosen`, which must be in `all`.
fn of_these(chosen: &[u32], source: &Source, all: &Cpus) -> Result<Cpus, HostError> {
    let usable: BTreeSet<u32> = all.cpus.iter().map(|cpu| cpu.os_index).collect();
    let mut different = BTreeSet::new();
    if let Some(&cpu) = chosen.iter().find(|&&cpu| !different.insert(cpu)) {
        return Err(HostError::ChosenTwice { cpu });
    }
    if different.is_empty() || !different.is_subset(&usable) {
        return Err(HostError::Chosen {
            chosen: &different - &usable,
            usable,
        });
    }
    let mut cpus = cpus::read(source, Some(&different))?;
    for left_out in &mut cpus.left_out {
        if usable.contains(&left_out.os_index) {
            left_out.why = WhyLeftOut::NotChosen;
        }
    }
    Ok(cpus)
}

fn check_folder(root: &Path) -> Result<(), HostError> {
    let lack = match std::fs::metadata(root) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "which is not a folder".to_owned(),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => "which does not exist".to_owned(),
        Err(why) => format!("which cannot be looked at: {why}"),
    };
    Err(HostError::NoComputer {
        root: root.to_owned(),
        lack,
    })
}

/// Calls `place` for each usable node. Sets `usable` of a node to false if the call fails, and
/// returns `None`. If all calls fail, changes nothing and returns the first error.
fn try_nodes(
    nodes: &mut [MemoryNode],
    place: impl Fn(u32) -> std::io::Result<()>,
) -> Option<std::io::Error> {
    let mut refused = None;
    let mut placed = Vec::new();
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.usable) {
        match place(node.os_index) {
            Ok(()) => placed.push(at),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    if placed.is_empty() {
        return refused;
    }
    for (at, node) in nodes.iter_mut().enumerate() {
        node.usable = placed.contains(&at);
    }
    None
}

/// Returns a sentence for each node with CPUs of the host but without usable memory.
fn cells_without_memory(cpus: &Cpus, layout: &Layout) -> Vec<String> {
    let mut cpus_of = BTreeMap::<usize, BTreeSet<u32>>::new();
    let used: BTreeSet<u32> = layout.workers.iter().map(|worker| worker.cpu).collect();
    for cpu in cpus.cpus.iter().filter(|cpu| used.contains(&cpu.os_index)) {
        let of_node = cpus_of.entry(cpu.memory_node).or_default();
        of_node.insert(cpu.os_index);
    }
    cpus_of.retain(|&node, _| !cpus.memory_nodes[node].usable);
    let sentence = |(node, used): (usize, BTreeSet<u32>)| {
        let nearest = cpus.memory_nodes[cpus.nearest_usable(node)].os_index;
        let MemoryNode {
            os_index, bytes, ..
        } = cpus.memory_nodes[node];
        let lack = match bytes {
            Some(0) => "has no memory",
            _ => "has no memory that this process may use (a cpuset, or `--cpuset-mems`)",
        };
        let are = if used.len() == 1 { "is" } else { "are" };
        let used = name_cpus(&used);
        format!(
            "NUMA node {os_index} {lack}, so {used} {are} next to no memory, and that of node \
             {nearest} counts as theirs; choose CPUs of node {nearest} with `taskset` where this \
             matters"
        )
    };
    cpus_of.into_iter().map(sentence).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use cellworks_machine::Machine;

    use super::*;

    fn nodes(usable: &[bool]) -> Vec<MemoryNode> {
        let node = |(os_index, &usable): (u32, &bool)| MemoryNode {
            os_index,
            bytes: None,
            usable,
            distances: Vec::new(),
        };
        (0..).zip(usable).map(node).collect()
    }

    #[test]
    fn nodes_on_which_nothing_can_be_placed_are_not_usable() {
        let usable =
            |nodes: &[MemoryNode]| nodes.iter().map(|node| node.usable).collect::<Vec<_>>();
        let refusing = |refuses: &'static [u32]| {
            move |node: u32| {
                assert_ne!(node, 3, "it is not usable");
                if refuses.contains(&node) {
                    return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
                }
                Ok(())
            }
        };
        let mut some = nodes(&[true, true, true, false]);
        assert!(try_nodes(&mut some, refusing(&[0, 2])).is_none());
        assert_eq!(usable(&some), [false, true, false, false]);
        let mut none = nodes(&[true, true, true, false]);
        let why = try_nodes(&mut none, refusing(&[0, 1, 2])).unwrap();
        assert_eq!(why.raw_os_error(), Some(libc::EINVAL));
        assert_eq!(usable(&none), [true, true, true, false]);
    }

    #[test]
    fn cpus_that_cannot_be_chosen_are_refused() {
        let refused = |cpus: &[u32]| match Host::builder().cpus(cpus.iter().copied()).build() {
            Ok(_) => panic!("{cpus:?} were not refused"),
            Err(error) => error.to_string(),
        };
        for (cpus, begin) in [(&[99_999][..], "CPU 99999"), (&[], "no CPU")] {
            let error = refused(cpus);
            assert!(
                error.starts_with(&format!(
                    "{begin} cannot be chosen: this process may use CPU"
                )) && error.ends_with("; choose some of these"),
                "{error}"
            );
        }
        let usable = Host::new().unwrap().cpus.cpus[0].os_index;
        assert_eq!(
            refused(&[usable, usable]),
            format!(
                "CPU {usable} was chosen twice; choose each CPU once: if there are more SPEs than CPUs, they go \
                 round"
            )
        );
    }

    #[test]
    fn a_host_that_may_not_pin_says_so_and_runs_all_the_same() {
        let mut cpus = cpus::read(&Source::this_computer(), None).unwrap();
        for (cpu, os_index) in cpus.cpus.iter_mut().zip(900..) {
            cpu.os_index = os_index;
        }
        let host = Host::with_cpus(HostBuilder::default(), Source::this_computer(), cpus).unwrap();
        let [warning] = host.warnings() else {
            panic!("expected one warning, got {:?}", host.warnings());
        };
        assert!(
            warning.starts_with("threads cannot be pinned to CPU 90")
                && warning.ends_with("results may depend on where the system moves them"),
            "{warning}"
        );
        let first = SpeId::new(0);
        let answer = host.run(|ppe| ppe.spawn(first, |_| 42).join().unwrap());
        assert_eq!(answer.unwrap(), 42);
    }
}
