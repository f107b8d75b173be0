//! Tests of the transfers that are hazards, and of the texts of hazards.

use cellworks_machine::mfc::{Direction, EffectiveAddress, LsAddr, Order, Tag};
use cellworks_machine::{ProblemStateRegister, Processor, SpeId};

use super::*;
use crate::issuer::Issuer;
use crate::time::Moment;

const STORE_BYTES: u64 = 0x4_0000;
const TAG_3: Option<Tag> = Tag::new(3);
const TAG_4: Option<Tag> = Tag::new(4);
/// An address of main memory, outside of all local stores.
const MEMORY: u64 = 0x10_0000_0000;

/// Makes the `Hazards` of four SPEs, whose local stores are adjacent.
fn watch(watch: HazardWatch) -> Hazards {
    let store = |spe: u64| spe * STORE_BYTES..(spe + 1) * STORE_BYTES;
    Hazards::new(watch, (1..=4).map(store).collect())
}

fn us(microseconds: u64) -> Moment {
    Moment::from_femtoseconds(microseconds * 1_000_000_000)
}

fn spe(index: u16) -> SpeId {
    SpeId::new(index)
}

/// The arguments for issuing a command with one transfer.
#[derive(Clone, Copy)]
struct Command {
    name: &'static str,
    direction: Direction,
    lsa: u32,
    ea: u64,
    bytes: u32,
    tag: Option<Tag>,
    order: Order,
}

fn get(lsa: u32, ea: u64, bytes: u32) -> Command {
    Command {
        name: "get",
        direction: Direction::Get,
        lsa,
        ea,
        bytes,
        tag: TAG_3,
        order: Order::None,
    }
}

fn put(lsa: u32, ea: u64, bytes: u32) -> Command {
    Command {
        name: "put",
        direction: Direction::Put,
        ..get(lsa, ea, bytes)
    }
}

impl Command {
    fn with(self, issue: Issue) -> Transfer {
        Transfer {
            name: self.name,
            direction: self.direction,
            lsa: LsAddr(self.lsa),
            ea: EffectiveAddress(self.ea),
            bytes: self.bytes,
            issue,
        }
    }
}

impl Hazards {
    /// Issues a command and begins its transfer.
    fn transfer(&mut self, now: Moment, spe: SpeId, id: u64, command: &Command) -> Option<Hazard> {
        let issue = self.issue(spe, Issuer::Spu, command.tag, command.order);
        self.begin(now, spe, id, &command.with(issue))
    }
}

/// Issues these transfers 1 us apart, and returns the first hazard.
fn hazard_of(transfers: &[(u16, Command)]) -> Option<String> {
    let mut hazards = watch(HazardWatch::Error);
    let mut text = None;
    for (number, (index, transfer)) in transfers.iter().enumerate() {
        let id = number as u64;
        let hazard = hazards.transfer(us(id + 1), spe(*index), id, transfer);
        text = text.or(hazard.map(|hazard| hazard.to_string()));
    }
    text
}

#[test]
fn a_get_into_what_is_being_put() {
    assert_eq!(
        hazard_of(&[
            (2, get(0x100, MEMORY, 256)),
            (2, put(0x180, MEMORY + 0x1000, 64))
        ])
        .unwrap(),
        "hazard at 2.000 us: SPE 2 issued put of 64 bytes (local store 0x180, effective address \
         0x1000001000, tag 3) while its own get of 256 bytes (local store 0x100, effective \
         address 0x1000000000, tag 3), issued at 1.000 us, is in flight; both touch local store \
         0x180 to 0x1bf of SPE 2, at least one writes there, and nothing orders them: order them \
         with a fence (putf), or wait for tag group 3 before"
    );
}

#[test]
fn two_gets_into_the_same_local_store() {
    let other = Command {
        tag: TAG_4,
        ..get(0x80, MEMORY + 0x1000, 256)
    };
    let text = hazard_of(&[(0, get(0x100, MEMORY, 256)), (0, other)]).unwrap();
    let expected = "both touch local store 0x100 to 0x17f of SPE 0, at least one writes there, and \
                    nothing orders them: order them with a fence (getf) in tag group 3, or wait \
                    for tag group 3 before";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn two_puts_to_the_same_main_memory() {
    let text = hazard_of(&[(0, put(0, MEMORY, 256)), (0, put(0x1000, MEMORY + 128, 16))]).unwrap();
    let expected = "both touch effective addresses 0x1000000080 to 0x100000008f, at least";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_put_to_what_another_spe_gets() {
    let text = hazard_of(&[(0, get(0, MEMORY, 256)), (3, put(0, MEMORY, 128))]).unwrap();
    let expected = "hazard at 2.000 us: SPE 3 issued put of 128 bytes (local store 0x0, effective \
                    address 0x1000000000, tag 3) while SPE 0's get of 256 bytes";
    assert!(text.starts_with(expected), "{text}");
    let expected = "nothing orders them: let SPE 0 wait for tag group 3 and then tell SPE 3 by a \
                    mailbox or a signal that it may begin";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn a_put_into_the_local_store_of_another_spe_that_gets() {
    let into_spe_1 = put(0, 2 * STORE_BYTES + 0x200, 128);
    let text = hazard_of(&[(1, get(0x240, MEMORY, 256)), (0, into_spe_1)]).unwrap();
    assert!(
        text.contains("both touch local store 0x240 to 0x27f of SPE 1"),
        "{text}"
    );
    let text = hazard_of(&[(0, into_spe_1), (1, get(0x240, MEMORY, 256))]).unwrap();
    assert!(
        text.contains("both touch local store 0x240 to 0x27f of SPE 1"),
        "{text}"
    );
}

#[test]
fn a_typed_transfer_is_waited_for_by_its_view() {
    let typed = Command {
        name: "stage",
        tag: None,
        ..get(0, MEMORY, 64)
    };
    let text = hazard_of(&[(0, typed), (0, put(0, MEMORY + 0x1000, 64))]).unwrap();
    assert!(
        text.contains("effective address 0x1000000000, typed), issued"),
        "{text}"
    );
    assert!(
        text.ends_with("nothing orders them: wait for its view before"),
        "{text}"
    );
}

#[test]
fn what_only_reads_or_touches_other_bytes_is_none() {
    let none = [
        // Two SPEs, or two commands of an SPE, get the same bytes.
        vec![(0, get(0, MEMORY, 128)), (1, get(0, MEMORY, 128))],
        vec![(0, get(0, MEMORY, 128)), (0, get(128, MEMORY, 128))],
        // A buffer is put to two places.
        vec![(0, put(0, MEMORY, 128)), (0, put(0, MEMORY + 128, 128))],
        // The ranges are adjacent.
        vec![(0, get(0, MEMORY, 128)), (0, get(128, MEMORY + 128, 128))],
        vec![(0, put(0, MEMORY, 128)), (1, put(0, MEMORY + 128, 128))],
        // Two SPEs write to the same register.
        vec![
            (0, put(12, ProblemStateRegister::InMbox.of(spe(2)).0, 4)),
            (1, put(12, ProblemStateRegister::InMbox.of(spe(2)).0, 4)),
        ],
    ];
    for transfers in none {
        assert_eq!(hazard_of(&transfers), None);
    }
}

#[test]
fn fences_and_barriers_order_a_tag_group() {
    let old = get(0, MEMORY, 128);
    let plain = put(0, MEMORY + 0x1000, 128);
    let fenced = Command {
        name: "putf",
        order: Order::Fence,
        ..plain
    };
    let barred = Command {
        name: "putb",
        order: Order::Barrier,
        ..plain
    };
    assert!(hazard_of(&[(0, old), (0, plain)]).is_some());
    assert_eq!(hazard_of(&[(0, old), (0, fenced)]), None);
    assert_eq!(hazard_of(&[(0, old), (0, barred)]), None);
    // A barrier for other bytes orders the commands before and after it, but a fence does not.
    let elsewhere = get(0x800, MEMORY + 0x2000, 16);
    let barrier = Command {
        order: Order::Barrier,
        ..elsewhere
    };
    let fence = Command {
        order: Order::Fence,
        ..elsewhere
    };
    assert_eq!(hazard_of(&[(0, barred), (0, old)]), None);
    assert!(hazard_of(&[(0, fenced), (0, old)]).is_some());
    assert_eq!(hazard_of(&[(0, old), (0, barrier), (0, plain)]), None);
    assert!(hazard_of(&[(0, old), (0, fence), (0, plain)]).is_some());
}

#[test]
fn neither_another_tag_group_nor_another_spe_is_ordered() {
    let old = get(0, MEMORY, 128);
    let barred = Command {
        order: Order::Barrier,
        ..put(0, MEMORY, 128)
    };
    let other_group = Command {
        tag: TAG_4,
        name: "putb",
        ..barred
    };
    let text = hazard_of(&[(0, old), (0, other_group)]).unwrap();
    let expected = "nothing orders them: a fence or barrier orders one tag group, so issue the putb in \
                    tag group 3, or wait for tag group 3 before";
    assert!(text.ends_with(expected), "{text}");
    assert!(hazard_of(&[(0, old), (1, barred)]).is_some());
}

#[test]
fn elements_of_a_list_keep_the_order_of_their_command() {
    let is_hazard = |list_order: Order, later: Command| {
        let mut hazards = watch(HazardWatch::Error);
        let element = get(0, MEMORY, 128);
        let list = hazards.issue(spe(0), Issuer::Spu, element.tag, list_order);
        let before = hazards.transfer(us(1), spe(0), 0, &later);
        assert_eq!(before, None, "no element has begun");
        hazards
            .begin(us(2), spe(0), 1, &element.with(list))
            .is_some()
    };
    let plain = put(0, MEMORY + 0x1000, 128);
    let fence = Command {
        order: Order::Fence,
        ..plain
    };
    assert!(is_hazard(Order::None, plain));
    assert!(is_hazard(Order::Fence, plain));
    assert!(!is_hazard(Order::Barrier, plain));
    assert!(!is_hazard(Order::None, fence));
    let other_group = Command {
        tag: TAG_4,
        ..fence
    };
    assert!(is_hazard(Order::None, other_group));
}

#[test]
fn elements_of_one_list_are_not_ordered_with_each_other() {
    let mut hazards = watch(HazardWatch::Error);
    let list = hazards.issue(spe(0), Issuer::Spu, TAG_3, Order::Barrier);
    let [one, other] = [0, 128].map(|lsa| {
        let element = Command {
            name: "putl",
            ..put(lsa, MEMORY, 128)
        };
        element.with(list)
    });
    assert_eq!(hazards.begin(us(1), spe(0), 0, &one), None);
    let text = hazards.begin(us(1), spe(0), 1, &other).unwrap().to_string();
    let expected = "they belong to one list; make two of it, the second with a fence (putlf)";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn a_barrier_behind_two_commands_does_not_order_them() {
    let mut hazards = watch(HazardWatch::Error);
    let element = get(0, MEMORY, 128);
    let list = hazards.issue(spe(0), Issuer::Spu, TAG_3, Order::None);
    assert_eq!(
        hazards.transfer(us(1), spe(0), 0, &put(0, MEMORY + 0x1000, 128)),
        None
    );
    hazards.order_all(spe(0), Issuer::Spu);
    hazards.order_group(spe(0), Issuer::Spu, Tag::of::<3>());
    assert!(
        hazards
            .begin(us(1), spe(0), 1, &element.with(list))
            .is_some()
    );
}

#[test]
fn ordering_commands_order_their_group_or_all() {
    let (old, new) = (get(0, MEMORY, 128), put(0, MEMORY, 128));
    let other_group = Command { tag: TAG_4, ..new };
    let is_hazard = |order: fn(&mut Hazards), new: &Command| {
        let mut hazards = watch(HazardWatch::Error);
        assert!(hazards.transfer(us(1), spe(0), 0, &old).is_none());
        order(&mut hazards);
        hazards.transfer(us(2), spe(0), 1, new).is_some()
    };
    let group: fn(&mut Hazards) =
        |hazards| hazards.order_group(spe(0), Issuer::Spu, Tag::of::<3>());
    let all: fn(&mut Hazards) = |hazards| hazards.order_all(spe(0), Issuer::Spu);
    let of_other: fn(&mut Hazards) = |hazards| hazards.order_all(spe(1), Issuer::Spu);
    assert!(!is_hazard(group, &new));
    assert!(is_hazard(group, &other_group));
    assert!(!is_hazard(all, &new));
    assert!(!is_hazard(all, &other_group));
    assert!(is_hazard(of_other, &new));
}

#[test]
fn what_is_complete_is_none() {
    let mut hazards = watch(HazardWatch::Error);
    for round in 0..1000 {
        // Another SPE has commands with the same ids.
        assert_eq!(
            hazards.transfer(us(1), spe(1), 0, &get(0, MEMORY + 0x8000, 128)),
            None
        );
        assert_eq!(
            hazards.transfer(us(1), spe(0), round, &get(0, MEMORY, 128)),
            None
        );
        hazards.end(spe(1), 0);
        hazards.end(spe(0), round);
        assert_eq!(
            hazards.transfer(us(1), spe(0), round, &put(0, MEMORY, 128)),
            None
        );
        hazards.end(spe(0), round);
    }
    assert!(hazards.in_flight.iter().all(Vec::is_empty));
    assert!(hazards.in_flight[0].capacity() < 10);
    assert!(hazards.blocks.is_empty());
}

/// Returns the hazard of a use of local store during a transfer.
fn hazard_during(
    transfer: Command,
    act: impl FnOnce(&mut Hazards) -> Option<Hazard>,
) -> Option<String> {
    let mut hazards = watch(HazardWatch::Error);
    assert!(hazards.transfer(us(1), spe(1), 0, &transfer).is_none());
    act(&mut hazards).map(|hazard| hazard.to_string())
}

#[test]
fn a_program_touches_local_store_in_flight() {
    let access = |transfer, is_write, lsa| {
        hazard_during(transfer, |hazards| {
            hazards.local_access(us(2), spe(1), LsAddr(lsa), 4, is_write)
        })
    };
    assert_eq!(
        access(get(0x80, MEMORY, 128), false, 0xfc).unwrap(),
        "hazard at 2.000 us: SPE 1 read local store 0xfc to 0xff while its get of 128 bytes (local \
         store 0x80, effective address 0x1000000000, tag 3), issued at 1.000 us, is in flight over \
         it: wait for tag group 3 before"
    );
    let text = access(put(0x80, MEMORY, 128), true, 0x80).unwrap();
    assert!(
        text.contains("SPE 1 wrote to local store 0x80 to 0x83 while its put"),
        "{text}"
    );
    // A program reads the bytes of a put, or writes other bytes.
    assert_eq!(access(put(0x80, MEMORY, 128), false, 0x80), None);
    assert_eq!(access(get(0x80, MEMORY, 128), true, 0x7c), None);
    assert_eq!(access(get(0x80, MEMORY, 128), true, 0x100), None);
}

#[test]
fn a_buffer_is_given_back_or_handed_out_in_flight() {
    let text = hazard_during(get(0x80, MEMORY, 128), |hazards| {
        hazards.buffer_released(us(2), spe(1), LsAddr(0), 0x400)
    });
    assert_eq!(
        text.unwrap(),
        "hazard at 2.000 us: SPE 1 gave back the buffer at local store 0x0 to 0x3ff while its get of \
         128 bytes (local store 0x80, effective address 0x1000000000, tag 3), issued at 1.000 us, is \
         in flight over it: wait for tag group 3 before the buffer is given back"
    );
    // A put only reads its buffer, but the buffer must not be allocated again.
    let text = hazard_during(put(0x80, MEMORY, 128), |hazards| {
        hazards.buffer_reserved(us(2), spe(1), LsAddr(0x80), 16)
    });
    let text = text.unwrap();
    assert!(
        text.contains("SPE 1 was handed out a buffer at local store 0x80 to 0x8f"),
        "{text}"
    );
    for other in [spe(0), spe(1)] {
        let text = hazard_during(get(0x80, MEMORY, 128), |hazards| {
            hazards.buffer_released(us(2), other, LsAddr(0x100), 0x400)
        });
        assert_eq!(text, None);
    }
}

#[test]
fn another_spe_puts_into_a_buffer_that_is_given_back() {
    let into_spe_0 = put(0, STORE_BYTES + 0x100, 128);
    let text = hazard_during(into_spe_0, |hazards| {
        hazards.buffer_released(us(2), spe(0), LsAddr(0x100), 128)
    });
    let text = text.unwrap();
    let expected = "is in flight over it: let SPE 1 wait for tag group 3 and then tell SPE 0 by a \
                    mailbox or a signal";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn a_word_is_written_to_a_full_mailbox() {
    let mut hazards = watch(HazardWatch::Error);
    let hazard = hazards.mailbox_full(us(3), Processor::Ppe, spe(2)).unwrap();
    assert_eq!(
        hazard.to_string(),
        "hazard at 3.000 us: the PPE wrote to the inbound mailbox of SPE 2, which was full; a Cell \
         loses the newest word there: let SPE 2 answer before more words are sent than its mailbox \
         holds"
    );
}

#[test]
fn warnings_are_collected_once_for_each_kind_and_place() {
    let mut hazards = watch(HazardWatch::Warn);
    for round in 0..10 {
        for sender in [0, 1] {
            let from = Processor::Spe(spe(sender));
            assert_eq!(hazards.mailbox_full(us(round), from, spe(2)), None);
        }
        assert_eq!(
            hazards.transfer(us(round), spe(0), 0, &get(0, MEMORY, 128)),
            None
        );
        let fenced = Command {
            name: "putf",
            ..put(0, MEMORY, 128)
        };
        assert_eq!(
            hazards.transfer(us(round), spe(0), 1, &put(0, MEMORY, 128)),
            None
        );
        assert_eq!(hazards.transfer(us(round), spe(1), 1, &fenced), None);
        hazards.end(spe(0), 0);
        hazards.end(spe(0), 1);
        hazards.end(spe(1), 1);
    }
    let (messages, seen) = hazards.finish();
    // There are five kinds: two full mailboxes, a put that overlaps a get, and a putf of another
    // SPE that overlaps the get and the put.
    assert_eq!((messages.len(), seen), (5, 50));
    assert!(
        messages
            .iter()
            .all(|message| message.starts_with("hazard at 0.000 us: "))
    );
}

#[test]
fn the_number_of_warnings_is_bounded() {
    let mut hazards = watch(HazardWatch::Warn);
    for sender in 0..MAX_HAZARDS as u16 + 7 {
        let from = Processor::Spe(spe(sender));
        assert_eq!(hazards.mailbox_full(us(1), from, spe(0)), None);
    }
    let (messages, seen) = hazards.finish();
    assert_eq!(
        (messages.len(), seen),
        (MAX_HAZARDS, MAX_HAZARDS as u64 + 7)
    );
}

#[test]
fn nothing_is_watched_when_off() {
    let mut hazards = watch(HazardWatch::Off);
    assert_eq!(
        hazards.transfer(us(1), spe(0), 0, &get(0, MEMORY, 128)),
        None
    );
    assert_eq!(
        hazards.transfer(us(1), spe(0), 1, &get(0, MEMORY, 128)),
        None
    );
    assert_eq!(
        hazards.local_access(us(1), spe(0), LsAddr(0), 16, true),
        None
    );
    assert_eq!(hazards.mailbox_full(us(1), Processor::Ppe, spe(0)), None);
    hazards.end(spe(0), 0);
    assert_eq!(hazards.finish(), (Vec::new(), 0));
}
