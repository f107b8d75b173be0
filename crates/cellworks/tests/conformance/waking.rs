//! Waking a single thread, and waiting until a time.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use cellworks::machine::{
    Cycles, Machine, Processor, RemoteWaker, RunError, Sleeper, Span, Spe, Wait, Wake,
};

use crate::{Words, on_every_machine, spe};

on_every_machine![
    a_thread_is_woken_by_one_of_its_own_spe,
    the_ppe_is_woken,
    waking_who_does_not_wait_does_nothing,
    a_thread_that_only_another_run_wakes_is_in_the_report_of_its_own_run,
    a_machine_that_names_its_last_check_has_one_before_it_sleeps,
    a_deadline_ends_a_wait,
    the_ppe_waits_until_a_deadline,
    a_computing_thread_lets_those_go_on_that_are_ready,
    a_thread_without_others_goes_on_after_a_yield,
    no_thread_waits_briefly_while_others_want_to_run;
    with words:
    a_thread_is_woken_from_another_spe,
    each_of_many_threads_is_woken_by_name_from_another_spe,
    a_destructor_wakes_without_a_processor,
    what_comes_before_the_deadline_is_seen,
    who_waits_until_a_deadline_is_no_part_of_a_deadlock,
    a_destructor_of_a_cancelled_program_can_be_woken,
];

const MOMENT: Span = Span::from_femtoseconds(2_000_000_000_000);

fn a_thread_is_woken_by_one_of_its_own_spe<M: Machine>(machine: &M) {
    let program = |spe: &M::Spe| {
        let (sleeper, done) = (Cell::new(None), Cell::new(false));
        spe.threads(2, |thread| {
            if thread.0 == 0 {
                sleeper.set(Some(spe.sleeper()));
                spe.wait_until(&"thread 1", &mut || done.get());
            } else {
                spe.yield_now();
                done.set(true);
                spe.wake(sleeper.get().unwrap());
            }
        })
        .unwrap();
    };
    machine
        .run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
        .unwrap();
}

fn a_thread_is_woken_from_another_spe<M: Machine>(machine: &M, words: &impl Words<M>) {
    let sleeper = Mutex::new(None);
    let done = AtomicBool::new(false);
    let waits = |this: &M::Spe| {
        *sleeper.lock().unwrap() = Some(this.sleeper());
        words.send_from(this, spe(1), 0);
        this.wait_until(&"SPE 1", &mut || done.load(Ordering::Acquire));
    };
    let wakes = |this: &M::Spe| {
        words.read(this);
        this.compute(Cycles(10_000));
        done.store(true, Ordering::Release);
        this.wake(sleeper.lock().unwrap().unwrap());
    };
    machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), waits));
            drop(ppe.spawn(spe(1), wakes));
        })
        .unwrap();
}

fn each_of_many_threads_is_woken_by_name_from_another_spe<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    const THREADS: usize = 16;
    let sleepers = Mutex::new([None; THREADS]);
    let done = [const { AtomicBool::new(false) }; THREADS];
    let woken = Mutex::new(Vec::new());
    let waits = |this: &M::Spe| {
        let waiting = Cell::new(0);
        this.threads(THREADS, |thread| {
            sleepers.lock().unwrap()[thread.0] = Some(this.sleeper());
            waiting.set(waiting.get() + 1);
            if waiting.get() == THREADS {
                words.send_from(this, spe(1), 0);
            }
            this.wait_until_woken(&"SPE 1", &mut || done[thread.0].load(Ordering::Acquire));
            woken.lock().unwrap().push(thread.0);
        })
        .unwrap();
    };
    let wakes = |this: &M::Spe| {
        words.read(this);
        for thread in (0..THREADS).rev() {
            // This is long enough for the thread that was woken before to go on.
            this.compute(Cycles(10_000));
            done[thread].store(true, Ordering::Release);
            let sleeper = sleepers.lock().unwrap()[thread];
            this.wake(sleeper.unwrap());
            // A thread that is woken twice goes on once.
            this.wake(sleeper.unwrap());
        }
    };
    machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), waits));
            drop(ppe.spawn(spe(1), wakes));
        })
        .unwrap();
    let mut woken = woken.into_inner().unwrap();
    woken.sort_unstable();
    assert_eq!(woken, Vec::from_iter(0..THREADS));
}

fn a_destructor_wakes_without_a_processor<M: Machine>(machine: &M, words: &impl Words<M>) {
    struct WakesWhenDropped<'a> {
        sleeper: Sleeper,
        waker: RemoteWaker,
        done: &'a AtomicBool,
    }
    impl Drop for WakesWhenDropped<'_> {
        fn drop(&mut self) {
            self.done.store(true, Ordering::Release);
            self.waker.wake(self.sleeper);
        }
    }
    let done = AtomicBool::new(false);
    let wakes = Mutex::new(None);
    let waits = |this: &M::Spe| {
        *wakes.lock().unwrap() = Some(WakesWhenDropped {
            sleeper: this.sleeper(),
            waker: this.remote_waker(),
            done: &done,
        });
        words.send_from(this, spe(1), 0);
        this.wait_until(&"SPE 1", &mut || done.load(Ordering::Acquire));
        (this.remote_waker(), this.sleeper())
    };
    let drops = |this: &M::Spe| {
        words.read(this);
        this.compute(Cycles(10_000));
        drop(wakes.lock().unwrap().take());
    };
    let (waker, sleeper) = machine
        .run(|ppe| {
            let waits = ppe.spawn(spe(0), waits);
            drop(ppe.spawn(spe(1), drops));
            waits.join().unwrap()
        })
        .unwrap();
    // The run has ended, so the waker does nothing.
    waker.wake(sleeper);
    std::thread::spawn(move || waker.wake(sleeper))
        .join()
        .unwrap();
}

fn the_ppe_is_woken<M: Machine>(machine: &M) {
    let done = AtomicBool::new(false);
    machine
        .run(|ppe| {
            let sleeper = ppe.core().sleeper();
            let done = &done;
            drop(ppe.spawn(spe(0), move |spe: &M::Spe| {
                spe.compute(Cycles(10_000));
                done.store(true, Ordering::Release);
                spe.wake(sleeper);
            }));
            ppe.wait_until(&"SPE 0", &mut || done.load(Ordering::Acquire));
        })
        .unwrap();
}

fn waking_who_does_not_wait_does_nothing<M: Machine>(machine: &M) {
    let old = machine
        .run(|ppe| ppe.spawn(spe(0), |spe: &M::Spe| spe.sleeper()).join())
        .unwrap()
        .unwrap();
    let program = move |spe: &M::Spe| {
        for _ in 0..3 {
            spe.wake(spe.sleeper());
            spe.wake(old);
        }
        // A wake does not end a wait before the condition of the wait is true.
        let turns = Cell::new(0);
        spe.threads(2, |thread| {
            if thread.0 == 0 {
                spe.wait_until(&"the third turn", &mut || turns.get() == 3);
            } else {
                for turn in 1..=3 {
                    spe.yield_now();
                    turns.set(turn);
                    spe.wake(old);
                    spe.notify(Processor::Spe(spe.id()));
                }
            }
        })
        .unwrap();
    };
    machine
        .run(|ppe| {
            ppe.core().wake(ppe.core().sleeper());
            ppe.core().wake(old);
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn a_thread_that_only_another_run_wakes_is_in_the_report_of_its_own_run<M: Machine>(machine: &M) {
    let (sleeper, done) = (Mutex::new(None), AtomicBool::new(false));
    let waits = |this: &M::Spe| {
        *sleeper.lock().unwrap() = Some(this.sleeper());
        this.notify(Processor::Ppe);
        this.wait_until(&"the other run", &mut || done.load(Ordering::Acquire));
    };
    let ended = machine.run(|ppe| {
        let program = ppe.spawn(spe(0), waits);
        ppe.wait_until(&"SPE 0", &mut || sleeper.lock().unwrap().is_some());
        let sleeper = sleeper.lock().unwrap().unwrap();
        let other = crate::host().run(|other| {
            done.store(true, Ordering::Release);
            other.core().wake(sleeper);
        });
        other.unwrap();
        program.join().unwrap();
    });
    match ended {
        // SPE 0 of a host can still be checking its condition before it sleeps.
        Ok(()) => (),
        Err(RunError::Deadlock { waits }) => {
            assert!(
                waits.iter().any(|wait| wait.what == "the other run"),
                "{waits:?}"
            );
        }
        Err(error) => panic!("{error}"),
    }
}

fn a_machine_that_names_its_last_check_has_one_before_it_sleeps<M: Machine>(machine: &M) {
    let done = AtomicBool::new(false);
    let checks = Mutex::new(Vec::new());
    let sleeps = |this: &M::Spe| {
        this.wait_until(&"the main program", &mut || {
            checks.lock().unwrap().push(this.is_last_check());
            done.load(Ordering::Acquire)
        });
    };
    machine
        .run(|ppe| {
            let program = ppe.spawn(spe(0), sleeps);
            let core = ppe.core();
            // Some 10 seconds, if SPE 0 does not get a CPU.
            for _ in 0..5_000 {
                core.wait_until_deadline(&"SPE 0", core.now() + MOMENT, &mut || false);
                let last = checks.lock().unwrap().last().copied();
                if last == Some(None) || last == Some(Some(true)) {
                    break;
                }
            }
            done.store(true, Ordering::Release);
            core.notify(Processor::Spe(spe(0)));
            program.join().unwrap();
        })
        .unwrap();
    let checks = checks.into_inner().unwrap();
    let names_last = checks.iter().all(Option::is_some);
    assert!(
        names_last || checks.iter().all(Option::is_none),
        "{checks:?}"
    );
    assert!(!names_last || checks.contains(&Some(true)), "{checks:?}");
}

fn a_deadline_ends_a_wait<M: Machine>(machine: &M) {
    let program = |spe: &M::Spe| {
        let others = Cell::new(0);
        spe.threads(2, |thread| {
            if thread.0 == 1 {
                others.set(others.get() + 1);
                return;
            }
            // On a busy computer the deadline may have passed before the wait begins, so the next
            // wait is longer.
            for doublings in 0..10 {
                let moment = Span::from_femtoseconds(MOMENT.as_femtoseconds() << doublings);
                let from = spe.now();
                assert!(!spe.wait_until_deadline(&"nothing", from + moment, &mut || false));
                assert!(spe.now().since(from) >= moment);
                if others.get() > 0 {
                    break;
                }
            }
            assert_eq!(others.get(), 1, "the other thread runs during a wait");
        })
        .unwrap();
        assert_eq!(others.get(), 1);
        let from = spe.now();
        assert!(!spe.wait_until_deadline(&"nothing", from, &mut || false));
        assert!(spe.wait_until_deadline(&"what is there", from, &mut || true));
    };
    machine
        .run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
        .unwrap();
}

fn what_comes_before_the_deadline_is_seen<M: Machine>(machine: &M, words: &impl Words<M>) {
    // A wait of a whole hour would be noticed.
    let hour = Span::from_femtoseconds(3_600_000_000_000_000_000);
    let program = move |this: &M::Spe| {
        let mut word = None;
        let deadline = this.now() + hour;
        this.wait_until_deadline(&"a word", deadline, &mut || {
            word = words.try_read(this);
            word.is_some()
        });
        (word, this.now() < deadline)
    };
    let seen = machine.run(|ppe| {
        let handle = ppe.spawn(spe(0), program);
        words.send(ppe, spe(0), 7);
        handle.join().unwrap()
    });
    assert_eq!(seen.unwrap(), (Some(7), true));
}

fn the_ppe_waits_until_a_deadline<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let from = ppe.now();
            let core = ppe.core();
            assert!(!core.wait_until_deadline(&"nothing", from + MOMENT, &mut || false));
            assert!(ppe.now().since(from) >= MOMENT);
            assert!(core.wait_until_deadline(&"what is there", from, &mut || true));
        })
        .unwrap();
}

fn who_waits_until_a_deadline_is_no_part_of_a_deadlock<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    // SPE 0 waits for a word that SPE 1 sends after its deadline.
    machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), |this: &M::Spe| words.read(this)));
            drop(ppe.spawn(spe(1), |this: &M::Spe| {
                this.wait_until_deadline(&"nothing", this.now() + MOMENT, &mut || false);
                words.send_from(this, spe(0), 1);
            }));
        })
        .unwrap();
    // After the deadline no thread can go on.
    let error = machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), |this: &M::Spe| {
                this.wait_until_deadline(&"nothing", this.now() + MOMENT, &mut || false);
                words.read(this);
            }));
        })
        .unwrap_err();
    assert!(matches!(error, RunError::Deadlock { .. }), "{error}");
}

/// When this value is dropped, it wakes the thread that drops it.
struct WakesItself<'a, S: Spe>(&'a S);

impl<S: Spe> Drop for WakesItself<'_, S> {
    fn drop(&mut self) {
        self.0.wake(self.0.sleeper());
    }
}

fn a_destructor_of_a_cancelled_program_can_be_woken<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    let result = machine.run(|ppe| {
        let program = |spe: &M::Spe| {
            let _wakes = WakesItself(spe);
            words.read(spe);
        };
        ppe.spawn(spe(0), program).join().unwrap();
    });
    assert!(matches!(result, Err(RunError::Deadlock { .. })));
}

fn a_computing_thread_lets_those_go_on_that_are_ready<M: Machine>(machine: &M) {
    let program = |spe: &M::Spe| {
        let log = Cell::new(Vec::new());
        spe.threads(2, |thread| {
            for _ in 0..3 {
                let mut all = log.take();
                all.push(thread.0);
                log.set(all);
                spe.yield_ready();
            }
        })
        .unwrap();
        log.take()
    };
    let log = machine
        .run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
        .unwrap();
    assert_eq!(log, [0, 1, 0, 1, 0, 1]);
}

fn a_thread_without_others_goes_on_after_a_yield<M: Machine>(machine: &M) {
    let waits = AtomicBool::new(true);
    machine
        .run(|ppe| {
            let waits = &waits;
            let computes = move |spe: &M::Spe| {
                // A waiting thread of the SPE is not ready. Other SPEs go on meanwhile.
                let done = Cell::new(false);
                spe.threads(2, |thread| {
                    if thread.0 == 0 {
                        spe.wait_until(&"thread 1", &mut || done.get());
                    } else {
                        while waits.load(Ordering::Acquire) {
                            spe.yield_ready();
                        }
                        done.set(true);
                        spe.notify(Processor::Spe(spe.id()));
                    }
                })
                .unwrap();
            };
            drop(ppe.spawn(spe(0), computes));
            drop(ppe.spawn(spe(1), move |spe: &M::Spe| {
                spe.compute(Cycles(1_000));
                waits.store(false, Ordering::Release);
            }));
        })
        .unwrap();
}

fn no_thread_waits_briefly_while_others_want_to_run<M: Machine>(machine: &M) {
    let program = |spe: &M::Spe| {
        spe.threads(2, |thread| {
            if thread.0 == 0 {
                assert!(!spe.wait_briefly(), "the other one has not begun");
            }
        })
        .unwrap();
        // A thread without other threads may wait briefly, and goes on without a wake-up.
        spe.wait_briefly();
    };
    machine
        .run(|ppe| ppe.spawn(spe(0), program).join().unwrap())
        .unwrap();
}
