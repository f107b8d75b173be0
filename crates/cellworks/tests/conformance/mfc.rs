//! The raw level: commands, tag groups, lists, the queue, other SPEs' local stores and registers.

use cellworks::machine::memory::AllocateError;
use cellworks::machine::mfc::{
    CommandFault, EffectiveAddress, ListElement, LsAddr, MfcFault, Opcode, RawCommand, Tag, TagMask,
};
use cellworks::machine::{
    CellMachine, CellSpe, LateFault, Mfc, ModuleId, ProblemStateRegister, SignalRegister, Spe,
    TryIssueError,
};

use crate::{on_every_cell, spe};

on_every_cell![
    every_legal_size_is_moved_both_ways,
    what_the_architecture_forbids_is_refused,
    an_address_that_no_region_covers_is_a_fault,
    a_fault_names_the_spe_and_the_whole_command,
    a_region_that_is_gone_is_a_fault,
    a_list_gathers_and_scatters,
    a_list_with_stall_and_notify_waits_for_its_acknowledgement,
    a_fenced_command_waits_for_a_stalled_list,
    a_full_queue_says_so,
    tag_groups_are_waited_for_one_by_one,
    local_stores_are_reached_by_dma,
    mailboxes_and_signals_are_reached_by_dma,
    a_put_to_a_full_mailbox_waits_in_the_queue,
    a_put_to_a_full_mailbox_goes_on_while_its_program_waits_for_something_else,
    a_list_to_a_full_mailbox_loses_no_word,
    a_late_fault_is_a_panic_of_the_next_use_of_the_queue,
    a_program_that_asks_takes_late_faults_itself,
    a_late_fault_that_is_not_taken_ends_its_program,
    a_late_fault_that_is_not_taken_is_reported_in_place_of_a_deadlock,
    the_next_program_meets_nothing_of_the_last,
    storage_control_zeroes_whole_lines,
    regions_are_allocated_where_they_should_be,
    the_local_store_is_handed_out_and_taken_back,
];

const TAG: Tag = Tag::of::<5>();

/// Runs a program that uses the raw level on SPE 0.
fn on_spe<M: CellMachine>(machine: &M, program: impl FnOnce(&M::Spe) + Send) {
    let result = machine.run(|ppe| {
        ppe.spawn(spe(0), program)
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_inner()));
    });
    result.unwrap_or_else(|error| error.resume());
}

fn module() -> ModuleId {
    ModuleId::new(0)
}

fn every_legal_size_is_moved_both_ways<M: CellMachine>(machine: &M) {
    let from = machine.allocate(module(), 1 << 14).unwrap();
    let to = machine.allocate(module(), 1 << 14).unwrap();
    let pattern: Vec<u8> = (0..1 << 14).map(|i| (i * 7 + i / 256) as u8).collect();
    from.write(0, &pattern);
    on_spe(machine, |spe| {
        let buffer = spe.local_store().reserve(1 << 14, 128, "a buffer").unwrap();
        let mfc = spe.mfc();
        for bytes in [0, 1, 2, 4, 8, 16, 32, 48, 128, 4_096, 16_384] {
            let lsa = buffer.address();
            mfc.issue(RawCommand::get(lsa, from.at(0), bytes, TAG))
                .unwrap();
            mfc.wait_all(TAG.mask());
            mfc.issue(RawCommand::put(lsa, to.at(0), bytes, TAG))
                .unwrap();
            mfc.wait_all(TAG.mask());
            let mut moved = vec![0; bytes as usize];
            to.read(0, &mut moved);
            assert_eq!(moved, pattern[..bytes as usize], "{bytes} bytes");
        }
        // Small transfers may start anywhere in a quadword, if both addresses have the same offset.
        let at = LsAddr(buffer.address().0 + 6);
        mfc.issue(RawCommand::get(at, from.at(1_030), 2, TAG))
            .unwrap();
        mfc.wait_all(TAG.mask());
        let mut word = [0; 2];
        spe.local_store().read(at, &mut word);
        assert_eq!(word, pattern[1_030..1_032]);
    });
}

fn what_the_architecture_forbids_is_refused<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 1 << 15).unwrap();
    on_spe(machine, |spe| {
        let refused = |command: RawCommand| spe.mfc().issue(command).unwrap_err().to_string();
        let (lsa, ea) = (LsAddr(0x1000), region.at(0));
        assert!(refused(RawCommand::get(lsa, ea, 24, TAG)).contains("DMA alignment"));
        assert!(refused(RawCommand::get(lsa, ea, 16_400, TAG)).contains("at most 16384 bytes"));
        assert!(refused(RawCommand::get(lsa, region.at(8), 16, TAG)).contains("16-byte blocks"));
        let mut command = RawCommand::get(lsa, ea, 16, TAG);
        command.tag = 32;
        assert!(refused(command).contains("a tag is 0 to 31"));
        command.opcode = 0x7;
        assert!(refused(command).contains("invalid DMA command"));
        let end = LsAddr(spe.local_store().bytes() as u32 - 16);
        assert!(refused(RawCommand::get(end, ea, 32, TAG)).contains("past the"));
        assert_eq!(spe.mfc().free_entries(), 16);
    });
}

fn an_address_that_no_region_covers_is_a_fault<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 4_096).unwrap();
    on_spe(machine, |spe| {
        let nowhere = EffectiveAddress(0x1000);
        let fault = spe
            .mfc()
            .issue(RawCommand::put(LsAddr(0), nowhere, 16, TAG));
        let fault = fault.unwrap_err().fault;
        assert!(matches!(fault, MfcFault::DataStorage { ea, .. } if ea == nowhere));
        // The last bytes of the region are legal, bytes behind the region are not.
        let last = region.at(4_080);
        spe.mfc()
            .issue(RawCommand::get(LsAddr(0), last, 16, TAG))
            .unwrap();
        spe.mfc()
            .issue(RawCommand::get(LsAddr(0), last, 32, TAG))
            .unwrap_err();
    });
}

fn a_fault_names_the_spe_and_the_whole_command<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 4_096).unwrap();
    let ea = region.at(0);
    let on_spe = |program: &(dyn Fn(&M::Spe) + Sync)| {
        let ended = machine.run(|ppe| {
            ppe.spawn(spe(1), |spe: &M::Spe| program(spe))
                .join()
                .unwrap();
        });
        ended.unwrap();
    };
    on_spe(&|this| {
        let mfc = this.mfc();
        let get = RawCommand::get(LsAddr(0x1000), ea, 24, TAG);
        let refused = mfc.issue(get).unwrap_err();
        assert_eq!((refused.spe, refused.command), (spe(1), get));
        assert_eq!(
            refused.to_string(),
            format!(
                "the MFC of SPE 1 refused get (local store address 0x1000, effective address {ea}, 24 bytes, tag 5): get \
                 of 24 bytes: a transfer moves 0, 1, 2, 4, 8 or 16 bytes or a multiple of 16; use 16 or 32 (MFC DMA \
                 alignment, class 0 bit 0; CBEA p.57)"
            )
        );
        let nowhere = EffectiveAddress(0x1000);
        write_list(this, LsAddr(0x100), &[element(nowhere, 16, false)]);
        let list = RawCommand::putl(LsAddr(0x2000), 0, LsAddr(0x100), 8, TAG);
        let line = LsAddr(0x3000);
        let unmapped = "this memory is not mapped or may not be accessed so; use an address in memory that the machine \
                        allocated (MFC data-storage interrupt; CBEA p.118)";
        for (refused, text) in [
            (
                mfc.issue(list).unwrap_err(),
                "the MFC of SPE 1 refused putl (local store address 0x2000, list of 8 bytes at local store address 0x100, \
                 EAH 0x0, tag 5): element 0 (16 bytes) of a putl",
            ),
            (
                mfc.getllar(line, nowhere).unwrap_err(),
                "the MFC of SPE 1 refused getllar (local store address 0x3000, effective address 0x1000, 128 bytes): \
                 getllar of 128 bytes",
            ),
            (
                mfc.putllc(line, nowhere).unwrap_err(),
                "the MFC of SPE 1 refused putllc (local store address 0x3000, effective address 0x1000, 128 bytes): \
                 putllc of 128 bytes",
            ),
            (
                mfc.putlluc(line, nowhere).unwrap_err(),
                "the MFC of SPE 1 refused putlluc (local store address 0x3000, effective address 0x1000, 128 bytes): \
                 putlluc of 128 bytes",
            ),
        ] {
            let text = format!("{text} at effective address 0x1000: {unmapped}");
            assert_eq!(refused.to_string(), text);
        }
    });
}

fn a_region_that_is_gone_is_a_fault<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 4_096).unwrap();
    on_spe(machine, move |spe| {
        let command = RawCommand::get(LsAddr(0), region.at(0), 16, TAG);
        spe.mfc().issue(command).unwrap();
        spe.mfc().wait_all(TAG.mask());
        drop(region);
        spe.mfc().issue(command).unwrap_err();
    });
}

fn write_list<S: CellSpe>(spe: &S, at: LsAddr, elements: &[ListElement]) {
    for (i, element) in elements.iter().enumerate() {
        let [first, second] = element.to_words();
        let at = at.0 + 8 * i as u32;
        spe.local_store().write_word(LsAddr(at), first);
        spe.local_store().write_word(LsAddr(at + 4), second);
    }
}

fn element(ea: EffectiveAddress, bytes: u32, stall_and_notify: bool) -> ListElement {
    ListElement {
        stall_and_notify,
        bytes,
        eal: ea.eal(),
    }
}

fn a_list_gathers_and_scatters<M: CellMachine>(machine: &M) {
    let from = machine.allocate(module(), 1 << 14).unwrap();
    let to = machine.allocate(module(), 1 << 14).unwrap();
    let pattern: Vec<u8> = (0..1 << 14).map(|i| (i / 64) as u8).collect();
    from.write(0, &pattern);
    on_spe(machine, |spe| {
        let list = LsAddr(0x100);
        let data = LsAddr(0x1000);
        // The elements are every other block of 64 bytes.
        let elements = |base: &dyn Fn(usize) -> EffectiveAddress| -> Vec<ListElement> {
            (0..32).map(|i| element(base(i * 128), 64, false)).collect()
        };
        write_list(spe, list, &elements(&|offset| from.at(offset)));
        let get = RawCommand::getl(data, from.at(0).eah(), list, 32 * 8, TAG);
        spe.mfc().issue(get).unwrap();
        spe.mfc().wait_all(TAG.mask());
        let mut gathered = vec![0; 32 * 64];
        spe.local_store().read(data, &mut gathered);
        assert!(
            gathered
                .chunks(64)
                .enumerate()
                .all(|(i, c)| c == [2 * i as u8; 64])
        );

        write_list(spe, list, &elements(&|offset| to.at(offset + 64)));
        let put = RawCommand::putl(data, to.at(0).eah(), list, 32 * 8, TAG);
        spe.mfc().issue(put).unwrap();
        spe.mfc().wait_all(TAG.mask());
    });
    let mut scattered = vec![0; 32 * 128];
    to.read(0, &mut scattered);
    for (i, block) in scattered.chunks(128).enumerate() {
        assert_eq!(block, [[0; 64], [2 * i as u8; 64]].concat());
    }
}

fn a_list_with_stall_and_notify_waits_for_its_acknowledgement<M: CellMachine>(machine: &M) {
    let from = machine.allocate(module(), 4_096).unwrap();
    from.write(0, &[1; 4_096]);
    on_spe(machine, |spe| {
        let (list, data) = (LsAddr(0x100), LsAddr(0x1000));
        let elements = [(0, true), (16, false), (32, true), (48, false)];
        let elements = elements.map(|(at, stall)| element(from.at(at), 16, stall));
        write_list(spe, list, &elements);
        let mfc = spe.mfc();
        let arrived = || {
            let mut bytes = [0; 64];
            spe.local_store().read(data, &mut bytes);
            bytes.iter().filter(|byte| **byte == 1).count()
        };
        mfc.issue(RawCommand::getl(data, from.at(0).eah(), list, 32, TAG))
            .unwrap();
        assert_eq!(mfc.wait_stalled(), TAG.mask());
        assert_eq!((arrived(), mfc.incomplete_tags()), (16, TAG.mask()));
        // The notification was taken, and only another stall gives another notification.
        assert_eq!(mfc.take_stall_notifications(), TagMask::NONE);
        mfc.acknowledge_stall(TAG).unwrap();
        assert_eq!(mfc.wait_stalled(), TAG.mask());
        assert_eq!(arrived(), 48);
        mfc.acknowledge_stall(TAG).unwrap();
        mfc.wait_all(TAG.mask());
        assert_eq!((arrived(), mfc.free_entries()), (64, 16));
    });
}

fn a_fenced_command_waits_for_a_stalled_list<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 4_096).unwrap();
    on_spe(machine, |spe| {
        let (list, data) = (LsAddr(0x100), LsAddr(0x1000));
        write_list(
            spe,
            list,
            &[
                element(region.at(0), 16, true),
                element(region.at(16), 16, false),
            ],
        );
        spe.local_store().write(data, &[7; 32]);
        let mfc = spe.mfc();
        mfc.issue(RawCommand::getl(
            LsAddr(0x2000),
            region.at(0).eah(),
            list,
            16,
            TAG,
        ))
        .unwrap();
        mfc.wait_stalled();
        let other = Tag::of::<6>();
        mfc.issue(RawCommand::putf(data, region.at(256), 16, TAG))
            .unwrap();
        mfc.issue(RawCommand::put(data, region.at(512), 16, other))
            .unwrap();
        mfc.wait_all(other.mask());
        let word_at = |offset| region.load_u32(offset);
        // Only the fenced put of the list's own tag group waits for the list.
        assert_eq!((word_at(512), word_at(256)), (0x0707_0707, 0));
        assert_eq!(mfc.wait_any(TAG.mask() | other.mask()), other.mask());
        mfc.acknowledge_stall(TAG).unwrap();
        mfc.wait_all(TAG.mask());
        assert_eq!(word_at(256), 0x0707_0707);
    });
}

fn a_full_queue_says_so<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 4_096).unwrap();
    on_spe(machine, |spe| {
        let list = LsAddr(0x100);
        write_list(
            spe,
            list,
            &[
                element(region.at(0), 16, true),
                element(region.at(16), 16, false),
            ],
        );
        let mfc = spe.mfc();
        mfc.issue(RawCommand::getl(
            LsAddr(0x2000),
            region.at(0).eah(),
            list,
            16,
            TAG,
        ))
        .unwrap();
        mfc.wait_stalled();
        let behind = RawCommand::putb(LsAddr(0x1000), region.at(64), 16, TAG);
        for entry in (0..15).rev() {
            mfc.try_issue(behind).unwrap();
            assert_eq!(mfc.free_entries(), entry);
        }
        let full = mfc.try_issue(behind).unwrap_err();
        assert_eq!(full, TryIssueError::Full);
        assert_eq!(
            full.to_string(),
            "the MFC command queue is full; wait for a tag group, or use `issue` (for the PPE, `issue_proxy`), which \
             waits for an entry"
        );
        mfc.acknowledge_stall(TAG).unwrap();
        mfc.issue(behind).unwrap();
        mfc.wait_all(TAG.mask());
        assert_eq!(mfc.free_entries(), 16);
    });
}

fn tag_groups_are_waited_for_one_by_one<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 1 << 14).unwrap();
    on_spe(machine, |spe| {
        let mfc = spe.mfc();
        let mut waiting = TagMask::NONE;
        for tag in Tag::all().take(8) {
            let at = tag.number() * 1_024;
            mfc.issue(RawCommand::get(
                LsAddr(at),
                region.at(at as usize),
                1_024,
                tag,
            ))
            .unwrap();
            waiting |= tag.mask();
        }
        while !waiting.is_empty() {
            let complete = mfc.wait_any(waiting);
            assert!(!complete.is_empty() && complete & waiting == complete);
            waiting &= !complete;
        }
        assert_eq!(mfc.incomplete_tags(), TagMask::NONE);
    });
}

fn local_stores_are_reached_by_dma<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            // SPE 1 lends a buffer and sends the buffer's effective address in two words.
            let lender = ppe.spawn(spe(1), |this: &M::Spe| {
                let buffer = this.local_store().reserve(128, 128, "lent").unwrap();
                this.local_store().write(buffer.address(), &[3; 128]);
                let ea = this.local_store().effective(buffer.address());
                this.write_in_mbox_of(spe(0), ea.eah());
                this.write_in_mbox_of(spe(0), ea.eal());
                this.read_in_mbox();
                let mut bytes = [0; 128];
                this.local_store().read(buffer.address(), &mut bytes);
                bytes
            });
            drop(ppe.spawn(spe(0), |this: &M::Spe| {
                let ea = EffectiveAddress::from_halves(this.read_in_mbox(), this.read_in_mbox());
                let mine = this.local_store().reserve(128, 128, "mine").unwrap();
                let mfc = this.mfc();
                mfc.issue(RawCommand::get(mine.address(), ea, 128, TAG))
                    .unwrap();
                mfc.wait_all(TAG.mask());
                let mut bytes = [0; 128];
                this.local_store().read(mine.address(), &mut bytes);
                assert_eq!(bytes, [3; 128]);
                this.local_store().write(mine.address(), &[4; 64]);
                mfc.issue(RawCommand::put(mine.address(), ea, 64, TAG))
                    .unwrap();
                mfc.wait_all(TAG.mask());
                this.write_in_mbox_of(spe(1), 0);
            }));
            let bytes = lender.join().unwrap();
            assert_eq!(bytes, [[4; 64], [3; 64]].concat()[..]);
        })
        .unwrap();
}

fn mailboxes_and_signals_are_reached_by_dma<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let receiver = ppe.spawn(spe(1), |this: &M::Spe| {
                (this.read_in_mbox(), this.read_signal(SignalRegister::Two))
            });
            drop(ppe.spawn(spe(0), |this: &M::Spe| {
                // Both addresses of a transfer end in 0xc, as the register does.
                let word = LsAddr(0x100c);
                let mfc = this.mfc();
                this.local_store().write_word(word, 77);
                let in_mbox = ProblemStateRegister::InMbox.of(spe(1));
                mfc.issue(RawCommand::put(word, in_mbox, 4, TAG)).unwrap();
                let signal = ProblemStateRegister::SigNotify2.of(spe(1));
                mfc.issue(RawCommand::sndsig(word, signal, TAG)).unwrap();
                mfc.wait_all(TAG.mask());
                // The machine has no SPE 99, and a register cannot be read by a get.
                let missing = ProblemStateRegister::InMbox.of(spe(99));
                mfc.issue(RawCommand::put(word, missing, 4, TAG))
                    .unwrap_err();
                mfc.issue(RawCommand::get(word, in_mbox, 4, TAG))
                    .unwrap_err();
            }));
            assert_eq!(receiver.join().unwrap(), (77, 77));
        })
        .unwrap();
}

fn a_put_to_a_full_mailbox_waits_in_the_queue<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            for word in 0..4 {
                ppe.write_in_mbox(spe(1), word);
            }
            let sender = ppe.spawn(spe(0), |this: &M::Spe| {
                let word = LsAddr(0x100c);
                this.local_store().write_word(word, 4);
                let in_mbox = ProblemStateRegister::InMbox.of(spe(1));
                this.mfc()
                    .issue(RawCommand::put(word, in_mbox, 4, TAG))
                    .unwrap();
                assert_eq!(this.mfc().incomplete_tags(), TAG.mask());
                this.write_out_mbox(cellworks::machine::mailbox::Outbound::Plain, 0);
                this.mfc().wait_all(TAG.mask());
            });
            ppe.read_out_mbox(spe(0), cellworks::machine::mailbox::Outbound::Plain);
            let reader = ppe.spawn(spe(1), |this: &M::Spe| {
                [(); 5].map(|()| this.read_in_mbox())
            });
            assert_eq!(reader.join().unwrap(), [0, 1, 2, 3, 4]);
            sender.join().unwrap();
        })
        .unwrap();
}

fn a_put_to_a_full_mailbox_goes_on_while_its_program_waits_for_something_else<M: CellMachine>(
    machine: &M,
) {
    machine
        .run(|ppe| {
            for word in 0..4 {
                ppe.write_in_mbox(spe(1), word);
            }
            let sender = ppe.spawn(spe(0), |this: &M::Spe| {
                let word = LsAddr(0x100c);
                this.local_store().write_word(word, 4);
                let in_mbox = ProblemStateRegister::InMbox.of(spe(1));
                let put = RawCommand::put(word, in_mbox, 4, TAG);
                this.mfc().issue(put).unwrap();
                this.write_out_mbox(cellworks::machine::mailbox::Outbound::Plain, 0);
                this.read_in_mbox()
            });
            ppe.read_out_mbox(spe(0), cellworks::machine::mailbox::Outbound::Plain);
            drop(ppe.spawn(spe(1), |this: &M::Spe| {
                let words = [(); 5].map(|()| this.read_in_mbox());
                this.write_in_mbox_of(spe(0), words.iter().sum());
            }));
            assert_eq!(sender.join().unwrap(), 1 + 2 + 3 + 4);
        })
        .unwrap();
}

fn storage_control_zeroes_whole_lines<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 512).unwrap();
    region.write(0, &[1; 512]);
    on_spe(machine, |spe| {
        // The range is from the middle of the second line to the middle of the third.
        let zero = RawCommand::new(Opcode::Sdcrz, LsAddr(0), region.at(192), 128, TAG);
        spe.mfc().issue(zero).unwrap();
        let nothing = RawCommand::new(Opcode::Sdcrz, LsAddr(0), region.at(64), 0, TAG);
        spe.mfc().issue(nothing).unwrap();
        let at_the_end = EffectiveAddress(u64::MAX - 127);
        let nowhere = RawCommand::new(Opcode::Sdcrz, LsAddr(0), at_the_end, 128, TAG);
        spe.mfc().issue(nowhere).unwrap_err();
        spe.mfc().wait_all(TAG.mask());
    });
    let mut bytes = [9; 512];
    region.read(0, &mut bytes);
    assert_eq!(bytes[..], [[1; 128], [0; 128], [0; 128], [1; 128]].concat());
}

fn a_list_to_a_full_mailbox_loses_no_word<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 128).unwrap();
    machine
        .run(|ppe| {
            let sender = ppe.spawn(spe(0), |this: &M::Spe| {
                let in_mbox = ProblemStateRegister::InMbox.of(spe(1));
                let list = LsAddr(0x100);
                // The data of an element starts in the quadword after the data of the element
                // before.
                for word in 0..6 {
                    this.local_store()
                        .write_word(LsAddr(0x100c + 16 * word), word);
                }
                write_list(this, list, &[element(in_mbox, 4, false); 6]);
                let put = RawCommand::putl(LsAddr(0x1000), in_mbox.eah(), list, 48, TAG);
                this.mfc().issue(put).unwrap();
                // A command that is ordered after the list waits with the list.
                let after = RawCommand::putf(LsAddr(0x1000), region.at(0), 16, TAG);
                this.mfc().issue(after).unwrap();
                this.mfc().wait_all(TAG.mask());
            });
            let reader = ppe.spawn(spe(1), |this: &M::Spe| {
                [(); 6].map(|()| this.read_in_mbox())
            });
            assert_eq!(reader.join().unwrap(), [0, 1, 2, 3, 4, 5]);
            sender.join().unwrap();
        })
        .unwrap();
}

fn bad_list(nowhere: EffectiveAddress) -> RawCommand {
    RawCommand::getlf(LsAddr(0x2000), nowhere.eah(), LsAddr(0x100), 8, TAG)
}

/// Runs a program on SPE 0 with a put that waits for room in a mailbox, and a list behind it. The
/// list names memory that does not exist, and starts when the program calls `room`.
fn with_a_late_fault<M: CellMachine>(
    machine: &M,
    begin: impl FnOnce(&M::Spe) + Send,
    program: impl FnOnce(&M::Spe, EffectiveAddress) + Send,
) -> Result<(), String> {
    let nowhere = EffectiveAddress(0x1000);
    let program = move |of: &M::Spe| {
        begin(of);
        let in_mbox = ProblemStateRegister::InMbox.of(spe(1));
        for word in 0..4 {
            of.write_in_mbox_of(spe(1), word);
        }
        let put = RawCommand::put(LsAddr(0xc), in_mbox, 4, TAG);
        of.mfc().issue(put).unwrap();
        let element = ListElement {
            stall_and_notify: false,
            bytes: 16,
            eal: nowhere.eal(),
        };
        for (at, word) in [0x100, 0x104].into_iter().zip(element.to_words()) {
            of.local_store().write_word(LsAddr(at), word);
        }
        {
            let _at = of.at("list.c:7");
            of.mfc().issue(bad_list(nowhere)).unwrap();
        }
        assert!(of.mfc().incomplete_tags().contains(TAG));
        of.send_signal(spe(1), SignalRegister::One, 1);
        program(of, nowhere);
    };
    machine
        .run(|ppe| {
            drop(ppe.spawn(spe(1), |spe: &M::Spe| {
                spe.read_signal(SignalRegister::One);
                for _ in 0..5 {
                    spe.read_in_mbox();
                }
            }));
            let joined = ppe.spawn(spe(0), program).join();
            joined.map_err(|panic| panic.to_string())
        })
        .map_err(|error| error.to_string())?
}

const LATE: &str = "a command that waited in the MFC queue of SPE 0, getlf (local store address 0x2000, list of 8 bytes \
                    at local store address 0x100, EAH 0x0, tag 5)";

fn a_late_fault_is_a_panic_of_the_next_use_of_the_queue<M: CellMachine>(machine: &M) {
    let panic = with_a_late_fault(
        machine,
        |_| {},
        |spe, _| {
            spe.mfc().wait_all(TAG.mask());
            unreachable!("the wait uses the queue");
        },
    );
    let text = panic.unwrap_err();
    assert!(text.contains(LATE), "{text}");
}

fn a_program_that_asks_takes_late_faults_itself<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 4_096).unwrap();
    let result = with_a_late_fault(
        machine,
        |spe| assert_eq!(spe.mfc().take_late_fault(), None),
        |spe, nowhere| {
            let mfc = spe.mfc();
            mfc.wait_all(TAG.mask());
            let late = mfc.take_late_fault().expect("the list is illegal");
            assert!(
                late.to_string().ends_with(" (issued at list.c:7)"),
                "{late}"
            );
            let LateFault { fault, place } = late;
            let CommandFault {
                spe: of,
                command,
                fault,
            } = fault;
            assert_eq!((of, command), (spe.id(), bad_list(nowhere)));
            assert!(
                matches!(fault, MfcFault::DataStorage { ea, .. } if ea == nowhere),
                "{fault:?}"
            );
            assert_eq!(place, Some("list.c:7"));
            assert_eq!((mfc.take_late_fault(), mfc.free_entries()), (None, 16));
            mfc.issue(RawCommand::get(LsAddr(0), region.at(0), 16, TAG))
                .unwrap();
            mfc.wait_all(TAG.mask());
        },
    );
    result.unwrap();
}

fn a_late_fault_that_is_not_taken_ends_its_program<M: CellMachine>(machine: &M) {
    let panic = with_a_late_fault(
        machine,
        |spe| assert_eq!(spe.mfc().take_late_fault(), None),
        |spe, _| spe.mfc().wait_all(TAG.mask()),
    );
    let text = panic.unwrap_err();
    assert!(text.contains(LATE), "{text}");
    // The next program is another one: it has no fault, and does not take faults itself.
    a_late_fault_is_a_panic_of_the_next_use_of_the_queue(machine);
}

fn a_late_fault_that_is_not_taken_is_reported_in_place_of_a_deadlock<M: CellMachine>(machine: &M) {
    let end = with_a_late_fault(
        machine,
        |spe| assert_eq!(spe.mfc().take_late_fault(), None),
        |spe, _| {
            spe.read_signal(SignalRegister::Two);
        },
    );
    let text = end.unwrap_err();
    assert!(text.contains(LATE), "{text}");
}

fn the_next_program_meets_nothing_of_the_last<M: CellMachine>(machine: &M) {
    let region = machine.allocate(module(), 128).unwrap();
    machine
        .run(|ppe| {
            let leaves_all_behind = |this: &M::Spe| {
                std::mem::forget(this.local_store().reserve(1_000, 16, "leaked").unwrap());
                this.mfc().getllar(LsAddr(0x1000), region.at(0)).unwrap();
                let list = LsAddr(0x100);
                let elements = [true, false].map(|stall| element(region.at(0), 16, stall));
                write_list(this, list, &elements);
                let get = RawCommand::getl(LsAddr(0x2000), region.at(0).eah(), list, 16, TAG);
                this.mfc().issue(get).unwrap();
                this.mfc().wait_stalled();
            };
            ppe.spawn(spe(0), leaves_all_behind).join().unwrap();
            let looks = |this: &M::Spe| {
                let store = this.local_store();
                assert_eq!(store.free_bytes(), store.bytes());
                assert_eq!(this.mfc().free_entries(), 16);
                assert!(this.mfc().reservation_lost());
                this.mfc().wait_all(TagMask::ALL);
            };
            ppe.spawn(spe(0), looks).join().unwrap();
        })
        .unwrap();
}

fn regions_are_allocated_where_they_should_be<M: CellMachine>(machine: &M) {
    for module in machine.topology().modules() {
        let region = machine.allocate(module, 100).unwrap();
        assert_eq!(region.home(), module);
        assert!(region.bytes() >= 100 && region.at(0).0.is_multiple_of(128));
        let mut bytes = [1; 100];
        region.read(0, &mut bytes);
        assert_eq!(bytes, [0; 100]);
    }
    assert!(matches!(
        machine.allocate(module(), 0),
        Err(AllocateError::Empty)
    ));
    let nowhere = machine.allocate(ModuleId::new(999), 16).unwrap_err();
    let text = nowhere.to_string();
    assert!(
        text.starts_with("memory module 999 does not exist: ")
            && text.contains("has memory modules 0 to "),
        "{text}"
    );
}

fn the_local_store_is_handed_out_and_taken_back<M: CellMachine>(machine: &M) {
    on_spe(machine, |spe| {
        let store = spe.local_store();
        let all = store.free_bytes();
        let buffer = store.reserve(all / 2, 128, "half of it").unwrap();
        assert_eq!(store.free_bytes(), all - all / 2);
        let full = store.reserve(all, 16, "all of it").unwrap_err();
        let text = full.to_string();
        assert!(
            text.starts_with("the local store of SPE 0 has no room: "),
            "{text}"
        );
        assert!(
            text.contains("all of it") && text.contains("half of it"),
            "{text}"
        );
        assert!(text.contains("mfc.rs"), "{text}");
        drop(buffer);
        assert_eq!(store.free_bytes(), all);
    });
}
