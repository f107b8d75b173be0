//! The event loop, and the threads of each processor, which decide when each program runs.
//!
//! All programs of a simulated machine are cooperative threads of one OS thread. A thread that
//! waits runs the event loop on its own stack until a thread can continue, and switches directly to
//! that thread. Often the thread that can continue is the waiting thread itself.
//!
//! ```text
//!   a program calls            suspend(me): loop
//!   pass(cycles) ─────────►      next event ─► fabric, MFC, words ... ─► check the conditions of
//!   wait_until(ready) ────►                                              the processor's threads
//!   yield_now() ──────────►      a thread may go on ─► me? return : switch to it
//!                                no event is left    ─► deadlock: list the waits, cancel all
//! ```
//!
//! A *condition* is the closure `ready` of a wait. It returns true when the wait is over.
//!
//! The *lag* of a processor is the time of its calls that the clock has not counted yet. The lag is
//! added to the clock before an interaction with another processor, usually by an extra event. The
//! sending of a word needs no extra event, because the event of the word is queued for a time that
//! includes the lag. The wait of a thread needs no extra event either, because the wait begins at
//! the time of the clock plus the lag.
//!
//! All functions of this module are methods of [`World`](crate::world::World). A file calls only
//! methods of files before it in this order: `giving`, `checking`, `reports`, `ending`, `events`,
//! `passing`, `waiting`, `switching`, `yielding`, `window`.

mod checking;
mod ending;
mod events;
mod giving;
mod passing;
mod reports;
mod switching;
mod waiting;
mod window;
mod yielding;
