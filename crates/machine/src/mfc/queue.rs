//! The command queue of one MFC, which determines when commands may start.

use std::array;
use std::iter::Take;
use std::ops::BitOr;

use super::command::Command;
use super::fault::{InvalidCommand, MfcFault};
use super::opcode::{Opcode, Order};
use super::tag::{Tag, TagMask};

#[cfg(all(test, not(loom)))]
mod tests;

/// The number of entries of an SPU's queue, filled by channel writes (CBEA s.9.1.1 p.113).
pub const SPU_QUEUE_ENTRIES: usize = 16;
/// The number of entries of the PPE's proxy queue, filled by MMIO (Handbook s.19.3.3.2 p.522).
pub const PROXY_QUEUE_ENTRIES: usize = 8;

/// The identifier of a command in a [`CommandQueue`], from its push to its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryId {
    slot: u8,
    /// Distinguishes successive commands in the same slot.
    serial: u32,
}

/// The reason why a command was not queued. A later push of the same command can succeed.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// No entry is free. On the hardware the write to `MFC_Cmd` stalls the SPU.
    #[error(
        "the MFC command queue is full: all {entries} entries hold commands; wait until one completes"
    )]
    Full {
        /// The number of entries of the queue.
        entries: usize,
    },
    /// The command is an immediate atomic, and another immediate atomic is pending.
    #[error(transparent)]
    Fault(#[from] MfcFault),
}

crate::debug_by_display!(PushError);

/// The queue of one MFC as a state machine, which determines which commands may start.
///
/// ```text
///           every command
///          that must precede
///             is complete
///   push ─► waiting ─► runnable ── start ──► running ── complete ──► gone
///                                       stall │   ▲ acknowledge
///                                             ▼   │
///                                            stalled
/// ```
///
/// The order of commands follows only these rules (CBEA s.7.9 pp.69-72):
///
/// - A command with a fence or a barrier runs after all earlier commands of its tag group.
/// - Every command runs after all earlier commands with a barrier in its tag group. `mfcsync`,
///   `mfceieio` and storage control commands count as commands with a barrier.
/// - `barrier` runs after all earlier commands, and all later commands run after it.
/// - The immediate atomics (`getllar`, `putllc`, `putlluc`) take an entry. They do not wait for
///   other commands, and no other command waits for them (CBEA s.7.8 p.65, p.308).
#[derive(Clone, Debug)]
pub struct CommandQueue<const ENTRIES: usize = SPU_QUEUE_ENTRIES> {
    // The next four arrays are indexed by slot. Elements are valid if their bit in `occupied` is 1.
    commands: [Option<Command>; ENTRIES],
    serials: [u32; ENTRIES],
    /// The tag's number, or [`NO_TAG`].
    tags: [u8; ENTRIES],
    /// The slots of the commands that must complete before this command starts.
    after: [Slots; ENTRIES],
    /// The occupied slots in the first `len` elements, oldest command first.
    by_age: [u8; ENTRIES],
    len: usize,
    next_serial: u32,
    occupied: Slots,
    started: Slots,
    stalled: Slots,
    /// The slot of the immediate atomic, if any.
    atomics: Slots,
    /// The commands that delay later commands of their tag group.
    group_barriers: Slots,
    /// The commands that delay all later commands.
    queue_barriers: Slots,
    /// The tag groups in which a list stalled since the last call of `take_stall_notifications`.
    stall_notifications: TagMask,
}

/// A set of slots, where bit `n` is slot `n`.
type Slots = u32;

/// The value in `tags` for an immediate atomic.
const NO_TAG: u8 = u8::MAX;

impl<const ENTRIES: usize> Default for CommandQueue<ENTRIES> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const ENTRIES: usize> CommandQueue<ENTRIES> {
    /// Returns an empty queue.
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

    /// Adds a command to the end of the queue.
    ///
    /// # Errors
    ///
    /// Returns [`PushError::Full`] if no entry is free, or [`PushError::Fault`] if the command and
    /// a queued command are immediate atomics (CBEA p.57).
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
                // A free slot's `after` is empty already: the slot's last command was started, and
                // a command starts only when its `after` is empty.
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

    fn group(&self, tag: Tag) -> Slots {
        // This is the common case: each command completes before the next one is pushed.
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

    /// Returns the slot's bit. Panics if the command is no longer queued.
    #[track_caller]
    fn bit(&self, id: EntryId) -> Slots {
        let bit = 1 << id.slot;
        assert!(
            self.occupied & bit != 0 && self.serials[usize::from(id.slot)] == id.serial,
            "{id:?} is not queued: it was completed before"
        );
        bit
    }

    /// Returns the command of an entry.
    ///
    /// # Panics
    ///
    /// Panics if the command is no longer queued.
    #[track_caller]
    pub fn command(&self, id: EntryId) -> &Command {
        self.bit(id);
        self.command_in(id.slot)
    }

    /// Returns whether a command is waiting and may start now.
    ///
    /// # Panics
    ///
    /// Panics if the command is no longer queued.
    #[track_caller]
    #[inline]
    pub fn is_runnable(&self, id: EntryId) -> bool {
        self.bit(id);
        self.is_slot_runnable(id.slot)
    }

    fn is_slot_runnable(&self, slot: u8) -> bool {
        self.started & (1 << slot) == 0 && self.after[usize::from(slot)] == 0
    }

    /// Returns the commands that may start now, oldest first. They may be started during iteration.
    pub fn runnable(&self) -> impl Iterator<Item = EntryId> + use<ENTRIES> {
        self.entries_where(|slot| self.is_slot_runnable(slot))
    }

    /// Returns the entries in slots that `pick` accepts, oldest first.
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
    /// Panics if the command may not start now.
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

    /// Removes a completed command from the queue.
    ///
    /// # Panics
    ///
    /// Panics if the command was not started, is stalled or is no longer queued.
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

    /// Marks a running list as stalled after an element with stall-and-notify. The list keeps its
    /// entry, and its tag group stays incomplete (CBEA s.7.4 p.59).
    ///
    /// # Panics
    ///
    /// Panics if the command is not a list, or is not running.
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

    /// Resumes the stalled lists of a tag group, if any, as a write to `MFC_WrListStallAck` does
    /// (CBEA s.9.3.7 p.129). Returns their entries, oldest first.
    pub fn acknowledge(&mut self, tag: Tag) -> impl Iterator<Item = EntryId> + use<ENTRIES> {
        let resumed = self.stalled & self.group(tag);
        self.stalled &= !resumed;
        self.entries_where(|slot| resumed & (1 << slot) != 0)
    }

    /// Returns the tag groups with a stalled list.
    pub fn stalled_tags(&self) -> TagMask {
        self.tags_of(self.stalled)
    }

    /// Returns and clears the tag groups in which a list has stalled (`MFC_RdListStallStat`, CBEA
    /// s.9.3.7 p.129).
    pub fn take_stall_notifications(&mut self) -> TagMask {
        std::mem::take(&mut self.stall_notifications)
    }

    /// Returns the tag groups with a queued command.
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

    /// Returns the number of free entries, the channel count of `MFC_Cmd`.
    pub const fn free_entries(&self) -> usize {
        ENTRIES - self.len
    }

    /// Returns whether no command is queued.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}
