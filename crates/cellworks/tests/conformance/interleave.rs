//! Interleaved work: several inputs at a time in cooperative threads.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::slice;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use cellworks::machine::{
    InFlight, InterleaveError, Interleaved, InterleavedSpe, Machine, RunError, Spe, Wait,
};

use crate::{Words, on_every_machine, spe};

on_every_machine![
    results_come_in_the_order_of_inputs,
    results_come_as_they_are_completed,
    so_many_are_in_flight,
    one_in_flight_needs_no_thread,
    one_in_flight_works_on_inputs_as_a_loop_does,
    one_in_flight_lets_other_threads_run,
    the_number_in_flight_is_chosen,
    the_number_that_is_chosen_leaves_room_for_data,
    staged_data_is_followed,
    staging_mixes_with_waiting_and_other_threads,
    nothing_comes_of_nothing,
    a_sink_may_wait,
    inputs_may_be_waited_for,
    inputs_are_not_asked_for_after_their_end,
    inputs_may_be_more_or_fewer_than_they_said,
    a_panic_names_its_input,
    a_panic_of_one_alone_names_its_input,
    a_panic_of_inputs_or_sink_names_its_input,
    what_was_given_is_dropped_once,
    stacks_that_do_not_fit_are_an_error,
    a_deadlock_in_a_body_ends_the_run;
    with words:
    work_in_a_destructor_of_a_cancelled_program_says_what_is_missing,
    work_without_end_is_cancelled_with_the_run,
    work_without_end_lets_other_spes_hear_from_outside,
    slow_work_lets_others_hear_from_outside,
];

fn on_one_spe<M: Machine, R: Send>(machine: &M, program: impl FnOnce(&M::Spe) -> R + Send) -> R {
    let outcome = machine.run(|ppe| ppe.spawn(spe(0), program).join().unwrap());
    outcome.unwrap()
}

/// Makes inputs complete in a different order from the order in which they began.
fn linger<S: Spe>(spe: &S, input: usize) {
    for _ in 0..input % 5 {
        spe.yield_now();
    }
}

fn results_come_in_the_order_of_inputs<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let body = |_: InterleavedSpe<'_, M::Spe>, input: usize| {
            linger(spe, input * 7);
            input * input
        };
        let squares: Vec<_> = (0..100).map(|input| input * input).collect();
        for in_flight in [InFlight::Fixed(1), InFlight::Fixed(7), InFlight::Automatic] {
            let results = spe.interleave(in_flight, 0..100, body).collect().unwrap();
            assert_eq!(results, squares);
        }
    });
}

fn results_come_as_they_are_completed<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let mut seen = Vec::new();
        let done = spe
            .interleave(4, [3, 0, 1, 0], |_, input: usize| {
                linger(spe, input);
                input
            })
            .as_completed(|index, result| seen.push((index, result)))
            .unwrap();
        assert_eq!(seen, [(1, 0), (3, 0), (2, 1), (0, 3)]);
        let expected = Interleaved {
            inputs: 4,
            in_flight: 4,
        };
        assert_eq!(done, expected);
    });
}

fn so_many_are_in_flight<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let (now, most) = (Cell::new(0), Cell::new(0));
        let body = |_: InterleavedSpe<'_, M::Spe>, _| {
            now.set(now.get() + 1);
            most.set(most.get().max(now.get()));
            spe.yield_now();
            now.set(now.get() - 1);
        };
        spe.interleave(5, 0..50, body).collect().unwrap();
        assert_eq!(most.get(), 5);
    });
}

fn one_in_flight_needs_no_thread<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let order = RefCell::new(Vec::new());
        let body = |_: InterleavedSpe<'_, M::Spe>, input| {
            order.borrow_mut().push((input, "begins"));
            spe.yield_now();
            order.borrow_mut().push((input, "ends"));
        };
        for in_flight in [0, 1] {
            spe.interleave(in_flight, 0..2, body).collect().unwrap();
            let expected = [(0, "begins"), (0, "ends"), (1, "begins"), (1, "ends")];
            assert_eq!(order.take(), expected);
        }
    });
}

/// The inputs are iterators with and without a known length.
fn one_in_flight_works_on_inputs_as_a_loop_does<M: Machine>(machine: &M) {
    let words: Vec<u64> = (0..5_000).map(|at| at * 3).collect();
    on_one_spe(machine, |spe| {
        let follow = |spe: InterleavedSpe<'_, M::Spe>, at: usize| {
            spe.stage(slice::from_ref(&words[at])).unwrap()[0]
        };
        let expected: Vec<_> = words.iter().copied().enumerate().collect();
        let mut seen = Vec::new();
        let done = spe
            .interleave(1, 0..5_000, follow)
            .as_completed(|index, word| seen.push((index, word)))
            .unwrap();
        assert_eq!((done.inputs, done.in_flight), (5_000, 1));
        assert_eq!(seen, expected);
        // Each result decides whether there is another input.
        let (last, mut next) = (Cell::new(0), 0);
        let inputs = std::iter::from_fn(|| {
            next += 1;
            (last.get() < 2_500).then(|| next - 1)
        });
        let done = spe
            .interleave(1, inputs, follow)
            .as_completed(|_, word| last.set(word))
            .unwrap();
        assert_eq!((done.inputs, last.get()), (835, 2_502));
    });
}

fn one_in_flight_lets_other_threads_run<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let (turns, ended) = (Cell::new(0), Cell::new(false));
        spe.thread_scope(|scope| {
            scope
                .spawn(|_| {
                    while !ended.get() {
                        turns.set(turns.get() + 1);
                        spe.yield_now();
                    }
                })
                .unwrap();
            let word = [1_u64];
            let ones = spe
                .interleave(1, 0..5_000, |spe, _| spe.stage(&word).unwrap()[0])
                .collect()
                .unwrap();
            assert_eq!(ones.iter().sum::<u64>(), 5_000);
            ended.set(true);
        });
        assert!(turns.get() > 1, "{}", turns.get());
    });
}

fn the_number_in_flight_is_chosen<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let sum = Cell::new(0);
        let body = |_: InterleavedSpe<'_, M::Spe>, input: u64| sum.set(sum.get() + input);
        let done = spe
            .interleave(InFlight::Automatic, 0..300_000, body)
            .as_completed(|_, ()| ())
            .unwrap();
        assert_eq!(done.inputs, 300_000);
        assert_eq!(sum.get(), 299_999 * 150_000);
        assert!((1..=InFlight::AUTOMATIC_MAX).contains(&done.in_flight));
    });
}

fn the_number_that_is_chosen_leaves_room_for_data<M: Machine>(machine: &M) {
    let table: Vec<u64> = (0..4_096).collect();
    for words in [1, 128, 2_048] {
        on_one_spe(machine, |spe| {
            let body = |spe: InterleavedSpe<'_, M::Spe>, input: usize| {
                let from = input % (table.len() - words);
                spe.stage(&table[from..from + words]).unwrap()[0]
            };
            let work = spe.interleave(InFlight::Automatic, 0..10_000, body);
            let firsts = work.collect().unwrap();
            let expected = (0..10_000).map(|input| (input % (table.len() - words)) as u64);
            assert!(firsts.into_iter().eq(expected), "{words} words each");
        });
    }
}

fn staged_data_is_followed<M: Machine>(machine: &M) {
    // Each entry is the index of the next entry in its chain.
    let next: Vec<u64> = (0..4_096_u64).map(|at| (at * 5 + 1) % 4_096).collect();
    on_one_spe(machine, |spe| {
        let follow = |spe: InterleavedSpe<'_, M::Spe>, start: usize| {
            (0..3).fold(start, |at, _| {
                spe.stage(&next[at..=at]).unwrap()[0] as usize
            })
        };
        let plain = |start: usize| (0..3).fold(start, |at, _| next[at] as usize);
        // One piece takes no turns. With many pieces, a host prefetches several lines at the same
        // time.
        for in_flight in [1, 8, 40] {
            let found = spe.interleave(in_flight, 0..500, follow).collect().unwrap();
            assert!(found.into_iter().eq((0..500).map(plain)), "{in_flight}");
        }
    });
}

/// A piece of work can wait for events other than its data.
fn staging_mixes_with_waiting_and_other_threads<M: Machine>(machine: &M) {
    let words: Vec<u64> = (0..256).collect();
    on_one_spe(machine, |spe| {
        let stage = |at: usize| spe.stage(&words[at..=at]).unwrap()[0] as usize;
        let interleaved_stage = |spe: InterleavedSpe<'_, M::Spe>, at: usize| {
            spe.stage(&words[at..=at]).unwrap()[0] as usize
        };
        let (begun, ended) = (Cell::new(0), Cell::new(false));
        let body = |interleaved: InterleavedSpe<'_, M::Spe>, input: usize| {
            let place = begun.replace(begun.get() + 1);
            let mut found = interleaved_stage(interleaved, input);
            match input % 4 {
                0 => spe.yield_now(),
                // Waits until a later input has begun, if there is one.
                1 => {
                    let last = place + 2 > 200;
                    spe.wait_until(&"a later input", &mut || last || begun.get() > place + 1);
                }
                2 => spe
                    .threads(2, |_| {
                        stage(interleaved_stage(interleaved, 0));
                    })
                    .unwrap(),
                _ => {}
            }
            found += interleaved_stage(interleaved, input + 1);
            found
        };
        let inputs = (0..200).inspect(|input| {
            if input % 16 == 5 {
                stage(*input);
            }
        });
        let mut results = Vec::new();
        spe.thread_scope(|scope| {
            scope
                .spawn(|_| {
                    while !ended.get() {
                        spe.yield_now();
                    }
                })
                .unwrap();
            let done = spe
                .interleave(5, inputs, body)
                .as_completed(|index, found| {
                    if index % 16 == 7 {
                        stage(index);
                    }
                    results.push((index, found));
                });
            assert_eq!(done.unwrap().inputs, 200);
            ended.set(true);
        });
        results.sort_unstable();
        let expected = (0..200).map(|input| (input, 2 * input + 1));
        assert!(results.into_iter().eq(expected));
    });
}

fn inputs_are_not_asked_for_after_their_end<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        for in_flight in [1.into(), 4.into(), InFlight::Automatic] {
            for count in [0, 3, 300, 10_000] {
                let (mut next, mut has_ended) = (0, false);
                let inputs = std::iter::from_fn(|| {
                    assert!(!has_ended, "asked for an input after the end");
                    next += 1;
                    has_ended = next > count;
                    (!has_ended).then_some(next)
                });
                let mut sum = 0;
                let done = spe
                    .interleave(in_flight, inputs, |_, input| input)
                    .as_completed(|_, input| sum += input)
                    .unwrap();
                assert_eq!((done.inputs, sum), (count, count * (count + 1) / 2));
            }
        }
    });
}

struct Misjudged<I>(I, (usize, Option<usize>));

impl<I: Iterator> Iterator for Misjudged<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.1
    }
}

fn inputs_may_be_more_or_fewer_than_they_said<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        for in_flight in [1.into(), 4.into(), InFlight::Automatic] {
            for (count, failing) in [(40, None), (40, Some(39)), (20_000, None)] {
                for said in [0, 7, 3_000, 1 << 40] {
                    let mut seen = Vec::new();
                    let body = |_: InterleavedSpe<'_, M::Spe>, input| {
                        assert!(Some(input) != failing, "as it should");
                        input
                    };
                    let inputs = Misjudged(0..count, (said / 2, Some(said)));
                    let outcome =
                        spe.interleave(in_flight, inputs, body)
                            .as_completed(|index, input| {
                                assert_eq!(index, input);
                                seen.push(input);
                            });
                    match (outcome, failing) {
                        (Ok(done), None) => assert_eq!(done.inputs, count),
                        (Err(InterleaveError::Panicked { index, .. }), Some(failing)) => {
                            assert_eq!(index, failing);
                        }
                        (outcome, _) => panic!("{outcome:?}"),
                    }
                    let worked = failing.unwrap_or(count);
                    assert!(seen.into_iter().eq(0..worked));
                }
            }
        }
    });
}

fn nothing_comes_of_nothing<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        for in_flight in [InFlight::Fixed(3), InFlight::Automatic] {
            let results = spe
                .interleave(in_flight, [], |_, input: u8| input)
                .collect();
            assert!(results.unwrap().is_empty());
        }
    });
}

fn a_sink_may_wait<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let mut seen = Vec::new();
        let body = |_: InterleavedSpe<'_, M::Spe>, input: usize| linger(spe, input);
        spe.interleave(4, 0..40, body)
            .as_completed(|index, ()| {
                spe.yield_now();
                seen.push(index);
            })
            .unwrap();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..40));
    });
}

fn inputs_may_be_waited_for<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let inputs = (0..40).inspect(|_| spe.yield_now());
        let results = spe.interleave(4, inputs, |_, input| input).collect();
        assert!(results.unwrap().into_iter().eq(0..40));
    });
}

fn a_panic_names_its_input<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let (begun, mut done) = (Cell::new(0), Vec::new());
        let body = |_: InterleavedSpe<'_, M::Spe>, input: usize| {
            begun.set(begun.get() + 1);
            spe.yield_now();
            assert!(input != 5, "no such key");
            spe.yield_now();
        };
        let outcome = spe
            .interleave(4, 0..100, body)
            .as_completed(|index, ()| done.push(index));
        let error = outcome.unwrap_err();
        assert_eq!(
            error.to_string(),
            "interleaved work panicked at input 5: no such key"
        );
        let InterleaveError::Panicked { index, payload } = error else {
            unreachable!()
        };
        assert_eq!(index, 5);
        assert_eq!(*payload.downcast_ref::<&str>().unwrap(), "no such key");
        // Inputs in flight are finished, and no further input is begun.
        assert!((6..=12).contains(&begun.get()), "{}", begun.get());
        assert_eq!(done.len(), begun.get() - 1);
    });
}

fn a_panic_of_one_alone_names_its_input<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        let body = |_: InterleavedSpe<'_, M::Spe>, input: usize| assert!(input != 2, "no such key");
        let outcome = spe.interleave(InFlight::Automatic, 0..100, body).collect();
        let text = outcome.unwrap_err().to_string();
        assert_eq!(text, "interleaved work panicked at input 2: no such key");
    });
}

fn a_panic_of_inputs_or_sink_names_its_input<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        for in_flight in [1, 4] {
            let inputs = (0..100).inspect(|input| assert!(*input != 50, "no such input"));
            let outcome = spe
                .interleave(in_flight, inputs, |_, input| input)
                .collect();
            let text = outcome.unwrap_err().to_string();
            assert_eq!(text, "interleaved work panicked at input 50: no such input");
            let outcome = spe
                .interleave(in_flight, 0..100, |_, input: usize| input)
                .as_completed(|index, _| assert!(index != 60, "no room"));
            let text = outcome.unwrap_err().to_string();
            assert_eq!(text, "interleaved work panicked at input 60: no room");
        }
    });
}

fn what_was_given_is_dropped_once<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        for in_flight in [1.into(), 4.into(), InFlight::Automatic] {
            for failing in [None, Some(3), Some(3_000)] {
                let owned = Rc::new(());
                let [inputs, sink, body] = [(); 3].map(|()| Rc::clone(&owned));
                let inputs = (0..5_000).inspect(move |_| _ = &inputs);
                let body = move |_: InterleavedSpe<'_, M::Spe>, input: usize| {
                    assert!(Some(input) != failing, "as it should");
                    Rc::clone(&body)
                };
                let outcome = spe
                    .interleave(in_flight, inputs, body)
                    .as_completed(move |_, result| assert!(Rc::ptr_eq(&sink, &result)));
                assert_eq!(outcome.is_err(), failing.is_some());
                assert_eq!(Rc::strong_count(&owned), 1);
            }
        }
    });
}

fn stacks_that_do_not_fit_are_an_error<M: Machine>(machine: &M) {
    on_one_spe(machine, |spe| {
        match spe.interleave(100, 0..200, |_, input| input).collect() {
            // On a host that is not strict, stacks take no room in a local store.
            Ok(results) => assert!(results.into_iter().eq(0..200)),
            Err(InterleaveError::Stack(error)) => assert_eq!(error.fit(), 64),
            Err(error) => panic!("{error}"),
        }
    });
}

fn a_deadlock_in_a_body_ends_the_run<M: Machine>(machine: &M) {
    for in_flight in [1, 2] {
        let outcome = machine.run(|ppe| {
            let program = |spe: &M::Spe| {
                let body = |spe: InterleavedSpe<'_, M::Spe>, _| {
                    spe.wait_until(&"what never comes", &mut || false)
                };
                let outcome = spe.interleave(in_flight, 0..10, body).collect();
                unreachable!("the run was cancelled, but the program has {outcome:?}");
            };
            drop(ppe.spawn(spe(0), program));
        });
        let text = outcome.unwrap_err().to_string();
        assert!(text.starts_with("deadlock: "), "{text}");
        let waits = text.matches("waits for what never comes").count();
        assert_eq!(waits, in_flight, "{text}");
    }
}

fn work_in_a_destructor_of_a_cancelled_program_says_what_is_missing<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    struct Works<'a, S: Spe>(&'a S, &'a Mutex<Vec<String>>);
    impl<S: Spe> Drop for Works<'_, S> {
        fn drop(&mut self) {
            for in_flight in [InFlight::Fixed(1), InFlight::Fixed(8), InFlight::Automatic] {
                let body = |_: InterleavedSpe<'_, S>, input: usize| input;
                let result = self.0.interleave(in_flight, 0..100_000, body);
                let outcome = match result.collect() {
                    Ok(results) => format!("{} results", results.len()),
                    Err(error) => error.to_string(),
                };
                self.1.lock().unwrap().push(outcome);
            }
        }
    }
    let outcomes = Mutex::default();
    let result = machine.run(|ppe| {
        let program = |spe: &M::Spe| {
            let _works = Works(spe, &outcomes);
            words.read(spe);
        };
        drop(ppe.spawn(spe(0), program));
    });
    assert!(matches!(result, Err(RunError::Deadlock { .. })));
    let outcomes = outcomes.into_inner().unwrap();
    let [alone, fixed, automatic] = &*outcomes else {
        panic!("{outcomes:?}");
    };
    assert_eq!(alone, "100000 results");
    let missing = "inputs had been taken; the others were not worked on";
    assert_eq!(*fixed, format!("the run was cancelled after 0 {missing}"));
    // The machine decides how many inputs one thread takes before more threads are tried.
    assert!(
        automatic == alone || automatic.ends_with(missing),
        "{automatic}"
    );
}

fn work_without_end_is_cancelled_with_the_run<M: Machine>(machine: &M, words: &impl Words<M>) {
    for in_flight in [InFlight::Fixed(1), InFlight::Fixed(4), InFlight::Automatic] {
        let table = [1_u64; 64];
        let outcome = machine.run(|ppe| {
            let program = |spe: &M::Spe| {
                words.answer(spe, 1);
                let body = |spe: InterleavedSpe<'_, M::Spe>, input: usize| {
                    let word = slice::from_ref(&table[input % table.len()]);
                    spe.stage(word).unwrap()[0]
                };
                let outcome = spe
                    .interleave(in_flight, 0.., body)
                    .as_completed(|_, word| assert_eq!(word, 1));
                unreachable!("the run was cancelled, but the program has {outcome:?}");
            };
            drop(ppe.spawn(spe(0), program));
            words.read_answer(ppe, spe(0));
            panic!("enough");
        });
        let text = outcome.map(|(): ()| ()).unwrap_err().to_string();
        assert_eq!(text, "the main program panicked on the PPE: enough");
    }
}

fn work_without_end_lets_other_spes_hear_from_outside<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    for in_flight in [InFlight::Fixed(1), InFlight::Fixed(4), InFlight::Automatic] {
        let spes = machine.topology().spes().len() as u16;
        let outcome = machine.run(|ppe| {
            let works = ppe.spawn(spe(0), |spe: &M::Spe| {
                let inputs = std::iter::from_fn(|| words.try_read(spe).is_none().then_some(1_u64));
                let body = |spe: InterleavedSpe<'_, M::Spe>, input: u64| {
                    spe.stage(slice::from_ref(&input)).unwrap()[0]
                };
                let work = spe.interleave(in_flight, inputs, body);
                work.as_completed(|_, word| assert_eq!(word, 1)).unwrap();
            });
            // If a core has several SPEs, some SPEs share the core of SPE 0.
            let others: Vec<_> = (1..spes)
                .map(|other| ppe.spawn(spe(other), |spe: &M::Spe| words.read(spe)))
                .collect();
            for (word, other) in others.into_iter().enumerate() {
                words.send(ppe, spe(1 + word as u16), word as u32);
                assert_eq!(other.join().unwrap(), word as u32);
            }
            words.send(ppe, spe(0), 1);
            works.join().unwrap();
        });
        outcome.unwrap();
    }
}

/// The time of an input decides how many inputs are worked on between two looks outside, for
/// messages.
fn slow_work_lets_others_hear_from_outside<M: Machine>(machine: &M, words: &impl Words<M>) {
    for in_flight in [InFlight::Fixed(1), InFlight::Fixed(4), InFlight::Automatic] {
        let word = [1_u64];
        let outcome = machine.run(|ppe| {
            let program = |spe: &M::Spe| {
                let heard = Cell::new(false);
                spe.thread_scope(|scope| {
                    let listen = |_| {
                        words.read(spe);
                        heard.set(true);
                    };
                    scope.spawn(listen).unwrap();
                    spe.yield_now();
                    let body = |spe: InterleavedSpe<'_, M::Spe>, input: usize| {
                        if input == 100 {
                            // The answer is late, because each batch begins with a look outside.
                            words.answer(&spe, 1);
                        }
                        if !heard.get() {
                            thread::sleep(Duration::from_micros(500));
                        }
                        spe.stage(&word).unwrap()[0]
                    };
                    let ones = spe.interleave(in_flight, 0..1_000, body).collect().unwrap();
                    assert_eq!(ones.len(), 1_000);
                    assert!(heard.get(), "{in_flight:?}: no SPE listened meanwhile");
                });
            };
            let works = ppe.spawn(spe(0), program);
            words.read_answer(ppe, spe(0));
            words.send(ppe, spe(0), 1);
            works.join().unwrap();
        });
        outcome.unwrap();
    }
}
