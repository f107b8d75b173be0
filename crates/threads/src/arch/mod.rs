//! The context switch. Each implementation is a file with the same items:
//!
//! - [`Context`]: the saved state of a suspended thread, in one pointer.
//! - [`Frame`](x86_64::Frame): the context of a suspended thread that takes turns (see `rotation`),
//!   and any registers that `turn` saves.
//! - [`prepare`](x86_64::prepare): makes a context that calls a function on a new stack.
//! - [`switch`](x86_64::switch): saves the running context and continues another context.
//! - [`switch_to_frame`](x86_64::switch_to_frame): saves the running context and continues a frame.
//! - [`turn`](x86_64::turn): saves the running thread in a frame and continues another frame.
//! - [`prefetch`](x86_64::prefetch): prefetches the memory that continuing a context reads.

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

/// The first function on a new stack. It ends with a switch, and neither returns nor unwinds.
pub(crate) type Entry = unsafe extern "C" fn(*const ()) -> !;
