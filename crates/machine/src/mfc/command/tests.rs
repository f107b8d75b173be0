//! Tests of the commands that the check accepts and refuses.

use proptest::prelude::*;

use super::*;

const LOCAL_STORE_BYTES: u32 = 256 * 1024;
const LSA: LsAddr = LsAddr(0x1000);
const EA: EffectiveAddress = EffectiveAddress(0x3_0000_2000);
const TAG: Tag = Tag::of::<5>();

fn check(raw: RawCommand) -> Result<Command, MfcFault> {
    raw.check(LOCAL_STORE_BYTES)
}

fn misaligned(raw: RawCommand) -> Misalignment {
    match check(raw) {
        Err(MfcFault::DmaAlignment { why, .. }) => why,
        other => panic!("{raw:?} should be misaligned: {other:?}"),
    }
}

#[test]
fn opcodes_have_the_architectures_numbers() {
    let numbers = |names: &[Opcode]| names.iter().map(|o| o.number()).collect::<Vec<_>>();
    use Opcode::*;
    assert_eq!(
        numbers(&[Put, Putb, Putf, Putl, Putlb, Putlf]),
        [0x20, 0x21, 0x22, 0x24, 0x25, 0x26]
    );
    assert_eq!(
        numbers(&[Get, Getb, Getf, Getl, Getlb, Getlf]),
        [0x40, 0x41, 0x42, 0x44, 0x45, 0x46]
    );
    assert_eq!(
        numbers(&[Puts, Putbs, Putfs, Gets, Getbs, Getfs]),
        [0x28, 0x29, 0x2A, 0x48, 0x49, 0x4A]
    );
    assert_eq!(
        numbers(&[Putr, Putrb, Putrf, Putrl, Putrlb, Putrlf]),
        [0x30, 0x31, 0x32, 0x34, 0x35, 0x36]
    );
    assert_eq!(numbers(&[Sndsig, Sndsigb, Sndsigf]), [0xA0, 0xA1, 0xA2]);
    assert_eq!(numbers(&[Barrier, Mfceieio, Mfcsync]), [0xC0, 0xC8, 0xCC]);
    assert_eq!(
        numbers(&[Getllar, Putllc, Putlluc, Putqlluc]),
        [0xD0, 0xB4, 0xB0, 0xB8]
    );
    assert_eq!(
        numbers(&[Sdcrt, Sdcrtst, Sdcrz, Sdcrst, Sdcrf]),
        [0x80, 0x81, 0x89, 0x8D, 0x8F]
    );
    assert_eq!(Opcode::ALL.len(), 39);
    for &opcode in Opcode::ALL {
        assert_eq!(Opcode::from_number(opcode.number()), Some(opcode));
    }
    assert_eq!(format!("{:>6}", Getlf), " getlf");
}

#[test]
fn a_names_ending_tells_its_order() {
    for &opcode in Opcode::ALL {
        let stem = opcode.name().trim_end_matches('s');
        let moves = ["put", "get", "sndsig"]
            .iter()
            .any(|stem| opcode.name().starts_with(stem));
        let expected = match opcode {
            Opcode::Putqlluc => Order::Fence,
            Opcode::Getllar | Opcode::Putllc | Opcode::Putlluc => Order::None,
            _ if !moves || stem.ends_with('b') => Order::Barrier,
            _ if stem.ends_with('f') => Order::Fence,
            _ => Order::None,
        };
        assert_eq!(opcode.order(), expected, "{opcode}");
    }
}

#[test]
fn a_checked_transfer_carries_what_was_asked() {
    let Ok(Command::Transfer(get)) = check(RawCommand::getf(LSA, EA, 16_384, TAG)) else {
        panic!()
    };
    assert_eq!(
        (get.direction(), get.order(), get.opcode()),
        (Direction::Get, Order::Fence, Opcode::Getf)
    );
    assert_eq!(
        (get.lsa(), get.ea(), get.bytes(), get.tag()),
        (LSA, EA, 16_384, TAG)
    );
    let Ok(Command::Transfer(put)) = check(RawCommand::putb(LSA, EA, 0, TAG)) else {
        panic!()
    };
    assert_eq!(
        (put.direction(), put.order(), put.bytes()),
        (Direction::Put, Order::Barrier, 0)
    );
}

#[test]
fn result_hints_behave_as_the_plain_forms() {
    for (hint, plain) in [
        (Opcode::Putr, Opcode::Put),
        (Opcode::Putrb, Opcode::Putb),
        (Opcode::Putrf, Opcode::Putf),
    ] {
        let parts = |opcode| match check(RawCommand::new(opcode, LSA, EA, 16, TAG)) {
            Ok(Command::Transfer(t)) => (
                t.direction(),
                t.order(),
                t.lsa(),
                t.ea(),
                t.bytes(),
                t.tag(),
            ),
            other => panic!("{opcode}: {other:?}"),
        };
        assert_eq!(parts(hint), parts(plain));
    }
}

#[test]
fn each_size_up_to_16_kb_is_legal_or_not() {
    for bytes in 0..=20_000 {
        let legal = matches!(bytes, 0 | 1 | 2 | 4 | 8) || (bytes % 16 == 0 && bytes <= 16_384);
        assert_eq!(
            check(RawCommand::put(LSA, EA, bytes, TAG)).is_ok(),
            legal,
            "{bytes} bytes"
        );
    }
    assert_eq!(
        misaligned(RawCommand::put(LSA, EA, 24, TAG)),
        Misalignment::Size
    );
    assert_eq!(
        misaligned(RawCommand::put(LSA, EA, 16_400, TAG)),
        Misalignment::TooLarge
    );
    assert_eq!(
        misaligned(RawCommand::put(LSA, EA, u32::MAX, TAG)),
        Misalignment::TooLarge
    );
}

#[test]
fn the_local_store_address_is_naturally_aligned() {
    for (bytes, multiple_of) in [(0, 1), (1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (48, 16)] {
        for offset in 0..16 {
            let lsa = LsAddr(LSA.0 + offset);
            let raw = RawCommand::get(lsa, EA + offset.into(), bytes, TAG);
            if offset % multiple_of == 0 {
                assert!(check(raw).is_ok(), "{bytes} bytes at offset {offset}");
            } else {
                assert_eq!(
                    misaligned(raw),
                    Misalignment::LocalStore { lsa, multiple_of }
                );
            }
        }
    }
}

#[test]
fn both_addresses_have_the_same_offset_in_their_blocks() {
    for bytes in [0, 1, 2, 4, 8, 16] {
        let raw = RawCommand::get(LSA, EA + 8, bytes, TAG);
        assert_eq!(
            misaligned(raw),
            Misalignment::Offset {
                lsa: LSA,
                ea: EA + 8
            }
        );
    }
    let raw = RawCommand::sndsig(LSA, EA + 4, TAG);
    assert_eq!(
        misaligned(raw),
        Misalignment::Offset {
            lsa: LSA,
            ea: EA + 4
        }
    );
}

#[test]
fn a_signal_has_four_bytes() {
    let Ok(Command::SendSignal(signal)) = check(RawCommand::sndsigb(
        LsAddr(0x100C),
        EffectiveAddress(0x1400C),
        TAG,
    )) else {
        panic!()
    };
    assert_eq!(
        (signal.lsa(), signal.ea()),
        (LsAddr(0x100C), EffectiveAddress(0x1400C))
    );
    assert_eq!((signal.tag(), signal.order()), (TAG, Order::Barrier));
    for bytes in [0, 1, 8, 16] {
        assert_eq!(
            misaligned(RawCommand::new(Opcode::Sndsig, LSA, EA, bytes, TAG)),
            Misalignment::SignalSize
        );
    }
}

#[test]
fn tags_end_at_31_also_for_ordering_and_storage_control() {
    use Opcode::*;
    for opcode in [
        Get, Putl, Sndsig, Barrier, Mfcsync, Mfceieio, Putqlluc, Sdcrz, Sdcrt,
    ] {
        for tag in [32, 0x100, u32::MAX] {
            let raw = RawCommand {
                tag,
                ..RawCommand::new(opcode, LSA, EA, 4, TAG)
            };
            assert_eq!(
                check(raw),
                Err(MfcFault::InvalidDmaCommand {
                    why: InvalidCommand::Tag { opcode, tag }
                })
            );
        }
    }
}

#[test]
fn atomics_have_neither_tag_nor_alignment() {
    for raw in [RawCommand::getllar, RawCommand::putllc, RawCommand::putlluc] {
        let raw = RawCommand {
            tag: 99,
            size: 3,
            ..raw(LsAddr(0x10FF), EA + 0x81)
        };
        let command = check(raw).unwrap();
        assert_eq!(command.tag(), None);
        let Command::Atomic(atomic) = command else {
            panic!()
        };
        assert_eq!((atomic.lsa(), atomic.ea()), (LsAddr(0x1080), EA + 0x80));
        assert_eq!(u32::from(atomic.opcode().number()), raw.opcode);
    }
    let Ok(Command::QueuedLinePut(put)) =
        check(RawCommand::putqlluc(LsAddr(0x10FF), EA + 0x81, TAG))
    else {
        panic!()
    };
    assert_eq!(
        (put.lsa(), put.ea(), put.tag()),
        (LsAddr(0x1080), EA + 0x80, TAG)
    );
    let last_line = RawCommand::getllar(LsAddr(LOCAL_STORE_BYTES - 1), EA);
    assert!(check(last_line).is_ok());
    let behind = RawCommand::getllar(LsAddr(LOCAL_STORE_BYTES), EA);
    assert!(matches!(
        check(behind),
        Err(MfcFault::LocalStoreRange { .. })
    ));
}

#[test]
fn ordering_commands_ignore_the_other_parameters() {
    for raw in [
        RawCommand::barrier(TAG),
        RawCommand::mfcsync(TAG),
        RawCommand::mfceieio(TAG),
    ] {
        let raw = RawCommand {
            lsa: u32::MAX,
            ea: u64::MAX,
            size: u32::MAX,
            ..raw
        };
        let Ok(Command::Ordering(ordering)) = check(raw) else {
            panic!()
        };
        assert_eq!(
            (u32::from(ordering.opcode().number()), ordering.tag()),
            (raw.opcode, TAG)
        );
    }
}

#[test]
fn storage_control_covers_16_kb_unless_it_is_a_touch() {
    use Opcode::*;
    for opcode in [Sdcrz, Sdcrst, Sdcrf, Sdcrt, Sdcrtst] {
        let raw = RawCommand::new(opcode, LsAddr(u32::MAX), EA, 16_384, TAG);
        let Ok(Command::StorageControl(control)) = check(raw) else {
            panic!()
        };
        assert_eq!(
            (
                control.opcode(),
                control.ea(),
                control.bytes(),
                control.tag()
            ),
            (opcode, EA, 16_384, TAG)
        );
        let larger = check(RawCommand {
            size: 16_385,
            ..raw
        });
        assert_eq!(
            larger.is_ok(),
            matches!(opcode, Sdcrt | Sdcrtst),
            "{opcode}"
        );
    }
}

#[test]
fn class_ids_are_ignored() {
    let raw = RawCommand::get(LSA, EA, 16, TAG);
    assert_eq!(
        check(RawCommand {
            opcode: 0x0302_0000 | raw.opcode,
            ..raw
        }),
        check(raw)
    );
}

#[test]
fn a_command_error_is_reported_ahead_of_an_alignment_error_and_both_ahead_of_a_range() {
    let bad_in_all = RawCommand {
        opcode: 0x27,
        lsa: LOCAL_STORE_BYTES + 1,
        ea: u64::MAX,
        size: 3,
        tag: 32,
    };
    let kind = |raw| match check(raw) {
        Err(MfcFault::InvalidDmaCommand {
            why: InvalidCommand::Tag { .. },
        }) => "tag",
        Err(MfcFault::InvalidDmaCommand { .. }) => "opcode",
        Err(MfcFault::DmaAlignment { .. }) => "alignment",
        Err(MfcFault::LocalStoreRange { .. }) => "local store",
        Err(MfcFault::DataSegment { .. }) => "segment",
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(bad_in_all), "opcode");
    let raw = RawCommand {
        opcode: Opcode::Get.number().into(),
        ..bad_in_all
    };
    assert_eq!(kind(raw), "tag");
    let raw = RawCommand { tag: 0, ..raw };
    assert_eq!(kind(raw), "alignment");
    let raw = RawCommand {
        size: 16,
        lsa: LOCAL_STORE_BYTES,
        ea: u64::MAX - 15,
        ..raw
    };
    assert_eq!(kind(raw), "local store");
    let raw = RawCommand {
        size: 32,
        lsa: 0,
        ..raw
    };
    assert_eq!(kind(raw), "segment");
}

#[test]
fn a_transfer_may_end_where_the_local_store_and_the_address_space_end() {
    let last = RawCommand::get(
        LsAddr(LOCAL_STORE_BYTES - 16),
        EffectiveAddress(u64::MAX - 15),
        16,
        TAG,
    );
    assert!(check(last).is_ok());
    let none_behind = RawCommand::get(LsAddr(LOCAL_STORE_BYTES), EA, 0, TAG);
    assert!(check(none_behind).is_ok(), "no byte leaves the local store");
}

#[test]
fn a_list_is_whole_elements_up_to_2048() {
    let list = LsAddr(0x8008);
    let Ok(Command::ListTransfer(getl)) = check(RawCommand::getlf(LSA, 3, list, 16_384, TAG))
    else {
        panic!()
    };
    assert_eq!(
        (getl.direction(), getl.order(), getl.tag()),
        (Direction::Get, Order::Fence, TAG)
    );
    assert_eq!(
        (
            getl.list(),
            getl.list_bytes(),
            getl.elements(),
            getl.eah(),
            getl.lsa()
        ),
        (list, 16_384, 2_048, 3, LSA)
    );
    assert!(
        check(RawCommand::putl(LSA, 0, list, 0, TAG)).is_ok(),
        "an empty list"
    );
    let misaligned_list = |lsa, list, bytes| misaligned(RawCommand::putl(lsa, 0, list, bytes, TAG));
    assert_eq!(misaligned_list(LSA, list, 12), Misalignment::ListSize);
    assert_eq!(
        misaligned_list(LSA, list, 16_392),
        Misalignment::ListTooLong
    );
    assert_eq!(
        misaligned_list(LSA, LsAddr(0x8004), 8),
        Misalignment::ListAddress {
            list: LsAddr(0x8004)
        }
    );
    assert_eq!(
        misaligned_list(LsAddr(0x1004), list, 8),
        Misalignment::ListLocalStore {
            lsa: LsAddr(0x1004)
        }
    );
    let outside = check(RawCommand::getl(
        LSA,
        0,
        LsAddr(LOCAL_STORE_BYTES - 8),
        16,
        TAG,
    ));
    assert!(matches!(
        outside,
        Err(MfcFault::LocalStoreRange {
            lsa: LsAddr(0x3_FFF8),
            ..
        })
    ));
}

#[test]
fn addresses_have_halves_and_lines() {
    let ea = EffectiveAddress::from_halves(0x12, 0x3456_78FF);
    assert_eq!(
        (ea.eah(), ea.eal(), ea.0),
        (0x12, 0x3456_78FF, 0x12_3456_78FF)
    );
    assert_eq!(ea.lock_line(), EffectiveAddress(0x12_3456_7880));
    assert_eq!((ea + 1).to_string(), "0x1234567900");
    assert_eq!(LsAddr(0x3_FFF0).to_string(), "0x3fff0");
}

#[test]
#[should_panic(expected = "a local store of 100 bytes: its size is a multiple of 16")]
fn a_local_store_has_whole_quadwords() {
    let _ = RawCommand::barrier(TAG).check(100);
}

fn raw_commands() -> impl Strategy<Value = RawCommand> {
    let opcode = prop_oneof![
        8 => prop::sample::select(Opcode::ALL).prop_map(|opcode| u32::from(opcode.number())),
        1 => any::<u32>(),
    ];
    let lsa = prop_oneof![
        (0u32..0x4100).prop_map(|n| n * 16),
        0u32..0x4_1000,
        any::<u32>()
    ];
    let ea = prop_oneof![any::<u32>().prop_map(|n| u64::from(n) * 16), any::<u64>()];
    let size = prop_oneof![
        Just(4),
        0u32..20,
        (0u32..1_100).prop_map(|n| n * 16),
        any::<u32>()
    ];
    let tag = prop_oneof![8 => 0u32..32, 1 => any::<u32>()];
    (opcode, lsa, ea, size, tag).prop_map(|(opcode, lsa, ea, size, tag)| RawCommand {
        opcode,
        lsa,
        ea,
        size,
        tag,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Every raw command is refused with a message, or accepted and obeys the rules.
    #[test]
    fn every_raw_command_is_checked(raw in raw_commands(), local_store_quadwords in 0u32..=0x1000_0000 - 1) {
        let local_store_bytes = local_store_quadwords * 16;
        match raw.check(local_store_bytes) {
            Err(fault) => prop_assert!(fault.to_string().len() > 40),
            Ok(command) => {
                prop_assert_eq!(u32::from(command.opcode().number()), raw.opcode & 0xFFFF);
                if let Command::Transfer(t) = command {
                    let bytes = t.bytes();
                    prop_assert!(bytes <= 16_384);
                    prop_assert!(matches!(bytes, 0 | 1 | 2 | 4 | 8) || bytes % 16 == 0);
                    prop_assert!(t.lsa().0 % bytes.clamp(1, 16) == 0);
                    prop_assert_eq!(u64::from(t.lsa().0 % 16), t.ea().0 % 16);
                    prop_assert!(bytes == 0 || t.lsa().0 + bytes <= local_store_bytes);
                    prop_assert!(u128::from(t.ea().0) + u128::from(bytes) <= 1 << 64);
                }
            }
        }
    }
}
