//! The context switch. There is a file for each implementation, all with the same operations.
//!
//! - [`Context`]: the saved state of a suspended thread that takes no turns, one word.
//! - [`prepare`](x86_64::prepare): a context that starts a function on a fresh stack.
//! - [`switch`](x86_64::switch): leaves the running context and continues another one.
//! - [`Frame`](x86_64::Frame): where a suspended thread goes on, outside of its stack.
//! - [`turn`](x86_64::turn): a switch from one frame to another, which touches no stack.
//!   [`switch_to_frame`](x86_64::switch_to_frame) saves a context and continues a frame.
//! - [`prefetch`](x86_64::prefetch): a hint that a context will be continued soon.

#[cfg(all(target_arch = "x86_64", not(feature = "corosensei")))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", not(feature = "corosensei")))]
pub(crate) use x86_64::{Context, Frame, prefetch, prepare, switch, switch_to_frame, turn};

#[cfg(any(not(target_arch = "x86_64"), feature = "corosensei"))]
mod corosensei;
#[cfg(any(not(target_arch = "x86_64"), feature = "corosensei"))]
pub(crate) use self::corosensei::{
    Context, Frame, prefetch, prepare, switch, switch_to_frame, turn,
};

/// The first function on a new stack. It must leave by a switch, never by returning or unwinding.
pub(crate) type Entry = unsafe extern "C" fn(*const ()) -> !;
