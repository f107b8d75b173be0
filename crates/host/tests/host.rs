//! Properties of only the host: staging without copies, strict local stores, OS threads, and CPUs.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, available_parallelism};

use cellworks_host::{Host, HostSpe};
use cellworks_machine::{CellSpe, Machine, PpeCore, Processor, Spe, SpeId, Wait};
use rustix::thread::sched_getaffinity;

fn spe(index: u16) -> SpeId {
    SpeId::new(index)
}

fn strict(local_store_bytes: usize) -> Host {
    let builder = Host::builder().spes(1).strict();
    builder
        .local_store_bytes(local_store_bytes)
        .build()
        .unwrap()
}

#[test]
fn staging_is_the_memory_itself_unless_the_host_is_strict() {
    let data = [1_u32; 100];
    let same_address = |host: &Host| {
        let program = |spe: &_| {
            let view = Spe::stage(spe, &data).unwrap();
            std::ptr::eq(view.as_ptr(), data.as_ptr())
        };
        host.run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
            .unwrap()
    };
    assert!(same_address(&Host::new().unwrap()));
    assert!(!same_address(&strict(256 * 1024)));
}

#[test]
fn a_strict_local_store_refuses_data_that_does_not_fit_and_names_the_holders() {
    let small = vec![0_u8; 100_000];
    let large = vec![0_f32; 50_000];
    let (text, line) = strict(256 * 1024)
        .run(|ppe| {
            let program = |spe: &_| {
                let _held = Spe::stage(spe, &small).unwrap();
                let line = line!() + 1;
                let refused = Spe::stage(spe, &large);
                (refused.map(drop).unwrap_err().to_string(), line)
            };
            ppe.spawn(spe(0), program).join().unwrap()
        })
        .unwrap();
    let file = file!();
    let expected = format!(
        "the local store of SPE 0 has no room: 200000 bytes aligned to 16 are needed for [f32] at \
         {file}:{line}; 162144 of 262144 bytes are free; held by 100000 bytes \
         for [u8] at {file}:{}; drop a staged buffer before this one is needed, or stage in smaller \
         tiles",
        line - 2
    );
    assert_eq!(text, expected);
}

#[test]
fn a_view_that_is_leaked_costs_room_until_the_run_ends() {
    let host = strict(64 * 1024);
    let data = vec![7_u8; 40 * 1024];
    for _ in 0..2 {
        host.run(|ppe| {
            let program = |spe: &_| {
                std::mem::forget(Spe::stage(spe, &data).unwrap());
                assert_eq!(CellSpe::local_store(spe).free_bytes(), 24 * 1024);
                assert!(Spe::stage(spe, &data).is_err());
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
    }
}

#[test]
fn a_leaked_mutable_view_never_goes_back_on_a_strict_host() {
    let mut data = [1_u8; 64];
    strict(64 * 1024)
        .run(|ppe| {
            let program = |spe: &_| {
                let mut view = Spe::stage_mut(spe, &mut data).unwrap();
                view.fill(2);
                std::mem::forget(view);
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
    assert_eq!(data, [1; 64]);
}

#[test]
fn output_that_was_not_written_shows_on_a_strict_host() {
    let mut data = [1.0_f32; 4];
    strict(64 * 1024)
        .run(|ppe| {
            let program = |spe: &_| Spe::stage_out(spe, &mut data).unwrap()[..2].fill(5.0);
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
    assert_eq!(data[..2], [5.0; 2]);
    assert!(data[2].is_nan() && data[3].is_nan());
}

#[test]
fn a_stream_that_found_no_room_goes_on_where_it_was() {
    let data: Vec<u32> = (0..4_096).collect();
    let sum = strict(64 * 1024)
        .run(|ppe| {
            let program = |spe: &_| {
                let all = CellSpe::local_store(spe).free_bytes();
                let mut tiles = Spe::stream(spe, &data, 1_024);
                let in_the_way = CellSpe::local_store(spe).reserve(all - 4_096, 16, "in the way");
                // The local store has room for the first tile, but not for the second.
                assert!(tiles.next().is_err());
                drop(in_the_way);
                let mut sum = 0;
                while let Some(tile) = tiles.next().unwrap() {
                    sum += tile.iter().sum::<u32>();
                }
                sum
            };
            ppe.spawn(spe(0), program).join().unwrap()
        })
        .unwrap();
    assert_eq!(sum, data.iter().sum());
}

#[test]
fn a_condition_of_the_ppe_that_waits_is_refused() {
    let host = Host::builder().spes(1).build().unwrap();
    let error = host
        .run(|ppe| {
            ppe.wait_until(&"a reply", &mut || {
                ppe.read_out_mbox(spe(0), cellworks_machine::mailbox::Outbound::Plain) == 1
            });
        })
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the main program panicked on the PPE: the PPE waits within the condition of another wait; \
         conditions must not wait"
    );
}

#[test]
fn many_more_spes_than_cpus_share_them() {
    const SPES: u16 = 200;
    let host = Host::builder().spes(SPES.into()).build().unwrap();
    let token = host
        .run(|ppe| {
            for at in 1..SPES {
                drop(ppe.spawn(spe(at), move |this| {
                    for _ in 0..20 {
                        let token = this.read_in_mbox();
                        this.write_in_mbox_of(spe((at + 1) % SPES), token + 1);
                    }
                }));
            }
            let first = ppe.spawn(spe(0), |this| {
                let mut token = 0;
                for _ in 0..20 {
                    this.write_in_mbox_of(spe(1), token + 1);
                    token = this.read_in_mbox();
                }
                token
            });
            first.join().unwrap()
        })
        .unwrap();
    assert_eq!(token, 20 * u32::from(SPES));
}

#[test]
fn a_run_gives_the_caller_its_cpus_back() {
    let before = sched_getaffinity(None).unwrap();
    let host = Host::new().unwrap();
    host.run(|ppe| ppe.spawn(spe(0), |_| ()).join().unwrap())
        .unwrap();
    host.run(|_| panic!("on purpose"))
        .map(|(): ()| ())
        .unwrap_err();
    let after = sched_getaffinity(None).unwrap();
    assert_eq!(before, after);
}

#[test]
fn a_run_may_start_in_a_run() {
    let (outer, inner) = (Host::new().unwrap(), Host::new().unwrap());
    let run_inner = |n: u32| {
        let result = inner.run(|ppe| ppe.spawn(spe(0), move |_| n).join().unwrap());
        result.unwrap()
    };
    let sum = outer.run(|ppe| {
        let on_spe = ppe.spawn(spe(0), |_| run_inner(20));
        run_inner(1) + on_spe.join().unwrap()
    });
    assert_eq!(sum.unwrap(), 21);
}

/// Returns the OS threads that programs of two SPEs run on.
fn os_threads(host: &Host) -> Vec<thread::ThreadId> {
    let this = |_: &HostSpe| thread::current().id();
    host.run(|ppe| {
        let programs = [0, 1].map(|index| ppe.spawn(spe(index), this));
        programs.map(|program| program.join().unwrap()).into()
    })
    .unwrap()
}

#[test]
fn the_os_threads_of_a_run_serve_the_next_run() {
    let host = Host::builder().spes(2).build().unwrap();
    let first = os_threads(&host);
    for _ in 0..100 {
        assert_eq!(os_threads(&host), first);
    }
    // A run in a run needs OS threads of its own, which then wait, too.
    let goes_on = &AtomicBool::new(false);
    let inside = host.run(|ppe| {
        let waits = ppe.spawn(spe(0), move |spe: &HostSpe| {
            spe.wait_until(&"the run inside", &mut || goes_on.load(Ordering::SeqCst));
            thread::current().id()
        });
        let inside = os_threads(&host);
        goes_on.store(true, Ordering::SeqCst);
        ppe.notify(spe(0));
        assert!(!inside.contains(&waits.join().unwrap()));
        inside
    });
    let inside = inside.unwrap();
    // Programs that panic, and runs that end in a deadlock, leave a thread that works.
    for _ in 0..3 {
        let panics = host.run(|ppe| drop(ppe.spawn(spe(1), |_: &HostSpe| panic!("on purpose"))));
        panics.unwrap_err();
        let waits = |spe: &HostSpe| spe.wait_until(&"nothing", &mut || false);
        host.run(|ppe| drop(ppe.spawn(spe(0), waits))).unwrap_err();
    }
    let all: HashSet<_> = first.iter().chain(&inside).copied().collect();
    assert!(os_threads(&host).iter().all(|thread| all.contains(thread)));
}

/// The thread-local value of a program is dropped when its OS thread ends.
#[test]
fn the_os_threads_of_a_host_end_with_it() {
    struct SetsOnDrop(Arc<AtomicBool>);
    impl Drop for SetsOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    thread_local!(static VALUE: OnceCell<SetsOnDrop> = const { OnceCell::new() });
    let host = Host::builder().spes(1).build().unwrap();
    let is_dropped = Arc::new(AtomicBool::new(false));
    let value = SetsOnDrop(Arc::clone(&is_dropped));
    host.run(|ppe| {
        let program = move |_: &HostSpe| VALUE.with(|cell| cell.set(value).is_ok());
        assert!(ppe.spawn(spe(0), program).join().unwrap());
    })
    .unwrap();
    let still_there = |_: &HostSpe| VALUE.with(|cell| cell.get().is_some());
    assert!(
        host.run(|ppe| ppe.spawn(spe(0), still_there).join().unwrap())
            .unwrap()
    );
    assert!(!is_dropped.load(Ordering::SeqCst));
    drop(host);
    assert!(is_dropped.load(Ordering::SeqCst));
}

#[test]
fn hosts_run_side_by_side() {
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let host = Host::builder().spes(3).build().unwrap();
                for _ in 0..20 {
                    host.run(|ppe| {
                        for at in ppe.topology().spes() {
                            drop(ppe.spawn(at, |spe| {
                                count.fetch_add(spe.read_in_mbox(), Ordering::Relaxed);
                            }));
                            ppe.write_in_mbox(at, 1);
                        }
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 4 * 20 * 3);
}

#[test]
fn numbers_that_no_host_has_are_refused() {
    let text =
        |builder: cellworks_host::HostBuilder| builder.build().map(drop).unwrap_err().to_string();
    for spes in [0, 4_097] {
        assert_eq!(
            text(Host::builder().spes(spes)),
            format!(
                "{spes} SPEs were asked for; a host has 1 to 4096, for example as many as CPUs"
            )
        );
    }
    for bytes in [0, 1 << 40] {
        assert_eq!(
            text(Host::builder().stack_bytes(bytes)),
            format!(
                "stacks of {bytes} bytes were asked for; one has 16 KiB to 1 GiB, for example \
                 262144 bytes"
            )
        );
    }
    for bytes in [0, 5_000, 1 << 31] {
        assert_eq!(
            text(Host::builder().local_store_bytes(bytes)),
            format!(
                "local stores of {bytes} bytes were asked for; one has 4096 bytes to 1 GiB, in \
                 multiples of 4096, for example 262144"
            )
        );
    }
}

#[test]
fn a_stack_can_be_as_large_as_a_program_needs() {
    fn deep(levels: usize) -> usize {
        let frame = std::hint::black_box([levels as u8; 1_000]);
        if levels == 0 {
            0
        } else {
            1 + deep(levels - 1) + usize::from(frame[0] != frame[999])
        }
    }
    let host = Host::builder()
        .spes(1)
        .stack_bytes(16 << 20)
        .build()
        .unwrap();
    let depth = host.run(|ppe| ppe.spawn(spe(0), |_| deep(5_000)).join().unwrap());
    assert_eq!(depth.unwrap(), 5_000);
}

#[test]
fn a_thread_outside_keeps_a_run_from_deadlock_until_it_waits_or_ends() {
    let run = |changes_something: bool| {
        let is_done = AtomicU32::new(0);
        Host::new().unwrap().run(|ppe| {
            let outside = ppe.core().outside().unwrap();
            outside.admit();
            let program = ppe.spawn(spe(0), |spe: &HostSpe| {
                let why = "a thread outside";
                spe.wait_until(&why, &mut || is_done.load(Ordering::Acquire) == 1);
            });
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // After this time all other threads usually sleep.
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    if changes_something {
                        is_done.store(1, Ordering::Release);
                        outside.notify(Processor::Spe(spe(0)));
                    }
                    outside.dismiss();
                });
                program.join().unwrap();
                assert!(!outside.is_cancelled());
            });
        })
    };
    run(true).unwrap();
    let error = run(false).unwrap_err().to_string();
    assert!(
        error.starts_with("deadlock: every program waits for another"),
        "{error}"
    );
    let is_refused = strict(256 * 1024).run(|ppe| ppe.core().outside().is_none());
    assert!(is_refused.unwrap());
}

/// A program is pinned, and what it starts would be pinned, too.
#[test]
fn what_a_program_starts_unpinned_has_the_cpus_of_the_process() {
    let list = || {
        let child = Command::new("grep")
            .args(["Cpus_allowed_list", "/proc/self/status"])
            .output();
        String::from_utf8(child.unwrap().stdout).unwrap()
    };
    let host = Host::builder().spes(2).build().unwrap();
    let (usable, before) = (available_parallelism().unwrap(), list());
    let (in_program, by_child, in_thread) = host
        .run(|ppe| {
            let program = |_: &HostSpe| {
                let by_child = host.unpinned(list).unwrap();
                let thread = host.unpinned(|| thread::spawn(|| available_parallelism().unwrap()));
                let in_thread = thread.unwrap().join().unwrap();
                (available_parallelism().unwrap(), by_child, in_thread)
            };
            ppe.spawn(spe(1), program).join().unwrap()
        })
        .unwrap();
    assert_eq!((by_child, in_thread), (before, usable));
    assert_eq!(in_program.get(), 1);
}

#[test]
fn a_panic_of_what_runs_unpinned_comes_out() {
    let host = Host::builder().spes(1).build().unwrap();
    let unpinned = || host.unpinned(|| panic!("in the closure"));
    let panic = catch_unwind(AssertUnwindSafe(unpinned)).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"in the closure"));
}
