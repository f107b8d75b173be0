//! Memories that WebAssembly code and a machine share.
//!
//! ```text
//!   memfd ──┬── the linear memory of the instances of a side (wasmtime reads and writes it)
//!           ├── a region of the machine: main memory, or the local store of an SPE (`Backing`)
//!           └── a window in the memory of the PPU (`spe_ls_area_get`), for a local store only
//! ```
//!
//! No Rust code reads or writes the bytes here: what runs a program uses the machine's `Region`,
//! whose accesses may race with those of other code.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use cellworks_machine::memory::{Backing, ByteOrder};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// The address space of a 32-bit program. Memories begin at multiples of it, because the addresses
/// of a DMA list must not cross one.
const WINDOW: usize = 1 << 32;

/// Bytes after a memory that no code may use: an offset of an instruction that goes past 4 GiB
/// ends in them.
pub(super) const GUARD: usize = 64 << 20;

/// The size of a page of this computer is assumed to divide this size of a page of WebAssembly.
pub(super) const PAGE_BYTES: usize = 64 << 10;

/// A memory of a fixed size with 4 GiB of addresses of its own. Clones are the same memory.
#[derive(Clone)]
pub(super) struct SharedMemory(Arc<Mapping>);

struct Mapping {
    /// What was reserved: twice 4 GiB, so that a multiple of 4 GiB is in it, and the guard.
    reserved: NonNull<u8>,
    base: NonNull<u8>,
    bytes: usize,
    /// The bytes at the start that nothing may access.
    null_bytes: usize,
    file: OwnedFd,
}

const RESERVED: usize = 2 * WINDOW + GUARD;

// SAFETY: the mapping is used through raw addresses alone, and any thread may use them.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl SharedMemory {
    /// Makes a memory of `bytes` bytes, all 0. It takes memory of this computer only where it is
    /// used.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        Self::with_null_bytes(bytes, 0)
    }

    /// Makes a memory of which nothing may access the first `null_bytes` bytes.
    fn with_null_bytes(bytes: usize, null_bytes: usize) -> io::Result<Self> {
        assert!(bytes <= WINDOW && bytes.is_multiple_of(PAGE_BYTES));
        assert!(null_bytes.is_multiple_of(PAGE_BYTES));
        let file = memfd_create("cellworks", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, bytes as u64)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, at an address that the system chooses, aliases nothing.
        let reserved =
            unsafe { mmap_anonymous(std::ptr::null_mut(), RESERVED, ProtFlags::empty(), flags)? };
        let reserved = NonNull::new(reserved.cast::<u8>()).expect("no mapping begins at 0");
        let slack = reserved.as_ptr().align_offset(WINDOW);
        // SAFETY: `slack` is less than 4 GiB, and twice as much was reserved.
        let base = unsafe { reserved.add(slack) };
        let memory = Self(Arc::new(Mapping {
            reserved,
            base,
            bytes,
            null_bytes,
            file,
        }));
        if null_bytes < bytes {
            memory.show_own(null_bytes, bytes - null_bytes)?;
        }
        Ok(memory)
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Makes the bytes of `other` appear at `at` of this memory, in place of those that were there.
    ///
    /// # Panics
    ///
    /// Panics if they leave the memory, or `at` is no multiple of the size of a page.
    pub(super) fn show(&self, other: &Self, at: usize) -> io::Result<()> {
        assert!(at.is_multiple_of(PAGE_BYTES) && at + other.bytes() <= self.bytes());
        self.map(&other.0.file, at, other.bytes(), 0)
    }

    /// Makes the memory's own bytes appear again in `bytes` bytes at `at`, after
    /// [`show`](Self::show).
    pub(super) fn show_own(&self, at: usize, bytes: usize) -> io::Result<()> {
        assert!(at.is_multiple_of(PAGE_BYTES) && at + bytes <= self.bytes());
        self.map(&self.0.file, at, bytes, at as u64)
    }

    fn map(&self, file: &OwnedFd, at: usize, bytes: usize, offset: u64) -> io::Result<()> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the callers have checked that the addresses lie in this memory's reservation. It
        // has no Rust references, and code of other languages finds readable and writable bytes
        // at these addresses before, during and after the call.
        unsafe {
            let at = self.0.base.as_ptr().add(at);
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            mmap(at.cast(), bytes, access, flags, file, offset)?;
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the reservation is this value's own, and no clone of the memory is left. A
        // failure leaves it mapped, which does no harm.
        let _ = unsafe { munmap(self.reserved.as_ptr().cast(), RESERVED) };
    }
}

// SAFETY: the bytes begin at a multiple of 4 GiB. Those behind the null bytes stay mapped,
// initialised, readable and writable while the value lives. Nothing makes a Rust reference to them.
unsafe impl Backing for SharedMemory {
    fn base(&self) -> NonNull<u8> {
        self.0.base
    }

    fn bytes(&self) -> usize {
        self.0.bytes
    }

    fn byte_order(&self) -> ByteOrder {
        ByteOrder::Big
    }

    fn null_bytes(&self) -> usize {
        self.0.null_bytes
    }
}

/// The memory of the PPU, in which nothing reaches what a null pointer points to.
pub(super) struct MainMemory(SharedMemory);

/// The bytes at the start of the PPU's memory that nothing may access: whole pages of any computer.
pub(super) const NULL_BYTES: usize = PAGE_BYTES;

impl MainMemory {
    /// Makes a memory of `bytes` bytes, all 0.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        SharedMemory::with_null_bytes(bytes, NULL_BYTES).map(Self)
    }

    /// Returns the memory for the instances of its program.
    pub(super) fn shared(&self) -> &SharedMemory {
        &self.0
    }
}

// SAFETY: as for `SharedMemory`.
unsafe impl Backing for MainMemory {
    fn base(&self) -> NonNull<u8> {
        self.0.base()
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn null_bytes(&self) -> usize {
        self.0.null_bytes()
    }
}

// SAFETY: the memory begins at a page, and `new` has reserved 4 GiB from there and the guard. Code
// of the engine that is not compiled from the program, and whose faults would end this process,
// accesses the null bytes only in a copy, which `null` lets the program's own code try first.
unsafe impl LinearMemory for SharedMemory {
    fn byte_size(&self) -> usize {
        self.0.bytes
    }

    fn byte_capacity(&self) -> usize {
        self.0.bytes
    }

    fn grow_to(&mut self, bytes: usize) -> wasmtime::Result<()> {
        if bytes > self.0.bytes {
            wasmtime::bail!("the memory has a fixed size of {} bytes", self.0.bytes);
        }
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.base.as_ptr()
    }
}

thread_local! {
    /// The memory of the instance that this OS thread makes now.
    static NEXT: RefCell<Option<SharedMemory>> = const { RefCell::new(None) };
}

/// Gives the instance that is made next on this OS thread the memory `memory`.
pub(super) fn next_instance_has(memory: &SharedMemory) {
    NEXT.set(Some(memory.clone()));
}

/// Gives each instance the memory of its program, instead of a new one.
pub(super) struct Memories;

// SAFETY: what it returns is a `LinearMemory` with the reservation and the guard that the engine's
// settings ask for (`engine`). Its bytes need not be 0, because modules have no data segments here.
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        _: MemoryType,
        minimum: usize,
        _: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let memory = NEXT.take().ok_or("an instance has no memory")?;
        if minimum != memory.bytes() {
            return Err(format!(
                "it was linked for a memory of {minimum} bytes instead of {}",
                memory.bytes()
            ));
        }
        if reserved.is_some_and(|bytes| bytes > WINDOW) || guard > GUARD {
            return Err("the engine asks for more addresses than a memory has".to_owned());
        }
        Ok(Box::new(memory))
    }
}
