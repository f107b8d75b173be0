//! A host as a machine: the start and the end of its runs, and its main memory.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use cellworks_machine::bytemuck::Pod;
use cellworks_machine::memory::{AllocateError, Backing, Region};
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::sizes::in_words;
use cellworks_machine::{
    CellMachine, Machine, ModuleId, OnCell, Ppe, RunEnd, RunError, SpeId, Topology,
};
use rustix::param::page_size;

use crate::conditions::no_huge_pages;
use crate::cpu_time::cpu_time_of_this_thread;
use crate::host::Host;
use crate::memory::{MemorySlice, Pages, huge_page_share, node_of};
use crate::pin::Pinned;
use crate::ppe::HostPpe;
use crate::programs::Programs;
use crate::run::{PPE_SEAT, Run, is_cancellation};
use crate::spe::HostSpe;
use crate::watchdog;
use crate::worker::OWNER;

/// The size in bytes of the area of addresses that the elements of a DMA list must not leave.
const LIST_WINDOW: u64 = 1 << 32;

/// The two possible sizes of the pages of a region, on a system whose pages have the smaller one.
const SMALL_PAGE_BYTES: usize = 4 << 10;
const HUGE_PAGE_BYTES: usize = 2 << 20;

// SAFETY: `run` returns or unwinds only after every worker has ended, and therefore every program.
unsafe impl Machine for Host {
    type Spe = HostSpe;
    type Core = HostPpe;

    fn topology(&self) -> &Topology {
        &self.layout.topology
    }

    #[track_caller]
    fn run<'env, R>(
        &'env self,
        main: impl for<'scope> FnOnce(&'scope Ppe<'scope, 'env, Self>) -> R,
    ) -> Result<R, RunError> {
        let mut result = None;
        run(self, Box::new(|ppe| result = Some(main(ppe))))?;
        Ok(result.expect("the main program has returned"))
    }

    fn on_cell<W: OnCell<Self>>(&self, work: W) -> Option<W::Output> {
        Some(work.run(self))
    }
}

impl Host {
    /// Allocates `len` elements, all bytes 0, in a memory module, which is a NUMA node. From 4 MiB
    /// on, huge pages are requested, which more than double the speed of random accesses. The slice
    /// can be [staged](cellworks_machine::Spe::stage) like any other slice.
    ///
    /// ```
    /// use cellworks_host::Host;
    /// use cellworks_machine::{Machine, Spe, SpeId};
    ///
    /// let host = Host::new()?;
    /// let spe = SpeId::new(0);
    /// let mut table = host.allocate_slice::<u64>(host.topology().module_of(spe), 1 << 20)?;
    /// table[1_000] = 7;
    /// let found = host.run(|ppe| {
    ///     let program = ppe.spawn(spe, |spe| spe.stage(&table[1_000..1_001]).unwrap()[0]);
    ///     program.join().unwrap()
    /// })?;
    /// assert_eq!(found, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`AllocateError`] if there is no such module, or the system allocates no memory.
    pub fn allocate_slice<T: Pod>(
        &self,
        module: ModuleId,
        len: usize,
    ) -> Result<MemorySlice<T>, AllocateError> {
        let node = self.node_of(module)?;
        MemorySlice::new(len, node).map_err(|source| AllocateError::Refused {
            bytes: len.saturating_mul(size_of::<T>()),
            module,
            source,
        })
    }

    fn map(&self, pages: Pages, module: ModuleId) -> Region {
        let at = EffectiveAddress(pages.base().as_ptr() as u64);
        self.space.map(at, Box::new(pages), module)
    }

    /// Returns the NUMA node of a memory module, or `None` if memory cannot be placed on nodes.
    fn node_of(&self, module: ModuleId) -> Result<Option<u32>, AllocateError> {
        let node = module.index() as u32;
        if !self.nodes.contains(&node) {
            return Err(AllocateError::NoSuchModule {
                module,
                machine: self.topology().name().to_owned(),
                modules: self.topology().modules().collect(),
            });
        }
        Ok(self.places_memory.then_some(node))
    }
}

impl CellMachine for Host {
    fn adopt(&self, module: ModuleId, memory: Box<dyn Backing>) -> Result<Region, AllocateError> {
        self.node_of(module)?;
        let (at, bytes) = (memory.base().as_ptr() as u64, memory.bytes());
        if bytes == 0 {
            return Err(AllocateError::Empty);
        }
        if !at.is_multiple_of(LIST_WINDOW) {
            let why = format!("it begins at {at:#x}, and not at a multiple of 4 GiB");
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, why);
            return Err(AllocateError::Refused {
                bytes,
                module,
                source,
            });
        }
        Ok(self.space.map_lent(EffectiveAddress(at), memory, module))
    }

    fn local_store(&self, spe: SpeId) -> &Region {
        // Panics if there is no such SPE.
        self.topology().place_of(spe);
        &self.local_stores[spe.index()]
    }

    fn allocate(&self, module: ModuleId, bytes: usize) -> Result<Region, AllocateError> {
        let node = self.node_of(module)?;
        if bytes == 0 {
            return Err(AllocateError::Empty);
        }
        let pages = Pages::new(bytes, node).map_err(|source| AllocateError::Refused {
            bytes,
            module,
            source,
        })?;
        Ok(self.map(pages, module))
    }

    fn allocate_in_pages(
        &self,
        module: ModuleId,
        bytes: usize,
        page_bytes: usize,
    ) -> Result<Region, AllocateError> {
        let node = self.node_of(module)?;
        if bytes == 0 {
            return Err(AllocateError::Empty);
        }
        let refused = |why| AllocateError::NoSuchPages {
            bytes,
            module,
            page_bytes,
            why,
        };
        let huge = are_huge(page_bytes, page_size()).map_err(refused)?;
        if huge && let Some(why) = no_huge_pages(&self.source) {
            return Err(refused(why));
        }
        let pages = Pages::of_size(bytes, node, huge).map_err(|source| AllocateError::Refused {
            bytes,
            module,
            source,
        })?;
        Ok(self.map(pages, module))
    }

    fn huge_page_share(&self, region: &Region) -> Option<f64> {
        let sizes_are_known = page_size() == SMALL_PAGE_BYTES;
        sizes_are_known.then(|| huge_page_share(region.at(0).0 as usize))?
    }

    fn home_of(&self, ea: EffectiveAddress) -> Option<ModuleId> {
        // The memory modules are those of another computer, but `ea` is an address on this one.
        if !self.source.is_this_computer() {
            return None;
        }
        let node = node_of(ea.0 as usize).ok()?;
        self.nodes
            .contains(&node)
            .then(|| ModuleId::new(node as u16))
    }
}

type Main<'a, 'env> = Box<dyn for<'scope> FnOnce(&'scope Ppe<'scope, 'env, Host>) + 'a>;

/// Does the work of [`Machine::run`]. This function is not generic, so it is compiled only once.
#[track_caller]
fn run<'env>(host: &'env Host, main: Main<'_, 'env>) -> Result<(), RunError> {
    let caller = Location::caller();
    let run = Arc::new(Run::new(
        &host.layout,
        &host.space,
        &host.local_stores,
        host.strict,
        host.stack_bytes,
        &host.cpu_time,
    ));
    let programs = Arc::new(Programs::of(Arc::clone(&run)));
    run.parking.admit();
    run.parking.take_seat(PPE_SEAT);
    watchdog::watch(&run);
    // The host has already reported a failure to pin threads.
    let pinned = Pinned::to(host.layout.ppe_cpu).ok();
    let before_ns = cpu_time_of_this_thread();
    let ppe = Ppe::new(HostPpe::new(
        Arc::clone(&programs),
        &host.layout,
        Arc::clone(&host.crew),
    ));

    let main = catch_unwind(AssertUnwindSafe(|| {
        OWNER.run_without_core(|| {
            OWNER.run_main(|| main(&ppe));
            ppe.core().wait_for_programs(caller);
        })
    }));
    // The panic is read before the cancellation below, which may cause further panics.
    let panic_before = run.first_panic();
    let was_cancelled = run.is_cancelled();
    if main.is_err() {
        // Without this cancellation, programs that wait for the PPE would wait forever.
        run.cancel();
    }
    run.end();
    ppe.core().join_workers();
    programs.drop_queued();
    if pinned.is_some() {
        run.cpu_time.add(PPE_SEAT, before_ns);
    }

    let mut waits = run.take_waits();
    // The waits are sorted by SPE number: "SPE 10" after "SPE 2", and the PPE last.
    waits.sort_by_key(|wait| {
        let words = wait.who.split(|c: char| !c.is_ascii_digit());
        let numbers: Vec<u32> = words.filter_map(|word| word.parse().ok()).collect();
        (numbers.is_empty(), numbers)
    });
    RunEnd {
        main_was_cancelled: main.as_ref().is_err_and(is_cancellation),
        main,
        was_cancelled,
        panic_before,
        panic_after: run.first_panic(),
        cancelled_for: run.why_cancelled(waits),
    }
    .conclude()
}

/// Returns whether pages of `page_bytes` bytes are huge ones, or why a system whose pages have
/// `of_system` bytes has no such pages.
fn are_huge(page_bytes: usize, of_system: usize) -> Result<bool, String> {
    if of_system != SMALL_PAGE_BYTES {
        return Err(format!(
            "this system has pages of {}, and their size can be chosen only on one with pages of {}; \
             leave the size of pages out",
            in_words(of_system),
            in_words(SMALL_PAGE_BYTES)
        ));
    }
    match page_bytes {
        SMALL_PAGE_BYTES => Ok(false),
        HUGE_PAGE_BYTES => Ok(true),
        _ => Err(format!(
            "there are pages of {SMALL_PAGE_BYTES} and of {HUGE_PAGE_BYTES}; use one of these"
        )),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn regions_are_in_pages_of_the_size_that_was_asked_for_or_refused() {
        let host = Host::builder().spes(1).build().unwrap();
        let module = host.topology().modules().next().unwrap();
        let small = host.allocate_in_pages(module, 8 << 20, 4 << 10).unwrap();
        for page in (0..small.bytes()).step_by(4 << 10) {
            small.write(page, &[1]);
        }
        let share = host.huge_page_share(&small);
        assert!(share.is_none_or(|share| share == 0.0), "{share:?}");
        let error = host
            .allocate_in_pages(module, 8 << 20, 1 << 30)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "8 MB of main memory in memory module 0 could not be allocated in pages of 1 GB: \
             there are pages of 4096 and of 2097152; use one of these"
        );
    }
    #[test]
    fn the_size_of_pages_is_chosen_only_where_the_system_has_pages_of_4_kb() {
        assert_eq!(are_huge(4 << 10, 4 << 10), Ok(false));
        assert_eq!(are_huge(2 << 20, 4 << 10), Ok(true));
        for page_bytes in [4 << 10, 64 << 10, 2 << 20] {
            assert_eq!(
                are_huge(page_bytes, 64 << 10).unwrap_err(),
                "this system has pages of 64 KB, and their size can be chosen only on one with pages of \
                 4 KB; leave the size of pages out"
            );
        }
    }
}
