//! The memory of a network depends on the processes that live, not on those that have ended.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use cellworks_csp::{Network, OpenNetwork, PpePlace, Process, Starter};
use cellworks_host::Host;
use cellworks_machine::{Machine, Spe, SpeId};

/// An allocator that counts the bytes in use.
struct Counting;

static IN_USE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: the system's allocator does all the work, and counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller promises what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller promises what the system's allocator requires.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls `begin_some` again and again, and checks that the memory in use grows by less than a byte
/// for each process.
fn check(what: &str, mut begin_some: impl FnMut(usize)) {
    // With this number, a table that reaches its next size does not count, as it has some kilobytes.
    const PROCESSES: usize = 100_000;
    // Queues, stacks and tables reach their sizes.
    begin_some(2_000);
    let before = IN_USE.load(Ordering::Relaxed);
    begin_some(PROCESSES);
    let grown = IN_USE.load(Ordering::Relaxed) - before;
    assert!(
        grown < PROCESSES as isize,
        "{PROCESSES} processes that were {what} have left {grown} bytes"
    );
}

/// Starts processes, some of which nothing waits for.
fn start<M: Machine>(
    process: &Process<'_, PpePlace<'_, M::Core>>,
    starter: &Starter<'_, M::Spe>,
    joins_each: bool,
    count: usize,
) {
    for number in 0..count {
        let at = SpeId::new((number % 2) as u16);
        let started = starter.start(process, "short", at, move |_| Ok(number as u64));
        // A wait for one of 64 lets those before it end.
        if joins_each || number % 64 < 2 {
            assert_eq!(started.join(process), Ok(number as u64));
        }
    }
}

fn ended_processes_leave_nothing<M: Machine>(machine: &M) {
    for (joins_each, what) in [(true, "joined"), (false, "forgotten")] {
        let mut network = Network::on(machine);
        let starter = network.starter();
        for at in [0, 1] {
            network.group(SpeId::new(at), |_| ());
        }
        network
            .run_with(|process| {
                check(what, |count| {
                    start::<M>(process, &starter, joins_each, count)
                });
            })
            .unwrap();
    }
    machine
        .run(|ppe| {
            let program = ppe.spawn(SpeId::new(0), |spe: &M::Spe| {
                let network = OpenNetwork::new(spe);
                check("begun in an open network", |count| {
                    (0..count).for_each(|_| network.process(spe, "short", |_| ()));
                });
                spe.id()
            });
            program.join().unwrap();
        })
        .unwrap();
}

/// One test, because the allocator counts what all OS threads use.
#[test]
fn a_network_does_not_grow_with_the_processes_that_have_ended() {
    ended_processes_leave_nothing(&Host::builder().spes(2).build().unwrap());
}
