//! Which program runs when: the event loop, and the threads of each processor.
//!
//! All programs of a simulated machine are cooperative threads of one OS thread, and one of them
//! runs at a time. There is no thread that runs the event loop: the thread that has to wait runs
//! it, on its own stack, until a thread may go on, and switches straight to that one. Often that is
//! itself.
//!
//! ```text
//!   a program calls            suspend(me): loop
//!   pass(cycles) ─────────►      next event ─► fabric, MFC, words ... ─► check what threads of
//!   wait_until(ready) ────►                                              the processor wait for
//!   yield_now() ──────────►      a thread may go on ─► me? return : switch to it
//!                                no event is left    ─► deadlock: list the waits, cancel all
//! ```
//!
//! Time within a processor runs ahead of the clock: `compute` and other small costs add up to a
//! *lag*. The processor pays the lag before its next interaction with others: it lets that time
//! pass. Two kinds of interaction need no event for the payment, which halves the events of an
//! exchange of words. A word that is sent needs an event for its departure anyway, and that event
//! can be later by the lag. A thread that waits for another processor can pay while it waits. Of
//! the threads of an SPE one runs in simulated time; the others are ready, or wait.
//!
//! All files here are methods of [`World`](crate::world::World).

mod ending;
mod events;
mod passing;
mod switching;
mod waiting;
