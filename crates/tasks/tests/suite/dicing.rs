//! Tests of dicing: where a task is split, what a dice may return, and numbers at the limits.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cellworks_machine::Machine;
use cellworks_tasks::{
    Blocks, Part, Pool, Read, Scheduler, Staging, TaskError, Update, Value, Worker, Write,
};

crate::on_every_machine!(
    a_task_is_split_where_its_dice_says,
    a_dice_that_halves_leaves_single_pieces,
    a_dice_is_not_asked_for_more_parts_than_pieces,
    a_dice_that_cuts_nowhere_is_asked_once,
    a_dice_that_cuts_where_no_piece_begins_is_an_error,
    a_dice_that_panics_is_an_error,
    no_task_begins_after_a_dice_has_failed,
    data_that_cannot_be_split_is_refused,
    the_largest_ranges_are_split,
    a_range_that_ends_before_it_begins_is_not_split,
    the_longest_slices_are_split,
    every_threshold_splits_or_does_not,
    a_copied_value_is_not_cloned,
    a_dice_makes_the_data_of_the_parts,
    a_dice_that_returns_other_parts_is_an_error,
    a_dice_that_returns_another_block_is_an_error,
);

/// Returns the schedulers that split tasks and that the machine has.
fn schedulers<M: Machine>(machine: &M) -> Vec<Scheduler> {
    let all = [Scheduler::Stealing, Scheduler::ThreeLevel];
    let is_there = |&scheduler: &Scheduler| Pool::new(machine).scheduler(scheduler).run(|_| ());
    all.into_iter().filter(|it| is_there(it).is_ok()).collect()
}

/// Runs a task of `pieces` numbers with a dice of its own. Returns the ranges with which the body
/// was called, in order.
fn ranges_by<M, G>(pool: &Pool<'_, M>, pieces: usize, dice: G) -> Result<Vec<Range<usize>>, String>
where
    M: Machine,
    G: Fn(Range<usize>, usize) -> Vec<usize> + Send + Sync,
{
    let ranges = Mutex::new(Vec::new());
    let (ranges_of, dice) = (&ranges, &dice);
    let result = pool.run(|main| {
        main.phase(|phase| {
            let data = Part(0..pieces);
            let push = move |range| ranges_of.lock().unwrap().push(range);
            let task = phase.task_with_cuts("rows", data, move |_, range| push(range), dice);
            phase.submit(main, task)?;
            Ok(())
        })
    });
    result.unwrap().map_err(|error| error.to_string())?;
    Ok(in_order(ranges))
}

fn in_order(ranges: Mutex<Vec<Range<usize>>>) -> Vec<Range<usize>> {
    let mut ranges = ranges.into_inner().unwrap();
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// Checks that the ranges are parts of `whole`, and that no part is missing, doubled or empty.
fn are_parts_of(ranges: &[Range<usize>], whole: Range<usize>) {
    let mut next = whole.start;
    for range in ranges {
        assert_eq!(range.start, next, "{ranges:?}");
        assert!(range.start < range.end, "{ranges:?}");
        next = range.end;
    }
    assert_eq!(next, whole.end, "{ranges:?}");
}

fn a_task_is_split_where_its_dice_says<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let mut table = vec![0_u32; 100 * 8];
        let asked = Mutex::new(Vec::new());
        let ran = Mutex::new(Vec::new());
        let (asked_of, ran_of) = (&asked, &ran);
        Pool::new(machine)
            .scheduler(scheduler)
            .run(|main| {
                main.phase(|phase| {
                    let data = (Part(1_000..1_100), Update::rows(&mut table, 8));
                    let dice = move |rows: Range<usize>, parts| {
                        assert!(2 <= parts && parts <= rows.len());
                        // The first third, so that the parts differ.
                        let cut = rows.start + rows.len().div_ceil(3);
                        asked_of.lock().unwrap().push((rows, cut));
                        vec![cut]
                    };
                    let body = move |part: Range<usize>, rows: &mut [u32]| {
                        assert_eq!(rows.len(), 8 * part.len());
                        for (number, row) in part.clone().zip(rows.chunks_mut(8)) {
                            row.iter_mut().for_each(|x| *x += number as u32);
                        }
                        ran_of.lock().unwrap().push(part);
                    };
                    let task = phase.task_with_cuts(
                        "rows",
                        data,
                        move |_, (part, rows)| body(part, rows),
                        dice,
                    );
                    phase.submit(main, task)?;
                    Ok(())
                })
            })
            .unwrap()
            .unwrap();
        for (number, row) in table.chunks(8).enumerate() {
            assert!(row.iter().all(|&x| x as usize == 1_000 + number));
        }
        let ran = in_order(ran);
        are_parts_of(&ran, 1_000..1_100);
        let asked = asked.into_inner().unwrap();
        assert_eq!(ran.len(), asked.len() + 1);
        // Pieces have the numbers of the submitted task, also in parts that are split again.
        let mut expected = vec![0..100; 1];
        for (rows, cut) in asked {
            let place = expected.iter().position(|part| *part == rows).unwrap();
            expected.splice(place..=place, [rows.start..cut, cut..rows.end]);
        }
        let in_task = |range: &Range<usize>| range.start - 1_000..range.end - 1_000;
        assert_eq!(ran.iter().map(in_task).collect::<Vec<_>>(), expected);
    }
}

fn a_dice_that_halves_leaves_single_pieces<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let asked = AtomicUsize::new(0);
        let pool = Pool::new(machine)
            .scheduler(scheduler)
            .dicing(Some(usize::MAX));
        let ranges = ranges_by(&pool, 8, |pieces, _| {
            asked.fetch_add(1, Ordering::Relaxed);
            vec![pieces.start + pieces.len() / 2]
        });
        let ranges = ranges.unwrap();
        are_parts_of(&ranges, 0..8);
        if scheduler == Scheduler::Stealing {
            assert_eq!((ranges.len(), asked.into_inner()), (8, 7));
        }
    }
}

fn a_dice_is_not_asked_for_more_parts_than_pieces<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let pool = Pool::new(machine)
            .scheduler(scheduler)
            .dicing(Some(usize::MAX));
        let ranges = ranges_by(&pool, 3, |pieces, parts| {
            assert_eq!((pieces, parts), (0..3, 3));
            vec![1, 2]
        });
        assert_eq!(ranges.unwrap(), [0..1, 1..2, 2..3]);
        for pieces in [0, 1] {
            let ranges = ranges_by(&pool, pieces, |_, _| panic!("asked"));
            assert_eq!(ranges.unwrap(), vec![0..pieces; 1]);
        }
    }
}

fn a_dice_that_cuts_nowhere_is_asked_once<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        const TASKS: usize = 8;
        let asked = AtomicUsize::new(0);
        let ran = AtomicUsize::new(0);
        let (asked_of, ran_of) = (&asked, &ran);
        let pool = Pool::new(machine).scheduler(scheduler);
        pool.workers(2)
            .run(|main| {
                main.phase(|phase| {
                    for _ in 0..TASKS {
                        let dice = |_, _| {
                            asked_of.fetch_add(1, Ordering::Relaxed);
                            Vec::new()
                        };
                        let ran = move |range| {
                            assert_eq!(range, 0..100);
                            ran_of.fetch_add(1, Ordering::Relaxed);
                        };
                        let task = phase.task_with_cuts(
                            "rows",
                            Part(0..100),
                            move |_, range| ran(range),
                            dice,
                        );
                        phase.submit(main, task)?;
                    }
                    Ok(())
                })
            })
            .unwrap()
            .unwrap();
        assert_eq!(ran.into_inner(), TASKS);
        let asked = asked.into_inner();
        assert!((1..=TASKS).contains(&asked), "{scheduler:?}: {asked}");
    }
}

fn a_dice_that_cuts_where_no_piece_begins_is_an_error<M: Machine>(machine: &M) {
    let cases: [(&[usize], &str); 6] = [
        (&[0], "piece 0"),
        (&[0, 40], "piece 0"),
        (&[100], "piece 100"),
        (&[40, 40], "piece 40, after a cut at piece 40"),
        (&[40, 30], "piece 30, after a cut at piece 40"),
        (
            &[40, usize::MAX],
            "piece 18446744073709551615, after a cut at piece 40",
        ),
    ];
    for scheduler in schedulers(machine) {
        for (cuts, what) in cases {
            let pool = Pool::new(machine).scheduler(scheduler);
            assert_eq!(
                ranges_by(&pool, 100, |_, _| cuts.to_vec()).unwrap_err(),
                format!(
                    "the dice of task 'rows' (1) cut its pieces 0 to 99 at {what}: a dice returns the first piece of \
                     each part except the first part, in rising order, and no part is empty"
                )
            );
        }
    }
}

fn a_dice_that_panics_is_an_error<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let pool = Pool::new(machine).scheduler(scheduler);
        assert_eq!(
            ranges_by(&pool, 100, |_, _| panic!("no dice")).unwrap_err(),
            "task 'rows' (1) panicked: no dice"
        );
        // The dice of a part, too.
        let error = ranges_by(&pool, 100, |pieces, _| match pieces.start {
            0 if pieces.end == 100 => vec![50],
            _ => panic!("no dice for {pieces:?}"),
        });
        if let Err(error) = error {
            let of_part = "task 'rows' (1) panicked: no dice for ";
            assert!(error.starts_with(of_part), "{error}");
        }
    }
}

fn no_task_begins_after_a_dice_has_failed<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let ran = AtomicUsize::new(0);
        let ran_of = &ran;
        let pool = Pool::new(machine).scheduler(scheduler);
        let error = pool.run(|main| {
            main.phase(|phase| {
                let task =
                    phase.task_with_cuts("rows", Part(0..100), |_, _| (), |_, _| panic!("no dice"));
                let rows = phase.submit(main, task)?;
                let after = phase.task("after", Value(()), |_, ()| {
                    ran_of.fetch_add(1, Ordering::Relaxed);
                });
                phase.submit(main, after.after(&rows))?;
                Ok(())
            })
        });
        let error = error.unwrap().unwrap_err();
        assert!(matches!(error, TaskError::Panicked { .. }), "{error}");
        assert_eq!(ran.into_inner(), 0);
    }
}

fn data_that_cannot_be_split_is_refused<M: Machine>(machine: &M) {
    let mut rows = [0_u8; 12];
    let error = Pool::new(machine).run(|main| {
        main.phase(|phase| {
            let data = (Part(0..3), Write::rows(&mut rows, 3));
            phase.submit(main, phase.task("draw", data, |_, _| ()).diced())?;
            Ok(())
        })
    });
    assert_eq!(
        error.unwrap().unwrap_err().to_string(),
        "task 'draw' (1) may be diced, but its data has 3 and 4 pieces: give it data of which each element has the \
         same number of pieces (`Part`, rows of an `Update` or `Write`)"
    );
    let error = Pool::new(machine).run(|main| {
        main.phase(|phase| {
            let dice = |_, _| vec![1];
            let task = phase.task_with_cuts("draw", Value(1), |_, _| (), dice);
            phase.submit(main, task)?;
            Ok(())
        })
    });
    assert_eq!(
        error.unwrap().unwrap_err().to_string(),
        "task 'draw' (1) may be diced, but its data has no pieces: give it data of which each element has the same \
         number of pieces (`Part`, rows of an `Update` or `Write`)"
    );
}

/// Runs a diced task of a range. Returns the ranges with which the body was called, in order.
fn ranges_of<M: Machine>(pool: &Pool<'_, M>, whole: Range<usize>) -> Vec<Range<usize>> {
    let ranges = Mutex::new(Vec::new());
    pool.run(|main| {
        main.phase(|phase| {
            let task = phase.task("rows", Part(whole), |_, range| {
                ranges.lock().unwrap().push(range);
            });
            phase.submit(main, task.diced())?;
            Ok(())
        })
    })
    .unwrap()
    .unwrap();
    in_order(ranges)
}

fn the_largest_ranges_are_split<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let pool = Pool::new(machine).scheduler(scheduler).workers(2);
        for end in [1 << 58, 1 << 60, usize::MAX] {
            let ranges = ranges_of(&pool, 0..end);
            assert!(ranges.len() > 1);
            are_parts_of(&ranges, 0..end);
        }
        let ranges = ranges_of(&pool, usize::MAX - 3..usize::MAX);
        are_parts_of(&ranges, usize::MAX - 3..usize::MAX);
    }
}

fn a_range_that_ends_before_it_begins_is_not_split<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let pool = Pool::new(machine).scheduler(scheduler);
        let reversed = Range { start: 9, end: 3 };
        assert_eq!(ranges_of(&pool, reversed.clone()), [reversed]);
        assert_eq!(ranges_of(&pool, 5..5), vec![5..5; 1]);
    }
}

fn the_longest_slices_are_split<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let pool = Pool::new(machine).scheduler(scheduler).workers(2);
        let mut nothing = [(); usize::MAX];
        let elements = Mutex::new(0_u128);
        pool.run(|main| {
            main.phase(|phase| {
                let data = (Part(0..usize::MAX), Update::new(&mut nothing[..]));
                let task = phase.task("nothing", data, |_, (part, slice)| {
                    assert_eq!(part.len(), slice.len());
                    *elements.lock().unwrap() += slice.len() as u128;
                });
                phase.submit(main, task.diced())?;
                Ok(())
            })
        })
        .unwrap()
        .unwrap();
        assert_eq!(elements.into_inner().unwrap(), usize::MAX as u128);
    }
}

fn every_threshold_splits_or_does_not<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        for (threshold, splits) in [
            (None, false),
            (Some(0), false),
            (Some(1 << 62), true),
            (Some(1 << 63), true),
            (Some(usize::MAX), true),
        ] {
            let pool = Pool::new(machine)
                .scheduler(scheduler)
                .staging(Staging::Ahead(usize::MAX))
                .dicing(threshold);
            let ranges = ranges_of(&pool, 0..1 << 12);
            assert_eq!(ranges.len() > 1, splits, "{scheduler:?}, {threshold:?}");
            are_parts_of(&ranges, 0..1 << 12);
        }
    }
}

fn a_copied_value_is_not_cloned<M: Machine>(machine: &M) {
    #[derive(Copy)]
    struct Uncloned(u32);

    #[expect(
        clippy::non_canonical_clone_impl,
        reason = "this is the case that is tested"
    )]
    impl Clone for Uncloned {
        fn clone(&self) -> Self {
            panic!("cloned")
        }
    }
    for scheduler in schedulers(machine) {
        let pool = Pool::new(machine).scheduler(scheduler);
        let sum = AtomicUsize::new(0);
        let mut rows = vec![0_u32; 64];
        pool.staging(Staging::Ahead(2))
            .run(|main| {
                main.phase(|phase| {
                    for row in rows.chunks_mut(4) {
                        let data = (Value(Uncloned(1)), Update::new(row));
                        let task = phase.task("add", data, |_, (one, _)| {
                            sum.fetch_add(one.0 as usize, Ordering::Relaxed);
                        });
                        phase.submit(main, task)?;
                    }
                    Ok(())
                })
            })
            .unwrap()
            .unwrap();
        assert_eq!(sum.into_inner(), 16);
    }
}

/// Runs a task of 8 numbers with a dice that returns the parts. Returns the numbers of the bodies.
fn parts_by<M, G>(pool: &Pool<'_, M>, dice: G) -> Result<Vec<Range<usize>>, String>
where
    M: Machine,
    G: Fn(Range<usize>) -> Vec<Range<usize>> + Send + Sync,
{
    let letters: Vec<u8> = (0..8).collect();
    let ranges = Mutex::new(Vec::new());
    let (ranges_of, dice, letters) = (&ranges, &dice, &letters);
    let result = pool.run(|main| {
        main.phase(|phase| {
            let body = move |range: Range<usize>, letters: &[u8]| {
                // Each part reads only its own letters.
                assert!(
                    letters
                        .iter()
                        .copied()
                        .eq(range.start as u8..range.end as u8)
                );
                ranges_of.lock().unwrap().push(range);
            };
            let dice = move |(Part(range), _): (Part, Read<'_, u8>), _| {
                let part = |range: Range<usize>| {
                    let letters = letters.get(range.clone()).unwrap_or_default();
                    (Part(range), Read::new(letters))
                };
                dice(range).into_iter().map(part).collect()
            };
            let data = (Part(0..8), Read::new(&letters[..]));
            let task = phase.task_with_dice(
                "halves",
                data,
                move |_, (range, letters)| body(range, letters),
                dice,
            );
            phase.submit(main, task)?;
            Ok(())
        })
    });
    result.unwrap().map_err(|error| error.to_string())?;
    Ok(in_order(ranges))
}

fn a_dice_makes_the_data_of_the_parts<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let pool = Pool::new(machine).scheduler(scheduler);
        let halves = |whole: Range<usize>| {
            let middle = whole.start + whole.len() / 2;
            // In any order.
            vec![middle..whole.end, whole.start..middle]
        };
        let ranges = parts_by(&pool, halves).unwrap();
        are_parts_of(&ranges, 0..8);
        assert!(ranges.len() > 1, "{ranges:?}");
        // One part that is the whole: the task runs as it is.
        let whole = parts_by(&pool, |whole| vec![whole]).unwrap();
        assert!(whole.len() == 1 && whole[0] == (0..8), "{whole:?}");
    }
}

#[expect(
    clippy::single_range_in_vec_init,
    reason = "a list with one range is meant"
)]
fn a_dice_that_returns_other_parts_is_an_error<M: Machine>(machine: &M) {
    let rule = "a dice returns each number of a `Part` in one part, and no empty part";
    for scheduler in schedulers(machine) {
        let pool = Pool::new(machine).scheduler(scheduler);
        for (parts, misfit) in [
            (vec![0..0, 0..8], "after the parts up to 0 follows 0..0"),
            (vec![0..4, 5..8], "after the parts up to 4 follows 5..8"),
            (vec![0..5, 4..8], "after the parts up to 5 follows 4..8"),
            (vec![0..4, 4..9], "the parts end at 9"),
            (vec![0..4, 4..7], "the parts end at 7"),
            (vec![1..8], "after the parts up to 0 follows 1..8"),
            (vec![], "the parts end at 0"),
            (
                vec![0..4, 4..4, 4..8],
                "after the parts up to 4 follows 4..4",
            ),
        ] {
            let error = parts_by(&pool, |_| parts.clone()).unwrap_err();
            let expected = format!(
                "the dice of task 'halves' (1) returned parts that are not 0..8: {misfit}: {rule}"
            );
            assert_eq!(error, expected);
        }
    }
}

/// The block is changed by another task at the same time.
fn a_dice_that_returns_another_block_is_an_error<M: Machine>(machine: &M) {
    for scheduler in schedulers(machine) {
        let mut numbers = vec![0_u64; 64];
        let result = Pool::new(machine).scheduler(scheduler).run(|main| {
            main.phase(|phase| {
                let blocks: &Blocks<'_, u64> = Box::leak(Box::new(phase.blocks(&mut numbers, 16)));
                let body = |_: &Worker<'_, M::Spe>, (range, block): (Range<usize>, &[u64])| {
                    assert!(range.len() <= 8 && block.len() == 16);
                };
                let dice = |(Part(range), _): (Part, Read<'_, u64>), _: usize| {
                    let middle = range.start + range.len() / 2;
                    vec![
                        (Part(range.start..middle), blocks.read(3)),
                        (Part(middle..range.end), blocks.read(0)),
                    ]
                };
                let data = (Part(0..8), blocks.read(0));
                let task = phase.task_with_dice("diced", data, body, dice);
                phase.submit(main, task)?;
                Ok(())
            })
        });
        let expected = "the dice of task 'diced' (1) returned a part that reads block 3, which the task has not named: \
                        name each block that a part may read in the data of the task";
        assert_eq!(result.unwrap().unwrap_err().to_string(), expected);
    }
}
