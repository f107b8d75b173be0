//! Reads and writes that do not wait, or wait until a deadline: through the ring buffer, or by a
//! step of the [protocol](crate::channel::protocol) under the channel's lock.

use std::panic::Location;

use cellworks_machine::Time;

use super::wait::{InFrame, leave};
use crate::channel::link::{Side, Waiting};
use crate::channel::lock::Lock;
use crate::channel::node::{InLine, Node, NodeState, Parcel};
use crate::channel::protocol::Met;
use crate::channel::{ChannelEnd, RawChannel};
use crate::ends::ended::{Ended, Refused, Unsent};
use crate::ends::item::Item;
use crate::process::Process;
use crate::process::place::Place;

/// Writes an item if the item is taken before `deadline`. Without a deadline, does not wait.
#[track_caller]
pub(crate) fn write<T: Item, L: Lock, P: Place>(
    end: &mut ChannelEnd<T, L>,
    process: &Process<'_, P>,
    item: T,
    deadline: Option<Time>,
) -> Result<(), Refused<T>> {
    let item = match (end.ring.as_ref(), process.user()) {
        (Some(ring), Some(user)) => match ring.put(user, item) {
            Ok(()) => return Ok(()),
            Err(item) => item,
        },
        _ => item,
    };
    end.join_network(process.identity());
    let channel = &*end.channel;
    let mut parcel = Some(process.pack(item, channel));
    let met = exchange(channel, Side::Writer, process, &mut parcel, deadline);
    let ended = match met {
        Met::Done => return Ok(()),
        Met::NoPartner => None,
        Met::Ended(ended) => Some(ended),
    };
    let parcel = parcel.expect("what was not taken is the writer's");
    let item = process.take_back(parcel, channel);
    Err(match ended {
        None => Refused::NotTaken(item),
        Some(ended) => Refused::Ended(Unsent { item, ended }),
    })
}

/// Reads an item if the channel has an item before `deadline`. Without a deadline, does not wait.
#[track_caller]
pub(crate) fn read<T: Item, L: Lock, P: Place>(
    end: &mut ChannelEnd<T, L>,
    process: &Process<'_, P>,
    deadline: Option<Time>,
) -> Result<Option<T>, Ended> {
    if let (Some(ring), Some(user)) = (end.ring.as_ref(), process.user())
        && let Some(item) = ring.take(user)
    {
        return Ok(Some(item));
    }
    end.join_network(process.identity());
    let channel = &*end.channel;
    let mut parcel = None;
    match exchange(channel, Side::Reader, process, &mut parcel, deadline) {
        Met::Done => match parcel {
            Some(parcel) => Ok(Some(process.fetch(parcel, channel))),
            None => Ok(None),
        },
        Met::NoPartner => Ok(None),
        Met::Ended(ended) => Err(ended),
    }
}

#[track_caller]
fn exchange<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    side: Side,
    process: &Process<'_, P>,
    parcel: &mut Option<Parcel<T>>,
    deadline: Option<Time>,
) -> Met {
    channel.record_user(side, process.identity());
    let met = match deadline {
        None => attempt(channel, side, process, parcel),
        Some(deadline) => wait_until(channel, side, process, parcel, deadline),
    };
    match met {
        Met::NoPartner if process.is_left_alone() => Met::Ended(Ended::Closed),
        met => met,
    }
}

#[track_caller]
fn attempt<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    side: Side,
    process: &Process<'_, P>,
    parcel: &mut Option<Parcel<T>>,
) -> Met {
    let user = process.user_and_tally();
    let mut met = Met::NoPartner;
    process.attempt(
        || channel.waiting(side),
        |woken| {
            met = channel.lock().step_of(side, user, parcel, woken);
            matches!(met, Met::Done)
        },
    );
    if matches!(met, Met::NoPartner) {
        process.skip();
    }
    met
}

#[track_caller]
fn wait_until<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    side: Side,
    process: &Process<'_, P>,
    parcel: &mut Option<Parcel<T>>,
    deadline: Time,
) -> Met {
    let polls = process.would_poll::<L>();
    let node = &InLine(Node::new(polls)).0;
    // If this call unwinds, `frame` takes the node out of the queue.
    let frame = InFrame {
        channel,
        side,
        node,
    };
    let what: Waiting<'_> = channel.waiting(side);
    let met = process.perform(&what, Location::caller(), |woken| {
        // SAFETY: `frame` keeps the node in its place until the node is served or removed.
        unsafe {
            channel
                .lock()
                .step_or_push(side, node, process, parcel, woken)
        }
    });
    if !matches!(met, Met::NoPartner) {
        return met;
    }
    let in_time = process.wait_until(what, Some(deadline), polls, &mut || node.is_served());
    let has_left = leave(channel, side, node);
    drop(frame);
    if !in_time {
        // A loop of calls after the deadline must also let other processes run.
        process.yield_ready();
    }
    // SAFETY: the node was served or removed.
    *parcel = unsafe { node.take_parcel() };
    match node.state() {
        _ if has_left => Met::NoPartner,
        NodeState::Served => Met::Done,
        NodeState::Poisoned => Met::Ended(Ended::Poisoned),
        _ => Met::Ended(Ended::Closed),
    }
}
