//! The wait of a process that has found no partner at a channel.

// Rejected: to decide how to poll only when the core is idle (60 ns), and separate code for a
// partner on another core (77 ns). A ping-pong between two cores takes 44 ns now (Zen 4).

use crate::channel::RawChannel;
use crate::channel::link::{Side, ToRead, ToWrite, Why};
use crate::channel::lock::Lock;
use crate::channel::node::{InLine, Node, NodeState, Parcel, take_parcel};
use crate::channel::protocol::{GivenBack, Met};
use crate::ends::ended::Ended;
use crate::process::Process;
use crate::process::place::Place;
use crate::sync::Backoff;

/// The wait of a process at a channel, on the stack of the call that waits. When this call ends,
/// the destructor takes the node out of the channel's queue or [word](crate::channel::lock). If
/// another process has already taken the node out, the destructor waits until it is served.
pub(super) struct InFrame<'a, T, L: Lock> {
    pub(super) channel: &'a RawChannel<T, L>,
    pub(super) side: Side,
    pub(super) node: &'a Node<T>,
}

impl<T, L: Lock> Drop for InFrame<'_, T, L> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        // The node still waits only if the run was cancelled.
        if self.node.state() == NodeState::Waits {
            leave(self.channel, self.side, self.node);
        }
    }
}

#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn write_by<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    process: &Process<'_, P>,
    parcel: Parcel<T>,
    step: impl FnOnce(&Node<T>, &mut Option<Parcel<T>>) -> Met,
) -> Result<(), GivenBack<T>> {
    let polls = process.would_poll::<L>();
    let (node, side) = (&InLine(Node::new(polls)).0, Side::Writer);
    let _frame = InFrame {
        channel,
        side,
        node,
    };
    let mut parcel = Some(parcel);
    match step(node, &mut parcel) {
        Met::Done => Ok(()),
        Met::Ended(ended) => Err((take_parcel(&mut parcel), ended)),
        Met::NoPartner => to_write(channel, node, process, polls),
    }
}

#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn read_by<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    process: &Process<'_, P>,
    step: impl FnOnce(&Node<T>, &mut Option<Parcel<T>>) -> Met,
) -> Result<Parcel<T>, Ended> {
    let polls = process.would_poll::<L>();
    let (node, side) = (&InLine(Node::new(polls)).0, Side::Reader);
    let _frame = InFrame {
        channel,
        side,
        node,
    };
    let mut parcel = None;
    match step(node, &mut parcel) {
        Met::Done => Ok(take_parcel(&mut parcel)),
        Met::Ended(ended) => Err(ended),
        Met::NoPartner => to_read(channel, node, process, polls),
    }
}

/// Waits until a reader or the buffer has taken the item out of `node`.
#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn to_write<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    node: &Node<T>,
    process: &Process<'_, P>,
    polls: bool,
) -> Result<(), GivenBack<T>> {
    if is_served(
        channel,
        Side::Writer,
        node,
        process,
        polls,
        ToWrite(channel),
    ) {
        return Ok(());
    }
    let ended = give_up(channel, Side::Writer, node);
    // SAFETY: the node was served or removed.
    match unsafe { node.take_parcel() } {
        Some(parcel) => Err((parcel, ended)),
        // A process took the item before the node was removed.
        None => Ok(()),
    }
}

/// Waits until a writer or an alternation has put an item into `node`.
#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn to_read<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    node: &Node<T>,
    process: &Process<'_, P>,
    polls: bool,
) -> Result<Parcel<T>, Ended> {
    if is_served(channel, Side::Reader, node, process, polls, ToRead(channel)) {
        // SAFETY: the node was served.
        let mut parcel = unsafe { node.take_parcel() };
        return Ok(take_parcel(&mut parcel));
    }
    let ended = give_up(channel, Side::Reader, node);
    // SAFETY: the node was served or removed.
    unsafe { node.take_parcel() }.ok_or(ended)
}

/// Waits until `node` is served. Returns false if the channel has ended or the run was cancelled.
#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
fn is_served<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    side: Side,
    node: &Node<T>,
    process: &Process<'_, P>,
    polls: bool,
    why: impl Why,
) -> bool {
    let frame = InFrame {
        channel,
        side,
        node,
    };
    process.wait_until(why, None, polls, &mut || node.is_served());
    std::mem::forget(frame);
    node.state() == NodeState::Served
}

/// Ends a wait. Returns false if, before this call, the process was served or the channel ended.
#[cold]
#[inline(never)]
pub(super) fn leave<T, L: Lock>(channel: &RawChannel<T, L>, side: Side, node: &Node<T>) -> bool {
    let mut state = channel.lock();
    if node.state() != NodeState::Waits {
        return false;
    }
    let has_left = state.queue(side).remove(node);
    drop(state);
    if !has_left {
        // Another process has taken the node out of the word, and will serve it.
        let backoff = Backoff::new();
        while node.state() == NodeState::Waits {
            backoff.snooze();
        }
    }
    has_left
}

/// Ends a wait for which [`is_served`] has returned false. From then on only this process can
/// access the item in the node. Returns how the channel has ended.
#[cold]
#[inline(never)]
fn give_up<T, L: Lock>(channel: &RawChannel<T, L>, side: Side, node: &Node<T>) -> Ended {
    leave(channel, side, node);
    match node.state() {
        NodeState::Poisoned => Ended::Poisoned,
        _ => Ended::Closed,
    }
}
