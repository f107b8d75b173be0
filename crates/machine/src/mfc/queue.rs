//! The command queue of one MFC: who may start, who waits for whom.

use std::array;
use std::iter::Take;
use std::ops::BitOr;

use super::command::{Command, Opcode, Order};
use super::fault::{InvalidCommand, MfcFault};
use super::tag::{Tag, TagMask};

/// Entries of the queue that an SPU's channel writes fill (CBEA s.9.1.1 p.113).
pub const SPU_QUEUE_ENTRIES: usize = 16;
/// Entries of the proxy queue, which the PPE and devices fill by MMIO (Handbook s.19.3.3.2 p.522).
pub const PROXY_QUEUE_ENTRIES: usize = 8;

/// Names one command in a [`CommandQueue`] from its push to its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryId {
    slot: u8,
    /// Tells the commands apart that use a slot one after the other.
    serial: u32,
}

/// Why a command could not be queued; it can be pushed again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// No entry is free. Waiting helps: on the hardware the write to `MFC_Cmd` stalls the SPU until
    /// one is.
    #[error(
        "the MFC command queue is full: all {entries} entries hold commands; wait until one completes"
    )]
    Full {
        /// How many entries the queue has.
        entries: usize,
    },
    /// The command is illegal now: an immediate atomic while another one is pending.
    #[error(transparent)]
    Fault(#[from] MfcFault),
}

/// The queue of one MFC as a state machine: it says which commands may start, and performs none.
///
/// ```text
///            all that it is
///           ordered after are
///               complete
///   push ─► waiting ─► runnable ── start ──► running ── complete ──► gone
///                                       stall │   ▲ acknowledge
///                                             ▼   │
///                                            stalled
/// ```
///
/// A command is ordered after earlier ones of the queue as follows, and not otherwise (CBEA s.7.9
/// pp.69-72):
///
/// - with a fence or a barrier: after all of its tag group;
/// - after any with a barrier in its tag group (`mfcsync`, `mfceieio` and storage control count as
///   such);
/// - `barrier`: after all, and all later ones after it;
/// - `getllar`, `putllc` and `putlluc` take an entry but are ordered with nothing (CBEA s.7.8 p.65,
///   p.308).
///
/// A machine that moves data at once pushes, starts and completes in one go; one that takes time
/// keeps the [`EntryId`]. Entries are in fixed arrays: no operation allocates.
#[derive(Clone, Debug)]
pub struct CommandQueue<const ENTRIES: usize = SPU_QUEUE_ENTRIES> {
    // These four are indexed by slot and mean something where `occupied` has the slot's bit.
    commands: [Option<Command>; ENTRIES],
    serials: [u32; ENTRIES],
    /// The tag's number, or `NO_TAG`.
    tags: [u8; ENTRIES],
    /// The slots whose commands have to complete before this slot's starts.
    after: [Slots; ENTRIES],
    /// The occupied slots, oldest command first: the first `len` of the array.
    by_age: [u8; ENTRIES],
    len: usize,
    next_serial: u32,
    occupied: Slots,
    started: Slots,
    stalled: Slots,
    /// Immediate atomics: none or one.
    atomics: Slots,
    /// Commands that hold up later ones of their tag group.
    group_barriers: Slots,
    /// Commands that hold up all later ones.
    queue_barriers: Slots,
    /// Tag groups that stalled since the program last asked.
    stall_notifications: TagMask,
}

/// A set of slots: bit `n` is slot `n`.
type Slots = u32;

/// What `tags` holds for an immediate atomic: no tag that a command can have.
const NO_TAG: u8 = u8::MAX;

impl<const ENTRIES: usize> Default for CommandQueue<ENTRIES> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const ENTRIES: usize> CommandQueue<ENTRIES> {
    /// An empty queue.
    pub const fn new() -> Self {
        const { assert!(ENTRIES >= 1 && ENTRIES <= 32, "a queue has 1 to 32 entries") };
        CommandQueue {
            commands: [None; ENTRIES],
            serials: [0; ENTRIES],
            tags: [NO_TAG; ENTRIES],
            after: [0; ENTRIES],
            by_age: [0; ENTRIES],
            len: 0,
            next_serial: 0,
            occupied: 0,
            started: 0,
            stalled: 0,
            atomics: 0,
            group_barriers: 0,
            queue_barriers: 0,
            stall_notifications: TagMask::NONE,
        }
    }

    /// Puts a command behind those that are queued.
    ///
    /// # Errors
    ///
    /// [`PushError::Full`] where no entry is free; [`PushError::Fault`] for an immediate atomic
    /// while another one is queued (CBEA p.57). The queue is unchanged then.
    #[inline]
    pub fn push(&mut self, command: Command) -> Result<EntryId, PushError> {
        if self.len == ENTRIES {
            return Err(PushError::Full { entries: ENTRIES });
        }
        let slot = (!self.occupied).trailing_zeros() as u8;
        let bit = 1 << slot;
        let index = usize::from(slot);
        let opcode = command.opcode();
        match command.tag() {
            None if self.atomics != 0 => return Err(self.atomic_pending(opcode).into()),
            None => {
                // It waits for nobody, and `after` of a free slot is empty: whatever had the slot
                // could only start, and so complete, once it was.
                self.tags[index] = NO_TAG;
                self.atomics = bit;
            }
            Some(tag) => {
                let group = self.group(tag);
                self.tags[index] = tag.number() as u8;
                self.after[index] = match opcode.order() {
                    _ if opcode == Opcode::Barrier => self.occupied & !self.atomics,
                    Order::None => self.queue_barriers | (group & self.group_barriers),
                    Order::Fence | Order::Barrier => self.queue_barriers | group,
                };
                if opcode == Opcode::Barrier {
                    self.queue_barriers |= bit;
                } else if opcode.order() == Order::Barrier {
                    self.group_barriers |= bit;
                }
            }
        }
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        self.serials[index] = serial;
        self.commands[index] = Some(command);
        self.occupied |= bit;
        self.by_age[self.len] = slot;
        self.len += 1;
        Ok(EntryId { slot, serial })
    }

    #[cold]
    fn atomic_pending(&self, opcode: Opcode) -> MfcFault {
        let pending = self
            .command_in(self.atomics.trailing_zeros() as u8)
            .opcode();
        let why = InvalidCommand::AtomicPending { opcode, pending };
        MfcFault::InvalidDmaCommand { why }
    }

    /// The queued commands of a tag group.
    fn group(&self, tag: Tag) -> Slots {
        // The common case where each command completes before the next is pushed.
        if self.occupied == 0 {
            return 0;
        }
        let same = |(slot, &of): (usize, &u8)| Slots::from(u32::from(of) == tag.number()) << slot;
        self.occupied & self.tags.iter().enumerate().map(same).fold(0, Slots::bitor)
    }

    fn command_in(&self, slot: u8) -> &Command {
        let command = self.commands[usize::from(slot)].as_ref();
        command.expect("an occupied slot holds a command")
    }

    fn id_of(&self, slot: u8) -> EntryId {
        EntryId {
            slot,
            serial: self.serials[usize::from(slot)],
        }
    }

    /// The slot's bit, after making sure that the command is still queued.
    #[track_caller]
    fn bit(&self, id: EntryId) -> Slots {
        let bit = 1 << id.slot;
        assert!(
            self.occupied & bit != 0 && self.serials[usize::from(id.slot)] == id.serial,
            "{id:?} is not queued: it was completed before"
        );
        bit
    }

    /// The command of an entry.
    ///
    /// # Panics
    ///
    /// Where the command is no longer queued.
    #[track_caller]
    pub fn command(&self, id: EntryId) -> &Command {
        self.bit(id);
        self.command_in(id.slot)
    }

    /// Whether a command has not been started, and may be now.
    ///
    /// # Panics
    ///
    /// Where the command is no longer queued.
    #[track_caller]
    #[inline]
    pub fn is_runnable(&self, id: EntryId) -> bool {
        self.bit(id);
        self.is_slot_runnable(id.slot)
    }

    fn is_slot_runnable(&self, slot: u8) -> bool {
        self.started & (1 << slot) == 0 && self.after[usize::from(slot)] == 0
    }

    /// The commands that may start now, oldest first: as of this call, so that they can be started
    /// while they are walked. They may be started in any order.
    pub fn runnable(&self) -> impl Iterator<Item = EntryId> + use<ENTRIES> {
        self.entries_where(|slot| self.is_slot_runnable(slot))
    }

    /// The entries whose slot is picked, oldest first.
    fn entries_where(&self, pick: impl Fn(u8) -> bool) -> Take<array::IntoIter<EntryId, ENTRIES>> {
        let mut ids = [EntryId { slot: 0, serial: 0 }; ENTRIES];
        let mut picked = 0;
        for &slot in self.by_age[..self.len].iter().filter(|&&slot| pick(slot)) {
            ids[picked] = self.id_of(slot);
            picked += 1;
        }
        ids.into_iter().take(picked)
    }

    /// Marks a command as started.
    ///
    /// # Panics
    ///
    /// Where the command may not start now.
    #[track_caller]
    #[inline]
    pub fn start(&mut self, id: EntryId) {
        assert!(
            self.is_runnable(id),
            "{} may not start now",
            self.command(id).opcode()
        );
        self.started |= 1 << id.slot;
    }

    /// Takes a command that has done all its work out of the queue.
    ///
    /// # Panics
    ///
    /// Where the command was not started, is stalled or is no longer queued.
    #[track_caller]
    #[inline]
    pub fn complete(&mut self, id: EntryId) {
        let bit = self.bit(id);
        assert!(
            self.started & !self.stalled & bit != 0,
            "{} is not running",
            self.command(id).opcode()
        );
        for set in [
            &mut self.occupied,
            &mut self.started,
            &mut self.atomics,
            &mut self.group_barriers,
            &mut self.queue_barriers,
        ] {
            *set &= !bit;
        }
        if self.occupied == 0 {
            self.len = 0;
            return;
        }
        for after in &mut self.after {
            *after &= !bit;
        }
        let mut ages = self.by_age[..self.len].iter();
        let age = ages
            .position(|&slot| slot == id.slot)
            .expect("an occupied slot has an age");
        self.len -= 1;
        for later in age..self.len {
            self.by_age[later] = self.by_age[later + 1];
        }
    }

    /// Marks a running list as stalled: an element with stall-and-notify has completed.
    ///
    /// The list keeps its entry, and its tag group stays incomplete (CBEA s.7.4 p.59).
    ///
    /// # Panics
    ///
    /// Where the command is no list, or is not running.
    #[track_caller]
    pub fn stall(&mut self, id: EntryId) {
        let bit = self.bit(id);
        let Command::ListTransfer(list) = *self.command(id) else {
            panic!(
                "{} does not stall: only a list does",
                self.command(id).opcode()
            );
        };
        assert!(
            self.started & !self.stalled & bit != 0,
            "{} is not running",
            list.opcode()
        );
        self.stalled |= bit;
        self.stall_notifications |= list.tag().mask();
    }

    /// Lets the stalled lists of a tag group run on (a write to `MFC_WrListStallAck`), and names
    /// them, oldest first. Does nothing where none is stalled.
    ///
    /// Source: CBEA s.9.3.7 p.129.
    pub fn acknowledge(&mut self, tag: Tag) -> impl Iterator<Item = EntryId> + use<ENTRIES> {
        let resumed = self.stalled & self.group(tag);
        self.stalled &= !resumed;
        self.entries_where(|slot| resumed & (1 << slot) != 0)
    }

    /// The tag groups with a list that is stalled now.
    pub fn stalled_tags(&self) -> TagMask {
        self.tags_of(self.stalled)
    }

    /// The tag groups in which a list has stalled since the last call: what a read of
    /// `MFC_RdListStallStat` returns and clears. An empty set is where that read would block.
    ///
    /// Source: CBEA s.9.3.7 p.129.
    pub fn take_stall_notifications(&mut self) -> TagMask {
        std::mem::take(&mut self.stall_notifications)
    }

    /// The tag groups with a queued command.
    #[inline]
    pub fn incomplete_tags(&self) -> TagMask {
        self.tags_of(self.occupied)
    }

    fn tags_of(&self, slots: Slots) -> TagMask {
        let of_slots = self.by_age[..self.len]
            .iter()
            .filter(|&&slot| slots & (1 << slot) != 0);
        let tags = of_slots.filter_map(|&slot| Tag::new(self.tags[usize::from(slot)].into()));
        tags.collect()
    }

    /// How many more commands the queue takes: the channel count of `MFC_Cmd`.
    pub const fn free_entries(&self) -> usize {
        ENTRIES - self.len
    }

    /// Whether no command is queued.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{EffectiveAddress, LsAddr, RawCommand};
    use super::*;

    const LSA: LsAddr = LsAddr(0);
    /// Also a legal list address in its lower half.
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

    /// A queue with these commands, and their entries.
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

    /// What the architecture says, command by command, over everything that was ever queued.
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

    /// Opcodes of each kind of order, plain ones and lists more often.
    const OPCODES: &[Opcode] = {
        use Opcode::*;
        &[
            Get, Put, Get, Put, Getl, Putl, Sndsig, Putf, Getlf, Putqlluc, Getb, Putlb, Sndsigb,
            Mfcsync, Mfceieio, Sdcrf, Barrier, Getllar, Putllc, Putlluc,
        ]
    };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// The queue agrees with the model after every step of a random run.
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
            // Nothing is stuck: whatever is left runs to its end.
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
}
