//! Reservations, and the read-modify-write operations.

use cellworks::machine::mailbox::Outbound;
use cellworks::machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks::machine::{
    AtomicError, AtomicOp, CellMachine, CellSpe, Mfc, ModuleId, Spe, fetch_update_words,
};

use crate::{SPES, on_every_cell, spe};

on_every_cell![
    additions_of_all_processors_add_up,
    reservation_loops_of_all_spes_add_up,
    words_and_lines_can_be_mixed,
    each_operation_returns_what_was_there,
    swaps_of_all_spes_take_turns,
    a_swap_that_finds_something_else_stores_nothing,
    what_one_spe_stores_another_polls,
    a_conditional_store_needs_a_reservation,
    any_store_to_the_line_ends_the_reservation,
    a_conditional_store_succeeds_once,
    an_unconditional_store_always_succeeds,
    lines_are_reserved_one_at_a_time,
    a_reservation_ends_with_its_region,
    a_line_is_never_seen_half_written,
    what_is_no_word_of_a_region_is_refused,
];

const ROUNDS: u32 = 1_000;

fn additions_of_all_processors_add_up<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 128).unwrap();
    machine
        .run(|ppe| {
            for at in ppe.topology().spes() {
                drop(ppe.spawn(at, |spe: &M::Spe| {
                    for _ in 0..ROUNDS {
                        spe.fetch_update(region.at(4), AtomicOp::Add(3)).unwrap();
                    }
                }));
            }
            for _ in 0..ROUNDS {
                ppe.fetch_update(region.at(4), AtomicOp::Subtract(1))
                    .unwrap();
            }
        })
        .unwrap();
    assert_eq!(region.load_u32(4), (3 * SPES as u32 - 1) * ROUNDS);
}

fn reservation_loops_of_all_spes_add_up<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 256).unwrap();
    machine
        .run(|ppe| {
            for at in ppe.topology().spes() {
                drop(ppe.spawn(at, |spe: &M::Spe| {
                    let store = spe.local_store();
                    let scratch = store.reserve(128, 128, "a line").unwrap();
                    for _ in 0..ROUNDS {
                        let ea = region.at(128);
                        let op = AtomicOp::Add(1);
                        fetch_update_words(spe.mfc(), store, scratch.address(), ea, 32, op)
                            .unwrap();
                    }
                }));
            }
        })
        .unwrap();
    for word in 0..32 {
        assert_eq!(region.load_u32(128 + 4 * word), SPES as u32 * ROUNDS);
    }
    assert_eq!(region.load_u32(124), 0);
}

fn words_and_lines_can_be_mixed<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 128).unwrap();
    machine
        .run(|ppe| {
            for at in ppe.topology().spes() {
                drop(ppe.spawn(at, |spe: &M::Spe| {
                    let store = spe.local_store();
                    let scratch = store.reserve(128, 128, "a line").unwrap();
                    let op = AtomicOp::Add(1);
                    for round in 0..ROUNDS {
                        if (round + spe.id().index() as u32).is_multiple_of(2) {
                            spe.fetch_update(region.at(0), op).unwrap();
                        } else {
                            let line = scratch.address();
                            fetch_update_words(spe.mfc(), store, line, region.at(0), 2, op)
                                .unwrap();
                        }
                    }
                }));
            }
        })
        .unwrap();
    assert_eq!(region.load_u32(0), SPES as u32 * ROUNDS);
    assert_eq!(region.load_u32(4), SPES as u32 * ROUNDS / 2);
}

fn each_operation_returns_what_was_there<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 128).unwrap();
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let op = |op| spe.fetch_update(region.at(0), op).unwrap();
                assert_eq!(op(AtomicOp::Add(5)), 0);
                assert_eq!(op(AtomicOp::Subtract(6)), 5);
                assert_eq!(op(AtomicOp::Set(9)), u32::MAX);
                assert_eq!(op(AtomicOp::Add(0)), 9);
                let swap = |expected, new| op(AtomicOp::CompareAndSwap { expected, new });
                assert_eq!(swap(9, 10), 9);
                assert_eq!(swap(9, 11), 10);
                assert_eq!(op(AtomicOp::Add(0)), 10);
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn swaps_of_all_spes_take_turns<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 128).unwrap();
    let word = region.at(8);
    machine
        .run(|ppe| {
            for at in ppe.topology().spes() {
                drop(ppe.spawn(at, move |spe: &M::Spe| {
                    let store = spe.local_store();
                    let scratch = store.reserve(128, 128, "a line").unwrap().address();
                    for round in 0..ROUNDS / 10 {
                        // For example, SPE 2 in round 5 swaps the value that SPE 1 has stored.
                        let expected = round * SPES as u32 + spe.id().index() as u32;
                        let op = AtomicOp::CompareAndSwap {
                            expected,
                            new: expected + 1,
                        };
                        let swap = || {
                            if round.is_multiple_of(2) {
                                spe.fetch_update(word, op).unwrap()
                            } else {
                                fetch_update_words(spe.mfc(), store, scratch, word, 1, op).unwrap()
                            }
                        };
                        while swap() != expected {
                            spe.yield_now();
                        }
                    }
                }));
            }
        })
        .unwrap();
    assert_eq!(region.load_u32(8), ROUNDS / 10 * SPES as u32);
}

fn a_swap_that_finds_something_else_stores_nothing<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 128).unwrap();
    let word = region.at(0);
    let swap = |expected| AtomicOp::CompareAndSwap { expected, new: 7 };
    machine
        .run(|ppe| {
            let reserver = ppe.spawn(spe(0), move |spe: &M::Spe| {
                spe.mfc().getllar(LINE, word).unwrap();
                for kept in [true, false] {
                    spe.write_out_mbox(Outbound::Plain, 0);
                    spe.read_in_mbox();
                    assert_eq!(spe.mfc().reservation_lost(), !kept);
                }
            });
            // The first two swaps expect 1 and find 0, so the reservation stays. The third swap
            // ends the reservation.
            for expected in [[1, 1], [0, 0]] {
                ppe.read_out_mbox(spe(0), Outbound::Plain);
                let swapper = ppe.spawn(spe(1), move |spe: &M::Spe| {
                    let (mfc, store) = (spe.mfc(), spe.local_store());
                    let [one, many] = expected.map(swap);
                    let before = spe.fetch_update(word, one).unwrap();
                    fetch_update_words(mfc, store, LINE, word, 2, many).unwrap();
                    before
                });
                assert_eq!(swapper.join().unwrap(), 0);
                ppe.write_in_mbox(spe(0), 0);
            }
            reserver.join().unwrap();
        })
        .unwrap();
    // The last swap covered two words, and only the second word was still 0.
    assert_eq!((region.load_u32(0), region.load_u32(4)), (7, 7));
}

fn what_one_spe_stores_another_polls<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 256).unwrap();
    let (flag, data) = (region.at(4), region.at(128));
    machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), move |spe: &M::Spe| {
                spe.fetch_update(data, AtomicOp::Set(42)).unwrap();
                spe.fetch_update(flag, AtomicOp::Set(1)).unwrap();
            }));
            let reader = ppe.spawn(spe(1), move |spe: &M::Spe| {
                while spe.load_word(flag).unwrap() == 0 {
                    spe.yield_now();
                }
                spe.load_word(data).unwrap()
            });
            assert_eq!(reader.join().unwrap(), 42);
        })
        .unwrap();
}

const LINE: LsAddr = LsAddr(0x1000);

fn a_conditional_store_needs_a_reservation<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 256).unwrap();
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let mfc = spe.mfc();
                assert!(mfc.reservation_lost());
                assert!(!mfc.putllc(LINE, region.at(0)).unwrap());
                // A reservation covers one line. A failed store ends the reservation.
                mfc.getllar(LINE, region.at(0)).unwrap();
                assert!(!mfc.reservation_lost());
                assert!(!mfc.putllc(LINE, region.at(128)).unwrap());
                assert!(!mfc.putllc(LINE, region.at(0)).unwrap());
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn any_store_to_the_line_ends_the_reservation<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 256).unwrap();
    let tag = Tag::of::<0>();
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let mfc = spe.mfc();
                let word = region.at(64);
                let stores: [(&str, &dyn Fn()); 4] = [
                    ("put", &|| {
                        mfc.issue(RawCommand::put(LINE, word, 4, tag)).unwrap();
                        mfc.wait_all(tag.mask());
                    }),
                    ("atomic", &|| {
                        spe.fetch_update(word, AtomicOp::Add(0)).unwrap();
                    }),
                    ("write", &|| region.write(64, &[0])),
                    ("putlluc", &|| mfc.putlluc(LINE, region.at(0)).unwrap()),
                ];
                for (name, store) in stores {
                    mfc.getllar(LINE, region.at(0)).unwrap();
                    store();
                    assert!(mfc.reservation_lost(), "{name}");
                    assert!(!mfc.putllc(LINE, region.at(0)).unwrap(), "{name}");
                }
                mfc.getllar(LINE, region.at(0)).unwrap();
                region.write(128, &[1]);
                assert!(mfc.putllc(LINE, region.at(0)).unwrap());
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn a_conditional_store_succeeds_once<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 128).unwrap();
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let (mfc, store) = (spe.mfc(), spe.local_store());
                mfc.getllar(LINE, region.at(0)).unwrap();
                store.write_word(LINE, 42);
                assert!(mfc.putllc(LINE, region.at(0)).unwrap());
                assert!(!mfc.putllc(LINE, region.at(0)).unwrap());
                assert_eq!(region.load_u32(0), 42);
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn an_unconditional_store_always_succeeds<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 128).unwrap();
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                spe.local_store().write(LINE, &[6; 128]);
                spe.mfc().putlluc(LINE, region.at(0)).unwrap();
                let queued = RawCommand::putqlluc(LINE, region.at(0), Tag::of::<1>());
                spe.mfc().issue(queued).unwrap();
                spe.mfc().wait_all(Tag::of::<1>().mask());
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
    let mut line = [0; 128];
    region.read(0, &mut line);
    assert_eq!(line, [6; 128]);
}

fn lines_are_reserved_one_at_a_time<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 256).unwrap();
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let mfc = spe.mfc();
                mfc.getllar(LINE, region.at(0)).unwrap();
                mfc.getllar(LINE, region.at(128)).unwrap();
                assert!(!mfc.putllc(LINE, region.at(0)).unwrap());
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn a_reservation_ends_with_its_region<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            // A region may get the addresses of a region that was freed before.
            for _ in 0..100 {
                let before = machine.allocate(ModuleId::new(0), 4_096).unwrap();
                let line = before.at(3_968);
                let program = ppe.spawn(spe(0), move |spe: &M::Spe| {
                    spe.mfc().getllar(LINE, line).unwrap();
                    spe.write_out_mbox(Outbound::Plain, 0);
                    spe.read_in_mbox();
                    assert!(spe.mfc().reservation_lost());
                    assert!(!matches!(spe.mfc().putllc(LINE, line), Ok(true)));
                });
                ppe.read_out_mbox(spe(0), Outbound::Plain);
                drop(before);
                let _after = machine.allocate(ModuleId::new(0), 4_096).unwrap();
                ppe.write_in_mbox(spe(0), 0);
                program.join().unwrap();
            }
        })
        .unwrap();
}

fn a_line_is_never_seen_half_written<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 128).unwrap();
    let line = region.at(0);
    machine
        .run(|ppe| {
            for at in 0..2 {
                drop(ppe.spawn(spe(at), move |spe: &M::Spe| {
                    for round in 0..ROUNDS {
                        let pattern = [(2 * round + u32::from(at)) as u8; 128];
                        spe.local_store().write(LINE, &pattern);
                        spe.mfc().putlluc(LINE, line).unwrap();
                    }
                }));
            }
            let reader = ppe.spawn(spe(2), move |spe: &M::Spe| {
                for _ in 0..ROUNDS {
                    spe.mfc().getllar(LINE, line).unwrap();
                    let mut seen = [0; 128];
                    spe.local_store().read(LINE, &mut seen);
                    assert_eq!(seen, [seen[0]; 128]);
                }
            });
            reader.join().unwrap();
        })
        .unwrap();
}

fn what_is_no_word_of_a_region_is_refused<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 128).unwrap();
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let add = |ea| spe.fetch_update(ea, AtomicOp::Add(1)).unwrap_err();
                let odd = region.at(6);
                assert_eq!(
                    add(odd).to_string(),
                    format!(
                        "an atomic operation at effective address {odd}: a word starts at a \
                         multiple of 4; use {}",
                        region.at(4)
                    )
                );
                let nowhere = EffectiveAddress(0x4000);
                assert_eq!(
                    add(nowhere).to_string(),
                    "an atomic operation at effective address 0x4000: no region is mapped there; \
                     use an address in a region that `CellMachine::allocate` returned"
                );
                for ea in [odd, nowhere] {
                    assert_eq!(spe.load_word(ea).unwrap_err(), add(ea));
                }
                let store = spe.local_store();
                let words = |ea, n| {
                    fetch_update_words(spe.mfc(), store, LINE, ea, n, AtomicOp::Add(1)).unwrap_err()
                };
                assert_eq!(
                    words(region.at(120), 3).to_string(),
                    format!(
                        "an atomic operation on 3 words at effective address {}: it takes 1 to 2 \
                         words there, because a reservation covers one line of 128 bytes",
                        region.at(120)
                    )
                );
                assert!(matches!(words(nowhere, 1), AtomicError::Mfc(_)));
                // The lines of a local store cannot be reserved.
                let own = store.effective(LsAddr(0));
                assert!(spe.mfc().getllar(LINE, own).is_err());
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}
