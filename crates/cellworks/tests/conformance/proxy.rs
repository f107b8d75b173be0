//! The proxy queue: commands that the PPE issues to an SPE's MFC.

use cellworks::machine::memory::Region;
use cellworks::machine::mfc::{
    EffectiveAddress, ListElement, LsAddr, Opcode, RawCommand, Tag, TagMask,
};
use cellworks::machine::{
    CellMachine, CellSpe, Handle, Mfc, ModuleId, Ppe, ProblemStateRegister, RunError, TryIssueError,
};

use crate::{on_every_cell, spe};

on_every_cell![
    bytes_go_both_ways_without_a_program,
    a_program_finds_what_the_ppe_has_brought,
    a_fenced_command_waits_for_its_tag_group,
    a_ninth_command_waits,
    a_put_to_a_full_mailbox_needs_no_question_to_go_on,
    tag_groups_of_the_spu_are_others,
    the_end_of_a_program_leaves_the_queue_alone,
    what_the_proxy_queue_does_not_take_is_refused,
    what_the_ppe_waits_for_is_named,
    an_spe_that_is_not_there_is_named,
];

const TAG: Tag = Tag::of::<5>();
const OTHER: Tag = Tag::of::<6>();
/// Addresses in the local store. A word for a mailbox must end in 0xc, as the mailbox does.
const DATA: LsAddr = LsAddr(0x1000);
const WORD: LsAddr = LsAddr(0x100c);

fn region<M: CellMachine>(machine: &M, bytes: usize) -> Region {
    machine.allocate(ModuleId::new(0), bytes).unwrap()
}

/// Leaves a put of the word 4 in the proxy queue of SPE 0, in tag group 5. The put has to wait,
/// because the mailbox of SPE 1 is full with the words 0 to 3.
fn block<M: CellMachine>(ppe: &Ppe<'_, '_, M>, words: &Region) {
    for word in 0..4 {
        ppe.write_in_mbox(spe(1), word);
    }
    words.write(12, &4_u32.to_ne_bytes());
    ppe.issue_proxy(spe(0), RawCommand::get(DATA, words.at(0), 16, TAG))
        .unwrap();
    ppe.wait_all_proxy(spe(0), TAG.mask());
    let in_mbox = ProblemStateRegister::InMbox.of(spe(1));
    ppe.issue_proxy(spe(0), RawCommand::put(WORD, in_mbox, 4, TAG))
        .unwrap();
    assert_eq!(ppe.incomplete_proxy_tags(spe(0)), TAG.mask());
}

/// Starts a program that reads the words which [`block`] has sent, so that the put can complete.
fn read_all<'scope, M: CellMachine>(
    ppe: &'scope Ppe<'scope, '_, M>,
) -> Handle<'scope, [u32; 5], M> {
    ppe.spawn(spe(1), |this: &M::Spe| {
        [(); 5].map(|()| this.read_in_mbox())
    })
}

/// Reads the words that [`block`] has sent, and waits for the put.
fn unblock<'scope, M: CellMachine>(ppe: &'scope Ppe<'scope, '_, M>) {
    let reader = read_all(ppe);
    ppe.wait_all_proxy(spe(0), TagMask::ALL);
    assert_eq!(reader.join().unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(ppe.incomplete_proxy_tags(spe(0)), TagMask::NONE);
}

/// Calls `main` on the PPE while its put is in the proxy queue: see [`block`].
fn while_blocked<M: CellMachine>(
    machine: &M,
    main: impl for<'scope, 'env> FnOnce(&'scope Ppe<'scope, 'env, M>, &'env Region),
) {
    let words = region(machine, 512);
    let run = machine.run(|ppe| {
        block(ppe, &words);
        main(ppe, &words);
    });
    run.unwrap();
}

fn bytes_go_both_ways_without_a_program<M: CellMachine>(machine: &M) {
    let (from, to) = (region(machine, 1 << 14), region(machine, 1 << 14));
    let pattern: Vec<u8> = (0..1 << 14).map(|i| (i * 7 + i / 256) as u8).collect();
    from.write(0, &pattern);
    machine
        .run(|ppe| {
            let last = spe(3);
            for bytes in [0, 1, 8, 16, 128, 4_096, 16_384] {
                ppe.issue_proxy(last, RawCommand::get(DATA, from.at(0), bytes, TAG))
                    .unwrap();
                ppe.wait_all_proxy(last, TAG.mask());
                ppe.try_issue_proxy(last, RawCommand::put(DATA, to.at(0), bytes, OTHER))
                    .unwrap();
                assert_eq!(ppe.wait_any_proxy(last, OTHER.mask()), OTHER.mask());
                let mut moved = vec![0; bytes as usize];
                to.read(0, &mut moved);
                assert_eq!(moved, pattern[..bytes as usize], "{bytes} bytes");
            }
        })
        .unwrap();
}

fn a_program_finds_what_the_ppe_has_brought<M: CellMachine>(machine: &M) {
    let region = region(machine, 256);
    region.write(0, &[3; 128]);
    machine
        .run(|ppe| {
            ppe.issue_proxy(spe(0), RawCommand::get(DATA, region.at(0), 128, TAG))
                .unwrap();
            ppe.wait_all_proxy(spe(0), TAG.mask());
            let program = ppe.spawn(spe(0), |this: &M::Spe| {
                let mut found = [0; 128];
                this.local_store().read(DATA, &mut found);
                this.local_store().write(DATA, &[4; 128]);
                found
            });
            assert_eq!(program.join().unwrap(), [3; 128]);
            ppe.issue_proxy(spe(0), RawCommand::put(DATA, region.at(128), 128, TAG))
                .unwrap();
            ppe.wait_all_proxy(spe(0), TAG.mask());
        })
        .unwrap();
    let mut put = [0; 128];
    region.read(128, &mut put);
    assert_eq!(put, [4; 128]);
}

fn a_fenced_command_waits_for_its_tag_group<M: CellMachine>(machine: &M) {
    while_blocked(machine, |ppe, region| {
        let put = |opcode, offset, tag| {
            let put = RawCommand::new(opcode, DATA, region.at(offset), 16, tag);
            ppe.issue_proxy(spe(0), put).unwrap();
        };
        put(Opcode::Putf, 128, TAG);
        put(Opcode::Put, 256, OTHER);
        ppe.wait_all_proxy(spe(0), OTHER.mask());
        assert_eq!(
            ppe.wait_any_proxy(spe(0), TAG.mask() | OTHER.mask()),
            OTHER.mask()
        );
        // Only the put without a fence has happened, and has written the word 4.
        assert_eq!((region.load_u32(140), region.load_u32(268)), (0, 4));
        unblock(ppe);
        assert_eq!(region.load_u32(140), 4);
    });
}

fn a_ninth_command_waits<M: CellMachine>(machine: &M) {
    while_blocked(machine, |ppe, region| {
        let behind = |offset| RawCommand::putb(DATA, region.at(offset), 16, TAG);
        for _ in 1..8 {
            ppe.try_issue_proxy(spe(0), behind(128)).unwrap();
        }
        let full = ppe.try_issue_proxy(spe(0), behind(256)).unwrap_err();
        assert_eq!(full, TryIssueError::Full);
        assert_eq!(
            full.to_string(),
            "the MFC command queue is full; wait for a tag group, or use `issue` (for the PPE, `issue_proxy`), \
             which waits for an entry"
        );
        // The proxy queues of the other SPEs are separate.
        ppe.try_issue_proxy(spe(2), behind(384)).unwrap();
        let reader = read_all(ppe);
        ppe.issue_proxy(spe(0), behind(256)).unwrap();
        ppe.wait_all_proxy(spe(0), TAG.mask());
        assert_eq!((region.load_u32(140), region.load_u32(268)), (4, 4));
        assert_eq!(reader.join().unwrap(), [0, 1, 2, 3, 4]);
    });
}

fn a_put_to_a_full_mailbox_needs_no_question_to_go_on<M: CellMachine>(machine: &M) {
    while_blocked(machine, |ppe, region| {
        ppe.issue_proxy(spe(0), RawCommand::putf(DATA, region.at(128), 16, TAG))
            .unwrap();
        // Meanwhile the PPE waits for another event.
        let reader = read_all(ppe);
        assert_eq!(reader.join().unwrap(), [0, 1, 2, 3, 4]);
        ppe.wait_all_proxy(spe(0), TAG.mask());
        assert_eq!(region.load_u32(140), 4);
    });
}

fn tag_groups_of_the_spu_are_others<M: CellMachine>(machine: &M) {
    while_blocked(machine, |ppe, region| {
        let program = ppe.spawn(spe(0), |this: &M::Spe| {
            let mfc = this.mfc();
            assert_eq!(
                (mfc.incomplete_tags(), mfc.free_entries()),
                (TagMask::NONE, 16)
            );
            mfc.issue(RawCommand::putb(DATA, region.at(128), 16, TAG))
                .unwrap();
            mfc.wait_all(TAG.mask());
        });
        program.join().unwrap();
        assert_eq!(region.load_u32(140), 4);
        assert_eq!(ppe.incomplete_proxy_tags(spe(0)), TAG.mask());
        unblock(ppe);
    });
}

fn the_end_of_a_program_leaves_the_queue_alone<M: CellMachine>(machine: &M) {
    while_blocked(machine, |ppe, region| {
        ppe.issue_proxy(spe(0), RawCommand::putf(DATA, region.at(128), 16, TAG))
            .unwrap();
        let leaves_a_list_behind = |this: &M::Spe| {
            let list = LsAddr(0x100);
            let element = ListElement {
                stall_and_notify: true,
                bytes: 16,
                eal: region.at(256).eal(),
            };
            for at in [0, 8] {
                let [first, second] = element.to_words();
                this.local_store().write_word(LsAddr(list.0 + at), first);
                this.local_store()
                    .write_word(LsAddr(list.0 + at + 4), second);
            }
            let eah = region.at(256).eah();
            this.mfc()
                .issue(RawCommand::getl(LsAddr(0x2000), eah, list, 16, TAG))
                .unwrap();
            this.mfc().wait_stalled();
        };
        ppe.spawn(spe(0), leaves_a_list_behind).join().unwrap();
        let finds_an_empty_queue = |this: &M::Spe| this.mfc().free_entries();
        let free = ppe.spawn(spe(0), finds_an_empty_queue).join().unwrap();
        assert_eq!(free, 16);
        assert_eq!(ppe.incomplete_proxy_tags(spe(0)), TAG.mask());
        unblock(ppe);
        assert_eq!(region.load_u32(140), 4);
    });
}

fn what_the_proxy_queue_does_not_take_is_refused<M: CellMachine>(machine: &M) {
    let region = region(machine, 1 << 15);
    machine
        .run(|ppe| {
            let ea = region.at(0);
            let refused = |command: RawCommand| ppe.issue_proxy(spe(0), command).unwrap_err().to_string();
            let eah = ea.eah();
            assert_eq!(
                refused(RawCommand::getl(DATA, eah, LsAddr(0x100), 8, TAG)),
                format!(
                    "the MFC of SPE 0 refused getl (local store address 0x1000, list of 8 bytes at local store address \
                     0x100, EAH {eah:#x}, tag 5): getl: the proxy queue, through which the PPE issues, takes no lists \
                     and no atomic commands; issue it from a program on the SPE (MFC invalid DMA command, class 0 bit \
                     1; CBEA p.57)"
                )
            );
            assert!(refused(RawCommand::getllar(DATA, ea)).contains("): getllar: the proxy queue"));
            assert_eq!(
                refused(RawCommand::new(Opcode::Gets, DATA, ea, 16, TAG)),
                format!(
                    "the MFC of SPE 0 refused gets (local store address 0x1000, effective address {ea}, 16 bytes, tag \
                     5): gets: it would start the SPU after the transfer, which a Cell allows here and this machine \
                     does not; use get, and `Ppe::spawn` to start a program (MFC invalid DMA command, class 0 bit 1; \
                     CBEA p.57)"
                )
            );
            // The proxy queue refuses other illegal commands as the SPU's queue does.
            assert!(refused(RawCommand::get(DATA, ea, 24, TAG)).contains("DMA alignment"));
            assert!(refused(RawCommand::get(DATA, ea, 16_400, TAG)).contains("at most 16384 bytes"));
            let past_the_end = LsAddr(256 * 1024 - 16);
            assert!(refused(RawCommand::get(past_the_end, ea, 32, TAG)).contains("past the"));
            let nowhere = RawCommand::put(DATA, EffectiveAddress(0x1000), 16, TAG);
            assert!(refused(nowhere).contains("): put of 16 bytes at effective address 0x1000: this memory"));
            assert_eq!(ppe.incomplete_proxy_tags(spe(0)), TagMask::NONE);
        })
        .unwrap();
}

fn what_the_ppe_waits_for_is_named<M: CellMachine>(machine: &M) {
    let region = region(machine, 512);
    let waits_of = |what: &dyn Fn(&Ppe<'_, '_, M>)| {
        let end = machine.run(|ppe| {
            block(ppe, &region);
            what(ppe);
        });
        let Err(RunError::Deadlock { waits }) = end else {
            panic!("expected a deadlock, got {:?}", end.err());
        };
        let waits = waits.into_iter().map(|wait| {
            assert!(
                wait.location.file().ends_with("proxy.rs"),
                "{}",
                wait.location
            );
            (wait.who, wait.what)
        });
        waits.collect::<Vec<_>>()
    };
    let ppe_waits_for = |what: &str| vec![("the PPE".to_owned(), what.to_owned())];
    assert_eq!(
        waits_of(&|ppe| ppe.wait_all_proxy(spe(0), TAG.mask())),
        ppe_waits_for("DMA of all tag groups in {5} of the MFC proxy queue of SPE 0")
    );
    assert_eq!(
        waits_of(&|ppe| _ = ppe.wait_any_proxy(spe(0), TAG.mask())),
        ppe_waits_for("DMA of any tag group in {5} of the MFC proxy queue of SPE 0")
    );
    let fill = |ppe: &Ppe<'_, '_, M>| loop {
        ppe.issue_proxy(spe(0), RawCommand::putb(DATA, region.at(128), 16, TAG))
            .unwrap();
    };
    assert_eq!(
        waits_of(&fill),
        ppe_waits_for("a free entry in the MFC proxy queue of SPE 0")
    );
}

fn an_spe_that_is_not_there_is_named<M: CellMachine>(machine: &M) {
    let put = RawCommand::put(DATA, EffectiveAddress(0), 16, TAG);
    let error_of = |ask: &dyn Fn(&Ppe<'_, '_, M>)| {
        let error = machine.run(|ppe| ask(ppe)).unwrap_err();
        error.to_string()
    };
    let issued = error_of(&|ppe| _ = ppe.issue_proxy(spe(99), put));
    assert!(issued.contains("SPE 99 was named, but "), "{issued}");
    let waited_for = error_of(&|ppe| ppe.wait_all_proxy(spe(99), TAG.mask()));
    assert!(
        waited_for.contains("SPE 99 was named, but "),
        "{waited_for}"
    );
}
