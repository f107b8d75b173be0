//! Typed staging: the data that arrives, the data that goes back, and the views that are lent.

use std::cell::RefCell;

use cellworks::machine::{Machine, Spe};

use crate::{on_every_machine, spe};

on_every_machine![
    a_staged_slice_has_the_data,
    a_mutable_view_goes_back_when_it_is_dropped,
    a_mutable_view_goes_back_when_it_is_committed,
    an_output_view_replaces_all_that_is_written,
    a_stream_lends_every_tile_once,
    a_stream_of_nothing_ends_at_once,
    two_views_overlap_a_transfer_and_its_use,
    a_mutable_get_ahead_is_changed_and_put_back,
    a_mutable_get_without_a_wait_puts_nothing_back,
    a_view_may_be_declared_before_its_slice,
    views_can_be_kept_in_collections,
    a_leaked_view_does_no_harm,
    what_is_in_flight_may_be_dropped,
    types_of_all_alignments_can_be_staged,
    threads_of_an_spe_share_a_ref_cell,
];

fn a_staged_slice_has_the_data<M: Machine>(machine: &M) {
    let data: Vec<u64> = (0..1_000).collect();
    let sum = machine
        .run(|ppe| {
            let program = |spe: &M::Spe| spe.stage(&data).unwrap().iter().sum::<u64>();
            ppe.spawn(spe(1), program).join().unwrap()
        })
        .unwrap();
    assert_eq!(sum, 499_500);
}

fn a_mutable_view_goes_back_when_it_is_dropped<M: Machine>(machine: &M) {
    let mut data: Vec<u32> = (0..4_000).collect();
    machine
        .run(|ppe| {
            // All SPEs change disjoint parts of one slice at once.
            let parts = data.chunks_mut(1_000).zip(ppe.topology().spes());
            for (part, at) in parts {
                let program = move |spe: &M::Spe| {
                    for number in spe.stage_mut(part).unwrap().iter_mut() {
                        *number += 1;
                    }
                };
                drop(ppe.spawn(at, program));
            }
        })
        .unwrap();
    assert!(data.iter().enumerate().all(|(i, n)| *n == i as u32 + 1));
}

fn a_mutable_view_goes_back_when_it_is_committed<M: Machine>(machine: &M) {
    let mut data = [1_u16, 2, 3];
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let mut view = spe.stage_mut(&mut data).unwrap();
                view[1] = 20;
                view.commit();
                assert_eq!(data, [1, 20, 3]);
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
    assert_eq!(data, [1, 20, 3]);
}

fn an_output_view_replaces_all_that_is_written<M: Machine>(machine: &M) {
    let mut data = vec![0_u8; 777];
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| spe.stage_out(&mut data).unwrap().fill(9);
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
    assert_eq!(data, [9; 777]);
}

fn a_stream_lends_every_tile_once<M: Machine>(machine: &M) {
    let data: Vec<u32> = (0..1_050).collect();
    let (lengths, seen) = machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let (mut lengths, mut seen) = (Vec::new(), Vec::new());
                let mut tiles = spe.stream(&data, 100);
                while let Some(tile) = tiles.next().unwrap() {
                    lengths.push(tile.len());
                    seen.extend_from_slice(tile);
                }
                (lengths, seen)
            };
            ppe.spawn(spe(0), program).join().unwrap()
        })
        .unwrap();
    assert_eq!(lengths, [[100; 10].as_slice(), &[50]].concat());
    assert_eq!(seen, data);
}

fn a_stream_of_nothing_ends_at_once<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                assert!(spe.stream::<u32>(&[], 8).next().unwrap().is_none());
                assert!(spe.stage::<u32>(&[]).unwrap().is_empty());
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn two_views_overlap_a_transfer_and_its_use<M: Machine>(machine: &M) {
    let data: Vec<u32> = (0..600).collect();
    let sum = machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let mut tiles = data.chunks(200);
                let mut current = spe.stage(tiles.next().unwrap()).unwrap();
                let mut sum = 0;
                for tile in tiles {
                    let next = spe.stage_ahead(tile).unwrap();
                    sum += current.iter().sum::<u32>();
                    current = next.wait();
                }
                sum + current.iter().sum::<u32>()
            };
            ppe.spawn(spe(0), program).join().unwrap()
        })
        .unwrap();
    assert_eq!(sum, 179_700);
}

fn a_mutable_get_ahead_is_changed_and_put_back<M: Machine>(machine: &M) {
    let mut data: Vec<u32> = (0..3_000).collect();
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let mut ahead = None;
                for block in data.chunks_mut(700).map(Some).chain([None]) {
                    let next = block.map(|block| spe.stage_mut_ahead(block).unwrap());
                    if let Some(arriving) = std::mem::replace(&mut ahead, next) {
                        arriving.wait().iter_mut().for_each(|number| *number *= 2);
                    }
                }
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
    assert!(data.iter().enumerate().all(|(i, n)| *n == 2 * i as u32));
}

fn a_mutable_get_without_a_wait_puts_nothing_back<M: Machine>(machine: &M) {
    let mut data = vec![7_u8; 100 << 10];
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                // Without released room, these gets would not fit into the local store.
                for _ in 0..4 {
                    drop(spe.stage_mut_ahead(&mut data).unwrap());
                }
                drop(spe.stage_mut_ahead(&mut data).unwrap());
                // A put of the dropped get would overwrite these bytes.
                data.fill(8);
                spe.stage_out(&mut data[..1]).unwrap()[0] = 9;
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
    assert_eq!(data[0], 9);
    assert!(data[1..].iter().all(|byte| *byte == 8));
}

#[expect(
    clippy::needless_late_init,
    reason = "the order of declaration is what is tested"
)]
fn a_view_may_be_declared_before_its_slice<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let view;
                let slice = [1_u8, 2, 3];
                view = spe.stage(&slice).unwrap();
                assert_eq!(*view, [1, 2, 3]);
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn views_can_be_kept_in_collections<M: Machine>(machine: &M) {
    let data: Vec<u32> = (0..100).collect();
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let views: Vec<_> = data.chunks(10).map(|c| spe.stage(c).unwrap()).collect();
                assert_eq!(views[9][9], 99);
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn a_leaked_view_does_no_harm<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let mut target = vec![1_u32; 64];
                let source = vec![2_u32; 64];
                std::mem::forget(spe.stage(&source).unwrap());
                std::mem::forget(spe.stage_ahead(&source).unwrap());
                drop(source);
                let mut view = spe.stage_mut(&mut target).unwrap();
                view[0] = 5;
                std::mem::forget(view);
                // Machines may differ only in whether the 5 has reached the target.
                assert!(target[0] == 1 || target[0] == 5);
                assert_eq!(target[1..], [1; 63]);
                drop(target);
                assert_eq!(*spe.stage(&[3_u8; 8]).unwrap(), [3; 8]);
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn what_is_in_flight_may_be_dropped<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                for _ in 0..1_000 {
                    let source = vec![7_u8; 4_096];
                    drop(spe.stage_ahead(&source).unwrap());
                }
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn types_of_all_alignments_can_be_staged<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let one = spe.stage(&[1_u8; 3]).unwrap();
                let two = spe.stage(&[2_u128; 3]).unwrap();
                let four = spe.stage(&[[1.5_f32, 2.5, 3.5]; 5]).unwrap();
                assert_eq!((one[2], two[2], four[4]), (1, 2, [1.5, 2.5, 3.5]));
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn threads_of_an_spe_share_a_ref_cell<M: Machine>(machine: &M) {
    let data: Vec<u32> = (0..320).collect();
    let sums = machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let sums = RefCell::new(vec![0; 32]);
                spe.threads(32, |thread| {
                    let part = &data[thread.0 * 10..][..10];
                    let sum = spe.stage(part).unwrap().iter().sum::<u32>();
                    spe.yield_now();
                    sums.borrow_mut()[thread.0] = sum;
                })
                .unwrap();
                sums.into_inner()
            };
            ppe.spawn(spe(2), program).join().unwrap()
        })
        .unwrap();
    assert_eq!(sums.iter().sum::<u32>(), 51_040);
    assert_eq!(sums[1], 145);
}
