//! Tests of the order of commands in a queue.

use proptest::prelude::*;

use super::super::{EffectiveAddress, LsAddr, RawCommand};
use super::*;

const LSA: LsAddr = LsAddr(0);
/// An address whose lower half is also a legal list address.
const EA: EffectiveAddress = EffectiveAddress(0x1_0000_0800);
const A: Tag = Tag::of::<1>();
const B: Tag = Tag::of::<2>();

fn command(opcode: Opcode, tag: Tag) -> Command {
    let size = if opcode.name().starts_with("sndsig") {
        4
    } else {
        16
    };
    RawCommand::new(opcode, LSA, EA, size, tag)
        .check(256 * 1024)
        .unwrap()
}

fn queued<const N: usize>(commands: [(Opcode, Tag); N]) -> (CommandQueue, [EntryId; N]) {
    let mut queue = CommandQueue::new();
    let ids = commands.map(|(opcode, tag)| queue.push(command(opcode, tag)).unwrap());
    (queue, ids)
}

fn runnable(queue: &CommandQueue) -> Vec<EntryId> {
    queue.runnable().collect()
}

fn finish(queue: &mut CommandQueue, id: EntryId) {
    queue.start(id);
    queue.complete(id);
}

#[test]
fn commands_without_order_start_in_any_order() {
    let (mut queue, ids) = queued([(Opcode::Put, A), (Opcode::Get, A), (Opcode::Sndsig, B)]);
    assert_eq!(runnable(&queue), ids);
    finish(&mut queue, ids[2]);
    queue.start(ids[1]);
    assert_eq!(runnable(&queue), [ids[0]]);
    assert_eq!(queue.command(ids[1]), &command(Opcode::Get, A));
}

#[test]
fn a_fence_waits_for_its_tag_group_and_holds_up_nothing() {
    let (mut queue, [first, other, fence, later]) = queued([
        (Opcode::Put, A),
        (Opcode::Put, B),
        (Opcode::Getf, A),
        (Opcode::Put, A),
    ]);
    assert_eq!(runnable(&queue), [first, other, later]);
    queue.start(first);
    assert!(!queue.is_runnable(fence), "started is not complete");
    queue.complete(first);
    assert_eq!(runnable(&queue), [other, fence, later]);
}

#[test]
fn a_barrier_holds_up_what_comes_later_in_its_tag_group() {
    use Opcode::*;
    for opcode in [Putb, Getlb, Sndsigb, Mfcsync, Mfceieio, Sdcrt, Sdcrz] {
        let (mut queue, [first, barrier, later, other]) =
            queued([(Put, A), (opcode, A), (Put, A), (Putf, B)]);
        assert_eq!(runnable(&queue), [first, other], "{opcode}");
        finish(&mut queue, first);
        assert_eq!(runnable(&queue), [barrier, other]);
        queue.start(barrier);
        assert_eq!(runnable(&queue), [other]);
        queue.complete(barrier);
        assert_eq!(runnable(&queue), [later, other]);
    }
}

#[test]
fn the_barrier_command_orders_the_whole_queue_but_the_atomics() {
    let (mut queue, [first, barrier, later, atomic]) = queued([
        (Opcode::Put, A),
        (Opcode::Barrier, B),
        (Opcode::Put, A),
        (Opcode::Getllar, A),
    ]);
    assert_eq!(runnable(&queue), [first, atomic]);
    finish(&mut queue, first);
    assert_eq!(runnable(&queue), [barrier, atomic]);
    finish(&mut queue, barrier);
    assert_eq!(runnable(&queue), [later, atomic]);

    let (queue, [atomic, barrier]) = queued([(Opcode::Putllc, A), (Opcode::Barrier, A)]);
    assert_eq!(
        runnable(&queue),
        [atomic, barrier],
        "and does not wait for one"
    );
}

#[test]
fn a_queued_line_put_has_a_fence() {
    let (queue, [first, _, other]) = queued([
        (Opcode::Put, A),
        (Opcode::Putqlluc, A),
        (Opcode::Putqlluc, B),
    ]);
    assert_eq!(runnable(&queue), [first, other]);
}

#[test]
fn a_full_queue_refuses_until_one_completes() {
    let mut queue: CommandQueue = CommandQueue::new();
    assert_eq!(queue.free_entries(), 16);
    let put = command(Opcode::Put, A);
    let ids: Vec<_> = (0..16).map(|_| queue.push(put).unwrap()).collect();
    assert_eq!((queue.free_entries(), queue.is_empty()), (0, false));
    let full = queue.push(put).unwrap_err();
    assert_eq!(full, PushError::Full { entries: 16 });
    assert_eq!(
        full.to_string(),
        "the MFC command queue is full: all 16 entries hold commands; wait until one completes"
    );
    finish(&mut queue, ids[7]);
    let again = queue.push(put).unwrap();
    assert_eq!(
        queue.runnable().last(),
        Some(again),
        "the newest, though it has an old slot"
    );

    let mut proxy = CommandQueue::<PROXY_QUEUE_ENTRIES>::default();
    while proxy.push(put).is_ok() {}
    assert_eq!(proxy.runnable().count(), 8);
}

#[test]
fn one_immediate_atomic_at_a_time() {
    let (mut queue, [first]) = queued([(Opcode::Getllar, A)]);
    let second = command(Opcode::Putllc, A);
    let why = InvalidCommand::AtomicPending {
        opcode: Opcode::Putllc,
        pending: Opcode::Getllar,
    };
    assert_eq!(
        queue.push(second),
        Err(PushError::Fault(MfcFault::InvalidDmaCommand { why }))
    );
    assert!(
        queue.push(command(Opcode::Putqlluc, A)).is_ok(),
        "that one is queued, and not immediate"
    );
    finish(&mut queue, first);
    assert!(queue.push(second).is_ok());
}

#[test]
fn incomplete_tags_are_those_of_the_queued_commands() {
    let (mut queue, [a1, b, a2, _]) = queued([
        (Opcode::Put, A),
        (Opcode::Barrier, B),
        (Opcode::Put, A),
        (Opcode::Getllar, A),
    ]);
    assert_eq!(queue.incomplete_tags(), A.mask() | B.mask());
    finish(&mut queue, a1);
    finish(&mut queue, b);
    assert_eq!(queue.incomplete_tags(), A.mask());
    finish(&mut queue, a2);
    assert_eq!(
        queue.incomplete_tags(),
        TagMask::NONE,
        "an atomic has no tag"
    );
    assert!(!queue.is_empty());
}

#[test]
fn a_stalled_list_holds_its_entry_and_tag_until_it_is_acknowledged() {
    let (mut queue, [first, second, other]) =
        queued([(Opcode::Getl, A), (Opcode::Putl, A), (Opcode::Getl, B)]);
    for id in [first, second, other] {
        queue.start(id);
        queue.stall(id);
    }
    assert_eq!(queue.stalled_tags(), A.mask() | B.mask());
    assert_eq!(queue.take_stall_notifications(), A.mask() | B.mask());
    assert_eq!(
        queue.take_stall_notifications(),
        TagMask::NONE,
        "a read clears them"
    );
    assert_eq!(
        (queue.incomplete_tags(), queue.free_entries()),
        (A.mask() | B.mask(), 13)
    );

    assert_eq!(queue.acknowledge(A).collect::<Vec<_>>(), [first, second]);
    assert_eq!(queue.stalled_tags(), B.mask());
    assert_eq!(queue.acknowledge(A).count(), 0);
    assert_eq!(runnable(&queue), [], "a resumed list is not started again");
    queue.stall(first);
    assert_eq!(
        queue.take_stall_notifications(),
        A.mask(),
        "a list stalls more than once"
    );
    assert_eq!(queue.acknowledge(A).collect::<Vec<_>>(), [first]);
    queue.complete(first);
    queue.complete(second);
    assert_eq!(queue.incomplete_tags(), B.mask());
}

#[test]
#[should_panic(expected = "getf may not start now")]
fn starting_out_of_order_panics() {
    let (mut queue, [_, fence]) = queued([(Opcode::Put, A), (Opcode::Getf, A)]);
    queue.start(fence);
}

#[test]
#[should_panic(expected = "getl is not running")]
fn completing_a_stalled_list_panics() {
    let (mut queue, [list]) = queued([(Opcode::Getl, A)]);
    queue.start(list);
    queue.stall(list);
    queue.complete(list);
}

#[test]
#[should_panic(expected = "put does not stall: only a list does")]
fn stalling_a_single_transfer_panics() {
    let (mut queue, [put]) = queued([(Opcode::Put, A)]);
    queue.start(put);
    queue.stall(put);
}

#[test]
#[should_panic(expected = "is not queued: it was completed before")]
fn an_entry_is_not_mistaken_for_the_next_in_its_slot() {
    let (mut queue, [first]) = queued([(Opcode::Put, A)]);
    finish(&mut queue, first);
    queue.push(command(Opcode::Put, A)).unwrap();
    queue.start(first);
}

/// A simple model of the architecture's rules, which records every command.
struct Model {
    history: Vec<(EntryId, Opcode, Tag, State)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Waiting,
    Running,
    Stalled,
    Done,
}

impl Model {
    fn in_state(&self, states: &[State]) -> Vec<usize> {
        (0..self.history.len())
            .filter(|&i| states.contains(&self.history[i].3))
            .collect()
    }

    fn may_start(&self, i: usize) -> bool {
        use Opcode::*;
        let (_, opcode, tag, state) = self.history[i];
        let is_immediate = |opcode| matches!(opcode, Getllar | Putllc | Putlluc);
        let is_barrier =
            |opcode| matches!(opcode, Getb | Putlb | Sndsigb | Mfcsync | Mfceieio | Sdcrf);
        let is_fence = |opcode| matches!(opcode, Putf | Getlf | Putqlluc);
        state == State::Waiting
            && (is_immediate(opcode)
                || self.history[..i]
                    .iter()
                    .all(|&(_, earlier, earlier_tag, earlier_state)| {
                        let same_group = tag == earlier_tag;
                        earlier_state == State::Done
                            || is_immediate(earlier)
                            || !(earlier == Barrier
                                || opcode == Barrier
                                || same_group
                                    && (is_fence(opcode)
                                        || is_barrier(opcode)
                                        || is_barrier(earlier)))
                    }))
    }

    fn tags(&self, states: &[State]) -> TagMask {
        self.in_state(states)
            .into_iter()
            .filter(|&i| {
                !matches!(
                    self.history[i].1,
                    Opcode::Getllar | Opcode::Putllc | Opcode::Putlluc
                )
            })
            .map(|i| self.history[i].2)
            .collect()
    }
}

/// Opcodes with each kind of order. `Get` and `Put` occur twice, to be chosen more often.
const OPCODES: &[Opcode] = {
    use Opcode::*;
    &[
        Get, Put, Get, Put, Getl, Putl, Sndsig, Putf, Getlf, Putqlluc, Getb, Putlb, Sndsigb,
        Mfcsync, Mfceieio, Sdcrf, Barrier, Getllar, Putllc, Putlluc,
    ]
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_queue_does_what_the_architecture_says(
        steps in prop::collection::vec((0u8..10, prop::sample::select(OPCODES), 0u32..3, any::<prop::sample::Index>()), 1..200)
    ) {
        let mut queue: CommandQueue = CommandQueue::new();
        let mut model = Model { history: Vec::new() };
        for (step, opcode, tag, pick) in steps {
            let tag = Tag::new(tag).unwrap();
            let choose = |from: Vec<usize>| (!from.is_empty()).then(|| from[pick.index(from.len())]);
            let unfinished = [State::Waiting, State::Running, State::Stalled];
            match step {
                0..4 => {
                    let atomics = [Opcode::Getllar, Opcode::Putllc, Opcode::Putlluc];
                    let in_queue = model.in_state(&unfinished);
                    let atomic_pending = in_queue.iter().any(|&i| atomics.contains(&model.history[i].1));
                    match queue.push(command(opcode, tag)) {
                        Ok(id) => {
                            prop_assert!(in_queue.len() < 16 && !(atomic_pending && atomics.contains(&opcode)));
                            model.history.push((id, opcode, tag, State::Waiting));
                        }
                        Err(PushError::Full { .. }) => prop_assert_eq!(in_queue.len(), 16),
                        Err(PushError::Fault(_)) => prop_assert!(atomic_pending && atomics.contains(&opcode)),
                    }
                }
                4..6 => {
                    let ready = (0..model.history.len()).filter(|&i| model.may_start(i)).collect();
                    if let Some(i) = choose(ready) {
                        queue.start(model.history[i].0);
                        model.history[i].3 = State::Running;
                    }
                }
                6..8 => {
                    if let Some(i) = choose(model.in_state(&[State::Running])) {
                        queue.complete(model.history[i].0);
                        model.history[i].3 = State::Done;
                    }
                }
                8 => {
                    let mut lists = model.in_state(&[State::Running]);
                    lists.retain(|&i| matches!(queue.command(model.history[i].0), Command::ListTransfer(_)));
                    if let Some(i) = choose(lists) {
                        queue.stall(model.history[i].0);
                        model.history[i].3 = State::Stalled;
                        prop_assert!(queue.take_stall_notifications() == model.history[i].2.mask());
                    }
                }
                _ => {
                    let mut resumed = model.in_state(&[State::Stalled]);
                    resumed.retain(|&i| model.history[i].2 == tag);
                    let ids: Vec<_> = resumed.iter().map(|&i| model.history[i].0).collect();
                    prop_assert_eq!(queue.acknowledge(tag).collect::<Vec<_>>(), ids);
                    for i in resumed {
                        model.history[i].3 = State::Running;
                    }
                }
            }
            let ready = (0..model.history.len()).filter(|&i| model.may_start(i)).map(|i| model.history[i].0);
            prop_assert_eq!(runnable(&queue), ready.collect::<Vec<_>>());
            prop_assert_eq!(queue.incomplete_tags(), model.tags(&unfinished));
            prop_assert_eq!(queue.stalled_tags(), model.tags(&[State::Stalled]));
            prop_assert_eq!(queue.free_entries(), 16 - model.in_state(&unfinished).len());
        }
        // All remaining commands can run to their end.
        for tag in Tag::all() {
            for id in queue.acknowledge(tag) {
                queue.complete(id);
            }
        }
        for i in model.in_state(&[State::Running]) {
            queue.complete(model.history[i].0);
        }
        while let Some(id) = queue.runnable().next() {
            finish(&mut queue, id);
        }
        prop_assert!(queue.is_empty());
    }
}
