//! The way of an item through a step of the [protocol](crate::channel::protocol), for all channels.

// Rejected: one function with the step as a closure, which it calls directly or passes to a
// carrier. The closure was not inlined, and a communication took 43 ns instead of 17 ns.

use super::wait;
use crate::channel::RawChannel;
use crate::channel::link::Side;
use crate::channel::lock::Lock;
use crate::channel::node::{Node, Parcel};
use crate::channel::protocol::{GivenBack, Met};
use crate::channel::waker::Woken;
use crate::ends::ended::Ended;
use crate::process::Process;
use crate::process::place::Place;

#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn write<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    process: &Process<'_, P>,
    parcel: Parcel<T>,
) -> Result<(), GivenBack<T>> {
    wait::write_by(channel, process, parcel, |node, parcel| {
        // SAFETY: `write_by` keeps the node in place until the node is served or removed.
        unsafe { step::<T, L, P, true>(channel, node, process, parcel) }
    })
}

#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn read<T, L: Lock, P: Place>(
    channel: &RawChannel<T, L>,
    process: &Process<'_, P>,
) -> Result<Parcel<T>, Ended> {
    wait::read_by(channel, process, |node, parcel| {
        // SAFETY: `read_by` keeps the node in place until the node is served or removed.
        unsafe { step::<T, L, P, false>(channel, node, process, parcel) }
    })
}

/// Performs [`step_or_push`](crate::channel::protocol::State::step_or_push) for a writer or a
/// reader. `WRITES` is a constant, because with an argument, a communication with an alternation
/// took 5 ns more.
///
/// # Safety
///
/// The caller meets the conditions of [`Queue::push`](crate::channel::queue::Queue::push).
#[inline(never)]
unsafe fn step<T, L: Lock, P: Place, const WRITES: bool>(
    channel: &RawChannel<T, L>,
    node: &Node<T>,
    process: &Process<'_, P>,
    parcel: &mut Option<Parcel<T>>,
) -> Met {
    let side = if WRITES { Side::Writer } else { Side::Reader };
    let mut woken = Woken::None;
    channel.prefetch_state();
    let mut state = channel.lock();
    // SAFETY: the caller's promise.
    let met = unsafe { state.step_or_push(side, node, process, parcel, &mut woken) };
    // Without a buffer, a process cannot communicate for long without a wait, so it need not count.
    let counts = state.has_buffer() && matches!(met, Met::Done);
    drop(state);
    process.wake(&mut woken);
    if counts {
        process.count_communication();
    }
    met
}
