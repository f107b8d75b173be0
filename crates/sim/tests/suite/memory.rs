//! The memory of a simulation depends on the size of its machine, not on the length of its run.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks_machine::{CellSpe, Cycles, Machine, Mfc, Spe, SpeId};
use cellworks_sim::{Description, Sim, SimSpe};

/// An allocator that counts the allocations of each OS thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn allocations() -> usize {
    ALLOCATIONS.with(Cell::get)
}

// SAFETY: the system's allocator does all the work, and counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller promises what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller promises what the system's allocator requires.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SPES: u16 = 8;
const TAG: Tag = Tag::of::<3>();

/// Moves packets in both directions, and sends a word to the next SPE.
fn round(spe: &SimSpe, next: SpeId, to: EffectiveAddress) {
    let put = RawCommand::put(LsAddr(0), to, 1_024, TAG);
    let get = RawCommand::getf(LsAddr(2_048), to, 512, TAG);
    spe.mfc().issue(put).unwrap();
    spe.mfc().issue(get).unwrap();
    spe.mfc().wait_all(TAG.mask());
    spe.compute(Cycles(100));
    spe.write_in_mbox_of(next, 7);
    assert_eq!(spe.read_in_mbox(), 7);
}

#[test]
fn a_run_allocates_nothing_in_the_long_run() {
    let sim = Sim::new(Description::built_in("qs20").unwrap()).unwrap();
    let counts = sim.run(|ppe| {
        let programs: Vec<_> = (0..SPES)
            .map(|spe| {
                ppe.spawn(SpeId::new(spe), move |spe: &SimSpe| {
                    let next = SpeId::new((spe.id().index() as u16 + 1) % SPES);
                    let mine = spe.local_store().effective(LsAddr(4_096));
                    spe.write_in_mbox_of(next, mine.eah());
                    spe.write_in_mbox_of(next, mine.eal());
                    let to = EffectiveAddress::from_halves(spe.read_in_mbox(), spe.read_in_mbox());
                    (0..200).for_each(|_| round(spe, next, to));
                    let before = allocations();
                    (0..2_000).for_each(|_| round(spe, next, to));
                    allocations() - before
                })
            })
            .collect();
        let joined = programs.into_iter().map(|program| program.join().unwrap());
        joined.collect::<Vec<_>>()
    });
    assert_eq!(counts.unwrap(), [0; SPES as usize]);
    assert!(allocations() > 0, "allocations are counted");
}
