//! Address spaces, which find the region at an effective address.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::{Backing, Block, InFlight};
use crate::id::ModuleId;
use crate::mfc::EffectiveAddress;

/// The mapped regions of a machine's main memory, by effective address.
#[derive(Default)]
pub struct AddressSpace {
    regions: RwLock<BTreeMap<u64, Arc<Block>>>,
    /// The number of unmap operations. A [`Translation`] empties its cache when the number changes.
    generation: AtomicU64,
    stores: Mutex<Vec<Arc<InFlight>>>,
}

/// A part of main memory that every processor of a machine can access by effective address. Clones
/// share the same bytes. Dropping the last clone unmaps the bytes, and later commands on the bytes
/// return [`MfcFault::DataStorage`](crate::mfc::MfcFault::DataStorage).
#[derive(Clone)]
pub struct Region(Arc<Mapped>);

struct Mapped {
    at: EffectiveAddress,
    block: Arc<Block>,
    space: Arc<AddressSpace>,
}

impl AddressSpace {
    /// Returns an empty address space.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Maps main memory at an address.
    ///
    /// # Panics
    ///
    /// Panics if the addresses overlap a mapped region.
    pub fn map(
        self: &Arc<Self>,
        at: EffectiveAddress,
        backing: Box<dyn Backing>,
        home: ModuleId,
    ) -> Region {
        self.map_block(at, Block::main_memory(backing, home))
    }

    /// Maps main memory that code besides the machine's may write, such as a WebAssembly program.
    ///
    /// # Panics
    ///
    /// Panics if the addresses overlap a mapped region.
    pub fn map_lent(
        self: &Arc<Self>,
        at: EffectiveAddress,
        backing: Box<dyn Backing>,
        home: ModuleId,
    ) -> Region {
        self.map_block(at, Block::lent_memory(backing, home))
    }

    /// Maps a local store at an address, so that other processors can access it by DMA.
    ///
    /// # Panics
    ///
    /// Panics if the addresses overlap a mapped region.
    pub fn map_local_store(
        self: &Arc<Self>,
        at: EffectiveAddress,
        backing: Box<dyn Backing>,
        home: ModuleId,
    ) -> Region {
        self.map_block(at, Block::local_store(backing, home))
    }

    fn map_block(self: &Arc<Self>, at: EffectiveAddress, block: Block) -> Region {
        let block = Arc::new(block);
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        let end = at.0 + block.bytes() as u64;
        let before = regions.range(..end).next_back();
        assert!(
            before.is_none_or(|(start, other)| start + other.bytes() as u64 <= at.0),
            "effective addresses {at}..{end:#x} are mapped already"
        );
        regions.insert(at.0, Arc::clone(&block));
        drop(regions);
        Region(Arc::new(Mapped {
            at,
            block,
            space: Arc::clone(self),
        }))
    }

    fn unmap(&self, at: EffectiveAddress) {
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        regions.remove(&at.0);
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn find(&self, ea: EffectiveAddress) -> Option<(u64, Arc<Block>)> {
        let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
        let (start, block) = regions.range(..=ea.0).next_back()?;
        Some((*start, Arc::clone(block)))
    }

    fn stores_in_flight(&self) -> Vec<Arc<InFlight>> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.clone()
    }
}

impl Region {
    /// Returns the effective address of the byte at `offset`.
    ///
    /// # Panics
    ///
    /// Panics if `offset` is greater than the region's size.
    pub fn at(&self, offset: usize) -> EffectiveAddress {
        assert!(
            offset <= self.bytes(),
            "offset {offset} lies outside a region of {} bytes",
            self.bytes()
        );
        EffectiveAddress(self.0.at.0 + offset as u64)
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.0.block.bytes()
    }

    /// Returns the number of bytes at the start that nothing may access: see
    /// [`Backing::null_bytes`].
    pub fn null_bytes(&self) -> usize {
        self.0.block.null_bytes()
    }

    /// Returns the memory module in which the region was allocated.
    pub fn home(&self) -> ModuleId {
        self.0.block.home()
    }

    /// Copies the bytes at `offset` into `into`.
    ///
    /// # Panics
    ///
    /// Panics if the bytes leave the region, or begin in its null bytes.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        self.0.block.read(offset, into);
    }

    /// Copies `from` to `offset`, and ends the reservations on the changed lines.
    ///
    /// # Panics
    ///
    /// Panics if the bytes leave the region, or begin in its null bytes.
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.0.block.write(offset, from);
    }

    /// Reads the aligned 32-bit word at `offset`.
    ///
    /// # Panics
    ///
    /// Panics if the word leaves the region or is not aligned to 4 bytes.
    #[inline]
    pub fn load_u32(&self, offset: usize) -> u32 {
        self.0.block.load_u32(offset)
    }

    /// Returns the block with the region's bytes. Machines use this block to move data.
    pub fn block(&self) -> &Block {
        &self.0.block
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region")
            .field("at", &format_args!("{}", self.0.at))
            .field("bytes", &self.bytes())
            .field("home", &self.home())
            .finish()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.space.unmap(self.at);
    }
}

/// A block and its first effective address.
type Recent = Option<(u64, Arc<Block>)>;

/// A translator of effective addresses for one processor, with a cache of recently found regions.
pub struct Translation {
    space: Arc<AddressSpace>,
    recent: RefCell<[Recent; 4]>,
    next: Cell<usize>,
    generation: Cell<u64>,
    in_flight: Arc<InFlight>,
}

impl Translation {
    /// Registers one more processor in `space`, and returns its translation.
    pub fn new(space: Arc<AddressSpace>) -> Self {
        let in_flight = Arc::new(InFlight::new());
        let mut stores = space.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.push(Arc::clone(&in_flight));
        drop(stores);
        Self {
            generation: Cell::new(space.generation.load(Ordering::Acquire)),
            space,
            recent: RefCell::default(),
            next: Cell::new(0),
            in_flight,
        }
    }

    /// Calls `access` with the block of the bytes `ea..ea + bytes`, the offset of `ea` in the
    /// block, and the processor's store flag. Returns `None` if no single region covers all bytes.
    #[inline]
    pub fn with<R>(
        &self,
        ea: EffectiveAddress,
        bytes: usize,
        access: impl FnOnce(&Block, usize, &InFlight) -> R,
    ) -> Option<R> {
        let generation = self.space.generation.load(Ordering::Acquire);
        if generation != self.generation.get() {
            self.recent.take();
            self.generation.set(generation);
        }
        let offset_in = |start: u64, block: &Block| {
            let offset = usize::try_from(ea.0.checked_sub(start)?).ok()?;
            let is_mapped = (block.null_bytes()..block.bytes()).contains(&offset);
            (is_mapped && bytes <= block.bytes() - offset).then_some(offset)
        };
        for (start, block) in self.recent.borrow().iter().flatten() {
            if let Some(offset) = offset_in(*start, block) {
                return Some(access(block, offset, &self.in_flight));
            }
        }
        let (start, block) = self.space.find(ea)?;
        let offset = offset_in(start, &block)?;
        let result = access(&block, offset, &self.in_flight);
        let slot = self.next.replace((self.next.get() + 1) % 4);
        self.recent.borrow_mut()[slot] = Some((start, block));
        Some(result)
    }

    /// Returns the store flags of all processors, for [`Block::reserve`].
    pub fn stores_in_flight(&self) -> Vec<Arc<InFlight>> {
        self.space.stores_in_flight()
    }
}

impl Drop for Translation {
    fn drop(&mut self) {
        let mut stores = self
            .space
            .stores
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        stores.retain(|store| !Arc::ptr_eq(store, &self.in_flight));
    }
}
