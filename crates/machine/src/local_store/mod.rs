//! Local stores: the memory of an SPE, as its own programs use it.
//!
//! The SPE's program and the commands of its MFC access the local store by local-store address.
//! Other processors access the bytes by DMA, because the local store is mapped in main memory.
//! Programs reserve the addresses that they use, so no buffer overwrites another buffer.

pub mod space;

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use crate::id::SpeId;
use crate::memory::Region;
use crate::mfc::{EffectiveAddress, LsAddr};
use space::{NoRoom, Space};

/// Bytes of a Cell's local stores.
pub const LOCAL_STORE_BYTES: usize = 256 * 1024;

/// A program's use of a local store, for a machine that watches the local store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalStoreUse {
    /// The program reads bytes.
    Read,
    /// The program writes bytes.
    Write,
    /// The program reserves a buffer.
    Reserve,
    /// The program releases a buffer.
    Release,
}

/// A function that is called for every use of the local store by the program, with the address of
/// the first byte and the number of bytes.
pub type LocalStoreWatch = Rc<dyn Fn(LocalStoreUse, LsAddr, usize)>;

/// The local store of one SPE. Cloning gives another handle to the same store.
#[derive(Clone)]
pub struct LocalStore {
    spe: SpeId,
    bytes: Region,
    space: Rc<RefCell<Space>>,
    watch: Option<LocalStoreWatch>,
}

/// A range of reserved addresses of a local store. Dropping the buffer frees the range.
pub struct LocalBuffer {
    start: u32,
    bytes: usize,
    space: Rc<RefCell<Space>>,
    watch: Option<LocalStoreWatch>,
}

/// The error of a slice that does not fit into the local store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the local store of {spe} is full: {no_room}")]
pub struct StageError {
    spe: SpeId,
    no_room: Box<NoRoom>,
}

impl StageError {
    fn new(spe: SpeId, no_room: NoRoom) -> Self {
        Self {
            spe,
            no_room: Box::new(no_room),
        }
    }

    /// The SPE that the local store belongs to.
    pub fn spe(&self) -> SpeId {
        self.spe
    }

    /// The bytes that were needed, the bytes that are free, and the holders of the rest.
    pub fn no_room(&self) -> &NoRoom {
        &self.no_room
    }
}

impl LocalStore {
    /// Returns the local store of `spe` with the bytes of the region `bytes`. Machines call this
    /// function.
    ///
    /// # Panics
    ///
    /// Panics if `bytes` has 4 GiB or more, or its size is not a multiple of 16 bytes.
    pub fn new(spe: SpeId, bytes: Region) -> Self {
        let size = u32::try_from(bytes.bytes()).expect("a local store has 32-bit addresses");
        assert!(size.is_multiple_of(16), "a local store has whole quadwords");
        Self {
            spe,
            bytes,
            space: Rc::new(RefCell::new(Space::new(size))),
            watch: None,
        }
    }

    /// Returns the same local store, which calls `watch` for every use through this handle and its
    /// clones. Machines that look for hazards use this method.
    #[must_use]
    pub fn watched(mut self, watch: LocalStoreWatch) -> Self {
        self.watch = Some(watch);
        self
    }

    fn report(&self, what: LocalStoreUse, at: LsAddr, bytes: usize) {
        if let Some(watch) = &self.watch {
            watch(what, at, bytes);
        }
    }

    /// The SPE that the local store belongs to.
    pub fn spe(&self) -> SpeId {
        self.spe
    }

    /// How many bytes the store has.
    pub fn bytes(&self) -> usize {
        self.bytes.bytes()
    }

    /// How many bytes of the store are not reserved.
    pub fn free_bytes(&self) -> usize {
        self.space.borrow().free_bytes() as usize
    }

    /// Runs `f`. Returns the largest number of bytes that were reserved at once during the call,
    /// minus the bytes that were reserved before the call. Calls may be nested.
    pub(crate) fn peak_of<R>(&self, f: impl FnOnce() -> R) -> (usize, R) {
        let before = self.bytes() - self.free_bytes();
        let outer = self.space.borrow_mut().begin_peak();
        let result = f();
        let peak = self.space.borrow_mut().end_peak(outer);
        // Another count, by another thread, may have made the peak less than `before`.
        ((peak as usize).saturating_sub(before), result)
    }

    /// Reserves `bytes` bytes for `what`, aligned to `align` bytes (a power of two).
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] if no hole is large enough. The error lists the holders of the local
    /// store.
    #[track_caller]
    pub fn reserve(
        &self,
        bytes: usize,
        align: u32,
        what: &'static str,
    ) -> Result<LocalBuffer, StageError> {
        self.reserve_at(bytes, align, what, Location::caller())
    }

    /// Does the same as [`reserve`](Self::reserve), with `at` as the call that reserves the buffer.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`reserve`](Self::reserve).
    pub fn reserve_at(
        &self,
        bytes: usize,
        align: u32,
        what: &'static str,
        at: &'static Location<'static>,
    ) -> Result<LocalBuffer, StageError> {
        let start = self
            .space
            .borrow_mut()
            .reserve(bytes, align, what, at)
            .map_err(|no_room| StageError::new(self.spe, no_room))?;
        self.report(LocalStoreUse::Reserve, LsAddr(start), bytes);
        Ok(LocalBuffer {
            start,
            bytes,
            space: Rc::clone(&self.space),
            watch: self.watch.clone(),
        })
    }

    /// Returns the effective address of the byte at `at`, which other processors use for DMA.
    ///
    /// # Panics
    ///
    /// Panics if the store has no such byte.
    #[track_caller]
    pub fn effective(&self, at: LsAddr) -> EffectiveAddress {
        self.bytes.at(self.range(at, 1))
    }

    /// Copies the bytes from `from` on into `into`.
    ///
    /// # Panics
    ///
    /// Panics if the bytes leave the store.
    #[track_caller]
    pub fn read(&self, from: LsAddr, into: &mut [u8]) {
        let range = self.range(from, into.len());
        self.report(LocalStoreUse::Read, from, into.len());
        self.bytes.read(range, into);
    }

    /// Copies `from` into the store at `to`.
    ///
    /// # Panics
    ///
    /// Panics if the bytes leave the store.
    #[track_caller]
    pub fn write(&self, to: LsAddr, from: &[u8]) {
        let range = self.range(to, from.len());
        self.report(LocalStoreUse::Write, to, from.len());
        self.bytes.write(range, from);
    }

    /// Reads the 32-bit word at `from`, in the byte order of this computer.
    ///
    /// # Panics
    ///
    /// Panics if the word leaves the store.
    #[track_caller]
    pub fn read_word(&self, from: LsAddr) -> u32 {
        let mut word = [0; 4];
        self.read(from, &mut word);
        u32::from_ne_bytes(word)
    }

    /// Writes the 32-bit word at `to`, in the byte order of this computer.
    ///
    /// # Panics
    ///
    /// Panics if the word leaves the store.
    #[track_caller]
    pub fn write_word(&self, to: LsAddr, word: u32) {
        self.write(to, &word.to_ne_bytes());
    }

    /// The bytes of the local store as a region of main memory, by which machines move data.
    pub fn region(&self) -> &Region {
        &self.bytes
    }

    #[track_caller]
    fn range(&self, at: LsAddr, bytes: usize) -> usize {
        let start = at.0 as usize;
        assert!(
            start <= self.bytes() && bytes <= self.bytes() - start,
            "{bytes} bytes at local store address {at} leave the {} bytes of the local store of {}",
            self.bytes(),
            self.spe
        );
        start
    }
}

impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "LocalStore of {} ({} of {} bytes free)",
            self.spe,
            self.free_bytes(),
            self.bytes()
        )
    }
}

impl fmt::Debug for LocalBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "LocalBuffer of {} bytes at {:#x}",
            self.bytes, self.start
        )
    }
}

impl LocalBuffer {
    /// Where the buffer starts.
    pub fn address(&self) -> LsAddr {
        LsAddr(self.start)
    }

    /// How many bytes the buffer has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for LocalBuffer {
    fn drop(&mut self) {
        self.space.borrow_mut().release(self.start);
        if let Some(watch) = &self.watch {
            watch(LocalStoreUse::Release, LsAddr(self.start), self.bytes);
        }
    }
}
