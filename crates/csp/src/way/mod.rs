//! The ways of an item through a channel, and the choice between these ways.
//!
//! ```text
//!   write, read ──► ring ──┬──► word ──► step       processors share memory
//!                          └──► carrier             processors share no memory
//! ```
//!
//! An arrow leads to the way that is tried next, if the item cannot go by the way before it.
//!
//! | way | items | cost |
//! |---|---|---|
//! | [`ring`] | items of a buffer with one writer and one reader (1) | one store, and no lock |
//! | [`word`] | items of a rendezvous of one writer and one reader (2) | one compare-and-exchange by each side |
//! | [`step`] | all other items | a step of the [protocol] under the lock |
//! | [`carrier`] | all items, if processors share no memory | a step of the protocol, with messages |
//!
//! 1. While no process waits at the channel, and no alternation uses the other end: see
//!    [`Ring`](ring::Ring).
//! 2. While the channel has no guards and has not ended: see [`crate::channel::lock`].
//!
//! [protocol]: crate::channel::protocol
//!
//! All ways have the same result as a step under the lock. A process that finds no partner
//! [waits](wait). Calls that do not wait, or wait until a deadline, use only the ring buffer or a
//! step, which a carrier performs if processors share no memory: see [`patience`]. Alternations
//! call steps of the protocol themselves: see [`crate::ends::alternation`].
//!
//! Read this file first, then `word` and `wait`, then `step` and `carrier`, `ring` and `patience`.

pub(crate) mod carrier;
pub(crate) mod patience;
pub(crate) mod ring;
pub(crate) mod step;
pub(crate) mod wait;
pub(crate) mod word;

use std::collections::VecDeque;
use std::panic::Location;

use self::word::Otherwise;
use crate::channel::ChannelEnd;
use crate::channel::lock::Lock;
use crate::ends::ended::{Ended, Unsent};
use crate::ends::item::Item;
use crate::process::Process;
use crate::process::place::Place;

/// Writes an item. Returns when a reader or the buffer has the item.
#[track_caller]
#[inline(always)]
pub(crate) fn write<T: Item, L: Lock, P: Place>(
    end: &mut ChannelEnd<T, L>,
    process: &Process<'_, P>,
    item: T,
) -> Result<(), Unsent<T>> {
    match ring::write(end.ring.as_ref(), process, item) {
        Ok(()) => Ok(()),
        Err(item) => write_past_ring(end, process, item),
    }
}

/// Writes an item as [`write`] does, after [`ring::write`] has not. Inlined into the caller,
/// because this function may switch stacks, and a CPU mispredicts each return after a switch.
#[track_caller]
#[inline(always)]
pub(crate) fn write_past_ring<T: Item, L: Lock, P: Place>(
    end: &mut ChannelEnd<T, L>,
    process: &Process<'_, P>,
    item: T,
) -> Result<(), Unsent<T>> {
    end.join_network(process.identity());
    let channel = &*end.channel;
    let parcel = process.pack(item, channel);
    let written = if process.shares_memory() {
        match word::write(channel, process, parcel, &mut end.partner, end.has_node) {
            Ok(()) => Ok(()),
            Err(Otherwise::Ended(refused)) => Err(refused),
            Err(Otherwise::Step(parcel)) => step::write(channel, process, parcel),
        }
    } else {
        carrier::write(channel, process, parcel)
    };
    match written {
        Ok(()) => Ok(()),
        Err((parcel, ended)) => Err(Unsent {
            item: process.take_back(parcel, channel),
            ended,
        }),
    }
}

/// Writes the items, and removes them from `items`. If an item cannot be written, the error has
/// this item, and `items` keeps the items after it.
#[track_caller]
#[inline(always)]
pub(crate) fn write_many<T: Item, L: Lock, P: Place>(
    end: &mut ChannelEnd<T, L>,
    process: &Process<'_, P>,
    items: &mut VecDeque<T>,
) -> Result<(), Unsent<T>> {
    loop {
        ring::write_many(end.ring.as_ref(), process, items);
        let Some(first) = items.pop_front() else {
            return Ok(());
        };
        write_past_ring(end, process, first)?;
    }
}

/// Reads an item. Returns when the channel has an item.
#[track_caller]
#[inline(always)]
pub(crate) fn read<T: Item, L: Lock, P: Place>(
    end: &mut ChannelEnd<T, L>,
    process: &Process<'_, P>,
) -> Result<T, Ended> {
    match ring::read(end.ring.as_ref(), process) {
        Some(item) => Ok(item),
        None => read_past_ring(end, process),
    }
}

/// Reads an item as [`read`] does, for an iterator that was made at `at`. Reports name this line,
/// because the call of the iterator's `next` may be in `std`.
#[track_caller]
#[inline(always)]
pub(crate) fn read_for_iterator<T: Item, L: Lock, P: Place>(
    end: &mut ChannelEnd<T, L>,
    process: &Process<'_, P>,
    at: &'static Location<'static>,
) -> Result<T, Ended> {
    if let Some(item) = ring::read(end.ring.as_ref(), process) {
        return Ok(item);
    }
    process.calls_at(Some(at));
    let _calls = CallsAt(process);
    read_past_ring(end, process)
}

/// The destructor ends [`Process::calls_at`], also if a read unwinds.
struct CallsAt<'a, 'b, P: Place>(&'a Process<'b, P>);

impl<P: Place> Drop for CallsAt<'_, '_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.calls_at(None);
    }
}

#[track_caller]
#[inline(always)]
fn read_past_ring<T: Item, L: Lock, P: Place>(
    end: &mut ChannelEnd<T, L>,
    process: &Process<'_, P>,
) -> Result<T, Ended> {
    end.join_network(process.identity());
    let channel = &*end.channel;
    let parcel = if process.shares_memory() {
        match word::read(channel, process, &mut end.partner, end.has_node) {
            Ok(parcel) => parcel,
            Err(Otherwise::Ended(ended)) => return Err(ended),
            Err(Otherwise::Step(())) => step::read(channel, process)?,
        }
    } else {
        carrier::read(channel, process)?
    };
    Ok(process.fetch(parcel, channel))
}

/// Waits for an item, and then reads more items of a ring buffer without waiting. Appends up to
/// `most` items to `items`, and returns their number.
#[track_caller]
#[inline(always)]
pub(crate) fn read_up_to<T: Item, L: Lock, P: Place>(
    end: &mut ChannelEnd<T, L>,
    process: &Process<'_, P>,
    most: usize,
    items: &mut Vec<T>,
) -> Result<usize, Ended> {
    let mut taken = 0;
    process.count_communication();
    if most > 0 && end.ring.is_none() {
        items.push(read(end, process)?);
        return Ok(1);
    }
    while taken < most {
        if let (Some(ring), Some(user)) = (&end.ring, process.user()) {
            // Reserves memory here, because `take_many` must not panic.
            items.reserve((most - taken).min(ring.len()));
            let room = items.capacity() - items.len();
            taken += ring.take_many(user, room.min(most - taken), items);
            if taken > 0 {
                break;
            }
        }
        let is_empty = || end.ring.as_ref().is_none_or(|ring| ring.len() == 0);
        if taken > 0 && is_empty() {
            break;
        }
        match read(end, process) {
            Ok(item) => items.push(item),
            // The items that were read are returned first, and the next call returns the error.
            Err(_) if taken > 0 => break,
            Err(ended) => return Err(ended),
        }
        taken += 1;
    }
    Ok(taken)
}
