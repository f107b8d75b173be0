//! Memory that a program lends a machine: as a part of main memory, and as local stores.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use cellworks::host::Host;
use cellworks::machine::memory::{AllocateError, Backing, ByteOrder};
use cellworks::machine::mfc::{EffectiveAddress, ListElement, LsAddr, RawCommand, Tag};
use cellworks::machine::{
    CellMachine, CellSpe, Mfc, ModuleId, ProblemStateRegister, SignalRegister, SpeId,
};
use cellworks::sim::{Description, Sim};

use crate::{SPES, on_every_cell, spe};

const MODULE: ModuleId = ModuleId::new(0);
const TAG: Tag = Tag::of::<3>();
const WINDOW: usize = 1 << 32;

on_every_cell![
    adopted_memory_begins_at_a_multiple_of_4_gib,
    dma_reaches_adopted_memory,
    other_code_sees_what_was_written_at_once,
    a_change_by_other_code_ends_a_reservation,
    a_conditional_store_that_fails_ends_no_other_reservation,
    no_bytes_or_no_module_are_not_adopted,
    dma_to_adopted_memory_that_is_gone_is_a_fault,
    the_null_bytes_of_adopted_memory_have_no_address,
    a_local_store_is_a_region,
    what_was_never_made_is_no_local_store,
];

/// Memory at a multiple of 4 GiB. Clones are the same memory.
#[derive(Clone)]
struct Lent(Arc<Mapping>, ByteOrder);

struct Mapping {
    reserved: NonNull<u8>,
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is used through raw addresses alone, and any thread may use them.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl Lent {
    fn new(bytes: usize, order: ByteOrder) -> Self {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, at an address that the system chooses, changes no other memory.
        let reserved =
            unsafe { libc::mmap(std::ptr::null_mut(), 2 * WINDOW, access, flags, -1, 0) };
        assert_ne!(reserved, libc::MAP_FAILED, "{}", io::Error::last_os_error());
        let reserved = NonNull::new(reserved.cast::<u8>()).unwrap();
        let slack = reserved.as_ptr().align_offset(WINDOW);
        assert!(bytes <= WINDOW);
        let mapping = Mapping {
            reserved,
            // SAFETY: `slack` is less than 4 GiB, and twice as much was reserved.
            base: unsafe { reserved.add(slack) },
            bytes,
        };
        Self(Arc::new(mapping), order)
    }

    /// Reads a byte as other machine code would.
    fn byte(&self, at: usize) -> u8 {
        assert!(at < self.0.bytes);
        // SAFETY: the byte is in the mapping. The tests read no byte that is being written.
        unsafe { self.0.base.add(at).read_volatile() }
    }

    fn set(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.0.bytes);
        for (index, byte) in bytes.iter().enumerate() {
            // SAFETY: as in `byte`.
            unsafe { self.0.base.add(at + index).write_volatile(*byte) }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the reservation is this value's own, and no clone of the memory is left.
        let ended = unsafe { libc::munmap(self.reserved.as_ptr().cast(), 2 * WINDOW) };
        assert_eq!(ended, 0);
    }
}

// SAFETY: the bytes stay mapped while the value lives, are zeroed at first, and begin at a multiple
// of 4 GiB. Nothing makes a Rust reference to them.
unsafe impl Backing for Lent {
    fn base(&self) -> NonNull<u8> {
        self.0.base
    }

    fn bytes(&self) -> usize {
        self.0.bytes
    }

    fn byte_order(&self) -> ByteOrder {
        self.1
    }
}

fn lent(bytes: usize) -> Lent {
    Lent::new(bytes, ByteOrder::NATIVE)
}

fn adopted_memory_begins_at_a_multiple_of_4_gib<M: CellMachine>(machine: &M) {
    let before = machine.allocate(MODULE, 4096).unwrap();
    let regions = [4096, 1 << 20, WINDOW].map(|bytes| {
        let region = machine.adopt(MODULE, Box::new(lent(bytes))).unwrap();
        assert_eq!((region.bytes(), region.home()), (bytes, MODULE));
        region
    });
    let after = machine.allocate(MODULE, 4096).unwrap();
    let mut ranges: Vec<_> = regions
        .iter()
        .map(|region| {
            assert!(region.at(0).0.is_multiple_of(WINDOW as u64));
            (region.at(0).0, region.bytes())
        })
        .chain([(before.at(0).0, 4096), (after.at(0).0, 4096)])
        .collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].0 + pair[0].1 as u64 <= pair[1].0, "{ranges:x?}");
    }
}

fn dma_reaches_adopted_memory<M: CellMachine>(machine: &M) {
    let memory = lent(1 << 16);
    memory.set(0x8000, &[7; 128]);
    let region = machine.adopt(MODULE, Box::new(memory.clone())).unwrap();
    let (from, to) = (region.at(0x8000), region.at(0x4000));
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let get = RawCommand::get(LsAddr(0x100), from, 128, TAG);
                spe.mfc().issue(get).unwrap();
                spe.mfc().wait_all(TAG.mask());
                spe.local_store().write(LsAddr(0x100), &[8]);
                let put = RawCommand::put(LsAddr(0x100), to, 128, TAG);
                spe.mfc().issue(put).unwrap();
                spe.mfc().wait_all(TAG.mask());
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
    let read = [0x3fff, 0x4000, 0x4001, 0x407f, 0x4080].map(|at| memory.byte(at));
    assert_eq!(read, [0, 8, 7, 7, 0]);
}

fn other_code_sees_what_was_written_at_once<M: CellMachine>(machine: &M) {
    let memory = lent(4096);
    let region = machine.adopt(MODULE, Box::new(memory.clone())).unwrap();
    region.write(7, &[1, 2]);
    assert_eq!((memory.byte(7), memory.byte(8)), (1, 2));
    memory.set(9, &[3]);
    let mut read = [0; 4];
    region.read(6, &mut read);
    assert_eq!(read, [0, 1, 2, 3]);
    // The machine keeps the memory as long as the region lives, and no longer.
    assert_eq!(Arc::strong_count(&memory.0), 2);
    drop(region);
    assert_eq!(Arc::strong_count(&memory.0), 1);
}

fn a_change_by_other_code_ends_a_reservation<M: CellMachine>(machine: &M) {
    let memory = lent(4096);
    let region = machine.adopt(MODULE, Box::new(memory.clone())).unwrap();
    let (line, other) = (region.at(0x80), region.at(0x100));
    let program = |spe: &M::Spe| {
        let (mfc, lsa) = (spe.mfc(), LsAddr(0x400));
        mfc.getllar(lsa, line).unwrap();
        // Bytes of another line, and bytes that do not change, end no reservation.
        memory.set(0x100, &[1]);
        memory.set(0x90, &[0]);
        assert!(!mfc.reservation_lost());
        memory.set(0x90, &[9]);
        assert!(mfc.reservation_lost());
        assert!(!mfc.putllc(lsa, line).unwrap());
        assert_eq!(memory.byte(0x90), 9);

        mfc.getllar(lsa, line).unwrap();
        spe.local_store().write(LsAddr(0x411), &[7]);
        assert!(mfc.putllc(lsa, line).unwrap());
        assert_eq!((memory.byte(0x90), memory.byte(0x91)), (9, 7));

        mfc.getllar(lsa, other).unwrap();
        assert!(mfc.putllc(lsa, other).unwrap());
        assert_eq!(memory.byte(0x100), 1);
    };
    machine
        .run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
        .unwrap();
}

fn a_conditional_store_that_fails_ends_no_other_reservation<M: CellMachine>(machine: &M) {
    let memory = lent(4096);
    let region = machine.adopt(MODULE, Box::new(memory.clone())).unwrap();
    let (line, lsa) = (region.at(0x80), LsAddr(0x400));
    let fails = |of: &M::Spe| {
        of.mfc().getllar(lsa, line).unwrap();
        memory.set(0x90, &[9]);
        of.write_in_mbox_of(spe(1), 0);
        of.read_in_mbox();
        assert!(!of.mfc().putllc(lsa, line).unwrap());
        of.write_in_mbox_of(spe(1), 0);
    };
    let stores = |of: &M::Spe| {
        of.read_in_mbox();
        of.mfc().getllar(lsa, line).unwrap();
        of.write_in_mbox_of(spe(0), 0);
        of.read_in_mbox();
        assert!(!of.mfc().reservation_lost());
        of.local_store().write(LsAddr(0x411), &[7]);
        assert!(of.mfc().putllc(lsa, line).unwrap());
        assert_eq!((memory.byte(0x90), memory.byte(0x91)), (9, 7));
    };
    machine
        .run(|ppe| {
            let programs = (ppe.spawn(spe(0), fails), ppe.spawn(spe(1), stores));
            programs.0.join().unwrap();
            programs.1.join().unwrap();
        })
        .unwrap();
}

fn no_bytes_or_no_module_are_not_adopted<M: CellMachine>(machine: &M) {
    let empty = machine.adopt(MODULE, Box::new(lent(0)));
    assert!(matches!(empty, Err(AllocateError::Empty)), "{empty:?}");
    let text = empty.unwrap_err().to_string();
    assert!(text.starts_with("a region of 0 bytes"), "{text}");
    let nowhere = machine.adopt(ModuleId::new(1_000), Box::new(lent(4096)));
    assert!(
        matches!(nowhere, Err(AllocateError::NoSuchModule { .. })),
        "{nowhere:?}"
    );
    let text = nowhere.unwrap_err().to_string();
    let named = "memory module 1000 does not exist: ";
    assert!(
        text.starts_with(named) && text.contains("has memory modules 0 to "),
        "{text}"
    );
}

/// Returns the texts of the faults of a get, a put, a reservation and a list of 16 bytes at `ea`.
fn faults_at<M: CellMachine>(machine: &M, ea: EffectiveAddress) -> [Option<String>; 4] {
    let program = |spe: &M::Spe| {
        let (mfc, lsa) = (spe.mfc(), LsAddr(0x400));
        for (at, word) in [(0x100, 16), (0x104, ea.eal())] {
            spe.local_store().write_word(LsAddr(at), word);
        }
        let issue = |command| mfc.issue(command).err();
        let faults = [
            issue(RawCommand::get(lsa, ea, 16, TAG)),
            issue(RawCommand::put(lsa, ea, 16, TAG)),
            mfc.getllar(lsa, ea).err(),
            issue(RawCommand::getl(lsa, ea.eah(), LsAddr(0x100), 8, TAG)),
        ];
        mfc.wait_all(TAG.mask());
        faults.map(|fault| fault.map(|fault| fault.to_string()))
    };
    machine
        .run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
        .unwrap()
}

fn dma_to_adopted_memory_that_is_gone_is_a_fault<M: CellMachine>(machine: &M) {
    let region = machine.adopt(MODULE, Box::new(lent(4096))).unwrap();
    let at = region.at(0x400);
    assert_eq!(faults_at(machine, at), [const { None }; 4]);
    drop(region);
    for fault in faults_at(machine, at) {
        let text = fault.expect("the memory is gone");
        let named = format!("at effective address {at}: this memory is not mapped");
        assert!(text.contains(&named), "{text}");
    }
}

/// Memory whose first 1,024 bytes nothing may access.
struct WithNull(Lent);

// SAFETY: as for `Lent`.
unsafe impl Backing for WithNull {
    fn base(&self) -> NonNull<u8> {
        self.0.base()
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn null_bytes(&self) -> usize {
        1_024
    }
}

fn the_null_bytes_of_adopted_memory_have_no_address<M: CellMachine>(machine: &M) {
    let memory = WithNull(lent(4096));
    let region = machine.adopt(MODULE, Box::new(memory)).unwrap();
    assert_eq!(region.null_bytes(), 0x400);
    for offset in [0, 0x3ff] {
        let write = catch_unwind(AssertUnwindSafe(|| region.write(offset, &[1; 16])));
        assert!(write.is_err(), "{offset}");
    }
    region.write(0x400, &[1; 16]);
    assert_eq!(faults_at(machine, region.at(0x400)), [const { None }; 4]);
    for offset in [0, 0x3f0] {
        let at = region.at(offset);
        assert!(faults_at(machine, at).iter().all(Option::is_some), "{at}");
    }
}

fn a_local_store_is_a_region<M: CellMachine>(machine: &M) {
    let region = machine.local_store(spe(1)).clone();
    region.write(0x200, &[5; 16]);
    let at = region.at(0x200);
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                assert_eq!(region.bytes(), spe.local_store().bytes());
                let get = RawCommand::get(LsAddr(0x100), at, 16, TAG);
                spe.mfc().issue(get).unwrap();
                spe.mfc().wait_all(TAG.mask());
                let mut read = [0; 16];
                spe.local_store().read(LsAddr(0x100), &mut read);
                read
            };
            assert_eq!(ppe.spawn(spe(0), program).join().unwrap(), [5; 16]);
        })
        .unwrap();
}

#[test]
fn what_does_not_begin_at_a_multiple_of_4_gib_is_refused_by_a_host() {
    let memory = lent(8192);
    struct Inside(Lent);
    // SAFETY: the bytes are a part of those of `Lent`.
    unsafe impl Backing for Inside {
        fn base(&self) -> NonNull<u8> {
            // SAFETY: the mapping has 8,192 bytes.
            unsafe { self.0.base().add(4096) }
        }

        fn bytes(&self) -> usize {
            4096
        }
    }
    let error = crate::host().adopt(MODULE, Box::new(Inside(memory)));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("not at a multiple of 4 GiB"), "{error}");
}

/// What a builder calls for each local store: it keeps a clone of the memory in `made`.
fn make(
    made: &Arc<Mutex<Vec<Lent>>>,
    order: ByteOrder,
) -> impl Fn(SpeId, usize) -> io::Result<Box<dyn Backing>> + Send + Sync + 'static {
    let made = Arc::clone(made);
    move |spe, bytes| {
        let memory = Lent::new(bytes, order);
        let mut made = made.lock().unwrap();
        assert_eq!(made.len(), spe.index());
        made.push(memory.clone());
        Ok(Box::new(memory))
    }
}

fn description() -> Description {
    Description::built_in("ps3").unwrap()
}

/// Runs a case on a host and a simulated machine whose local stores have this order of bytes.
fn with_lent_local_stores(order: ByteOrder, case: &dyn Fn(&dyn Case, &[Lent])) {
    let made = Arc::default();
    let host = Host::builder()
        .spes(SPES)
        .local_stores(make(&made, order))
        .build()
        .unwrap();
    let lent = made.lock().unwrap().clone();
    assert_eq!(lent.len(), SPES);
    case(&host, &lent);
    let made = Arc::default();
    let sim = Sim::builder(description())
        .local_stores(make(&made, order))
        .build()
        .unwrap();
    let lent = made.lock().unwrap().clone();
    assert_eq!(lent.len(), 6);
    case(&sim, &lent);
}

/// The programs of the cases below, on any machine.
trait Case {
    /// Stores a word in the local store of SPE 0 by `write_word`, and reads the next.
    fn words(&self, word: u32) -> u32;
    /// Gets 16 bytes by each of two elements of a list at 0x1000 of SPE 0, to 0x2000.
    fn list(&self, make: &dyn Fn(u32, [u32; 2])) -> [u8; 32];
    /// Puts 16 bytes at 0x2000 of SPE 0 by each of two elements of a list at 0x1000, and stops
    /// between them. Returns what is there after the first and after the second.
    fn scatters(&self, make: &(dyn Fn(u32, [u32; 2]) + Sync)) -> [[u8; 2]; 2];
    /// Sends the words at 0x300c and 0x301c of SPE 0 to SPE 1, into its mailbox and a signal.
    fn sends(&self) -> [u32; 2];
}

impl<M: CellMachine> Case for M {
    fn words(&self, word: u32) -> u32 {
        let program = move |spe: &M::Spe| {
            spe.local_store().write_word(LsAddr(0x40), word);
            spe.local_store().read_word(LsAddr(0x44))
        };
        self.run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
            .unwrap()
    }

    fn list(&self, make: &dyn Fn(u32, [u32; 2])) -> [u8; 32] {
        let region = self.allocate(MODULE, 4096).unwrap();
        region.write(0x100, &[1; 16]);
        region.write(0x200, &[2; 16]);
        for (at, offset) in [(0x1000, 0x200), (0x1008, 0x100)] {
            make(at, [16, region.at(offset).0 as u32]);
        }
        let program = |spe: &M::Spe| {
            let (eah, at) = ((region.at(0).0 >> 32) as u32, LsAddr(0x1000));
            let list = RawCommand::getl(LsAddr(0x2000), eah, at, 16, TAG);
            spe.mfc().issue(list).unwrap();
            spe.mfc().wait_all(TAG.mask());
            let mut read = [0; 32];
            spe.local_store().read(LsAddr(0x2000), &mut read);
            read
        };
        self.run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
            .unwrap()
    }

    fn scatters(&self, make: &(dyn Fn(u32, [u32; 2]) + Sync)) -> [[u8; 2]; 2] {
        let region = self.allocate(MODULE, 4096).unwrap();
        let targets = [0x200, 0x100].map(|offset| region.at(offset));
        for (index, target) in targets.into_iter().enumerate() {
            let element = ListElement {
                stall_and_notify: index == 0,
                bytes: 16,
                eal: target.eal(),
            };
            make(0x1000 + 8 * index as u32, element.to_words());
        }
        let program = |spe: &M::Spe| {
            let (mfc, data) = (spe.mfc(), LsAddr(0x2000));
            spe.local_store().write(data, &[1; 16]);
            spe.local_store().write(LsAddr(0x2010), &[2; 16]);
            let moved = || {
                [0x200, 0x100].map(|offset| {
                    let mut byte = [0];
                    region.read(offset, &mut byte);
                    byte[0]
                })
            };
            let list = RawCommand::putl(data, targets[0].eah(), LsAddr(0x1000), 16, TAG);
            mfc.issue(list).unwrap();
            assert_eq!(mfc.wait_stalled(), TAG.mask());
            let first = moved();
            mfc.acknowledge_stall(TAG).unwrap();
            mfc.wait_all(TAG.mask());
            [first, moved()]
        };
        self.run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
            .unwrap()
    }

    fn sends(&self) -> [u32; 2] {
        let program = |of: &M::Spe| {
            let to = |register: ProblemStateRegister| register.of(spe(1));
            let word = RawCommand::put(LsAddr(0x300c), to(ProblemStateRegister::InMbox), 4, TAG);
            of.mfc().issue(word).unwrap();
            let signal = to(ProblemStateRegister::SigNotify1);
            let signal = RawCommand::sndsig(LsAddr(0x301c), signal, TAG);
            of.mfc().issue(signal).unwrap();
            of.mfc().wait_all(TAG.mask());
        };
        let reader = |spe: &M::Spe| [spe.read_in_mbox(), spe.read_signal(SignalRegister::One)];
        self.run(|ppe| {
            drop(ppe.spawn(spe(0), program));
            ppe.spawn(spe(1), reader).join().unwrap()
        })
        .unwrap()
    }
}

fn bytes_of(word: u32, order: ByteOrder) -> [u8; 4] {
    match order {
        ByteOrder::Little => word.to_le_bytes(),
        ByteOrder::Big => word.to_be_bytes(),
    }
}

#[test]
fn a_machine_reads_words_in_the_order_of_the_local_store() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        with_lent_local_stores(order, &|machine, lent| {
            let local = &lent[0];
            local.set(0x44, &bytes_of(0xa0b0_c0d0, order));
            assert_eq!(machine.words(0x0102_0304), 0xa0b0_c0d0);
            let written = [0x40, 0x41, 0x42, 0x43].map(|at| local.byte(at));
            assert_eq!(written, bytes_of(0x0102_0304, order), "{order:?}");

            let read = machine.list(&|at, words| {
                for (index, word) in words.into_iter().enumerate() {
                    local.set(at as usize + 4 * index, &bytes_of(word, order));
                }
            });
            assert_eq!(
                (read[..16].to_vec(), read[16..].to_vec()),
                (vec![2; 16], vec![1; 16])
            );

            let moved = machine.scatters(&|at, words| {
                for (index, word) in words.into_iter().enumerate() {
                    local.set(at as usize + 4 * index, &bytes_of(word, order));
                }
            });
            assert_eq!(moved, [[1, 0], [1, 2]], "{order:?}");

            local.set(0x300c, &bytes_of(0x1122_3344, order));
            local.set(0x301c, &bytes_of(0x0000_0080, order));
            assert_eq!(machine.sends(), [0x1122_3344, 0x80], "{order:?}");
        });
    }
}

#[test]
fn local_stores_that_are_not_made_are_named() {
    let refuses = |_: SpeId, _: usize| Err(io::Error::other("no memory today"));
    let error = Host::builder().spes(1).local_stores(refuses).build();
    let host = error.err().unwrap().to_string();
    let error = Sim::builder(description()).local_stores(refuses).build();
    let sim = error.err().unwrap().to_string();
    for error in [host, sim] {
        let named = error.contains("the local store of SPE 0 (262144 bytes): no memory today");
        assert!(named, "{error}");
    }
}

#[test]
fn local_stores_of_another_size_are_refused() {
    let smaller = |_: SpeId, bytes: usize| -> io::Result<Box<dyn Backing>> {
        Ok(Box::new(lent(bytes - 4096)))
    };
    let error = Host::builder().spes(1).local_stores(smaller).build();
    let host = error.err().unwrap().to_string();
    let error = Sim::builder(description()).local_stores(smaller).build();
    let sim = error.err().unwrap().to_string();
    for error in [host, sim] {
        assert!(error.contains("has 258048 bytes"), "{error}");
    }
}

fn what_was_never_made_is_no_local_store<M: CellMachine>(machine: &M) {
    let none = std::panic::AssertUnwindSafe(|| machine.local_store(spe(1_000)).bytes());
    std::panic::catch_unwind(none).unwrap_err();
}
