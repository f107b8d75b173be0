//! The context switch. Each implementation is a file with these items:
//!
//! - [`Context`]: the saved state of a suspended thread, in one word. A [`Frame`](x86_64::Frame)
//!   replaces the context of a thread that takes turns.
//! - [`prepare`](x86_64::prepare): makes a context that starts a function on a fresh stack.
//! - [`switch`](x86_64::switch): leaves the running context and continues another context.
//! - [`Frame`](x86_64::Frame): the saved state of a suspended thread that takes turns. A frame does
//!   not lie on the thread's stack.
//! - [`turn`](x86_64::turn): switches from one frame to another, and accesses no stack.
//! - [`switch_to_frame`](x86_64::switch_to_frame): saves a context and continues a frame.
//! - [`prefetch`](x86_64::prefetch): gives a hint that a context will be continued soon.

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

/// The first function on a new stack, which must end with a switch, and neither return nor unwind.
pub(crate) type Entry = unsafe extern "C" fn(*const ()) -> !;
