//! The way of an item if processors share no memory: through a [carrier](crate::transport).

use std::panic::Location;

use super::wait;
use crate::channel::RawChannel;
use crate::channel::link::Side;
use crate::channel::lock::Lock;
use crate::channel::node::{Node, Parcel};
use crate::channel::protocol::{GivenBack, Met};
use crate::ends::ended::Ended;
use crate::process::Process;
use crate::process::place::Place;

#[track_caller]
#[cold]
#[inline(never)]
pub(super) fn write<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    process: &Process<'_, P>,
    parcel: Parcel<T>,
) -> Result<(), GivenBack<T>> {
    let at = Location::caller();
    wait::write_by(channel, process, parcel, |node, parcel| {
        // SAFETY: `write_by` keeps the node in place until the node was served or removed.
        unsafe { step(channel, Side::Writer, node, process, at, parcel) }
    })
}

#[track_caller]
#[cold]
#[inline(never)]
pub(super) fn read<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    process: &Process<'_, P>,
) -> Result<Parcel<T>, Ended> {
    let at = Location::caller();
    wait::read_by(channel, process, |node, parcel| {
        // SAFETY: `read_by` keeps the node in place until the node was served or removed.
        unsafe { step(channel, Side::Reader, node, process, at, parcel) }
    })
}

/// Performs the step of a read or a write through the carrier of this processor.
///
/// # Safety
///
/// The caller meets the conditions of [`Queue::push`](crate::channel::queue::Queue::push).
unsafe fn step<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    side: Side,
    node: &Node<T>,
    process: &Process<'_, P>,
    at: &'static Location<'static>,
    parcel: &mut Option<Parcel<T>>,
) -> Met {
    // Before the step, because another processor may perform the step.
    channel.record_user(side, process.identity());
    process.perform(&channel.waiting(side), at, |woken| {
        // SAFETY: the caller's promise.
        unsafe {
            channel
                .lock()
                .step_or_push(side, node, process, parcel, woken)
        }
    })
}
