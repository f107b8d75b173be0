//! Local stores, each the memory of one SPE.
//!
//! An SPE's program and MFC use local-store addresses. Other processors use DMA to the effective
//! addresses of the local store. Programs reserve ranges, so buffers never overlap.

pub mod space;

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use crate::id::SpeId;
use crate::memory::Region;
use crate::mfc::{EffectiveAddress, LsAddr};
use space::{NoRoom, Space};

/// The size of a Cell's local store in bytes.
pub const LOCAL_STORE_BYTES: usize = 256 * 1024;

/// The kinds of use that a [`LocalStoreWatch`] reports.
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

/// A callback for every use of the local store by the program, with the address and size in bytes.
pub type LocalStoreWatch = Rc<dyn Fn(LocalStoreUse, LsAddr, usize)>;

/// A handle to the local store of one SPE. Clones refer to the same local store.
#[derive(Clone)]
pub struct LocalStore {
    spe: SpeId,
    bytes: Region,
    space: Rc<RefCell<Space>>,
    watch: Option<LocalStoreWatch>,
}

/// A reserved range of a local store. Dropping the buffer frees the range.
pub struct LocalBuffer {
    start: u32,
    bytes: usize,
    space: Rc<RefCell<Space>>,
    watch: Option<LocalStoreWatch>,
}

/// The error when the local store has no room for a slice or a buffer.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the local store of {spe} has no room: {no_room}")]
pub struct StageError {
    spe: SpeId,
    no_room: Box<NoRoom>,
}

crate::debug_by_display!(StageError);

impl StageError {
    fn new(spe: SpeId, no_room: NoRoom) -> Self {
        Self {
            spe,
            no_room: Box::new(no_room),
        }
    }

    /// Returns the SPE that owns the local store.
    pub fn spe(&self) -> SpeId {
        self.spe
    }

    /// Returns the requested size, the free bytes, and the holders of the other bytes.
    pub fn no_room(&self) -> &NoRoom {
        &self.no_room
    }
}

impl LocalStore {
    /// Returns the local store of `spe` in the region `bytes`. Machines call this function.
    ///
    /// # Panics
    ///
    /// Panics if `bytes` is 4 GiB or larger, or its size is not a multiple of 16 bytes.
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

    /// Returns a handle that, like its clones, calls `watch` for every use. Used to find hazards.
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

    /// Returns the SPE that owns the local store.
    pub fn spe(&self) -> SpeId {
        self.spe
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.bytes()
    }

    /// Returns the number of bytes that are not reserved.
    pub fn free_bytes(&self) -> usize {
        self.space.borrow().free_bytes() as usize
    }

    /// Runs `f`. Returns the reserved bytes at their peak minus those before the call, and the
    /// result.
    pub(crate) fn peak_of<R>(&self, f: impl FnOnce() -> R) -> (usize, R) {
        let before = self.bytes() - self.free_bytes();
        let outer = self.space.borrow_mut().begin_peak();
        let result = f();
        let peak = self.space.borrow_mut().end_peak(outer);
        // During `f`, another thread may have called `begin_peak` when fewer than `before` bytes
        // were reserved, so `peak` can be less than `before`.
        ((peak as usize).saturating_sub(before), result)
    }

    /// Reserves `bytes` bytes for `what`, aligned to `align` bytes (a power of two).
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] with the present holders if no free range is large enough.
    #[track_caller]
    pub fn reserve(
        &self,
        bytes: usize,
        align: u32,
        what: &'static str,
    ) -> Result<LocalBuffer, StageError> {
        self.reserve_at(bytes, align, what, Location::caller())
    }

    /// Does the same as [`reserve`](Self::reserve), with `at` as the caller in error messages.
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

    /// Returns the effective address of the byte at `at`, for DMA by other processors.
    ///
    /// # Panics
    ///
    /// Panics if the store has no such byte.
    #[track_caller]
    pub fn effective(&self, at: LsAddr) -> EffectiveAddress {
        self.bytes.at(self.range(at, 1))
    }

    /// Copies the bytes at `from` into `into`.
    ///
    /// # Panics
    ///
    /// Panics if the bytes leave the store.
    #[inline]
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
    #[inline]
    #[track_caller]
    pub fn write(&self, to: LsAddr, from: &[u8]) {
        let range = self.range(to, from.len());
        self.report(LocalStoreUse::Write, to, from.len());
        self.bytes.write(range, from);
    }

    /// Reads the 32-bit word at `from`, in the [byte order](crate::memory::Backing::byte_order) of
    /// the local store: that of this computer, if nothing else was set.
    ///
    /// # Panics
    ///
    /// Panics if the word leaves the store.
    #[inline]
    #[track_caller]
    pub fn read_word(&self, from: LsAddr) -> u32 {
        let mut word = [0; 4];
        self.read(from, &mut word);
        self.bytes.block().byte_order().number(word)
    }

    /// Writes the 32-bit word at `to`, in the byte order of the local store.
    ///
    /// # Panics
    ///
    /// Panics if the word leaves the store.
    #[inline]
    #[track_caller]
    pub fn write_word(&self, to: LsAddr, word: u32) {
        self.write(to, &self.bytes.block().byte_order().bytes(word));
    }

    /// Returns the region with the local store's bytes. Machines use this region to move data.
    #[inline]
    pub fn region(&self) -> &Region {
        &self.bytes
    }

    #[inline]
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
    /// Returns the first address of the buffer.
    pub fn address(&self) -> LsAddr {
        LsAddr(self.start)
    }

    /// Returns the number of bytes.
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
