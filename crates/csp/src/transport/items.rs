//! The items that wait to be read, and the places of their bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::Location;

use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks_machine::{NoRoom, Processor, Space, SpeId};

use super::carrier::Asker;
use super::origin::{Origin, SENDERS};
use crate::channel::link::Link;

/// The alignment of large items, so that DMA moves whole lines.
const LINE_ALIGN: u32 = 128;

const COMMAND_BYTES: usize = cellworks_machine::mfc::MAX_TRANSFER_BYTES as usize;

/// The name of an item's memory in the report of a full local store.
pub(crate) const HOLDER: &str = "an item of a channel";

/// Returns the size and the alignment of the room for an item. DMA moves whole quadwords.
pub(crate) fn room_of(bytes: usize) -> (usize, u32) {
    let align = if bytes >= LINE_ALIGN as usize {
        LINE_ALIGN
    } else {
        16
    };
    (bytes.next_multiple_of(16), align)
}

pub(crate) type CommandOf = fn(LsAddr, EffectiveAddress, u32, Tag) -> RawCommand;

/// Issues the commands that move an item for a process, and returns their tag group.
pub(crate) fn issue_all<E: fmt::Debug>(
    process: u32,
    of: CommandOf,
    lsa: LsAddr,
    ea: EffectiveAddress,
    bytes: usize,
    issue: impl Fn(RawCommand) -> Result<(), E>,
) -> Tag {
    let tag = Tag::new(16 + process % 16).expect("16 to 31 are tags");
    let (room, _) = room_of(bytes);
    for at in (0..room).step_by(COMMAND_BYTES) {
        let size = (room - at).min(COMMAND_BYTES);
        issue(of(
            LsAddr(lsa.0 + at as u32),
            ea + at as u64,
            size as u32,
            tag,
        ))
        .expect("items are in local stores, and in a region of the network");
    }
    tag
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    Local {
        spe: SpeId,
        lsa: LsAddr,
        ea: EffectiveAddress,
    },
    /// At the offset `start` of the area for items in main memory.
    Main { start: u32 },
}

struct Entry {
    bytes: Bytes,
    /// The number of the process that wrote the item.
    sender: u32,
    is_being_fetched: bool,
}

/// The items of a network that were written and not fetched.
pub(crate) struct Items {
    next: u32,
    entries: BTreeMap<u32, Entry>,
    /// Fetched items that still occupy memory in the local store of an SPE.
    fetched: BTreeMap<SpeId, BTreeSet<u32>>,
    main: Space,
    main_at: EffectiveAddress,
}

/// Returns the signal bit for the fetch of an item. Items with equal numbers modulo 32 share a bit.
pub(crate) fn signal_of(origin: Origin) -> u32 {
    1 << (origin.number() % 32)
}

impl Items {
    pub fn new(main_at: EffectiveAddress, main_bytes: u32) -> Self {
        Self {
            next: 0,
            entries: BTreeMap::new(),
            fetched: BTreeMap::new(),
            main: Space::new(main_bytes),
            main_at,
        }
    }

    /// Adds an item of the process `sender`, and returns its origin.
    ///
    /// # Panics
    ///
    /// Panics if the number of the item would be that of a sender.
    pub fn pack(&mut self, sender: u32, bytes: Bytes) -> Origin {
        // The number 0 means an item without bytes.
        self.next += 1;
        assert!(
            self.next < SENDERS,
            "a network on a Cell carries fewer items with bytes than 2^31; run several networks"
        );
        let entry = Entry {
            bytes,
            sender,
            is_being_fetched: false,
        };
        self.entries.insert(self.next, entry);
        Origin::new(self.next)
    }

    /// Returns the place of an item's bytes, or `None` if the item was fetched.
    pub fn bytes_of(&self, origin: Origin) -> Option<Bytes> {
        self.entries.get(&origin.number()).map(|entry| entry.bytes)
    }

    /// Returns the process that wrote an item, or `None` if the item was fetched.
    pub fn sender_of(&self, origin: Origin) -> Option<u32> {
        self.entries.get(&origin.number()).map(|entry| entry.sender)
    }

    pub fn is_waiting(&self, origin: Origin) -> bool {
        let entry = self.entries.get(&origin.number());
        entry.is_some_and(|entry| !entry.is_being_fetched)
    }

    /// Called when a process begins to fetch an item, which must not move from now on.
    pub fn begin_fetch(&mut self, origin: Origin) -> Option<Bytes> {
        let entry = self.entries.get_mut(&origin.number())?;
        entry.is_being_fetched = true;
        Some(entry.bytes)
    }

    /// Called when an item was fetched. Frees the room of the item in main memory.
    pub fn end_fetch(&mut self, origin: Origin) {
        let Some(entry) = self.entries.remove(&origin.number()) else {
            return;
        };
        match entry.bytes {
            Bytes::Local { spe, .. } => {
                self.fetched.entry(spe).or_default().insert(origin.number());
            }
            Bytes::Main { start } => self.main.release(start),
        }
    }

    /// Removes an item that is already in the local store of its reader.
    pub fn remove(&mut self, origin: Origin) {
        self.entries.remove(&origin.number());
    }

    /// Removes and returns the fetched items of an SPE that have their signal bit in `signal`.
    pub fn take_fetched(&mut self, spe: SpeId, signal: u32) -> Vec<Origin> {
        let Some(fetched) = self.fetched.get_mut(&spe) else {
            return Vec::new();
        };
        let taken = fetched.extract_if(.., |id| signal_of(Origin::new(*id)) & signal != 0);
        taken.map(Origin::new).collect()
    }

    /// Reserves room in main memory for an item of the channel `link`. If there is no room, unwinds
    /// with [`NoRoomForItem`].
    #[track_caller]
    pub fn reserve_main(&mut self, asker: Asker<'_>, link: &dyn Link, bytes: usize) -> u32 {
        let (room, align) = room_of(bytes);
        let at = Location::caller();
        let reserved = self.main.reserve(room, align, HOLDER, at);
        reserved
            .unwrap_or_else(|no_room| no_room_for_item(asker, link, bytes, Processor::Ppe, no_room))
    }

    pub fn release_main(&mut self, start: u32) {
        self.main.release(start);
    }

    pub fn main_address(&self, start: u32) -> EffectiveAddress {
        self.main_at + u64::from(start)
    }

    /// Called when the bytes of an item were copied to main memory. Returns false if the item was
    /// fetched from the local store meanwhile, or is being fetched.
    pub fn flushed(&mut self, origin: Origin, start: u32) -> bool {
        match self.entries.get_mut(&origin.number()) {
            Some(entry) if !entry.is_being_fetched => {
                entry.bytes = Bytes::Main { start };
                true
            }
            _ => false,
        }
    }
}

/// The error if there is no room for an item: a local store is full although all its waiting items
/// were flushed, or the area for items in main memory is full.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the process `{process}` has no room for an item of {bytes} bytes of {channel} on {at}: {}; write smaller items, or give \
     the processes there less data and smaller stacks",
    room(no_room)
)]
pub struct NoRoomForItem {
    /// The process that wanted to write or read the item.
    pub process: String,
    /// The channel of the item, such as "the channel `tasks`".
    pub channel: String,
    /// The number of bytes of the item.
    pub bytes: usize,
    /// The processor that had no room: an SPE in its local store, or the PPE in main memory.
    pub at: Processor,
    /// The free bytes of the full memory, and the holders of the other bytes.
    pub no_room: Box<NoRoom>,
}

cellworks_machine::debug_by_display!(NoRoomForItem);

fn room(no_room: &NoRoom) -> String {
    let NoRoom {
        local_store_bytes,
        free_bytes,
        largest_hole_bytes,
        holders,
        ..
    } = no_room;
    let mut text = format!(
        "{free_bytes} of {local_store_bytes} bytes are free, {largest_hole_bytes} of them in one piece"
    );
    for (index, holder) in holders.iter().take(4).enumerate() {
        let before = if index == 0 { ", and held are " } else { ", " };
        text.push_str(&format!("{before}{holder}"));
    }
    text
}

pub(crate) fn no_room_for_item(
    asker: Asker<'_>,
    link: &dyn Link,
    bytes: usize,
    at: Processor,
    no_room: NoRoom,
) -> ! {
    // Unwinds without a panic, so that no message is printed.
    std::panic::resume_unwind(Box::new(NoRoomForItem {
        process: asker.name.to_owned(),
        channel: link.name(),
        bytes,
        at,
        no_room: Box::new(no_room),
    }))
}
