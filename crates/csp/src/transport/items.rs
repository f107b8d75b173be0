//! Items that wait to be read: where their bytes are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::Location;

use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks_machine::{NoRoom, Processor, Space, SpeId};

use super::carrier::Asker;
use crate::link::Link;
use crate::parcel::Origin;

/// Bytes that the address of an item is a multiple of, so that whole lines move as such.
const LINE_ALIGN: u32 = 128;

/// The most that one command moves.
const COMMAND_BYTES: usize = cellworks_machine::mfc::MAX_TRANSFER_BYTES as usize;

/// What reports of a full store call the room of an item.
pub(crate) const HOLDER: &str = "an item of a channel";

/// What an item takes of a store: whole quadwords, which DMA moves.
pub(crate) fn room_of(bytes: usize) -> (usize, u32) {
    let align = if bytes >= LINE_ALIGN as usize {
        LINE_ALIGN
    } else {
        16
    };
    (bytes.next_multiple_of(16), align)
}

/// A constructor of commands.
pub(crate) type CommandOf = fn(LsAddr, EffectiveAddress, u32, Tag) -> RawCommand;

/// Has `issue` the commands that move an item of `bytes` bytes for a process. Returns the tag group
/// to wait for.
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

/// Where the bytes of an item are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    /// In the local store of an SPE.
    Local {
        spe: SpeId,
        lsa: LsAddr,
        ea: EffectiveAddress,
    },
    /// In main memory, from this byte of what is for items on.
    Main { start: u32 },
}

struct Entry {
    bytes: Bytes,
    is_being_fetched: bool,
}

/// The items of a network that have been packed and not fetched.
pub(crate) struct Items {
    next: u32,
    entries: BTreeMap<u32, Entry>,
    /// Those that were fetched from the local store of an SPE which has not freed their room.
    fetched: BTreeMap<SpeId, BTreeSet<u32>>,
    main: Space,
    main_at: EffectiveAddress,
}

/// The bit of a signal that says that an item was fetched: one in so many.
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

    pub fn pack(&mut self, bytes: Bytes) -> Origin {
        // 0 is an item without bytes.
        self.next += 1;
        let entry = Entry {
            bytes,
            is_being_fetched: false,
        };
        self.entries.insert(self.next, entry);
        Origin::new(self.next)
    }

    /// Where an item is, if it waits.
    pub fn bytes_of(&self, origin: Origin) -> Option<Bytes> {
        self.entries.get(&origin.number()).map(|entry| entry.bytes)
    }

    /// Whether an item waits, and nobody has begun to fetch it.
    pub fn is_waiting(&self, origin: Origin) -> bool {
        let entry = self.entries.get(&origin.number());
        entry.is_some_and(|entry| !entry.is_being_fetched)
    }

    /// Somebody begins to fetch an item: it stays where it is from now on.
    pub fn begin_fetch(&mut self, origin: Origin) -> Option<Bytes> {
        let entry = self.entries.get_mut(&origin.number())?;
        entry.is_being_fetched = true;
        Some(entry.bytes)
    }

    /// An item has been fetched. Its room in main memory is free; that in a local store is for its
    /// SPE to free, when it hears of it.
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

    /// An item is where it is wanted.
    pub fn remove(&mut self, origin: Origin) {
        self.entries.remove(&origin.number());
    }

    /// The items of an SPE that a signal says were fetched.
    pub fn take_fetched(&mut self, spe: SpeId, signal: u32) -> Vec<Origin> {
        let Some(fetched) = self.fetched.get_mut(&spe) else {
            return Vec::new();
        };
        let taken = fetched.extract_if(.., |id| signal_of(Origin::new(*id)) & signal != 0);
        taken.map(Origin::new).collect()
    }

    /// Room in main memory, for an item of the channel `link`; the process that asks ends if there
    /// is none.
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

    /// Where room in main memory is.
    pub fn main_address(&self, start: u32) -> EffectiveAddress {
        self.main_at + u64::from(start)
    }

    /// The bytes of an item have been put to main memory. False if it does not wait any more, or
    /// a reader fetches it where it was.
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

/// An item has no room where it is to be: in a local store, though all items that waited there were
/// flushed, or in what is set apart of main memory for items.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the process `{process}` has no room for an item of {bytes} bytes of {channel} on {at}: {}; write smaller items, or give \
     the processes there less data and smaller stacks",
    room(no_room)
)]
pub struct NoRoomForItem {
    /// The process that was to write it, or to read it.
    pub process: String,
    /// Its channel, as in "the channel `tasks`".
    pub channel: String,
    /// How many bytes the item has.
    pub bytes: usize,
    /// Where it was to be: on an SPE in its local store, on the PPE in main memory.
    pub at: Processor,
    /// What is free there, and who holds the rest.
    pub no_room: Box<NoRoom>,
}

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

/// Ends a process, and its network with it: an item of the channel `link` has no room.
pub(crate) fn no_room_for_item(
    asker: Asker<'_>,
    link: &dyn Link,
    bytes: usize,
    at: Processor,
    no_room: NoRoom,
) -> ! {
    // No panic, though it unwinds like one: nothing is printed.
    std::panic::resume_unwind(Box::new(NoRoomForItem {
        process: asker.name.to_owned(),
        channel: link.name(),
        bytes,
        at,
        no_room: Box::new(no_room),
    }))
}
