//! The bytes of a region, and the reservations on their lines.
//!
//! Several threads may copy the same bytes at once. Rust's rules on data races do not apply to
//! these copies, because the compiler does not see the accesses, which are in the C library's
//! `memmove` or in inline assembly (one load and one store).
//!
//! Each line has a *version*, which is odd while a processor writes the line under its lock, and
//! even otherwise. A reservation records the version. A conditional store succeeds if the version
//! is still the recorded one. The same step makes the version odd, which locks the line.
//!
//! Every store must raise the versions of its lines, to end reservations. Raising a version needs a
//! locked instruction, so stores raise no versions until the first reservation on the block:
//!
//! ```text
//!   a store                                  the first reservation
//!   in_flight = true                         watched = true
//!   light barrier                            heavy barrier
//!   watched? ── no ──► plain copy            wait until no store is in flight
//!        └──── yes ──► lock line, copy, unlock    settled = true
//!   in_flight = false
//! ```
//!
//! Either the store reads `watched` as true, or the reservation waits until the store has ended.
//!
//! Memory that a program lends is also written by code that raises no versions. There a reservation
//! also ends if the bytes of the line differ from those that were read with it.

// Rejected: a reservation that compares contents. It would not notice a value that changes and
// changes back, and pointer structures built on `putllc` rely on noticing such changes. For lent
// memory, comparing is what is possible besides.
// Rejected: locking each line in every put, which would distort measured copy costs. A locked
// instruction takes 4 ns, and the copy of a line within the caches 1.7 ns (both measured).

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64 as StdAtomicU64};

use super::LINE_BYTES;
use crate::atomic::AtomicOp;
use crate::barrier;
use crate::id::{ModuleId, SpeId};
use crate::sync::{AtomicBool, AtomicU64, Ordering, fence, spin_loop};

/// The memory of a region, provided by a machine, or by a program that
/// [lends](crate::CellMachine::adopt) its own.
///
/// # Safety
///
/// While the value lives, `base` must point to `bytes` bytes, aligned to 128 bytes. Every thread
/// may read and write those behind the first [`null_bytes`](Self::null_bytes), which are
/// initialised. There must be no Rust reference to them. Besides the [`Block`] that owns the value,
/// only machine code that the Rust compiler does not see may access them, such as that of a
/// WebAssembly program whose memory they are. It may do so at any time.
pub unsafe trait Backing: Send + Sync {
    /// Returns the address of the first byte.
    fn base(&self) -> NonNull<u8>;
    /// Returns the number of bytes.
    fn bytes(&self) -> usize;
    /// Returns the order of the bytes of numbers, if the memory is a local store. The machine reads
    /// the elements of DMA lists and words for mailboxes in this order.
    fn byte_order(&self) -> ByteOrder {
        ByteOrder::NATIVE
    }
    /// Returns the number of bytes at the start that nothing may access, always the same: a null
    /// pointer of a program points there. They have no effective address, so a command returns
    /// [`MfcFault::DataStorage`](crate::mfc::MfcFault::DataStorage).
    fn null_bytes(&self) -> usize {
        0
    }
}

/// Makes the memory of the local store of an SPE, which has a size in bytes: see `local_stores` of
/// the builders of machines.
pub type MakeLocalStore = dyn Fn(SpeId, usize) -> io::Result<Box<dyn Backing>> + Send + Sync;

/// The order of the bytes of a number in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first, as on a Cell.
    Big,
}

impl ByteOrder {
    /// The order of this computer.
    pub const NATIVE: Self = if cfg!(target_endian = "big") {
        Self::Big
    } else {
        Self::Little
    };

    /// Returns the number with these bytes in memory.
    pub(crate) const fn number(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Returns the bytes of a number in memory.
    pub(crate) const fn bytes(self, number: u32) -> [u8; 4] {
        match self {
            Self::Little => number.to_le_bytes(),
            Self::Big => number.to_be_bytes(),
        }
    }
}

/// The flag of one processor, which is true while the processor stores to a block.
#[derive(Debug)]
pub struct InFlight(AtomicBool);

impl InFlight {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }
}

/// A line that was read with a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedLine {
    /// The block's serial number, which differs from that of a later block at the same address.
    block: u64,
    line: usize,
    version: u64,
}

/// A range of memory that several processors may access at once.
pub struct Block {
    serial: u64,
    base: NonNull<u8>,
    bytes: usize,
    byte_order: ByteOrder,
    null_bytes: usize,
    /// Whether code that raises no versions may write the bytes.
    is_lent: bool,
    home: ModuleId,
    /// The version of each line. Empty for a local store, which has no reservations.
    versions: Box<[AtomicU64]>,
    /// Whether a line of the block was ever reserved. If so, stores must lock lines.
    watched: AtomicBool,
    /// Whether every store that began before `watched` was set has ended. Such a store locks no
    /// lines.
    settled: AtomicBool,
    _backing: Box<dyn Backing>,
}

#[cold]
#[inline(never)]
fn misaligned(offset: usize) -> ! {
    panic!("a word at offset {offset} is not aligned to 4 bytes");
}

// SAFETY: `Backing` is `Send + Sync`, and every thread may access the bytes at `base`.
unsafe impl Send for Block {}
// SAFETY: as for `Send`. All accesses to the bytes are atomic or made by machine code.
unsafe impl Sync for Block {}

impl Block {
    pub(super) fn main_memory(backing: Box<dyn Backing>, home: ModuleId) -> Self {
        let lines = backing.bytes().div_ceil(LINE_BYTES);
        Self::with_versions(backing, home, lines)
    }

    /// Returns a block of main memory that code besides the machine's may write.
    pub(super) fn lent_memory(backing: Box<dyn Backing>, home: ModuleId) -> Self {
        Self {
            is_lent: true,
            ..Self::main_memory(backing, home)
        }
    }

    /// Returns a block in which no line can be reserved, so stores never lock.
    pub(super) fn local_store(backing: Box<dyn Backing>, home: ModuleId) -> Self {
        Self::with_versions(backing, home, 0)
    }

    fn with_versions(backing: Box<dyn Backing>, home: ModuleId, lines: usize) -> Self {
        static NEXT_SERIAL: StdAtomicU64 = StdAtomicU64::new(0);
        Self {
            serial: NEXT_SERIAL.fetch_add(1, Ordering::Relaxed),
            base: backing.base(),
            bytes: backing.bytes(),
            byte_order: backing.byte_order(),
            null_bytes: backing.null_bytes(),
            is_lent: false,
            home,
            versions: zeroed_versions(lines),
            watched: AtomicBool::new(false),
            settled: AtomicBool::new(false),
            _backing: backing,
        }
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of bytes at the start that nothing may access.
    #[inline]
    pub(super) fn null_bytes(&self) -> usize {
        self.null_bytes
    }

    /// Returns the order of the bytes of numbers.
    #[inline]
    pub(crate) fn byte_order(&self) -> ByteOrder {
        self.byte_order
    }

    /// Returns the memory module of the block.
    pub fn home(&self) -> ModuleId {
        self.home
    }

    /// Returns whether lines can be reserved, which is false for a local store.
    pub fn can_be_reserved(&self) -> bool {
        !self.versions.is_empty()
    }

    // A separate function, so that callers do not store the panic's arguments to the stack. A
    // locked instruction would wait for these stores.
    #[cold]
    #[inline(never)]
    fn outside(&self, offset: usize, bytes: usize) -> ! {
        panic!(
            "bytes {offset}..{} lie outside bytes {}..{} of a block",
            offset.saturating_add(bytes),
            self.null_bytes,
            self.bytes
        );
    }

    /// Returns the address of `bytes` bytes at `offset`. Panics if these bytes leave the block, or
    /// begin where nothing may access it.
    #[inline]
    fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        if offset < self.null_bytes || offset > self.bytes || bytes > self.bytes - offset {
            self.outside(offset, bytes);
        }
        // SAFETY: the check keeps the result inside the allocation, or one past its end.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// Copies the bytes at `offset` into `into`.
    ///
    /// # Panics
    ///
    /// Panics if the bytes leave the block.
    #[inline]
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        let from = self.at(offset, into.len());
        // SAFETY: `at` checked `from`; `into` is an exclusive slice of the same length.
        unsafe { copy(into.as_mut_ptr(), from, into.len()) }
    }

    /// Copies `from` to `offset` line by line, and ends the reservations on these lines.
    ///
    /// # Panics
    ///
    /// Panics if the bytes leave the block.
    #[inline]
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.at(offset, from.len());
        // SAFETY: `at` checked the target, and `from` is a slice.
        unsafe { self.write_locked(offset, from.as_ptr(), from.len()) }
    }

    /// Copies `bytes` bytes from `source_offset` in `source` to `offset`, as a DMA transfer does.
    ///
    /// # Panics
    ///
    /// Panics if the bytes leave either block.
    #[inline]
    pub fn copy_from(
        &self,
        offset: usize,
        source: &Self,
        source_offset: usize,
        bytes: usize,
        in_flight: &InFlight,
    ) {
        let from = source.at(source_offset, bytes);
        let to = self.at(offset, bytes);
        self.guarded(
            in_flight,
            // SAFETY: `at` checked the source and the target.
            || unsafe { copy(to, from, bytes) },
            // SAFETY: `at` checked the source and the target.
            || unsafe { self.write_locked(offset, from, bytes) },
        );
    }

    /// Reads the aligned 32-bit word at `offset`.
    ///
    /// # Panics
    ///
    /// Panics if the word leaves the block or is not aligned to 4 bytes.
    #[inline]
    pub fn load_u32(&self, offset: usize) -> u32 {
        self.word(offset).load(Ordering::Acquire)
    }

    #[inline]
    fn word(&self, offset: usize) -> &AtomicU32 {
        let at = self.at(offset, 4).cast::<AtomicU32>();
        if !at.is_aligned() {
            misaligned(offset);
        }
        // SAFETY: the checks above make the word in bounds and aligned. All accesses to it are
        // atomic or made by machine code (`Backing`), and it lives as long as `self`.
        unsafe { &*at }
    }

    /// Applies `op` atomically to the aligned 32-bit word at `offset`, and returns the old value.
    ///
    /// # Panics
    ///
    /// Panics if the word leaves the block or is not aligned to 4 bytes.
    #[inline]
    pub fn fetch_update(&self, offset: usize, op: AtomicOp, in_flight: &InFlight) -> u32 {
        let word = self.word(offset);
        self.guarded(
            in_flight,
            || match op {
                AtomicOp::Add(by) => word.fetch_add(by, Ordering::AcqRel),
                AtomicOp::Subtract(by) => word.fetch_sub(by, Ordering::AcqRel),
                AtomicOp::Set(to) => word.swap(to, Ordering::AcqRel),
                AtomicOp::CompareAndSwap { expected, new } => word
                    .compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire)
                    .unwrap_or_else(|found| found),
            },
            || self.fetch_update_locked(offset, op),
        )
    }

    /// Does the work of `fetch_update` after the first reservation. A separate function, so that
    /// the locked instruction in `fetch_update` does not wait for stores of registers to the stack.
    #[cold]
    #[inline(never)]
    fn fetch_update_locked(&self, offset: usize, op: AtomicOp) -> u32 {
        let word = self.word(offset);
        // An operation that stores nothing must not end reservations.
        let found = word.load(Ordering::Acquire);
        if !op.stores(found) {
            return found;
        }
        let line = offset / LINE_BYTES;
        let version = self.lock(line);
        let before = word.load(Ordering::Relaxed);
        if op.stores(before) {
            word.store(op.apply(before), Ordering::Relaxed);
            self.unlock(line, version);
        } else {
            // The word has changed since the load above.
            self.unlock_unchanged(line, version);
        }
        before
    }

    /// Reads a line and reserves it. `all` returns the [`InFlight`] flag of every processor.
    ///
    /// # Panics
    ///
    /// Panics if the block has no such line or is a local store.
    pub fn reserve<'a>(
        &self,
        line: usize,
        into: &mut [u8; LINE_BYTES],
        all: impl FnOnce() -> Vec<std::sync::Arc<InFlight>> + 'a,
    ) -> ReservedLine {
        if !self.settled.load(Ordering::Acquire) {
            self.watched.store(true, Ordering::SeqCst);
            barrier::heavy();
            for store in all() {
                while store.0.load(Ordering::Acquire) {
                    spin_loop();
                }
            }
            self.settled.store(true, Ordering::Release);
        }
        loop {
            let version = self.versions[line].load(Ordering::Acquire);
            if version & 1 == 0 {
                self.read(line * LINE_BYTES, into);
                fence(Ordering::Acquire);
                if self.versions[line].load(Ordering::Relaxed) == version {
                    return ReservedLine {
                        block: self.serial,
                        line,
                        version,
                    };
                }
            }
            spin_loop();
        }
    }

    /// Stores a whole line if the reservation still holds. Returns whether the line was stored.
    /// `read` has the bytes that were read with the reservation.
    pub fn store_conditional(
        &self,
        reserved: ReservedLine,
        read: &[u8; LINE_BYTES],
        from: &[u8; LINE_BYTES],
    ) -> bool {
        let ReservedLine {
            block,
            line,
            version,
        } = reserved;
        if block != self.serial {
            return false;
        }
        let taken = self.versions[line].compare_exchange(
            version,
            version + 1,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if taken.is_err() {
            return false;
        }
        let to = self.at(line * LINE_BYTES, LINE_BYTES);
        fence(Ordering::Release);
        if self.is_lent && !self.holds(line, read) {
            self.unlock_unchanged(line, version);
            return false;
        }
        // SAFETY: `at` checked the target, and `from` has the size of a line.
        unsafe { copy(to, from.as_ptr(), LINE_BYTES) };
        self.unlock(line, version);
        true
    }

    /// Returns whether the reservation still holds. `read` has the bytes that were read with it.
    pub fn still_reserved(&self, reserved: ReservedLine, read: &[u8; LINE_BYTES]) -> bool {
        reserved.block == self.serial
            && self.versions[reserved.line].load(Ordering::Acquire) == reserved.version
            && (!self.is_lent || self.holds(reserved.line, read))
    }

    /// Returns whether the bytes of a line are these.
    fn holds(&self, line: usize, bytes: &[u8; LINE_BYTES]) -> bool {
        let mut now = [0; LINE_BYTES];
        self.read(line * LINE_BYTES, &mut now);
        now == *bytes
    }

    /// Runs `fast` if no line of the block was ever reserved, or `locked` otherwise.
    #[inline]
    fn guarded<R>(
        &self,
        in_flight: &InFlight,
        fast: impl FnOnce() -> R,
        locked: impl FnOnce() -> R,
    ) -> R {
        if !self.can_be_reserved() {
            return fast();
        }
        in_flight.0.store(true, Ordering::Relaxed);
        barrier::light();
        if self.watched.load(Ordering::Relaxed) {
            in_flight.0.store(false, Ordering::Release);
            locked()
        } else {
            let result = fast();
            in_flight.0.store(false, Ordering::Release);
            result
        }
    }

    /// Copies bytes to `offset`, and locks each line during its copy.
    ///
    /// # Safety
    ///
    /// `offset..offset + bytes` must lie in the block, and `from` must be valid for `bytes` bytes.
    unsafe fn write_locked(&self, offset: usize, from: *const u8, bytes: usize) {
        let mut done = 0;
        while done < bytes {
            let start = offset + done;
            let step = (LINE_BYTES - start % LINE_BYTES).min(bytes - done);
            let line = start / LINE_BYTES;
            let version = self.can_be_reserved().then(|| self.lock(line));
            // SAFETY: `done + step <= bytes`, so source and target are in the caller's valid bytes.
            unsafe { copy(self.base.as_ptr().add(start), from.add(done), step) };
            if let Some(version) = version {
                self.unlock(line, version);
            }
            done += step;
        }
    }

    fn lock(&self, line: usize) -> u64 {
        loop {
            let version = self.versions[line].load(Ordering::Relaxed);
            if version & 1 == 0
                && self.versions[line]
                    .compare_exchange(version, version + 1, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                // Other processors must see the odd version before any byte written under the lock.
                fence(Ordering::Release);
                return version;
            }
            spin_loop();
        }
    }

    fn unlock(&self, line: usize, version: u64) {
        self.versions[line].store(version + 2, Ordering::Release);
    }

    /// Unlocks a line that was not changed. Reservations on the line still hold.
    fn unlock_unchanged(&self, line: usize, version: u64) {
        self.versions[line].store(version, Ordering::Release);
    }
}

#[cfg(not(loom))]
fn zeroed_versions(lines: usize) -> Box<[AtomicU64]> {
    // Pages of a zeroed allocation take no memory until they are written.
    bytemuck::allocation::zeroed_slice_box(lines)
}

#[cfg(loom)]
fn zeroed_versions(lines: usize) -> Box<[AtomicU64]> {
    (0..lines).map(|_| AtomicU64::new(0)).collect()
}

/// Copies bytes that other threads may access at the same time.
///
/// # Safety
///
/// `to` and `from` must be valid for `bytes` bytes. Only atomics, this function and machine code
/// that the compiler does not see ([`Backing`]) may access these bytes.
#[inline]
unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    // Copies a naturally aligned word as a unit, by one load and one store, as the MFC does.
    #[cfg(target_arch = "x86_64")]
    macro_rules! word {
        ($class:ident, $modifier:literal) => {{
            // SAFETY: `to` and `from` are valid by this function's contract.
            unsafe {
                std::arch::asm!(
                    concat!("mov {word", $modifier, "}, [{from}]"),
                    concat!("mov [{to}], {word", $modifier, "}"),
                    word = out($class) _,
                    from = in(reg) from,
                    to = in(reg) to,
                    options(nostack, preserves_flags),
                );
            }
            return;
        }};
    }
    #[cfg(target_arch = "x86_64")]
    match bytes {
        1 => word!(reg_byte, ""),
        2 => word!(reg, ":x"),
        4 => word!(reg, ":e"),
        8 => word!(reg, ""),
        _ => {}
    }
    let memmove: unsafe extern "C" fn(
        *mut libc::c_void,
        *const libc::c_void,
        usize,
    ) -> *mut libc::c_void = libc::memmove;
    // Hides `memmove` from the compiler, which could replace the call by plain accesses that race.
    let memmove = std::hint::black_box(memmove);
    // SAFETY: `to` and `from` are valid for `bytes` bytes by this function's contract.
    unsafe { memmove(to.cast(), from.cast(), bytes) };
}

#[cfg(all(test, loom))]
mod models {
    use loom::thread;

    use super::*;

    struct Line(Box<[StdAtomicU64; 16]>);

    // SAFETY: the line is initialised and has no other references. Tests need no alignment to 128.
    unsafe impl Backing for Line {
        fn base(&self) -> NonNull<u8> {
            NonNull::from(&*self.0).cast()
        }

        fn bytes(&self) -> usize {
            LINE_BYTES
        }
    }

    fn line() -> Block {
        let words = std::array::from_fn(|_| StdAtomicU64::new(0));
        Block::main_memory(Box::new(Line(Box::new(words))), ModuleId::new(0))
    }

    /// Increments the first byte of a line by a reservation and a conditional store.
    fn add_one(block: &Block, stores: &[std::sync::Arc<InFlight>]) {
        loop {
            let mut bytes = [0; LINE_BYTES];
            let reserved = block.reserve(0, &mut bytes, || stores.to_vec());
            let read = bytes;
            bytes[0] += 1;
            if block.store_conditional(reserved, &read, &bytes) {
                return;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn a_store_on_the_fast_way_is_not_lost_to_a_reservation() {
        loom::model(|| {
            let block = std::sync::Arc::new(line());
            let in_flight = std::sync::Arc::new(InFlight::new());
            let other = {
                let (block, in_flight) = (block.clone(), in_flight.clone());
                thread::spawn(move || {
                    block.fetch_update(0, AtomicOp::Add(1), &in_flight);
                })
            };
            add_one(&block, &[in_flight]);
            other.join().unwrap();
            assert_eq!(block.load_u32(0), 2);
        });
    }

    #[test]
    fn a_compare_and_swap_that_fails_late_ends_no_reservation() {
        loom::model(|| {
            let block = std::sync::Arc::new(line());
            let in_flight = std::sync::Arc::new(InFlight::new());
            // From here on, stores lock lines.
            block.reserve(0, &mut [0; LINE_BYTES], || vec![in_flight.clone()]);
            let other = {
                let block = block.clone();
                thread::spawn(move || {
                    block.fetch_update(0, AtomicOp::Set(1), &InFlight::new());
                    let mut read = [0; LINE_BYTES];
                    (block.reserve(0, &mut read, Vec::new), read)
                })
            };
            // loom does not track the word, so it reorders the threads only if both lock the line.
            // In the first order that loom tries, this thread runs first. The swap must lock the
            // line in this order, so it expects the initial value 0.
            let swap = AtomicOp::CompareAndSwap {
                expected: 0,
                new: 2,
            };
            let found = block.fetch_update(0, swap, &in_flight);
            let (reserved, read) = other.join().unwrap();
            if found == 1 {
                assert!(block.still_reserved(reserved, &read));
            }
        });
    }

    #[test]
    fn two_reservations_do_not_both_succeed_with_one_value() {
        loom::model(|| {
            let block = std::sync::Arc::new(line());
            let other = {
                let block = block.clone();
                thread::spawn(move || add_one(&block, &[]))
            };
            add_one(&block, &[]);
            other.join().unwrap();
            assert_eq!(block.load_u32(0), 2);
        });
    }
}
