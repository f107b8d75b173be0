//! The memory of a network depends on the processes that live, not on those that have ended.

#[path = "../../../tests/machines.rs"]
#[allow(dead_code, reason = "the suite uses the other machines")]
mod machines;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use cellworks_csp::{Network, OpenNetwork, PpePlace, Process, Starter, Transport};
use cellworks_machine::{Machine, Spe, SpeId};
use machines::{host, plain, qs22, strict_host};

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

/// Calls `begin_some` again and again, and checks that the memory in use grows by less than two
/// bytes for each process.
///
/// What a thread had is kept for the next one. So the memory grows once if more processes live at
/// once than ever before, as they do when another program takes the CPU of an SPE for a while. But
/// what a process leaves behind makes the memory grow in each round.
fn check(what: &str, mut begin_some: impl FnMut(usize)) {
    // With this number, a table that reaches its next size does not count, as it has some 20
    // kilobytes.
    const PROCESSES: usize = 15_000;
    const ROUNDS: usize = 6;
    // Two processes are waited for, one on each SPE. When they have ended, all before them have.
    let mut in_use_after = |count| {
        begin_some(count);
        begin_some(2);
        IN_USE.load(Ordering::Relaxed)
    };
    // Queues, stacks and tables reach their sizes.
    let mut before = in_use_after(2_000);
    let mut grown = Vec::new();
    for _ in 0..ROUNDS {
        let after = in_use_after(PROCESSES);
        if after - before < 2 * PROCESSES as isize {
            return;
        }
        grown.push(after - before);
        before = after;
    }
    panic!("each {PROCESSES} processes that were {what} left these bytes behind: {grown:?}");
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

fn ended_processes_leave_nothing<M: Machine>(machine: &M, on: &str, transport: Transport) {
    for (joins_each, how) in [(true, "joined"), (false, "forgotten")] {
        let mut network = Network::on(machine);
        network.transport(transport);
        let starter = network.starter();
        for at in [0, 1] {
            network.group(SpeId::new(at), |_| ());
        }
        network
            .run_with(|process| {
                check(&format!("{how} on {on}, {transport:?}"), |count| {
                    start::<M>(process, &starter, joins_each, count)
                });
            })
            .unwrap();
    }
    machine
        .run(|ppe| {
            let on = on.to_owned();
            let program = ppe.spawn(SpeId::new(0), move |spe: &M::Spe| {
                let network = OpenNetwork::new(spe);
                check(&format!("begun in an open network on {on}"), |count| {
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
    ended_processes_leave_nothing(&host(), "a host", Transport::Direct);
    ended_processes_leave_nothing(&plain(), "a plain machine", Transport::Direct);
    for transport in [Transport::Direct, Transport::Coordinator] {
        ended_processes_leave_nothing(&qs22(), "a QS22", transport);
        ended_processes_leave_nothing(&strict_host(), "a host with local stores", transport);
    }
}
