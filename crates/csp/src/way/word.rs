//! The way of an item through the word of a channel: see [`crate::channel::lock`].

// Rejected, because communications on one core did not become faster: fewer taken branches, fewer
// stores, and other distances in memory between the stacks of two processes.

use std::mem::MaybeUninit;

use super::wait;
use crate::channel::RawChannel;
use crate::channel::link::Side;
use crate::channel::lock::{Lock, Word};
use crate::channel::node::{InLine, Node, NodeState, Parcel, take_parcel};
use crate::channel::partner::Partner;
use crate::channel::protocol::GivenBack;
use crate::channel::waker::Waker;
use crate::ends::ended::Ended;
use crate::process::Process;
use crate::process::place::Place;

/// The number of times that a writer polls for a waiting reader, if the reader of the writer's last
/// item was on another core. Giving an item to a waiting reader takes less time than waiting until
/// a reader fetches the item (docs/performance.md).
const POLLS: u32 = 8;

/// The reasons why a process did not exchange an item through the word.
pub(super) enum Otherwise<S, E> {
    /// A step under the lock is needed. A writer gets its item back.
    Step(S),
    /// The process has waited, and the channel has ended during the wait.
    Ended(E),
}

/// Counts a communication if the last partner was on another core, because a partner there can be
/// ready every time, so that this process never waits. A partner on this core becomes ready only
/// while this process waits.
#[inline(always)]
fn count<L: Lock, P: Place>(process: &Process<'_, P>, partner: Partner) {
    if L::IS_SHARED && partner.is_elsewhere() {
        process.count_communication();
    }
}

/// If a process waits on `side` with a node in `word`, takes the node out of the channel's word.
/// The caller must then [serve](Node::serve) the node.
#[inline(always)]
fn take_out<T, L: Lock>(
    channel: &RawChannel<T, L>,
    word: Word,
    side: Side,
) -> Option<*const Node<T>> {
    word.waiting::<T>(side)?;
    channel.lock.exchange(word, Word::EMPTY)?.waiting(side)
}

/// Returns a node that is waiting: `own`, the node of the channel for the only process of a side, or
/// else one in the frame of the caller.
#[inline(always)]
fn ready<'a, T>(
    own: Option<&'a Node<T>>,
    in_frame: &'a mut MaybeUninit<InLine<T>>,
    waker: &Waker,
    polls: bool,
    parcel: Option<Parcel<T>>,
) -> &'a Node<T> {
    match own {
        Some(node) => {
            // SAFETY: the caller is the only process of its side, and does not wait.
            unsafe { node.wait_again(waker, polls, parcel) };
            node
        }
        None => {
            &in_frame
                .write(InLine(Node::waiting(waker, polls, parcel)))
                .0
        }
    }
}

#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn write<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    process: &Process<'_, P>,
    parcel: Parcel<T>,
    partner: &mut Partner,
    has_node: bool,
) -> Result<(), Otherwise<Parcel<T>, GivenBack<T>>> {
    channel.prefetch(*partner);
    channel.record_user(Side::Writer, process.identity());
    count::<L, P>(process, *partner);
    let mut parcel = parcel;
    let mut polls_left = if partner.is_elsewhere() { POLLS } else { 0 };
    loop {
        let word = channel.lock.load();
        if let Some(node) = take_out(channel, word, Side::Reader) {
            let give = |place: &mut Option<_>| *place = Some(parcel);
            // SAFETY: this process has taken the node out of the word.
            let way =
                unsafe { Node::serve(node, NodeState::Served, give, |node| node.way_to_wake()) };
            partner.has_met::<L, T>(node, process.wake_by(way));
            return Ok(());
        }
        if word != Word::EMPTY {
            return Err(Otherwise::Step(parcel));
        }
        if polls_left > 0 && process.wait_briefly() {
            polls_left -= 1;
            continue;
        }
        let polls = process.would_poll_for::<L>(*partner);
        let mut in_frame = MaybeUninit::uninit();
        let own = has_node.then(|| channel.node(Side::Writer));
        let node = ready(own, &mut in_frame, process.waker(), polls, Some(parcel));
        // A node in the frame of this call is served or removed before this call ends.
        let waits = Word::with(Side::Writer, node);
        if channel.lock.exchange(word, waits).is_some() {
            return wait::to_write(channel, node, process, polls).map_err(Otherwise::Ended);
        }
        // SAFETY: no other process can access the node.
        let mut back = unsafe { node.take_parcel() };
        parcel = take_parcel(&mut back);
    }
}

#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn read<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    process: &Process<'_, P>,
    partner: &mut Partner,
    has_node: bool,
) -> Result<Parcel<T>, Otherwise<(), Ended>> {
    channel.prefetch(*partner);
    channel.record_user(Side::Reader, process.identity());
    count::<L, P>(process, *partner);
    loop {
        let word = channel.lock.load();
        if let Some(node) = take_out(channel, word, Side::Writer) {
            let mut parcel = None;
            let take = |offered: &mut Option<_>| parcel = offered.take();
            // SAFETY: this process has taken the node out of the word.
            let way =
                unsafe { Node::serve(node, NodeState::Served, take, |node| node.way_to_wake()) };
            partner.has_met::<L, T>(node, process.wake_by(way));
            return Ok(take_parcel(&mut parcel));
        }
        if word != Word::EMPTY {
            return Err(Otherwise::Step(()));
        }
        let polls = process.would_poll_for::<L>(*partner);
        let mut in_frame = MaybeUninit::uninit();
        let own = has_node.then(|| channel.node(Side::Reader));
        let node = ready(own, &mut in_frame, process.waker(), polls, None);
        let waits = Word::with(Side::Reader, node);
        if channel.lock.exchange(word, waits).is_some() {
            return wait::to_read(channel, node, process, polls).map_err(Otherwise::Ended);
        }
    }
}
